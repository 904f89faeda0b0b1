"""What people do from the web pages and the command: acknowledge, silence, open a maintenance window, test a channel.

Each is one row or two in the store, with its line in the audit log; the alerting process reads them.
"""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Iterable, Mapping

from console.alert_words import LABEL_ORDER
from db import Store
from tierdeck.alerts.alert import Acknowledgement, Alert, Severity
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.rules import BY_NAME
from tierdeck.alerts.silence import Silence
from tierdeck.errors import UsageError
from tierdeck.fleet import POOL
from tierdeck.naming import full_name

_LONGEST = 500
"""Letters of a note or reason."""


def this_user() -> str:
    """Who is logged in on this machine; "": it can't be told."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def acknowledge(store: Store, alert_id: int, by: str, note: str, now: float) -> Alert:
    """Say that somebody has seen it.

    Raises:
        UsageError: there is no such alert, it is over, or nobody is named; so for all of these.
    """
    return store.acknowledge(alert_id, Acknowledgement(_who(by), now, _text(note)))


def add_silence(store: Store, matchers: Mapping[str, str], seconds: float, why: str, by: str, now: float) -> Silence:
    """Say nothing of alerts that match from now on, for so long."""
    if not matchers:
        raise UsageError("a silence without a matcher would silence everything", "Name at least an endpoint.")
    found = checked(store, matchers)
    return store.add_silence(Silence(found, now, now + seconds, _reason(why), _who(by)))


def end_silence(store: Store, silence_id: int, by: str, now: float) -> Silence:
    """End a silence or maintenance window before its time."""
    return store.end_silence(silence_id, _who(by), now)


def start_maintenance(store: Store, endpoint: str, seconds: float, why: str, by: str, now: float) -> Silence:
    """One act: its alerts are silenced, its changes frozen, and the window is marked on its charts.

    Args:
        endpoint: as people type it, with `CLUSTER:` before it where several clusters have one of that name.
    """
    cluster, name = find_endpoint(store, endpoint)
    for one in store.silences(now):
        if one.is_maintenance and one.is_active(now) and one.matchers == {"cluster": cluster, "endpoint": name}:
            raise UsageError(f"{name} is under maintenance already, by {one.by}: {one.why}", "End that window first.")
    matchers = {"cluster": cluster, "endpoint": name}
    return store.add_silence(Silence(matchers, now, now + seconds, _reason(why), _who(by), is_maintenance=True))


def end_maintenance(store: Store, endpoint: str, by: str, now: float) -> list[Silence]:
    """End every maintenance window of the endpoint that holds now."""
    cluster, name = find_endpoint(store, endpoint)
    wanted = {"cluster": cluster, "endpoint": name}
    found = [
        one for one in store.silences(now)
        if one.is_maintenance and one.is_active(now) and one.matchers.items() <= wanted.items()
    ]  # fmt: skip
    if not found:
        raise UsageError(f"{name} is not under maintenance", "`tierdeck silence list` shows what holds.")
    return [store.end_silence(one.id, _who(by), now) for one in found]


def try_channel(store: Store, cluster: str, channel: str, now: float) -> Notice:
    """Put a test message for a cluster's channel into the outbox; that cluster's alerting process sends it."""
    if (cluster, channel) not in [(one.cluster, one.name) for one in store.channels()]:
        raise UsageError(f"there is no channel {channel!r}")
    key = f"test:{channel}:{uuid.uuid4().hex}"
    one = Notice(key, channel, NoticeKind.TEST, None, now, now, cluster=cluster)
    store.add_notice(one)
    return one


def parse_matchers(given: Iterable[str]) -> dict[str, str]:
    """`["endpoint=chat", "rule=tier_drop"]` as labels."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, value = (part.strip() for part in text.partition("="))
        if not mark or not value:
            raise UsageError(f"{text!r} is not a matcher", "Write it like endpoint=chat.")
        if name in found and found[name] != value:
            raise UsageError(f"an alert has one {name}: {found[name]} and {value} never match together")
        found[name] = value
    return found


def checked(store: Store, matchers: Mapping[str, str]) -> dict[str, str]:
    """Matchers that can match something: names that exist, endpoints in full."""
    found = dict(matchers)
    for name, value in matchers.items():
        if name not in LABEL_ORDER:
            raise UsageError(f"alerts have no label {name!r}", f"Labels: {', '.join(LABEL_ORDER)}.")
        if name == "rule" and value not in BY_NAME:
            raise UsageError(f"there is no rule {value!r}", f"Rules: {', '.join(BY_NAME)}.")
        if name == "severity" and value not in list(Severity):
            raise UsageError(f"there is no severity {value!r}", f"Severities: {', '.join(Severity)}.")
    if found.get("endpoint", POOL) != POOL:
        found["endpoint"] = full_name(found["endpoint"], {one.name for one in store.endpoints(found.get("cluster"))})
    return found


def find_endpoint(store: Store, typed: str) -> tuple[str, str]:
    """Cluster and full name of the endpoint that is meant."""
    known = [(one.cluster, one.name) for one in store.endpoints()]
    before, mark, after = typed.partition(":")
    if mark and before in {cluster for cluster, _ in known}:
        known, typed = [one for one in known if one[0] == before], after
    name = full_name(typed, {name for _, name in known})
    clusters = sorted(cluster for cluster, one in known if one == name)
    if len(clusters) > 1:
        raise UsageError(f"{name!r} exists in several clusters: {', '.join(clusters)}", f"Write {clusters[0]}:{name}.")
    return clusters[0], name


def _who(by: str) -> str:
    found = _text(by)
    if not found:
        raise UsageError("nobody is named", "Say who does this.")
    return found


def _reason(why: str) -> str:
    found = _text(why)
    if not found:
        raise UsageError("no reason is given", "Say why: whoever is on call next reads it.")
    return found


def _text(text: str) -> str:
    """One line of it."""
    return " ".join(text.split())[:_LONGEST]
