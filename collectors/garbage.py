"""How seldom this process looks for cycles among its objects.

Answers and readings are many small objects without cycles, which CPython's default of looking after every
700 new ones walks over and over: for a round of 1,000 replicas from a Prometheus that was half of the CPU time.
"""

from __future__ import annotations

import gc


def look_seldom() -> None:
    """Set the thresholds; what is in cycles goes later, and is little."""
    gc.set_threshold(100_000, 50, 50)
