"""What the words of docs/ledger.md mean: windows, counters, restarts, gaps and states, a test a rule."""

from pathlib import Path
from typing import ClassVar

import pytest

from collectors.snapshot import read_snapshot
from tests.support.expositions import START, codes, explained, lmcache_mp, series, tokens, vllm, write_snapshot
from tierdeck.errors import UsageError


def test_the_window_counts_the_moments_of_sources_without_replica(tmp_path: Path) -> None:
    page = vllm(0, 0)
    whole = explained(tmp_path, {"A": {10: {"vllm": page}, 70: {"vllm": page}}, "_fleet": {75: {"router": page}}})
    assert whole["window_seconds"] == 65


def test_fewer_than_two_moments_are_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path, {"A": {0: {"vllm": vllm(0, 0)}}, "B": {0: {"vllm": vllm(0, 0)}}})
    with pytest.raises(UsageError, match="1 moments"):
        read_snapshot(tmp_path)


def test_moments_are_sorted_as_numbers(tmp_path: Path) -> None:
    bodies = {9: {"vllm": vllm(100, 0)}, 10: {"vllm": vllm(130, 0)}, 100: {"vllm": vllm(190, 0)}}
    assert explained(tmp_path, {"A": bodies})["replicas"]["A"]["prompt_tokens"] == 90


def test_a_restart_is_bridged_and_the_new_process_counts_from_zero(tmp_path: Path) -> None:
    # 1000 -> 1200, then a new process 30 -> 90: 200 + 30 + 60 = 290
    pages = [vllm(1000, 0), vllm(1200, 0), vllm(30, 0, start=START + 50), vllm(90, 0, start=START + 50)]
    replica = explained(tmp_path, {"A": {i: {"vllm": page} for i, page in enumerate(pages)}})["replicas"]["A"]
    assert (replica["prompt_tokens"], replica["restarts"]) == (290, 1)
    assert "restarted" in codes(replica)


def test_a_restart_that_no_counter_shows_is_bridged_too(tmp_path: Path) -> None:
    # the new process has already counted more than the old one: 150 from 0, not 50 more
    pages = [vllm(100, 0), vllm(150, 0, start=START + 50)]
    replica = explained(tmp_path, {"A": {i: {"vllm": page} for i, page in enumerate(pages)}})["replicas"]["A"]
    assert (replica["prompt_tokens"], replica["restarts"]) == (150, 1)


def test_without_a_start_time_a_fall_is_the_restart(tmp_path: Path) -> None:
    # hits did not fall (10 -> 20), but count from 0 with their engine: 20, not 10
    pages = [vllm(1000, 10, start=None), vllm(30, 20, start=None)]
    replica = explained(tmp_path, {"A": {i: {"vllm": page} for i, page in enumerate(pages)}})["replicas"]["A"]
    assert (replica["prompt_tokens"], replica["tiers"]["L0"]["tokens"], replica["restarts"]) == (30, 20, 1)


def test_a_fall_in_the_same_process_takes_all_counters_of_that_engine_back(tmp_path: Path) -> None:
    # engine 1 falls 500 -> 40 (its hits 5 -> 6 count from 0); engine 0 goes on 100 -> 160
    def page(q0: float, q1: float, h1: float) -> str:
        return vllm(q0, 0) + vllm(q1, h1, engine="1", start=None)

    moments = {0: {"vllm": page(100, 500, 5)}, 60: {"vllm": page(160, 40, 6)}}
    replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
    assert (replica["prompt_tokens"], replica["tiers"]["L0"]["tokens"]) == (60 + 40, 6)
    assert replica["restarts"] == 0
    assert "counter_reset" in codes(replica)


def test_a_missing_scrape_is_bridged_and_noted(tmp_path: Path) -> None:
    moments = {0: {"vllm": vllm(100, 0)}, 60: {"lmcache-mp": lmcache_mp()}, 120: {"vllm": vllm(300, 0)}}
    replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
    assert replica["prompt_tokens"] == 200
    assert "scrape_gap" in codes(replica)


