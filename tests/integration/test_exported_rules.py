"""Every exported rule under promtool: it fires on its case, and is quiet on a healthy fleet, an idle one, and gaps."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from alerting.export.alertmanager import RouteOptions, alertmanager_text
from alerting.export.options import Objective, RuleOptions, Windows
from alerting.export.rule_file import own_rule_file, rule_file, rules_text
from tests.needs import tool
from tests.support.promtool import RuleCase, check_rules, counter, gauge, try_alone, try_queries, try_rules

END = 120
SINCE = 92
"""Minutes: the whole of a case, and when its fault begins. What is usual is looked up 50 and 100 minutes ago."""
WINDOWS = Windows(past=(3000.0, 6000.0), past_span=1200.0, burn=((14.4, 600.0, 120.0), (6.0, 1200.0, 300.0)))
OPTIONS = RuleOptions(windows=WINDOWS, objective=Objective.of("0.95:2.5s"), floor=0.1)
ENGINE = 'namespace="ns",job="vllm",model_name="m",instance="a:8000",engine="0"'
OTHER = 'namespace="ns",job="vllm",model_name="other",instance="b:8000",engine="0"'
CACHE = 'namespace="ns",job="lmcache",instance="a:8080"'
MASTER = 'namespace="curvine",job="master",instance="m:9000"'
DECK = 'namespace="deck",job="tierdeck",instance="d:9090"'

HEALTHY: dict[str, float] = {
    f"vllm:prefix_cache_queries_total{{{ENGINE}}}": 60_000,
    f"vllm:prefix_cache_hits_total{{{ENGINE}}}": 30_000,
    f"vllm:external_prefix_cache_hits_total{{{ENGINE}}}": 15_000,
    f"vllm:prompt_tokens_total{{{ENGINE}}}": 60_000,
    f'vllm:request_success_total{{{ENGINE},finished_reason="stop"}}': 60,
    f'vllm:request_success_total{{{ENGINE},finished_reason="error"}}': 0,
    f'vllm:time_to_first_token_seconds_bucket{{{ENGINE},le="2.5"}}': 59,
    f"vllm:time_to_first_token_seconds_count{{{ENGINE}}}": 60,
    f'lmcache_mp_lookup_requested_tokens_total{{{CACHE},model_name="/models/m"}}': 60_000,
    f'lmcache_mp_lookup_hit_l1_tokens_total{{{CACHE},model_name="/models/m"}}': 27_000,
    f'lmcache_mp_lookup_hit_l2_tokens_total{{{CACHE},model_name="/models/m"}}': 15_000,
    f"lmcache_mp_l2_store_submitted_objects_chunks_total{{{CACHE}}}": 60,
    f"lmcache_mp_l2_store_completed_objects_chunks_total{{{CACHE}}}": 60,
}
"""Increases a minute: 75 % of the prompt tokens are hits, two thirds of them in L0."""
STANDING: dict[str, float] = {
    f"vllm:num_requests_running{{{ENGINE}}}": 4,
    f'vllm:num_requests_waiting_by_reason{{{ENGINE},reason="deferred"}}': 1,
    f'worker_num{{{MASTER},tag="live"}}': 3,
    f'worker_num{{{MASTER},tag="lost"}}': 0,
    f'worker_num{{{MASTER},tag="blacklist"}}': 0,
    f"capacity{{{MASTER}}}": 1e12,
    f"available{{{MASTER}}}": 6e11,
    f"fs_used{{{MASTER}}}": 4e11,
}


def fleet(**since: float | None) -> dict[str, str]:
    """The healthy fleet, with other paces or values since the fault began, by a part of the series' names."""
    found = {}
    for series, pace in HEALTHY.items():
        found[series] = counter((SINCE, pace), (END - SINCE + 1, _changed(series, pace, since)))
    for series, value in STANDING.items():
        found[series] = gauge((SINCE, value), (END - SINCE + 1, _changed(series, value, since)))
    return found


def _changed(series: str, usual: float, since: dict[str, float | None]) -> float | None:
    return next((value for part, value in since.items() if part in series.replace('="', "_").replace(":", "_")), usual)


def respelled(series: dict[str, str], former: str, now: str) -> dict[str, str]:
    return {name.replace(former, now): values for name, values in series.items()}


