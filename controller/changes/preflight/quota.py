"""Whether the namespace's quotas and limits allow the pods as they will be.

Source: Kubernetes, "Resource Quotas" and "Limit Ranges". A rollout goes on once each step of it is allowed: with
maxUnavailable 0 there is one pod more than replicas meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from controller.changes.preflight.ahead import Ahead, Restart, namespaces_of
from controller.changes.preflight.amounts import (
    MEMORY,
    PODS,
    ZERO,
    Amounts,
    amounts,
    limits_of,
    minus,
    plus,
    requests_of,
)
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.saying import size, told
from controller.objects import Raw
from controller.reading.fields import field, items, mapping, text
from controller.reading.lineage import template_spec
from tierdeck.changes.plan import Refusal


def find_quota(ahead: Ahead) -> Iterator[Finding]:
    """Each namespace in which pods restart."""
    for namespace, restarts in namespaces_of(ahead.restarts):
        path = f"/api/v1/namespaces/{namespace}"
        quotas = ahead.listed(f"{path}/resourcequotas", f"Whether a ResourceQuota of {namespace} allows it")
        ranges = ahead.listed(f"{path}/limitranges", f"Whether a LimitRange of {namespace} allows it")
        yield from [quotas] if isinstance(quotas, str) else _quotas(namespace, quotas, list(restarts.values()))
        yield from [ranges] if isinstance(ranges, str) else _ranges(namespace, ranges, restarts.values())


def _quotas(namespace: str, quotas: Sequence[Raw], restarts: Sequence[Restart]) -> Iterator[Finding]:
    asked: Amounts = {}
    for one in restarts:
        asked = plus(asked, more_of(one))
    for quota in quotas:
        name = text(quota, "metadata", "name")
        if field(quota, "spec", "scopes") or field(quota, "spec", "scopeSelector"):
            yield (f"Whether ResourceQuota {namespace}/{name} allows it is not checked: it counts only some of the "
                   "namespace's pods.")  # fmt: skip
            continue
        hard = amounts(mapping(quota, "status", "hard") or mapping(quota, "spec", "hard"))
        left = minus(hard, amounts(mapping(quota, "status", "used")))
        for resource in sorted(hard):
            need = asked.get(_counted(resource), ZERO)
            if need > 0 and left[resource] < need:
                yield Refusal(
                    "quota",
                    f"ResourceQuota {namespace}/{name} leaves {amount(resource, max(left[resource], ZERO))} of "
                    f"{resource}, and the change takes {amount(resource, need)} more: "
                    f"{amount(resource, need - left[resource], is_missing=True)} are missing.",
                    f"Raise {resource} of ResourceQuota {namespace}/{name}, or wish less.",
                )


def _counted(resource: str) -> str:
    """A quota's name for a resource as `more_of` spells it."""
    if resource in ("cpu", MEMORY):
        return f"requests.{resource}"
    return PODS if resource == "count/pods" else resource


def more_of(one: Restart) -> Amounts:
    """What the rollout takes at its peak beyond what its pods take now, as quotas spell it (`requests.memory`)."""
    before, after = _counts(one.before), _counts(one.after)
    replicas = one.rollout.replicas if one.rollout.replicas is not None else len(one.pods)
    found: dict[str, Decimal] = {}
    for name in {*before, *after}:
        old, new = before.get(name, ZERO), after.get(name, ZERO)
        more = replicas * (new - old)
        if one.rollout.needs_surge:
            more = replicas * max(old, new) + min(old, new) - replicas * old
        found[name] = max(more, ZERO)
    return found


def _counts(workload: Raw) -> Amounts:
    """What one pod counts for, as quotas spell it."""
    spec = template_spec(workload)
    requests, limits = requests_of(spec), limits_of(spec)
    return {
        PODS: Decimal(1),
        **{f"requests.{name}": number for name, number in requests.items() if name != PODS},
        **{f"limits.{name}": number for name, number in limits.items()},
    }


def _ranges(namespace: str, ranges: Iterable[Raw], restarts: Iterable[Restart]) -> Iterator[Refusal]:
    limits = [(text(one, "metadata", "name"), item) for one in ranges for item in items(one, "spec", "limits")]
    for restart in restarts:
        spec = template_spec(restart.after)
        parts = [
            (f"container {text(one, 'name')} of {restart.ref}", "Container", one) for one in items(spec, "containers")
        ]
        for name, item in limits:
            for what, kind, container in parts:
                if text(item, "type") == kind:
                    limit, request = (amounts(mapping(container, "resources", side)) for side in ("limits", "requests"))
                    yield from _in_range(f"{namespace}/{name}", what, item, (limit, {**limit, **request}))
            if text(item, "type") == "Pod":
                both = limits_of(spec), requests_of(spec)
                yield from _in_range(f"{namespace}/{name}", f"a pod of {restart.ref}", item, both)


def _in_range(name: str, what: str, item: Raw, asked: tuple[Amounts, Amounts]) -> Iterator[Refusal]:
    """A limit or request of memory above the most, or below the least, that is allowed."""
    limit, request = (side.get(MEMORY) for side in asked)
    most, least = (amounts(mapping(item, side)).get(MEMORY) for side in ("max", "min"))
    top = max((one for one in (limit, request) if one is not None), default=None)
    low = min((one for one in (limit, request) if one is not None), default=None)
    if most is not None and top is not None and top > most:
        reason = f"LimitRange {name} allows {size(most)} of memory, and {what} will have {size(top)}"
        yield Refusal("quota", f"{reason}: {told(top - most)} too much.", f"Raise max.memory of LimitRange {name}.")
    if least is not None and low is not None and low < least:
        reason = f"LimitRange {name} wants at least {size(least)} of memory, and {what} will have {size(low)}"
        yield Refusal("quota", f"{reason}: {told(least - low)} too little.", f"Lower min.memory of LimitRange {name}.")


def amount(resource: str, number: Decimal, *, is_missing: bool = False) -> str:
    if not resource.endswith(MEMORY):
        return f"{float(number):g}"
    return told(number) if is_missing else size(number)


QUOTA = Check("quota", ("quota",), find_quota)
