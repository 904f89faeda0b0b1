"""What people do with changes from the web pages and the command: propose, approve, cancel, revert.

Each is a row in the store with its line in the audit log; the controller does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from console.change_back import wish_back
from console.change_limits import nobody_changes
from console.change_queries import (
    change_detail,
    stated_strategies,
)
from console.commands import find_endpoint
from console.deployment import Seen, size_words, tier_states
from db import Store
from tierdeck.changes.change import Change
from tierdeck.changes.strategies import strategies_of
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Deployed
from tierdeck.errors import UnreachableError, UsageError
from tierdeck.fleet import Endpoint
from tierdeck.naming import short_name

_LONGEST = 500
"""Letters of a reason."""
_MEASURED_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Who:
    """Who does it, and why.

    Attributes:
        reason: may be empty.
        key: the same for the same click, so that a second one finds the first's change.
        is_approved_at_once: no second look is wanted.
    """

    by: str
    reason: str
    key: str
    is_approved_at_once: bool = False


def propose(store: Store, endpoint: str, wish: Wish, who: Who, now: float) -> Change:
    """Ask the controller for a change; nothing is written before it is approved.

    Args:
        endpoint: or a pool, as people type it, with `CLUSTER:` before it where several clusters have that name.

    Raises:
        UsageError: there is no such endpoint or strategy, or another change of it is under way.
        UnreachableError: no controller runs that would take it; nothing is proposed.
    """
    cluster, name = target_named(store, endpoint, wish)
    declared, deployed = _known(store, cluster, name)
    if wish.strategy and declared is not None:
        _check_strategy(wish.strategy, declared, deployed)
    _somebody_takes_it(store, now)
    was = was_words(declared, deployed)
    if wish.is_resize and declared is not None:
        was = measured_words(store, declared, deployed, now) | was
    if wish.salt:  # what is known of L2 is the pool's, and not one tenant's
        was = {name: words for name, words in was.items() if name != "L2"}
    change = Change(
        cluster, name, wish, _named(who.by), _line(who.reason), who.key, now, was,
        is_approved_at_once=who.is_approved_at_once,
    )  # fmt: skip
    return store.propose(change)


def revert(store: Store, change_id: int, who: Who, now: float) -> Change:
    """Ask for a change that writes back what was there before that one.

    Raises:
        UsageError: there is no such change, nothing of it was written, or another change is under way.
        UnreachableError: no controller runs that would take it; nothing is proposed.
    """
    detail = change_detail(store, change_id, now)
    first = detail.change
    if detail.no_revert:
        raise UsageError(f"change {change_id} can't be reverted: {detail.no_revert}")
    _somebody_takes_it(store, now)
    declared, deployed = _known(store, first.cluster, first.endpoint)
    wish, was = wish_back(first), was_words(declared, deployed)
    if wish.is_resize and declared is not None:
        was = measured_words(store, declared, deployed, now) | was
    if first.wish.is_resize and not wish.is_resize:  # which sizes come back is not told in words
        was = was | {"strategy": first.wish.text}
    change = Change(
        first.cluster, first.endpoint, wish, _named(who.by), _line(who.reason), who.key, now,
        was, reverts=first.id, is_approved_at_once=who.is_approved_at_once,
    )  # fmt: skip
    return store.propose(change)


def approve(
    store: Store, change_id: int, by: str, now: float, *, seen_at: float | None = None, reason: str = ""
) -> Change:
    """Let the controller write it.

    Args:
        reason: why; empty: what the proposer said stays.
        seen_at: of the preview that the approver looked at; None: the newest is meant.

    Raises:
        UsageError: it can't be approved as it is now, or its preview is another one by now.
    """
    return store.approve_change(change_id, _named(by), now, seen_at=seen_at, reason=_line(reason))


def cancel(store: Store, change_id: int, by: str, now: float) -> Change:
    """Let nothing be written.

    Raises:
        UsageError: something is written already, or it is over.
    """
    return store.cancel_change(change_id, _named(by), now)


def target_named(store: Store, typed: str, wish: Wish) -> tuple[str, str]:
    """Cluster and full name of an endpoint; of a pool too, where L2 alone is asked for.

    Raises:
        UsageError: there is none, with the names that come near; or several.
    """
    try:
        return endpoint_named(store, typed)
    except UsageError:
        before, mark, after = typed.rpartition(":")
        pools = [one for one in store.deployed() if one.is_pool and (not mark or one.cluster == before)]
        fits = [one for one in pools if after in (one.name, short_name(one.name))]
        if len(fits) != 1:
            raise
        if wish.strategy or wish.l0 is not None or wish.l1_bytes is not None:
            raise UsageError(f"{fits[0].name} is a pool, which has a size of L2 and nothing else") from None
        return fits[0].cluster, fits[0].name


def endpoint_named(store: Store, typed: str) -> tuple[str, str]:
    """Cluster and full name.

    Raises:
        UsageError: there is none, with the names that come near; or several.
    """
    try:
        return find_endpoint(store, typed)
    except UsageError as error:
        names = {one.name: one.name for one in store.endpoints()}
        names |= {short_name(name): name for name in names}
        near = [] if typed.rpartition(":")[2] in names else get_close_matches(typed, names, n=3)
        if not near:
            raise
        meant = " or ".join(dict.fromkeys(names[one] for one in near))
        raise UsageError(str(error), f"Did you mean {meant}? {error.hint}".rstrip()) from None


def measured_words(store: Store, declared: Endpoint, deployed: Deployed | None, now: float) -> dict[str, str]:
    """The sizes that run, by tier, where no cluster states them: an engine and a pool tell theirs."""
    cluster, name = declared.cluster, declared.name
    account = next(iter(store.accounts(now - _MEASURED_SECONDS, now, cluster, name)), None)
    pools = [pool for pool in store.pool_now() if pool.key.cluster == cluster]
    states = tier_states(declared, Seen(deployed, account, pools))
    return {one.tier.value: size_words(one.effective) for one in states if one.effective.said}


def was_words(declared: Endpoint | None, deployed: Deployed | None) -> dict[str, str]:
    """The configuration that a change is proposed on: `strategy`, `L0`, `L1`, `L2`; what is not known is missing."""
    if deployed is None:
        return {"strategy": declared.strategy} if declared is not None and declared.strategy else {}
    found = {"strategy": deployed.configured.strategy.value}
    found |= {tier.value: size_words(size) for tier, size in deployed.configured.sizes() if size.said}
    return {name: words for name, words in found.items() if words}


def _known(store: Store, cluster: str, name: str) -> tuple[Endpoint | None, Deployed | None]:
    """As declared, and as the cluster tells it; of a pool the latter alone."""
    declared = next((one for one in store.endpoints(cluster) if one.name == name), None)
    seen = store.deployed(cluster)
    own = [one for one in seen if one.endpoint == name] or [one for one in seen if one.is_pool and one.name == name]
    return declared, next(iter(own), None)


def _check_strategy(wished: str, declared: Endpoint, deployed: Deployed | None) -> None:
    """Wrong usage before anything is proposed, where the router is known; else the controller finds out."""
    configured, _ = stated_strategies(declared, deployed)
    known = strategies_of(deployed.backend if deployed is not None else declared.backend, configured.value)
    if known and wished not in known:
        raise UsageError(f"the router of {declared.name} has no strategy {wished!r}", f"It has: {', '.join(known)}.")


def _somebody_takes_it(store: Store, now: float) -> None:
    trouble = nobody_changes(store.processes(), now)
    if trouble:
        reason, _, hint = trouble.partition(". ")
        raise UnreachableError(f"nothing was proposed: {reason[:1].lower()}{reason[1:]}", hint)


def _named(by: str) -> str:
    found = _line(by)
    if not found:
        raise UsageError("nobody is named", "Say who does this, with --by.")
    return found


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
