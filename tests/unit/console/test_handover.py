"""The shift's summary as document and as Markdown."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from console.handover import HandoverTold, as_markdown, handover
from console.judging import Judging
from console.rule_rows import rule_rows
from tests.unit.console.test_alerts_page import CHAT, NOW, alert
from tierdeck.alerts.alert import Acknowledgement, AlertState, FoundCause
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.silence import Silence

START = NOW - 12 * 3600
ROWS = ("at", "cluster", "endpoint", "replica", "kind", "subject", "words")


def told(**how: object) -> HandoverTold:
    """A shift of twelve hours with one endpoint whose ratio was known all the time."""
    at = pd.date_range(pd.Timestamp(START, unit="s", tz="UTC").ceil("600s"), periods=72, freq="600s")
    history = pd.DataFrame({"at": at, "cluster": "east", "endpoint": CHAT.endpoint, "hit_tokens": 1.0})
    usual = HandoverTold(
        START, NOW, (), (), pd.DataFrame(columns=list(ROWS)), history, [("east", CHAT.endpoint)], (), ""
    )
    return replace(usual, **how)  # type: ignore[arg-type]


def test_a_quiet_shift_says_so_section_by_section() -> None:
    text = as_markdown(handover(told()))
    assert text.startswith("# Handover, 2023-11-14 10:20 to 2023-11-14 22:20 UTC\n")
    for nothing in (
        "Nothing fires.",
        "Nothing fired and ended.",
        "No event is known.",
        "No silence or maintenance window ends in the next shift.",
        "No gap is known.",
    ):
        assert f"\n{nothing}\n" in text
    assert "finding" not in text.lower()  # there is no doctor yet


def test_alerts_say_what_was_wrong_why_and_who_has_seen_it() -> None:
    cause = FoundCause("restart", "vllm-2 restarted.", "", -18.0)
    seen = replace(alert(2), causes=(cause,), acknowledged=Acknowledgement("ada", NOW - 60, "draining it"))
    over = replace(alert(3), state=AlertState.RESOLVED, resolved_at=NOW - 300)
    quiet = replace(alert(4), suppressed_by="flapping")
    never = replace(alert(5, fired=None), state=AlertState.RESOLVED)
    text = as_markdown(handover(told(alerts=[alert(1), seen, over, quiet, never])))
    assert (
        "- **Alert 1: The hit ratio dropped** (warning), inference/chat, 22:10; it is bad; acknowledged by nobody."
        in text
    )
    assert "; it is bad; cause: vllm-2 restarted; acknowledged by ada: draining it." in text
    assert "- **Alert 3: The hit ratio dropped** (warning), inference/chat, 22:10 to 22:15; it is bad." in text
    assert "nobody was told: it came and went too often within an hour." in text
    assert "Alert 5" not in text


def test_silences_that_end_in_the_next_shift_are_named_and_later_ones_are_not() -> None:
    silences = [
        Silence({"endpoint": CHAT.endpoint}, START, NOW + 3600, "new drives", "ada", is_maintenance=True, id=1),
        Silence({"rule": "tier_drop"}, START, NOW + 13 * 3600, "known", "ada", id=2),
        Silence({"rule": "no_data"}, START, NOW - 60, "was short", "ada", id=3),
    ]
    document = handover(told(silences=silences))
    assert [one["id"] for one in document["silences_ending"]] == [1]
    assert "- Maintenance 1 of endpoint=inference/chat ends at 23:20, by ada: new drives." in as_markdown(document)


def test_what_nobody_could_judge_is_named_with_its_reason() -> None:
    # 72 buckets of ten minutes in twelve hours from 10:20; the last six are unknown: an hour
    history = told().history
    history.loc[history.index[-6:], "hit_tokens"] = float("nan")
    scene = Scene(0.0, {CHAT: Minute(0.0, prompt_tokens=1.0, hit_tokens=1.0, replicas=1, readable=1)})
    document = handover(told(history=history, rules=rule_rows(scene)))
    named = {one["what"]: one["why"] for one in document["not_judged"]}
    assert named["inference/chat"] == "its hit ratio is not known for 1 h of 12 h"
    assert named["rule tier_drop"] == "inference/chat: the tiers are not told apart"
    assert "rule hit_ratio_drop" not in named


def test_a_process_that_does_not_run_is_said_once() -> None:
    trouble = "Nothing is judged."
    document = handover(told(trouble=trouble, rules=rule_rows(Scene(0.0, {}), Judging({"east": trouble}))))
    assert [one["why"] for one in document["not_judged"] if one["why"].startswith("Nothing is judged")] == [trouble]


def test_times_in_which_nobody_judged_are_said_with_their_edges() -> None:
    # 20:00 to 20:30, one that began before the shift (10:20) and ended at 10:50, and one that still lasts
    spans = [("east", NOW - 8400, NOW - 6600), ("east", START - 3600, START + 1800), ("east", NOW - 600, NOW)]
    document = handover(told(unjudged=spans))
    late = "; what fired in it was said late, or not at all"
    assert [one["why"] for one in document["not_judged"] if one["what"] == "alerts"] == [
        f"nothing was judged from 2023-11-14 10:20 UTC to 2023-11-14 10:50 UTC{late}",
        f"nothing was judged from 2023-11-14 20:00 UTC to 2023-11-14 20:30 UTC{late}",
        "nothing has been judged since 2023-11-14 22:10 UTC",
    ]
    several = handover(told(unjudged=[("west", NOW - 600, NOW)]))
    assert [one["what"] for one in several["not_judged"]] == ["alerts of cluster west"]


def test_what_comes_from_outside_is_no_markdown() -> None:
    hostile = replace(alert(), words="![x](http://x.test/y) <b> *loud* _x_ hit_ratio")
    text = as_markdown(handover(told(alerts=[hostile])))
    assert r"!\[x\](http://x.test/y) \<b\> \*loud\* \_x\_ hit_ratio" in text
