"""The Endpoint view's content: its story, its replicas over time and now, and what happened to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from console.fleet_page import model_words, replica_words
from console.segments import Source
from console.story import Span, Story, tell
from console.totals import EndpointSummary
from console.versions import version_column, version_words
from console.words import GLYPHS, bounds_words, quantile_of, quantile_words, ratio_words, short_reason
from console.worth import worth_words
from tierdeck.account import ReplicaAccount
from tierdeck.figure import Bounded, Figure, Ratio
from tierdeck.fleet import Endpoint
from tierdeck.rounds import SaltCounts
from tierdeck.summary import Summary
from tierdeck.units import format_count, format_size

NOT_PROVED = "configured, not proved"
NUMBERS = ("prompt tokens", "hit ratio", "KV usage")
_MOST_MOMENTS = 5
_SHORT_NAME = 12


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at `at` (UTC), in a word or two."""

    at: pd.Timestamp
    words: str


@dataclass(frozen=True, slots=True)
class EndpointPage:
    """Complete, with nothing left to compute.

    Attributes:
        facts: backend, model, strategy, replicas, versions in words.
        hits: `at`, `width_seconds`, `hit_ratio`.
        heat: hit ratio, one row per replica, one column per bucket's start; NaN: unknown.
        replicas: one row per replica; figures as words, or as numbers to sort by (NaN: unknown).
        states: what each state in the table means.
        tenants: what LMCache looked up and found by cache salt; empty where nobody uses salts.
        worth: whether L1 and L2 pay here; "" where the endpoint is not readable.
    """

    facts: str
    story: Story
    hits: pd.DataFrame
    heat: pd.DataFrame
    moments: tuple[Moment, ...]
    replicas: pd.DataFrame
    states: tuple[str, ...]
    worth: str = ""
    tenants: pd.DataFrame = field(default_factory=pd.DataFrame)


def endpoint_page(
    span: Span,
    declared: Endpoint,
    part: EndpointSummary,
    series: tuple[pd.DataFrame, pd.DataFrame],
    salts: Mapping[str, SaltCounts],
) -> EndpointPage:
    """From what the store told.

    Args:
        series: of the endpoint, and of its replicas.
    """
    whole = span.cut(series[0])
    strategy = f"{declared.strategy} ({NOT_PROVED})" if declared.strategy else "strategy not told"
    facts = [declared.backend, model_words(part, declared), strategy, _replicas(part)]
    facts += filter(None, [version_words(declared.replicas)])
    versions = version_column(declared.replicas)
    states = dict.fromkeys(summary.state for _, summary in part.replicas)
    rows = pd.DataFrame([_row(account, summary) for account, summary in part.replicas])
    if versions and len(rows):
        rows["version"] = rows["replica"].map(versions)
    return EndpointPage(
        facts=" · ".join(facts),
        story=tell(span, [part], whole, whole),
        hits=whole[["at", "width_seconds", "hit_ratio"]],
        heat=_heat(series[1], whole, span, [account.name for account, _ in part.replicas]),
        moments=_moments(series[1], span),
        replicas=rows.astype(dict.fromkeys(NUMBERS, "float64")) if len(rows) else rows,
        states=tuple(f"{GLYPHS[state]} {state}: {state.meaning}" for state in sorted(states)),
        worth=worth_words(part.whole.worth) if part.whole.state.readable else "",
        tenants=pd.DataFrame([_tenant(salt, counts) for salt, counts in salts.items()]),
    )


def _replicas(part: EndpointSummary) -> str:
    words = replica_words(part)
    return f"{words} replica{'' if words == '1' else 's'}" if words.isdigit() else f"replicas: {words}"


