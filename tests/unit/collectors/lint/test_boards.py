"""Boards and rule files with the faults that public ones had: exactly these findings, and none on good ones."""

import json
from pathlib import Path

import pytest

from collectors.lint.report import lint

BOARDS = Path(__file__).parents[3] / "fixtures" / "boards"


def told(name: str) -> list[tuple[str, str]]:
    """Rule and place of each finding."""
    return [(finding.rule, finding.where) for finding in lint(BOARDS / name).findings]


def test_production_stacks_kind_of_board() -> None:
    assert told("production-stack-vllm.json") == [
        ("lifetime_average", 'panel "Mean latency" (id 2), query A'),
        ("router_copies", 'panel "Running" (id 3), query A'),
        ("dead_name", 'panel "KV usage" (id 4), query A'),
        ("dead_name", 'panel "Hit rate" (id 5), query A'),
        ("dead_name", 'panel "Hit rate" (id 5), query A'),
        ("one_sided_selector", 'panel "Hit rate" (id 5), query A'),
        ("counter_without_rate", 'panel "Hit rate" (id 5), query A'),
        ("dead_name", """panel "Router's view" (id 6), query A"""),
        ("gauge_under_rate", """panel "Router's view" (id 6), query A"""),
    ]


def test_lmcaches_kind_of_board() -> None:
    assert told("production-stack-lmcache.json") == [
        ("lifetime_average", 'panel "Mean time to first token" (id 8), query A'),
        ("retrieve_rate", 'panel "Hit rate (%) of one minute" (id 5), query A'),
        ("idle_as_zero", 'panel "Hit rate (%) of one minute" (id 5), query A'),
    ]


def test_aibrix_kind_of_board() -> None:
    assert told("aibrix-engine.json") == [
        ("dead_name", 'panel "Hit rate" (id 2), query A'),
        ("average_of_ratios", 'panel "L1 hit rate" (id 3), query A'),
        ("retrieve_rate", 'panel "L1 hit rate" (id 3), query B'),
        ("dead_name", 'panel "Time per output token" (id 4), query A'),
        ("quantile_without_le", 'panel "Time per output token" (id 4), query A'),
        ("averaged_quantiles", 'panel "Inter-token latency" (id 5), query A'),
        ("dead_name", 'variable "model_name"'),
    ]
    variable = lint(BOARDS / "aibrix-engine.json").findings[-1]
    assert variable.right == 'label_values(vllm:kv_cache_usage_perc{namespace="$namespace"}, model_name)'


def test_llm_ds_kind_of_board() -> None:
    assert told("llm-d-kv-cache.json") == [
        ("counter_without_rate", 'panel "Hit rate" (id 4), query A'),
        ("counter_without_rate", 'panel "Hit rate by pod" (id 9), query A'),
        ("gauge_under_rate", 'panel "Queue" (id 11), query A'),
        ("averaged_quantiles", 'panel "Mean of the slowest" (id 12), query A'),
    ]


def test_llm_ds_kind_of_alerts() -> None:
    assert told("llm-d-alerts.yaml") == [
        ("one_spelling", 'group "kv-cache", alert "LowHitRate"'),
        ("one_spelling", 'group "kv-cache", alert "LowHitRate"'),
        ("no_traffic_guard", 'group "kv-cache", alert "LowHitRate"'),
        ("percent_unit", 'group "kv-cache", alert "HitRateBelowThirty"'),
        ("no_match", 'group "kv-cache", alert "GuardThatNeverMatches"'),
        ("counter_without_rate", 'group "kv-cache", alert "ManyPreemptions"'),
    ]


