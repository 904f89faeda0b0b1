"""The file of what may be changed, as the controller follows it: read anew whenever it is asked."""

from __future__ import annotations

from pathlib import Path

import structlog

from tierdeck.changes.allowed import Allowed, parse_allowed
from tierdeck.errors import UsageError

log = structlog.get_logger()
_HINT = "TIERDECK_CHANGES_FILE names the file."


class AllowedFile:
    """The file, and what it says now. One that is missing or broken allows nothing."""

    def __init__(self, path: Path | None) -> None:
        """
        Args:
            path: None: nothing is allowed.

        Raises:
            UsageError: it is missing or broken; one line that names the key.
        """
        self._path = path
        self._trouble = ""
        if path is not None:
            _read(path)

    def look(self) -> Allowed | str:
        """What it says, or why nothing may be changed: one sentence with what to do."""
        if self._path is None:
            return (
                "This controller only observes: TIERDECK_CHANGES_FILE names no file that says what it may change "
                "(docs/changes.md)."
            )
        try:
            found = _read(self._path)
        except UsageError as error:
            if error.line() != self._trouble:
                log.warning("changes_file_failed", reason=error.line())
            self._trouble = error.line()
            return f"Nothing may be changed until the file that says what may be is mended: {error.line()}"
        self._trouble = ""
        return found


def _read(path: Path) -> Allowed:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", _HINT) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not YAML: {error.reason}") from error
    return parse_allowed(text, str(path))
