"""Faults of names: the same counts under other names than boards expect."""

from __future__ import annotations

import re

from lab.sim.fault import Address, BaseFault, FaultTarget, is_engine

_OLD_NAMES = {
    "vllm:prefix_cache_": "vllm:gpu_prefix_cache_",
    "vllm:kv_cache_usage_perc": "vllm:gpu_cache_usage_perc",
}
_TOTAL = re.compile(r"^((?:# \w+ )?vllm_(?!iteration_tokens)\w+?)_total(?=[ {])", re.MULTILINE)
_LOOKUPS = re.compile(r"^vllm:(prefix_cache_(?:queries|hits)_total)(\{.*\}) .*$", re.MULTILINE)


class MetricRename(BaseFault):
    """The engine exports the names of older versions."""

    name = "metric-rename"
    seen = (
        "note `renamed`: prefix cache and KV usage are read under their former names; boards by the new ones are empty"
    )

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if is_engine(address, target):
            for new, old in _OLD_NAMES.items():
                text = text.replace(new, old)
        return text


class NamesRespelled(BaseFault):
    """Something on the way writes names anew: `vllm_` for `vllm:`, and no `_total`."""

    name = "names-respelled"
    seen = "nothing: every spelling is read, and figures go on without a gap; boards by the usual names are empty"

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        return _TOTAL.sub(r"\1", text.replace("vllm:", "vllm_")) if is_engine(address, target) else text


class BothNames(BaseFault):
    """The former names are exported beside the new ones, and stay at 0."""

    name = "both-names"
    seen = "nothing: names of one generation are read; a board that divides former hits by new queries shows 0 %"

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if not is_engine(address, target):
            return text
        lines = [f"vllm:gpu_{match[1]}{match[2]} 0.0\n" for match in _LOOKUPS.finditer(text)]
        return text + "".join(sorted(lines))
