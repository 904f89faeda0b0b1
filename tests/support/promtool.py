"""Rules under `promtool test rules`: series of a fleet minute by minute, and which alerts fire at its end."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from alerting.export.rule_file import Document, rules_text
from tests.needs import tool

Pace = Sequence[tuple[int, float | None]]
"""(minutes, increase a minute), one after the other; None: no samples."""
_LABEL = re.compile(r'namespace="[^"]*"')


def counter(*paces: tuple[int, float | None]) -> str:
    """A counter in promtool's notation; during a gap it goes on as it did before."""
    value, pace, parts = 0.0, 0.0, []
    for minutes, rise in paces:
        if rise is None:
            parts.append(f"_x{minutes}")
            value += pace * minutes
            continue
        pace = rise
        parts.append(f"{value:.0f}+{rise:g}x{minutes - 1}")
        value += rise * minutes
    return " ".join(parts)


def gauge(*stretches: tuple[int, float | None]) -> str:
    """A gauge that stands still for so many minutes each."""
    return " ".join(f"_x{m}" if value is None else f"{value:g}+0x{m - 1}" for m, value in stretches)


@dataclass(frozen=True)
class RuleCase:
    """A fleet over some minutes, and what fires at the end.

    Attributes:
        series: values by series, in promtool's notation.
        fires: names of alerts with a label's value, such as `TierdeckL2Outage stores_incomplete`; the watchdog
            is left out.
        values: values of recordings at the end.
    """

    name: str
    series: Mapping[str, str]
    fires: frozenset[str] = frozenset()
    values: Mapping[str, float] = field(default_factory=dict)


_OF = "namespace"


def _told(at: str) -> str:
    """Firing alerts by case, each as its name with what tells those of one name apart."""
    firing = "ALERTS{alertstate='firing',alertname!='TierdeckWatchdog'}"
    joined = f"label_join({firing}, 'told', ' ', 'alertname', 'sign', 'tier')"
    return f"count by ({at}, told) ({joined})" if at else f"count by (told) ({joined})"


def check_rules(file: Path) -> None:
    """`promtool check rules`, its lints included."""
    done = subprocess.run(
        [tool("promtool"), "check", "rules", "--lint=all", "--lint-fatal", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def try_rules(folder: Path, rules: Document, cases: Sequence[RuleCase], at_minute: int) -> None:
    """Try rules that group by namespace: all cases at once, each as a namespace of its own.

    Fails with promtool's words where an alert fires that must not, or one that must does not.
    """
    series: dict[str, str] = {}
    told: list[dict[str, object]] = []
    asked: list[dict[str, object]] = []
    for case in cases:
        series |= {_LABEL.sub(f'namespace="{case.name}"', name): values for name, values in case.series.items()}
        told += [{"labels": f'{{namespace="{case.name}", told="{name}"}}', "value": 1} for name in sorted(case.fires)]
        asked += [
            {
                "expr": f'round(sum({record}{{namespace="{case.name}"}}), 0.001)',
                "eval_time": f"{at_minute}m",
                "exp_samples": [{"labels": "{}", "value": value}],
            }
            for record, value in case.values.items()
        ]
    asked.append({"expr": _told(_OF), "eval_time": f"{at_minute}m", "exp_samples": told})
    _run(folder, rules, [_test(series, asked)])


def try_alone(folder: Path, rules: Document, cases: Sequence[RuleCase], at_minute: int) -> None:
    """Try rules that group by nothing, one case after the other."""
    tests = []
    for case in cases:
        told = [{"labels": f'{{told="{name}"}}', "value": 1} for name in sorted(case.fires)]
        asked: dict[str, object] = {"expr": _told(""), "eval_time": f"{at_minute}m", "exp_samples": told}
        tests.append(_test(case.series, [asked]))
    _run(folder, rules, tests)


def try_queries(folder: Path, rules: Document, asked: Sequence[tuple[RuleCase, str]], at_minute: int) -> None:
    """Try queries, each of which must have exactly one answer at that minute of its case."""
    tests = []
    for case, expr in asked:
        answers: list[dict[str, object]] = [{"labels": "{}", "value": 1}]
        one: dict[str, object] = {"expr": f"count({expr})", "eval_time": f"{at_minute}m", "exp_samples": answers}
        tests.append(_test(case.series, [one]))
    _run(folder, rules, tests)


def _test(series: Mapping[str, str], asked: Sequence[dict[str, object]]) -> dict[str, object]:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": list(asked),
    }


def _run(folder: Path, rules: Document, tests: Sequence[dict[str, object]]) -> None:
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": list(tests)}
    (folder / "rules.yaml").write_text(rules_text(rules), "utf-8")
    (folder / "test.yaml").write_text(yaml.safe_dump(document), "utf-8")
    done = subprocess.run(
        [tool("promtool"), "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
