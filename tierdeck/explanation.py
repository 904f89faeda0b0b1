"""The ledger document as text for people: every figure, every reservation, and how each is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tierdeck.computation import COMPUTATIONS
from tierdeck.units import format_count, format_ratio, format_seconds, format_size

_ROWS = {
    "L0": "L0 · GPU",
    "L1": "L1 · CPU",
    "L2": "L2 · shared",
    "L1+L2": "L1 + L2",
    "transfer": "transferred",
    "miss": "recomputed",
}
_WIDTH = 13


def explanation(document: dict[str, Any]) -> str:
    """Fleet first, then each replica, then the pool; then how the figures shown are computed."""
    window = format_seconds(document["window_seconds"])
    lines = [f"Ledger of {window}", *_source(document.get("source")), ""]
    fleet, replicas = document["fleet"], document["replicas"]
    if len(replicas) != 1 or fleet.get("departed"):
        lines += _block("fleet", fleet)
    for name, replica in replicas.items():
        lines += _block(name, replica)
    tenants = [_line("tenant", _tenant(*one)) for one in fleet.get("cache_salts", {}).items()]
    lines += [*tenants, ""] if tenants else []
    if document["pool"] is not None:
        lines += [*_pool(document["pool"]), ""]
    lines += _how(document)
    return "\n".join(lines)


def _block(name: str, part: dict[str, Any]) -> Iterator[str]:
    requests = "unknown" if part["requests"] is None else format_count(part["requests"])
    tokens = "unknown" if part["prompt_tokens"] is None else f"{part['prompt_tokens']:,}"
    yield f"{name}  [{part['state']}]  prompt tokens {tokens}, requests {requests}, restarts {part['restarts']}"
    for key in ("prompt_tokens", "requests"):
        if part[key] is None:
            yield _line(key.replace("_", " "), f"unknown: {part['why'][key]}")
    for key, label in _ROWS.items():
        if key in part["tiers"]:
            yield _line(label, _tier(part["tiers"][key], part["why"], key))
    yield _line("hit ratio", _ratios(part))
    yield _line("TTFT", _ttft(part))
    yield _line("KV usage", _known(part, "kv_usage_ratio", format_ratio))
    yield _line("at work", f"running {_known(part, 'running', format_count)}, "
                           f"waiting {_known(part, 'waiting', format_count)}")  # fmt: skip
    yield _line("not loaded", _known(part, "found_not_loaded_tokens", _unused))
    yield _line("L1 usage", _l1(part))
    yield _line("ceiling", _ceiling(part))
    yield _line("worth it", _worth(part))
    yield from _names(part.get("names", {}))
    if part.get("departed"):
        yield _line("left", f"{', '.join(part['departed'])}: their tokens are in the sum")
    if part.get("unreadable"):
        yield _line("unreadable", ", ".join(part["unreadable"]))
    for note in part["notes"]:
        where = f"{note['replica']}: " if "replica" in note else ""
        evidence = f" ({note['evidence']})" if note["evidence"] else ""
        yield f"  ! {note['code']}: {where}{note['detail']}{evidence}"
    yield ""


def _source(source: dict[str, Any] | None) -> Iterator[str]:
    """Where it was read, and how its labels were understood."""
    if source is None:
        return
    step = format_seconds(source["step_seconds"])
    yield f"Read from a Prometheus, a moment every {step}; endpoints: {', '.join(source['endpoints'])}"
    yield from (f"Guessed: {sentence}" for sentence in source["guessed"])
    yield from (f"Left out: {sentence}" for sentence in source["not_placed"])


def _names(targets: dict[str, Any]) -> Iterator[str]:
    """Which upstream names were read, and which of a reading's names are not there."""
    for target, found in targets.items():
        read = ", ".join(f"{reading} = {name}" for reading, name in found["read"].items())
        yield _line("read from", f"{target}: {read or 'nothing'}")
        if found["not_found"]:
            tried = "; ".join(f"{reading} ({', '.join(names)})" for reading, names in found["not_found"].items())
            yield _line("not there", f"{target}: {tried}")


def _tenant(salt: str, counts: dict[str, Any]) -> str:
    found = counts["found_tokens"]
    ratio = "" if counts["found_ratio"] is None else f", {format_ratio(counts['found_ratio'])} found"
    tiers = f"L1 {found['L1']:,}, L2 {found['L2']:,}"
    return f"{salt or '(no salt)'}: {counts['lookup_tokens']:,} tokens looked up by LMCache{ratio} ({tiers})"


