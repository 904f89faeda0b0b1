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
from console.cli import change_text
from console.cli.change_following import Following, how_to_follow, is_at_rest, is_looked_at, needs_approval
from console.cli.output import show
from console.commands import this_user
from db import Store
from tierdeck.changes.change import Change, State
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
    is_approved = how.is_approved and not how.is_dry_run
    who = Who(_who(how), _reason(how), uuid.uuid4().hex, is_approved_at_once=is_approved)
    with Store.open(settings.store_url) as store:
        change = start(store, who)
        following = Following(store, change.id)
        if how.is_dry_run:
            return _dry_run(store, following, who, how)
        return _or_interrupted(change.id, lambda: _answer(store, following, who, how))


def follow(settings: Settings, change_id: int, how: How) -> int:
    """Follow a change to where it is over or waits for a person; the exit code."""
    with Store.open(settings.store_url) as store:
        following = Following(store, change_id)
        return _or_interrupted(change_id, lambda: _told(store, following.until(is_at_rest, how.limit_seconds), how))


def approve(settings: Settings, change_id: int, how: How) -> int:
    """Approve it as it was previewed last; the exit code."""
    with Store.open(settings.store_url) as store:
        change = change_commands.approve(store, change_id, _who(how), time.time())
        if not how.is_waiting:
            return _told(store, change, how)
    return follow(settings, change_id, how)


def _answer(store: Store, following: Following, who: Who, how: How) -> int:
    change = following.until(is_looked_at, _PREVIEW_SECONDS)
    is_seen = False
    if needs_approval(change):
        if not _is_terminal():
            return _told(store, change, how)
        is_seen, seen_at = True, None if change.preview is None else change.preview.at
        if not _is_confirmed(change, how):
            change = change_commands.cancel(store, change.id, who.by, time.time())
            return _told(store, change, how, is_seen=is_seen)
        change = change_commands.approve(store, change.id, who.by, time.time(), seen_at=seen_at)
    if how.is_waiting:
        change = following.until(is_at_rest, how.limit_seconds)
    return _told(store, change, how, is_seen=is_seen)


def _dry_run(store: Store, following: Following, who: Who, how: How) -> int:
    """Its preview; whatever comes of it, the change does not stay open."""
    change: Change | None = None
    try:
        change = following.until(is_looked_at, _PREVIEW_SECONDS)
    finally:
        if change is None or not change.state.is_over:
            change_commands.cancel(store, following.id, who.by, time.time())
    return _told(store, change, how)


def _or_interrupted(change_id: int, act: Callable[[], int]) -> int:
    try:
        return act()
    except (KeyboardInterrupt, typer.Abort):
        print(f"\nChange {change_id} is left to itself: {how_to_follow(change_id)}", file=sys.stderr)
        return _INTERRUPTED


def _is_confirmed(change: Change, how: How) -> bool:
    found = change_document(change)
    text = "\n\n".join(part for part in (change_text.headline(found), change_text.preview(found)) if part)
    print(text, file=sys.stderr if how.as_json else sys.stdout, flush=True)
    return typer.confirm(f"Make change {change.id}?", err=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _told(store: Store, change: Change, how: How, *, is_seen: bool = False) -> int:
    """Print it; the exit code.

    Args:
        is_seen: its preview was shown already.
    """
    found = change_document(change) | {"steps": steps_document(store.change_steps(change.id))}
    is_shown_only = how.is_dry_run and change.state is State.PREVIEWED
    lines = [change_text.asked(found) if is_shown_only else change_text.headline(found)]
    lines += [change_text.preview(found)] if change.state is State.PREVIEWED and not is_seen else []
    lines += [change_text.proof(found)]
    lines += [_what_next(change, how)]
    show({"change": found}, "\n\n".join(line for line in lines if line), as_json=how.as_json)
    if how.is_waiting and not how.is_dry_run:
        return 0 if change.state is State.KEPT else 1
    is_only_exported = change.preview is not None and bool(change.preview.plan.exports_only)
    return 0 if is_success(change.state) and (how.is_dry_run or not is_only_exported) else 1


def _what_next(change: Change, how: How) -> str:
    if how.is_dry_run:
        return "A dry run: nothing was written, and the change is cancelled." if change.state is State.PREVIEWED else ""
    if change.preview is not None and change.preview.plan.exports_only and not change.state.is_over:
        return f"`tierdeck export-change {change.id}` prints the patch, `tierdeck cancel {change.id}` ends it."
    if needs_approval(change):
        return f"`tierdeck approve {change.id}` makes it, `tierdeck cancel {change.id}` ends it."
    return "" if change.state.is_over else f"`tierdeck change {change.id} --wait` follows it."


def _who(how: How) -> str:
    return how.by or this_user()


def _reason(how: How) -> str:
    if not how.is_dry_run:
        return how.reason
    return f"dry run: {how.reason}" if how.reason else "dry run"
