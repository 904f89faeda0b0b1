"""What probes leave behind in the engines' counters: tokens and minutes that are no client's.

Engines count a probe's requests like any other. In a window the share is told by a note; a minute in which a probe ran
teaches alerting nothing, and is not judged by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tierdeck.changes.proof import Proof
from tierdeck.notes import Note, NoteCode

MINUTE = 60.0
Owner = tuple[str, str]
"""Cluster and endpoint."""


def probe_notes(proofs: Iterable[tuple[str, str, Proof]]) -> Mapping[Owner, tuple[Note, ...]]:
    """By endpoint, how many prompt tokens of a window were probes'."""
    found: dict[Owner, list[Proof]] = {}
    for cluster, endpoint, proof in proofs:
        if proof.requests:
            found.setdefault((cluster, endpoint), []).append(proof)
    return {owner: (_note(own),) for owner, own in found.items()}


def probed_spans(proofs: Iterable[tuple[str, str, Proof]]) -> Mapping[Owner, list[tuple[float, float]]]:
    """By endpoint, from when to when probes ran, in epoch seconds."""
    found: dict[Owner, list[tuple[float, float]]] = {}
    for cluster, endpoint, proof in proofs:
        if proof.requests:
            found.setdefault((cluster, endpoint), []).append((proof.at, proof.at + proof.seconds))
    return found


def is_probed(spans: Iterable[tuple[float, float]], start_at: float, seconds: float = MINUTE) -> bool:
    """A probe ran within [start_at, start_at + seconds)."""
    return any(begin < start_at + seconds and start_at <= end for begin, end in spans)


def _note(proofs: list[Proof]) -> Note:
    tokens = sum(count for proof in proofs for _, count in proof.tokens)
    detail = f"requests of Tierdeck's own brought {tokens:,} of the prompt tokens, for proving the routing strategy"
    evidence = f"{sum(proof.requests for proof in proofs)} requests in {len(proofs)} probes"
    return Note(NoteCode.PROBED, detail, evidence)