def _line(label: str, text: str) -> str:
    return f"  {label:<{_WIDTH}}{text}"


def _tier(tier: dict[str, Any], why: dict[str, str], key: str) -> str:
    tokens, ratio = tier["tokens"], tier["ratio"]
    bounds = ""
    if tier.get("low") is not None and tier["low"] != tier["high"]:
        bounds = f"  between {tier['low']:,} and {tier['high']:,}"
    if tokens is None:
        return f"{'unknown':>12}{bounds}: {why[f'tiers.{key}.tokens']}"
    return f"{tokens:>12,}{'' if ratio is None else f'{format_ratio(ratio):>8}'}{bounds}"


def _ratios(part: dict[str, Any]) -> str:
    ways = ("by_token", "by_request")
    return "; ".join(f"{way.replace('_', ' ')}: {_known(part, f'hit_ratio.{way}', format_ratio)}" for way in ways)


def _ttft(part: dict[str, Any]) -> str:
    count = part["ttft_seconds"]["count"]
    if not count:
        return _quantile(part, "p50")
    of = f" of {format_count(count)} requests"
    quantiles = ", ".join(f"{name} {_quantile(part, name)}" for name in ("p50", "p95"))
    return f"{quantiles}{of} ({part['ttft_seconds']['vantage']})"


def _quantile(part: dict[str, Any], name: str) -> str:
    quantile = part["ttft_seconds"][name]
    if quantile is None:
        return f"unknown: {part['why'][f'ttft_seconds.{name}']}"
    if "at_least" in quantile:
        return f"at least {format_seconds(quantile['at_least'])}"
    value, low, high = (format_seconds(quantile[key]) for key in ("value", "low", "high"))
    return f"{value} (between {low} and {high})"


def _l1(part: dict[str, Any]) -> str:
    used = _known(part, "tier_usage.L1.used_bytes", format_size)
    if part["tier_usage"]["L1"]["used_bytes"] is None:
        return used
    return f"{used}; capacity {_known(part, 'tier_usage.L1.capacity_bytes', format_size)}"


def _ceiling(part: dict[str, Any]) -> str:
    keys = {"by token": "hit_ratio", "L0": "L0", "L1 + L2": "L1+L2"}
    return "; ".join(f"{label}: {_range(part, f'ceiling.{key}')}" for label, key in keys.items())


def _worth(part: dict[str, Any]) -> str:
    verdict = part["worth"]["verdict"].replace("_", " ")
    long = _known(part, "worth.long_prompts", format_ratio)
    return f"{verdict}; shared: {_range(part, 'worth.shared_prefix')}; above 1,000 tokens: {long}"


def _range(part: dict[str, Any], key: str) -> str:
    low, high = (_known(part, f"{key}.{end}", format_ratio) for end in ("low", "high"))
    if low == high or (low.startswith("unknown") and high.startswith("unknown")):
        return low
    if low.startswith("unknown"):
        return f"at most {high}"
    return f"at least {low}" if high.startswith("unknown") else f"between {low} and {high}"


def _unused(tokens: float) -> str:
    return f"at least {tokens:,} tokens that LMCache found were recomputed" if tokens else "nothing that shows"


def _known(part: dict[str, Any], key: str, form: Callable[[float], str]) -> str:
    value: Any = part
    for step in key.split("."):
        value = value[step]
    return f"unknown: {part['why'][key]}" if value is None else form(value)


def _pool(pool: dict[str, Any]) -> Iterator[str]:
    sizes = {key: "unknown" if pool[key] is None else format_size(pool[key]) for key in
             ("used_bytes", "available_bytes", "capacity_bytes")}  # fmt: skip
    workers = {key: "unknown" if value is None else f"{value:.0f}" for key, value in pool["workers"].items()}
    yield f"pool  used {sizes['used_bytes']}, available {sizes['available_bytes']} of {sizes['capacity_bytes']}"
    yield f"  workers: {', '.join(f'{count} {state}' for state, count in workers.items())}"
    for note in pool["notes"]:
        yield f"  ! {note['code']}: {note['detail']}"


def _how(document: dict[str, Any]) -> Iterator[str]:
    yield "How each figure is computed [from which readings]"
    for key, entry in COMPUTATIONS.items():
        if key == "pool" and document["pool"] is None:
            continue
        if key == "tiers.transfer" and not _transfers(document):
            continue
        yield f"  {entry.title}: {entry.line()}"


def _transfers(document: dict[str, Any]) -> bool:
    return any("transfer" in part["tiers"] for part in (document["fleet"], *document["replicas"].values()))
