"""The peer of `page`: a bare Streamlit page with one Plotly chart, served as the console is, and as warm.

`python -m tests.bench._bare PORT` serves it; Streamlit runs the same file as its script.
"""

from __future__ import annotations

import sys

import plotly.graph_objects as go
import streamlit as st
import uvicorn
from streamlit import config


def draw() -> None:
    """Sixty points."""
    st.plotly_chart(go.Figure(go.Scatter(x=list(range(60)), y=[number % 7 for number in range(60)])))


def serve(port: int) -> None:
    """Without reports to an outside host and without watching files, like the console."""
    app = st.App(__file__)
    config.set_option("browser.gatherUsageStats", False)  # Streamlit's own signature
    config.set_option("server.fileWatcherType", "none")
    go.Figure(go.Scatter(x=[0], y=[0])).to_json()
    uvicorn.run(app, port=port, log_level="error", access_log=False)


if st.runtime.exists():
    draw()
elif __name__ == "__main__":
    serve(int(sys.argv[1]))
