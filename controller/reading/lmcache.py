"""LMCache's settings in a process: of its file where one is named, else of `LMCACHE_*`.

Source: LMCache documentation, "Configuring LMCache": with a configuration file the environment is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import yaml

from controller.reading.commands import Command
from controller.reading.processes import Process
from tierdeck.deployed import Stated

FILE = "LMCACHE_CONFIG_FILE"
EMBEDDED = "LMCacheConnector"
MULTI_PROCESS = "LMCacheMPConnector"
DEFAULT_CPU_GIB = "5"
"""Source: LMCache 0.5.6, config.py: max_local_cpu_size 5.0."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one process tells LMCache."""

    process: Process

    def get(self, key: str) -> Stated | None:
        """A setting by its name in LMCache (`max_local_cpu_size`); None where it is not set."""
        name = f"LMCACHE_{key.upper()}"
        file = self.process.environment.get(FILE)
        if file is None:
            return self.process.environment.get(name)
        if file.reason:
            return Stated.unknown(f"{FILE} overrides it, and {file.reason}", file.where)
        content = self.process.file(file.value)
        if isinstance(content, tuple):
            return Stated.unknown(f"{FILE} overrides it, and {content[0]}", file.where)
        document = _document(content)
        if document is None:
            return Stated.unknown(f"{file.value} can't be read as YAML", file.where)
        value = document.get(key)
        return None if value in (None, "") else Stated(str(value), f"{file.where}, {key}")

    def value(self, key: str) -> str:
        found = self.get(key)
        return found.value if found else ""

    @property
    def is_there(self) -> bool:
        """Any of its variables is set."""
        return any(name.startswith("LMCACHE_") for name in self.process.environment.variables)


def _document(content: str) -> dict[str, object] | None:
    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def connectors(process: Process) -> list[str]:
    """KV connectors that the engine is told to use, those inside a MultiConnector too."""
    return list(_connectors(process.command.words))


@lru_cache(maxsize=4096)
def _connectors(words: tuple[str, ...]) -> tuple[str, ...]:
    """The pods of a workload all start the same."""
    document = Command(words).document("--kv-transfer-config")
    extra = document.get("kv_connector_extra_config")
    inner = extra.get("connectors") if isinstance(extra, dict) else None
    parts = [document, *(one for one in inner if isinstance(one, dict))] if isinstance(inner, list) else [document]
    return tuple(name for one in parts if isinstance(name := one.get("kv_connector"), str))


def uses_server(process: Process) -> bool:
    return MULTI_PROCESS in connectors(process)


def is_off(stated: Stated | None) -> bool:
    """It is set, and to nothing that means true."""
    return stated is not None and bool(stated.value) and stated.value.lower() not in ("true", "1", "yes", "on")


def is_on(stated: Stated | None) -> bool:
    return stated is not None and bool(stated.value) and not is_off(stated)
