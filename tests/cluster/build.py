"""The control plane's programs: built once from their published source, or taken from KUBEBUILDER_ASSETS."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.go_program import CannotBuildError, GoProgram

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
VERSION = "v1.37.2"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Where the programs are: one binary for all, or a folder with one each."""

    place: Path

    def command(self, program: str) -> list[str]:
        """How this program's command line begins."""
        if self.place.is_dir():
            return [str(self.place / program)]
        return [str(self.place), program]


def found() -> ControlPlane | None:
    """The control plane that is here already, if any.

    Raises:
        CannotBuildError: KUBEBUILDER_ASSETS lacks a program; or it is not set, and there is no Go.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        return _assets(Path(assets))
    binary = _PROGRAM.found()
    return None if binary is None else ControlPlane(binary)


def built(pause_seconds: float = 10.0) -> ControlPlane:
    """The control plane, built now if it is not here yet; a second caller waits for the first.

    Args:
        pause_seconds: before a second try of a command that needs the network; before a third twice that.

    Raises:
        CannotBuildError: As for `found`, or the build failed.
    """
    return found() or ControlPlane(_PROGRAM.built(pause_seconds))


def _assets(folder: Path) -> ControlPlane:
    lacking = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if lacking:
        raise CannotBuildError(f"KUBEBUILDER_ASSETS is {folder}, which has no program {' and no '.join(lacking)}")
    return ControlPlane(folder)


def _stamp() -> str:
    major, minor, _ = VERSION.removeprefix("v").split(".")
    where = "k8s.io/component-base/version"
    values = {"gitVersion": VERSION, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X {where}.{name}={value}" for name, value in values.items())])


_PROGRAM = GoProgram(
    name="control-plane",
    version=VERSION,
    source=Path(__file__).parent / "controlplane",
    made_of=("main.go", "go.mod", "go.sum"),
    ldflags=_stamp(),
    takes="about 10 to 20 minutes, and 4 GB of Go's caches",
)


if __name__ == "__main__":
    try:
        if "--check" in sys.argv:
            found()  # says what is missing for a build
        else:
            print(built().place)  # noqa: T201
    except CannotBuildError as error:
        sys.exit(f"control plane: {error}")
