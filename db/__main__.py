"""`python -m db upgrade | status | backup FILE`: the store's own command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from db.store import Store
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
    parser = argparse.ArgumentParser(prog="python -m db", description="The store of TIERDECK_DATABASE_URL.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("upgrade", help="bring an empty or older store up to date")
    commands.add_parser("status", help="say what the store holds")
    backup = commands.add_parser("backup", help="copy the store to a file")
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.add_argument("--force", action="store_true", help="overwrite the file")
    return parser


def _run(options: argparse.Namespace) -> str:
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
