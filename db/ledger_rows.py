"""A replica's window as a row of a ledger table, and back."""

from __future__ import annotations

from operator import attrgetter

from db.codec import dump_notes
from tierdeck.account import GAUGE_FIELDS, Gauges
from tierdeck.ledger import COUNTS, TALLIES, TokenLedger

STATES = ("stores_in_flight", "cache_at_start", "cache_at_end")
SINCE = ("prompt_tokens_since_restart", "requests_since_restart")

_ledger_values = attrgetter("started_at", "ended_at", *COUNTS, *TALLIES, *STATES, *SINCE)
_gauge_values = attrgetter(*GAUGE_FIELDS)


def ledger_row(
    key: tuple[int, float], ledger: TokenLedger, gauges: Gauges, told: tuple[str, int | None, int | None]
) -> tuple[object, ...]:
    """The values of a raw row, in the order of the table's columns; roll-ups add their number of rounds.

    Args:
        key: series and `at`.
        told: answer, id of the model (None: unknown), id of TTFT's bucket layout (None: not exported).
    """
    notes = dump_notes(ledger.notes) if ledger.notes else None
    return (*key, *_ledger_values(ledger), notes, *_gauge_values(gauges), *told)
