"""Commands that belong to a process: they run as a child, whose output and exit code are ours."""

from __future__ import annotations

import subprocess
import sys

import typer

PASS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""How a command takes whatever the child takes."""


def hand_on(module: str, *args: str) -> None:
    """Run `python -m module`, and end as it ends."""
    try:
        done = subprocess.run([sys.executable, "-m", module, *args], check=False)  # noqa: S603  # our own module
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(done.returncode)
