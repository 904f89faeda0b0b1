"""What is added to an engine for L2: variables, a volume, a mount. Pure; the webhook and policies made of it agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tierdeck.l2.policy import L2Policy

VOLUME = "tierdeck-l2"
REMOTE_URL = "LMCACHE_REMOTE_URL"
REMOTE_SERDE = "LMCACHE_REMOTE_SERDE"
HASH_SEED = "PYTHONHASHSEED"
RANDOM = "random"
"""A seed that is none."""
_MIN_RETRIEVE = "LMCACHE_MIN_RETRIEVE_TOKENS"
_METRICS = {"LMCACHE_INTERNAL_API_SERVER_ENABLED": "True", "LMCACHE_INTERNAL_API_SERVER_HOST": "0.0.0.0"}  # noqa: S104


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable.

    Attributes:
        replaces: it is set whatever was there; else only where nothing of that name is.
    """

    name: str
    value: str
    replaces: bool


@dataclass(frozen=True, slots=True)
class Wiring:
    """An engine's."""

    policy: L2Policy
    directory: str

    @property
    def url(self) -> str:
        """LMCache's address of the directory; LMCache makes the directory when it starts."""
        return f"fs://localhost:0{self.policy.mount_path}/{self.directory}/"

    def variables(self) -> tuple[Variable, ...]:
        """In the order in which they are added."""
        found = [
            Variable(REMOTE_URL, self.url, replaces=True),
            Variable(REMOTE_SERDE, "naive", replaces=True),
            Variable(HASH_SEED, self.policy.hash_seed, replaces=False),
        ]
        if self.policy.min_retrieve_tokens is not None:
            found.append(Variable(_MIN_RETRIEVE, str(self.policy.min_retrieve_tokens), replaces=True))
        if self.policy.exports_metrics:
            found += [Variable(name, value, replaces=False) for name, value in _METRICS.items()]
        return tuple(found)

    def volume(self, name: str = VOLUME) -> Mapping[str, object]:
        """As a pod's spec has it."""
        return {"name": name, "persistentVolumeClaim": {"claimName": self.policy.claim}}

    def mount(self, name: str = VOLUME) -> Mapping[str, object]:
        """As a container has it."""
        return {"name": name, "mountPath": self.policy.mount_path}
