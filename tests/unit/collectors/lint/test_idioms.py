"""Idioms that are right, or that nobody can tell are wrong: not one finding on any of them."""

import pytest

from tests.support.queries import judge

RIGHT = (
    (
        "sum(rate(vllm:prefix_cache_hits_total[$__rate_interval])) / "
        "sum(rate(vllm:prefix_cache_queries_total[$__rate_interval]))"
    ),
    (
        'sum by (model_name) (rate(vllm:prefix_cache_hits_total{job=~"$job"}[5m])) / sum by (model_name) '
        '(rate(vllm:prefix_cache_queries_total{job=~"$job"}[5m]))'
    ),
    "sum(rate(vllm:prefix_cache_hits_total[5m])) / (sum(rate(vllm:prefix_cache_queries_total[5m])) > 0)",
    (
        "(sum(rate(vllm:prefix_cache_hits_total[5m])) or sum(rate(vllm:gpu_prefix_cache_hits_total[5m]))) / "
        "(sum(rate(vllm:prefix_cache_queries_total[5m])) or sum(rate(vllm:gpu_prefix_cache_queries_total[5m])))"
    ),
    "rate(vllm:prefix_cache_hits_total[5m]) or rate(vllm:prefix_cache_hits[5m])",
    "vllm:kv_cache_usage_perc or vllm:gpu_cache_usage_perc",
    "rate(vllm:prefix_cache_hits_total[5m]) or rate(vllm_prefix_cache_hits_total[5m])",
    # in some set-ups Prometheus holds these names
    "sum(rate(vllm_prefix_cache_hits_total[5m])) / sum(rate(vllm_prefix_cache_queries_total[5m]))",
    "max(vllm_kv_cache_usage_perc)",
    "clamp_max(sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m])), 1)",
    "1 - sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
    (
        "(sum(rate(vllm:prefix_cache_hits_total[5m])) + sum(rate(vllm:external_prefix_cache_hits_total[5m]))) / "
        "sum(rate(vllm:prefix_cache_queries_total[5m]))"
    ),
    (
        "sum(rate(vllm:prefix_cache_hits_total[5m]) + rate(vllm:external_prefix_cache_hits_total[5m])) / "
        "sum(rate(vllm:prefix_cache_queries_total[5m]))"
    ),
    "sum(rate(vllm:external_prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
    (
        "max_over_time((sum(rate(vllm:prefix_cache_hits_total[5m])) / "
        "sum(rate(vllm:prefix_cache_queries_total[5m])))[1h:1m])"
    ),
    (
        "label_replace(rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m]), "
        '"replica", "$1", "instance", "(.*):.*")'
    ),
    (
        "topk(5, sum by (instance) (rate(vllm:prefix_cache_hits_total[5m])) / sum by (instance) "
        "(rate(vllm:prefix_cache_queries_total[5m])))"
    ),
    (
        "sum by (instance) (rate(vllm:prefix_cache_hits_total[5m])) / on (instance) group_left sum by (instance) "
        "(rate(vllm:prefix_cache_queries_total[5m]))"
    ),
    (
        "sum by (instance) (rate(vllm:prefix_cache_hits_total[5m])) / on () group_left "
        "sum(rate(vllm:prefix_cache_queries_total[5m]))"
    ),
    (
        "sum by (instance) (rate(vllm:prefix_cache_hits_total[5m])) / "
        "scalar(sum(rate(vllm:prefix_cache_queries_total[5m])))"
    ),
    "rate(vllm:time_to_first_token_seconds_sum[5m]) / rate(vllm:time_to_first_token_seconds_count[5m])",
    (
        "sum(increase(vllm:time_to_first_token_seconds_sum[5m])) / "
        "sum(increase(vllm:time_to_first_token_seconds_count[5m]))"
    ),
    (
        "histogram_quantile(0.95, sum by (le, model_name) "
        "(rate(vllm:time_to_first_token_seconds_bucket[$__rate_interval])))"
    ),
    "histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_bucket[5m]))",
    "histogram_quantile($q, sum without (instance) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
    "max(histogram_quantile(0.95, sum by (le, instance) (rate(vllm:time_to_first_token_seconds_bucket[5m]))))",
    "histogram_quantile(0.9, sum by (le) (job:ttft_bucket:rate5m))",
    "histogram_quantile(0.9, sum(rate(native_latency_seconds[5m])))",
    "histogram_quantile(0.9, sum(increase(x_bucket[1h])) by (le))",
    "sum(vllm:num_requests_running)",
    "avg(vllm:kv_cache_usage_perc)",
    "max by (instance) (vllm:kv_cache_usage_perc)",
    "avg_over_time(vllm:kv_cache_usage_perc[5m])",
    "deriv(vllm:kv_cache_usage_perc[5m])",
    "delta(vllm:num_requests_waiting[5m])",
    'sum(rate(vllm:request_success_total{finished_reason="stop"}[5m])) / sum(rate(vllm:request_success_total[5m]))',
    (
        'sum(rate(vllm:prompt_tokens_cached_by_source_total{source="host"}[5m])) / '
        "sum(rate(vllm:prefix_cache_queries_total[5m]))"
    ),
    (
        "sum by (source) (rate(vllm:prompt_tokens_cached_by_source_total[5m])) / on () group_left "
        "sum(rate(vllm:prefix_cache_queries_total[5m]))"
    ),
    "lmcache:num_requested_tokens_total",
    "sum(vllm:prompt_tokens_total)",
    "count(vllm:prefix_cache_queries_total)",
    "absent(vllm:prefix_cache_queries_total)",
    "increase(vllm:num_preemptions_total[1h]) > 0",
    "changes(process_start_time_seconds[5m]) > 0",
    "vllm:num_preemptions_total > 0",
    "sum(rate(lmcache:num_lookup_hits_total[5m])) / sum(rate(lmcache:num_lookup_tokens_total[5m]))",
    ("sum(rate(lmcache_mp_lookup_hit_l2_tokens_total[5m])) / sum(rate(lmcache_mp_lookup_requested_tokens_total[5m]))"),
    "rate(lmcache_mp_lookup_hit_l1_tokens_total[5m]) + rate(lmcache_mp_lookup_hit_l2_tokens_total[5m])",
    "sum(rate(lmcache:retrieve_speed_sum[1m])) / sum(rate(lmcache:retrieve_speed_count[1m])) / 1e3",
    "lmcache:local_cache_usage / 1e9",
    "sum(rate(vllm:prompt_tokens_total[5m])) / sum(rate(vllm:request_success_total[5m]))",
    'rate(node_cpu_seconds_total{mode="idle"}[5m]) / rate(node_cpu_seconds_total[5m])',
    "avg(node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)",
    "kube_pod_info * on (pod) group_left(node) up",
    "sum(up) / count(up)",
    "up == 0",
    "a / b",
    "sum by (x) (a) / sum by (x) (b)",
    '100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m])))',
    "avg by (instance) (rate(vllm:prompt_tokens_total[5m]))",
    "sum by (instance) (vllm:num_requests_running) > 100",
    "vllm:num_requests_waiting > 10 and on (instance) vllm:num_requests_running > 0",
    "vllm:num_requests_running / (vllm:num_requests_running + vllm:num_requests_waiting)",
    "sum(vllm:num_requests_running) / sum(vllm:num_requests_running + vllm:num_requests_waiting)",
    'vllm:num_requests_running{job="a"} + vllm:num_requests_waiting{job="a"}',
    'sum(vllm:num_requests_running{server=~".+"})',
    'sum(rate(vllm:prefix_cache_hits_total{server=""}[5m]))',
    (
        "rate(vllm:request_success_total[5m]) / ignoring (finished_reason) group_left sum without "
        "(finished_reason) (rate(vllm:request_success_total[5m]))"
    ),
    (
        'sum(rate(vllm:time_to_first_token_seconds_bucket{le="0.5"}[5m])) / '
        "sum(rate(vllm:time_to_first_token_seconds_count[5m]))"
    ),
    "quantile(0.95, vllm:kv_cache_usage_perc)",
    "job:hit_ratio:rate5m < 0.3",
    "avg(job:hit_ratio:rate5m)",
    "sum(rate(vllm:prefix_cache_hits_total[5m])) / ignoring(job) sum(rate(vllm:prefix_cache_queries_total[5m]))",
    "$metric / $other",
    (
        "sum(vllm:prefix_cache_hits_total - vllm:prefix_cache_hits_total offset 5m) / "
        "sum(vllm:prefix_cache_queries_total - vllm:prefix_cache_queries_total offset 5m)"
    ),
    (
        "sum(rate(vllm:prefix_cache_hits_total[5m])) by (pod) / sum(rate(vllm:prefix_cache_queries_total[5m])) by "
        "(pod) and on (pod) sum by (pod) (rate(vllm:prefix_cache_queries_total[5m])) > 10"
    ),
    "sum by (cluster) (max by (cluster, instance) (vllm:num_requests_running))",
    "sum(lmcache_mp_l1_memory_usage_bytes)",
    "avg(lmcache_mp_l1_usage_ratio)",
    "rate(curvine_fuse_errors[5m])",
    "sum(rate(vllm:iteration_tokens_total_sum[5m])) / sum(rate(vllm:iteration_tokens_total_count[5m]))",
    'vllm:engine_sleep_state{sleep_state="awake"} == 0',
    "sum(rate(vllm_router_processed_requests_total[5m])) by (worker)",
    "sum(increase(vllm:prefix_cache_hits_total[1h])) / sum(increase(vllm:prefix_cache_queries_total[1h]))",
    (
        'sum(rate(vllm:prefix_cache_hits_total{model_name=~"$model"}[5m])) / '
        'sum(rate(vllm:prefix_cache_queries_total{model_name=~"$model"}[5m]))'
    ),
    (
        'sum(rate(vllm:prefix_cache_hits_total{model_name="a", job="b"}[5m])) / '
        'sum(rate(vllm:prefix_cache_queries_total{job="b", model_name="a"}[5m]))'
    ),
    "histogram_quantile(0.99, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m]))) > 0.1",
    "(sum(rate(vllm:prefix_cache_hits_total[5m])) or vector(0)) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
    "histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])) or sum by (le) (rate(b_bucket[5m])))",
    "time() - process_start_time_seconds",
    "rate(vllm:generation_tokens_total[5m]) * 60",
    (
        "sum(rate(vllm:prefix_cache_queries_total[5m])) - sum(rate(vllm:prefix_cache_hits_total[5m])) - "
        "sum(rate(vllm:external_prefix_cache_hits_total[5m]))"
    ),
    "avg by (instance) (rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m]))",
    "avg by (pod, le) (histogram_quantile(0.9, sum by (le, pod) (rate(vllm:time_to_first_token_seconds_bucket[5m]))))",
    "histogram_quantile(0.9, job:latency_bucket)",
    "job:latency_sum / job:latency_count",
)

