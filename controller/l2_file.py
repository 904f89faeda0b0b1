"""The file of L2 policies as a process follows it: read anew when it changes, as a mounted ConfigMap does."""

from __future__ import annotations

from pathlib import Path

import structlog

from tierdeck.errors import TierdeckError, UsageError
from tierdeck.l2.file import L2File, parse_l2

log = structlog.get_logger()


class L2Source:
    """The file, and what it said last."""

    def __init__(self, path: Path | None) -> None:
        """
        Raises:
            UsageError: it is missing or broken; one line that names the key.
        """
        self._path = path
        self._text = _read(path)
        self.file = _parsed(self._text, path)
        self.trouble = ""

    def look(self) -> bool:
        """Read it anew; True where it says something else. One that is broken changes nothing, and is said."""
        try:
            text = _read(self._path)
            found = _parsed(text, self._path) if text != self._text else self.file
        except TierdeckError as error:
            if not self.trouble:
                log.warning("l2_file_failed", reason=error.line())
            self.trouble = f"{error.line()} What it said before still holds."
            return False
        is_new = found != self.file
        if is_new:
            log.info("l2_file_changed", enabled=found.enabled, endpoints=len(found.endpoints))
        self._text, self.file, self.trouble = text, found, ""
        return is_new


def _read(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "TIERDECK_L2_FILE names the file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not YAML: {error.reason}") from error


def _parsed(text: str, path: Path | None) -> L2File:
    return parse_l2(text, str(path)) if path is not None else L2File()
