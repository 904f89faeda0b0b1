"""Saves every target's exposition as a snapshot directory: a support bundle that `explain` reads."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from collectors.fetch import Fetcher
from collectors.versions import ask_version
from tierdeck.errors import TierdeckError, UnreachableError, UsageError
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, Target
from tierdeck.settings import Settings

MOMENTS = 2


async def save_bundle(
    folder: Path,
    endpoints: Sequence[Endpoint],
    pools: Sequence[Replica],
    settings: Settings,
    every_seconds: float,
    tell: Callable[[str], None],
) -> list[Path]:
    """Scrape all targets twice, `every_seconds` apart; one folder an endpoint where there are several.

    The versions in `fleet.json` are those that the processes tell at the end, else those of `endpoints`.

    Returns:
        The snapshot directories.

    Raises:
        UsageError: the folder exists and is not empty.
        UnreachableError: no target answered.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists and is not empty", "Name a new folder.")
    homes = _homes(folder, endpoints)
    started, answered = time.time(), 0
    for number in range(MOMENTS):
        if number:
            await asyncio.sleep(max(0.0, started + every_seconds - time.time()))
        seconds = round(time.time() - started)
        tell(f"scraping moment {number + 1} of {MOMENTS} at {seconds} s")
        async with Fetcher(settings) as fetcher:
            jobs = [
                _save(fetcher, target, home / replica.key.replica / str(seconds))
                for endpoint, home in zip(endpoints, homes, strict=True)
                for replica in endpoint.replicas
                for target in replica.targets
            ]
            jobs += [
                _save(fetcher, target, home / "_fleet" / str(seconds), f"pool-{number}")
                for home in homes
                for number, pool in enumerate(pools)
                for target in pool.targets
            ]
            answered += sum(await asyncio.gather(*jobs))
    if not answered:
        raise UnreachableError("no target answered", "`tierdeck targets` shows why.")
    async with Fetcher(settings) as fetcher:
        told = await _versions(fetcher, endpoints)
    for endpoint, home in zip(endpoints, homes, strict=True):
        home.mkdir(parents=True, exist_ok=True)
        (home / "fleet.json").write_text(json.dumps(_facts(endpoint, started, told), indent=2) + "\n", "utf-8")
    return homes


def _homes(folder: Path, endpoints: Sequence[Endpoint]) -> list[Path]:
    """A folder of its own for each of several endpoints, one deep: `inference/chat` has `inference_chat`."""
    if len(endpoints) == 1:
        return [folder]
    names: list[str] = []
    for endpoint in endpoints:
        name = endpoint.name.replace("/", "_")
        name = f"{endpoint.cluster}_{name}".replace("/", "_") if name in names else name
        names.append(name if name not in names else f"{name}_{len(names)}")
    return [folder / name for name in names]


async def _save(fetcher: Fetcher, target: Target, folder: Path, suffix: str = "") -> bool:
    fetched = await fetcher.fetch(target.url)
    if not fetched.answered:
        return False
    name = f"{target.name}.{suffix}" if suffix else target.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(fetched.text, "utf-8")
    except OSError as error:
        raise TierdeckError(f"can't write {folder}: {error.strerror}") from error
    return True


async def _versions(fetcher: Fetcher, endpoints: Sequence[Endpoint]) -> dict[ReplicaKey, dict[str, str]]:
    """What all processes say of themselves now, by replica and target; empty where unknown."""
    targets = [
        target
        for endpoint in endpoints
        for replica in endpoint.replicas
        for target in replica.targets
        if target.component
    ]
    answers = await asyncio.gather(*(ask_version(fetcher, target) for target in targets))
    found: dict[ReplicaKey, dict[str, str]] = {}
    for target, version in zip(targets, answers, strict=True):
        found.setdefault(target.key, {})[target.name] = version
    return found


def _facts(endpoint: Endpoint, started: float, told: Mapping[ReplicaKey, Mapping[str, str]]) -> dict[str, object]:
    replicas = [replica for replica in endpoint.replicas if not replica.key.shared]
    known = [replica.told(told.get(replica.key, {})) for replica in endpoint.replicas]
    return {
        "first_moment": started,
        "kv_bytes_per_token": endpoint.kv_bytes_per_token,
        "roles": {replica.key.replica: str(replica.role) for replica in replicas},
        "versions": {replica.key.replica: dict(replica.versions) for replica in known if replica.versions},
    }