def test_a_counter_that_appears_later_in_the_same_process_began_at_zero(tmp_path: Path) -> None:
    # OpenTelemetry exports a counter from its first increment on: absent at 0 s, 64 at 60 s
    moments = {
        0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp()},
        60: {"vllm": vllm(100, 0, 100, 64), "lmcache-mp": lmcache_mp(0, 64)},
    }
    replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
    assert tokens(replica) == {"L0": 0, "L1": 0, "L2": 64, "L1+L2": 64, "miss": 36}


def test_an_absence_after_the_first_appearance_is_a_gap_not_a_fall(tmp_path: Path) -> None:
    moments = {
        0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 10)},
        60: {"vllm": vllm(50, 0, 50, 20), "lmcache-mp": lmcache_mp()},
        120: {"vllm": vllm(100, 0, 100, 64), "lmcache-mp": lmcache_mp(0, 74)},
    }
    replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
    assert tokens(replica)["L2"] == 64
    assert replica["restarts"] == 0


class TestProcessesFirstSeenLater:
    MOMENTS: ClassVar = {60: {"vllm": vllm(500, 0)}, 120: {"vllm": vllm(700, 0)}}
    OTHER: ClassVar = {0: {"vllm": vllm(0, 0)}, 60: {"vllm": vllm(0, 0)}, 120: {"vllm": vllm(0, 0)}}

    def test_the_first_scrape_is_the_baseline(self, tmp_path: Path) -> None:
        whole = explained(tmp_path, {"A": self.MOMENTS, "B": self.OTHER})
        assert whole["replicas"]["A"]["prompt_tokens"] == 200

    def test_unless_the_process_started_after_the_first_moment(self, tmp_path: Path) -> None:
        whole = explained(tmp_path, {"A": self.MOMENTS, "B": self.OTHER}, {"first_moment": START - 10})
        assert whole["replicas"]["A"]["prompt_tokens"] == 700
        assert codes(whole["replicas"]["A"]) == []

    def test_a_process_that_is_older_than_the_window_is_a_baseline_all_the_same(self, tmp_path: Path) -> None:
        whole = explained(tmp_path, {"A": self.MOMENTS, "B": self.OTHER}, {"first_moment": START + 10})
        assert whole["replicas"]["A"]["prompt_tokens"] == 200

    def test_or_it_follows_a_restart_seen_on_that_target(self, tmp_path: Path) -> None:
        moments = {
            0: {"vllm": vllm(500, 0)},
            60: {"lmcache-mp": lmcache_mp()},
            120: {"vllm": vllm(70, 0, start=START + 90)},
        }
        replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert (replica["prompt_tokens"], replica["restarts"]) == (70, 1)

    def test_a_folder_seen_once_yields_gauges_only(self, tmp_path: Path) -> None:
        page = vllm(500, 10, more={'vllm:num_requests_waiting{engine="0",model_name="m"}': 3.0})
        whole = explained(tmp_path, {"A": {60: {"vllm": page}}, "B": {0: {"vllm": page}, 60: {"vllm": page}}})
        replica = whole["replicas"]["A"]
        assert (replica["prompt_tokens"], replica["waiting"]) == (None, 3)
        assert "not scraped twice" in replica["why"]["prompt_tokens"]
        assert whole["fleet"]["prompt_tokens"] is None


