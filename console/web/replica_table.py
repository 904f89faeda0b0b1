"""The replicas of an endpoint, on its view."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console.endpoint_page import EndpointPage
from console.segments import Source
from console.web.escape import escaped
from console.web.tables import percent_column, table
from tierdeck.computation import computation

_COLUMNS = st.column_config


def draw_replicas(page: EndpointPage) -> None:
    """One row per replica; each column's head tells how its figure is computed."""
    st.subheader("What does each replica do?", anchor=False)
    table(
        page.replicas,
        "replicas",
        "Replicas: state, tokens, tiers, time to first token of each.",
        most_rows=20,
        columns=_told_how()
        | {
            "replica": _COLUMNS.TextColumn(pinned=True),
            "prompt tokens": _COLUMNS.NumberColumn(format="compact", help=_how("prompt_tokens")),
            "hit ratio": percent_column("hit ratio", _how("hit_ratio.by_token")),
            "KV usage": _COLUMNS.NumberColumn(format="%.0f %%", help=_how("kv_usage_ratio")),
        },
    )
    st.caption(escaped("  ·  ".join(page.states)))


def _how(key: str) -> str:
    return f"{computation(key).sentence}."


def _told_how() -> dict[str, Any]:
    """Columns of words, each with how its figure is computed."""
    keys = {
        "state": "state", "restarts": "restarts", Source.L0.label: "tiers.L0", Source.L1.label: "tiers.L1",
        Source.L2.label: "tiers.L2", Source.MISS.label: "tiers.miss", "TTFT p50 / p95": "ttft_seconds",
        "running / waiting": "running", "L1 used": "tier_usage.L1",
    }  # fmt: skip
    return {name: _COLUMNS.Column(help=_how(key)) for name, key in keys.items()}
