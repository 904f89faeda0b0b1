"""Whether the replicas that remain while others restart carry what runs and waits now.

Source: vLLM, `--max-num-seqs`: requests that one engine works on at a time; where it is not set 256, and 1,024 on
GPUs of 70 GiB and more (EngineArgs.get_batch_defaults).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.saying import plural, sentence
from controller.reading.processes import Process
from controller.reading.sizes import integer_of
from controller.reading.told import UntoldError, argument
from tierdeck.changes.plan import Refusal
from tierdeck.deployed import Component

_USUAL, _MOST = 256, 1024
_SERVES = {Component.ENGINE: "serves", Component.ROUTER: "routes"}


def find_availability(ahead: Ahead) -> Iterator[Finding]:
    """Engines by what they can work on; of routers one is enough."""
    load = ahead.look.load
    now = None if load.running is None or load.waiting is None else load.running + load.waiting
    for one in ahead.restarts:
        if one.component not in _SERVES or one.rollout.replicas == 0:
            continue
        if one.rollout.is_by_hand:
            yield f"{one.ref} takes the change only once its pods are deleted by hand ({one.rollout.where})."
            continue
        remaining = one.rollout.remaining
        if remaining is None:
            yield f"Whether enough replicas of {one.ref} remain is not checked: how many it has is not told."
        elif remaining == 0:
            yield from _nothing_remains(one, now)
        elif one.component is Component.ENGINE and now is None:
            yield (f"Whether {plural(remaining, 'replica')} of {one.ref} carry the load while others restart is not "
                   "checked: how many requests run and wait is not known.")  # fmt: skip
        elif one.process is not None and one.component is Component.ENGINE and now is not None:
            yield from _carries(one, one.process, remaining, now)


def _nothing_remains(one: Restart, now: float | None) -> Iterator[Finding]:
    what = f"nothing {_SERVES[one.component]} from when {one.ref} stops its pods until the new ones are ready"
    why = f"{plural(one.rollout.replicas or 0, 'replica')}, {one.rollout.where}"
    if now:
        yield Refusal(
            "availability",
            f"{sentence(what)} ({why}), and {now:g} requests run or wait now.",
            f"Give {one.ref} another replica, or let one start before the other stops (maxSurge 1, maxUnavailable 0; "
            "needs a free GPU), or wait until nothing runs.",
        )
    else:
        load = "nothing runs or waits now" if now == 0 else "how many requests run is not known"
        yield f"{sentence(what)} ({why}); {load}."


def _carries(one: Restart, engine: Process, remaining: int, now: float) -> Iterator[Finding]:
    stated = _at_a_time(engine)
    each = stated or _MOST
    serving = min(remaining, one.workload.ready) if one.workload.ready else remaining
    can = serving * each
    left = f"{plural(serving, 'replica')} of {one.ref} {'remains' if serving == 1 else 'remain'} while others restart"
    if now > can:
        how = (
            f"{each:,} each (--max-num-seqs)" if stated else f"{each:,} each, vLLM's largest default of --max-num-seqs"
        )
        yield Refusal(
            "availability",
            f"{left} ({one.rollout.where}) and can work on {can:,} requests, {how}; {now:g} run or wait now.",
            f"Wait for less traffic, or give {one.ref} more replicas.",
        )
    elif not stated and now > serving * _USUAL:
        yield (
            f"{left}; --max-num-seqs is not set, and with vLLM's default of {_USUAL} ({_MOST:,} on GPUs of 70 GiB and "
            f"more) they can work on {serving * _USUAL:,} requests, while {now:g} run or wait now."
        )


def _at_a_time(engine: Process) -> int | None:
    """None: not stated, or not to be told."""
    try:
        return integer_of(argument(engine, "--max-num-seqs") or "-")
    except UntoldError:
        return None


AVAILABILITY = Check("availability", ("availability",), find_availability)
