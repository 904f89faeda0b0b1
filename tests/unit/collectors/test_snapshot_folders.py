"""Folders that are no snapshot, though something near them is."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.snapshot import read_snapshot
from tests.support.expositions import vllm, write_snapshot
from tierdeck.errors import UsageError


def test_the_folder_above_several_bundles_names_them(tmp_path: Path) -> None:
    for name in ("chat", "rag"):
        write_snapshot(tmp_path / name, {"A": {0: {"vllm": vllm(0, 0)}, 60: {"vllm": vllm(1, 0)}}}, {"versions": {}})
    with pytest.raises(UsageError, match="each of several endpoints: chat, rag") as caught:
        read_snapshot(tmp_path)
    assert caught.value.hint == f"Explain one of them: tierdeck explain {tmp_path / 'chat'}"
