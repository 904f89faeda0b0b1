"""One click, done right: what would be written is looked at first, confirmed in one dialog, and followed from there.

A dialog belongs to the page's own run, not to a part that refreshes itself: that would close it under one's hands.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from console import alert_queries, change_reads
from console.change_commands import Who, approve, cancel, propose, revert
from console.change_queries import ChangeDetail
from console.change_words import asks_words, note_words
from console.web.change_parts import draw_preview, draw_refusals
from console.web.escape import escaped, marked
from console.web.live import tell
from console.web.navigation import go
from console.words import sentence
from db import Store
from tierdeck.changes.change import Change, State
from tierdeck.changes.wish import Wish
from tierdeck.errors import TierdeckError
from tierdeck.settings import load_settings

_ASKED, _NAME, _NUMBER = "change_asked", "alert_by", "change_number"
_LOOK_SECONDS = 1.0
_WITHDRAWN = (State.PROPOSED, State.PREVIEWED)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was clicked; `key` makes the same click the same change."""

    cluster: str
    endpoint: str
    wish: Wish | None
    reverts: int
    key: str


def ask_for(whose: tuple[str, str], wish: Wish) -> None:
    """Open the dialog for a strategy or sizes of an endpoint (cluster, name): the whole page runs again."""
    _open(_Asked(*whose, wish, 0, uuid.uuid4().hex))


def ask_revert(change: Change) -> None:
    """Open it for writing back what was there before that change."""
    _open(_Asked(change.cluster, change.endpoint, None, change.id, uuid.uuid4().hex))


def draw_asked() -> None:
    """The dialog that was asked for, if any."""
    asked = st.session_state.get(_ASKED)
    if asked is not None:
        st.dialog(_heading(asked), width="large", on_dismiss=_dismissed)(_change)(asked)


def _open(asked: _Asked) -> None:
    st.session_state[_ASKED] = asked
    st.session_state.pop(_NUMBER, None)
    st.rerun()


def _forget() -> None:
    st.session_state.pop(_ASKED, None)
    st.session_state.pop(_NUMBER, None)


def _dismissed() -> None:
    """Closed without a word: nothing is left lying about."""
    number = st.session_state.get(_NUMBER)
    _forget()
    if number is not None:
        with contextlib.suppress(TierdeckError):  # it went on, or is over: then there is nothing to take back
            if change_reads.opened_change(number, time.time()).change.state in _WITHDRAWN:
                change_reads.act(lambda store: cancel(store, number, name(), time.time()))


def _change(asked: _Asked) -> None:
    if _NUMBER not in st.session_state and not _propose(asked):
        return
    number = st.session_state[_NUMBER]
    try:
        found = change_reads.opened_change(number, time.time())
    except TierdeckError as error:
        tell(error)
        return
    change = found.change
    st.markdown(f"**{escaped(change.endpoint)}**: {escaped(_title(change))}")
    if change.state is State.PROPOSED:
        st.fragment(lambda: _wait(number), run_every=_LOOK_SECONDS)()
    elif change.state is State.REFUSED:
        draw_refusals(change)
        if st.button("Close", key="change_close"):
            _forget()
            st.rerun()
    elif change.state is State.PREVIEWED:
        _confirm(found)
    else:
        _forget()
        go("changes", change=str(number))


def _heading(asked: _Asked) -> str:
    if asked.wish is None:
        return f"Take change {asked.reverts} back?"
    return f"Resize {asked.endpoint}?" if asked.wish.is_resize else f"Switch {asked.endpoint} to {asked.wish.strategy}?"


def _title(change: Change) -> str:
    back = f" (takes change {change.reverts} back)" if change.reverts is not None else ""
    return asks_words(change) + back


def _propose(asked: _Asked) -> bool:
    """True once there is a change; who asks is asked first where it can't be told."""
    by = name()
    if not by:
        with st.form("change_name", border=False):
            by = st.text_input("Who", key="change_who_first", placeholder="Your name", help="Stands in the audit log.")
            if not st.form_submit_button("Show what would be written", type="primary") or not by.strip():
                return False
        st.session_state[_NAME] = by
    who, now = Who(by, "", asked.key), time.time()
    where = f"{asked.cluster}:{asked.endpoint}"

    def put(store: Store) -> Change:
        if asked.wish is None:
            return revert(store, asked.reverts, who, now)
        return propose(store, where, asked.wish, who, now)

    try:
        st.session_state[_NUMBER] = change_reads.act(put).id
    except TierdeckError as error:
        tell(error)
        return False
    return True


def _wait(number: int) -> None:
    """Look until the controller has answered; then the dialog is drawn anew."""
    found = change_reads.opened_change(number, time.time())
    if found.change.state is not State.PROPOSED:
        st.rerun()
    st.markdown("◌ The controller looks at what would be written. Nothing is written before you confirm.")
    if found.trouble:
        st.warning(marked(found.trouble))


def _confirm(found: ChangeDetail) -> None:
    change, preview = found.change, found.change.preview
    if preview is None:
        return
    draw_preview(preview)
    for note in change.notes:
        st.caption(escaped(note_words(note)))
    if found.no_approval:
        st.warning(marked(sentence(found.no_approval)))
    needs_other = load_settings().changes_second_person
    if needs_other:
        st.info("Somebody else has to approve it (TIERDECK_CHANGES_SECOND_PERSON): leave it open for them.")
    with st.form("change_confirm", border=False, enter_to_submit=False):
        reason = st.text_input("Why", key=f"change_why_{change.id}", placeholder="Whoever is on call next reads it")
        by = st.text_input("Who", name(), key=f"change_who_{change.id}", help="Stands in the audit log.")
        with st.container(horizontal=True, gap="small"):
            is_confirmed = st.form_submit_button(
                "Confirm", type="primary", disabled=bool(found.no_approval) or needs_other, key="change_confirmed"
            )
            is_left = st.form_submit_button("Leave it open", help="It waits on the Changes view to be approved.")
    st.caption("Closing this dialog cancels the change; nothing is written. A reload leaves it waiting on Changes.")
    if is_left:
        _go_on(change.id, lambda _: None, by)
    if is_confirmed:
        seen_at = preview.at
        _go_on(
            change.id,
            lambda store: approve(store, change.id, by, time.time(), seen_at=seen_at, reason=reason),
            by,
        )


def _go_on(number: int, act: Callable[[Store], object], by: str) -> None:
    """Done: the page follows the change. Refused: it says why and stays."""
    try:
        change_reads.act(act)
    except TierdeckError as error:
        tell(error)
        return
    if by.strip():
        st.session_state[_NAME] = by
    _forget()
    go("changes", change=str(number))


def name() -> str:
    """Who acts here, as far as it is known; empty: it has to be asked."""
    known: str = st.session_state.get(_NAME) or alert_queries.default_name()
    return known


def ask_name() -> None:
    """A field for it, where it is not known; what is typed is remembered for this session."""
    if not name():
        st.text_input("Who", key="change_who_here", on_change=_remember, help="Stands in the audit log.", width=260)


def _remember() -> None:
    st.session_state[_NAME] = st.session_state["change_who_here"]
