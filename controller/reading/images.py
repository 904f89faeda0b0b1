"""Container images: which component they are, and its version where the tag tells one."""

from __future__ import annotations

import re
from functools import lru_cache

_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev)\d+)?)(?:[-+_].*)?")
_ROUTERS = ("lmstack-router", "vllm-router", "production-stack/router")


@lru_cache(maxsize=4096)
def split_image(image: str) -> tuple[str, str]:
    """Repository without registry, and tag; `vllm/vllm-openai`, `v0.32.0`."""
    repository, _, _ = image.partition("@")
    head, slash, tail = repository.rpartition("/")
    name, _, tag = tail.partition(":")
    path = head + slash + name
    first, slash, rest = path.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        path = rest
    return path, tag


def tag_version(image: str) -> str:
    """Empty unless the tag looks like a version."""
    found = _VERSION.fullmatch(split_image(image)[1])
    return found[1] if found else ""


def is_engine_image(image: str) -> bool:
    """vLLM's own image, or one that is named like it (`lmcache/vllm-openai`, AWS's `vllm`)."""
    path = split_image(image)[0]
    return path.rpartition("/")[2].startswith("vllm") and not is_router_image(image)


@lru_cache(maxsize=4096)
def is_router_image(image: str) -> bool:
    """Source: production-stack helm values (`lmcache/lmstack-router`), its registry, vllm-router's."""
    return any(name in split_image(image)[0] for name in _ROUTERS)


def is_curvine_image(image: str) -> bool:
    return "curvine" in split_image(image)[0].rpartition("/")[2]


def versions_of(image: str) -> dict[str, str]:
    """By component, as `Replica.versions` calls it; LMCache's images of vLLM carry LMCache's version.

    Source: Docker Hub, lmcache/vllm-openai: its tags are releases of LMCache.
    """
    version, path = tag_version(image), split_image(image)[0]
    if not version:
        return {}
    if is_router_image(image):
        return {"router": version}
    if path.startswith("lmcache/") or "/lmcache/" in path:
        return {"lmcache": version}
    return {"vllm": version} if is_engine_image(image) else {}
