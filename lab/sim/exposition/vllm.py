"""A vLLM API server's page: as recorded from 0.32, with what older versions have more or less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from lab.sim.exposition.engine_series import EngineGauges, EngineSeries, Miscounts
from lab.sim.exposition.page import Layout, Page
from lab.sim.exposition.shape import FamilyShape, recorded
from lab.sim.exposition.vllm_forms import FORMER_NAMES, VllmForm
from tierdeck.sizing.prompt import Geometry


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What `cache_config_info` and the labels say."""

    model: str
    geometry: Geometry
    l0_blocks: int


class VllmPage:
    """One API server: its engines' counters, told apart by the label `engine`."""

    def __init__(self, form: VllmForm, facts: EngineFacts, miscounts: Miscounts, ranks: int = 1) -> None:
        self.page = page = Page(_layout(form, facts, ranks))
        self._http = page.cell("http_requests_total")
        self.engines = [EngineSeries(page, str(number), form, miscounts) for number in range(ranks)]

    @property
    def lookups(self) -> tuple[float, float]:
        """Tokens looked up and hit by the last engine: what production-stack's router takes for the whole page."""
        return self.engines[-1].lookups

    def answered(self) -> None:
        """An answer was sent."""
        self._http.add(1)

    def render(self, gauges: Sequence[EngineGauges]) -> str:
        for engine, figures in zip(self.engines, gauges, strict=True):
            engine.show(figures)
        return self.page.render()


@cache
def _layout(form: VllmForm, facts: EngineFacts, ranks: int) -> Layout:
    geometry = facts.geometry
    labels: dict[str, str | None] = {
        "model_name": facts.model,
        "block_size": str(geometry.block_tokens),
        "effective_attention_block_size": str(geometry.block_tokens),
        "num_gpu_blocks": str(facts.l0_blocks),
        "num_gpu_blocks_override": "None",
        "kv_cache_size_tokens": str(facts.l0_blocks * geometry.block_tokens),
        "kv_cache_max_concurrency": repr(round(facts.l0_blocks * geometry.block_tokens / 32768, 2)),
        "kv_cache_memory_bytes": "None",
        **dict.fromkeys(form.removed_labels),
    }
    shape = recorded("vllm").without(form.removed)
    if ranks > 1:
        shape = shape.repeated("engine", map(str, range(ranks)))
    former = [_under_former_name(family) for family in shape.families] if form.has_former_names else []
    return Layout(shape.plus(family for family in former if family is not None).relabelled(labels))


def _under_former_name(family: FamilyShape) -> FamilyShape | None:
    """A copy, where the family has a former name."""
    for new, old in FORMER_NAMES.items():
        if family.name.removesuffix("_total") == new:
            samples = tuple(replace(sample, name=sample.name.replace(new, old)) for sample in family.samples)
            return replace(
                family, name=family.name.replace(new, old), header=family.header.replace(new, old), samples=samples
            )
    return None
