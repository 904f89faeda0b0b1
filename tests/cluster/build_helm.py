"""Helm: the one in TIERDECK_HELM, else built once from its published source, so that everybody tests with the same."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.cluster.go_program import CannotBuildError, GoProgram

VERSION = "v3.22.0"
_KUBERNETES = ("1", "37")
"""What `helm template` takes the cluster for; left out, it would be 1.20."""


def _stamp() -> str:
    where = "helm.sh/helm/v3"
    values = {f"{where}/internal/version.version": VERSION}
    for place in (f"{where}/pkg/chartutil", f"{where}/pkg/lint/rules"):
        values |= {f"{place}.k8sVersionMajor": _KUBERNETES[0], f"{place}.k8sVersionMinor": _KUBERNETES[1]}
    return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in values.items())])


_PROGRAM = GoProgram(
    name="helm",
    version=f"{VERSION} for Kubernetes {'.'.join(_KUBERNETES)}",
    source=Path(__file__).parent / "helm",
    made_of=("go.mod", "go.sum"),
    package="helm.sh/helm/v3/cmd/helm",
    ldflags=_stamp(),
    takes="about 3 to 10 minutes",
)


def found() -> Path | None:
    """The program that is here already, if any.

    Raises:
        CannotBuildError: TIERDECK_HELM is no program; or it is not set, and there is no Go.
    """
    given = os.environ.get("TIERDECK_HELM")
    if not given:
        return _PROGRAM.found()
    if not os.access(given, os.X_OK):
        raise CannotBuildError(f"TIERDECK_HELM is {given}, which is no program")
    return Path(given)


def built() -> Path:
    """The program, built now if it is not here yet.

    Raises:
        CannotBuildError: as for `found`, or the build failed.
    """
    return found() or _PROGRAM.built()


if __name__ == "__main__":
    try:
        print(built())  # noqa: T201
    except CannotBuildError as error:
        sys.exit(f"helm: {error}")
