"""Who judges: the process of that cluster, and no other's."""

from __future__ import annotations

import pandas as pd

from console.judging import Judging, judging
from tests.unit.console.test_alerts_page import NOW

Beat = tuple[str, float, str, bool]
"""Instance, seconds since the last beat, trouble, whether it signed off."""


def processes(*beats: Beat, name: str = "alerting") -> pd.DataFrame:
    """As the store gives them."""
    at = [pd.Timestamp(NOW - ago, unit="s", tz="UTC") for _, ago, _, _ in beats]
    stopped = [when if one[3] else pd.NaT for when, one in zip(at, beats, strict=True)]
    found = pd.DataFrame({"name": name, "instance": [one[0] for one in beats], "beat_at": at,
                          "trouble": [one[2] for one in beats], "stopped_at": stopped})  # fmt: skip
    return found.assign(**{key: pd.to_datetime(found[key], utc=True) for key in ("beat_at", "stopped_at")})


def judged(found: pd.DataFrame, *clusters: str, left: float = 40.0, **holders: str) -> Judging:
    judges = {cluster: (instance, NOW + left) for cluster, instance in holders.items()}
    return judging(found, judges, clusters or ("east",), NOW)


def test_nobody_judges_what_no_process_has_taken_on() -> None:
    alive = processes(("a:1", 5, "", False))
    assert judged(alive, east="a:1").trouble == ""
    assert "`tierdeck up` starts it" in judged(processes(("a:1", 5, "", False), name="collectors")).trouble
    # the last heartbeat is ten minutes old: more than the 90 s after which a process is silent
    late = judged(processes(("a:1", 600, "", False)), east="a:1")
    assert "its last heartbeat was 10 min ago" in late.trouble
    assert "not running any more" in judged(processes(("a:1", 5, "", True))).trouble
    told = judged(processes(("a:1", 5, "a channel can't be used", False)), east="a:1").trouble
    assert told == "The alerting process is in trouble: a channel can't be used"


def test_a_process_of_another_cluster_judges_nothing_here() -> None:
    found = judged(processes(("b:1", 5, "", False)), west="b:1")
    assert found.trouble.startswith("Nothing is judged")
    both = judged(processes(("b:1", 5, "", False), ("a:1", 600, "", False)), "east", "west", east="a:1", west="b:1")
    assert both.trouble.startswith("Cluster east: Nothing is judged")
    assert both.unjudged == {"east"}
    assert not both.is_nowhere
    assert judged(processes(("b:1", 5, "", False)), "west", west="b:1").trouble == ""


def test_one_that_lives_and_does_not_go_on_is_said() -> None:
    hung = judged(processes(("a:1", 5, "", False)), east="a:1", left=-600.0)
    assert hung.trouble == "The alerting process lives and judges nothing: it should have gone on 10 min ago."


def test_without_endpoints_any_process_will_do() -> None:
    assert judging(processes(("b:1", 5, "", False)), {}, (), NOW).trouble == ""
