"""What the accountant makes of versions that processes tell: rules, notes, and where counting starts anew."""

from __future__ import annotations

import json
from collections.abc import Mapping

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tests.support.expositions import START, lmcache_mp, vllm
from tierdeck.fleet import Replica, ReplicaKey, Target
from tierdeck.notes import NoteCode
from tierdeck.rounds import Round, Scrape

KEY = ReplicaKey("c", "e", "r")
OLD, ARTICLE, NEW = "0.10.2", "0.11.1", "0.32.0"


class Watched:
    """One replica's accountant, fed with pages and what their processes told."""

    def __init__(self, *, stated: str = "", kinds: tuple[str, ...] = ("vllm",)) -> None:
        self.targets = {kind: Target(KEY, kind, f"http://h/{kind}/metrics") for kind in kinds}
        versions = (("vllm", stated),) if stated else ()
        self.replica = Replica(KEY, tuple(self.targets.values()), versions=versions)
        self.accountant = ReplicaAccountant(self.replica)
        self.at = START

    def restarted_collector(self) -> None:
        memory = json.loads(json.dumps(self.accountant.memory()))
        self.accountant = ReplicaAccountant(self.replica, memory)

    def round(self, versions: str | Mapping[str, str] = "", **pages: str | None) -> Round:
        """A round in which each target answers with a page, or (None) not at all; `versions` all alike or by target."""
        self.at += 15
        answers = {}
        for kind, page in pages.items():
            target = self.targets[kind.replace("_", "-")]
            version = versions if isinstance(versions, str) else versions[target.name]
            if page is None:
                scrape = Scrape(target, self.at, answered=False, reason="refused", version=version)
                answers[target.name] = Answered(scrape)
                continue
            reading, reason = interpret(BY_KIND[target.kind], page)
            answers[target.name] = Answered(Scrape(target, self.at, True, reason, version=version), reading)
        return self.accountant.feed(self.at, answers)


def told(part: Round, code: NoteCode) -> list[str]:
    return [note.detail for note in sorted(part.ledger.notes) if note.code is code]


def preempted(queries: float, preemptions: float, **more: float | None) -> str:
    counter = {'vllm:num_preemptions_total{engine="0",model_name="m"}': preemptions}
    return vllm(queries, 0, more=counter, **more)  # type: ignore[arg-type]  # start


def test_preemptions_recount_by_what_the_process_tells_not_by_what_is_stated() -> None:
    for stated, version, recounting in ((OLD, NEW, None), (NEW, OLD, 3.0), (NEW, "", None), ("", "", 3.0)):
        watched = Watched(stated=stated)
        watched.round(version, vllm=preempted(0, 0))
        assert watched.round(version, vllm=preempted(100, 3)).ledger.recounting_preemptions == recounting


def test_absent_external_counters_are_0_by_what_the_process_tells() -> None:
    for stated, version, hits in ((OLD, NEW, 0.0), (NEW, OLD, None), (NEW, "", 0.0), ("", "", None)):
        watched = Watched(stated=stated)
        watched.round(version, vllm=vllm(0, 0))
        ledger = watched.round(version, vllm=vllm(100, 50)).ledger
        assert ledger.external_hits == hits
        assert ledger.unattributed_tokens in ((None, 0.0) if hits == 0 else (100.0,))


def test_external_queries_of_an_old_version_are_noted_only_while_it_answers() -> None:
    watched = Watched(stated=ARTICLE)
    old = watched.round(ARTICLE, vllm=vllm(100, 50, 100, 0))
    new = watched.round(NEW, vllm=vllm(10, 5, 5, 0, start=START + 20))
    assert len(told(old, NoteCode.MEANING_CHANGED)) == 1
    # the window that holds the change says so, with both versions; the next one has nothing to say
    (changed,) = [note for note in new.ledger.notes if note.code is NoteCode.MEANING_CHANGED]
    assert changed.evidence == "vLLM 0.11.1 before, now 0.32.0"
    assert not watched.round(NEW, vllm=vllm(20, 5, 5, 0, start=START + 20)).ledger.notes


def test_an_upgrade_is_a_restart_that_names_both_versions() -> None:
    watched = Watched()
    watched.round(OLD, vllm=vllm(1000, 500))
    part = watched.round(NEW, vllm=vllm(300, 100, 200, 0, start=START + 20))
    # another start time: the new process counts from 0
    assert (part.ledger.prompt_tokens, part.ledger.restarts, part.ledger.engine_gaps) == (300, 1, 0)
    assert told(part, NoteCode.RESTARTED) == ["an engine of another version answers: vLLM 0.10.2 before, now 0.32.0"]
    # 0.10.2 had no external counters, whose meaning could differ
    assert told(part, NoteCode.MEANING_CHANGED) == [
        "before vLLM 0.11.1 preempted requests are looked up, and counted, once more"
    ]


