"""A file of Prometheus rules, or the same as a PrometheusRule for its operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from alerting.export.alerts import Alerting, endpoint_alerts
from alerting.export.options import RuleOptions
from alerting.export.own import WATCHDOG, own_alerts
from alerting.export.promql import window
from alerting.export.recorded import Recording, token_recordings, ttft_recordings
from tierdeck.alerts.rules import DECK_STALE

Document = dict[str, object]
_HEAD = "# Made by `tierdeck export prometheus-rules` (docs/export.md): make it anew rather than editing it.\n"


class _Dumper(yaml.SafeDumper):
    """Queries of several lines stay readable."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def dumped(document: object) -> str:
    """As YAML, keys in their order."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a PrometheusRule goes, and the labels by which its operator picks it."""

    name: str = "tierdeck"
    namespace: str = ""
    labels: Mapping[str, str] | None = None


def rule_file(options: RuleOptions) -> Document:
    """All groups: `{"groups": [...]}`."""
    groups = [_group(options, "tierdeck-tokens", token_recordings(options))]
    if options.objective is not None:
        groups.append(_group(options, "tierdeck-ttft", ttft_recordings(options, options.objective)))
    groups.append(_group(options, "tierdeck-alerts", endpoint_alerts(options)))
    return {"groups": [*groups, _own(options)]}


def own_rule_file(options: RuleOptions) -> Document:
    """Only the rules on Tierdeck itself, which the Helm chart brings."""
    return {"groups": [_own(options)]}


def prometheus_rule(rules: Document, resource: Resource) -> Document:
    """The same groups as a PrometheusRule (monitoring.coreos.com/v1)."""
    metadata: Document = {"name": resource.name}
    if resource.namespace:
        metadata["namespace"] = resource.namespace
    if resource.labels:
        metadata["labels"] = dict(resource.labels)
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": metadata, "spec": rules}


def rules_text(document: Document) -> str:
    """What is written to a file."""
    return _HEAD + dumped(document)


def _own(options: RuleOptions) -> Document:
    return _group(options, "tierdeck-own", own_alerts(options.windows))


def _group(options: RuleOptions, name: str, rules: Sequence[Recording | Alerting]) -> Document:
    group: Document = {"name": name}
    if options.interval is not None:
        group["interval"] = window(options.interval)
    group["rules"] = [_recording(one) if isinstance(one, Recording) else _alert(options, one) for one in rules]
    return group


def _recording(one: Recording) -> Document:
    return {"record": one.record, "expr": one.expr, **({"labels": one.labels} if one.labels else {})}


def _alert(options: RuleOptions, one: Alerting) -> Document:
    rule = one.rule
    found: Document = {"alert": rule.alertname, "expr": one.expr}
    hold = rule.hold_seconds if one.hold_seconds is None else one.hold_seconds
    for key, seconds in (("for", hold), ("keep_firing_for", rule.clear_seconds)):
        if seconds * options.windows.hold > 0:
            found[key] = window(seconds * options.windows.hold)
    place = _endpoint(options)
    about = {"endpoint": place} if place and rule not in (DECK_STALE, WATCHDOG) else {}
    found["labels"] = {"severity": str(rule.severity), **about, **one.labels, **options.labels}
    notes = {"summary": f"{rule.title}: {place}" if about else rule.title, "description": _description(one)}
    if options.runbook_base:
        notes["runbook_url"] = f"{options.runbook_base}#{rule.anchor}"
    found["annotations"] = notes
    return found


def _description(one: Alerting) -> str:
    return one.says if one.says == one.rule.meaning else f"{one.says} {one.rule.meaning}"


def _endpoint(options: RuleOptions) -> str:
    """A template that names the endpoint as Tierdeck does: `namespace/model`, or as much as there is of it."""
    by = options.scope.by
    place, model = ("namespace" in by), ("model_name" in by)
    name = "{{ with $labels.model_name }}" + ("/" if place else "") + "{{ . }}{{ end }}" if model else ""
    return ("{{ $labels.namespace }}" if place else "") + name
