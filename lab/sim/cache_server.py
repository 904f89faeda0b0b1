"""How a replica's LMCache process is doing."""

from __future__ import annotations

from enum import StrEnum


class CacheServer(StrEnum):
    """How the LMCache process is doing."""

    OK = "ok"
    FROZEN = "frozen"
    GONE = "gone"
    NEVER_STARTED = "never-started"
