"""The model in the cache folder, made by `model.py` inside the fleet's environment where it is missing."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from lab.real.environment import Environment, Say
from tierdeck.errors import TierdeckError

_MAKER = Path(__file__).with_name("model.py")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}


def ensure_model(environment: Environment, say: Say) -> Path:
    """The model's folder. Its path is part of LMCache's keys, so all replicas use this one.

    Raises:
        TierdeckError: it can't be made.
    """
    key = hashlib.sha256(_MAKER.read_bytes() + environment.folder.name.encode()).hexdigest()[:12]
    folder = environment.folder.parent / f"model-{key}"
    if not folder.exists():
        say(f"making the model in {folder}")
        command = [environment.program("python"), "-P", str(_MAKER), str(folder)]
        surroundings = {**os.environ, **OFFLINE}
        done = subprocess.run(  # noqa: S603  # our own script
            command, check=False, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise TierdeckError(f"the model can't be made: {lines[-1] if lines else done.returncode}")
    return folder
