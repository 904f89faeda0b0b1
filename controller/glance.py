"""One look at a cluster, printed: what an install would find, and which rights are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controller.looking import look_once
from tierdeck.deployed import Configuration, Deployed, Stated, StatedSize
from tierdeck.settings import Settings
from tierdeck.units import format_size


def glance(settings: Settings, at: float) -> dict[str, Any]:
    """What is found, as one JSON document: `endpoints`, `pools`, `blind`, `unknown_kinds`.

    Raises:
        CredentialsError: there is no usable kubeconfig, or the server does not know who asks.
        ApiUnreachableError: the API server does not answer.
    """
    sighting = look_once(settings, at).sighting
    return {
        "cluster": settings.cluster,
        "endpoints": [_document(one) for one in sighting.deployed if not one.is_pool],
        "pools": [_document(one) for one in sighting.deployed if one.is_pool],
        "blind": [{"what": one.what, "reason": one.reason, "fix": one.fix} for one in sighting.blind],
        "unknown_kinds": list(sighting.unknown_kinds),
    }


def told(seen: dict[str, Any]) -> str:
    """The same for people."""
    return "\n".join(_lines(seen))


def brief(seen: dict[str, Any]) -> str:
    """The same in one line, and one for each thing that can't be seen."""
    counts = [(len(seen["endpoints"]), "endpoint"), (len(seen["pools"]), "pool")]
    found = " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
    lines = [f"Kubernetes: {found} found in cluster {seen['cluster']}"]
    lines += [f"Can't see {one['what']}: {one['reason']}" for one in seen["blind"]]
    return "\n".join(lines)


def _document(one: Deployed) -> dict[str, Any]:
    return {
        "name": one.name if one.is_pool else one.endpoint,
        "backend": one.backend,
        "source": str(one.source),
        "model": one.model or None,
        "replicas": {"wanted": one.wanted, "ready": sum(pod.is_ready for pod in one.pods), "pods": len(one.pods)},
        "configured": _configuration(one.configured),
        "effective": _configuration(one.effective),
        "owners": [owner.tool + (f" ({owner.name})" if owner.name else "") for owner in one.owners],
        "problems": list(one.problems),
    }


def _configuration(one: Configuration) -> dict[str, Any]:
    return {"strategy": _word(one.strategy)} | {tier.value: _size(size) for tier, size in one.sizes()}


def _word(one: Stated) -> dict[str, Any]:
    return {"value": one.value or None, "where": one.where, "why": one.reason}


def _size(one: StatedSize) -> dict[str, Any]:
    return {"bytes": one.size_bytes, "text": one.text, "where": one.where, "why": one.reason}


def _lines(seen: dict[str, Any]) -> Iterator[str]:
    found = [*seen["endpoints"], *seen["pools"]]
    if not found:
        yield f"No endpoint and no pool was found in cluster {seen['cluster']}."
    for one in found:
        replicas = one["replicas"]
        wanted = "?" if replicas["wanted"] is None else replicas["wanted"]
        yield f"{one['name']} ({one['backend']}, {one['source']})"
        yield f"  model {one['model'] or 'not told'}, {replicas['ready']} of {wanted} ready"
        for what, side in one["configured"].items():
            other = one["effective"][what]
            yield f"  {what}: configured {_said(side)}; running {_said(other)}"
        if one["owners"]:
            yield f"  owners: {', '.join(one['owners'])}"
        yield from (f"  problem: {problem}" for problem in one["problems"])
    for one in seen["blind"]:
        yield f"Can't see {one['what']}: {one['reason']}"
        if one["fix"]:
            yield f"  this rule grants it: {one['fix']}"
    yield from (f"There is {kind}: this version does not read it." for kind in seen["unknown_kinds"])


def _said(side: dict[str, Any]) -> str:
    if "value" in side:
        return side["value"] or f"not told ({side['why']})"
    if side["bytes"] is None:
        return f"{side['text']} ({side['why']})" if side["text"] else f"not told ({side['why']})"
    return side["text"] or format_size(side["bytes"])
