"""What a write may touch, whoever planned it: what is stored could have been forged, and a pod runs what it is told.

An edit is taken apart to single fields. Each has to be one that planners write: a known flag of a command line, a known
variable, memory, a routing field, a key of a router's dynamic configuration, or an annotation of ours; with a value
that is a plain word or number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Surface, Write
from tierdeck.errors import UsageError
from tierdeck.yaml_text import parse_yaml

FLAGS = frozenset(
    {
        "--gpu-memory-utilization",
        "--kv-cache-memory-bytes",
        "--num-gpu-blocks-override",
        "--kv-offloading-size",
        "--l1-size-gb",
        "--cpu-buffer-size",
        "--routing-logic",
        "--routing-strategy",
        "--policy",
        "--session-key",
        "--lmcache-controller-port",
    }
)
"""Of vLLM, LMCache's server, production-stack's router and vllm-router."""
VARIABLES = frozenset(
    {
        "LMCACHE_LOCAL_CPU",
        "LMCACHE_MAX_LOCAL_CPU_SIZE",
        "LMCACHE_LOCAL_DISK",
        "LMCACHE_MAX_LOCAL_DISK_SIZE",
        "LMCACHE_ENABLE_CONTROLLER",
        "LMCACHE_CONTROLLER_PULL_URL",
        "LMCACHE_CONTROLLER_REPLY_URL",
        "ROUTING_LOGIC",
        "ROUTING_STRATEGY",
        "SESSION_KEY",
        "PYTHONHASHSEED",
        "VLLM_CPU_KVCACHE_SPACE",
        "VLLM_GPU_MEMORY_UTILIZATION",
    }
)
FIELDS = frozenset(
    {
        "routingStrategy",
        "routingLogic",
        "sessionKey",
        "enableL1Cache",
        "gpuMemoryUtilization",
        "cpuOffloadingBufferSize",
        "diskOffloadingBufferSize",
        "memory",
        "sizeLimit",
        "l1SizeGB",
        "sizeGB",
        "limit_gb",
        "replicas",
    }
)
"""Of custom resources, pods, and LMCache's quotas."""
_ROUTER_KEYS = frozenset({"routing_logic", "session_key", "policy"})
_CAPACITY = "max_capacity_gb"
_WORDS = ("args", "command", "extraArgs")
_ENVIRONMENTS = ("env", "environmentVariables")
_OURS = "tierdeck.io/"
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=-]*")
_ADDRESS = re.compile(
    r"/(?:api|apis/[a-z0-9.-]+)/(?P<version>[a-z0-9]+)/namespaces/(?P<ns>[a-z0-9-]+)/(?P<what>[a-z0-9]+)/"
    r"(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)"
)
"""Names as Kubernetes has them: nothing in one is a query, or leads to another path or to a subresource."""
_QUOTA = re.compile(r"http://[A-Za-z0-9.\[\]:-]+/quota/[A-Za-z0-9_.~%-]+")


@dataclass(frozen=True, slots=True)
class Touched:
    """One field, or one flag or variable, that a write sets.

    Attributes:
        name: of the field, flag or variable.
        value: what it becomes; ABSENT: it goes.
    """

    name: str
    value: Json


def touched(write: Write) -> Sequence[Touched] | str:
    """All that a write sets; or why it is none of what planners write, one sentence."""
    found: list[Touched] = []
    for edit in write.edits:
        for leaf in _leaves(edit):
            part = _touched(leaf)
            if part is None:
                return f"{write.ref}: no change of Tierdeck's writes {leaf.where} so."
            found += part
    return found


def misled(write: Write) -> str:
    """Why a write does not go where it says that it goes; empty: it does."""
    if write.surface is Surface.LMCACHE_QUOTA:
        is_quota = _QUOTA.fullmatch(write.address) and write.ref.kind == "LMCacheQuota" and not write.api_version
        return "" if is_quota else f"{write.address} is no quota of LMCache's coordinator."
    if write.surface is not Surface.KUBERNETES:
        return ""
    ref, match = write.ref, _ADDRESS.fullmatch(write.address)
    expected = (ref.namespace, f"{ref.kind.lower()}s", ref.name)
    if match is None or (match["ns"], match["what"], match["name"]) != expected:
        return f"{write.address} is not the address of {ref}."
    group = write.address.removeprefix("/apis/").removeprefix("/api/").split("/namespaces/")[0]
    return "" if group == write.api_version else f"{write.address} is not of {write.api_version}."


def _leaves(edit: FieldEdit) -> Iterator[FieldEdit]:
    """Of maps, their fields; of lists of named things, theirs."""
    before, after = _fields(edit.before, edit.path), _fields(edit.after, edit.path)
    if before is None or after is None or (edit.before is ABSENT and edit.after is ABSENT):
        yield edit
        return
    for name in dict.fromkeys([*before, *after]):
        was, becomes = before.get(name, ABSENT), after.get(name, ABSENT)
        if was != becomes or type(was) is not type(becomes):
            yield from _leaves(FieldEdit((*edit.path, name), was, becomes))


