"""How seldom this process looks for cycles among its objects.

Answers and readings are many small objects without cycles, which CPython's default of looking after every
700 new ones walks over and over: for a round of 1,000 replicas from a Prometheus that was half of the CPU time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def look_seldom() -> None:
    """Set the thresholds; what is in cycles goes later, and is little."""
    gc.set_threshold(100_000, 50, 50)


@contextmanager
def not_looked_at() -> Iterator[None]:
    """While an answer is unpacked nothing is looked at: it is large, without cycles, and soon gone."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
