"""Component versions as numbers that compare."""

from __future__ import annotations

import re


def parse_version(text: str) -> tuple[int, ...] | None:
    """`0.11.1`, `v0.32.0+cpu`, `0.12.0rc1` -> (0, 11, 1) …; None where there is no number."""
    match = re.match(r"v?(\d{1,6}(?:\.\d{1,6})*)", text.strip())
    return tuple(int(part) for part in match[1].split(".")) if match else None
