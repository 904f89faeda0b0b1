"""Other requests come in than before: nothing is broken."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, POSSIBLE, RATIO_RULES, Finding, from_to, of_points
from tierdeck.alerts.circumstances import Circumstances, Stretch
from tierdeck.alerts.comparison import Compared, steady
from tierdeck.units import format_count

_LENGTH, _PACE, _TENANTS = 0.25, 0.5, 0.4
"""From when on prompts are longer or shorter, requests more or fewer, and tenants' weights the reason."""
_OF_L0 = 0.15


class WorkloadShift:
    """Every tier falls on every replica that did not restart, and LMCache finds less of what it is asked for.

    Where prompts or their pace changed much it is enough that L0 falls: more is in use at a time than it holds.
    """

    name = "workload_shift"
    rules = RATIO_RULES | {"ttft_burn", "pool_filling", "pool_full"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        replicas = steady(seen)
        signs = [*other_requests(seen)]
        if seen.rule not in RATIO_RULES:
            if signs:
                yield Finding(POSSIBLE, f"other requests than before: {signs[0]}", "; ".join(signs), at=seen.onset_at)
            return
        tenants = _tenants(seen)
        l0_falls = bool(signs) and all(one.falls("l0", _OF_L0) for one in replicas)
        if not replicas or not (all(map(_falls, replicas)) or tenants or l0_falls):
            return
        whole = seen.by_replica
        points = sum(whole.part(one.name).total for one in replicas) if whole is not None else None
        told = [*tenants, *signs]
        why = told[0] if told else "prompts are as long and as many as before, and have less in common"
        words = f"{of_points(seen, points)}other requests than before, on all replicas at once: {why}"
        evidence = "; ".join([*told, *_fallen(replicas), "what prompts have in common is not measured"])
        yield Finding(LIKELY + 0.1 if told else POSSIBLE, words, evidence, points, at=seen.onset_at)


def _falls(one: Compared) -> bool:
    """L0, and what is found anywhere. Either may have been next to nothing before."""
    l0, found = one.before.l0 or 0.0, one.before.found
    return (
        one.falls("hits", 0.1) and (one.falls("l0", _OF_L0) or l0 < 0.1) and (found is None or one.falls("found", 0.15))
    )


def _fallen(replicas: tuple[Compared, ...]) -> Iterator[str]:
    for one in replicas[:3]:
        if one.before.hits is not None and one.after.hits is not None:
            yield f"{one.name}: hit ratio {from_to(one.before.hits, one.after.hits)}"


def other_requests(seen: Circumstances) -> Iterator[str]:
    """What tells that other requests come in: how long prompts are, and how many."""
    lengths = [side.per("prompt_tokens", "requests") for side in (seen.before, seen.after)]
    if lengths[0] and lengths[1] and abs(lengths[1] / lengths[0] - 1) >= _LENGTH:
        kind = "longer" if lengths[1] > lengths[0] else "shorter"
        yield f"prompts are {kind}, {format_count(lengths[1])} tokens after {format_count(lengths[0])}"
    paces = [_pace(side) for side in (seen.before, seen.after)]
    if paces[0] and paces[1] and abs(paces[1] / paces[0] - 1) >= _PACE:
        yield f"{paces[1]:.2g} requests a second after {paces[0]:.2g}"


def _pace(side: Stretch) -> float | None:
    """Over the time of which something is known: a store may have begun in the middle."""
    requests, ledgers = side.count("requests"), [one.ledger for one in side.replicas.values() if one.ledger.requests]
    if requests is None or not ledgers:
        return None
    seconds = max(one.ended_at for one in ledgers) - min(one.started_at for one in ledgers)
    return requests / seconds if seconds > 0 else None


def _tenants(seen: Circumstances) -> list[str]:
    """Tenants whose weight changed, where that is what LMCache finds less for."""
    whole = seen.by_tenant
    if whole is None or whole.change >= -0.02:
        return []
    mix = sum(part.mix for part in whole.parts)
    if mix > _TENANTS * whole.change:
        return []
    sides = [sum(one.lookup_tokens for one in side.salts.values()) for side in (seen.before, seen.after)]

    def share(salt: str, side: int) -> float:
        salts = (seen.before, seen.after)[side].salts
        return salts[salt].lookup_tokens / sides[side] if salt in salts else 0.0

    salt = max((part.name for part in whole.parts), key=lambda name: share(name, 1) - share(name, 0))
    return [f"tenant {salt or '(no salt)'} went {from_to(share(salt, 0), share(salt, 1))} of what is looked up"]
