"""Plotly figures: drawing only; every number comes ready from `console.queries`."""
