"""A counter that has a second name on the page, at times: nothing lost, nothing counted twice."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tests.support.expositions import START, codes, explained, series, tokens
from tierdeck.fleet import Replica, ReplicaKey, SourceKind, Target
from tierdeck.ledger import merge
from tierdeck.rounds import Scrape

_LABELS = '{engine="0",model_name="m"}'
TARGET = Target(ReplicaKey("c", "e", "A"), "vllm", "http://x")


def page(
    old: tuple[float, float] | None = None, new: tuple[float, float] | None = None, *, start: float | None = START
) -> str:
    """Lookups and hits under their former names, and under their present ones."""
    named: dict[str, float | None] = {"process_start_time_seconds": start, f"vllm:num_requests_running{_LABELS}": 0.0}
    for prefix, counts in (("vllm:gpu_prefix_cache", old), ("vllm:prefix_cache", new)):
        if counts is not None:
            named |= {f"{prefix}_queries_total{_LABELS}": counts[0], f"{prefix}_hits_total{_LABELS}": counts[1]}
    return series(named)


def explain_pages(folder: Path, *pages: str) -> Any:
    return explained(folder, {"A": {60 * at: {"vllm": text} for at, text in enumerate(pages)}})["replicas"]["A"]


def test_an_interval_at_whose_end_a_second_name_appears_is_finished_by_the_first_one(tmp_path: Path) -> None:
    part = explain_pages(tmp_path, page(old=(1000, 100)), page(old=(1100, 110), new=(5000, 2000)))
    assert (part["prompt_tokens"], tokens(part)["L0"]) == (100, 10)
    assert set(codes(part)) == {"renamed"}
    assert part["names"]["vllm"]["read"]["prompt_tokens"] == "vllm:gpu_prefix_cache_queries_total"


def test_the_newer_name_goes_on_from_where_both_stood_side_by_side(tmp_path: Path) -> None:
    # old 1000 -> 1100, then new 5000 -> 5200 -> 5250: 100 + 200 + 50; hits 10 + 50 + 5
    part = explain_pages(
        tmp_path,
        page(old=(1000, 100)),
        page(old=(1100, 110), new=(5000, 2000)),
        page(old=(1300, 160), new=(5200, 2050)),
        page(new=(5250, 2055)),
    )
    assert (part["prompt_tokens"], tokens(part)["L0"]) == (350, 65)
    assert set(codes(part)) == {"renamed"}
    assert part["names"]["vllm"]["read"]["prompt_tokens"] == "vllm:prefix_cache_queries_total"


def test_an_old_name_that_goes_at_once_after_both_were_there_loses_nothing(tmp_path: Path) -> None:
    part = explain_pages(tmp_path, page(old=(1000, 100)), page(old=(1100, 110), new=(0, 0)), page(new=(40, 4)))
    assert (part["prompt_tokens"], tokens(part)["L0"], part["restarts"]) == (140, 14, 0)


def test_a_newer_name_that_goes_again_is_followed_by_the_older_one(tmp_path: Path) -> None:
    part = explain_pages(
        tmp_path,
        page(old=(10, 1), new=(10, 1)),
        page(old=(20, 2), new=(20, 2)),
        page(old=(50, 5)),
    )
    assert (part["prompt_tokens"], tokens(part)["L0"]) == (40, 4)


def test_hits_and_lookups_switch_together(tmp_path: Path) -> None:
    # the new hits are not exported before their first increment: until then both are read under their old names
    lookups = series({f"vllm:prefix_cache_queries_total{_LABELS}": 5000.0})
    later = series({f"vllm:prefix_cache_queries_total{_LABELS}": 5100.0})
    part = explain_pages(
        tmp_path,
        page(old=(1000, 100)),
        page(old=(1100, 110)) + lookups,
        page(old=(1200, 120)) + later,
        page(old=(1300, 130), new=(5200, 10)),
        page(old=(1400, 140), new=(5300, 20)),
    )
    assert (part["prompt_tokens"], tokens(part)["L0"]) == (400, 40)


def test_a_name_that_comes_without_the_old_one_is_still_a_baseline(tmp_path: Path) -> None:
    # the new name stands lower than the old one did: in one process that is no reset
    part = explain_pages(tmp_path, page(old=(1000, 100)), page(old=(1100, 110)), page(new=(50, 5)), page(new=(70, 6)))
    assert (part["prompt_tokens"], tokens(part)["L0"]) == (120, 11)
    assert set(codes(part)) == {"meaning_changed", "renamed", "scrape_gap"}


def test_a_new_process_counts_from_0_under_its_newest_names(tmp_path: Path) -> None:
    part = explain_pages(
        tmp_path,
        page(old=(1000, 100)),
        page(old=(30, 3), new=(30, 3), start=START + 30),
        page(new=(50, 5), start=START + 30),
    )
    assert (part["prompt_tokens"], tokens(part)["L0"], part["restarts"]) == (50, 5, 1)


_TRAFFIC = st.tuples(st.integers(0, 100), st.integers(0, 100))
_STEPS = st.lists(st.tuples(_TRAFFIC, st.sampled_from(["old", "both", "new"]), st.booleans()), min_size=1, max_size=10)


@settings(max_examples=150, deadline=None)
@given(_STEPS, st.integers(0, 5000))
def test_only_an_interval_whose_ends_share_no_name_is_lost(
    steps: list[tuple[tuple[int, int], str, bool]], ahead: int
) -> None:
    """Args:
    ahead: by how much the new names count more than the old ones, which is nobody's traffic.
    """
    accountant, rows = ReplicaAccountant(Replica(TARGET.key, (TARGET,))), []
    lookups = hits = wanted = wanted_hits = 0
    before = ""
    for number, ((misses, found), names, restarts_collector) in enumerate(steps):
        lookups, hits = lookups + misses + found, hits + found
        text = page(
            old=(lookups, hits) if names != "new" else None,
            new=(lookups + ahead, hits + ahead) if names != "old" else None,
        )
        if before and {before, names} != {"old", "new"}:
            wanted, wanted_hits = wanted + misses + found, wanted_hits + found
        before = names
        reading, reason = interpret(BY_KIND[SourceKind.VLLM], text)
        assert not reason
        at = 100.0 + number
        rows.append(accountant.feed(at, {"vllm": Answered(Scrape(TARGET, at, answered=True), reading)}))
        if restarts_collector:
            accountant = ReplicaAccountant(Replica(TARGET.key, (TARGET,)), accountant.memory())
    whole = merge([row.ledger for row in rows])
    assert (whole.prompt_tokens or 0, whole.l0_hits or 0) == (wanted, wanted_hits)
