"""Versions of an endpoint's components in words: one line where its replicas agree, a column where they don't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierdeck.fleet import Replica

_NAMES = {"vllm": "vLLM", "lmcache": "LMCache", "router": "router"}
_UNKNOWN = "unknown"


def version_words(replicas: Sequence[Replica]) -> str:
    """`vLLM 0.32.0, LMCache 0.5.6`; where replicas differ, all versions of the component; empty without any.

    Where no process tells one, as through a Prometheus, it says just that.
    """
    found = _found(replicas)
    return "versions not told" if found and set().union(*found.values()) == {_UNKNOWN} else _words(found)


def version_column(replicas: Sequence[Replica]) -> dict[str, str]:
    """By replica what it runs, where not all run the same; empty where they do."""
    told = {replica.key.replica: _words(_found([replica])) for replica in replicas if not replica.key.shared}
    return told if len(set(told.values())) > 1 else {}


def _found(replicas: Sequence[Replica]) -> dict[str, set[str]]:
    """Versions by component, in the order in which they are told."""
    found: dict[str, set[str]] = {}
    for replica in replicas:
        for component in {target.component for target in replica.targets} - {""} | dict(replica.versions).keys():
            found.setdefault(component, set()).add(replica.version(component) or _UNKNOWN)
    return {name: found[name] for name in (*_NAMES, *sorted(found.keys() - _NAMES.keys())) if name in found}


def _words(found: Mapping[str, set[str]]) -> str:
    return ", ".join(f"{_NAMES.get(name, name)} {' and '.join(sorted(versions))}" for name, versions in found.items())
