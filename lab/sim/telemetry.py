"""What a replica's cache tells the world: the contract of its pages."""

from __future__ import annotations

import json
from typing import Protocol

from lab.sim.exposition.lmcache_embedded import LmcacheEmbeddedPage
from lab.sim.exposition.lmcache_mp import LmcacheServerPage
from lab.sim.exposition.page import Page
from lab.sim.exposition.vllm import EngineFacts
from lab.sim.exposition.vllm_forms import FORMS, VllmForm
from lab.sim.spec import Form
from tierdeck.sizing.chunks import ChunkCache, Stored
from tierdeck.sizing.replica import Lookup


class CacheTelemetry(Protocol):
    """Counts of one LMCache, in whichever form it exports them."""

    @property
    def page(self) -> Page: ...
    def looked_up(self, lookup: Lookup, load_seconds: float, salt: str) -> None: ...
    def stored_in_l1(self, stored: Stored, passed_through: int) -> None: ...
    def submitted_to_l2(self, chunks: int) -> None: ...
    def completed_in_l2(self, chunks: int, submitted: int, seconds: float) -> None: ...
    def evicted_from_l2(self, chunks: int) -> None: ...
    def ticked(self, seconds: float) -> None: ...
    def restart(self, at: float) -> None: ...
    def render(self, l1: ChunkCache) -> str: ...


def cache_page(form: Form, facts: EngineFacts, instance: str, salts: tuple[str, ...]) -> CacheTelemetry:
    """The cache's page of a form."""
    if form is Form.MULTI_PROCESS:
        return LmcacheServerPage(facts.model, facts.geometry, instance, salts)
    return LmcacheEmbeddedPage(facts.model, facts.geometry)


def vllm_form(form: Form) -> VllmForm:
    return FORMS[form.versions["vllm"]]


def cache_source(form: Form) -> str:
    """The cache's source as a deck's configuration names it."""
    return "lmcache-mp" if form is Form.MULTI_PROCESS else "lmcache"


def version_answer(form: Form, source: str) -> str:
    """What vLLM or LMCache answers to `GET /version`: an object, or version and commit as one string."""
    if source == "vllm":
        return json.dumps({"version": form.versions["vllm"]})
    return json.dumps(f"{form.versions['lmcache']}-g3e11e108")
