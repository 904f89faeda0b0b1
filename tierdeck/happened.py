"""What happened between two sightings of a cluster: pure, so that the same two always tell the same.

Each event's key names the thing itself (a pod's third restart, a Deployment's fifth revision), so
that telling it again is recognised; where the cluster counts nothing, the moment it was seen is part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tierdeck.deployed import Deployed, Remembered, Sighting, Workload
from tierdeck.events import Event, EventKind
from tierdeck.node_events import node_events
from tierdeck.pod_events import pod_events
from tierdeck.telling import Telling


def happened(before: Remembered, now: Sighting) -> tuple[Event, ...]:
    """Everything that happened since, oldest first.

    At the first sighting of a cluster nothing has appeared or changed, but what the API still tells of
    the past counts: revisions that were rolled out, and how containers last ended.
    """
    seen = {deployed.key: deployed for deployed in now.deployed}
    found = [
        event for key, deployed in seen.items() for event in _of(before, before.deployed.get(key), deployed, now.at)
    ]
    for key, gone in before.deployed.items():
        if key not in seen:
            found.append(_gone(gone, now.at))
    found += node_events(before, now)
    return tuple(sorted(found, key=lambda event: (event.at, event.key)))


def _of(before: Remembered, old: Deployed | None, new: Deployed, at: float) -> Iterator[Event]:
    telling = Telling(new, at)
    if old is not None and old.source_uid != new.source_uid:
        yield _gone(old, at)
        old = None
    if old is None:
        if not before.is_first:
            words = f"{new.source} appeared ({new.backend})"
            yield telling.event(EventKind.APPEARED, words, telling.now_key("appeared", new.source_uid))
    else:
        yield from _configuration(telling, old, new)
        yield from _drift(telling, old, new)
    for workload in new.workloads:
        known = _same(old, workload)
        if known is not None:
            yield from _scale(telling, known, workload)
        if known is not None or old is None:
            yield from _rollouts(telling, known, workload)
        if workload.trouble and (known is None or not known.trouble):
            number = workload.revisions[-1].number if workload.revisions else 0
            key = telling.now_key("stuck", workload.uid, str(number))
            yield telling.about(workload.ref).event(EventKind.ROLLOUT_STUCK, workload.trouble, key)
    yield from pod_events(telling, old, new, before.at)


def _gone(old: Deployed, at: float) -> Event:
    telling = Telling(old, at)
    return telling.event(EventKind.GONE, f"{old.source} is gone", telling.now_key("gone", old.source_uid))


def _same(old: Deployed | None, workload: Workload) -> Workload | None:
    return next((one for one in old.workloads if one.uid == workload.uid), None) if old is not None else None


def _configuration(telling: Telling, old: Deployed, new: Deployed) -> Iterator[Event]:
    by = {"by": new.changed_by} if new.changed_by else {}
    said_by = f", by {new.changed_by}" if new.changed_by else ""
    one, other = old.configured.strategy.value, new.configured.strategy.value
    if one and other and one != other:
        detail = {"from": one, "to": other, **by}
        words = f"routing {one} → {other}{said_by}"
        yield telling.event(EventKind.ROUTING_CHANGED, words, telling.now_key("routing", new.source_uid), detail)
    pairs = zip(old.configured.sizes(), new.configured.sizes(), strict=True)
    for (tier, size), (_, wanted) in pairs:
        if size.said and wanted.said and size.said != wanted.said:
            detail = {"tier": tier.value, "from": size.text or size.said, "to": wanted.text or wanted.said, **by}
            words = f"{tier.value} {detail['from']} → {detail['to']}{said_by}"
            key = telling.now_key("size", new.source_uid, tier.value)
            yield telling.event(EventKind.SIZE_CHANGED, words, key, detail)


def _drift(telling: Telling, old: Deployed, new: Deployed) -> Iterator[Event]:
    seen = new.drift()
    for what in new.drifting:
        if what not in old.drifting and what in seen:
            configured, effective = seen[what]
            detail = {"what": what, "configured": configured, "effective": effective}
            words = f"{what}: {configured} is configured, {effective} runs"
            key = telling.now_key("drift", new.source_uid, what)
            yield telling.event(EventKind.DRIFT, words, key, detail)
    for what in old.drifting:
        if what not in new.drifting:
            words, key = f"{what}: runs as configured again", telling.now_key("drift-over", new.source_uid, what)
            yield telling.event(EventKind.DRIFT_OVER, words, key, {"what": what})


def _scale(telling: Telling, old: Workload, new: Workload) -> Iterator[Event]:
    if old.wanted is None or new.wanted is None or old.wanted == new.wanted:
        return
    kind = EventKind.SCALED_OUT if new.wanted > old.wanted else EventKind.SCALED_IN
    detail = {"from": str(old.wanted), "to": str(new.wanted)}
    words = f"{new.ref.kind} {new.ref.name}: {old.wanted} → {new.wanted} replicas"
    yield telling.about(new.ref).event(kind, words, telling.now_key("scaled", new.uid), detail)


def _rollouts(telling: Telling, old: Workload | None, new: Workload) -> Iterator[Event]:
    """Each revision that is newer than the one last known; without one, each but the first that is still kept."""
    if old is not None and old.revisions:
        last, known = old.revisions[-1].number, {one.identity for one in old.revisions}
    else:
        last, known = (new.revisions[0].number if new.revisions else 0), set()
    previous: Mapping[str, str] = dict(_images(old or new, last))
    for revision in new.revisions:
        if revision.number <= last:
            continue
        at = telling.at if revision.identity in known else revision.created_at
        about, detail = telling.about(new.ref), {"revision": str(revision.number)}
        words = f"{new.ref.kind} {new.ref.name} rolls out revision {revision.number}"
        key = f"rollout/{new.uid}/{revision.number}"
        yield about.event(EventKind.ROLLOUT, words, key, detail, at)
        components = dict(new.components)
        for container, image in revision.images:
            was = previous.get(container)
            if was is not None and was != image:
                part = components[container].value if container in components else container
                detail = {"container": container, "component": part, "from": was, "to": image}
                key = f"image/{new.uid}/{revision.number}/{container}"
                words = f"{part} image {was} → {image}"
                yield about.event(EventKind.IMAGE_CHANGED, words, key, detail, at)
        previous = dict(revision.images)


def _images(workload: Workload, number: int) -> tuple[tuple[str, str], ...]:
    return next((one.images for one in workload.revisions if one.number == number), ())
