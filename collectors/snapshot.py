"""A snapshot directory: `DIR/<replica>/<seconds>/<source>.txt`, with an optional `fleet.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, Replica, ReplicaKey, Role, Target, source_kind
from tierdeck.units import format_size

_LARGEST = 64 * 2**20
_SHAPE = "Its shape is DIR/<replica>/<seconds>/<source>.txt (docs/cli.md)."


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Bodies as scraped.

    Attributes:
        moments: all seconds at which anything was scraped, ascending.
        bodies: text by replica (`_fleet` included), second and target name.
        first_moment: epoch seconds of the first moment; None where not recorded.
    """

    moments: tuple[int, ...]
    bodies: Mapping[str, Mapping[int, Mapping[str, str]]]
    first_moment: float | None = None
    kv_bytes_per_token: float | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def window_seconds(self) -> int:
        return self.moments[-1] - self.moments[0]

    def replica(self, name: str) -> Replica:
        """The replica with every target that it had at any moment."""
        key = ReplicaKey("snapshot", "snapshot", name)
        targets = sorted({target for moment in self.bodies[name].values() for target in moment})
        return Replica(
            key,
            tuple(Target(key, target, f"{name}/{target}.txt") for target in targets),
            self.roles.get(name, Role.BOTH),
            tuple(sorted(self.versions.get(name, {}).items())),
            self.kv_bytes_per_token,
        )


def read_snapshot(folder: Path) -> Snapshot:
    """Read a snapshot directory whole.

    Raises:
        UsageError: it is not one, or holds fewer than two moments.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a directory", "Make one with `tierdeck snapshot DIR`.")
    _refuse_bundles(folder)
    bodies: dict[str, dict[int, dict[str, str]]] = {}
    for replica in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        bodies[replica.name] = {}
        for moment in sorted(path for path in replica.iterdir() if path.is_dir()):
            where = f"{replica.name}/{moment.name}"
            if not re.fullmatch(r"-?\d{1,15}", moment.name, re.ASCII):
                raise UsageError(f"{where}: the folder's name must be whole seconds", _SHAPE)
            seconds = int(moment.name)
            if seconds in bodies[replica.name]:
                raise UsageError(f"{where}: a second folder for the same moment", _SHAPE)
            bodies[replica.name][seconds] = _read_moment(moment)
    moments = tuple(sorted({seconds for replica in bodies.values() for seconds in replica}))
    if len(moments) < 2:
        raise UsageError(f"{folder} holds {len(moments)} moments, and a ledger needs two", _SHAPE)
    if not any(name != FLEET for name in bodies):
        raise UsageError(f"{folder} holds no replica", _SHAPE)
    facts = _read_facts(folder / "fleet.json")
    return Snapshot(moments, bodies, facts.first_moment, facts.kv_bytes_per_token, facts.roles, facts.versions)


def _refuse_bundles(folder: Path) -> None:
    """`snapshot` saves each endpoint in a folder of its own, one level deeper.

    Raises:
        UsageError: this is the folder above them.
    """
    bundles = sorted(path.parent.name for path in folder.glob("*/fleet.json"))
    if bundles and not (folder / "fleet.json").exists():
        raise UsageError(
            f"{folder} holds a snapshot of each of several endpoints: {', '.join(bundles)}",
            f"Explain one of them: tierdeck explain {folder / bundles[0]}",
        )


def _read_moment(folder: Path) -> dict[str, str]:
    bodies = {}
    for path in sorted(folder.glob("*.txt")):
        name = path.name.removesuffix(".txt")
        try:
            source_kind(name)
        except ValueError as error:
            raise UsageError(f"{path.parent.parent.name}/{folder.name}/{path.name}: no such source", _SHAPE) from error
        bodies[name] = _read_text(path)
    return bodies


def _read_text(path: Path) -> str:
    """A regular file's text; what is too large is read as a body that was not whole.

    Raises:
        UsageError: it can't be read, or is no regular file.
    """
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a regular file", _SHAPE)
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise UsageError(f"{path} is larger than {format_size(_LARGEST)}", _SHAPE)
    return data.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class _Facts:
    """What `fleet.json` adds."""

    first_moment: float | None = None
    kv_bytes_per_token: float | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def _read_facts(path: Path) -> _Facts:
    if not path.exists():
        return _Facts()
    document = _parsed(_read_text(path))
    if not isinstance(document, dict):
        raise _unusable("it must hold one JSON object")
    kv_bytes = _number(document, "kv_bytes_per_token")
    if kv_bytes is not None and kv_bytes <= 0:
        raise _unusable("kv_bytes_per_token must be above 0")
    return _Facts(
        first_moment=_number(document, "first_moment"),
        kv_bytes_per_token=kv_bytes,
        roles={name: _role(name, role) for name, role in _object(document, "roles").items()},
        versions={name: _versions(name, versions) for name, versions in _object(document, "versions").items()},
    )


def _unusable(reason: str) -> UsageError:
    return UsageError(f"fleet.json can't be used: {reason}", "Its keys are in docs/cli.md.")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _unusable(f"line {error.lineno}, column {error.colno} is no JSON") from error
    except (ValueError, RecursionError) as error:
        raise _unusable("a number in it is too long, or it is nested too deeply") from error


def _object(document: dict[str, object], key: str) -> dict[str, object]:
    """A JSON object; empty where the key is missing or null."""
    value = document.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _unusable(f"{key} must be a JSON object")
    return value


def _role(name: str, value: object) -> Role:
    if value not in list(Role):
        raise _unusable(f"roles.{_short(name)} must be one of {', '.join(Role)}")
    return Role(str(value))


def _versions(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _unusable(f'versions.{_short(name)} must name components, such as {{"vllm": "0.32.0"}}')
    told = {component: version for component, version in value.items() if version is not None}
    if not all(isinstance(version, str) for version in told.values()):
        raise _unusable(f'versions.{_short(name)}: a version must be a text, such as "0.32.0"')
    return told


def _short(name: str) -> str:
    return " ".join(name.split())[:60]


def _number(document: dict[str, object], key: str) -> float | None:
    """A finite number, or None where the key is missing."""
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise _unusable(f"{key} must be a number")
    return float(value)
