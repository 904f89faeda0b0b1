"""Which routing strategy the landings of crafted requests fit, and whether it is the wished one.

Every strategy says how likely it makes what was seen. The wished one is in effect where it makes that at least
10,000 times as likely as every rival does, chance with the very shares that were seen among them: so that a lucky
router is not taken for a clever one. It is not in effect where a rival is as far ahead of it. Else nobody can tell.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tierdeck.changes import turns
from tierdeck.changes.expectations import Expects, by_cache, by_prefix, by_session
from tierdeck.changes.landing import Landing, routed
from tierdeck.changes.proof import Verdict
from tierdeck.routing import RoutingStrategy

ODDS = 1e4
"""So many times likelier than any rival, or it is not told."""
_DEVIATIONS = ((0.0025, 0.8), (0.04, 0.2))
"""Share of requests that a router places otherwise (a replica too busy, a retry), and how likely that share is."""
_EXPECTS: Mapping[str, Expects] = {
    RoutingStrategy.SESSION: by_session,
    RoutingStrategy.PREFIXAWARE: by_prefix,
    RoutingStrategy.KVAWARE: by_cache,
}
_SPELLED = {
    "round_robin": RoutingStrategy.ROUNDROBIN,
    "cache_aware": RoutingStrategy.PREFIXAWARE,
    "consistent_hash": RoutingStrategy.SESSION,
    "kv_aware": RoutingStrategy.KVAWARE,
}
"""vllm-router's words for the same behaviour. Source: vllm-router 0.1.17, `--policy`."""
_RANDOM, _LEAST_BUSY = "random", "least busy"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the landings tell.

    Attributes:
        seen: the strategy that they fit, spelled as the wished one where it is that; empty: several, or none.
        evidence: one sentence each.
    """

    verdict: Verdict
    seen: str
    evidence: tuple[str, ...]


def strategy_of(spelled: str) -> RoutingStrategy | None:
    """The strategy behind a router's own word for it; None: none that can be proved."""
    if spelled in _SPELLED:
        return _SPELLED[spelled]
    return RoutingStrategy(spelled) if spelled in set(RoutingStrategy) else None


def judge(wished: str, landings: Sequence[Landing], replicas: Sequence[str]) -> Judgement:
    """
    Args:
        wished: as the router spells it.
        replicas: all that the router may send to.
    """
    strategy = strategy_of(wished)
    if strategy is None:
        return Judgement(Verdict.CANNOT_TELL, "", (f"There is no test for the strategy {wished or '(none)'}.",))
    if len(replicas) < 2:
        return Judgement(Verdict.CANNOT_TELL, "", ("With one replica every strategy does the same.",))
    requests = [one for one in routed(landings) if one.replica]
    if not requests:
        return Judgement(Verdict.CANNOT_TELL, "", ("Where the requests landed is not known.",))
    likely = likelihoods(landings, replicas)
    lead, rival = _lead(strategy, {**likely, _RANDOM: _with_shares_seen(requests)})
    counts = _counts(strategy, landings, replicas)
    if lead >= math.log(ODDS):
        return Judgement(Verdict.EFFECTIVE, wished, (*counts, f"Next best is {rival}: {_odds(lead)} less likely."))
    behind, better = _lead(strategy, likely)
    if -behind >= math.log(ODDS):
        seen = next((name for name in _known(likely) if _clear(name, likely, requests)), "")
        fits = f"It fits {seen}." if seen else f"{better.capitalize()} fits {_odds(-behind)} better, though not alone."
        return Judgement(Verdict.APPLIED_NOT_EFFECTIVE, seen, (*counts, fits))
    told = f"{wished} and {rival} are too close to tell apart: {_odds(abs(lead))}, and {ODDS:,.0f} are needed."
    return Judgement(Verdict.CANNOT_TELL, "", (*counts, told))


def is_bound(wished: str, request: Landing, before: Sequence[Landing], replicas: Sequence[str]) -> bool:
    """The wished strategy leaves no choice for a request: only then it tells much."""
    expects = _EXPECTS.get(strategy_of(wished) or "")
    return expects is not None and max(expects(request, before, replicas).values()) == 1


def likelihoods(landings: Sequence[Landing], replicas: Sequence[str]) -> dict[str, float]:
    """Logarithms, by strategy and rival."""
    requests = routed(landings)
    found: dict[str, float] = {
        RoutingStrategy.ROUNDROBIN: turns.log_likelihood(requests, replicas),
        _LEAST_BUSY: _least_busy(requests, replicas),
        _RANDOM: _by_chance(requests, replicas),
    }
    for strategy in _EXPECTS:
        found[strategy] = _log_likelihood(strategy, landings, replicas)
    return found