def _fields(value: Json, path: tuple[str, ...]) -> Mapping[str, Json] | None:
    """None: it is a value of its own, or names are given twice."""
    if value is ABSENT:
        return {}
    if path and path[-1].startswith("[name=") and isinstance(value, dict):
        return {key: one for key, one in value.items() if key != "name"}
    if isinstance(value, dict):
        return {str(key): one for key, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, dict) and "name" in one for one in value):
        named = {f"[name={one['name']}]": one for one in value}
        return named if len(named) == len(value) else None
    return None


def _touched(leaf: FieldEdit) -> list[Touched] | None:
    """None: no planner writes this."""
    name, path = leaf.path[-1] if leaf.path else "", leaf.path
    if name in _WORDS:
        return _flags(leaf.before, leaf.after)
    if any(part in _ENVIRONMENTS for part in path):
        return _variable(leaf)
    if len(path) == 2 and path[0] == "data":
        return _router_file(leaf)
    if len(path) >= 2 and path[-2].lower().endswith("annotations") and name.startswith(_OURS):
        return [Touched(name, leaf.after)] if _is_plain(leaf.after) else None
    is_known = name in FIELDS and "containers" not in path[-2:]
    return [Touched(name, leaf.after)] if is_known and _is_plain(leaf.after) else None


def _variable(leaf: FieldEdit) -> list[Touched] | None:
    at = max(leaf.path.index(part) for part in _ENVIRONMENTS if part in leaf.path)
    inner = leaf.path[at + 1 :]
    variable = inner[0].removeprefix("[name=").removesuffix("]") if inner else ""
    is_value = len(inner) == 2 and inner[1] == "value"
    is_gone = leaf.after is ABSENT and len(inner) <= 2
    if variable not in VARIABLES or not (is_value or is_gone) or not _is_plain(leaf.after):
        return None
    return [Touched(variable, leaf.after)]


def _flags(before: Json, after: Json) -> list[Touched] | None:
    """The flags that differ, where nothing else does; of a command line in a script too."""
    if not isinstance(after, list) and after is not ABSENT:
        return None
    adapter, before, after = _capacity(before, after)
    was, becomes = _words(before), _words(after)
    rest, set_ = _taken_out(becomes)
    known = _taken_out(was)
    if rest != known[0] or not all(_is_plain(one.value) for one in set_):
        return None
    return [*adapter, *(one for one in set_ if one not in known[1])]


def _capacity(before: Json, after: Json) -> tuple[list[Touched], Json, Json]:
    """Of an LMCache server with one L2 adapter, whose capacity alone differs; both lists as they are otherwise."""
    if not (isinstance(before, list) and isinstance(after, list) and len(before) == len(after)):
        return [], before, after
    differing = [at for at, word in enumerate(after) if word != before[at]]
    if len(differing) != 1:
        return [], before, after
    at = differing[0]
    pair = [_adapter(listed, at) for listed in (before, after)]
    if pair[0] is None or pair[1] is None or not isinstance(pair[1].get(_CAPACITY), int | float):
        return [], before, after
    if {**pair[0], _CAPACITY: 0} != {**pair[1], _CAPACITY: 0}:
        return [], before, after
    return [Touched(_CAPACITY, pair[1][_CAPACITY])], after, after


def _adapter(words: Sequence[object], at: int) -> dict[str, Any] | None:
    """What follows `--l2-adapter` there; None: it is none."""
    word = str(words[at])
    if word.startswith("--l2-adapter="):
        return _document(word.partition("=")[2])
    return _document(word) if at and words[at - 1] == "--l2-adapter" else None


def _words(value: Json) -> list[str]:
    listed = value if isinstance(value, list) else []
    return [word for one in listed for word in (str(one).split() or [""])]


def _taken_out(words: Sequence[str]) -> tuple[list[str], list[Touched]]:
    """The words without the flags that planners set, and these."""
    rest: list[str] = []
    found: list[Touched] = []
    skips = False
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        flag, equals, value = word.partition("=")
        if skips:
            skips = False
        elif flag.replace("_", "-") in FLAGS:
            skips = not equals and not after.startswith("--")
            found.append(Touched(flag.replace("_", "-"), value if equals else after if skips else ""))
        else:
            rest.append(word)
    return rest, found


def _router_file(leaf: FieldEdit) -> list[Touched] | None:
    """A router's dynamic configuration, JSON or YAML, of which some keys differ."""
    before, after = _document(leaf.before), _document(leaf.after)
    if before is None or after is None:
        return None
    differing = [key for key in {**before, **after} if before.get(key, ABSENT) != after.get(key, ABSENT)]
    values = [Touched(key, after.get(key, ABSENT)) for key in differing]
    is_known = all(key in _ROUTER_KEYS for key in differing) and all(_is_plain(one.value) for one in values)
    return values if is_known else None


def _document(value: Json) -> dict[str, Any] | None:
    if not isinstance(value, str):
        return None
    try:
        found = json.loads(value)
    except ValueError:
        try:
            found = parse_yaml(value, "data")
        except UsageError:
            return None
    return found if isinstance(found, dict) else None


def _is_plain(value: Json) -> bool:
    """A number, a switch, or a word that no shell takes apart."""
    if isinstance(value, str) and value is not ABSENT:
        return _PLAIN.fullmatch(value) is not None
    return value is ABSENT or value is None or isinstance(value, bool | int | float)
