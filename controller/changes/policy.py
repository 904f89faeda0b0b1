"""Whether a change may be made at all: by the allow list, maintenance windows, and what else is under way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from controller.changes.allowed_file import AllowedFile
from controller.changes.reach import Touched, misled, touched
from controller.reading.quantities import bytes_of
from db import Store
from tierdeck.changes.allowed import Allowed, Limits
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import ABSENT, Plan, Refusal, Surface, Write
from tierdeck.changes.wish import Wish
from tierdeck.settings import Settings
from tierdeck.units import format_size

_ABOUT = (State.APPROVED, State.APPLYING, State.PROVING, State.OBSERVING)
_GIB = 2**30


class Policy:
    """What this controller may do; asked anew before each step, since all of it may change meanwhile."""

    def __init__(self, settings: Settings, store: Store) -> None:
        """
        Raises:
            UsageError: the file of what may be changed is missing or broken.
        """
        self._settings = settings
        self._store = store
        self._file = AllowedFile(settings.changes_file)

    def frozen(self, change: Change, now: float) -> Refusal | None:
        """The maintenance window in which nothing of the endpoint is changed."""
        window = self._store.frozen(change.cluster, change.endpoint, now)
        if window is None:
            return None
        until = datetime.fromtimestamp(window.ends_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        reason = f"{change.endpoint} is frozen until {until} by the maintenance window {window.id} of {window.by}"
        fix = f"Propose it again then, or end the window: `tierdeck silence end {window.id}`."
        return Refusal("frozen", f"{reason}: {window.why}.", fix)

    def needs_another(self, change: Change, approver: str) -> str:
        """Why this person can't approve it, one sentence; empty: they can."""
        same = approver.strip().casefold() == change.by.strip().casefold()
        if not (self._settings.changes_second_person and same):
            return ""
        return f"{change.by} proposed it, so somebody else has to approve it (TIERDECK_CHANGES_SECOND_PERSON)"

    def wish_refusals(self, change: Change) -> tuple[Refusal, ...]:
        """Before anything is planned: what is asked, of which endpoint."""
        if self._is_lab(change.endpoint):
            return ()
        allowed = self._file.look()
        if isinstance(allowed, str):
            return (_observe_only(allowed),)
        namespace = change.endpoint.partition("/")[0]
        if namespace not in allowed.namespaces:
            listed = ", ".join(allowed.namespaces)
            reason = f"The allow list has no namespace {namespace}: it has {listed}."
            return (_not_allowed(reason, "Add it to the file of TIERDECK_CHANGES_FILE."),)
        return tuple(_beyond(change.wish, allowed.limits))

    def plan_refusals(self, change: Change, plan: Plan) -> tuple[Refusal, ...]:
        """Each write has to be one that may be made, whoever planned it."""
        if not plan.writes and not plan.exports_only:
            return (Refusal("nothing_to_do", "Nothing would be written."),)
        allowed: Allowed | str | None = None
        found: list[Refusal] = []
        for write in plan.writes:
            if write.surface is Surface.LAB:
                address = f"{self._settings.lab_url.rstrip('/')}/admin/"
                is_there = self._is_lab(change.endpoint) and write.address.startswith(address)
                found += () if is_there else [_not_allowed(f"{write.address} is no lab's of this controller.")]
                continue
            allowed = allowed or self._file.look()
            if isinstance(allowed, str):
                return (_observe_only(allowed),)
            found += _write_refusals(write, allowed)
        return tuple(found)

    def busy(self, change: Change, plan: Plan) -> Iterator[Refusal]:
        """Changes of other endpoints that are under way and write the same object, such as a shared router or pool."""
        own = {(write.surface, write.address, write.ref) for write in plan.writes}
        for other in self._store.open_changes(change.cluster):
            if other.id == change.id or other.preview is None or other.state not in _ABOUT:
                continue
            shared = [one for one in other.preview.plan.writes if (one.surface, one.address, one.ref) in own]
            if shared:
                reason = f"Change {other.id} of {other.endpoint}, {other.state}, writes {shared[0].ref} too."
                yield Refusal("busy", reason, f"Wait for the end of change {other.id}, then propose it again.")

    def _is_lab(self, endpoint: str) -> bool:
        """A lab is there to be changed: no file is needed."""
        return bool(self._settings.lab_url) and "/" not in endpoint


def _observe_only(reason: str) -> Refusal:
    return Refusal("observe_only", reason, "Set it to a file that lists namespaces and kinds.")


def _not_allowed(reason: str, fix: str = "") -> Refusal:
    return Refusal("not_allowed", reason, fix)


