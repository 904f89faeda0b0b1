"""A minute in which a probe ran is no evidence of what clients get: its hits are left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tierdeck.alerts.minute import Minute, Scene
from tierdeck.changes.probed import is_probed, probed_spans
from tierdeck.changes.proof import Proof


def without_probes(scene: Scene, proofs: Iterable[tuple[str, str, Proof]]) -> Scene:
    """The scene with hits unknown where a probe ran: they are neither judged nor learned from.

    Args:
        proofs: (cluster, endpoint, proof) of those that may reach into the minute.
    """
    spans = probed_spans(proofs)
    if not spans:
        return scene
    minutes = {
        subject: _without_hits(minute)
        if is_probed(spans.get((subject.cluster, subject.endpoint), ()), scene.at)
        else minute
        for subject, minute in scene.minutes.items()
    }
    return replace(scene, minutes=minutes)


def _without_hits(minute: Minute) -> Minute:
    return replace(minute, hit_tokens=None, l0=None, l1=None, l2=None)
