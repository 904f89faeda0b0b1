"""The accountant of one replica: rounds of readings in, one ledger row a round out.

Rules: docs/ledger.md. It keeps a small memory between rounds, so that a restarted collector goes on
where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from collectors.gauges import open_requests, reading_notes, replica_gauges, stores_in_flight
from collectors.loads import load_counts
from collectors.meanings import always_exports_external, change_notes, rebased_note, recounts_preempted, version_notes
from collectors.meter import Increase, Meter
from collectors.pool import mounts_of, pool_account
from collectors.processes import Paths
from collectors.prompts import prompt_counts
from collectors.ranks import Ranks
from collectors.remote_reads import remote_tokens
from collectors.round_parts import Answered, first_tokens, last_answer, lookups_by_salt
from collectors.source import TargetReading
from collectors.sources import BY_KIND
from collectors.sources.vllm import ALWAYS_EXPORTS_EXTERNAL, HAS_EMBEDDED_LMCACHE
from tierdeck.account import Gauges
from tierdeck.fleet import Replica, Role, SourceKind
from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note, NoteCode
from tierdeck.readings import Reading
from tierdeck.rounds import Round

ENGINE_COUNTS = {
    Reading.PROMPT_TOKENS: "prompt_tokens",
    Reading.L0_HITS: "l0_hits",
    Reading.EXTERNAL_QUERIES: "external_queries",
    Reading.EXTERNAL_HITS: "external_hits",
    Reading.PROCESSED_TOKENS: "processed_tokens",
    Reading.COMPUTED_TOKENS: "computed_tokens",
    Reading.LOCAL_SOURCE_TOKENS: "local_source_tokens",
    Reading.EXTERNAL_SOURCE_TOKENS: "external_source_tokens",
    Reading.CACHED_TOKENS: "cached_tokens",
    Reading.CACHED_BY_SOURCE: "cached_by_source",
    Reading.ABORTED: "aborted",
    Reading.FAILED: "failed",
    Reading.PREFILL_SECONDS: "prefill_seconds",
    Reading.REQUESTS: "requests",
    Reading.PREEMPTIONS: "preemptions",
}
CACHE_COUNTS = {
    Reading.LOOKUP_TOKENS: "lookup_tokens",
    Reading.L1_FOUND: "l1_found",
    Reading.L2_FOUND: "l2_found",
    Reading.FOUND_TOKENS: "found_tokens",
    Reading.STORES_SUBMITTED: "stores_submitted",
    Reading.STORES_COMPLETED: "stores_completed",
}
_TIERS = (Reading.PROMPT_TOKENS, Reading.L0_HITS, Reading.EXTERNAL_HITS)
_CACHES = (SourceKind.LMCACHE_MP, SourceKind.LMCACHE)


@dataclass(slots=True)
class _Row:
    """A ledger row in the making: fields of TokenLedger by name."""

    fields: dict[str, Any]

    def add(self, name: str, value: float | None) -> None:
        if value is not None:
            self.fields[name] = (self.fields.get(name) or 0) + value


class ReplicaAccountant:
    """Feed it every round of one replica, in order of time."""

    def __init__(
        self,
        replica: Replica,
        memory: Mapping[str, object] | None = None,
        watched_since: float | None = None,
        interval_seconds: float | None = None,
        absent_at: float | None = None,
    ) -> None:
        """
        Args:
            absent_at: epoch seconds at which the replica was not there, as somebody saw who watched: what started
                later counts from 0 at its first scrape, the first round's included.
            interval_seconds: between rounds; a longer time without any round counts as missed scrapes.
            memory: `Round.memory` of the last round that was stored.
            watched_since: epoch seconds; a process that started later counts from 0 at its first
                scrape. None: from the first round on. Infinity: not known, so never.
        """
        self._replica = replica
        self._interval = interval_seconds
        kept: Any = memory or {}
        self._at: float | None = kept.get("at")
        self._since: float | None = kept.get("since", watched_since if absent_at is None else absent_at)
        self._is_watched = self._at is not None or absent_at is not None
        self._cache_ok: bool | None = kept.get("cache_ok")
        self._open: float | None = kept.get("open")
        self._in_flight: float | None = kept.get("in_flight")
        self._usage: float | None = kept.get("usage")
        self._counted_at: dict[str, float] = dict(kept.get("counted_at", {}))
        self._exports: set[str] = set(kept.get("exports", ()))
        self._last: dict[str, TargetReading] = {}
        self._told: dict[str, str] = {}
        self._early_gaps: dict[str, int] = dict(kept.get("early_gaps", {}))
        self._unattributed: dict[str, float] = dict(kept.get("unattributed", {}))
        self._ranks = Ranks(kept.get("ranks"))
        self._kinds = {target.name: target.kind for target in replica.targets}
        self._meters = {name: _meter(kind, kept.get("meters", {}).get(name)) for name, kind in self._kinds.items()}
        engines = [target.name for target in replica.targets if target.kind is SourceKind.VLLM]
        self._paths = Paths(engines, kept.get("paths"))
        self._caches = [target.name for target in replica.targets if target.kind in _CACHES]

    @property
    def last_readings(self) -> Mapping[str, TargetReading]:
        """The last page of each target that was recognised."""
        return self._last

    @property
    def versions(self) -> dict[str, str]:
        """What the present process of each target told of itself; empty where unknown."""
        return {name: meter.version for name, meter in self._meters.items()}

    def continues(self, name: str, reading: TargetReading) -> bool:
        """The page is of the process that the target had at its last scrape, as far as can be seen."""
        return self._meters[name].continues(reading)

    def memory(self) -> dict[str, object]:
        """What the next start needs; JSON-able."""
        return {
            "at": self._at,
            "since": self._since if self._since != float("inf") else None,
            "cache_ok": self._cache_ok,
            "open": self._open,
            "in_flight": self._in_flight,
            "usage": self._usage,
            "counted_at": dict(self._counted_at),
            "exports": sorted(self._exports),
            "paths": self._paths.memory(),
            "early_gaps": dict(self._early_gaps),
            "unattributed": dict(self._unattributed),
            "ranks": self._ranks.memory(),
            "meters": {name: meter.memory() for name, meter in self._meters.items()},
        }

    def feed(self, at: float, answers: Mapping[str, Answered]) -> Round:
        """Account the round at `at` (epoch seconds); a target without an answer was not reached."""
        if self._since is None:
            self._since = at
        answered = {name: answer.reading for name, answer in answers.items() if answer.reading is not None}
        self._told = {name: answer.scrape.version for name, answer in answers.items()}
        readings = {name: self._continued(name, page) for name, page in self._paths.once(answered).items()}
        usable = {name: reading for name, reading in readings.items() if self._usable(name, reading)}
        had_external = {name for name in usable if self._meters[name].knows(Reading.EXTERNAL_QUERIES)}
        increases = {name: self._increase(name, reading) for name, reading in usable.items()}
        row = _Row({"started_at": at if self._at is None else min(self._at, at), "ended_at": at})
        missed = self._missed_rounds(at)
        if missed and self._paths.engines:
            row.add("engine_gaps", missed)
        for name in self._paths.memory():  # should it turn out to be another process, it counts from there
            if name in answered and answered[name].recognised:
                self._increase(name, self._continued(name, answered[name]))
        for name in self._paths.engines:
            self._engine(name, readings.get(name), increases.get(name), row)
        self._cache(readings, increases, row)
        self._loads(readings, increases, row)
        self._transfer(row)
        self._edges(readings, row)
        if row.fields.get("restarts"):
            row.fields["prompt_tokens_since_restart"] = row.fields.get("prompt_tokens")
            row.fields["requests_since_restart"] = row.fields.get("requests")
        self._at, self._is_watched = at, True
        self._last |= {name: reading for name, reading in readings.items() if reading.recognised}
        for name in self._paths.memory():
            self._last.pop(name, None)
        notes: set[Note] = set()
        for name, reading in readings.items():
            notes |= reading_notes(name, reading) | version_notes(self._version(name), reading)
        for name in increases.keys() & set(self._paths.engines):
            notes |= change_notes(name, increases[name], readings[name], had_external=name in had_external)
        notes |= {rebased_note(name) for name, one in increases.items() if one.rebased and one.versions is None}
        notes |= {_same_process(name, first) for name, first in self._paths.memory().items()}
        return Round(
            key=self._replica.key,
            at=at,
            ledger=TokenLedger(**row.fields, notes=frozenset(notes)),
            answer=last_answer(answers.values()),
            scrapes=tuple(answer.scrape for answer in answers.values()),
            model=next((readings[name].model for name in self._paths.engines if name in readings), ""),
            ttft=first_tokens(increases[name] for name in self._paths.engines if name in increases),
            gauges=self._gauges(readings),
            salts=lookups_by_salt(increases.values()),
            pool=pool_account(self._kinds, readings),
            memory=self.memory(),
            mounts=tuple(mounts_of(self._kinds, readings, at)),
        )

    def _increase(self, name: str, reading: TargetReading) -> Increase:
        # at the first round nothing was watched before: whatever runs then is a baseline
        watched_since = self._since if self._is_watched else None
        return self._meters[name].feed(reading, watched_since, self._told.get(name, ""))

    def _version(self, name: str) -> str:
        """vLLM's, as the process told it, else as stated; empty when unknown."""
        return self._told.get(name) or self._replica.version("vllm")

    def _gauges(self, readings: Mapping[str, TargetReading]) -> Gauges:
        """The last values; KV usage that the last page lacks is what was last told.

        It is put into the row, since a row that read vLLM and has no usage says that none could be told.
        """
        found = replica_gauges(self._last)
        if any(name in readings and readings[name].recognised for name in self._paths.engines):
            if found.kv_usage_ratio is None and not found.kv_usage_untold:
                return replace(found, kv_usage_ratio=self._usage)
            self._usage = found.kv_usage_ratio
        return found

    def _continued(self, name: str, reading: TargetReading) -> TargetReading:
        return self._meters[name].continued(reading) if name in self._meters else reading

    def _usable(self, name: str, reading: TargetReading) -> bool:
        """Its counts can be taken. One that lacks a tier's counter it had before would make a wrong share.

        The next scrape that has them all covers the time between.
        """
        if not reading.recognised or name not in self._meters:
            return False
        if self._meters[name].changes(self._told.get(name, "")):
            return True
        gone = {one for one in self._meters[name].misses(reading) if one in _TIERS}
        gone = gone and gone - {key.reading for key in reading.counters}
        return not gone and not any(one in _TIERS for one, _ in self._meters[name].lacks(reading))

    def _missed_rounds(self, at: float) -> int:
        """Rounds that nobody made, since the collector was away."""
        if self._interval is None or self._at is None:
            return 0
        return max(0, round((at - self._at) / self._interval) - 1)

    def _engine(self, name: str, reading: TargetReading | None, increase: Increase | None, row: _Row) -> None:
        """One vLLM target's share of the row."""
        if reading is None or increase is None:
            self._gap(name, "engine_gaps", row)
            return
        self._end_gap(name, increase, "engine_gaps", row)
        self._reach_back(name, increase, row)
        if increase.missing & ENGINE_COUNTS.keys():
            row.add("engine_gaps", 1)
        row.add("restarts", int(increase.restarted))
        row.add("counter_resets", int(increase.reset))
        if increase.restarted or increase.reset:
            self._unattributed.pop(name, None)
            self._exports.discard(name)
        if increase.rebased:
            row.add("engine_gaps", 1)
        if not increase.covers_start:
            return
        row.add("engine_scrapes", 1)
        counts = dict(increase.counts)
        self._settle_external(name, reading, counts, row)
        for reading_name, field in ENGINE_COUNTS.items():
            row.add(field, counts.get(reading_name))
        row.add("host_hits", counts.get(Reading.HOST_HITS, 0.0))
        row.add("disk_hits", counts.get(Reading.DISK_HITS, 0.0))
        row.add("transfer_tokens", counts.get(Reading.P2P_HITS, 0.0))
        if recounts_preempted(self._version(name)):
            row.add("recounting_preemptions", counts.get(Reading.PREEMPTIONS))
        for field, value in prompt_counts(reading, increase).items():
            row.add(field, value)

    def _settle_external(self, name: str, reading: TargetReading, counts: dict[Reading, float], row: _Row) -> None:
        """Absent external counters: 0 for an engine that always exports them, else their tokens stay open.

        They are settled when the counters appear later in the same process.
        """
        if ALWAYS_EXPORTS_EXTERNAL in reading.flags or always_exports_external(self._version(name)):
            self._exports.add(name)
        if Reading.EXTERNAL_HITS in counts and _all_engines_tell(reading, Reading.EXTERNAL_HITS):
            row.add("unattributed_tokens", -self._unattributed.pop(name, 0.0))
        elif name in self._exports and not self._meters[name].knows(Reading.EXTERNAL_HITS):
            row.add("unattributed_tokens", -self._unattributed.pop(name, 0.0))
            counts[Reading.EXTERNAL_HITS] = 0.0
            counts.setdefault(Reading.EXTERNAL_QUERIES, 0.0)
        else:
            tokens = counts.get(Reading.PROMPT_TOKENS, 0.0)
            self._unattributed[name] = self._unattributed.get(name, 0.0) + tokens
            row.add("unattributed_tokens", tokens)

    def _cache(self, readings: Mapping[str, TargetReading], increases: Mapping[str, Increase], row: _Row) -> None:
        """LMCache's share of the row: from its own targets, else from what it merged into vLLM's body."""
        names = self._caches or [name for name in self._paths.engines if self._has_embedded(readings.get(name))]
        if not names and self._cache_ok is None:
            return
        row.fields["cache_at_start"] = self._cache_ok
        for name in names:
            increase = increases.get(name)
            if increase is None:
                if name in self._caches:
                    self._gap(name, "cache_gaps", row)
                continue
            if name in self._caches:
                self._end_gap(name, increase, "cache_gaps", row)
            if increase.missing & CACHE_COUNTS.keys() or (increase.rebased and name in self._caches):
                row.add("cache_gaps", 1)
            self._cache_counts(readings[name], increase, row)
        read = [increases[name] for name in names if name in increases]
        for alike, tokens in self._ranks.increases(read).items():
            if alike in CACHE_COUNTS:
                row.add(CACHE_COUNTS[alike], tokens)
        if read and self._cache_ok is None and self._at is not None:
            row.fields["cache_at_start"] = all(increase.covers_start for increase in read)
        whole = [increase for increase in read if not increase.missing & CACHE_COUNTS.keys()]
        ok = bool(names) and len(whole) == len(names)
        row.fields["cache_at_end"] = ok
        if ok or self._cache_ok is not None:
            self._cache_ok = ok
        if any(increase.restarted for increase in read) and self._in_flight and "stores_submitted" in row.fields:
            row.add("stores_submitted", -self._in_flight)  # the dead process's: nobody saw how they ended
        self._in_flight = row.fields["stores_in_flight"] = stores_in_flight(
            (readings[name] for name in names if name in readings),
            max(0.0, row.fields.get("stores_submitted") or 0.0),
        )

    def _cache_counts(self, reading: TargetReading, increase: Increase, row: _Row) -> None:
        """One page's; what ranks count alike is left to all pages together."""
        alike = {name for name, _ in increase.alike}
        for name, field in CACHE_COUNTS.items():
            row.add(field, None if name in alike else increase.counts.get(name))
        row.add("l2_found", remote_tokens(increase, reading, self._replica.kv_bytes_per_token))
        ratios = increase.histograms.get(Reading.REQUEST_HIT_RATIO)
        if ratios is not None:
            row.add("request_ratio_sum", ratios.sum)
            row.add("request_ratio_count", ratios.count)

    def _loads(self, readings: Mapping[str, TargetReading], increases: Mapping[str, Increase], row: _Row) -> None:
        """What LMCache inside vLLM tells of its loads, on its own page or on vLLM's; else what vLLM waited for."""
        engines = [name for name in self._paths.engines if name in increases]
        own = [target.name for target in self._replica.targets if target.kind is SourceKind.LMCACHE]
        inside = own or [name for name in engines if self._has_embedded(readings[name])]
        row.fields |= load_counts((increases.get(name) for name in inside or engines), is_embedded=bool(inside))

    def _edges(self, readings: Mapping[str, TargetReading], row: _Row) -> None:
        """Requests running or waiting before and after this round."""
        before, self._open = self._open, open_requests(readings.get(name) for name in self._paths.engines)
        row.fields["open_at_start"] = self._open if self._at is None else before
        row.fields["open_at_end"] = self._open

    def _transfer(self, row: _Row) -> None:
        """On a decode replica all that vLLM does not attribute to host or disk came from prefill replicas.

        Of one interval it may be negative, since the counters move at slightly different moments.
        """
        external = row.fields.get("external_hits")
        if self._replica.role is Role.CONSUMER and external is not None:
            own = row.fields.get("host_hits", 0.0) + row.fields.get("disk_hits", 0.0)
            row.fields["transfer_tokens"] = external - own

    def _gap(self, name: str, field: str, row: _Row) -> None:
        """A missing scrape; before the first one nobody knows yet whether there was a process to miss."""
        if self._meters[name].met:
            row.add(field, 1)
        else:
            self._early_gaps[name] = self._early_gaps.get(name, 0) + 1

    def _end_gap(self, name: str, increase: Increase, field: str, row: _Row) -> None:
        missed = self._early_gaps.pop(name, 0)
        if missed and not increase.covers_start:
            row.add(field, missed)

    def _reach_back(self, name: str, increase: Increase, row: _Row) -> None:
        """The row covers the time since the engine was last counted: that of scrapes that failed in between, too."""
        before, self._counted_at[name] = self._counted_at.get(name), row.fields["ended_at"]
        if before is not None and increase.covers_start and not increase.restarted:
            row.fields["started_at"] = min(row.fields["started_at"], before)

    @staticmethod
    def _has_embedded(reading: TargetReading | None) -> bool:
        return reading is not None and HAS_EMBEDDED_LMCACHE in reading.flags


def _same_process(name: str, first: str) -> Note:
    return Note(NoteCode.SAME_PROCESS, f"{name} and {first} are one process, counted once", name)


def _meter(kind: SourceKind, memory: Mapping[str, object] | None) -> Meter:
    families = BY_KIND[kind].families
    zeros = [family.reading for family in families if family.zero_when_absent]
    largest = [family.reading for family in families if family.largest]
    if kind is SourceKind.VLLM:
        largest += [family.reading for family in BY_KIND[SourceKind.LMCACHE].families if family.largest]
    return Meter(zeros, largest, memory)


def _all_engines_tell(reading: TargetReading, counter: Reading) -> bool:
    """Each engine of the page that looks prompts up exports the counter too."""
    engines = {key.engine for key in reading.counters if key.reading is Reading.PROMPT_TOKENS}
    return engines <= {key.engine for key in reading.counters if key.reading is counter}
