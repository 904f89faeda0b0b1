"""Tools that a test needs: skipped with one line without them, failed where everything is required."""

from __future__ import annotations

import os
import shutil

import pytest


def tool(*names: str) -> str:
    """Path of the first of these programs that is installed.

    Without any, the test is skipped; with TIERDECK_REQUIRE_ALL=1, as in CI, it fails.
    """
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    missing(" or ".join(names))
    raise AssertionError("unreachable")


def missing(what: str) -> None:
    """End the test, since `what` is not here."""
    if os.environ.get("TIERDECK_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is not installed, and TIERDECK_REQUIRE_ALL=1", pytrace=False)
    pytest.skip(f"{what} is not installed")
