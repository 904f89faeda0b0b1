"""Metric sources: one file each, registered here."""

from collectors.source import Source
from collectors.sources.curvine import FUSE, MASTER, MASTER_API, WORKER
from collectors.sources.lmcache import COORDINATOR, EMBEDDED, SERVER
from collectors.sources.router import ROUTER
from collectors.sources.vllm import VLLM
from tierdeck.fleet import SourceKind

SOURCES: tuple[Source, ...] = (VLLM, EMBEDDED, SERVER, COORDINATOR, ROUTER, MASTER, MASTER_API, WORKER, FUSE)

BY_KIND: dict[SourceKind, Source] = {source.kind: source for source in SOURCES}
