"""The shift's summary: what fired and still does, what changed, what ends next, what nobody could judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from console.alert_card import urgency
from console.alert_document import alert_document, instant, silence_document
from console.alert_words import quiet_words
from console.rule_rows import RuleRow
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.silence import Silence
from tierdeck.fleet import POOL

_MARKS = re.compile(r"([\\`*\[\]<>|~]|(?<!\w)_|_(?!\w))")
_BUCKET_SECONDS = 600.0
"""Of `Store.hit_history`."""


@dataclass(frozen=True, slots=True)
class HandoverTold:
    """What the store told of a shift.

    Attributes:
        start_at, end_at: its edges; the next shift is as long.
        alerts: those that were pending or fired in it.
        silences: all that hold now or are to come.
        events: those that matter, as `Store.events`.
        history: as `Store.hit_history` over the shift.
        endpoints: (cluster, name) of the inventory.
        rules: whether each is judged now.
        trouble: why nothing is judged now; "": it is.
        unjudged: (cluster, from, until) in which no rule was judged in time.
    """

    start_at: float
    end_at: float
    alerts: Sequence[Alert]
    silences: Sequence[Silence]
    events: pd.DataFrame
    history: pd.DataFrame
    endpoints: Sequence[tuple[str, str]]
    rules: Sequence[RuleRow]
    trouble: str = ""
    unjudged: Sequence[tuple[str, float, float]] = ()


def handover(told: HandoverTold) -> dict[str, Any]:
    """The document; instants are ISO 8601 UTC; what fires is most urgent first, the rest newest first."""
    now, length = told.end_at, told.end_at - told.start_at
    fired = [one for one in told.alerts if one.fired_at is not None]
    firing = [one for one in fired if one.is_open]
    firing.sort(key=lambda one: (bool(quiet_words(one, told.silences, now)), urgency(one)))
    ending = [one for one in told.silences if one.is_active(now) and one.ends_at <= now + length]
    return {
        "from": instant(told.start_at),
        "to": instant(now),
        "firing": [alert_document(one, told.silences, now, firing) for one in firing],
        "resolved": [alert_document(one, told.silences, now) for one in fired if not one.is_open],
        "events": [
            {key: row[key] for key in ("cluster", "endpoint", "replica", "kind", "subject", "words")}
            | {"at": row["at"].isoformat()}
            for row in told.events.to_dict("records")
        ],
        "silences_ending": [silence_document(one, now) for one in sorted(ending, key=lambda one: one.ends_at)],
        "not_judged": [
            *([{"what": "alerts", "why": told.trouble}] if told.trouble else []),
            *_unjudged(told),
            *_gaps(told),
            *_rules(told),
        ],
    }


def _unjudged(told: HandoverTold) -> Iterator[dict[str, str]]:
    is_one = len({cluster for cluster, _ in told.endpoints} | {cluster for cluster, _, _ in told.unjudged}) <= 1
    for cluster, start_at, end_at in sorted(told.unjudged, key=lambda one: one[1]):
        began = f"{_day_and_clock(instant(max(start_at, told.start_at)) or '')} UTC"
        if end_at < told.end_at:
            why = f"nothing was judged from {began} to {_day_and_clock(instant(end_at) or '')} UTC"
            why += "; what fired in it was said late, or not at all"
        else:
            why = f"nothing has been judged since {began}"
        yield {"what": "alerts" if is_one else f"alerts of cluster {cluster}", "why": why}


def _gaps(told: HandoverTold) -> Iterator[dict[str, str]]:
    """Endpoints whose hit ratio is not known for a part of the shift; no traffic is no gap in what is known."""
    first = -(-told.start_at // _BUCKET_SECONDS) * _BUCKET_SECONDS
    whole = max(0, int((told.end_at - first) // _BUCKET_SECONDS))
    for cluster, name in told.endpoints:
        history = told.history
        own = history[(history["cluster"] == cluster) & (history["endpoint"] == name)]
        known = min(whole, int(own["hit_tokens"].notna().sum()))
        if known < whole:
            lost = (whole - known) * _BUCKET_SECONDS
            why = f"its hit ratio is not known for {_hours(lost)} of {_hours(whole * _BUCKET_SECONDS)}"
            yield {"what": name, "why": why}


def _hours(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours and minutes else f"{hours} h" if hours else f"{minutes} min"


def _rules(told: HandoverTold) -> Iterator[dict[str, str]]:
    for row in told.rules:
        for reason in row.missing:
            yield {"what": f"rule {row.name}", "why": reason.rstrip(".")}


def quoted(text: str) -> str:
    """What comes from outside stands for itself in Markdown, and stays legible where nobody renders it."""
    return _MARKS.sub(r"\\\1", text)


def as_markdown(document: dict[str, Any], quote: Callable[[str], str] = quoted) -> str:
    """The same for people.

    Args:
        quote: makes text from outside harmless.
    """
    shift = f"{_day_and_clock(document['from'])} to {_day_and_clock(document['to'])} UTC"
    lines = [f"# Handover, {quote(shift)}"]
    lines += _section("Still firing", [_alert(one, quote) for one in document["firing"]], "Nothing fires.")
    lines += _section("Resolved", [_alert(one, quote) for one in document["resolved"]], "Nothing fired and ended.")
    lines += _section("What changed", [quote(_event(one)) for one in document["events"]], "No event is known.")
    nothing = "No silence or maintenance window ends in the next shift."
    lines += _section("Ends in the next shift", [quote(_silence(one)) for one in document["silences_ending"]], nothing)
    gaps = [quote(f"{one['what']}: {one['why'].rstrip('.')}.") for one in document["not_judged"]]
    lines += _section("What could not be judged", gaps, "No gap is known.")
    return "\n".join(lines) + "\n"


def _section(title: str, items: Sequence[str], nothing: str) -> list[str]:
    return ["", f"## {title}", "", *([f"- {item}" for item in items] or [nothing])]


def _alert(one: dict[str, Any], quote: Callable[[str], str]) -> str:
    whose = " ".join(filter(None, ("the pool" if one["endpoint"] == POOL else one["endpoint"], one["part"])))
    end = f" to {_clock(one['resolved_at'])}" if one["resolved_at"] else ""
    number, title = one["id"], one["title"]
    parts = [f"({one['severity']}), {whose or 'the deck itself'}, {_clock(one['fired_at'])}{end}"]
    parts += [one["words"].rstrip(".")] if one["words"] else []
    parts += [f"cause: {one['causes'][0]['words'].rstrip('.')}"] if one["causes"] else []
    ack = one["acknowledged"]
    if ack is not None:
        parts.append(f"acknowledged by {ack['by']}{': ' + ack['note'] if ack['note'] else ''}")
    elif not one["resolved_at"] and not one["quiet_because"]:
        parts.append("acknowledged by nobody")
    parts += [f"nobody was told: {one['quiet_because']}"] if one["quiet_because"] else []
    return f"**{quote(f'Alert {number}: {title}')}** {quote('; '.join(parts))}."


def _event(one: dict[str, Any]) -> str:
    return f"{_clock(one['at'])} {one['words'].rstrip('.')} ({_owner(one)})."


def _owner(one: dict[str, Any]) -> str:
    return f"pool {one['replica']}" if one["endpoint"] == POOL else one["endpoint"] or one["cluster"]


def _silence(one: dict[str, Any]) -> str:
    what = "Maintenance" if one["maintenance"] else "Silence"
    whose = ", ".join(f"{name}={value}" for name, value in sorted(one["matchers"].items()))
    return f"{what} {one['id']} of {whose} ends at {_clock(one['ends_at'])}, by {one['by']}: {one['why'].rstrip('.')}."


def _clock(at: str) -> str:
    return at[11:16]


def _day_and_clock(at: str) -> str:
    return at[:16].replace("T", " ")
