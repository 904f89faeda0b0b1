"""How a benchmark is judged and printed."""

from pathlib import Path

import pytest

from tests.bench import measure
from tests.bench.__main__ import main, table


def test_a_ratio_to_the_peer_is_judged() -> None:
    # 2 ms where the peer takes 10 ms: ratio 0.2.
    assert measure("parse", 2, "ms", peer=("other", 10), at_most=0.2).ok
    missed = measure("parse", 2, "ms", peer=("other", 10), at_most=0.1)
    assert (missed.ratio, missed.limit, missed.ok) == (0.2, "≤ 0.1 × peer", False)


def test_without_a_peer_the_value_itself_is_judged() -> None:
    assert measure("rate", 400, "scrapes/s", at_least=300).ok
    assert not measure("rate", 400, "scrapes/s", at_least=300, at_most=350).ok
    assert measure("size", 5, "MB").ok


def test_a_peer_that_took_no_time_can_not_be_beaten() -> None:
    assert not measure("parse", 2, "ms", peer=("other", 0), at_most=1).ok


def test_the_table_shows_value_peer_ratio_limit_and_verdict() -> None:
    head, row = table([measure("parse", 2, "ms", peer=("other", 10), at_most=0.1)]).splitlines()
    assert head.split() == ["measure", "value", "peer", "ratio", "limit"]
    assert row.split() == ["parse", "2", "ms", "10", "ms", "(other)", "0.2", "≤", "0.1", "×", "peer", "MISS"]


@pytest.mark.parametrize(("at_most", "code"), [(3, 0), (1, 1)])
def test_a_missed_limit_is_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at_most: int, code: int
) -> None:
    package = tmp_path / f"benchmarks_{at_most}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "made_up.py").write_text(
        f"from tests.bench import measure\ndef run():\n    return [measure('made up', 2, 'ms', at_most={at_most})]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert main([], package.name) == code
    assert ("MISS" in capsys.readouterr().out) == bool(code)


def test_an_unknown_benchmark_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "no such benchmark: nonsense" in capsys.readouterr().err
