"""The Endpoint view's content: its story, its replicas over time and now, and what happened to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from console.alert_marks import Stretch, alert_stretches, maintenance_stretches
from console.change_words import is_proved, proof_words
from console.deployment import Seen, strategy_words
from console.deployment_part import DeploymentPart, deployment_part
from console.fleet_page import model_words, replica_words
from console.moments import Moment, event_rows, moments
from console.segments import Source
from console.story import Span, Story, tell
from console.totals import EndpointSummary
from console.versions import version_column, version_words
from console.words import GLYPHS, backend_words, bounds_words, quantile_of, quantile_words, ratio_words, short_reason
from console.worth import worth_words
from db import PoolNow
from tierdeck.account import ReplicaAccount
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.silence import Silence
from tierdeck.changes.proof import Proof
from tierdeck.deployed import Deployed
from tierdeck.figure import Bounded, Figure, Ratio
from tierdeck.fleet import Endpoint
from tierdeck.rounds import SaltCounts
from tierdeck.summary import Summary
from tierdeck.units import format_count, format_size

NUMBERS = ("prompt tokens", "hit ratio", "KV usage")


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
        deployment: the tiers' sizes, and how the cluster's API says that it is deployed.
        events: the latest, in the window or before.
    """

    facts: str
    story: Story
    hits: pd.DataFrame
    heat: pd.DataFrame
    moments: tuple[Moment, ...]
    replicas: pd.DataFrame
    states: tuple[str, ...]
    deployment: DeploymentPart
    worth: str = ""
    events: pd.DataFrame = field(default_factory=pd.DataFrame)
    tenants: pd.DataFrame = field(default_factory=pd.DataFrame)
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What the store told of an endpoint.

    Attributes:
        whole, by_replica: as `Store.endpoint_series` and `replica_series`.
        events: of the window, those of the cluster's pools among them; `latest`: the last ones of all.
        alerts: of the window, of this endpoint and of the cluster's pools; silences: all.
        proof: of the routing strategy, by the last probe.
    """

    whole: pd.DataFrame
    by_replica: pd.DataFrame
    salts: Mapping[str, SaltCounts]
    events: pd.DataFrame
    latest: pd.DataFrame
    deployed: Deployed | None = None
    pools: Sequence[PoolNow] = ()
    alerts: Sequence[Alert] = ()
    silences: Sequence[Silence] = ()
    proof: Proof | None = None


def endpoint_page(
    span: Span,
    declared: Endpoint,
    part: EndpointSummary,
    told: Told,
) -> EndpointPage:
    """From what the store told."""
    whole, by_replica = span.cut(told.whole), told.by_replica
    seen = Seen(told.deployed, part.accounts, told.pools)
    is_sure = is_proved(told.proof, declared.strategy)
    proved = proof_words(told.proof, declared.strategy, span.end_at) if is_sure else ""
    strategy = strategy_words(declared, told.deployed, proved)
    facts = [backend_words(declared.backend), model_words(part, declared), strategy, _replicas(part)]
    facts += filter(None, [version_words(declared.replicas)])
    versions = version_column(declared.replicas)
    states = dict.fromkeys(summary.state for _, summary in part.replicas)
    rows = pd.DataFrame([_row(account, summary) for account, summary in part.replicas])
    if versions and len(rows):
        rows["version"] = rows["replica"].map(versions)
    edges = span.start_at, span.end_at
    windows = maintenance_stretches(told.silences, *edges, [(declared.cluster, declared.name)])
    stretches = (*alert_stretches(told.alerts, *edges, told.silences), *windows)
    return EndpointPage(
        facts=" · ".join(facts),
        story=tell(span, [part], whole, whole),
        hits=whole[["at", "width_seconds", "hit_ratio"]],
        heat=_heat(by_replica, whole, span, [account.name for account, _ in part.replicas]),
        moments=moments(span, told.events, by_replica, stretches),
        replicas=rows.astype(dict.fromkeys(NUMBERS, "float64")) if len(rows) else rows,
        states=tuple(f"{GLYPHS[state]} {state}: {state.meaning}" for state in sorted(states)),
        deployment=deployment_part(declared, seen),
        events=event_rows(told.latest, span.end),
        worth=worth_words(part.whole.worth) if part.whole.state.readable else "",
        tenants=pd.DataFrame([_tenant(salt, counts) for salt, counts in told.salts.items()]),
        stretches=stretches,
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
