"""Alerts on what the same file records: scale and inversion are found through the recorded expression."""

from pathlib import Path

import pytest
import yaml

from collectors.lint.report import lint

HITS, LOOKUPS = "sum(rate(vllm:prefix_cache_hits_total[5m]))", "sum(rate(vllm:prefix_cache_queries_total[5m]))"
ENOUGH = "sum(increase(vllm:prefix_cache_queries_total[5m])) > 1000"


def alert_findings(folder: Path, alert: str, *records: tuple[str, str]) -> list[tuple[str, str | None]]:
    """Code and correction of what is told of the alert in a file that also has the records, in this order."""
    rules = [{"record": name, "expr": expr} for name, expr in records] + [{"alert": "Low", "expr": alert}]
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    return [(one.rule, one.right) for one in lint(file).findings if 'alert "Low"' in one.where]


@pytest.mark.parametrize(
    ("recorded", "alert", "right"),
    [
        (f"{HITS} / {LOOKUPS}", "hit:ratio < 30", "hit:ratio < 0.3"),
        (f"100 * {HITS} / {LOOKUPS}", "hit:ratio < 0.3", "hit:ratio < 30"),
        (f"sum(100 * rate(vllm:prefix_cache_hits_total[5m])) / {LOOKUPS}", "0.3 > hit:ratio", "30 > hit:ratio"),
        ("avg(vllm:kv_cache_usage_perc)", "hit:ratio > 90", "hit:ratio > 0.9"),
        ("avg(vllm:kv_cache_usage_perc)", 'hit:ratio{job="a"} > 90', 'hit:ratio{job="a"} > 0.9'),
        (f"100 * {HITS} / {LOOKUPS}", "100 * hit:ratio < 30", "hit:ratio < 30"),
    ],
)
def test_a_threshold_on_another_scale_than_the_record_s_is_told(
    tmp_path: Path, recorded: str, alert: str, right: str
) -> None:
    assert alert_findings(tmp_path, alert, ("hit:ratio", recorded)) == [("percent_unit", right)]


@pytest.mark.parametrize("alert", ["hit:ratio < 0.3", "hit:ratio > 1.05", "max(hit:ratio) > 0.9", "other:ratio < 30"])
def test_a_threshold_that_fits_the_record_is_none(tmp_path: Path, alert: str) -> None:
    assert alert_findings(tmp_path, alert, ("hit:ratio", f"{HITS} / {LOOKUPS}")) == []


def test_records_of_records_are_followed_in_circles_too(tmp_path: Path) -> None:
    chain = (("a:ratio", f"{HITS} / {LOOKUPS}"), ("b:percent", "100 * a:ratio"))
    assert alert_findings(tmp_path, "b:percent < 0.3", *chain) == [("percent_unit", "b:percent < 30")]
    assert alert_findings(tmp_path, "c:x < 30", ("c:x", "d:x"), ("d:x", "c:x")) == []


@pytest.mark.parametrize("levels", [6, 18, 70])
def test_deep_records_of_themselves_are_judged_in_little_time(tmp_path: Path, levels: int) -> None:
    deep = "abs(" * levels + "c:x + c:x" + ")" * levels
    alert = "abs(" * 100 + "c:x" + ")" * 100 + " < 30"
    assert alert_findings(tmp_path, alert, ("c:x", deep)) == []


def test_a_name_that_is_recorded_in_two_ways_is_not_followed(tmp_path: Path) -> None:
    both = (("hit:ratio", f"{HITS} / {LOOKUPS}"), ("hit:ratio", f"100 * {HITS} / {LOOKUPS}"))
    assert alert_findings(tmp_path, "hit:ratio < 30", *both) == []


def test_an_alert_on_a_ratio_that_is_recorded_upside_down_gets_the_right_one_in_its_place(tmp_path: Path) -> None:
    upside_down = ("hit:ratio", f"{LOOKUPS} / {HITS}")
    told = alert_findings(tmp_path, "hit:ratio < 0.3", upside_down)
    assert told == [("inverted_ratio", f"{HITS} / {LOOKUPS} < 0.3 and {ENOUGH}")]
    assert alert_findings(tmp_path, 'hit:ratio{job="a"} < 0.3', upside_down) == [("inverted_ratio", None)]
