"""A part of Alertmanager's configuration: routes, receivers, and what keeps what else quiet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from alerting.export.own import WATCHDOG
from alerting.export.rule_file import Document, dumped
from tierdeck.alerts.rule import Rule, Scope
from tierdeck.alerts.rules import BY_NAME, DECK_STALE, L2_OUTAGE, RULES
from tierdeck.fleet import POOL

_HEAD = """\
# Made by `tierdeck export alertmanager` (docs/export.md). A whole configuration that can be tried as it is;
# take into yours: the route `alertname=~"Tierdeck.*"`, its receivers, the inhibit rules and the time interval.
"""
EQUAL: dict[Scope, tuple[str, ...]] = {
    Scope.SUBJECT: ("cluster", "endpoint"),
    Scope.CLUSTER: ("cluster",),
}
"""Labels in which the alert that silences and the silenced one agree, by how far it reaches."""
_OF_POOL, _OF_ENDPOINT = f'endpoint="{POOL}"', f'endpoint!="{POOL}"'
_WORKING_HOURS = "tierdeck-working-hours"


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """Where alerts go; what is empty is left out.

    Attributes:
        slack_url_file: file on Alertmanager's machine with the URL of a Slack webhook.
        pager_key_file: the same with a PagerDuty key, for critical alerts.
        webhook: URL that gets every alert.
        heartbeat: URL that tells when the watchdog no longer comes.
    """

    slack_url_file: str = ""
    channel: str = "#alerts"
    pager_key_file: str = ""
    webhook: str = ""
    heartbeat: str = ""


def alertmanager(options: RouteOptions) -> Document:
    """Route, receivers, inhibit rules and a time interval."""
    ours = {
        "matchers": ['alertname=~"Tierdeck.*"'],
        "receiver": "tierdeck",
        "group_by": ["alertname", "cluster", "endpoint"],
        "group_wait": "30s",
        "group_interval": "5m",
        "repeat_interval": "4h",
        "routes": [
            {
                "matchers": [f'alertname="{WATCHDOG.alertname}"'],
                "receiver": "tierdeck-heartbeat",
                "group_wait": "0s",
                "group_interval": "1m",
                "repeat_interval": "1m",
            },
            {"matchers": ['severity="critical"'], "receiver": "tierdeck-page", "repeat_interval": "1h"},
            {
                "matchers": ['severity="info"'],
                "receiver": "tierdeck",
                "active_time_intervals": [_WORKING_HOURS],
                "repeat_interval": "24h",
            },
        ],
    }
    return {
        "route": {"receiver": "default", "routes": [ours]},
        "receivers": _receivers(options),
        "inhibit_rules": inhibit_rules(),
        "time_intervals": [
            {
                "name": _WORKING_HOURS,
                "time_intervals": [
                    {"weekdays": ["monday:friday"], "times": [{"start_time": "08:00", "end_time": "18:00"}]}
                ],
            }
        ],
    }


def alertmanager_text(options: RouteOptions) -> str:
    """As YAML."""
    return _HEAD + dumped(alertmanager(options))


def inhibit_rules() -> list[Document]:
    """For each rule of the registry that keeps others quiet, as far as the alert that fires reaches."""
    return [made for rule in RULES if rule.inhibits for made in _inhibits(rule)]


def _inhibits(rule: Rule) -> Iterator[Document]:
    source, quiet = f'alertname="{rule.alertname}"', _followers(rule)
    if rule is DECK_STALE:
        # what Prometheus's own rules say needs no deck; `rule` is a label of what Tierdeck posts
        yield _inhibit([source], [quiet, 'rule!=""'], "cluster")
    elif rule is L2_OUTAGE:
        yield _inhibit([source, _OF_POOL], [quiet], "cluster")
        yield _inhibit([source, _OF_POOL], [source, _OF_ENDPOINT], "cluster")
        yield _inhibit([source, _OF_ENDPOINT, 'rule!=""'], [quiet, 'rule!=""'], "cluster", "endpoint")
        # the exported ones are of a cache, which knows its namespace, and not always its model
        yield _inhibit([source, _OF_ENDPOINT, 'rule=""'], [quiet, 'rule=""'], "cluster", "namespace")
    else:
        yield _inhibit([source], [quiet], *EQUAL[rule.scope])


def _inhibit(source: list[str], target: list[str], *equal: str) -> Document:
    return {"source_matchers": source, "target_matchers": target, "equal": list(equal)}


def _followers(rule: Rule) -> str:
    # of two that keep each other quiet the one that comes first in the registry: Alertmanager would silence both
    first = [one.name for one in RULES]
    both = {name for name in rule.inhibits if rule.name in BY_NAME[name].inhibits}
    names = [name for name in rule.inhibits if name not in both or first.index(rule.name) < first.index(name)]
    return f'alertname=~"{"|".join(BY_NAME[name].alertname for name in names)}"'


def _receivers(options: RouteOptions) -> list[Document]:
    usual: Document = {}
    if options.slack_url_file:
        usual["slack_configs"] = [
            {
                "api_url_file": options.slack_url_file,
                "channel": options.channel,
                "send_resolved": True,
                "title": "{{ .CommonAnnotations.summary }}",
                "title_link": "{{ .CommonAnnotations.runbook_url }}",
                "text": "{{ range .Alerts }}{{ .Annotations.description }}\n{{ end }}",
            }
        ]
    if options.webhook:
        usual["webhook_configs"] = [{"url": options.webhook, "send_resolved": True}]
    pages: Document = {}
    if options.pager_key_file:
        pages["pagerduty_configs"] = [{"routing_key_file": options.pager_key_file, "severity": "critical"}]
    beat: Document = {}
    if options.heartbeat:
        beat["webhook_configs"] = [{"url": options.heartbeat, "send_resolved": False}]
    return [
        {"name": "default"},
        {"name": "tierdeck", **usual},
        {"name": "tierdeck-page", **usual, **pages},
        {"name": "tierdeck-heartbeat", **beat},
    ]
