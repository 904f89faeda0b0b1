"""Pools as directories: small files with the names and times of LMCache's."""

from __future__ import annotations

import os
from pathlib import Path

KILO = 1000


def chunk_name(number: int, model: str = "qwen") -> str:
    """As LMCache inside vLLM writes it."""
    return f"{model}@1@0@{number:016x}@bfloat16.data"


def put(folder: Path, name: str, written_at: float, *, read_at: float | None = None, size_bytes: int = KILO) -> Path:
    """A file of this size; sparse, so that it takes no room."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    with path.open("wb") as opened:
        opened.truncate(size_bytes)
    os.utime(path, (written_at if read_at is None else read_at, written_at))
    return path


def fill(folder: Path, count: int, newest_at: float, apart_seconds: float = 60.0, model: str = "qwen") -> list[Path]:
    """So many files, the oldest first."""
    return [
        put(folder, chunk_name(number, model), newest_at - apart_seconds * (count - 1 - number))
        for number in range(count)
    ]