def without(series: dict[str, str], *parts: str) -> dict[str, str]:
    return {name: values for name, values in series.items() if not any(part in name for part in parts)}


def underscored(series: dict[str, str]) -> dict[str, str]:
    """The other spelling: `vllm_`, and no `_total`."""
    return {name.replace("vllm:", "vllm_").replace("_total{", "{"): values for name, values in series.items()}


def former(series: dict[str, str]) -> dict[str, str]:
    """The older generation of names."""
    return respelled(series, "vllm:prefix_cache_", "vllm:gpu_prefix_cache_")


def case(name: str, *fires: str, **since: float | None) -> RuleCase:
    return RuleCase(name, fleet(**since), frozenset(f"Tierdeck{one}" for one in fires))


L0_SWAPPED = {"vllm_prefix_cache_hits": 15_000, "external_prefix_cache_hits": 30_000}
CASES = (
    # 0.35 over the last 15 minutes where 0.75 is usual; L0's share with it
    case(
        "drop",
        *("HitRatioDrop  ", "TierDrop  L0", "TierDrop  L1"),
        vllm_prefix_cache_hits=6_000,
        hit_l1_tokens=9_000,
        hit_l2_tokens=12_000,
    ),
    # as many hits as before, from lower down
    case("tier drop", "TierDrop  L0", **L0_SWAPPED),
    # LMCache finds 5 % in L1 where 45 % are usual
    case("tier drop of L1", "TierDrop  L1", hit_l1_tokens=3_000),
    # 55 of 60 answers are late: 92 % over 10 and 2 minutes, above 14.4 x 5 %
    case("burn", "TtftBurn  ", seconds_bucket=5),
    case("worker lost", "L2Outage workers_lost ", tag_lost=1),
    case("worker silent", "L2Outage workers_lost ", tag_blacklist=1),
    case("stores lost", "L2Outage stores_incomplete ", store_completed=0),
    # found 42,000, of which L0 and loads had 30,000: at least 29 % were not loaded; they are hits no more
    case("not loaded", "L2Outage found_not_loaded ", "HitRatioDrop  ", external_prefix_cache_hits=0),
    # 3 of 63 requests
    case("failing", "RequestsFailing  ", finished_reason_error=3),
    case("deferred", "RequestsDeferred  ", by_reason=6, requests_running=0),
    case("full", "PoolFull  ", "L2Outage stores_incomplete ", store_completed=0, available=1e9),
)
FILLING = RuleCase(
    "filling",
    {
        **fleet(),
        # 5 GB a minute for an hour: 300 GB of room are full in another
        f"fs_used{{{MASTER}}}": gauge((END - 70, 4e11)) + " 4e11+5e9x70",
        f"available{{{MASTER}}}": gauge((END + 1, 3e11)),
    },
    frozenset({"TierdeckPoolFilling  "}),
)
GONE = RuleCase(
    "no data",
    fleet(**dict.fromkeys(("vllm_prefix", "vllm_external", "vllm_prompt", "vllm_request", "vllm_time", "vllm_num"))),
    frozenset({"TierdeckNoData  "}),
)
LOW = RuleCase(
    "floor",
    {
        **fleet(),
        # 5 % since ever: nothing dropped
        f"vllm:prefix_cache_hits_total{{{ENGINE}}}": counter((END + 1, 3_000)),
        f"vllm:external_prefix_cache_hits_total{{{ENGINE}}}": counter((END + 1, 0)),
    },
    frozenset({"TierdeckHitRatioFloor  ", "TierdeckL2Outage found_not_loaded "}),
)
# two models behind one cache: what it finds is told under its own name for the model
TWO = RuleCase(
    "two models",
    {
        **fleet(hit_l1_tokens=3_000),
        f"vllm:prompt_tokens_total{{{OTHER}}}": "0+600x120",
    },
    frozenset({"TierdeckTierDrop  L1"}),
)
FIRE = (*CASES, FILLING, GONE, LOW, TWO)

