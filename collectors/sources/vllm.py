"""vLLM's own metrics, V1 engine, 0.8.5 to 0.32.

Upstream: vllm/v1/metrics/loggers.py of each version; names were compared between the wheels of
0.8.5, 0.10.2, 0.11.1, 0.12.0, 0.16.0, 0.20.2, 0.26.0 and 0.32.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from collectors.families import FamilyReader
from collectors.source import Family, Key, Kind, TargetReading
from collectors.sources.lmcache import EMBEDDED_FAMILIES
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

ALWAYS_EXPORTS_EXTERNAL = "always_exports_external"
"""Flag: absent external counters mean that there is no connector."""
COUNTS_BLOCKS = "counts_blocks"
"""Flag: prefix cache counters are in blocks, as their HELP says (0.8 and before); they were made tokens."""
HAS_EMBEDDED_LMCACHE = "has_embedded_lmcache"
"""Flag: LMCache's metrics are merged into this body (PROMETHEUS_MULTIPROC_DIR)."""

_ENGINE_SERIES = re.compile(r'^vllm[:_]\w+(?![^\n]*\bserver=")', re.MULTILINE)
_BY_SOURCE = "vllm:prompt_tokens_cached_by_source"
_OF_PROMPT = "vllm:prompt_tokens_by_source"

_GONE = "0.12.0"
# 0.11.1 still has these, behind --show-hidden-metrics-for-version=0.10
_OLD_QUERIES, _OLD_HITS, _OLD_USAGE = (
    "vllm:gpu_prefix_cache_queries",
    "vllm:gpu_prefix_cache_hits",
    "vllm:gpu_cache_usage_perc",
)

FAMILIES = (
    Family(
        Reading.PROMPT_TOKENS,
        Kind.COUNTER,
        ("vllm:prefix_cache_queries", _OLD_QUERIES),
        gone={_OLD_QUERIES: _GONE},
    ),
    Family(
        Reading.L0_HITS,
        Kind.COUNTER,
        ("vllm:prefix_cache_hits", _OLD_HITS),
        like=Reading.PROMPT_TOKENS,
        gone={_OLD_HITS: _GONE},
    ),
    Family(Reading.EXTERNAL_QUERIES, Kind.COUNTER, ("vllm:external_prefix_cache_queries",)),
    Family(Reading.EXTERNAL_HITS, Kind.COUNTER, ("vllm:external_prefix_cache_hits",)),
    Family(Reading.HOST_HITS, Kind.COUNTER, (_BY_SOURCE,), where={"source": "host"}),
    Family(Reading.DISK_HITS, Kind.COUNTER, (_BY_SOURCE,), where={"source": "disk"}),
    Family(Reading.P2P_HITS, Kind.COUNTER, (_BY_SOURCE,), where={"source": "p2p"}),
    Family(Reading.PROCESSED_TOKENS, Kind.COUNTER, ("vllm:prompt_tokens",)),
    Family(Reading.COMPUTED_TOKENS, Kind.COUNTER, (_OF_PROMPT,), where={"source": "local_compute"}),
    Family(Reading.LOCAL_SOURCE_TOKENS, Kind.COUNTER, (_OF_PROMPT,), where={"source": "local_cache_hit"}),
    Family(Reading.EXTERNAL_SOURCE_TOKENS, Kind.COUNTER, (_OF_PROMPT,), where={"source": "external_kv_transfer"}),
    Family(Reading.CACHED_TOKENS, Kind.COUNTER, ("vllm:prompt_tokens_cached",)),
    Family(Reading.CACHED_BY_SOURCE, Kind.COUNTER, (_BY_SOURCE,)),
    Family(Reading.PROMPT_LENGTHS, Kind.HISTOGRAM, ("vllm:request_prompt_tokens",)),
    Family(Reading.ABORTED, Kind.COUNTER, ("vllm:request_success",), where={"finished_reason": "abort"}),
    Family(Reading.FAILED, Kind.COUNTER, ("vllm:request_success",), where={"finished_reason": "error"}),
    Family(Reading.REQUESTS, Kind.COUNTER, ("vllm:request_success",)),
    Family(Reading.PREEMPTIONS, Kind.COUNTER, ("vllm:num_preemptions",)),
    Family(Reading.TTFT, Kind.HISTOGRAM, ("vllm:time_to_first_token_seconds",)),
    Family(Reading.KV_USAGE, Kind.GAUGE, ("vllm:kv_cache_usage_perc", _OLD_USAGE), gone={_OLD_USAGE: _GONE}),
    Family(Reading.KV_CAPACITY_TOKENS, Kind.INFO, ("vllm:cache_config_info",)),
    Family(Reading.RUNNING, Kind.GAUGE, ("vllm:num_requests_running",)),
    Family(Reading.WAITING, Kind.GAUGE, ("vllm:num_requests_waiting",)),
    Family(Reading.DEFERRED, Kind.GAUGE, ("vllm:num_requests_waiting_by_reason",), where={"reason": "deferred"}),
    Family(Reading.PREFILL_SECONDS, Kind.SUM, ("vllm:request_prefill_time_seconds",)),
    Family(Reading.LOOKUP_SECONDS, Kind.SUM, ("vllm:lmcache_mp_lookup_duration_seconds",)),
    Family(Reading.CREATED, Kind.GAUGE, ("vllm:prefix_cache_queries_created",)),
)


