"""What is asked before an alert is acknowledged or silenced, a silence ended, or a maintenance window opened.

A dialog belongs to the page's own run, not to a part that refreshes itself: that would close it under one's hands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from console import alert_queries, commands, queries
from console.alert_words import LABEL_ORDER
from console.web import palette
from console.web.escape import escaped
from console.web.live import tell
from db import Store
from tierdeck.errors import TierdeckError

_ASKED, _NAME = "alert_asked", "alert_by"
_TIMES = {"30 min": 1800.0, "1 h": 3600.0, "2 h": 7200.0, "4 h": 14400.0, "8 h": 28800.0, "24 h": 86400.0,
          "7 d": 604800.0}  # fmt: skip
_USUAL_TIME = "2 h"


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: str
    id: int
    labels: Mapping[str, str]


def ask(kind: str, number: int = 0, labels: Mapping[str, str] | None = None) -> None:
    """Open a dialog: the whole page runs again.

    Args:
        kind: of `_DIALOGS`.
        number: of the alert or silence.
        labels: of the alert.
    """
    st.session_state[_ASKED] = _Asked(kind, number, labels or {})
    st.rerun()


def draw_asked() -> None:
    """The dialog that was asked for, if any."""
    asked = st.session_state.get(_ASKED)
    if asked is not None:
        color = palette.current().background
        st.html(f"<style>[role=dialog] [data-testid=stFormSubmitButton] button{{color:{color}}}</style>")
        _DIALOGS[asked.kind](asked)


def _forget() -> None:
    st.session_state.pop(_ASKED, None)


@st.dialog("Acknowledge", on_dismiss=_forget)
def _acknowledge(asked: _Asked) -> None:
    st.caption("Somebody is on it: it is not said again until it resolves.")
    with st.form("acknowledge", border=False):
        by, note = _who(), st.text_input("Note", key="ack_note", placeholder="What you found, or what you do")
        if st.form_submit_button("Acknowledge", type="primary"):
            _do(by, lambda store: commands.acknowledge(store, asked.id, by, note, time.time()))


@st.dialog("Silence", on_dismiss=_forget)
def _silence(asked: _Asked) -> None:
    st.caption("Alerts that match are judged and shown as before, and nobody is told of them.")
    given = {name: asked.labels[name] for name in LABEL_ORDER if name in asked.labels and name != "severity"}
    with st.form("silence", border=False):
        text = st.text_input(
            "Matchers, all of which must hold", ", ".join(f"{name}={value}" for name, value in given.items()),
            key="silence_matchers", placeholder="endpoint=chat, rule=tier_drop",
            help=f"Labels: {', '.join(LABEL_ORDER)}. Leave `part` and `rule` out to silence more.",
        )  # fmt: skip
        seconds, why, by = _how_long(), _why(), _who()
        if st.form_submit_button("Silence", type="primary"):
            parts = [part for part in text.split(",") if part.strip()]
            _do(by, lambda store: commands.add_silence(
                store, commands.parse_matchers(parts), seconds, why, by, time.time()))  # fmt: skip


@st.dialog("Maintenance window", on_dismiss=_forget)
def _maintenance(asked: _Asked) -> None:
    st.caption("In one act: its alerts are silenced, its changes are frozen, and the window is marked on its charts.")
    known = queries.fleet().endpoints
    wanted = asked.labels.get("cluster", ""), asked.labels.get("endpoint", "")
    several = len({cluster for cluster, _ in known}) > 1
    with st.form("maintenance", border=False):
        chosen = st.selectbox(
            "Endpoint", known, index=known.index(wanted) if wanted in known else 0, key="maintenance_endpoint",
            format_func=lambda one: " / ".join(one) if several else one[1],
        )  # fmt: skip
        seconds, why, by = _how_long(), _why(), _who()
        if st.form_submit_button("Start", type="primary") and chosen is not None:
            name = ":".join(chosen)
            _do(by, lambda store: commands.start_maintenance(store, name, seconds, why, by, time.time()))


@st.dialog("End it", on_dismiss=_forget)
def _end(asked: _Asked) -> None:
    words = " ".join(f"{name}={value}" for name, value in asked.labels.items())
    st.markdown(escaped(f"Alerts that match {words} are said again from now on."))
    with st.form("end", border=False):
        by = _who()
        if st.form_submit_button("End now", type="primary"):
            _do(by, lambda store: commands.end_silence(store, asked.id, by, time.time()))


_DIALOGS: dict[str, Callable[[_Asked], None]] = {
    "acknowledge": _acknowledge,
    "silence": _silence,
    "maintenance": _maintenance,
    "end": _end,
}


def _who() -> str:
    known = st.session_state.get(_NAME) or alert_queries.default_name()
    return st.text_input("Who", known, key="alert_who", placeholder="Your name", help="Stands in the audit log.")


def _why() -> str:
    return st.text_input("Why", key="alert_why", placeholder="Whoever is on call next reads it")


def _how_long() -> float:
    chosen = st.selectbox("For how long", list(_TIMES), index=list(_TIMES).index(_USUAL_TIME), key="alert_time")
    return _TIMES[chosen or _USUAL_TIME]


def _do(by: str, act: Callable[[Store], object]) -> None:
    """Done: the dialog closes. Refused: it says why and stays."""
    try:
        alert_queries.act(act)
    except TierdeckError as error:
        tell(error)
        return
    st.session_state[_NAME] = by
    _forget()
    st.rerun()