ALERTS = (
    (
        "sum(rate(vllm:prefix_cache_hits_total[15m])) / sum(rate(vllm:prefix_cache_queries_total[15m])) < 0.3 and "
        "sum(rate(vllm:prefix_cache_queries_total[15m])) > 10"
    ),
    "sum(rate(vllm:prefix_cache_hits_total[15m])) / (sum(rate(vllm:prefix_cache_queries_total[15m])) > 10) < 0.3",
    (
        "(sum(rate(vllm:prefix_cache_hits_total[15m])) / sum(rate(vllm:prefix_cache_queries_total[15m])) < 0.3) "
        "unless sum(rate(vllm:prefix_cache_queries_total[15m])) < 10"
    ),
    (
        "sum by (model_name) (rate(vllm:prefix_cache_hits_total[15m])) / sum by (model_name) "
        "(rate(vllm:prefix_cache_queries_total[15m])) < 0.3 and on (model_name) sum by (model_name) "
        "(rate(vllm:request_success_total[15m])) > 0.1"
    ),
    "vllm:kv_cache_usage_perc > 0.95",
    "avg(vllm:kv_cache_usage_perc) * 100 > 95",
    "increase(vllm:num_preemptions_total[5m]) > 5",
    "vllm:num_requests_waiting > 100",
    "sum(rate(vllm:prefix_cache_hits_total[15m])) / sum(rate(vllm:prefix_cache_queries_total[15m])) > 0.9",
    "absent(vllm:prefix_cache_queries_total)",
    "sum(rate(vllm:prefix_cache_queries_total[5m])) > 0 unless sum(rate(vllm:prefix_cache_hits_total[5m])) > 0",
    "sum(rate(vllm:prefix_cache_queries_total[5m])) == 0 and on () sum(vllm:num_requests_running) > 0",
)