class VllmSource:
    """One vLLM API server; engines (data-parallel ranks) are told apart by the label `engine`."""

    kind = SourceKind.VLLM
    path = "/metrics"
    ends_with_newline = True
    families = FAMILIES

    def __init__(self) -> None:
        self._engine = FamilyReader(FAMILIES, "engine", router_label="server")
        self._embedded = FamilyReader(EMBEDDED_FAMILIES, "worker_id")

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        reading = self._engine.read(text, values)
        if reading is None or not reading.recognised:
            if not _ENGINE_SERIES.search(text):
                return reading
            reading = reading or TargetReading()
            reading.recognised = True
        if "prompt_tokens_by_source" in text:
            reading.flags |= {ALWAYS_EXPORTS_EXTERNAL}
        _derive_capacity(reading)
        if "number of queried blocks" in text:
            _blocks_to_tokens(reading)
        if "\nlmcache:" in text or "\nlmcache_" in text:
            embedded = self._embedded.read(text, values)
            if embedded is not None and embedded.recognised:
                reading.flags |= {HAS_EMBEDDED_LMCACHE}
                reading.counters.update({_embedded(key): value for key, value in embedded.counters.items()})
                reading.gauges.update({_embedded(key): value for key, value in embedded.gauges.items()})
                reading.histograms.update({_embedded(key): seen for key, seen in embedded.histograms.items()})
        return reading


def _embedded(key: Key) -> Key:
    """A worker of LMCache is no engine of vLLM, though both count from 0."""
    return replace(key, engine=f"lmcache {key.engine}")


def _derive_capacity(reading: TargetReading) -> None:
    """KV capacity and block size in tokens, and whether prefix caching is off, from `cache_config_info`'s labels.

    A usage outside [0, 1] is none.
    """
    for key in [
        key for key, usage in reading.gauges.items() if key.reading is Reading.KV_USAGE and not 0 <= usage <= 1
    ]:
        del reading.gauges[key]
    for key, labels in reading.infos.items():
        capacity = _number(labels.get("kv_cache_size_tokens"))
        if capacity is None:
            blocks, block_size = _number(labels.get("num_gpu_blocks")), _number(labels.get("block_size"))
            capacity = blocks * block_size if blocks is not None and block_size is not None else None
        if capacity:
            reading.gauges[Key(Reading.KV_CAPACITY_TOKENS, key.engine)] = capacity
        block = _number(labels.get("cache_hit_alignment_tokens")) or _number(labels.get("block_size"))
        if block and labels.get("enable_prefix_caching") != "False":
            reading.gauges[Key(Reading.BLOCK_TOKENS, key.engine)] = block
        if labels.get("enable_prefix_caching") == "False":
            # nothing is looked up then, so processed tokens say nothing about the lookup counter
            for counter in [c for c in reading.counters if c.reading is Reading.PROCESSED_TOKENS]:
                if counter.engine == key.engine:
                    del reading.counters[counter]


def _blocks_to_tokens(reading: TargetReading) -> None:
    """Prefix cache counters of blocks as tokens; without a block size they are no counts of tokens at all."""
    reading.aliases = ()  # what counts blocks is no other name of what counts tokens
    if not str(reading.spelled.get(Reading.PROMPT_TOKENS, "")).startswith(("vllm:gpu_", "vllm_gpu_")):
        return
    reading.flags |= {COUNTS_BLOCKS}
    whole = reading.gauges.get(Key(Reading.BLOCK_TOKENS))  # older engines don't say whose it is
    for key in [key for key in reading.counters if key.reading in (Reading.PROMPT_TOKENS, Reading.L0_HITS)]:
        block = reading.gauges.get(Key(Reading.BLOCK_TOKENS, key.engine), whole)
        if block is None:
            del reading.counters[key]
        else:
            reading.counters[key] *= block


def _number(text: str | None) -> float | None:
    """A positive number that can be one of tokens or blocks."""
    try:
        number = float(text) if text is not None else 0.0
    except ValueError:
        return None
    return number if 0 < number < 1e15 else None


VLLM = VllmSource()
