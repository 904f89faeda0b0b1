"""Parts of a page that stay up to date by themselves, and failures told in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from console.measures import VIEW_FAILURES, VIEW_RUNS
from console.queries import LEAST_REFRESH_SECONDS
from console.web.escape import marked
from tierdeck.errors import TierdeckError


def live(view: str, draw: Callable[[], None], every: float = LEAST_REFRESH_SECONDS, *, is_quiet: bool = False) -> None:
    """Draw now and every few seconds; `?freeze=1` draws once, for screenshots.

    Args:
        every: seconds; nothing is gained by asking more often than the answer changes.
        is_quiet: another part of the page tells the failure.
    """

    def guarded() -> None:
        VIEW_RUNS.labels(view).inc()
        try:
            draw()
        except TierdeckError as error:
            VIEW_FAILURES.labels(view).inc()
            if not is_quiet:
                tell(error)

    frozen = st.query_params.get("freeze") == "1"
    st.fragment(guarded, run_every=None if frozen else every)()


def tell(error: TierdeckError) -> None:
    """What failed and what to do, in a sentence."""
    line = error.line()
    st.warning(marked(line[:1].upper() + line[1:]))
