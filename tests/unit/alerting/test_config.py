"""The file of alert limits: what counts for whom, and refusals that name the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerting.config import read_limits
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.ttft import Objective
from tierdeck.errors import UsageError

CHAT, RAG = Subject("east", "inference/chat"), Subject("east", "rag")


def written(folder: Path, text: str) -> Path:
    path = folder / "alerts.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_nothing_is_set_and_all_is_on() -> None:
    limits = read_limits(None)
    assert limits.floor(CHAT) is None
    assert limits.objective(CHAT) is None
    assert limits.is_on("tier_drop", CHAT)


def test_an_endpoint_goes_before_the_defaults(tmp_path: Path) -> None:
    text = """
defaults: {floor: 0.4, ttft: {share: 0.95, seconds: 2}, rules: {tier_drop: false}}
endpoints:
  chat: {floor: 0.6, rules: {tier_drop: true}}
"""
    limits = read_limits(written(tmp_path, text))
    assert (limits.floor(CHAT), limits.floor(RAG)) == (0.6, 0.4)
    assert limits.objective(CHAT) == Objective(0.95, 2.0)
    assert (limits.is_on("tier_drop", CHAT), limits.is_on("tier_drop", RAG)) == (True, False)
    assert limits.is_on("no_data", RAG)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("defaults: {floor: 1.5}", "defaults.floor: a number below 1.0 is needed"),
        ("defaults: {flor: 0.5}", "defaults.flor: there is no such key"),
        ("defaults: {ttft: {share: 0.9}}", "defaults.ttft.seconds: missing"),
        ("endpoints: {chat: {rules: {hit_drop: false}}}", "there is no rule hit_drop"),
        ("defaults: {floor: 0.5, floor: 0.6}", "floor is given twice"),
        ("defaults: [1]", "defaults: keys with values are needed"),
        ("a: b: c", "not YAML"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"alerts\.yaml") as caught:
        read_limits(written(tmp_path, text))
    assert said in caught.value.line()
    assert "\n" not in caught.value.line()


def test_a_missing_file_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_limits(tmp_path / "none.yaml")
    assert "TIERDECK_ALERTS_FILE" in caught.value.line()