def _heat(series: pd.DataFrame, whole: pd.DataFrame, span: Span, order: list[str]) -> pd.DataFrame:
    """Raw rows fall into the endpoint's buckets; holes between them become columns of NaN; departed replicas last."""
    if whole.empty or series.empty:
        return pd.DataFrame()
    width = pd.Timedelta(seconds=whole["width_seconds"].iloc[0])
    at = series["at"] if span.resolution.value else series["at"].dt.ceil(width) - width
    found = series.assign(at=at).pivot_table(index="replica", columns="at", values="hit_ratio", aggfunc="mean")
    buckets = pd.date_range(whole["at"].min(), whole["at"].max(), freq=width)
    coarse = pd.Index(whole.loc[whole["is_spread"], "at"]).difference(found.columns)
    if len(coarse):
        found = found.reindex(columns=found.columns.union(coarse))
        found[coarse] = found.bfill(axis=1)[coarse]
    return found.reindex(columns=buckets).reindex([*order, *sorted(set(series["replica"]) - set(order))])


def _moments(series: pd.DataFrame, span: Span) -> tuple[Moment, ...]:
    """Restarts; those close to each other stand as one."""
    restarted = series[series["restarts"] > 0].sort_values("at")
    apart = pd.Timedelta(seconds=span.window.seconds / _MOST_MOMENTS)
    groups: list[list[tuple[pd.Timestamp, str, int]]] = []
    for at, replica, restarts in zip(restarted["at"], restarted["replica"], restarted["restarts"], strict=True):
        if groups and at - groups[-1][0][0] < apart:
            groups[-1].append((at, replica, restarts))
        else:
            groups.append([(at, replica, restarts)])
    return tuple(Moment(group[0][0], _restart_words(group)) for group in groups)


def _restart_words(group: list[tuple[pd.Timestamp, str, int]]) -> str:
    restarts = sum(count for _, _, count in group)
    if restarts > 1:
        return f"{restarts} restarts"
    name = group[0][1]
    return f"restart {name if len(name) <= _SHORT_NAME else '…' + name[1 - _SHORT_NAME :]}"


def _row(account: ReplicaAccount, one: Summary) -> dict[str, str | float | None]:
    tiers = one.tiers
    quantiles = [quantile_words(quantile_of(one.ttft, one.ttft_reason, q)) for q in (0.5, 0.95)]
    return {
        "replica": account.name,
        "state": f"{GLYPHS[one.state]} {one.state}",
        "restarts": one.restarts,
        "prompt tokens": tiers.prompt_tokens.value,
        "hit ratio": _percent(tiers.by_token),
        Source.L0.label: _share(tiers.l0, tiers.prompt_tokens),
        Source.L1.label: _bounded(tiers.l1, tiers.prompt_tokens),
        Source.L2.label: _bounded(tiers.l2, tiers.prompt_tokens),
        Source.MISS.label: _share(tiers.miss, tiers.prompt_tokens),
        "TTFT p50 / p95": " / ".join(dict.fromkeys(quantiles)),
        "KV usage": _percent(one.kv_usage),
        "running / waiting": f"{_short(one.running)} / {_short(one.waiting)}",
        "L1 used": _sizes(one),
    }


def _tenant(salt: str, counts: SaltCounts) -> dict[str, str | float | None]:
    return {
        "cache salt": salt or "(none)",
        "looked up": counts.lookup_tokens,
        "found": _percent(counts.found_ratio),
        "found in L1": counts.l1_found,
        "found in L2": counts.l2_found,
    }


def _share(part: Figure, whole: Figure) -> str:
    return ratio_words(Ratio.of(part, whole))


def _bounded(part: Bounded, whole: Figure) -> str:
    """`18 %`, with its bounds where they differ: `18 % (16–19 %)`."""
    middle, low, high = (Ratio.of(figure, whole) for figure in (part.figure, part.low, part.high))
    if low.value is None or high.value is None:
        return ratio_words(middle)
    between = bounds_words(low.value, high.value)
    if middle.value is None:
        return between
    return f"{ratio_words(middle)} ({between})" if "–" in between else ratio_words(middle)


def _percent(ratio: Figure) -> float | None:
    return None if ratio.value is None else 100 * ratio.value


def _short(figure: Figure) -> str:
    return format_count(figure.value) if figure.value is not None else "–"


def _sizes(one: Summary) -> str:
    if one.l1_used.value is None:
        return short_reason(one.l1_used.reason)
    of = f" of {format_size(one.l1_capacity.value)}" if one.l1_capacity.value is not None else ""
    return f"{format_size(one.l1_used.value)}{of}"
