"""LMCache's keys do not tell two models at one path apart; the directory that each identity has does."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.real import commands, embedded
from lab.real.environment import ensure
from lab.real.layout import CHUNK_TOKENS, free_ports
from tests.live.fleet import text_of
from tests.support.processes import running_program, wait_until
from tierdeck.l2.identity import ModelIdentity, ModelSource
from tierdeck.l2.policy import L2Policy
from tierdeck.l2.wiring import Wiring

PATH = "/opt/ml/model"
"""Where HyperPod mounts every model."""
PROMPT_TOKENS = 640
CHUNKS = PROMPT_TOKENS // CHUNK_TOKENS


@dataclass(frozen=True)
class Engine:
    """One of a model at that path, and the directory that it was given."""

    address: str
    directory: Path

    def store(self) -> None:
        self._post("store")
        wait_until(lambda: len(self.files()) == CHUNKS, "the chunks' files")

    def retrieved(self) -> int:
        return int(self._post("retrieve")["num_retrieved"])

    def files(self) -> set[str]:
        return {path.name for path in self.directory.glob("*.data")}

    def _post(self, what: str) -> dict[str, int]:
        url = f"{self.address}/cache/{what}?tokens_mock=0,{PROMPT_TOKENS}"
        with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=60) as answer:
            found: dict[str, int] = json.load(answer)
        return found


@contextmanager
def engine(folder: Path, name: str, bucket: str) -> Iterator[Engine]:
    """As an opted-in pod runs it: with the address that the injector gives this model."""
    pool = folder / "pool"
    pool.mkdir(exist_ok=True)
    directory = ModelIdentity(ModelSource.S3, f"{bucket}/llama").directory
    wiring = Wiring(L2Policy("the test", "curvine-pvc", str(pool)), directory)
    (port,) = free_ports(1)
    program, *rest = embedded.command(PATH)
    own = embedded.settings(wiring.url, port)
    with running_program([ensure(print).program(program), *rest], folder / f"{name}.log", commands.surroundings(own)):
        yield Engine(f"http://127.0.0.1:{port}", pool / directory)


def answers(one: Engine) -> bool:
    try:
        return bool(text_of(one.address + "/metrics"))
    except OSError:
        return False


def test_two_models_at_one_path_never_share_a_file(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ours, same, other = (
            stack.enter_context(engine(tmp_path, name, bucket))
            for name, bucket in (("ours", "weights-a"), ("same", "weights-a"), ("other", "weights-b"))
        )
        for one in (ours, same, other):
            wait_until(lambda one=one: answers(one), "the engine", tmp_path / "ours.log")  # type: ignore[misc]
        ours.store()
        # The danger: whoever is given the same directory reads what is there, whatever its weights are.
        assert same.retrieved() == PROMPT_TOKENS
        assert other.retrieved() == 0
        other.store()
        # The keys are the same to the letter; it is the directories alone that keep them apart.
        assert other.files() == ours.files()
        assert other.directory != ours.directory
        assert {path.name for path in (tmp_path / "pool").iterdir()} == {ours.directory.name, other.directory.name}
        assert other.retrieved() == PROMPT_TOKENS
