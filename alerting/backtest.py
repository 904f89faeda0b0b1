"""Reads a recorded series from a file and runs the hit-ratio rules over it."""

from __future__ import annotations

from pathlib import Path

from tierdeck.alerts.backtest import Backtest, backtest, read_minutes
from tierdeck.alerts.hit_ratio_limits import HitRatioLimits
from tierdeck.errors import UsageError


def backtest_file(path: Path, limits: HitRatioLimits) -> Backtest:
    """What would have fired.

    Raises:
        UsageError: the file, or a line of it, can't be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            recorded = read_minutes(file)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", "A CSV file is wanted; docs/cli.md has its columns.") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}", error.hint) from error
    return backtest(recorded, lambda _: limits)
