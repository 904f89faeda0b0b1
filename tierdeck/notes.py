"""Notes: everything that makes a figure less than certain, as a stable code with detail and evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NoteCode(StrEnum):
    """Codes that stay; `MEANINGS` says what each means, and docs/notes.md lists them."""

    EXTERNAL_DOUBLE_COUNTED = "external_double_counted"
    EXTERNAL_MISMATCH = "external_mismatch"
    PREEMPTED = "preempted"
    RESTARTED = "restarted"
    COUNTER_RESET = "counter_reset"
    SCRAPE_GAP = "scrape_gap"
    LAYOUTS_DIFFER = "layouts_differ"
    SPLIT_ESTIMATED = "split_estimated"
    UNSPLIT = "unsplit"
    NOT_WIRED = "not_wired"
    FOUND_NOT_LOADED = "found_not_loaded"
    STORES_INCOMPLETE = "stores_incomplete"
    RENAMED = "renamed"
    ROUTER_SERIES_IGNORED = "router_series_ignored"
    MEANING_CHANGED = "meaning_changed"
    UNREADABLE_LINES = "unreadable_lines"
    COUNTERS_DISAGREE = "counters_disagree"
    SAME_PROCESS = "same_process"
    SERIES_MISSING = "series_missing"
    LABELS_MISSING = "labels_missing"
    SPARSE_SCRAPES = "sparse_scrapes"
    PROBED = "probed"


MEANINGS: dict[NoteCode, str] = {
    NoteCode.EXTERNAL_DOUBLE_COUNTED: "the engine counted external queries for all lookups, L0's hits included; "
    "hits are divided by tokens looked up, so no ratio is affected",
    NoteCode.EXTERNAL_MISMATCH: "external queries or hits exceed what L0 left over (where it is the hits, the tokens "
    "of the tiers below L0 are withheld), or hits by source exceed the external hits",
    NoteCode.PREEMPTED: "the engine took requests off the batch and prefilled them anew; before vLLM 0.11.1 (assumed "
    "where the version is unknown) such tokens are looked up, and counted, once more",
    NoteCode.RESTARTED: "the engine restarted in the window: its L0 (and embedded L1) began empty, and what it did "
    "after its last scrape is lost",
    NoteCode.COUNTER_RESET: "counters fell though the process did not restart; they were counted from 0",
    NoteCode.SCRAPE_GAP: "a scrape is missing: the next one covers the time between, unless it lies at the window's "
    "edge or before a restart",
    NoteCode.LAYOUTS_DIFFER: "histograms with different buckets were merged on the bounds that all share",
    NoteCode.SPLIT_ESTIMATED: "L1 and L2 are an estimate within their bounds: LMCache's lookup hits also count what "
    "L0 served, and inside vLLM only the bytes read from the remote tell",
    NoteCode.UNSPLIT: "nothing tells L1 from L2 here; their sum is known",
    NoteCode.NOT_WIRED: "a counter stays 0 though others say that it must move",
    NoteCode.FOUND_NOT_LOADED: "LMCache found tokens that vLLM neither loaded nor had in L0: they were recomputed "
    "although cached",
    NoteCode.STORES_INCOMPLETE: "stores to L2 were submitted and did not complete, beyond what is in flight: writes "
    "are being lost",
    NoteCode.RENAMED: "the engine is old enough to export this reading under its former name, which was read",
    NoteCode.ROUTER_SERIES_IGNORED: "a router's copies of engine series (label server) were left out",
    NoteCode.MEANING_CHANGED: "in this version the reading's meaning differs from the newest",
    NoteCode.UNREADABLE_LINES: "some lines of the exposition could not be read and were left out",
    NoteCode.COUNTERS_DISAGREE: "two counters that are kept independently and must agree don't, beyond what is in "
    "flight; both are told, and which figures are withheld is in the table of identities",
    NoteCode.SAME_PROCESS: "one engine is seen over several paths and counted once; where start time and counters are "
    "the same but nothing proves it, all are counted and the note says so",
    NoteCode.SERIES_MISSING: "the Prometheus that is read lacks series that the process exports, or that the other "
    "replicas have: they are not scraped, or dropped by a rule; figures that need them are unknown",
    NoteCode.LABELS_MISSING: "series carry no label that tells replicas apart: one that restarts, or leaves, can't be "
    "seen among several",
    NoteCode.SPARSE_SCRAPES: "the Prometheus that is read scrapes less than once a minute: what an engine did between "
    "its last scrape and a restart is lost",
    NoteCode.PROBED: "Tierdeck proved the routing strategy in this window by requests of its own (20 a probe at most); "
    "engines count them like others, the note says how many tokens they were, and alerting leaves their minutes out",
}


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """One reservation about a figure. `evidence` holds the numbers or series behind it."""

    code: NoteCode
    detail: str
    evidence: str = ""
