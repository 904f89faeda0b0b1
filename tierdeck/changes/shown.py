"""What of an object may be stored and shown: values of variables only by an allow list, and nothing that is secret.

Flags, variables and keys whose name says that they are secret, and what stands before the `@` of an address, are
replaced everywhere; so is every value of an environment variable that is not on the list.
"""

from __future__ import annotations

import itertools
import re

HIDDEN = "(not shown)"
ENVIRONMENT = frozenset(
    {
        "LMCACHE_CHUNK_SIZE",
        "LMCACHE_CONFIG_FILE",
        "LMCACHE_CONTROLLER_PULL_URL",
        "LMCACHE_CONTROLLER_REPLY_URL",
        "LMCACHE_ENABLE_CONTROLLER",
        "LMCACHE_INSTANCE_ID",
        "LMCACHE_LMCACHE_INSTANCE_ID",
        "LMCACHE_LMCACHE_WORKER_PORT",
        "LMCACHE_LOCAL_CPU",
        "LMCACHE_LOCAL_DISK",
        "LMCACHE_MAX_LOCAL_CPU_SIZE",
        "LMCACHE_MAX_LOCAL_DISK_SIZE",
        "LMCACHE_MIN_RETRIEVE_TOKENS",
        "LMCACHE_REMOTE_SERDE",
        "LMCACHE_REMOTE_URL",
        "LMCACHE_USE_EXPERIMENTAL",
        "PYTHONHASHSEED",
        "ROUTING_LOGIC",
        "ROUTING_STRATEGY",
        "SESSION_KEY",
        "VLLM_CPU_KVCACHE_SPACE",
        "VLLM_USE_V1",
    }
)
"""Variables whose value is a size, a switch, a seed, or an address."""

_USER = re.compile(r"(//)[^/@\s\"']+@")
_FLAG = re.compile(r"(--(?:[a-z0-9]+[-_])*(?:key|token|password|secret|credentials?)(?=[=\s]))([=\s]\s*)(\S+)", re.I)
_ASSIGNED = re.compile(r"\b((?:[A-Za-z0-9]+_)*(?:KEY|TOKEN|PASSWORD|SECRET|CREDENTIALS?))(=)(\S+)", re.I)
_KEYED = re.compile(
    r"([\"']?\b(?:[A-Za-z0-9]+[-_])*(?:key|token|password|secret|credentials?)\b[\"']?)(\s*:\s*)(\S[^,}\n]*)", re.I
)
_SECRET_FLAG = re.compile(r"--(?:[a-z0-9]+[-_])*(?:key|token|password|secret|credentials?)", re.I)
_SECRET_NAME = re.compile(
    r"(?i:(?:[a-z0-9]+[-_])*(?:token|password|secret|credentials?)|(?:[a-z0-9]+[-_])+key)"
    r"|(?:[a-z0-9]+[A-Za-z0-9]*)?(?:Token|Password|Secret|ApiKey|AccessKey|PrivateKey)|apiKey|accessKey|privateKey"
)
"""Of a field that holds a word; a plain `key` is a label's or a reference's."""
_LEAST = 4
"""Of fewer characters, a value is in any sentence."""
_OPEN = frozenset({"session_key"})
"""Names that sound secret and are not."""


def is_shown(name: str, value: str) -> bool:
    """A variable's value may be stored and shown."""
    return name in ENVIRONMENT and _USER.search(value) is None


def shown(value: object) -> object:
    """A copy of an object or a part of it, as JSON has it, that may be stored and shown."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return _words(value)
    if not isinstance(value, dict):
        return value
    name, stated = value.get("name"), value.get("value")
    if isinstance(name, str) and isinstance(stated, str):
        kept = {key: shown(one) for key, one in value.items()}
        return kept | {"value": stated if is_shown(name, stated) else HIDDEN}
    return {key: HIDDEN if _is_secret(key, one) else shown(one) for key, one in value.items()}


def is_secret_flag(word: str) -> bool:
    """A flag whose value is secret by its name; without the value."""
    return _SECRET_FLAG.fullmatch(word) is not None and not _is_open(word)


def hidden_values(value: object) -> frozenset[str]:
    """Values of variables and flags that may not be shown, so that they can be taken out of somebody else's words."""
    if isinstance(value, list):
        return frozenset().union(_after_flags(value), *map(hidden_values, value))
    if not isinstance(value, dict):
        return frozenset()
    name, stated = value.get("name"), value.get("value")
    if isinstance(name, str) and isinstance(stated, str) and len(stated) >= _LEAST and not is_shown(name, stated):
        return frozenset({stated})
    return frozenset().union(*map(hidden_values, value.values()))


def _words(found: list[object]) -> list[object]:
    """A list; of arguments, what follows a flag that is secret is one too."""
    made: list[object] = []
    before = ""
    for one in found:
        is_secret = isinstance(one, str) and is_secret_flag(before) and not one.startswith("--")
        made.append(HIDDEN if is_secret else shown(one))
        before = one if isinstance(one, str) else ""
    return made


def _after_flags(found: list[object]) -> frozenset[str]:
    """Values of secret flags among arguments, apart or not."""
    words = [one for one in found if isinstance(one, str)]
    apart = [word for before, word in itertools.pairwise(words) if is_secret_flag(before)]
    joined = [value for name, _, value in (word.partition("=") for word in words) if is_secret_flag(name)]
    return frozenset(one for one in (*apart, *joined) if len(one) >= _LEAST and not one.startswith("--"))


def _is_secret(name: object, value: object) -> bool:
    is_named = isinstance(name, str) and _SECRET_NAME.fullmatch(name) is not None and not _is_open(name)
    return is_named and isinstance(value, str) and bool(value)


def _text(value: str) -> str:
    made = _USER.sub(rf"\1{HIDDEN}@", value)
    for pattern in (_FLAG, _ASSIGNED, _KEYED):
        made = pattern.sub(_hidden, made)
    return made


def _hidden(match: re.Match[str]) -> str:
    return match[0] if _is_open(match[1]) else f"{match[1]}{match[2]}{HIDDEN}"


def _is_open(name: str) -> bool:
    return name.strip("\"'").lstrip("-").replace("-", "_").lower() in _OPEN
