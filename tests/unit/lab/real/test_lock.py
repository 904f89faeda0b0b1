"""The lock of the real fleet's environment: pinned, hashed, host-free, and read as it is meant."""

import json
import re
from pathlib import Path

import pytest

from lab.real.environment import CACHE, ENGINE, LOCK, locked_version
from lab.real.torch_build import is_cpu_build, without_torch
from tierdeck.errors import UsageError

TEXT = LOCK.read_text()


def test_it_names_no_host() -> None:
    assert "://" not in TEXT


def test_every_package_has_a_version_and_a_hash() -> None:
    blocks = re.split(r"\n(?=[a-z])", TEXT.partition("\n")[2])
    packages = [block for block in blocks if not block.startswith((" ", "#"))]
    assert len(packages) > 150
    assert all(re.match(r"[a-z0-9-]+==\S+", block) and "--hash=sha256:" in block for block in packages)


def test_it_is_what_was_asked_for() -> None:
    asked = Path(LOCK).with_suffix(".in").read_text().splitlines()
    for line in asked:
        if not line.startswith("#"):
            name, version = line.split("==")
            assert locked_version(name) == version


def test_a_package_that_is_not_in_it_is_told() -> None:
    assert (locked_version(ENGINE), locked_version(CACHE)) == ("0.32.0", "0.5.6")
    with pytest.raises(UsageError, match="no such-thing"):
        locked_version("such-thing")


def names(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z][a-z0-9-]*)==", lock, re.MULTILINE))


def test_with_a_cpu_build_nothing_of_cuda_is_left() -> None:
    left_out = names(TEXT) - names(without_torch(TEXT))
    assert {"torch", "nvidia-cublas", "cuda-toolkit"} < left_out
    assert all(name == "torch" or name.startswith(("nvidia-", "cuda-")) for name in left_out)
    assert without_torch(TEXT).count("--hash=") < TEXT.count("--hash=")


@pytest.mark.parametrize(
    ("report", "is_cpu"),
    [
        ({"install": [{"metadata": {"version": "2.13.0+cpu", "requires_dist": ["filelock", "sympy>=1.13"]}}]}, True),
        ({"install": [{"metadata": {"version": "2.13.0", "requires_dist": ["nvidia-nccl-cu13==2.29.7"]}}]}, False),
        ({"install": [{"metadata": {"version": "2.13.0", "requires_dist": ["cuda-toolkit==13.0.3"]}}]}, False),
        ({"install": []}, False),
        ([], False),
    ],
)
def test_a_cpu_build_is_one_that_asks_for_nothing_of_cuda(report: object, is_cpu: bool) -> None:
    assert is_cpu_build(json.dumps(report)) is is_cpu


def test_no_report_is_no_cpu_build() -> None:
    assert not is_cpu_build("ERROR: no matching distribution")
