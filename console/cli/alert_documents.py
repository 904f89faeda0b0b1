"""What the commands about alerts read and do: documents made from the store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console import commands
from console.alert_card import urgency
from console.alert_document import alert_document, instant, rule_document, silence_document
from console.alert_reads import alert_of, judged_by, judged_rules, shift
from console.alert_words import quiet_words
from console.channel_rows import outcome_words
from console.handover import handover
from db import Store
from tierdeck.alerts.alert import Alert, AlertState
from tierdeck.alerts.rules import BY_NAME
from tierdeck.naming import full_name
from tierdeck.settings import Settings

_USUAL_SECONDS = 12 * 3600.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which alerts.

    Attributes:
        everything: pending and quiet ones too, and those that are over.
        since_seconds: those that are over, that far back; None: as `everything` says.
        endpoint: as people type it; "": of all.
    """

    everything: bool
    since_seconds: float | None
    endpoint: str


def alerts(settings: Settings, wanted: Wanted) -> dict[str, Any]:
    """Open alerts, the most urgent first, then those that are over, the newest first.

    Raises:
        UsageError: there is no such endpoint.
    """
    now = time.time()
    back = wanted.since_seconds or (_USUAL_SECONDS if wanted.everything else None)
    with Store.open(settings.store_url) as store:
        every = store.open_alerts()
        found = sorted(every, key=urgency)
        over = [one for one in store.alerts(now - back, now) if not one.is_open] if back is not None else []
        silences, trouble = store.silences(now), judged_by(store, now).trouble
        name = _endpoint(store, wanted.endpoint, [*found, *over]) if wanted.endpoint else ""
    if not wanted.everything:
        found = [one for one in found if one.state is AlertState.FIRING and not quiet_words(one, silences, now)]
    shown = [one for one in (*found, *over) if not name or one.subject.endpoint == name]
    return {"alerts": [alert_document(one, silences, now, every) for one in shown], "trouble": trouble}


def alert(settings: Settings, number: int) -> dict[str, Any]:
    """One alert with its rule's words, its history and its messages.

    Raises:
        UsageError: there is no such alert.
    """
    now = time.time()
    with Store.open(settings.store_url) as store:
        one = alert_of(store, number)
        steps, notices, silences = store.alert_steps(number), store.notices(alert_id=number), store.silences(now)
        others = store.open_alerts()
    rule = BY_NAME.get(one.rule)
    return alert_document(one, silences, now, others) | {
        "meaning": rule.meaning if rule else "",
        "advice": list(rule.advice) if rule else [],
        "steps": [{"at": instant(at), "what": what, "why": why} for at, what, why in steps],
        "notices": [
            {
                "channel": each.channel,
                "kind": str(each.kind),
                "created_at": instant(each.created_at),
                "sent_at": instant(each.sent_at),
                "given_up_at": instant(each.given_up_at),
                "trouble": each.trouble,
                "words": outcome_words(each, now),
            }
            for each in reversed(notices)
        ],
    }


def acknowledge(settings: Settings, number: int, by: str, note: str) -> dict[str, Any]:
    """The alert as it is now."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        return alert_document(commands.acknowledge(store, number, _who(by), note, now), store.silences(now), now)


def rules(settings: Settings) -> dict[str, Any]:
    """Every rule, and whether it is judged now."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        rows = judged_rules(store, now, settings.stale_after_seconds)
        trouble = judged_by(store, now).trouble
    return {"rules": [rule_document(row) for row in rows], "trouble": trouble}


def shift_summary(settings: Settings, seconds: float) -> dict[str, Any]:
    """The handover of the last `seconds`."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        return handover(shift(store, now - seconds, now, settings.stale_after_seconds))


def silences(settings: Settings) -> dict[str, Any]:
    """Those that hold and those to come, by their beginning."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        return {"silences": [silence_document(one, now) for one in store.silences(now)]}


def add_silence(settings: Settings, matchers: Sequence[str], seconds: float, why: str, by: str) -> dict[str, Any]:
    """The new silence."""
    now, wanted = time.time(), commands.parse_matchers(matchers)
    with Store.open(settings.store_url) as store:
        return silence_document(commands.add_silence(store, wanted, seconds, why, _who(by), now), now)


def end_silence(settings: Settings, number: int, by: str) -> dict[str, Any]:
    """The silence as it is now."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        return silence_document(commands.end_silence(store, number, _who(by), now), now)


def start_maintenance(settings: Settings, endpoint: str, seconds: float, why: str, by: str) -> dict[str, Any]:
    """The new window."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        return silence_document(commands.start_maintenance(store, endpoint, seconds, why, _who(by), now), now)


def end_maintenance(settings: Settings, endpoint: str, by: str) -> dict[str, Any]:
    """The windows that were ended."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        return {
            "ended": [silence_document(one, now) for one in commands.end_maintenance(store, endpoint, _who(by), now)]
        }


def _who(by: str) -> str:
    return by or commands.this_user()


def _endpoint(store: Store, typed: str, found: Sequence[Alert]) -> str:
    """Endpoints that are gone have alerts, too."""
    return full_name(typed, {one.name for one in store.endpoints()} | {one.subject.endpoint for one in found} - {""})
