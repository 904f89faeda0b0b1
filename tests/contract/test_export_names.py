"""The names that exported queries read are those that the collectors read."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerting.export.names import METRICS, TTFT, TTFT_BOUNDS, Metric
from collectors.families import sample_names, spellings
from collectors.lint.names import known
from collectors.source import Family, Kind
from collectors.sources import SOURCES

CAPTURES = Path(__file__).parents[2] / "lab" / "captures"
FAMILIES = [family for source in SOURCES for family in source.families]
each = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.names[0]}{''.join(metric.where)}")


def family_of(metric: Metric) -> Family:
    return next(one for one in FAMILIES if one.reading is metric.reading and set(one.names) & set(metric.names))


@each
def test_they_are_spelled_as_the_collectors_spell_them(metric: Metric) -> None:
    if metric.reading is None:
        # not read by the collectors, and known to the linter
        assert all(known(name) is not None for name in metric.spelled())
        return
    family = family_of(metric)
    if metric is TTFT:
        ways = [way for end in ("_bucket", "_sum", "_count") for way in metric.spelled(end)]
        assert sorted(ways) == sorted(sample_names(family))
        return
    assert metric.names == family.names
    if family.kind is Kind.COUNTER:
        assert metric.is_counter
    assert list(metric.spelled()) == [one.name for one in spellings(family)]


@each
def test_their_conditions_are_those_of_the_collectors(metric: Metric) -> None:
    if metric.reading is None:
        return
    for name, value in family_of(metric).where.items():
        assert any(matcher.startswith(name) and value in matcher for matcher in metric.where)


def test_the_bounds_of_the_objective_are_those_of_a_captured_engine() -> None:
    text = (CAPTURES / "cross-replica" / "A" / "60" / "vllm.txt").read_text("utf-8")
    buckets = [line for line in text.splitlines() if line.startswith(f"{TTFT.names[0]}_bucket")]
    bounds = [line.split('le="')[1].split('"')[0] for line in buckets]
    assert bounds.pop() == "+Inf"
    assert [float(one) for one in bounds] == list(TTFT_BOUNDS)