def _beyond(wish: Wish, limits: Limits) -> Iterator[Refusal]:
    """What is asked, held against the limits."""
    share = wish.l0.share if wish.l0 is not None else None
    if share is not None and limits.l0_share is not None and share > limits.l0_share:
        yield _not_allowed(f"L0 is limited to a share of {limits.l0_share:g}, and {share:g} is asked for.", _RAISE)
    for tier, asked, most in (("L1", wish.l1_bytes, limits.l1), ("L2", wish.l2_bytes, limits.l2)):
        if asked is not None and most is not None and asked > most:
            reason = f"{tier} is limited to {format_size(most)}, and {format_size(asked)} is asked for."
            yield _not_allowed(reason, _RAISE)


_RAISE = "Ask for less, or raise the limit in the file of TIERDECK_CHANGES_FILE."


def _write_refusals(write: Write, allowed: Allowed) -> Iterator[Refusal]:
    if write.ref.namespace not in allowed.namespaces:
        where = write.ref.namespace or "the whole cluster"
        fix = "Add the namespace to the file of TIERDECK_CHANGES_FILE."
        yield _not_allowed(f"{write.ref} would be written, and the allow list has no namespace {where}.", fix)
    if write.ref.kind not in allowed.kinds:
        fix = f"Add {write.ref.kind} to `kinds` in the file of TIERDECK_CHANGES_FILE."
        yield _not_allowed(f"{write.ref} would be written, and the allow list has no kind {write.ref.kind}.", fix)
    reason = misled(write)
    if reason:
        yield _not_allowed(reason)
    parts = touched(write)
    if isinstance(parts, str):
        yield _not_allowed(parts)
    else:
        yield from _beyond_written(write, parts, allowed.limits)


def _beyond_written(write: Write, parts: Iterable[Touched], limits: Limits) -> Iterator[Refusal]:
    """What is written, as far as a number by itself tells: one rank's L1 is no more than a replica's."""
    for part in parts:
        if part.name == "replicas":
            yield from _beyond_replicas(write, part, limits)
            continue
        factor, tier = _SIZES.get(part.name, (1, ""))
        most: float | None = {"l0": limits.l0_share, "l1": limits.l1, "l2": limits.l2}.get(tier)
        if most is not None and _number(part) * factor > most:
            reason = f"{write.ref}: {part.name} {part.value} is beyond the limits of the allow list."
            yield _not_allowed(reason, _RAISE)


_SIZES = {
    "--gpu-memory-utilization": (1, "l0"),
    "gpuMemoryUtilization": (1, "l0"),
    "VLLM_GPU_MEMORY_UTILIZATION": (1, "l0"),
    "LMCACHE_MAX_LOCAL_CPU_SIZE": (_GIB, "l1"),
    "VLLM_CPU_KVCACHE_SPACE": (_GIB, "l1"),
    "cpuOffloadingBufferSize": (_GIB, "l1"),
    "--kv-offloading-size": (_GIB, "l1"),
    "--l1-size-gb": (_GIB, "l1"),
    "l1SizeGB": (_GIB, "l1"),
    "sizeGB": (_GIB, "l1"),
    "LMCACHE_MAX_LOCAL_DISK_SIZE": (_GIB, "l2"),
    "limit_gb": (_GIB, "l2"),
    "max_capacity_gb": (_GIB, "l2"),
}
"""By what is written: bytes of its unit, and the limit that it is held against."""


def _beyond_replicas(write: Write, part: Touched, limits: Limits) -> Iterator[Refusal]:
    """None at all would be the end of what is served, and a number that goes is the server's to choose."""
    if limits.replicas is None:
        yield _not_allowed(f"{write.ref}: replicas are written only where the allow list limits them.", _RAISE)
    elif not (part.value is not ABSENT and 1 <= _number(part) <= limits.replicas):
        wanted = "none stated" if part.value is ABSENT else part.value
        yield _not_allowed(f"{write.ref}: replicas {wanted} is not from 1 to {limits.replicas}.", _RAISE)


def _number(part: Touched) -> float:
    """What is no number is beyond any limit; what goes is 0."""
    if part.value is ABSENT:
        return 0.0
    if part.name == "cpuOffloadingBufferSize":  # a revert has to write its definition's default back, which is `4Gi`
        size = bytes_of(part.value)
        return size / _GIB if size is not None and str(part.value).endswith("i") else _plain_number(part.value)
    return _plain_number(part.value)


def _plain_number(value: object) -> float:
    try:
        found = float(str(value))
    except ValueError:
        return math.inf
    return math.inf if math.isnan(found) else found
