"""An argument is set so that reading the result back gives just that, and the rest stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.changes.edits.arguments import with_argument
from controller.changes.edits.errors import NotEditableError
from controller.objects import Objects, Raw
from controller.reading.commands import Command, flag_of
from controller.reading.configs import Configs
from controller.reading.processes import read_process

SHARE = "--gpu-memory-utilization"
SPELLINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "apart": ({"args": ["m", SHARE, "0.9", "--port", "1"]}, {"args": ["m", SHARE, "0.85", "--port", "1"]}),
    "with =": ({"args": [f"{SHARE}=0.9", "m"]}, {"args": [f"{SHARE}=0.85", "m"]}),
    "underscores": ({"args": ["--gpu_memory_utilization", "0.9"]}, {"args": ["--gpu_memory_utilization", "0.85"]}),
    "several times, of which the last counts": (
        {"args": [SHARE, "0.5", "m", f"{SHARE}=0.9", "--port", "1"]},
        {"args": ["m", f"{SHARE}=0.85", "--port", "1"]},
    ),
    "in command": (
        {"command": ["vllm", "serve", "m", SHARE, "0.9"], "args": ["--port", "1"]},
        {"command": ["vllm", "serve", "m", SHARE, "0.85"], "args": ["--port", "1"]},
    ),
    "across both": (
        {"command": ["vllm", "serve", "m", SHARE], "args": ["0.9", "--port", "1"]},
        {"command": ["vllm", "serve", "m"], "args": [SHARE, "0.85", "--port", "1"]},
    ),
    "in both": (
        {"command": ["vllm", "serve", "m", SHARE, "0.5"], "args": [SHARE, "0.9"]},
        {"command": ["vllm", "serve", "m"], "args": [SHARE, "0.85"]},
    ),
    "new, in args": (
        {"command": ["vllm", "serve"], "args": ["m"]},
        {"command": ["vllm", "serve"], "args": ["m", SHARE, "0.85"]},
    ),
    "new, in command": ({"command": ["vllm", "serve", "m"]}, {"command": ["vllm", "serve", "m", SHARE, "0.85"]}),
    "without its value": ({"args": [SHARE, "--port", "1"]}, {"args": [SHARE, "0.85", "--port", "1"]}),
    "from a variable": ({"args": [SHARE, "$(UTIL)"]}, {"args": [SHARE, "0.85"]}),
    "a shell": (
        {"command": ["sh", "-c", f"sleep 1 && exec vllm serve m {SHARE} 0.9 --port $PORT"]},
        {"command": ["sh", "-c", f"sleep 1 && exec vllm serve m {SHARE} 0.85 --port $PORT"]},
    ),
    "a shell's lines": (
        {"command": ["bash", "-c"], "args": ["vllm serve m \\\n  --gpu_memory_utilization='0.9' \\\n  --port 1\n"]},
        {"command": ["bash", "-c"], "args": ["vllm serve m \\\n  --gpu_memory_utilization=0.85 \\\n  --port 1\n"]},
    ),
    "new, in a shell": (
        {"command": ["sh", "-c", "vllm serve m \\\n  --port 1"]},
        {"command": ["sh", "-c", f"vllm serve m \\\n  {SHARE} 0.85 --port 1"]},
    ),
    "new, in a shell without any": (
        {"command": ["sh", "-c", "export A=1\nvllm serve m\n"]},
        {"command": ["sh", "-c", f"export A=1\nvllm serve m {SHARE} 0.85\n"]},
    ),
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a script in a file": ({"command": ["/start.sh"]}, "which is not read"),
    "a shell with a file": ({"command": ["bash", "/start"]}, "which is not read"),
    "the image's own arguments": ({}, "its image's own"),
    "started twice": ({"command": ["sh", "-c", "vllm serve a & vllm serve b"]}, "starts the program 2 times"),
    "an open quote": ({"command": ["sh", "-c", "vllm serve 'm"]}, "can't be read"),
    "eval": ({"command": ["sh", "-c", "eval $X; vllm serve m"]}, "whose effect is not known"),
    "also in a comment": (
        {"command": ["sh", "-c", f"# {SHARE} 0.5 was too low\nvllm serve m {SHARE} 0.9"]},
        "with certainty",
    ),
    "its value from the shell": ({"command": ["sh", "-c", f"vllm serve m {SHARE} $(cat /u)"]}, "with certainty"),
    "a key in the clear": ({"args": ["m", "--api-key", "sk-123"]}, "(--api-key)"),
    "a secret of another name": ({"args": ["m", "--oidc-client-secret=abc"]}, "(--oidc-client-secret)"),
    "a secret in JSON": (
        {"args": ["m", "--l2-adapter", '{"type":"s3","aws_secret_access_key":"abc"}']},
        "secret by its name",
    ),
    "a token that a script sets": ({"command": ["sh", "-c", "HF_TOKEN=hf_1 vllm serve m"]}, "secret by its name"),
    "a key in the clear, in a shell": ({"command": ["sh", "-c", "vllm serve m --api-key=sk-1"]}, "(--api-key)"),
    "a password": ({"args": ["m", "--redis-url", "redis://user:pass@host"]}, "an address with a password"),
    "no list": ({"args": "vllm serve"}, "no list of words"),
}


@pytest.mark.parametrize(("before", "after"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_flag_is_set_in_its_own_spelling(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert with_argument(before, SHARE, "0.85") == after
    assert value_in(after) == "0.85"
    assert with_argument(after, SHARE, "0.85") == after


@pytest.mark.parametrize(("before", "_"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_flag_is_taken_out_in_every_spelling(before: dict[str, Any], _: dict[str, Any]) -> None:
    after = with_argument(before, SHARE, None)
    assert value_in(after) == ""
    assert with_argument(after, SHARE, None) == after


@pytest.mark.parametrize(("container", "words"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_done_exactly_is_refused(container: dict[str, Any], words: str) -> None:
    with pytest.raises(NotEditableError) as refused:
        with_argument(container, SHARE, "0.85")
    assert words in str(refused.value)


def test_a_key_from_a_variable_is_no_secret_in_the_clear() -> None:
    given = {"args": ["m", "--api-key", "$(KEY)", SHARE, "0.9"]}
    assert with_argument(given, SHARE, "0.85")["args"] == ["m", "--api-key", "$(KEY)", SHARE, "0.85"]


def test_the_last_argument_that_goes_leaves_no_empty_list() -> None:
    assert with_argument({"command": ["vllm", "serve", "m"], "args": [SHARE, "0.9"]}, SHARE, None) == {
        "command": ["vllm", "serve", "m"]
    }


WORDS = st.sampled_from([
    SHARE, f"{SHARE}=0.9", "--gpu_memory_utilization", "0.9", "m", "--port", "8000", "--port=1", "--enforce-eager",
    "--kv-transfer-config", '{"a": 1}', "-tp", "2", "x y",
])  # fmt: skip


@given(st.lists(WORDS, max_size=7), st.lists(WORDS, min_size=1, max_size=7))
def test_any_list_of_words_reads_back_as_wished(command: list[str], args: list[str]) -> None:
    before = {"name": "main", "command": ["vllm", "serve", *command], "args": args}
    after = with_argument(before, SHARE, "0.85")
    read = Command((*after["command"], *after.get("args", [])))
    assert [one.value for one in read.all(SHARE)] == ["0.85"]
    assert with_argument(after, SHARE, "0.85") == after
    kept = [*before["command"], *before["args"]], list(read.words)
    assert others(kept[0]) == others(kept[1])
    gone = with_argument(after, SHARE, None)
    assert others([*gone["command"], *gone.get("args", [])]) == others(kept[0])


@given(st.lists(WORDS.filter(lambda word: word not in ("x y", '{"a": 1}')), max_size=7))
def test_a_script_that_is_changed_reads_back_as_wished(words: list[str]) -> None:
    before = {"command": ["sh", "-c", "export A=1 && " + " ".join(["vllm", "serve", *words])]}
    try:
        after = with_argument(before, SHARE, "0.85")
    except NotEditableError:
        return
    assert value_in(after) == "0.85"
    assert with_argument(after, SHARE, "0.85") == after


def others(words: list[str]) -> list[str]:
    """The words that are no part of the flag."""
    found, position = [], 0
    while position < len(words):
        if flag_of(words[position]) != SHARE:
            found.append(words[position])
        elif "=" not in words[position] and not "".join(words[position + 1 : position + 2]).startswith("--"):
            position += 1
        position += 1
    return found


def value_in(container: Raw) -> str:
    read = read_process({"name": "main", **container}, [], Configs(Objects("prod", {}), "ns"), "here")
    assert len(read.command.all(SHARE)) <= 1
    return read.command.value(SHARE)
