"""LMCache inside vLLM, its ranks on ports of their own: what each counts alike is counted once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.meter import Increase
from collectors.ranks import Ranks
from tests.support.expositions import START, explained, series, vllm
from tierdeck.readings import Reading

FOUND = Reading.FOUND_TOKENS


def rank(worker: str, found: float) -> str:
    """The page of one rank; START is before the first moment."""
    labels = f'{{model_name="m",role="worker",worker_id="{worker}"}}' if worker else '{model_name="m"}'
    return series(
        {
            "process_start_time_seconds": START,
            f"lmcache:num_lookup_tokens_total{labels}": found,
            f"lmcache:num_lookup_hits_total{labels}": found,
        }
    )


def not_loaded(tmp_path: Path, *moments: Mapping[str, str]) -> Any:
    """Of a replica that loaded 100 of 400 tokens and had none in L0; its pages at each minute."""
    engines = [vllm(0, 0, 0, 0), *[vllm(400, 0, 400, 100)] * (len(moments) - 1)]
    pages = {60 * number: {"vllm": engines[number], **some} for number, some in enumerate(moments)}
    part = explained(tmp_path, {"A": pages}, {})["replicas"]["A"]
    return part["found_not_loaded_tokens"]


def test_ranks_of_one_engine_look_up_the_same_tokens(tmp_path: Path) -> None:
    # both found the same 320 tokens; 100 were loaded: 220
    before = {"lmcache.0": rank("0", 0), "lmcache.1": rank("1", 0)}
    after = {"lmcache.0": rank("0", 320), "lmcache.1": rank("1", 320)}
    assert not_loaded(tmp_path, before, after) == 220


def test_the_same_rank_on_another_page_is_another_engine_s(tmp_path: Path) -> None:
    # 150 + 170 - 100
    before = {"lmcache.a": rank("0", 0), "lmcache.b": rank("0", 0)}
    after = {"lmcache.a": rank("0", 150), "lmcache.b": rank("0", 170)}
    assert not_loaded(tmp_path, before, after) == 220


def test_pages_that_name_no_rank_are_added_up(tmp_path: Path) -> None:
    before = {"lmcache.1": rank("", 0), "lmcache.2": rank("", 0)}
    after = {"lmcache.1": rank("", 150), "lmcache.2": rank("", 170)}
    assert not_loaded(tmp_path, before, after) == 220


def test_two_engines_of_two_ranks_each(tmp_path: Path) -> None:
    # each rank of the first engine 150, of the second 170
    names = {"lmcache.a0": "0", "lmcache.a1": "1", "lmcache.b0": "0", "lmcache.b1": "1"}
    before = {name: rank(worker, 0) for name, worker in names.items()}
    after = {name: rank(worker, 150 if ".a" in name else 170) for name, worker in names.items()}
    assert not_loaded(tmp_path, before, after) == 220


def test_ranks_that_tell_at_moments_of_their_own_and_a_missed_page_are_counted_once(tmp_path: Path) -> None:
    # rank 1 is a step behind, and missed at the third moment: what it then brings at once was rank 0's before
    moments: list[dict[str, str]] = [
        {"lmcache.0": rank("0", 0), "lmcache.1": rank("1", 0)},
        {"lmcache.0": rank("0", 100), "lmcache.1": rank("1", 0)},
        {"lmcache.0": rank("0", 200)},
        {"lmcache.0": rank("0", 320), "lmcache.1": rank("1", 320)},
    ]
    assert not_loaded(tmp_path, *moments) == 220


def increase(worker: str, tokens: float, *, first: bool = False) -> Increase:
    return Increase(alike={(FOUND, worker): tokens}, first=first)


def test_the_memory_goes_on_where_it_stopped() -> None:
    ranks = Ranks()
    assert ranks.increases([increase("0", 100), increase("1", 40)]) == {FOUND: 100}
    again = Ranks(json.loads(json.dumps(ranks.memory())))
    assert again.increases([increase("0", 0), increase("1", 60)]) == {FOUND: 0}
    assert again.increases([increase("1", 5)]) == {FOUND: 5}
    assert again.increases([]) == {}


def test_a_rank_that_is_met_late_is_where_the_others_are_unless_it_is_new() -> None:
    ranks = Ranks()
    ranks.increases([increase("0", 100)])
    assert ranks.increases([increase("0", 10), increase("1", 12)]) == {FOUND: 12}  # 100 + 12
    # rank 2's process is new, and its page had been missed: 112 in all, no more than the others had
    assert ranks.increases([increase("2", 112, first=True)]) == {FOUND: 0}
