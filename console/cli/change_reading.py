"""What the commands that only look at changes, or end one, say."""

from __future__ import annotations

import time
from typing import Any

from console import change_commands
from console.change_document import brief_document, change_document, steps_document
from console.change_queries import change_detail, open_changes
from console.commands import this_user
from db import Store
from tierdeck.errors import UsageError
from tierdeck.settings import Settings


def changes(settings: Settings, typed: str, limit: int, *, is_open: bool) -> dict[str, Any]:
    """The newest first.

    Args:
        typed: an endpoint as people type it; empty: of all.

    Raises:
        UsageError: there is no such endpoint, now or among the changes.
    """
    with Store.open(settings.store_url) as store:
        cluster, name = _endpoint(store, typed) if typed else (None, None)
        found = open_changes(store, cluster, name)[:limit] if is_open else store.changes(cluster, name, limit)
    return {"changes": [brief_document(one) for one in found]}


def change(settings: Settings, number: int) -> dict[str, Any]:
    """One with its history, and what can be done with it.

    Raises:
        UsageError: there is none with that number.
    """
    with Store.open(settings.store_url) as store:
        one = change_detail(store, number, time.time())
    can = {"approve": not one.no_approval, "cancel": not one.no_cancel, "revert": not one.no_revert}
    found = change_document(one.change) | {"steps": steps_document(one.steps), "can": can, "trouble": one.trouble}
    return {"change": found}


def cancel(settings: Settings, number: int, by: str) -> dict[str, Any]:
    """The change as it is now.

    Raises:
        UsageError: it can't be cancelled any more.
    """
    with Store.open(settings.store_url) as store:
        return {"change": change_document(change_commands.cancel(store, number, by or this_user(), time.time()))}


def _endpoint(store: Store, typed: str) -> tuple[str | None, str]:
    """Endpoints that are gone have a past, too."""
    try:
        return change_commands.endpoint_named(store, typed)
    except UsageError:
        if store.changes(None, typed, 1):
            return None, typed
        raise
