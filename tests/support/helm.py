"""Helm as a child of a test, on the chart of this repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.build_helm import built, found
from tests.cluster.go_program import CannotBuildError
from tests.needs import missing
from tests.support.kube_rest import Manifest

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "tierdeck"
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Helm:
    """One Helm with its files in a folder of the test's own.

    Attributes:
        kubeconfig: of the cluster to install in; None: none is asked.
    """

    program: Path
    folder: Path
    kubeconfig: Path | None = None

    def run(self, *arguments: str, values: Manifest | None = None) -> subprocess.CompletedProcess[str]:
        """What it says and how it ends."""
        return subprocess.run(
            self.command(*arguments, values=values),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def command(self, *arguments: str, values: Manifest | None = None) -> list[str]:
        """Its command line."""
        if values is None:
            return [str(self.program), *arguments]
        file = self.folder / "values.yaml"
        file.write_text(yaml.safe_dump(values), "utf-8")
        return [str(self.program), *arguments, "--values", str(file)]

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's Helm; without a kubeconfig it finds no cluster."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")}
        folders = {f"HELM_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        return kept | folders | {"KUBECONFIG": str(self.kubeconfig or os.devnull)}

    def template(self, values: Manifest | None = None, *flags: str) -> list[Manifest]:
        """The objects of an install as `deck` in namespace `serving`."""
        done = self.run("template", "deck", str(CHART), "--namespace", "serving", *flags, values=values)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return [one for one in yaml.safe_load_all(done.stdout) if one]

    def refusal(self, values: Manifest) -> str:
        """What it says to values that can't be used."""
        done = self.run("template", "deck", str(CHART), values=values)
        assert done.returncode != 0, done.stdout
        return done.stderr

    @contextmanager
    def installed(
        self, name: str, namespace: str, values: Manifest | None = None, flags: Sequence[str] = ()
    ) -> Iterator[str]:
        """A release, until the end; the text that Helm ends with."""
        place = ("--namespace", namespace)
        done = self.run("install", name, str(CHART), *place, *flags, values=values)
        assert done.returncode == 0, done.stderr
        assert not done.stderr, "the API server warned"
        try:
            yield done.stdout
        finally:
            gone = self.run("uninstall", name, *place)
            assert gone.returncode == 0, gone.stderr


def helm_program() -> Path:
    """The program; without it the test is skipped, and where everything is required it is built."""
    try:
        here = built() if os.environ.get("TIERDECK_REQUIRE_ALL") == "1" else found()
    except CannotBuildError as error:
        missing(f"Helm ({error})")
        raise
    if here is None:
        missing("Helm (make helm)")
    assert here is not None
    return here


def one_of(objects: Sequence[Manifest], kind: str, name: str = "") -> Any:
    """The one object of a kind, and of a name if there are several."""
    (found_one,) = [one for one in objects if one["kind"] == kind and name in ("", one["metadata"]["name"])]
    return found_one
