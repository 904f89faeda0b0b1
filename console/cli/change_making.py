"""From a proposal to its answer: wait for the preview, show it, have it confirmed, and follow the change."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import typer

from console import change_commands
from console.change_commands import Who
from console.change_document import change_document, is_success, steps_document
from console.change_queries import change_of
from console.cli import change_text
from console.cli.change_following import Following, goes_on_by_itself, how_to_follow, is_at_rest, is_looked_at
from console.cli.output import show
from console.commands import this_user
from db import Store
from tierdeck.changes.change import Change, State
from tierdeck.errors import TierdeckError
from tierdeck.settings import Settings

_PREVIEW_SECONDS = 180.0
"""A preview is a matter of seconds; whoever waits longer has something else to do."""
_INTERRUPTED = 130

Start = Callable[[Store, Who], Change]


@dataclass(frozen=True, slots=True)
class How:
    """How a change is asked for.

    Attributes:
        is_dry_run: only its preview is wanted.
        is_approved: no second look is wanted.
        is_waiting: its end is waited for, so many seconds at most.
    """

    by: str
    reason: str
    is_dry_run: bool
    is_approved: bool
    is_waiting: bool
    limit_seconds: float
    as_json: bool


def make(settings: Settings, start: Start, how: How) -> int:
    """Propose a change and do with it what is asked; the exit code.

    Raises:
        UsageError: it can't be proposed so.
        UnreachableError: the store does not answer, or nobody works on the change.
    """
    reason = " ".join(part for part in ("dry run:" if how.is_dry_run and how.reason else "", how.reason) if part)
    who = Who(how.by or this_user(), reason or ("dry run" if how.is_dry_run else ""), uuid.uuid4().hex,
              is_approved_at_once=how.is_approved and not how.is_dry_run)  # fmt: skip
    with Store.open(settings.store_url) as store:
        change = start(store, who)
        following = Following(store, change.id)
        return _guarded(store, change.id, who.by, how, lambda: _answer(store, following, who, how))


def follow(settings: Settings, change_id: int, how: How) -> int:
    """Follow a change to where it is over or waits for a person; the exit code."""
    with Store.open(settings.store_url) as store:
        change_of(store, change_id)
        following = Following(store, change_id)
        return _guarded(
            store, change_id, "", how, lambda: _end(store, following.until(is_at_rest, how.limit_seconds), how)
        )


def approve(settings: Settings, change_id: int, how: How) -> int:
    """Approve it as it was previewed last; the exit code."""
    with Store.open(settings.store_url) as store:
        change = change_commands.approve(store, change_id, how.by or this_user(), time.time())
        if not how.is_waiting:
            return _end(store, change, how)
    return follow(settings, change_id, how)


def _answer(store: Store, following: Following, who: Who, how: How) -> int:
    change = following.until(is_looked_at, _PREVIEW_SECONDS)
    if how.is_dry_run:
        return _dry(store, change, who, how)
    if change.state is State.PREVIEWED and not goes_on_by_itself(change) and _is_asked(change, who):
        if not _is_confirmed(change):
            return _end(store, change_commands.cancel(store, change.id, who.by, time.time()), how)
        seen_at = None if change.preview is None else change.preview.at
        change = change_commands.approve(store, change.id, who.by, time.time(), seen_at=seen_at)
        if how.is_waiting:
            return _end(store, following.until(is_at_rest, how.limit_seconds), how)
    elif goes_on_by_itself(change) and how.is_waiting:
        return _end(store, following.until(is_at_rest, how.limit_seconds), how)
    return _end(store, change, how)