def test_versions_that_count_alike_change_without_a_word_about_meaning() -> None:
    watched = Watched()
    watched.round("0.31.0", vllm=vllm(1000, 500, 500, 0))
    part = watched.round(NEW, vllm=vllm(300, 100, 200, 0, start=START + 20))
    assert len(told(part, NoteCode.RESTARTED)) == 1
    assert told(part, NoteCode.MEANING_CHANGED) == []


def test_a_version_change_that_nothing_else_shows_is_a_new_baseline() -> None:
    watched = Watched()
    watched.round(ARTICLE, vllm=vllm(1000, 500, 1000, 0, start=None))
    watched.round(ARTICLE, vllm=None)
    part = watched.round(NEW, vllm=vllm(5000, 600, 4400, 0, start=None))
    # 5,000 of one process less 1,000 of another are no tokens of anybody
    assert part.ledger.prompt_tokens is None
    assert (part.ledger.restarts, part.ledger.engine_gaps) == (1, 1)
    assert len(told(part, NoteCode.RESTARTED)) == 1
    assert "a counter goes by another name" not in str(part.ledger.notes)
    assert watched.round(NEW, vllm=vllm(5600, 600, 5000, 0, start=None)).ledger.prompt_tokens == 600


def test_the_other_version_s_missing_counters_are_no_gap() -> None:
    watched = Watched()
    watched.round(NEW, vllm=vllm(1000, 500, 500, 0, start=None))
    part = watched.round(OLD, vllm=vllm(2000, 500, start=None))
    assert (part.ledger.prompt_tokens, part.ledger.engine_gaps) == (None, 1)
    assert watched.round(OLD, vllm=vllm(2100, 500, start=None)).ledger.prompt_tokens == 100


def test_where_one_engine_s_fall_shows_the_restart_none_goes_on() -> None:
    def page(first: float, second: float) -> str:
        return vllm(first, 0, start=None, engine="0") + vllm(second, 0, start=None, engine="1")

    watched = Watched()
    watched.round(OLD, vllm=page(1000, 10))
    # engine 0 fell; engine 1 has 500 of the new process, not 490 more
    assert watched.round(NEW, vllm=page(400, 500)).ledger.prompt_tokens == 900


def test_a_version_that_is_told_late_starts_nothing_anew() -> None:
    watched = Watched()
    watched.round(OLD, vllm=vllm(1000, 500))
    watched.round("", vllm=vllm(300, 100, start=START + 20))
    part = watched.round(NEW, vllm=vllm(400, 100, start=START + 20))
    assert (part.ledger.prompt_tokens, part.ledger.restarts) == (100, 0)
    assert len(told(part, NoteCode.RESTARTED)) == 1


def test_a_version_that_is_not_known_for_a_while_is_no_change() -> None:
    watched = Watched()
    for number, version in enumerate(("", NEW, "", NEW)):
        part = watched.round(version, vllm=vllm(100 * number, 0, 0, 0))
        assert not part.ledger.notes
    assert part.ledger.prompt_tokens == 100


def test_a_restarted_collector_still_knows_which_version_it_counted() -> None:
    watched = Watched()
    watched.round(ARTICLE, vllm=vllm(1000, 500, 1000, 0, start=None))
    watched.restarted_collector()
    assert watched.accountant.versions == {"vllm": ARTICLE}
    assert watched.round(NEW, vllm=vllm(5000, 600, 4400, 0, start=None)).ledger.prompt_tokens is None


def test_a_cache_server_of_another_version_is_a_baseline_and_no_restart_of_the_engine() -> None:
    watched = Watched(kinds=("vllm", "lmcache-mp"))
    pages = {"vllm": vllm(0, 0, 0, 0), "lmcache_mp": lmcache_mp(100, 0, start=None)}
    watched.round({"vllm": NEW, "lmcache-mp": "0.5.5"}, **pages)
    pages = {"vllm": vllm(100, 0, 0, 0), "lmcache_mp": lmcache_mp(900, 0, start=None)}
    part = watched.round({"vllm": NEW, "lmcache-mp": "0.5.6"}, **pages)
    assert (part.ledger.l1_found, part.ledger.cache_gaps, part.ledger.restarts) == (None, 1, 0)
    assert part.ledger.prompt_tokens == 100
    assert not told(part, NoteCode.RESTARTED)
