"""Whether rules are judged now: by which process, for which cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from console.words import BEAT_LATE_SECONDS, age_words

PROCESS = "alerting"
NOT_RUNNING = "the alerting process is not running"
_START = "`tierdeck up` starts it; alone it is `python -m alerting`."


@dataclass(frozen=True, slots=True)
class Judging:
    """By cluster, why nothing is judged of it, in sentences; "": its rules are judged."""

    troubles: Mapping[str, str]

    @property
    def trouble(self) -> str:
        """Of all of them; "": everything is judged."""
        told = set(self.troubles.values())
        if len(told) <= 1:
            return next(iter(told), "")
        return " ".join(f"Cluster {cluster}: {words}" for cluster, words in sorted(self.troubles.items()) if words)

    @property
    def unjudged(self) -> frozenset[str]:
        """Clusters of which nothing is."""
        return frozenset(cluster for cluster, words in self.troubles.items() if words)

    @property
    def is_nowhere(self) -> bool:
        return all(self.troubles.values())


def judging(
    processes: pd.DataFrame, judges: Mapping[str, tuple[str, float]], clusters: Collection[str], now: float
) -> Judging:
    """From what the store told.

    Args:
        processes: as `Store.processes`.
        judges: as `Store.judges`.
        clusters: of the inventory; of none it is asked whether anybody judges anything.
    """
    own = processes[processes["name"] == PROCESS]
    if not clusters:
        return Judging({"": _trouble(own, now)})
    return Judging({cluster: _of(own, judges, cluster, now) for cluster in clusters})


def _of(own: pd.DataFrame, judges: Mapping[str, tuple[str, float]], cluster: str, now: float) -> str:
    holder, until_at = judges.get(cluster, ("", 0.0))
    found = own[own["instance"] == holder]
    if found.empty:
        # one that ended as it was told to holds no lease any more: it may be anybody's, unless it lives
        return _trouble(own[~_alive(own, now)], now)
    trouble = _trouble(found, now)
    silent = now - until_at
    if not trouble and silent > BEAT_LATE_SECONDS:
        return f"The alerting process lives and judges nothing: it should have gone on {age_words(silent)} ago."
    return trouble


def _alive(own: pd.DataFrame, now: float) -> pd.Series:
    return own["stopped_at"].isna() & (now - _epoch(own["beat_at"]) <= BEAT_LATE_SECONDS)


def _trouble(own: pd.DataFrame, now: float) -> str:
    alive = own[_alive(own, now)]
    if len(alive):
        trouble = str(alive["trouble"].iloc[0])
        return f"The alerting process is in trouble: {trouble}" if trouble else ""
    if own.empty:
        return f"Nothing is judged, and nobody is told of anything: {NOT_RUNNING}. {_START}"
    silent = age_words(max(0.0, now - float(_epoch(own["beat_at"]).max())))
    return f"Nothing is judged: {NOT_RUNNING} any more, its last heartbeat was {silent} ago. {_START}"


def _epoch(at: pd.Series) -> pd.Series:
    return (at - pd.Timestamp(0, tz="UTC")).dt.total_seconds() if len(at) else pd.Series(dtype="float64")