def _log_likelihood(strategy: str, landings: Sequence[Landing], replicas: Sequence[str]) -> float:
    """Where a strategy leaves several replicas, the shares that were seen say which: how a router then chooses (at
    random, the least busy) is not what is asked. A session that is new goes by its hash, where all are alike.
    """
    shares = Counter(one.replica for one in landings if one.replica and not one.is_direct)
    chances: list[float] = []
    ordered = sorted(landings, key=lambda one: one.at)
    for index, request in enumerate(ordered):
        if request.replica and not request.is_direct:
            expected = _EXPECTS[strategy](request, ordered[:index], replicas)
            total = sum(shares[name] for name in expected)
            if strategy != RoutingStrategy.SESSION and total:
                expected = {name: shares[name] / total for name in expected}
            chances.append(expected.get(request.replica, 0.0))
    logs = [
        math.log(weight) + sum(math.log((1 - share) * chance + share / len(replicas)) for chance in chances)
        for share, weight in _DEVIATIONS
    ]
    return turns.log_mean(logs) + math.log(len(logs))


def _least_busy(requests: Sequence[Landing], replicas: Sequence[str]) -> float:
    """With the long requests of which it is not known where they went placed as suits it best."""
    hidden = [one for one in requests if one.is_long and not one.replica]
    if not hidden:
        return turns.log_likelihood(requests, replicas, avoids_busy=True)
    return max(turns.log_likelihood(_placed(requests, name), replicas, avoids_busy=True) for name in replicas)


def _placed(requests: Sequence[Landing], replica: str) -> list[Landing]:
    return [
        Landing(one.at, one.until, one.session, one.prefix, replica, is_long=True)
        if one.is_long and not one.replica
        else one
        for one in requests
    ]


def _by_chance(requests: Sequence[Landing], replicas: Sequence[str]) -> float:
    """Chance with shares that nobody knows before; each request tells a little of them (Krichevsky and Trofimov)."""
    counts, total = Counter[str](), 0.0
    for at, name in enumerate(one.replica for one in requests if one.replica):
        total += math.log((counts[name] + 0.5) / (at + 0.5 * len(replicas)))
        counts[name] += 1
    return total


def _with_shares_seen(requests: Sequence[Landing]) -> float:
    """Chance with the shares that fit best, all to one replica included: the strongest rival of its kind."""
    counts = Counter(one.replica for one in requests)
    return sum(count * math.log(count / len(requests)) for count in counts.values())


def _lead(strategy: str, likely: Mapping[str, float]) -> tuple[float, str]:
    """How far it is ahead of its best rival (a logarithm), and which that is."""
    rival = max((name for name in likely if name != strategy), key=lambda name: likely[name])
    return likely[strategy] - likely[rival], str(rival)


def _known(likely: Mapping[str, float]) -> list[str]:
    return [str(name) for name in likely if name in set(RoutingStrategy)]


def _clear(name: str, likely: Mapping[str, float], requests: Sequence[Landing]) -> bool:
    return _lead(name, {**likely, _RANDOM: _with_shares_seen(requests)})[0] >= math.log(ODDS)


def _odds(log: float) -> str:
    return f"{math.exp(min(log, 60)):,.0f} times" if log < math.log(1e6) else f"10^{log / math.log(10):.0f} times"


def _counts(strategy: RoutingStrategy, landings: Sequence[Landing], replicas: Sequence[str]) -> tuple[str, ...]:
    """What was counted, in words."""
    requests = [one for one in routed(landings) if one.replica]
    shares = Counter(one.replica for one in requests)
    spread = ", ".join(f"{shares[name]} to {name}" for name in replicas)
    lost = len(routed(landings)) - len(requests)
    told = [f"{len(requests)} requests landed: {spread}" + (f"; of {lost} it is not known." if lost else ".")]
    if strategy is RoutingStrategy.ROUNDROBIN:
        told.append(_turns_taken(requests))
    else:
        told.append(_kept(strategy, landings, replicas))
    if any(one.is_direct for one in landings):
        direct = sum(one.is_direct for one in landings)
        told.append(f"{direct} more were sent to a replica directly, to put a longer beginning into another cache.")
    return tuple(told)


def _turns_taken(requests: Sequence[Landing]) -> str:
    pairs = [(one.replica, other.replica) for one, other in itertools.pairwise(requests)]
    after: dict[str, Counter[str]] = {}
    for one, other in pairs:
        after.setdefault(one, Counter())[other] += 1
    usual = sum(found.most_common(1)[0][1] for found in after.values())
    return f"In {usual} of {len(pairs)} cases the replica that usually follows came next."


def _kept(strategy: RoutingStrategy, landings: Sequence[Landing], replicas: Sequence[str]) -> str:
    """Where the strategy leaves no choice: how often it was followed."""
    ordered = sorted(landings, key=lambda one: one.at)
    bound = followed = 0
    for index, request in enumerate(ordered):
        if request.replica and not request.is_direct:
            chances = _EXPECTS[strategy](request, ordered[:index], replicas)
            if max(chances.values()) == 1:
                bound += 1
                followed += chances.get(request.replica, 0.0) == 1
    return f"{followed} of {bound} requests for which {strategy} leaves no choice went where it says."
