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
_TRANSFER = "--kv-transfer-config"
_TRANSFER_VARIABLE = "SM_VLLM_KV_TRANSFER_CONFIG"
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
    return [name for one in _transfers(process) if isinstance(name := one.get("kv_connector"), str)]


def connector_settings(process: Process) -> dict[str, object]:
    """`lmcache.*` of its connectors, by name: LMCache takes them in place of its variables.

    Source: LMCache 0.5.6, integration/vllm/vllm_v1_adapter.py: each such key of kv_connector_extra_config is set over
    what file and environment say.
    """
    found: dict[str, object] = {}
    for one in _transfers(process):
        extra = one.get("kv_connector_extra_config")
        if isinstance(extra, dict):
            nested = extra.get("lmcache")
            inner = nested.items() if isinstance(nested, dict) else ()
            found |= {f"lmcache.{key}": value for key, value in inner}
            found |= {key: value for key, value in extra.items() if key.startswith("lmcache.")}
    return found


def _transfers(process: Process) -> tuple[dict[str, object], ...]:
    return _transfers_of(process.command.words, process.environment.value(_TRANSFER_VARIABLE))


@lru_cache(maxsize=4096)
def _transfers_of(words: tuple[str, ...], stated: str) -> tuple[dict[str, object], ...]:
    """The pods of a workload all start the same."""
    documents = (Command(words).document(_TRANSFER), Command((f"{_TRANSFER}={stated}",)).document(_TRANSFER))
    found: list[dict[str, object]] = []
    for document in documents:
        found.append(document)
        extra = document.get("kv_connector_extra_config")
        inner = extra.get("connectors") if isinstance(extra, dict) else None
        found += [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
    return tuple(found)


def uses_server(process: Process) -> bool:
    return MULTI_PROCESS in connectors(process)


def is_off(stated: Stated | None) -> bool:
    """It is set, and to nothing that means true."""
    return stated is not None and bool(stated.value) and stated.value.lower() not in ("true", "1", "yes", "on")


def is_on(stated: Stated | None) -> bool:
    return stated is not None and bool(stated.value) and not is_off(stated)
