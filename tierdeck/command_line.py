"""Wrong usage of a command, told as every other error is: in one line that says what to do, with exit code 2."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import typer


def run(app: typer.Typer, prog_name: str | None = None) -> NoReturn:
    """Run a command from `sys.argv`, and exit with its code.

    Args:
        prog_name: as it is called; None: as Python tells.
    """
    from typer.exceptions import Abort, TyperException

    try:
        code = app(prog_name=prog_name, standalone_mode=False)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        if error.format_message():  # empty where nothing was asked for: the help was the answer
            sys.stderr.write(f"{_line(error.format_message(), context.command_path if context else 'tierdeck')}\n")
        sys.exit(error.exit_code)
    except Abort:
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


class Parser(argparse.ArgumentParser):
    """The same for what argparse reads."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        sys.stderr.write(f"{_line(message, self.prog)}\n")
        sys.exit(2)


def _line(message: str, command: str) -> str:
    told = " ".join(message.split()).rstrip(".")
    ending = "" if told.endswith("?") else "."
    return f"tierdeck: {told[:1].lower()}{told[1:]}{ending} `{command} --help` tells how it is used."