def test_a_board_of_all_tiers_and_of_several_data_sources() -> None:
    assert told("tiers.json") == [
        ("one_spelling", 'panel "L0 inverted" (id 1), query A'),
        ("one_spelling", 'panel "L0 inverted" (id 1), query A'),
        ("inverted_ratio", 'panel "L0 inverted" (id 1), query A'),
        ("external_share", 'panel "External hit rate" (id 2), query A'),
        ("lmcache_added", 'panel "All tiers" (id 4), query A'),
        ("percent_unit", 'panel "Hit rate in per cent" (id 5), query A'),
        ("no_match", 'panel "Hit rate by replica" (id 6), query A'),
        ("average_of_ratios", 'panel "Mean of replicas" (id 7), query A'),
        ("one_spelling", 'panel "Both spellings in one" (id 8), query A'),
        ("unparsable", 'panel "Broken" (id 9), query A'),
    ]
    report = lint(BOARDS / "tiers.json")
    assert report.queries == 9
    assert report.skipped == {"loki": 1, "postgres": 1, "library panel kept elsewhere": 1}
    assert report.findings[-1].says == "unclosed left parenthesis."
    assert report.findings[-1].right is None


@pytest.mark.parametrize(("name", "queries"), [("good.json", 13), ("good-rules.yaml", 6)])
def test_a_good_file_has_no_finding(name: str, queries: int) -> None:
    report = lint(BOARDS / name)
    assert (report.findings, report.queries) == ([], queries)


def test_a_board_wrapped_in_a_manifest_is_found(tmp_path: Path) -> None:
    board = (BOARDS / "llm-d-kv-cache.json").read_text()
    rules = (BOARDS / "good-rules.yaml").read_text()
    manifests: list[object] = [
        {"kind": "ConfigMap", "data": {"board.json": board, "rules.yaml": rules, "notes.txt": "groups: none"}},
        {"kind": "GrafanaDashboard", "spec": {"json": board}},
        {"kind": "Dashboard", "apiVersion": "dashboard.grafana.app/v1beta1", "spec": json.loads(board)},
        {"kind": "List", "items": [{"kind": "ConfigMap", "data": {"b.json": board}}, {"kind": "Pod"}]},
    ]
    for manifest in manifests:
        file = tmp_path / "manifest.json"
        file.write_text(json.dumps(manifest))
        assert [finding.rule for finding in lint(file).findings] == [
            "counter_without_rate",
            "counter_without_rate",
            "gauge_under_rate",
            "averaged_quantiles",
        ]


def test_a_panel_of_the_library_alone_is_a_board(tmp_path: Path) -> None:
    file = tmp_path / "panel.json"
    file.write_text(
        json.dumps({"kind": 1, "model": {"title": "x", "targets": [{"expr": "vllm:gpu_cache_usage_perc"}]}})
    )
    assert [finding.rule for finding in lint(file).findings] == ["dead_name"]


def test_a_board_of_grafanas_second_schema_is_read(tmp_path: Path) -> None:
    query = {"kind": "DataQuery", "group": "prometheus", "spec": {"expr": "vllm:kv_cache_usage_perc"}}
    logs = {"kind": "loki", "spec": {"expr": '{a="b"} |= "c"'}}
    asked = [{"spec": {"refId": "A", "query": query}}, {"spec": {"refId": "B", "query": logs}}]
    spec = {
        "id": 3,
        "title": "Usage",
        "data": {"spec": {"queries": asked}},
        "vizConfig": {"spec": {"fieldConfig": {"defaults": {"unit": "percent"}}}},
    }
    elements = {"panel-3": {"kind": "Panel", "spec": spec}, "shared": {"kind": "LibraryPanel", "spec": {"title": "y"}}}
    file = tmp_path / "board.json"
    file.write_text(json.dumps({"kind": "Dashboard", "spec": {"title": "x", "elements": elements}}))
    report = lint(file)
    found = [(finding.rule, finding.where) for finding in report.findings]
    assert found == [("percent_unit", 'panel "Usage" (id 3), query A')]
    assert report.skipped == {"loki": 1, "library panel kept elsewhere": 1}


