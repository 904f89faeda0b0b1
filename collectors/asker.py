"""Asks a replica's processes for their versions: each once, again when it may be another process, never every round."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from collectors.fetch import Fetcher
from collectors.versions import agree, ask_version
from tierdeck.fleet import Replica, Target

log = structlog.get_logger()

_TRIES = 3


class VersionAsker:
    """What is known of the processes behind one replica's targets."""

    def __init__(self, replica: Replica, fetcher: Fetcher, known: Mapping[str, str]) -> None:
        """
        Args:
            known: by target, what the process that was scraped last had told before this collector started.
        """
        self._replica = replica
        self._fetcher = fetcher
        self._known = dict(known)
        self._last = dict(known)
        self._warned: dict[str, str] = {}
        self._tries: dict[str, int] = {}  # still to make; a target that is missing was not reached by the last scrape

    def missed(self, target: Target) -> str:
        """The target was not reached; what its process told last."""
        self._tries.pop(target.name, None)
        return self._known.get(target.name, "")

    async def reached(self, target: Target, within_seconds: float, *, continues: bool) -> str:
        """The target was reached; what its process tells, empty where unknown.

        Args:
            within_seconds: how long an answer may take.
            continues: it is the process that was reached last, as far as can be seen.
        """
        name = target.name
        if not target.component:
            return ""
        if not continues:
            self._known.pop(name, None)
        if not continues or name not in self._tries:
            self._tries[name] = _TRIES
        if self._tries[name]:
            self._tries[name] -= 1
            told = await ask_version(self._fetcher, target, within_seconds)
            if told:
                self._tries[name] = 0
                self._known[name] = told
                self._report(target, told)
        return self._known.get(name, "")

    def _report(self, target: Target, told: str) -> None:
        """Log that the version is another than before, and once that the configuration states another."""
        name, stated = target.name, self._replica.version(target.component)
        where = {"endpoint": target.key.endpoint, "replica": target.key.replica, "target": name}
        before, self._last[name] = self._last.get(name, ""), told
        if before and told != before:
            log.info("version_changed", before=before, now=told, **where)
        if stated and not agree(stated, told) and self._warned.get(name) != told:
            self._warned[name] = told
            log.warning("version_differs", stated=stated, told=told, **where)
