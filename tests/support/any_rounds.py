"""Hypothesis strategies: the rounds of one replica, with gaps, restarts, several layouts and models."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import strategies as st

from tests.support.rounds import BOUNDS, T0, key
from tierdeck.account import Answer, Gauges
from tierdeck.fleet import ReplicaKey
from tierdeck.histogram import Histogram
from tierdeck.ledger import COUNTS, TALLIES, TokenLedger
from tierdeck.notes import Note, NoteCode
from tierdeck.rounds import Round

counts = st.none() | st.integers(0, 10**6).map(float)
flags = st.none() | st.booleans()
notes = st.frozensets(st.builds(Note, st.sampled_from(NoteCode), st.sampled_from(["a", "ü"]), st.just("1")), max_size=2)
layouts = st.sampled_from([BOUNDS, (0.25, 1.0), (2.0,), (0.1, 0.2, 0.25)])
gauges = st.builds(Gauges, *[st.none() | st.integers(0, 100).map(float)] * 6)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram | None:
    """None, empty, or with observations; sums are eighths, which add up exactly in any order."""
    if draw(st.booleans()):
        return None
    bounds = draw(layouts)
    observed = draw(st.lists(st.integers(0, 50), min_size=len(bounds) + 1, max_size=len(bounds) + 1))
    some = draw(st.booleans())
    values = tuple(float(count) if some else 0.0 for count in observed)
    return Histogram(bounds, values, sum(values) / 8, draw(st.booleans()) if some else False)


@st.composite
def ledgers(draw: st.DrawFn, started_at: float, ended_at: float, answer: Answer) -> TokenLedger:
    values: dict[str, object] = {name: draw(counts) for name in COUNTS}
    values |= {name: draw(st.integers(0, 2)) for name in TALLIES if name != "restarts"}
    values["engine_scrapes"] = draw(st.integers(0, 2)) if answer is Answer.ENGINE else 0
    restarts = draw(st.sampled_from([0, 0, 0, 1, 2]))
    if restarts:
        values |= {"prompt_tokens_since_restart": draw(counts), "requests_since_restart": draw(counts)}
    return TokenLedger(
        started_at,
        ended_at,
        **values,  # type: ignore[arg-type]  # by name
        restarts=restarts,
        stores_in_flight=draw(counts),
        cache_at_start=draw(flags),
        cache_at_end=draw(flags),
        notes=draw(notes),
    )


@st.composite
def histories(draw: st.DrawFn, who: ReplicaKey | None = None, most: int = 8) -> list[Round]:
    """Consecutive rounds of one replica from T0 on; the model may change once, and be unknown in between."""
    gaps = draw(st.lists(st.sampled_from([1, 5, 15, 15.25, 15, 45, 59, 600, 1234.5, 3600]), min_size=1, max_size=most))
    moments = [T0 + sum_ for sum_ in accumulate(gaps, initial=draw(st.sampled_from([0.0, 0.5, 3.0])))]
    new_model_at = draw(st.integers(0, most))
    found = []
    for number, (started_at, at) in enumerate(pairwise(moments)):
        answer = draw(st.sampled_from(Answer))
        found.append(
            Round(
                key=who or key(),
                at=at,
                ledger=draw(ledgers(started_at, at, answer)),
                answer=answer,
                scrapes=(),
                model=draw(st.sampled_from(["", "m" if number < new_model_at else "n"])),
                ttft=draw(histograms()),
                gauges=draw(gauges),
            )
        )
    return found
