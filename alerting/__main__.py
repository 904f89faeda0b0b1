"""`python -m alerting`: judge the rules until told to stop; the commands do one thing and end."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from tierdeck.errors import TierdeckError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


@app.callback(invoke_without_command=True)
def watch(context: typer.Context) -> None:
    """Judge the rules over the store each minute, and say what fires, until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand is None:
        sys.stderr.write("alerting: nothing to do yet, this version has no alert rules; they come with a later one\n")


def _guard(act: Callable[[], None]) -> None:
    """Errors are one line that says what to do, never a traceback."""
    try:
        act()
    except TierdeckError as error:
        sys.stderr.write(f"tierdeck: {error.line()}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    app()
