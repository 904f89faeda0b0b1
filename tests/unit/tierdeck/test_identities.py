"""Identities between counters: what breaks each, how much is tolerated, and what is not judged."""

from dataclasses import replace

import pytest

from tierdeck.identities import IDENTITIES, breaches
from tierdeck.ledger import TokenLedger
from tierdeck.notes import NoteCode
from tierdeck.split import split

# 10 requests of 100 tokens: 400 in L0, 300 loaded, 300 computed; LMCache was asked for 960 and found 500
SOUND = TokenLedger(
    0.0, 60.0, prompt_tokens=1000.0, l0_hits=400.0, external_queries=600.0, external_hits=300.0, host_hits=0.0,
    disk_hits=0.0, transfer_tokens=0.0, processed_tokens=1000.0, requests=10.0, preemptions=0.0, lookup_tokens=960.0,
    l1_found=300.0, l2_found=200.0, stores_submitted=8.0, stores_completed=8.0, stores_in_flight=0.0,
    computed_tokens=300.0, local_source_tokens=400.0, external_source_tokens=300.0, cached_tokens=700.0,
    cached_by_source=700.0, first_tokens=10.0, aborted=0.0, engine_scrapes=1, cache_at_start=True, cache_at_end=True,
    open_at_start=0.0, open_at_end=0.0,
)  # fmt: skip


def codes(ledger: TokenLedger) -> list[NoteCode]:
    return [note.code for of_cache in (False, True) for note in breaches(ledger, of_cache=of_cache)]


def test_counters_that_agree_bring_no_note() -> None:
    assert codes(SOUND) == []


@pytest.mark.parametrize(
    ("changed", "evidence"),
    [
        ({"l0_hits": 1001.0}, "L0 hits 1001, lookups 1000"),
        ({"computed_tokens": 311.0}, "by source 1011, processed 1000"),
        ({"cached_tokens": 711.0}, "by source 700, cached 711"),
        ({"cached_by_source": 711.0}, "by tier 711, hits 700"),
        ({"processed_tokens": 989.0, "computed_tokens": None}, "lookups 1000, processed 989"),
        ({"first_tokens": 8.0}, "first tokens 8, finished 10"),
        ({"lookup_tokens": 1011.0}, "LMCache 1011, vLLM 1000"),
        ({"l1_found": 89.0}, "loaded 300, found 289"),
    ],
)
def test_a_breach_tells_both_figures(changed: dict[str, float | None], evidence: str) -> None:
    # beyond 1 token for each of 10 requests; first tokens: beyond 1 + 1 % of 10
    notes = [note for of_cache in (False, True) for note in breaches(replace(SOUND, **changed), of_cache=of_cache)]  # type: ignore[arg-type]
    assert (NoteCode.COUNTERS_DISAGREE, evidence) in [(note.code, note.evidence) for note in notes]


@pytest.mark.parametrize(
    "changed",
    [
        {"computed_tokens": 310.0},
        {"cached_tokens": 690.0},
        {"processed_tokens": 990.0, "computed_tokens": None},
        {"first_tokens": 9.0},
        {"lookup_tokens": 1010.0},
        {"l1_found": 90.0},
    ],
)
def test_a_token_a_request_is_no_breach(changed: dict[str, float | None]) -> None:
    assert codes(replace(SOUND, **changed)) == []  # type: ignore[arg-type]


def test_requests_that_are_open_at_an_edge_excuse_what_they_may_hold() -> None:
    # 2 open: 10 + 4 * 2 * 100 = 810 tokens may be counted here and not yet there
    open_ = replace(SOUND, open_at_end=2.0, computed_tokens=None, first_tokens=12.0)
    assert codes(replace(open_, processed_tokens=190.0)) == []
    assert codes(replace(open_, processed_tokens=189.0)) == [NoteCode.COUNTERS_DISAGREE]


@pytest.mark.parametrize("unsettled", [{"restarts": 1}, {"counter_resets": 1}, {"preemptions": 1.0}])
def test_after_a_restart_or_a_preemption_lookups_are_not_judged(unsettled: dict[str, float]) -> None:
    assert codes(replace(SOUND, processed_tokens=500.0, computed_tokens=None, **unsettled)) == []  # type: ignore[arg-type]


def test_where_the_open_requests_are_unknown_a_quarter_may_be_missing_and_few_requests_are_not_judged() -> None:
    unknown = replace(SOUND, open_at_start=None, computed_tokens=None, first_tokens=None)
    assert codes(replace(unknown, processed_tokens=100.0)) == []
    many = replace(unknown, requests=100.0)
    assert codes(replace(many, processed_tokens=750.0)) == []
    assert codes(replace(many, processed_tokens=749.0)) == [NoteCode.COUNTERS_DISAGREE]


def test_requests_that_their_client_gave_up_had_no_first_token() -> None:
    assert codes(replace(SOUND, first_tokens=7.0, aborted=3.0)) == []


def test_an_engine_that_measures_no_first_token_at_all_is_not_accused() -> None:
    assert codes(replace(SOUND, first_tokens=0.0)) == []


def test_what_an_identity_withholds_is_withheld_and_nothing_else_is() -> None:
    assert split(replace(SOUND, cached_tokens=0.0)).by_token.value == 0.7
    more_hits = split(replace(SOUND, l0_hits=1001.0))
    assert (more_hits.l0.value, more_hits.miss.value, more_hits.by_token.value) == (1001, None, None)
    # more loaded than found: 300 > 50 + 20, so L1 lies anywhere in [0, 300]
    loaded = split(replace(SOUND, l1_found=50.0, l2_found=20.0))
    assert (loaded.l1.low.value, loaded.l1.high.value, loaded.by_token.value) == (0, 300, 0.7)


def test_hits_that_stay_0_beside_cached_tokens_by_tier_are_not_wired() -> None:
    notes = breaches(replace(SOUND, l0_hits=0.0, external_queries=1000.0, computed_tokens=None), of_cache=False)
    assert [(note.code, note.evidence) for note in notes if "by tier" in note.evidence] == [
        (NoteCode.NOT_WIRED, "by tier 700, hits 300")
    ]


def test_each_identity_is_told_once() -> None:
    assert len({one.says for one in IDENTITIES}) == len(IDENTITIES)
