"""What `tierdeck events` says."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from console.cli.tables import grid
from db import Store
from tierdeck.errors import UsageError
from tierdeck.events import EventKind
from tierdeck.fleet import POOL
from tierdeck.naming import full_name
from tierdeck.settings import Settings


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events; `endpoint` "" and `kinds` (): any."""

    endpoint: str
    since_seconds: float
    kinds: tuple[EventKind, ...]
    limit: int


def kinds_of(names: Iterable[str]) -> tuple[EventKind, ...]:
    """`node-gone`, `node_gone` and `node gone` are the same.

    Raises:
        UsageError: no such kind.
    """
    wanted = [name.strip().lower().replace("-", "_").replace(" ", "_") for name in names]
    for name in wanted:
        if name not in list(EventKind):
            raise UsageError(f"there is no kind of event {name!r}", f"Kinds: {', '.join(EventKind)}.")
    return tuple(EventKind(name) for name in wanted)


def events(settings: Settings, wanted: Wanted) -> dict[str, object]:
    """Events of the endpoint, or of the whole fleet; instants are ISO 8601 UTC.

    Raises:
        UsageError: there is no such endpoint, now or in the events, or a short name fits several.
    """
    now = time.time()
    with Store.open(settings.store_url) as store:
        name = _name(store, wanted.endpoint, now) if wanted.endpoint else None
        kinds = wanted.kinds or None
        found = store.events(now - wanted.since_seconds, now, endpoint=name, kinds=kinds, limit=wanted.limit)
        is_watched = bool(store.sighted())
    rows = [{**row, "at": row["at"].isoformat()} for row in found.to_dict("records")]
    return {"events": rows, "watched": is_watched}


def as_text(document: dict[str, Any], since: str) -> str:
    """The same for people."""
    rows = [
        [row["at"][:19].replace("T", " "), _owner(row), EventKind(row["kind"]).label, row["subject"], row["words"]]
        for row in document["events"]
    ]
    if rows:
        return grid(["time (UTC)", "endpoint", "kind", "object", "what happened"], rows)
    if document["watched"]:
        return f"Nothing happened in the last {since}. `--since` looks further back."
    return "No controller watches a cluster, so that no event is known. Start one with `tierdeck up --kubernetes`."


def _owner(row: dict[str, Any]) -> str:
    if row["endpoint"] == POOL:
        return f"(pool {row['replica']})"
    return row["endpoint"] or "(cluster)"


def _name(store: Store, typed: str, now: float) -> str:
    """Endpoints that are gone have a past, too."""
    known = {endpoint.name for endpoint in store.endpoints()} | {one.endpoint for one in store.deployed()}
    try:
        return full_name(typed, known - {POOL})
    except UsageError:
        if not store.events(0.0, now, endpoint=typed, limit=1).empty:
            return typed
        raise
