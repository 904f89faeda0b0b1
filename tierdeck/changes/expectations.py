"""What each routing strategy would do with the next request: chances by replica, from all that was sent before.

Sources: production-stack's routing_logic.py (session: hash ring; prefixaware: trie of texts that the router sent,
whatever was evicted; kvaware: what the caches hold), vllm-router's policies of the same kinds, and
`tierdeck/sizing/routing.py`. Where a strategy has nothing to go by, each replica is as likely as the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tierdeck.changes.landing import Landing

Chances = dict[str, float]
"""By replica; they add up to 1."""
Expects = Callable[[Landing, Sequence[Landing], Sequence[str]], Chances]
"""(the next request, those before, all replicas) -> chances."""


def even(replicas: Sequence[str]) -> Chances:
    return dict.fromkeys(replicas, 1 / len(replicas))


def by_session(request: Landing, before: Sequence[Landing], replicas: Sequence[str]) -> Chances:
    """The replica that the session came to most often."""
    homes = Counter(
        one.replica for one in before if not one.is_direct and one.replica and one.session == request.session
    )
    return even([homes.most_common(1)[0][0]]) if homes else even(replicas)


def by_prefix(request: Landing, before: Sequence[Landing], replicas: Sequence[str]) -> Chances:
    """Those that the router sent the longest common beginning to."""
    sent = [one for one in before if not one.is_direct and one.replica]
    longest = max((request.shares(one) for one in sent), default=0)
    owners = {one.replica for one in sent if longest and request.shares(one) >= longest}
    return even(sorted(owners)) if owners else even(replicas)


def by_cache(request: Landing, before: Sequence[Landing], replicas: Sequence[str]) -> Chances:
    """Those whose caches hold the longest common beginning, whoever sent it there."""
    held = dict.fromkeys(replicas, 0)
    for one in before:
        if one.replica and one.until <= request.at:
            held[one.replica] = max(held.get(one.replica, 0), request.shares(one))
    most = max(held.values(), default=0)
    return even([name for name, parts in held.items() if parts == most] if most else replicas)
