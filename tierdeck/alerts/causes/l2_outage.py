"""L2 does not do its work: workers are away, writes are lost, nothing is found or what is found can't be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tierdeck.account import PoolAccount
from tierdeck.alerts.cause import LIKELY, POSSIBLE, RATIO_RULES, RECORDED, Finding, clock, from_to, of_points
from tierdeck.alerts.circumstances import LOWER, Circumstances, Stretch
from tierdeck.alerts.comparison import compared
from tierdeck.alerts.usage import pool_usage
from tierdeck.notes import NoteCode
from tierdeck.units import format_count

_LEAST_CHUNKS = 20.0
_LEAST_FOUND = 0.02
"""Of what was asked for: less found in L2 than this, and that it finds nothing says nothing."""
_FULL_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class _Sign:
    certainty: float
    words: str
    evidence: str


class L2Outage:
    """Whatever of it shows: one finding with all of its signs, the surest first."""

    name = "l2_outage"
    rules = RATIO_RULES | {"l2_outage", "requests_failing", "ttft_burn", "requests_deferred", "pool_full"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        signs = sorted((*_workers(seen), *_writes(seen), *_unread(seen), *_finds(seen)), key=lambda one: -one.certainty)
        if not signs:
            return
        points, tiers = None, seen.by_tier
        if tiers is not None:
            names = {part.name for part in tiers.parts}
            is_unread = any("can't load" in one.words for one in signs)
            of = ("L1", "L2", LOWER) if is_unread or "L2" not in names else ("L2",)
            points = sum(tiers.part(name).total for name in of)
        words = f"{of_points(seen, points)}L2: {'; '.join(one.words for one in signs)}"
        evidence = "; ".join(one.evidence for one in signs)
        yield Finding(signs[0].certainty, words, evidence, points, at=seen.onset_at)


def _workers(seen: Circumstances) -> Iterator[_Sign]:
    for pool in dict.fromkeys(reading.pool for reading in seen.pools):
        readings = [reading for reading in seen.pools if reading.pool == pool]
        before = [reading.account for reading in readings if reading.at <= seen.before.ended_at]
        since = [reading for reading in readings if reading.at > seen.before.ended_at and not reading.account.reason]
        live = max((one.live for one in before if one.live is not None), default=None)
        fewer = [one for one in since if live is not None and one.account.live is not None and one.account.live < live]
        away = [one for one in since if _away(one.account) > max(map(_away, before), default=0.0)]
        worst = fewer or away
        if worst:
            last = since[-1].account
            told = f"{_count(last.live)} of {_count(live)} workers of {pool} are live"
            is_back = live is not None and last.live is not None and last.live >= live and not _away(last)
            if is_back:
                told = f"a worker of {pool} was away until {clock(worst[-1].at)} and came back empty"
            evidence = f"{pool}: {_away(worst[-1].account):.0f} lost or blacklisted, first seen {clock(worst[0].at)}"
            yield _Sign(RECORDED, told, evidence)


def _away(account: PoolAccount) -> float:
    return (account.lost or 0.0) + (account.blacklisted or 0.0)


def _count(number: float | None) -> str:
    return "an unknown number" if number is None else f"{number:.0f}"


def _writes(seen: Circumstances) -> Iterator[_Sign]:
    before, after = _completing(seen.before), _completing(seen.after)
    if after is None or after > 0.5 or (before is not None and before <= 0.5 and seen.rule != "l2_outage"):
        return
    submitted, completed = seen.after.count("stores_submitted") or 0.0, seen.after.count("stores_completed") or 0.0
    evidence = f"{format_count(completed)} of {format_count(submitted)} chunks submitted since {clock(seen.onset_at)} "
    evidence += "are stored"
    evidence += f", {100 * before:.0f} % before" if before is not None else ""
    full = _full(seen)
    yield _Sign(RECORDED, f"writes are submitted and don't complete{full}", evidence)


def _completing(side: Stretch) -> float | None:
    submitted, completed = side.count("stores_submitted"), side.count("stores_completed")
    if submitted is None or submitted < _LEAST_CHUNKS:
        return None
    in_flight = side.count("stores_in_flight") or 0.0
    left = submitted - min(in_flight, submitted - min(completed or 0.0, submitted))
    return (completed or 0.0) / left if left else None


def _full(seen: Circumstances) -> str:
    """A pool without room is no reason where writes completed with as little."""
    for name in dict.fromkeys(reading.pool for reading in seen.pools):
        told = [(one.at, _has_room(one.account)) for one in seen.pools if one.pool == name]
        before = [room for at, room in told if at <= seen.before.ended_at and room is not None]
        since = [room for at, room in told if at > seen.before.ended_at and room is not None]
        if since and not since[-1]:
            return f", pool {name} has no room left" + ("" if all(before) else ", as before")
    return ""


def _has_room(account: PoolAccount) -> bool | None:
    free, whole = account.available_bytes, account.capacity_bytes
    return free >= _FULL_SHARE * whole if free is not None and whole else None


def _unread(seen: Circumstances) -> Iterator[_Sign]:
    shares = [_unused(side) for side in (seen.before, seen.after)]
    if shares[1] is None or shares[1] < 0.03 or shares[1] < 2 * (shares[0] or 0.0):
        return
    words = "LMCache finds what vLLM then can't load"
    evidence = f"at least {100 * shares[1]:.0f} % of prompt tokens were found and computed all the same"
    yield _Sign(RECORDED, words, evidence)


def _unused(side: Stretch) -> float | None:
    """Tokens found that nobody used, of all prompt tokens; of replicas whose hits are counted."""
    tiers = [
        found
        for name in side.replicas
        if (found := side.tiers(name)) is not None
        and found.by_token.known
        and all(note.code is not NoteCode.NOT_WIRED for note in found.notes)
    ]
    known = [one.found_not_loaded.value for one in tiers if one.found_not_loaded.value is not None]
    prompt = sum(one.prompt_tokens.value or 0.0 for one in tiers)
    return sum(known) / prompt if prompt and known else None


def _finds(seen: Circumstances) -> Iterator[_Sign]:
    before, after = (side.per("l2_found", "lookup_tokens") for side in (seen.before, seen.after))
    if before is None or after is None or before < _LEAST_FOUND or after > 0.1 * before:
        return
    replicas = compared(seen)
    if replicas and all(one.falls("l0", 0.5) for one in replicas):
        return  # other texts than before, of which nothing can be anywhere
    looked_up = seen.after.count("lookup_tokens") or 0.0
    evidence = f"L2 had {from_to(before, after)} of what LMCache looked up, which goes on "
    evidence += f"({format_count(looked_up)} tokens since {clock(seen.onset_at)})"
    both = [one for one in replicas if one.before.in_l1 is not None]
    l1_went_too = bool(both) and all(one.falls("in_l1", 0.5) for one in both)
    used = pool_usage(seen)
    is_emptied = used is not None and used[1] < 0.8 * used[0]  # what is deleted can't be found
    yield _Sign(POSSIBLE if l1_went_too or is_emptied else LIKELY + 0.1, "it is asked and finds nothing", evidence)
