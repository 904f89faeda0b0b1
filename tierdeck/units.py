"""Sizes, durations and shares between people and base units (bytes, seconds, [0, 1])."""

from __future__ import annotations

import re

from tierdeck.errors import UsageError

_SIZE_UNITS = {
    "": 1, "B": 1,
    "K": 10**3, "KB": 10**3, "M": 10**6, "MB": 10**6, "G": 10**9, "GB": 10**9, "T": 10**12, "TB": 10**12,
    "KI": 2**10, "KIB": 2**10, "MI": 2**20, "MIB": 2**20, "GI": 2**30, "GIB": 2**30, "TI": 2**40, "TIB": 2**40,
}  # fmt: skip
_TOLD_IN = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_LONGEST_SECONDS = 3652 * 86400.0
_NUMBER = r"(\d+(?:\.\d+)?)"


def parse_size(text: str) -> int:
    """Bytes of `40Gi`, `1.5TB`, `1048576`; binary units end in i, as in Kubernetes.

    Raises:
        UsageError: not a size.
    """
    match = re.fullmatch(_NUMBER + r"\s*([A-Za-z]*)", text.strip())
    factor = _SIZE_UNITS.get(match[2].upper()) if match else None
    if match is None or factor is None:
        raise UsageError(f"{text!r} is not a size", "Write it like 40Gi, 500MB or a number of bytes.")
    return round(float(match[1]) * factor)


def parse_duration(text: str) -> float:
    """Seconds of `15m`, `1h`, `90s`, `7d`; a bare number is seconds.

    Raises:
        UsageError: not a duration, not above 0, or beyond ten years.
    """
    match = re.fullmatch(_NUMBER + r"\s*(ms|[smhdw]?)", text.strip())
    seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else 0.0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise UsageError(f"{text!r} is not a duration", "Write it like 15m, 1h, 90s or 7d; ten years at most.")
    return seconds


def format_size(size_bytes: float) -> str:
    """`1048576` -> `1 MiB`; three significant digits."""
    unit, factor = size_unit(size_bytes)
    return f"{size_bytes:.0f} B" if factor == 1 else f"{_short(size_bytes / factor)} {unit}"


def size_unit(size_bytes: float) -> tuple[str, int]:
    """The unit in which a size is told, and how many bytes that is: `5 * 2**30` -> `GiB`."""
    return next((known for known in _TOLD_IN if size_bytes >= known[1]), ("B", 1))


def format_count(count: float) -> str:
    """`48200000` -> `48.2 M`; three significant digits from a thousand up."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= factor:
            return f"{_short(count / factor)} {unit}"
    return _short(count)


def format_seconds(seconds: float) -> str:
    """`0.212` -> `212 ms`, `1.1` -> `1.1 s`, `75` -> `1.25 min`, `7200` -> `2 h`."""
    if seconds < 1:
        return f"{_short(seconds * 1000)} ms"
    for unit, factor in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= factor:
            return f"{_short(seconds / factor)} {unit}"
    return f"{_short(seconds)} s"


def format_ratio(ratio: float) -> str:
    """`0.814` -> `81 %`; a digit more where rounding would say 0 % or 100 % of something else."""
    percent = ratio * 100
    if 0 < percent < 1 or 99 < percent < 100:
        return f"{min(max(percent, 0.1), 99.9):.1f} %"
    return f"{percent:.0f} %"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 99.95 else f"{number:.3g}"
