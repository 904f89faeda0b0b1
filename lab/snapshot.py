"""A snapshot directory as it lies on disk: `DIR/<replica>/<seconds>/<source>.txt`, and `fleet.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, Role, source_kind

_LAYOUT = "A snapshot directory holds <replica>/<seconds>/<source>.txt."


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """What `fleet.json` adds to the expositions; all of it optional."""

    kv_bytes_per_token: int | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Bodies by replica (or `_fleet`) and source: one per moment, None where that scrape is missing."""

    name: str
    moments: tuple[int, ...]
    bodies: Mapping[tuple[str, str], tuple[str | None, ...]]
    facts: FleetFacts

    @property
    def replicas(self) -> tuple[str, ...]:
        return tuple(sorted({owner for owner, _ in self.bodies if owner != FLEET}))

    def sources(self, owner: str) -> tuple[str, ...]:
        """Names of a replica's sources, or of `_fleet`'s."""
        return tuple(sorted(source for whose, source in self.bodies if whose == owner))


def read_snapshot(directory: Path) -> Snapshot:
    """Read a whole directory; snapshots are small.

    Raises:
        UsageError: not a snapshot directory, or one with an unknown source.
    """
    texts: dict[tuple[str, str], dict[int, str]] = {}
    for path in sorted(directory.glob("*/*/*.txt")):
        owner, source = path.parts[-3], path.stem
        try:
            source_kind(source)
        except ValueError:
            raise UsageError(f"{path}: {source!r} is no source that is known", _LAYOUT) from None
        texts.setdefault((owner, source), {})[_seconds(path)] = path.read_text(encoding="utf-8", errors="replace")
    if not texts:
        raise UsageError(f"{directory} holds no expositions", _LAYOUT)
    moments = tuple(sorted({moment for by_moment in texts.values() for moment in by_moment}))
    bodies = {key: tuple(by_moment.get(moment) for moment in moments) for key, by_moment in texts.items()}
    return Snapshot(directory.resolve().name, moments, bodies, _read_facts(directory / "fleet.json"))


def _seconds(path: Path) -> int:
    try:
        return int(path.parent.name)
    except ValueError:
        raise UsageError(f"{path.parent}: {path.parent.name!r} is no number of seconds", _LAYOUT) from None


def _read_facts(path: Path) -> FleetFacts:
    if not path.is_file():
        return FleetFacts()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return FleetFacts(
            kv_bytes_per_token=document.get("kv_bytes_per_token"),
            roles={name: str(Role(role)) for name, role in document.get("roles", {}).items()},
            versions={name: dict(versions) for name, versions in document.get("versions", {}).items()},
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} can't be used: {error}", "Its keys are listed in docs/cli.md.") from error
