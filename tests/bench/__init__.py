"""Benchmarks: each module here that defines `run() -> list[Measure]` is run by `make bench`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured value with its peer beside it.

    Attributes:
        ratio: value / peer_value; None without a peer.
        limit: what must hold, in words, of the ratio or (without a peer) of the value.
        ok: whether it holds.
    """

    name: str
    value: float
    unit: str
    peer_name: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    limit: str = ""
    ok: bool = True


def measure(
    name: str,
    value: float,
    unit: str,
    *,
    peer: tuple[str, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Measure:
    """A value judged by its limits.

    Args:
        peer: (name, value in the same unit), measured in the same run.
        at_least: bound on value / peer's value, or on the value itself where there is no peer.
        at_most: likewise.
    """
    peer_name, peer_value = peer if peer is not None else ("", None)
    ratio = value / peer_value if peer_value else None
    judged, unit_of_limit = (value, f" {unit}") if peer is None else (ratio, " × peer")
    bounds = [
        f"{sign} {bound:g}{unit_of_limit}" for sign, bound in (("≥", at_least), ("≤", at_most)) if bound is not None
    ]
    ok = judged is not None and (at_least is None or judged >= at_least) and (at_most is None or judged <= at_most)
    return Measure(name, value, unit, peer_name, peer_value, ratio, ", ".join(bounds), ok or not bounds)