HIT_RATIO = RIGHT[0]
HITS, LOOKUPS = "sum(rate(vllm:prefix_cache_hits_total[5m]))", "sum(rate(vllm:prefix_cache_queries_total[5m]))"
PER_CENT = (
    f"100 * {HITS} / {LOOKUPS}",
    f"{HITS} * 100 / {LOOKUPS}",
    f"{HITS} / {LOOKUPS} * 100",
    f"{HITS} / ({LOOKUPS} / 100)",
    f"{HITS} / (0.01 * {LOOKUPS})",
    f"{HITS} / {LOOKUPS} / 0.01",
    f"{HITS} / ({LOOKUPS} / 100 > 0)",
    f"{HITS} * 1000 / {LOOKUPS} / 10",
    f"max(100 * {HITS} / {LOOKUPS})",
    f"round({HITS} * 100 / {LOOKUPS})",
    f"100 - 100 * {HITS} / {LOOKUPS}",
    f"100 * (1 - {HITS} / {LOOKUPS})",
    f"max_over_time((100 * {HITS} / {LOOKUPS})[1h:1m])",
    f"quantile_over_time(0.9, (100 * {HITS} / {LOOKUPS})[1h:1m])",
    f"vector(scalar(100 * {HITS} / {LOOKUPS}))",
    "avg(100 * vllm:kv_cache_usage_perc)",
    "topk(3, ceil(vllm:kv_cache_usage_perc / 0.01))",
)
"""From 0 to 100, whatever does it."""

