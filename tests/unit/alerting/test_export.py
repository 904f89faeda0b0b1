"""What is exported: refusals, labels, inhibition, the operator's object, and nothing that our own linter minds."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from alerting.export.alertmanager import EQUAL, RouteOptions, alertmanager, alertmanager_text, inhibit_rules
from alerting.export.boards import BoardOptions, board_text, boards
from alerting.export.options import Objective, RuleOptions, Windows, pairs
from alerting.export.promql import Scope, window
from alerting.export.rule_file import Resource, own_rule_file, prometheus_rule, rule_file, rules_text
from collectors.lint.report import lint
from tierdeck.alerts.rules import BY_NAME, RULES
from tierdeck.errors import UsageError

OPTIONS = RuleOptions(objective=Objective.of("0.95:2.5s"), floor=0.3, runbook_base="https://docs.example.org/alerts.md")


def alerts(options: RuleOptions = OPTIONS) -> list[dict[str, Any]]:
    document: Any = yaml.safe_load(rules_text(rule_file(options)))
    return [rule for group in document["groups"] for rule in group["rules"] if "alert" in rule]


def test_every_alert_is_one_of_tierdecks_rules_with_its_severity_and_its_section() -> None:
    by_alert = {rule.alertname: rule for rule in RULES}
    for alert in alerts():
        if alert["alert"] == "TierdeckWatchdog":
            continue
        rule = by_alert[alert["alert"]]
        assert alert["labels"]["severity"] == str(rule.severity)
        assert alert["annotations"]["runbook_url"] == f"https://docs.example.org/alerts.md#{rule.anchor}"
        assert alert["annotations"]["summary"].startswith(rule.title)
        assert alert["annotations"]["description"]


def test_what_has_no_static_form_is_not_exported_and_the_rest_is() -> None:
    named = {alert["alert"] for alert in alerts()}
    assert {rule.alertname for rule in RULES} - named == {"TierdeckHitRatioDrift", "TierdeckL2Costs"}


def test_labels_of_all_alerts_and_of_the_scope_are_in_each() -> None:
    options = RuleOptions(scope=Scope(("cluster", "model_name"), ('team="a"',)), labels={"region": "east"})
    for alert in alerts(options):
        assert alert["labels"]["region"] == "east"
        place = "{{ with $labels.model_name }}{{ . }}{{ end }}"
        assert alert["labels"].get("endpoint", place) in (place, "_pool")
    text = rules_text(rule_file(options))
    assert "namespace" not in text
    assert 'vllm:prefix_cache_hits_total{server="",team="a"}' in text


def test_no_objective_and_no_floor_are_no_rules() -> None:
    named = {alert["alert"] for alert in alerts(RuleOptions())}
    assert not named & {"TierdeckTtftBurn", "TierdeckHitRatioFloor"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "0.95:2s",
            "none of vLLM's TTFT buckets ends at 2 s, so that nobody can count what came later. Take 1s or 2.5s.",
        ),
        ("0.95:9999s", "Take 2560s."),
        ("95:2.5s", "'95:2.5s' is no TTFT objective"),
        ("2.5s", "is no TTFT objective"),
        ("0.95:soon", "'soon' is not a duration"),
    ],
)
def test_an_objective_that_no_bucket_can_tell_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        Objective.of(text)
    assert says in refused.value.line()


def test_paces_that_can_not_be_reached_are_left_out() -> None:
    # 14.4 times 10 % is more than all; 6 times is 60 %
    assert [times for times, *_ in Objective(0.9, 2.5).burns(Windows())] == [6.0]
    # 6 times 20 % is more than all too
    with pytest.raises(UsageError, match="leaves so much room"):
        Objective(0.8, 2.5).burns(Windows())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Scope(("le",)), "can't be grouped by"),
        (lambda: Scope(("a b",)), "can't be grouped by"),
        (lambda: Scope(match=("namespace=x",)), "is no label matcher"),
        (lambda: Scope(match=('a="b"} or vector(1)',)), "is no label matcher"),
        (lambda: RuleOptions(floor=30), "is no floor"),
        (lambda: RuleOptions(depth=8), "is no depth"),
        (lambda: RuleOptions(labels={"severity": "x"}), "can't be a label"),
        (lambda: pairs(["release"]), "is no label"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(make: Any, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        make()


def test_windows_are_written_as_prometheus_writes_them() -> None:
    assert [window(seconds) for seconds in (0.5, 15, 90, 900, 3600, 86400, 84600)] == [
        *("500ms", "15s", "90s", "15m", "1h", "1d", "1410m")
    ]


def test_the_operators_object_holds_the_same_groups() -> None:
    rules = rule_file(OPTIONS)
    made: Any = yaml.safe_load(rules_text(prometheus_rule(rules, Resource("kv", "serving", {"release": "prom"}))))
    assert (made["apiVersion"], made["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert made["metadata"] == {"name": "kv", "namespace": "serving", "labels": {"release": "prom"}}
    assert made["spec"] == rules
    # what the operator's schema allows in a group and in a rule
    for group in made["spec"]["groups"]:
        assert set(group) <= {"name", "interval", "rules"}
        for rule in group["rules"]:
            assert set(rule) <= {"record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations"}
            assert all(isinstance(value, str) for value in rule.get("labels", {}).values())
            for key in ("for", "keep_firing_for"):
                assert re.fullmatch(r"\d+(ms|s|m|h|d)", rule.get(key, "1s"))


def is_before(name: str, other: str) -> bool:
    names = [rule.name for rule in RULES]
    return names.index(name) < names.index(other)


def test_a_rule_keeps_quiet_what_follows_from_it_as_far_as_it_reaches() -> None:
    made: list[Any] = inhibit_rules()
    sources = {one["source_matchers"][0] for one in made}
    assert sources == {f'alertname="{rule.alertname}"' for rule in RULES if rule.inhibits}
    for rule in [rule for rule in RULES if rule.inhibits]:
        inhibit = next(one for one in made if one["source_matchers"][0] == f'alertname="{rule.alertname}"')
        quiet = inhibit["target_matchers"][0].partition('=~"')[2].rstrip('"').split("|")
        kept = [name for name in rule.inhibits if rule.name not in BY_NAME[name].inhibits or is_before(rule.name, name)]
        assert quiet == [BY_NAME[name].alertname for name in kept], "two that silence each other would both be silent"
        assert tuple(inhibit["equal"]) == EQUAL[rule.scope]


def test_an_outage_at_one_endpoint_keeps_quiet_that_endpoint_alone_and_no_pair_silences_itself() -> None:
    rules: list[Any] = inhibit_rules()
    made = [one for one in rules if 'alertname="TierdeckL2Outage"' in one["source_matchers"]]
    reaches = {tuple(one["source_matchers"][1:]): tuple(one["equal"]) for one in made}
    assert reaches == {
        ('endpoint="_pool"',): ("cluster",),
        ('endpoint!="_pool"', 'rule!=""'): ("cluster", "endpoint"),
        ('endpoint!="_pool"', 'rule=""'): ("cluster", "namespace"),
    }
    itself = [one for one in made if one["source_matchers"][0] in one["target_matchers"]]
    assert [(one["source_matchers"][1], one["target_matchers"][1]) for one in itself] == [
        ('endpoint="_pool"', 'endpoint!="_pool"')
    ]


def test_a_stale_deck_keeps_quiet_only_what_the_deck_says_itself() -> None:
    rules: list[Any] = inhibit_rules()
    (made,) = [one for one in rules if one["source_matchers"] == ['alertname="TierdeckDeckStale"']]
    assert made["target_matchers"][1:] == ['rule!=""'], "Prometheus's rules read the engines, not the deck"
    assert made["equal"] == ["cluster"]


def test_every_receiver_of_a_route_is_there_and_no_secret_is() -> None:
    options = RouteOptions(
        "/secrets/slack", "#kv", "/secrets/pager", "https://hook.example.org/", "https://beat.example.org/"
    )
    made: Any = alertmanager(options)
    there = {one["name"] for one in made["receivers"]}
    (ours,) = made["route"]["routes"]
    assert {ours["receiver"], *(one["receiver"] for one in ours["routes"])} <= there
    text = alertmanager_text(options)
    assert "api_url_file: /secrets/slack" in text
    assert "routing_key_file: /secrets/pager" in text


def test_our_own_linter_has_nothing_to_say(tmp_path: Any) -> None:
    texts = {"rules.yaml": rules_text(rule_file(OPTIONS)), "own.yaml": rules_text(own_rule_file(OPTIONS))}
    texts |= {f"{name}.json": board_text(board) for name, board in boards(BoardOptions()).items()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
        report = lint(tmp_path / name)
        assert report.queries
        assert (list(report.findings), report.skipped) == ([], {}), name


def test_boards_show_gaps_ask_for_rates_and_keep_to_one_data_source() -> None:
    for board in boards(BoardOptions(datasource_uid="prom")).values():
        panels: Any = board["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        for panel in panels:
            assert panel["title"].endswith("?")
            assert panel["fieldConfig"]["defaults"]["custom"]["spanNulls"] is False
            assert panel["datasource"] == {"type": "prometheus", "uid": "prom"}
            for target in panel["targets"]:
                assert "rate(" not in target["expr"] or "[$__rate_interval]" in target["expr"]
    chosen: Any = boards(BoardOptions())["fleet"]["templating"]
    assert [one["name"] for one in chosen["list"]] == ["datasource", "namespace", "model_name"]
