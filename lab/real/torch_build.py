"""Which build of PyTorch this machine is served: a CPU one, as some indexes have it, or the one with CUDA."""

from __future__ import annotations

import json
import re
import subprocess
import sys

_PATIENCE_SECONDS = 300.0
_OURS_OR_CUDAS = re.compile(r"(torch|triton|cuda-[a-z-]+|nvidia-[a-z0-9-]+)==")


def serves_cpu_build(version: str) -> bool:
    """Whether `pip install torch==VERSION` would take a CPU build. No answer counts as no."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed"]
    try:
        done = subprocess.run(  # noqa: S603  # pip
            [*command, "--disable-pip-version-check", "--report", "-", f"torch=={version}"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and is_cpu_build(done.stdout)


def is_cpu_build(report: str) -> bool:
    """Reads pip's installation report."""
    try:
        (found,) = json.loads(report)["install"]
        needs = " ".join(found["metadata"].get("requires_dist", ()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return "nvidia" not in needs and "cuda" not in needs


def without_torch(lock: str) -> str:
    """The lock without PyTorch and what only its CUDA build needs."""
    kept, keep = [], True
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            keep = _OURS_OR_CUDAS.match(line) is None
        if keep:
            kept.append(line)
    return "".join(kept)