UNITS = (
    *((text, "percent") for text in PER_CENT),
    (f"{HITS} / {LOOKUPS} * 1000", "percent"),
    (f"100 * ({HITS} / {LOOKUPS}) > bool 50", "percentunit"),
    (f"{HITS} / {LOOKUPS} > bool 0.5", "percent"),
    (f"count(100 * {HITS} / {LOOKUPS})", "percentunit"),
    (f"100 * {HITS} / {LOOKUPS} / 100", "percentunit"),
    (f"100 * {HITS} / (100 * {LOOKUPS})", "percentunit"),
    (
        f"100 * {HIT_RATIO}",
        "percent",
    ),
    (
        HIT_RATIO,
        "percentunit",
    ),
    ("avg(vllm:kv_cache_usage_perc) * 100", "percent"),
    ("vllm:kv_cache_usage_perc", "percentunit"),
    ("x * 100", "percentunit"),
    ("a / b", "percent"),
    (
        HIT_RATIO,
        "",
    ),
    ("100*x/y", "short"),
    ("sum(vllm:num_requests_running)", "percent"),
)


@pytest.mark.parametrize("text", RIGHT)
@pytest.mark.parametrize("board", [True, False], ids=["board", "rules"])
def test_a_right_query_has_no_finding(text: str, board: bool) -> None:
    assert judge(text, board=board) == []


@pytest.mark.parametrize("text", ALERTS)
def test_a_right_alert_has_no_finding(text: str) -> None:
    assert judge(text, alert=True) == []


@pytest.mark.parametrize("text", PER_CENT)
@pytest.mark.parametrize("held", ["({}) < 20 and {} > 100", "20 > ({}) and {} > 100", "({}) > 90 and {} > 100"])
def test_what_lies_between_0_and_100_may_be_held_against_per_cents(text: str, held: str) -> None:
    found = judge(held.format(text, LOOKUPS), alert=True)
    assert [one for one in found if one.rule == "percent_unit"] == []


def test_a_condition_on_traffic_may_have_its_number_on_the_left() -> None:
    assert judge(f"{HITS} / {LOOKUPS} < 0.3 and 10 < {LOOKUPS}", alert=True) == []
    assert judge(f"{HITS} / (10 < {LOOKUPS}) < 0.3", alert=True) == []


def test_a_clamp_that_leaves_0_as_it_is_hides_no_idle_model() -> None:
    assert judge(f"{HITS} / clamp_min({LOOKUPS}, 0)") == []


@pytest.mark.parametrize(("text", "unit"), UNITS)
def test_a_figure_in_its_unit_has_no_finding(text: str, unit: str) -> None:
    assert judge(text, unit=unit, board=True) == []


EXTERNAL = (
    "sum(rate(vllm:external_prefix_cache_hits_total[5m])) / sum(rate(vllm:external_prefix_cache_queries_total[5m]))"
)


@pytest.mark.parametrize(
    "words",
    [
        "external hits, of what l0 missed",
        "external prefix cache hit rate (of queries sent to the connector)",
        "external hit rate, of what was sent to the connector",
        "hits of the tokens queried",
        "share of the connector's lookups that hit",
        "external hits / external queries",
        "kv connector: hits per query",
        "external hits over queries",
        "found, of the tokens asked of the external store",
    ],
)
def test_an_external_ratio_that_says_what_it_is_of_has_no_finding(words: str) -> None:
    assert judge(EXTERNAL, words=words) == []


@pytest.mark.parametrize(
    "words",
    [
        "external hit rate",
        "hit rate of the external prefix cache",
        "share of prompt tokens from the connector",
        "prefix cache hits by tier {{instance}}",
        "hit rate of all tokens",
        "external hits of all queries",
        "",
    ],
)
def test_an_external_ratio_that_does_not_say_it_is_told(words: str) -> None:
    assert {found.rule for found in judge(EXTERNAL, words=words)} == {"external_share"}


def test_a_router_that_the_file_does_not_read_is_no_ones_fault() -> None:
    assert judge("sum(vllm:num_requests_running)") == []
    assert judge('sum(vllm:num_requests_running{job="vllm"})', router=True) == []
