"""`python -m db upgrade | status | backup FILE | grants`: the store's own command."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from db.grants import grants
from db.store import Store
from tierdeck.command_line import Parser
from tierdeck.errors import TierdeckError
from tierdeck.settings import load_settings


def main(arguments: list[str] | None = None) -> int:
    """Exit code: 0 done, 2 wrong usage, 3 the store does not answer."""
    options = _parser().parse_args(arguments)
    try:
        sys.stdout.write(_run(options) + "\n")
    except TierdeckError as error:
        sys.stderr.write(error.line() + "\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m db", description="The store of TIERDECK_DATABASE_URL.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("upgrade", help="bring an empty or older store up to date")
    commands.add_parser("status", help="say what the store holds")
    backup = commands.add_parser("backup", help="copy the store to a file")
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.add_argument("--force", action="store_true", help="overwrite the file")
    told = commands.add_parser("grants", help="print SQL that gives each process its rights in PostgreSQL")
    told.add_argument("--prefix", default="tierdeck", type=_name, help="of the roles' names (default: tierdeck)")
    return parser


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,30}", text):
        raise argparse.ArgumentTypeError(f"{text!r} can't begin a role's name: small letters, digits and _ only")
    return text


def _run(options: argparse.Namespace) -> str:
    if options.command == "grants":
        return grants(options.prefix).rstrip()
    url = load_settings().store_url
    with Store.open(url, migrate=options.command == "upgrade") as store:
        if options.command == "status":
            return store.sizes().to_string(index=False)
        if options.command == "backup":
            store.backup(options.file, force=options.force)
            return f"backed up to {options.file}"
        return "the store is up to date"


if __name__ == "__main__":
    sys.exit(main())
