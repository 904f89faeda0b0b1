"""Whether engines that share a cache name the same prompt alike: else no pod finds what another one stored.

Source: LMCache 0.5, `pre_caching_hash_algorithm` is Python's own hash by default, whose seed is drawn per process
unless PYTHONHASHSEED states one (LMCache#1139, vllm#42625).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.check import Check, Finding
from controller.objects import Raw
from controller.reading.fields import items, text

_SEED, _REMOTE, _ALGORITHM = "PYTHONHASHSEED", "LMCACHE_REMOTE_URL", "LMCACHE_PRE_CACHING_HASH_ALGORITHM"
_UNSEEDED = ("", "builtin")


def find_hash_seeds(ahead: Ahead) -> Iterator[Finding]:
    """Of engines that restart and read from a cache that several share."""
    seeds: dict[str, str] = {}
    for one in ahead.engines:
        own = _variables(one)
        if _REMOTE not in own or own.get(_ALGORITHM, "") not in _UNSEEDED:
            continue
        seed = own.get(_SEED)
        if seed is None or seed.lower() == "random":
            stated = "states no PYTHONHASHSEED" if seed is None else "states PYTHONHASHSEED random"
            yield (f"{one.ref} shares a cache ({_REMOTE}) and {stated}: each pod names the same prompt otherwise, so "
                   "that none finds what another one stored.")  # fmt: skip
        else:
            seeds[str(one.ref)] = seed
    if len(set(seeds.values())) > 1:
        listed = ", ".join(f"{ref}: {seed}" for ref, seed in sorted(seeds.items()))
        yield f"Engines that share a cache state different PYTHONHASHSEED ({listed}): none finds what another stored."


def _variables(one: Restart) -> dict[str, str]:
    """As the container will have them; what a running pod got at its admission (an injected L2) counts too."""
    if one.process is None:
        return {}
    found: dict[str, str] = {}
    for _, pod in one.pods:
        found |= {name: value for name, value in _of(pod, one.process.name).items() if name == _REMOTE}
    container = one.container(one.process)
    return found | {text(it, "name"): text(it, "value") for it in items(container, "env")}


def _of(pod: Raw, container: str) -> dict[str, str]:
    both = (*items(pod, "spec", "containers"), *items(pod, "spec", "initContainers"))
    own = next((one for one in both if text(one, "name") == container), {})
    return {text(it, "name"): text(it, "value") for it in items(own, "env")}


HASH_SEED = Check("hash seed", (), find_hash_seeds)
