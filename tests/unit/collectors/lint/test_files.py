"""Files that are no boards: one clear sentence each, in little time, and never a crash."""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.lint.report import lint
from tierdeck.errors import UsageError

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def refusal(file: Path) -> str:
    with pytest.raises(UsageError) as told:
        lint(file)
    line = told.value.line()
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("empty.json", b"", "is empty"),
        ("blank.yaml", b" \n\t\n", "is empty"),
        ("binary.json", bytes(range(256)), "is not text in UTF-8"),
        ("nul.json", b'{"panels": []}\0', "is not text"),
        ("wide.json", '{"panels": []}'.encode("utf-16"), "is not text in UTF-8"),
        ("cut.json", b'{"panels": [', "is not JSON: Expecting value in line 1"),
        ("other.json", b'{"name": "x", "version": 1}', "holds neither a Grafana board nor Prometheus rules"),
        ("list.json", b"[1, 2]", "holds neither"),
        ("text.json", b'"panels"', "holds neither"),
        ("number.yaml", b"42", "holds neither"),
        ("prose.yaml", b"just a line of text", "holds neither"),
        ("pod.yaml", b"kind: Pod\nspec: {containers: []}\n", "holds neither"),
        ("groups.yaml", b"groups: [1, 2]", "holds neither"),
        ("broken.yaml", b"groups:\n  - name: x\n rules: [", "is not YAML"),
        ("chart.yaml", b"groups:\n{{- range .x }}\n- {{ . }}\n", "helm template"),
        ("deep.json", b"[" * 100_000, "nested too deeply"),
        ("deep.yaml", b"[" * 100_000, "is not YAML"),
        ("steps.yaml", b"- " * 600 + b"a", "nested too deeply"),
        ("digits.json", b'{"panels": ' + b"9" * 5000 + b"}", "can't be read"),
        ("bomb.yaml", BOMB.encode(), "grows beyond 1000000 entries by its aliases"),
        ("circle.yaml", b"groups: &a\n  - *a\n", "recursive node"),
        ("tag.yaml", b"!!python/object/apply:os.system ['true']", "holds neither"),
        ("map.yaml", b"kind: ConfigMap\ndata: {board.json: '{'}", "board.json in "),
    ],
)
def test_what_can_t_be_used_is_refused_in_one_line(tmp_path: Path, name: str, body: bytes, says: str) -> None:
    file = tmp_path / name
    file.write_bytes(body)
    assert says in refusal(file)


def test_a_directory_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "none.json")
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in refusal(tmp_path / "pipe")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as writer:
        writer.truncate(50 * 1024**2)
    began = time.monotonic()
    assert "has 50 MiB, and more than 16 MiB are not read" in refusal(file)
    assert time.monotonic() - began < 1


def test_yaml_of_many_megabytes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_text("a: b\n" * 1_000_000)
    assert "YAML of more than 4 MiB" in refusal(file)


def test_names_lists_and_numbers_in_odd_places_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    panels = [1, None, {"targets": [None, {"expr": 3}, {"expr": ["a"]}], "title": ["x"], "fieldConfig": 7}]
    file.write_text(json.dumps({"panels": panels, "templating": [], "annotations": {"list": "x"}, "rows": {}}))
    assert lint(file).findings == []


def test_a_board_with_a_byte_order_mark_and_windows_line_ends_is_read(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    text = '{"panels": [\r\n{"targets": [{"expr": "vllm:gpu_cache_usage_perc"}]}]}\r\n'
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [finding.rule for finding in lint(file).findings] == ["dead_name"]


def test_what_people_read_moves_no_cursor_and_keeps_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    panel = {"title": "a\x1b[2J\nb", "targets": [{"expr": "max(\n vllm:gpu_cache_usage_perc)"}]}
    file.write_text(json.dumps({"panels": [panel]}))
    text = lint(file).text()
    assert "\x1b" not in text
    assert text.splitlines()[2:] == [
        'panel "a [2J b"',
        "    max( vllm:gpu_cache_usage_perc)",
        "  dead_name: vllm:gpu_cache_usage_perc is gone from vLLM by 0.12.0; its name is vllm:kv_cache_usage_perc now.",
        "  right:",
        "    max(vllm:kv_cache_usage_perc)",
    ]


KEYS = st.sampled_from(
    [
        "panels",
        "rows",
        "targets",
        "expr",
        "title",
        "id",
        "type",
        "datasource",
        "uid",
        "templating",
        "list",
        "query",
        "annotations",
        "groups",
        "rules",
        "alert",
        "record",
        "spec",
        "kind",
        "data",
        "elements",
        "libraryPanel",
        "model",
        "fieldConfig",
        "defaults",
        "unit",
        "overrides",
        "properties",
        "dashboard",
        "__elements",
        "__inputs",
        "current",
        "value",
        "name",
        "yaxes",
        "format",
        "schemaVersion",
        "items",
        "hide",
        "refId",
        "json",
    ]
)
WORDS = [
    "row",
    "prometheus",
    "loki",
    "ConfigMap",
    "List",
    "query",
    "label_values(a,b)",
    "$x(a)",
    "vllm:gpu_cache_usage_perc",
    "sum(",
    "{",
    "groups:",
    "percent",
    "${x}",
    "datasource",
    "PrometheusRule",
]
SCALARS = st.sampled_from([None, True, 1, 0.5, "", *WORDS])
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=40
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(DOCUMENTS)
def test_any_document_is_judged_or_refused(tmp_path: Path, document: object) -> None:
    file = tmp_path / "any.json"
    file.write_text(json.dumps({"panels": [document], "groups": document}))
    try:
        report = lint(file)
    except UsageError:
        return
    json.dumps(report.document())
    assert report.text()