COLLECTORS = f"tierdeck_collectors_last_write_timestamp_seconds{{{DECK}}}"
ALERTING = f"tierdeck_alerting_last_evaluation_timestamp_seconds{{{DECK}}}"
DROPPED = f"tierdeck_collectors_rounds_dropped_total{{{DECK}}}"
OWN = {COLLECTORS: f"0+60x{END}", ALERTING: f"0+60x{END}", DROPPED: f"0+0x{END}"}
STOPPED = f"0+60x{SINCE} {SINCE * 60}+0x{END - SINCE}"
DECKS = (
    RuleCase("well", OWN),
    RuleCase("not there", {}),
    # a process that only just started has written nothing yet, and says 0
    RuleCase("a restart", OWN | {COLLECTORS: f"0+60x{END - 2} 0+0x1"}),
    RuleCase("a first start", OWN | {COLLECTORS: f"_x{END - 10} 0+0x9"}),
    RuleCase(
        "writes no more after a restart",
        OWN | {COLLECTORS: f"0+60x{SINCE} 0+0x{END - SINCE}"},
        frozenset({"TierdeckDeckStale stale "}),
    ),
    RuleCase("stale", OWN | {COLLECTORS: STOPPED}, frozenset({"TierdeckDeckStale stale "})),
    RuleCase("alerting", OWN | {ALERTING: STOPPED}, frozenset({"TierdeckDeckStale stale "})),
    # one cluster's process stands still while another one's goes on
    RuleCase(
        "one of two clusters",
        {
            COLLECTORS: OWN[COLLECTORS],
            ALERTING.replace("{", '{cluster="east",'): STOPPED,
            ALERTING.replace("{", '{cluster="west",'): OWN[ALERTING],
        },
        frozenset({"TierdeckDeckStale stale "}),
    ),
    RuleCase("gone", OWN | {ALERTING: f"0+60x{SINCE} _x{END - SINCE}"}, frozenset({"TierdeckDeckStale gone "})),
    RuleCase("dropped", OWN | {DROPPED: f"0+0x{END - 2} 0 3"}, frozenset({"TierdeckDeckStale dropped "})),
)

# series of a fleet without work: counters stand still, and one request in five minutes finds nothing
IDLE = {name: counter((END + 1, 0)) for name in HEALTHY}
NEARLY = {
    name: "0+0x4 " * 2 + " ".join(f"{count}+0x4" for count in (500 * step for step in range(24)))
    for name in HEALTHY
    if "prefix_cache_queries" in name or "prompt_tokens" in name
}
GAP = {series: counter((SINCE, pace), (8, None), (END - SINCE - 7, pace)) for series, pace in HEALTHY.items()}
CHURN = " ".join(f"{value:g}+0x4" for value in (9.9e11, 9.95e11) * 13)
QUIET = (
    RuleCase("healthy", fleet(), values={"tierdeck:hit_ratio:rate5m": 0.75, "tierdeck:hit_ratio:usual": 0.75}),
    RuleCase("idle", fleet() | IDLE),
    RuleCase("nearly idle", fleet() | IDLE | NEARLY),
    RuleCase("a gap of eight minutes", fleet() | GAP),
    RuleCase("no connector", without(fleet(), "external", "lmcache"), values={"tierdeck:hit_ratio:rate5m": 0.5}),
    RuleCase("nothing there", {}),
    RuleCase(
        "a pool that evicts is full",
        fleet() | {f"fs_used{{{MASTER}}}": CHURN, f"available{{{MASTER}}}": "5e9+0x120"},
    ),
    RuleCase(
        "a blip of three minutes",
        fleet()
        | {
            f"vllm:prefix_cache_hits_total{{{ENGINE}}}": counter((END - 3, 30_000), (4, 0)),
            f"vllm:external_prefix_cache_hits_total{{{ENGINE}}}": counter((END - 3, 15_000), (4, 0)),
        },
    ),
    RuleCase(
        "no past",
        {
            **without(fleet(), "lmcache"),
            f"vllm:prefix_cache_queries_total{{{ENGINE}}}": counter((SINCE, None), (29, 60_000)),
            f"vllm:prefix_cache_hits_total{{{ENGINE}}}": counter((SINCE, None), (29, 9_000)),
        },
    ),
    RuleCase(
        "both generations of names at once",
        fleet() | {name: values for name, values in former(fleet()).items() if "gpu_" in name},
        values={"tierdeck:prompt_tokens:rate5m": 1000, "tierdeck:hit_ratio:rate5m": 0.75},
    ),
    RuleCase(
        "a router's copies",
        fleet() | {'vllm:prefix_cache_queries_total{server="http://a",namespace="ns",job="router"}': "5+0x120"},
        values={"tierdeck:prompt_tokens:rate5m": 1000},
    ),
)


