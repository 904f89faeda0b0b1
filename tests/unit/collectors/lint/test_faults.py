"""Queries with faults: which rules object, and the query that comes out."""

from dataclasses import dataclass

import pytest

from tests.support.queries import judge


@dataclass(frozen=True)
class Case:
    """A query in its surroundings, the rules that object in their order, and the correction."""

    text: str
    rules: tuple[str, ...]
    right: str | None
    unit: str = ""
    alert: bool = False
    board: bool = False
    words: str = ""
    router: bool = False


CASES = (
    Case(
        "rate(vllm:prefix_cache_queries[5m]) / rate(vllm:prefix_cache_hits[5m])",
        ("one_spelling", "inverted_ratio"),
        "rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])",
    ),
    Case(
        'vllm:gpu_prefix_cache_hits_total{endpoint="service-port"} / vllm:gpu_prefix_cache_queries_total',
        ("dead_name", "one_sided_selector", "counter_without_rate"),
        (
            'rate(vllm:prefix_cache_hits_total{endpoint="service-port"}[$__rate_interval]) / '
            'rate(vllm:prefix_cache_queries_total{endpoint="service-port"}[$__rate_interval])'
        ),
        board=True,
    ),
    Case(
        'avg(vllm:gpu_prefix_cache_hit_rate{model_name="$m"})',
        ("dead_name",),
        (
            'sum(rate(vllm:prefix_cache_hits_total{model_name="$m"}[$__rate_interval])) / '
            'sum(rate(vllm:prefix_cache_queries_total{model_name="$m"}[$__rate_interval]))'
        ),
        board=True,
    ),
    Case(
        "vllm:gpu_prefix_cache_hit_rate",
        ("dead_name",),
        (
            "rate(vllm:prefix_cache_hits_total[$__rate_interval]) / "
            "rate(vllm:prefix_cache_queries_total[$__rate_interval])"
        ),
        board=True,
    ),
    Case(
        "avg by (instance) (avg_over_time(vllm:gpu_prefix_cache_hit_rate[10m]))",
        ("dead_name",),
        (
            "sum by (instance) (rate(vllm:prefix_cache_hits_total[10m])) / sum by (instance) "
            "(rate(vllm:prefix_cache_queries_total[10m]))"
        ),
    ),
    Case(
        "rate(lmcache:num_hit_tokens_total[1m]) / (rate(lmcache:num_requested_tokens_total[1m]) + 1e-10) * 100",
        ("retrieve_rate", "idle_as_zero"),
        "rate(lmcache:num_lookup_hits_total[1m]) / (rate(lmcache:num_lookup_tokens_total[1m]) > 0) * 100",
        board=True,
    ),
    Case(
        'sum(vllm:prefix_cache_hits_total{namespace=~"$ns"}) / sum(vllm:prefix_cache_queries_total{namespace=~"$ns"})',
        ("counter_without_rate",),
        (
            'sum(rate(vllm:prefix_cache_hits_total{namespace=~"$ns"}[$__rate_interval])) / '
            'sum(rate(vllm:prefix_cache_queries_total{namespace=~"$ns"}[$__rate_interval]))'
        ),
        board=True,
        unit="percentunit",
    ),
    Case(
        (
            'rate(vllm:gpu_prefix_cache_hits_total{server=~"$s"}[5m]) / '
            'rate(vllm:gpu_prefix_cache_queries_total{server=~"$s"}[5m])'
        ),
        ("dead_name", "gauge_under_rate"),
        "rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])",
        board=True,
    ),
    Case(
        'sum by (server) (rate(vllm:gpu_prefix_cache_hits_total{server=~".+"}[5m]))',
        ("dead_name", "gauge_under_rate"),
        "sum by (instance) (rate(vllm:prefix_cache_hits_total[5m]))",
    ),
    Case(
        "avg(vllm:e2e_request_latency_seconds_sum) / avg(vllm:e2e_request_latency_seconds_count)",
        ("lifetime_average",),
        (
            "sum(rate(vllm:e2e_request_latency_seconds_sum[$__rate_interval])) / "
            "sum(rate(vllm:e2e_request_latency_seconds_count[$__rate_interval]))"
        ),
        board=True,
    ),
    Case(
        "100 * avg(rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m]))",
        ("average_of_ratios", "percent_unit"),
        "sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
        unit="percentunit",
        board=True,
    ),
    Case(
        (
            "avg_over_time((sum(rate(vllm:prefix_cache_hits_total[5m])) / "
            "sum(rate(vllm:prefix_cache_queries_total[5m])))[1h:1m])"
        ),
        ("average_of_ratios",),
        "sum(rate(vllm:prefix_cache_hits_total[1h])) / sum(rate(vllm:prefix_cache_queries_total[1h]))",
    ),
    Case(
        (
            "avg by (model_name) (100 * rate(vllm:prefix_cache_hits_total[5m]) "
            "/ rate(vllm:prefix_cache_queries_total[5m])) * 100"
        ),
        ("average_of_ratios", "percent_unit"),
        (
            "100 * sum by (model_name) (rate(vllm:prefix_cache_hits_total[5m])) / sum by (model_name) "
            "(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
        unit="percent",
    ),
    Case(
        "sum(rate(vllm:prefix_cache_hits[15m])) / clamp_min(sum(rate(vllm:prefix_cache_queries[15m])), 0.001) < 0.3",
        ("one_spelling", "idle_as_zero", "no_traffic_guard"),
        (
            "sum(rate(vllm:prefix_cache_hits_total[15m])) / sum(rate(vllm:prefix_cache_queries_total[15m])) < 0.3 and "
            "sum(increase(vllm:prefix_cache_queries_total[15m])) > 1000"
        ),
        alert=True,
    ),
    Case(
        (
            "sum by (model_name) (rate(vllm:prefix_cache_hits_total[15m])) / sum by (model_name) "
            "(rate(vllm:prefix_cache_queries_total[15m])) < 30 and sum(rate(vllm:prefix_cache_queries_total[15m])) > 1"
        ),
        ("percent_unit", "no_match"),
        (
            "sum by (model_name) (rate(vllm:prefix_cache_hits_total[15m])) / sum by (model_name) "
            "(rate(vllm:prefix_cache_queries_total[15m])) < 0.3 and on () "
            "sum(rate(vllm:prefix_cache_queries_total[15m])) > 1"
        ),
        alert=True,
    ),
    Case(
        (
            "sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m])) + "
            "sum(rate(lmcache:num_lookup_hits_total[5m])) / sum(rate(lmcache:num_lookup_tokens_total[5m]))"
        ),
        ("lmcache_added",),
        (
            "sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m])) + "
            "sum(rate(vllm:external_prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
    ),
    Case(
        (
            "(sum(rate(vllm:prefix_cache_hits_total[5m])) + sum(rate(lmcache:num_lookup_hits_total[5m]))) / "
            "(sum(rate(vllm:prefix_cache_queries_total[5m])) + sum(rate(lmcache:num_lookup_tokens_total[5m])))"
        ),
        ("lmcache_added",),
        (
            "(sum(rate(vllm:prefix_cache_hits_total[5m])) + sum(rate(vllm:external_prefix_cache_hits_total[5m]))) / "
            "sum(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
    ),
    Case(
        (
            "(sum(rate(vllm:prefix_cache_hits_total[5m])) + sum(rate(lmcache_mp_lookup_hit_l1_tokens_total[5m])) + "
            "sum(rate(lmcache_mp_lookup_hit_l2_tokens_total[5m]))) / sum(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
        ("lmcache_added",),
        (
            "(sum(rate(vllm:prefix_cache_hits_total[5m])) + sum(rate(vllm:external_prefix_cache_hits_total[5m]))) / "
            "sum(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
    ),
    Case(
        "histogram_quantile(0.95, sum(vllm:time_per_output_token_seconds_bucket))",
        ("dead_name", "quantile_without_le", "quantile_without_rate"),
        "histogram_quantile(0.95, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[$__rate_interval])))",
        board=True,
    ),
    Case(
        (
            "avg by (instance) (histogram_quantile(0.95, sum by (le, instance, engine) "
            "(vllm:time_to_first_token_seconds_bucket)))"
        ),
        ("quantile_without_rate", "averaged_quantiles"),
        "histogram_quantile(0.95, sum by (le, instance) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
    ),
    Case(
        '1000 * avg(vllm:inter_token_latency_seconds{namespace="x",quantile="0.95"})',
        ("averaged_quantiles",),
        (
            "1000 * histogram_quantile(0.95, sum by (le) "
            '(rate(vllm:inter_token_latency_seconds_bucket{namespace="x"}[5m])))'
        ),
    ),
    Case(
        "rate(vllm:kv_cache_usage_perc[5m])",
        ("gauge_under_rate",),
        "avg_over_time(vllm:kv_cache_usage_perc[5m])",
    ),
    Case(
        "increase(vllm:gpu_cache_usage_perc[5m])",
        ("dead_name", "gauge_under_rate"),
        "delta(vllm:kv_cache_usage_perc[5m])",
    ),
    Case(
        "rate(vllm_prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])",
        ("one_spelling",),
        "rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])",
    ),
    Case(
        'rate(vllm:prefix_cache_hits_total{pod="a"}[5m]) / rate(vllm:prefix_cache_queries_total{pod="b"}[5m])',
        ("one_sided_selector",),
        None,
    ),
    Case(
        (
            'sum(rate(vllm:prefix_cache_hits_total{pod="a"}[5m])) / '
            'sum(rate(vllm:prefix_cache_queries_total{job="b"}[5m]))'
        ),
        ("one_sided_selector",),
        (
            'sum(rate(vllm:prefix_cache_hits_total{pod="a", job="b"}[5m])) / '
            'sum(rate(vllm:prefix_cache_queries_total{job="b", pod="a"}[5m]))'
        ),
    ),
    Case(
        (
            "sum by (pod) (rate(vllm:prefix_cache_hits_total[5m])) / sum by (instance) "
            "(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
        ("no_match",),
        None,
    ),
    Case(
        "rate(vllm:prefix_cache_hits_total[5m]) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
        ("no_match",),
        "rate(vllm:prefix_cache_hits_total[5m]) / on () group_left sum(rate(vllm:prefix_cache_queries_total[5m]))",
    ),
    Case(
        "sum(vllm:num_requests_running) by (instance) / sum(vllm:num_requests_waiting)",
        ("no_match",),
        "sum by (instance) (vllm:num_requests_running) / on () group_left sum(vllm:num_requests_waiting)",
    ),
    Case(
        "vllm:prompt_tokens_recomputed_total",
        ("dead_name",),
        None,
    ),
    Case(
        "vllm:num_requests_swapped",
        ("dead_name",),
        None,
    ),
    Case(
        "sum(vllm:num_requests_running)",
        ("router_copies",),
        'sum(vllm:num_requests_running{server=""})',
        router=True,
    ),
    Case(
        'sum(vllm:num_requests_running{server=~".*"} + vllm:num_requests_running)',
        ("router_copies",),
        "sum(vllm:num_requests_running)",
    ),
    Case(
        "vllm:request_success_total > 1000",
        ("counter_without_rate",),
        "increase(vllm:request_success_total[5m]) > 1000",
        alert=True,
    ),
    Case(
        "avg(lmcache:lookup_hit_rate)",
        ("average_of_ratios",),
        "sum(rate(lmcache:num_lookup_hits_total[5m])) / sum(rate(lmcache:num_lookup_tokens_total[5m]))",
    ),
    Case(
        "max(lmcache:cache_hit_rate)",
        ("retrieve_rate",),
        "max(rate(lmcache:num_lookup_hits_total[5m]) / rate(lmcache:num_lookup_tokens_total[5m]))",
    ),
    Case(
        (
            "sum(rate(vllm:external_prefix_cache_hits_total[5m])) / "
            "sum(rate(vllm:external_prefix_cache_queries_total[5m]))"
        ),
        ("external_share",),
        "sum(rate(vllm:external_prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
        words="external hit rate",
    ),
    Case(
        "vllm:kv_cache_usage_perc",
        ("percent_unit",),
        "100 * vllm:kv_cache_usage_perc",
        unit="percent",
        board=True,
    ),
    Case(
        "vllm:kv_cache_usage_perc * 100",
        ("percent_unit",),
        "vllm:kv_cache_usage_perc",
        unit="percentunit",
        board=True,
    ),
    Case(
        "sum(rate(foo_hits[5m])) / sum(rate(foo_total[5m])) * 100",
        ("percent_unit",),
        "sum(rate(foo_hits[5m])) / sum(rate(foo_total[5m]))",
        unit="percentunit",
        board=True,
    ),
    Case(
        "foo_seconds_sum / foo_seconds_count",
        ("lifetime_average",),
        "rate(foo_seconds_sum[$__rate_interval]) / rate(foo_seconds_count[$__rate_interval])",
        board=True,
    ),
    Case(
        "avg(rate(vllm:time_to_first_token_seconds_sum[5m]) / rate(vllm:time_to_first_token_seconds_count[5m]))",
        ("average_of_ratios",),
        "sum(rate(vllm:time_to_first_token_seconds_sum[5m])) / sum(rate(vllm:time_to_first_token_seconds_count[5m]))",
    ),
    Case(
        'vllm:gpu_cache_usage_perc{job="a"} / on (x) group_left (y) foo',
        ("dead_name",),
        'vllm:kv_cache_usage_perc{job="a"} / on (x) group_left (y) foo',
    ),
    Case(
        "sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m])) or vector(0)",
        ("percent_unit",),
        (
            "100 * (sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m])) or "
            "vector(0))"
        ),
        unit="percent",
    ),
    Case(
        "rate(vllm:prefix_cache_hits_total[5m]) / (rate(vllm:prefix_cache_queries_total[5m]) > 0) * 100 * 100",
        ("percent_unit",),
        "rate(vllm:prefix_cache_hits_total[5m]) / (rate(vllm:prefix_cache_queries_total[5m]) > 0) * 100",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text[:70])
def test_the_faults_of_a_query_are_named_and_corrected(case: Case) -> None:
    found = judge(case.text, unit=case.unit, alert=case.alert, board=case.board, words=case.words, router=case.router)
    assert tuple(dict.fromkeys(finding.rule for finding in found)) == case.rules
    assert {finding.right for finding in found} == {case.right}
    assert {finding.expression for finding in found} == {case.text}
