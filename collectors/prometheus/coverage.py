"""What a Prometheus can't tell of a fleet, as notes: missing series, dropped labels, long intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collectors.families import sample_names
from collectors.prometheus.addresses import Address
from collectors.sources.lmcache import EMBEDDED_FAMILIES
from collectors.sources.vllm import VLLM
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, SourceKind, Target
from tierdeck.notes import Note, NoteCode
from tierdeck.readings import Reading

LONG_SECONDS = 60.0
"""Scrapes further apart lose what an engine did between its last one and a restart."""
_CACHES = (SourceKind.LMCACHE, SourceKind.LMCACHE_MP)
_EXPECTED = (Reading.PROMPT_TOKENS, Reading.L0_HITS, Reading.REQUESTS, Reading.TTFT, Reading.RUNNING)
"""Families that every vLLM since 0.8.5 exports."""
_EMBEDDED_NAMES = frozenset(name for family in EMBEDDED_FAMILIES for name in sample_names(family))


def coverage_notes(
    endpoints: Sequence[Endpoint], addresses: Mapping[Target, Address]
) -> dict[ReplicaKey, frozenset[Note]]:
    """Notes by replica; a replica without any is left out."""
    found: dict[ReplicaKey, frozenset[Note]] = {}
    for endpoint in endpoints:
        missing = _without_cache(endpoint, addresses)
        for replica in endpoint.replicas:
            notes = {note for target in replica.targets for note in _of_target(target, addresses[target])}
            if replica.key in missing:
                notes.add(missing[replica.key])
            if notes:
                found[replica.key] = frozenset(notes)
    return found


def _without_cache(endpoint: Endpoint, addresses: Mapping[Target, Address]) -> dict[ReplicaKey, Note]:
    """Replicas without LMCache series where others of the endpoint have some."""
    own = [replica for replica in endpoint.replicas if not replica.key.shared]
    if len(own) < len(endpoint.replicas) and any(
        target.kind in _CACHES for replica in endpoint.replicas if replica.key.shared for target in replica.targets
    ):
        return {}
    lacking = [replica for replica in own if not _has_cache(replica, addresses)]
    if not lacking or len(lacking) == len(own):
        return {}
    detail = f"{len(lacking)} of {len(own)} replicas of {endpoint.name} have no LMCache series in this Prometheus"
    return {replica.key: Note(NoteCode.SERIES_MISSING, detail, replica.key.replica) for replica in lacking}


def _has_cache(replica: Replica, addresses: Mapping[Target, Address]) -> bool:
    return any(target.kind in _CACHES or addresses[target].names & _EMBEDDED_NAMES for target in replica.targets)


def _of_target(target: Target, address: Address) -> list[Note]:
    notes = []
    if address.is_alike:
        detail = "series carry neither pod nor instance: several replicas may be one here, and their restarts hidden"
        notes.append(Note(NoteCode.LABELS_MISSING, detail, target.name))
    if address.interval_seconds is not None and address.interval_seconds > LONG_SECONDS:
        detail = f"scraped every {address.interval_seconds:.0f} s: what happened before a restart is lost for as long"
        notes.append(Note(NoteCode.SPARSE_SCRAPES, detail, target.name))
    if target.kind is SourceKind.VLLM:
        absent = [
            family.names[0]
            for family in VLLM.families
            if family.reading in _EXPECTED and not address.names & set(sample_names(family))
        ]
        if absent:
            detail = f"this Prometheus has no {', '.join(absent)} of this engine: a relabelling rule may drop them"
            notes.append(Note(NoteCode.SERIES_MISSING, detail, target.name))
    return notes
