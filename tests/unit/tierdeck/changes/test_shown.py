"""What may be stored and shown of an object: nothing secret, and no variable that is not on the list."""

from __future__ import annotations

import json

import pytest

from tierdeck.changes.shown import HIDDEN, hidden_values, is_shown, shown

CANARY = "canary-8f3a"


@pytest.mark.parametrize(
    "held",
    [
        {"env": [{"name": "HF_TOKEN", "value": CANARY}]},
        {"env": [{"name": "ANYTHING", "value": CANARY}]},
        {"environmentVariables": [{"name": "LMCACHE_REMOTE_URL", "value": f"redis://user:{CANARY}@cache:6379"}]},
        {"args": ["--api-key", CANARY, "--model", "x"]},
        {"args": [f"--api-key={CANARY}"]},
        {"args": ["sh", "-c", f"vllm serve --api-key {CANARY}"]},
        {"args": ["-c", f"HF_TOKEN={CANARY} vllm serve"]},
        {"args": ["--static-backends", f"http://user:{CANARY}@chat:8000"]},
        {"spec": {"vllmConfig": {"apiKey": CANARY}}},
        {"spec": {"hfToken": CANARY}},
        {"data": {"HF_TOKEN": CANARY, "api_key": CANARY}},
        {"data": {"lmcache.yaml": f"remote_url: redis://:{CANARY}@cache\nchunk_size: 256"}},
        {"data": {"router.json": json.dumps({"routing_logic": "session", "api_key": CANARY})}},
    ],
)
def test_a_secret_is_shown_nowhere(held: dict[str, object]) -> None:
    made = json.dumps(shown(held))
    assert CANARY not in made
    assert HIDDEN in made


def test_sizes_addresses_and_what_only_sounds_secret_are_shown() -> None:
    held = {
        "env": [
            {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "40"},
            {"name": "LMCACHE_REMOTE_URL", "value": "fs://localhost:0/mnt/curvine/l2cache/"},
            {"name": "SESSION_KEY", "value": "user_id"},
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
        ],
        "args": ["--max-num-batched-tokens", "8192", "--session-key", "user_id", "--tokenizer", "an/llm"],
        "data": {"router.json": '{"routing_logic": "session", "session_key": "user_id"}'},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"topologyKey": "kubernetes.io/hostname"},
        "spec": {"sessionKey": "user_id", "volumes": [{"secret": {"secretName": "hf"}}], "password": ""},
    }
    assert shown(held) == held


def test_only_what_is_on_the_list_and_has_no_user_is_shown() -> None:
    assert is_shown("PYTHONHASHSEED", "0")
    assert not is_shown("LMCACHE_REMOTE_URL", "redis://a:b@cache")
    assert not is_shown("AWS_SECRET_ACCESS_KEY", "x")


def test_values_that_may_not_be_shown_are_known_so_that_they_can_be_taken_out_of_a_servers_words() -> None:
    held = {"spec": {"env": [{"name": "HF_TOKEN", "value": CANARY}, {"name": "PYTHONHASHSEED", "value": "12345"},
                             {"name": "X", "value": "on"}]}}  # fmt: skip
    assert hidden_values(held) == {CANARY}
    args = ["--api-key", "sk-apart", "--hf-token=hf_joined", "--session-key", "user_id", "--api-key", "--port"]
    assert hidden_values({"args": args}) == {"sk-apart", "hf_joined"}
