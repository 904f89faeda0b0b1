"""Random PromQL trees that Prometheus would take."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from collectors.lint.promql import (
    COMPARISONS,
    SET_OPERATORS,
    Aggregate,
    Binary,
    Call,
    Expr,
    Matcher,
    Matching,
    Negative,
    Number,
    Range,
    Selector,
    Subquery,
)

_NAMES = (
    "vllm:prefix_cache_hits_total",
    "vllm:prefix_cache_queries_total",
    "vllm:gpu_prefix_cache_hits_total",
    "vllm_prefix_cache_queries",
    "vllm:external_prefix_cache_hits_total",
    "vllm:external_prefix_cache_queries_total",
    "vllm:kv_cache_usage_perc",
    "vllm:num_requests_running",
    "vllm:gpu_prefix_cache_hit_rate",
    "vllm:time_to_first_token_seconds_sum",
    "vllm:time_to_first_token_seconds_count",
    "vllm:time_to_first_token_seconds_bucket",
    "lmcache:num_lookup_hits_total",
    "lmcache:num_lookup_tokens_total",
    "lmcache:retrieve_hit_rate",
    "lmcache_mp_lookup_hit_l1_tokens_total",
    "other",
)
_LABELS = ("instance", "pod", "server", "model_name", "le")
_label_lists = st.lists(st.sampled_from(_LABELS), unique=True, max_size=2).map(tuple)
_durations = st.sampled_from([timedelta(minutes=5), timedelta(hours=1, minutes=30), timedelta(milliseconds=1500)])
_matchers = st.builds(
    Matcher, st.sampled_from(_LABELS), st.sampled_from(["=", "!=", "=~", "!~"]), st.sampled_from(["a", 'q"\\n', ".+"])
)
_matcher_lists = st.lists(_matchers, max_size=2, unique_by=lambda one: one.name).map(tuple)
_selectors = st.builds(Selector, st.sampled_from(_NAMES), _matcher_lists, st.none() | _durations)
_numbers = st.sampled_from([0.0, 0.3, 1.0, 30.0, 100.0, 1e-10]).map(Number)
_rated = st.builds(
    lambda function, selector, duration: Call(function, (Range(selector, duration),)),
    st.sampled_from(["rate", "increase", "avg_over_time"]),
    _selectors,
    _durations,
)


def _matched(op: str, matching: Matching) -> Matching:
    """What Prometheus lets the operator have."""
    as_bool = matching.as_bool and op in COMPARISONS
    group = "" if op in SET_OPERATORS or matching.on is None else matching.group
    return Matching(matching.on, matching.labels if matching.on is not None else (), group, (), as_bool)


def _binary(op: str, left: Expr, right: Expr, matching: Matching) -> Expr:
    return Binary(op, left, right, _matched(op, matching))


def _grown(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    matchings = st.builds(
        Matching, st.none() | st.booleans(), _label_lists, st.sampled_from(["", "left", "right"]), as_bool=st.booleans()
    )
    arithmetic = st.sampled_from(["+", "-", "*", "/", "%", "^", *COMPARISONS])
    scaled = st.sampled_from(["+", "*", "/", "<", ">"])
    return st.one_of(
        st.builds(Aggregate, st.sampled_from(["sum", "avg", "max", "count"]), inner, st.none(), st.just(False)),
        st.builds(Aggregate, st.sampled_from(["sum", "avg", "max"]), inner, _label_lists, st.booleans()),
        st.builds(_binary, arithmetic, inner, inner, matchings),
        st.builds(_binary, st.sampled_from(SET_OPERATORS), inner, inner, matchings),
        st.builds(Binary, scaled, inner, _numbers),
        st.builds(Negative, inner),
        st.builds(lambda below: Call("histogram_quantile", (Number(0.95), below)), inner),
        st.builds(lambda below, low: Call("clamp_min", (below, low)), inner, _numbers),
        st.builds(lambda below, span: Call("avg_over_time", (Subquery(below, span, None),)), inner, _durations),
    )


def trees() -> st.SearchStrategy[Expr]:
    """Instant vectors."""
    return st.recursive(st.one_of(_selectors, _rated), _grown, max_leaves=6)
