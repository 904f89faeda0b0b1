"""What LMCache inside vLLM read from its remote, in tokens: worked out from bytes, since it counts no tier's hits.

Upstream: lmcache 0.5.6, `InstrumentedRemoteConnector`: bytes are those of the remote's objects, so that a serde that
compresses makes the figure too small.
"""

from __future__ import annotations

from collectors.meter import Increase
from collectors.source import TargetReading
from tierdeck.readings import Reading


def remote_tokens(increase: Increase, reading: TargetReading, kv_bytes_per_token: float | None) -> float | None:
    """What was read in the interval; None where nothing tells.

    Args:
        kv_bytes_per_token: of the whole model, all ranks and layers.
    """
    read = increase.counts.get(Reading.REMOTE_READ_BYTES)
    if read is None or not kv_bytes_per_token or reading.gauge(Reading.LOCAL_DISK_USED):
        return None
    return read / kv_bytes_per_token
