"""The documents about alerts as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.alert_words import SHAPES, depth_words, figure_words, points_words
from console.cli.tables import grid
from tierdeck.alerts.alert import Severity
from tierdeck.fleet import POOL
from tierdeck.units import format_seconds


def alerts(document: dict[str, Any]) -> str:
    """A table, and above it why nothing is judged, if so."""
    rows = [
        [
            str(one["id"]),
            _severity(one),
            _state(one),
            _whom(one),
            one["title"],
            _time(one["fired_at"] or one["pending_at"]),
            one["words"],
        ]
        for one in document["alerts"]
    ]
    heads = ["id", "severity", "state", "endpoint", "alert", "since (UTC)", "what"]
    text = grid(heads, rows) if rows else "Nothing fires. `--all` shows what is pending, kept quiet or over."
    return f"{document['trouble']}\n\n{text}" if document["trouble"] else text


def alert(one: dict[str, Any]) -> str:
    """Everything about one."""
    return "\n".join(_lines(one))


def _lines(one: dict[str, Any]) -> Iterator[str]:
    yield f"{_severity(one)}  {one['title']}: {_whom(one)}  (alert {one['id']}, {one['rule']})"
    yield f"{_state(one)} since {_time(one['fired_at'] or one['pending_at'])} UTC" + (
        f", resolved {_time(one['resolved_at'])} UTC" if one["resolved_at"] else ""
    )
    if one["words"]:
        yield one["words"]
    unit = one["unit"]
    told = [("now", one["value"]), ("held against", one["expected"])]
    facts = [f"{name} {figure_words(value, unit)}" for name, value in told if value is not None]
    if one["depth"] is not None and unit == "ratio":
        facts.append(f"at its worst {depth_words(one['depth'], unit)}")
    if facts:
        yield "; ".join(facts)
    if one["causes"]:
        yield "\nWhy, the likeliest first:"
        for cause in one["causes"]:
            yield f"  {points_words(cause['points'])}: {cause['words']}"
            if cause["evidence"]:
                yield f"    {cause['evidence']}"
    else:
        yield "\nNo cause is established."
    if one["advice"]:
        yield "\nWhat to do:"
        yield from (f"  {number}. {step}" for number, step in enumerate(one["advice"], 1))
    yield "\nWhat became of it:"
    yield from (
        f"  {_time(step['at'])}  {step['what']}{': ' + step['why'] if step['why'] else ''}" for step in one["steps"]
    )
    for notice in one["notices"]:
        yield f"  {_time(notice['created_at'])}  {notice['channel']}: {notice['words']}"


def silence(one: dict[str, Any]) -> str:
    """One line."""
    what = "Maintenance" if one["maintenance"] else "Silence"
    end = f"ended {_time(one['ended_at'])}" if one["ended_at"] else f"until {_time(one['ends_at'])}"
    return f"{what} {one['id']}: {_matchers(one)}, {end} UTC, by {one['by']}: {one['why']}"


def silences(document: dict[str, Any]) -> str:
    """A table."""
    rows = [
        [
            str(one["id"]),
            "maintenance" if one["maintenance"] else "silence",
            "holds" if one["active"] else "to come",
            _matchers(one),
            _time(one["starts_at"]),
            _time(one["ends_at"]),
            one["by"],
            one["why"],
        ]
        for one in document["silences"]
    ]
    if not rows:
        return "Nothing is silenced, and no endpoint is under maintenance."
    return grid(["id", "what", "state", "matches", "from (UTC)", "until (UTC)", "by", "why"], rows)


def rules(document: dict[str, Any]) -> str:
    """A table, and below it what can't be judged."""
    rows = [
        [
            one["name"],
            _severity(one),
            format_seconds(one["hold_seconds"]) if one["hold_seconds"] else "at once",
            one["judges"],
            one["title"],
        ]
        for one in document["rules"]
    ]
    missing = [f"{one['name']}: {reason}" for one in document["rules"] for reason in one["missing"]]
    parts = [grid(["rule", "severity", "holds for", "has figures of", "what is wrong when it fires"], rows)]
    if missing:
        parts.append("\n".join(["What can't be judged now:", *(f"  {line}" for line in missing)]))
    return "\n\n".join(filter(None, (document["trouble"], *parts)))


def _severity(one: dict[str, Any]) -> str:
    return f"{SHAPES[Severity(one['severity'])]} {one['severity']}"


def _state(one: dict[str, Any]) -> str:
    if one["quiet_because"]:
        return f"{one['state']}, kept quiet: {one['quiet_because']}"
    return f"{one['state']}, acknowledged by {one['acknowledged']['by']}" if one["acknowledged"] else str(one["state"])


def _whom(one: dict[str, Any]) -> str:
    owner = "pool" if one["endpoint"] == POOL else one["endpoint"]
    return " ".join(filter(None, (owner, one["part"]))) or "the deck itself"


def _matchers(one: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(one["matchers"].items()))


def _time(at: str) -> str:
    return at[:19].replace("T", " ")