def test_rules_of_grafanas_own_alerting_are_read(tmp_path: Path) -> None:
    file = tmp_path / "alerting.yaml"
    file.write_text(
        "apiVersion: 1\n"
        "groups:\n"
        "  - name: g\n"
        "    rules:\n"
        "      - title: Usage\n"
        "        data:\n"
        "          - refId: A\n"
        "            model: {expr: 'vllm:gpu_cache_usage_perc'}\n"
        "          - refId: B\n"
        "            model: {type: threshold}\n"
    )
    assert [(finding.rule, finding.where) for finding in lint(file).findings] == [
        ("dead_name", 'group "g", record "Usage", query A')
    ]


def board_of(panel: dict[str, object], **more: object) -> dict[str, object]:
    return {"schemaVersion": 40, "panels": [{"id": 1, "title": "x", **panel}], **more}


LOGQL = {"refId": "A", "expr": 'sum(rate({app="vllm"} |= "error" [5m]))'}


@pytest.mark.parametrize(
    ("board", "skipped"),
    [
        (board_of({"targets": [LOGQL]}), {"loki": 1}),
        (board_of({"targets": [LOGQL], "datasource": "Loki prod"}), {"loki": 1}),
        (
            board_of(
                {"targets": [LOGQL], "datasource": {"uid": "$logs"}},
                templating={"list": [{"name": "logs", "type": "datasource", "query": "loki"}]},
            ),
            {"loki": 1},
        ),
        (
            board_of(
                {"targets": [{"expr": "a default 0"}], "datasource": {"type": "victoriametrics-metrics-datasource"}}
            ),
            {"not PromQL": 1},
        ),
        (
            board_of({"targets": [{"type": "math", "expression": "$A*2", "datasource": {"type": "__expr__"}}]}),
            {"__expr__": 1},
        ),
        (board_of({"targets": [{"rawSql": "SELECT 1"}]}), {"no PromQL": 1}),
        (board_of({"targets": [{"expr": "$f(a)"}]}), {"$f names a function, and the board doesn't say which": 1}),
        (board_of({"targets": [{"expr": ""}]}), {}),
    ],
)
def test_what_is_not_promql_is_counted_and_never_a_fault(
    tmp_path: Path, board: dict[str, object], skipped: dict[str, int]
) -> None:
    file = tmp_path / "board.json"
    file.write_text(json.dumps(board))
    report = lint(file)
    assert (report.findings, report.queries, report.skipped) == ([], 0, skipped)


def test_mixed_panels_are_judged_query_by_query(tmp_path: Path) -> None:
    targets = [
        {"refId": "A", "expr": "vllm:gpu_cache_usage_perc", "datasource": {"type": "prometheus"}},
        {"refId": "B", "expr": "vllm:gpu_cache_usage_perc", "datasource": {"type": "loki"}},
    ]
    file = tmp_path / "board.json"
    file.write_text(json.dumps(board_of({"targets": targets, "datasource": {"uid": "-- Mixed --"}})))
    assert [finding.where for finding in lint(file).findings] == ['panel "x" (id 1), query A']


@pytest.mark.parametrize(
    ("panel", "faulty"),
    [
        ({"fieldConfig": {"defaults": {"unit": "percent"}}}, True),
        ({"yaxes": [{"format": "percent"}, {"format": "short"}]}, True),
        ({"format": "percent"}, True),
        ({"format": "percentunit"}, False),
        ({"fieldConfig": {"defaults": {"unit": "percent"}}, "transformations": [{"id": "calculateField"}]}, False),
        ({"yaxes": [{"format": "percent"}], "seriesOverrides": [{"alias": "x", "yaxis": 2}]}, False),
    ],
)
def test_a_panels_unit_is_read_where_there_is_one(tmp_path: Path, panel: dict[str, object], faulty: bool) -> None:
    file = tmp_path / "board.json"
    file.write_text(json.dumps(board_of({"targets": [{"expr": "vllm:kv_cache_usage_perc"}], **panel})))
    assert bool(lint(file).findings) is faulty
