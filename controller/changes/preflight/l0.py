"""Whether L0 holds at least one request of the longest kind: vLLM does not start with less.

Source: vLLM, v1/core/kv_cache_utils.py (it raises where the KV cache needed for max_model_len is larger than what is
available); blocks of `--block-size` tokens. Only numbers that are known are compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.saying import size
from controller.reading.processes import Process
from controller.reading.sizes import integer_of, ranks_of
from controller.reading.told import UntoldError, argument
from tierdeck.changes.plan import Refusal
from tierdeck.changes.wish import L0Wish

_LONGEST, _BLOCK = "--max-model-len", "--block-size"


def find_l0(ahead: Ahead) -> Iterator[Finding]:
    """Only where L0 changes."""
    wished = ahead.wish.l0
    if wished is None:
        return
    for one in ahead.engines:
        if one.process is not None:
            yield from _holds(ahead, one, one.process, wished)


def _holds(ahead: Ahead, one: Restart, engine: Process, wished: L0Wish) -> Iterator[Finding]:
    longest = _longest(engine)
    if isinstance(longest, str):
        if longest:
            yield f"Whether L0 holds a request of the longest kind on {one.ref} is not checked: {longest}."
        return
    tokens = _tokens(ahead, engine, wished)
    if isinstance(tokens, str):
        yield f"Whether L0 holds {longest:,} tokens ({_LONGEST}) on {one.ref} is not checked: {tokens}."
        return
    held, how = tokens
    if held < longest:
        yield Refusal(
            "l0_too_small",
            f"L0 would hold {held:,} tokens ({how}) and {_LONGEST} of {one.ref} is {longest:,}: vLLM does not start.",
            f"Make L0 larger, or {_LONGEST} at most {held:,}.",
        )


def _longest(engine: Process) -> int | str:
    """Tokens of the longest request; a text is the reason why that is not known, empty where it fits itself."""
    if engine.command.problem:
        return engine.command.problem
    try:
        stated = argument(engine, _LONGEST)
    except UntoldError as error:
        return str(error)
    if not stated:
        return f"{_LONGEST} is not set, so the model's own configuration tells it"
    if stated.lower() in ("auto", "-1"):
        return ""
    return integer_of(stated) or f"{_LONGEST} {stated} is no number of tokens"


def _tokens(ahead: Ahead, engine: Process, wished: L0Wish) -> tuple[int, str] | str:
    """Tokens that L0 will hold, and how that comes about; a text is the reason why it is not known."""
    load = ahead.look.load
    if wished.blocks is not None:
        block = integer_of(engine.command.value(_BLOCK) or "-") or load.block_tokens
        if not block:
            return "how many tokens a block holds is not known"
        return wished.blocks * block, f"{wished.blocks:,} blocks of {block}"
    if wished.size_bytes is not None:
        ranks = ranks_of(engine)
        if isinstance(ranks, str):
            return ranks
        if not load.kv_bytes_per_token:
            return "how many bytes a token takes is not known (kv_bytes_per_token of the endpoint)"
        return int(wished.size_bytes * ranks // load.kv_bytes_per_token), (
            f"{size(wished.size_bytes)} on each of {ranks} ranks, {load.kv_bytes_per_token:,.0f} bytes a token"
        )
    return "how much of the GPU's memory is left for it beside the weights shows only when vLLM starts"


L0 = Check("L0", ("l0_too_small",), find_l0)