class TestStates:
    def state(self, tmp_path: Path, last: dict[str, str], first: str | None = None) -> str:
        moments = {0: {"vllm": first or vllm(0, 0, requests=0)}, 60: last}
        other = {0: {"vllm": vllm(0, 0)}, 60: {"vllm": vllm(9000, 0, requests=90)}}
        whole = explained(tmp_path, {"A": moments, "B": other})
        replica = whole["replicas"]["A"]
        if replica["state"] in ("down", "no_engine_metrics", "stale"):
            assert {replica[key] for key in ("prompt_tokens", "requests", "running", "kv_usage_ratio")} == {None}
            assert whole["fleet"]["unreadable"] == ["A"]
            assert whole["fleet"]["prompt_tokens"] == 9000
        return str(replica["state"])

    def test_down_when_nothing_answers_at_the_last_moment(self, tmp_path: Path) -> None:
        assert self.state(tmp_path, {}) == "down"

    @pytest.mark.parametrize(
        "body",
        ["", "<html><body>Sign in</body></html>", series({"python_info": 1, "process_start_time_seconds": START})],
    )
    def test_no_engine_metrics_when_vllm_answers_without_its_series(self, tmp_path: Path, body: str) -> None:
        assert self.state(tmp_path, {"vllm": body}) == "no_engine_metrics"

    def test_stale_when_only_vllm_is_missing(self, tmp_path: Path) -> None:
        assert self.state(tmp_path, {"lmcache-mp": lmcache_mp()}) == "stale"

    @pytest.mark.parametrize(
        ("queries", "requests", "state"), [(999, 50, "warming"), (5000, 9, "warming"), (1000, 10, "ok")]
    )
    def test_warming_after_a_restart_until_there_was_traffic(
        self, tmp_path: Path, queries: float, requests: float, state: str
    ) -> None:
        assert self.state(tmp_path, {"vllm": vllm(queries, 0, requests=requests, start=START + 30)}) == state

    def test_idle_without_lookups(self, tmp_path: Path) -> None:
        assert self.state(tmp_path, {"vllm": vllm(0, 0, requests=0)}) == "idle"

    def test_little_traffic_alone_hides_no_ratio(self, tmp_path: Path) -> None:
        assert self.state(tmp_path, {"vllm": vllm(5, 0, requests=1)}) == "ok"

    def test_html_in_between_is_a_failed_scrape_for_the_counters(self, tmp_path: Path) -> None:
        moments = {0: {"vllm": vllm(10, 0)}, 60: {"vllm": "<html/>"}, 120: {"vllm": vllm(40, 0)}}
        replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert (replica["state"], replica["prompt_tokens"]) == ("ok", 30)
        assert "scrape_gap" in codes(replica)


def test_the_fleet_has_the_best_state_and_its_replicas_notes(tmp_path: Path) -> None:
    restarted = {0: {"vllm": vllm(0, 0, requests=0)}, 60: {"vllm": vllm(10, 0, requests=1, start=START + 5)}}
    whole = explained(tmp_path, {"A": restarted, "B": {0: {"vllm": vllm(0, 0)}}})
    assert whole["replicas"]["B"]["state"] == "down"
    assert whole["fleet"]["state"] == "warming"
    assert whole["fleet"]["restarts"] == 1
    assert [(note["code"], note["replica"]) for note in whole["fleet"]["notes"]] == [
        ("restarted", "A"),
        ("scrape_gap", "B"),
    ]


def test_a_saved_body_without_its_last_line_end_is_read_whole(tmp_path: Path) -> None:
    moments = {0: {"vllm": vllm(10, 0).rstrip("\n")}, 60: {"vllm": vllm(44, 0).rstrip("\n")}}
    assert explained(tmp_path, {"A": moments})["replicas"]["A"]["prompt_tokens"] == 34


def test_a_number_that_is_cut_short_is_left_out(tmp_path: Path) -> None:
    # 4416.0 cut to 44 would be a wrong number; the other values are floats, so it is left out
    whole = vllm(4000.0, 0.0, 0.0, 1.0)
    cut = whole[: whole.index("4000.0")].replace("4000.0", "") + "44"
    page = series({"process_start_time_seconds": 1e6, 'vllm:num_requests_running{engine="0"}': 0.0}) + cut
    replica = explained(tmp_path, {"A": {0: {"vllm": page}, 60: {"vllm": page}}})["replicas"]["A"]
    assert replica["prompt_tokens"] is None