@pytest.fixture(scope="module")
def rules() -> dict[str, object]:
    return rule_file(OPTIONS)


def test_promtool_has_nothing_to_say_about_them(tmp_path: Path) -> None:
    for number, options in enumerate((OPTIONS, RuleOptions(), replace(OPTIONS, labels={"cluster": "east"}))):
        for made in (rule_file(options), own_rule_file(options)):
            file = tmp_path / f"rules-{number}.yaml"
            file.write_text(rules_text(made), "utf-8")
            check_rules(file)


def test_each_fires_on_its_case_and_only_there(tmp_path: Path, rules: dict[str, object]) -> None:
    try_rules(tmp_path, rules, FIRE, END)


def test_the_rules_on_tierdeck_itself_fire_when_it_stands_still(tmp_path: Path) -> None:
    try_alone(tmp_path, own_rule_file(OPTIONS), DECKS, END)


def test_all_are_quiet_where_nothing_is_wrong(tmp_path: Path, rules: dict[str, object]) -> None:
    try_rules(tmp_path, rules, QUIET, END)


@pytest.mark.parametrize("spelling", [underscored, former])
def test_the_other_spellings_are_read_as_well(tmp_path: Path, rules: dict[str, object], spelling: object) -> None:
    assert callable(spelling)
    cases = [replace(one, series=spelling(dict(one.series))) for one in (*FIRE, QUIET[0], QUIET[1])]
    try_rules(tmp_path, rules, cases, END)


def test_every_alert_has_a_case(rules: dict[str, object]) -> None:
    named = set()
    for line in json.dumps(rules).split('"alert": "')[1:]:
        named.add(line.partition('"')[0])
    assert named - {"TierdeckWatchdog"} == {told.split()[0] for one in (*FIRE, *DECKS) for told in one.fires}


def test_alerts_about_caches_name_the_endpoint_as_those_about_engines_do(
    tmp_path: Path, rules: dict[str, object]
) -> None:
    cases = {one.name: one for one in (*FIRE, QUIET[0])}
    expected = {
        ("drop", "HitRatioDrop", ""): "ns/m",
        ("tier drop of L1", "TierDrop", "L1"): "ns/m",
        ("stores lost", "L2Outage", ""): "ns/m",
        ("not loaded", "L2Outage", ""): "ns/m",
        ("worker lost", "L2Outage", ""): "_pool",
        ("two models", "TierDrop", "L1"): "ns//models/m",
    }
    asked = [
        (
            cases[name],
            f"count(ALERTS{{alertstate='firing',alertname='Tierdeck{alert}',tier='{tier}',endpoint='{endpoint}'}})",
        )
        for (name, alert, tier), endpoint in expected.items()
    ]
    try_queries(tmp_path, rules, asked, END)


def test_of_several_clusters_in_one_prometheus_each_is_judged_by_itself(
    tmp_path: Path, rules: dict[str, object]
) -> None:
    def of(cluster: str, **since: float | None) -> dict[str, str]:
        return {name.replace("{", f'{{cluster="{cluster}",'): values for name, values in fleet(**since).items()}

    both = RuleCase("two clusters", {**of("west"), **of("east", store_completed=0, available=1e9)})
    fires = "ALERTS{{alertstate='firing',alertname!='TierdeckWatchdog',cluster='{}'}}"
    here, there = fires.format("east"), fires.format("west")
    try_queries(tmp_path, rules, [(both, f"(count({here}) == 2) unless on () {there}")], END)


def test_amtool_has_nothing_to_say_about_the_routes(tmp_path: Path) -> None:
    several = RouteOptions(
        "/secrets/slack", "#kv", "/secrets/pager", "http://hook.example.org/", "http://beat.example.org/"
    )
    for options in (RouteOptions(), several):
        file = tmp_path / "alertmanager.yml"
        file.write_text(alertmanager_text(options), "utf-8")
        done = subprocess.run([tool("amtool"), "check-config", str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        route = [tool("amtool"), "config", "routes", "test", f"--config.file={file}"]
        alert = ["alertname=TierdeckNoData", "severity=critical"]
        told = subprocess.run([*route, *alert], capture_output=True, text=True, check=False)
        assert told.stdout.strip() == "tierdeck-page"
