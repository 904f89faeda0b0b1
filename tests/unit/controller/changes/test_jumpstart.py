"""JumpStartModels: variables only, so that much is refused with its reason."""

from __future__ import annotations

from typing import Any

from controller.changes.planner import Look
from controller.changes.planners.jumpstart import JUMPSTART
from tests.support.hyperpod_planning import hyperpod
from tests.support.planning import Planned, plan, refusals
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef

GIB = 1 << 30
ENGINES = ObjectRef("Deployment", "inference", "chat")
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"


def jumpstart(**spec: Any) -> Planned:
    """HyperPod's example, rendered from a JumpStartModel of the same name."""
    made = hyperpod()
    made.documents.remove(made.pick("InferenceEndpointConfig", "chat"))
    made.documents.append(
        {
            "apiVersion": "inference.sagemaker.aws.amazon.com/v1",
            "kind": "JumpStartModel",
            "metadata": {"name": "chat", "namespace": "inference", "uid": "iec-1"},
            "spec": {
                "model": {"modelId": "huggingface-llm-qwen3-8b"},
                "server": {"instanceType": "ml.g6e.4xlarge"},
                "intelligentRoutingSpec": {"enabled": True, "routingStrategy": "prefixaware"},
                "kvCacheSpec": {"enableL1Cache": True, "enableL2Cache": False},
                "environmentVariables": [{"name": SIZE, "value": "40"}, {"name": "HF_TOKEN", "value": "hf_secret"}],
                **spec,
            },
        }
    )
    return made


def look(made: Planned) -> Look:
    return made.look("hyperpod-jumpstart", "inference/chat")


def with_memory(made: Planned, memory: str) -> Planned:
    container = made.pick("Deployment", "chat")["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"memory": memory}}
    return made


def test_a_strategy_is_the_same_one_field() -> None:
    found = plan(JUMPSTART, look(jumpstart()), Wish(strategy="roundrobin"))
    (edit,) = found.writes[0].edits
    assert edit == FieldEdit(("spec", "intelligentRoutingSpec", "routingStrategy"), "prefixaware", "roundrobin")
    assert found.writes[0].ref.kind == "JumpStartModel"


def test_kvaware_is_out_of_reach_since_it_has_no_invocation_endpoint() -> None:
    made = jumpstart(environmentVariables=[{"name": "SESSION_KEY", "value": "user_id"}])
    found = refusals(JUMPSTART, look(made), Wish(strategy="kvaware"))
    assert "JumpStartModel has no such field" in found["kvaware_invocation_endpoint"].reason


def test_session_needs_its_key_in_its_own_list() -> None:
    found = refusals(JUMPSTART, look(jumpstart()), Wish(strategy="session"))
    assert "has none in spec.environmentVariables." in found["session_key_missing"].reason


def test_l0_is_refused_since_it_has_no_arguments() -> None:
    found = refusals(JUMPSTART, look(jumpstart()), Wish(l0=L0Wish(share=0.85)))
    assert "has no arguments, so L0 can't be set there" in found["not_possible"].reason


def test_l1_is_the_variable_alone_where_memory_suffices_as_it_is() -> None:
    # 60 GiB and 16 for the engine are 76; the rendered engine has two ranks: 30 per rank
    found = plan(JUMPSTART, look(with_memory(jumpstart(), "76Gi")), Wish(l1_bytes=60 * GIB))
    path = ("spec", "environmentVariables", f"[name={SIZE}]", "value")
    assert found.writes[0].edits == (FieldEdit(path, "40", "30"),)
    assert found.carries == (Carried(ENGINES, "chat", Carrying.ENVIRONMENT, SIZE, "30"),)


def test_l1_that_does_not_fit_into_the_rendered_memory_is_refused() -> None:
    found = refusals(JUMPSTART, look(with_memory(jumpstart(), "75Gi")), Wish(l1_bytes=60 * GIB))
    assert found["not_possible"].reason == (
        "JumpStartModel inference/chat has no field for memory, and its pods get 75 GiB: "
        "L1 of 60 GiB and 16 GiB for the engine are 76 GiB."
    )


def test_what_was_never_rendered_is_not_guessed() -> None:
    made = jumpstart()
    made.documents.remove(made.pick("Deployment", "chat"))
    found = refusals(JUMPSTART, look(made), Wish(l1_bytes=60 * GIB))
    assert "no Deployment of it is there" in found["not_possible"].reason


def test_a_new_variable_is_an_entry_and_no_other_value_is_kept() -> None:
    made = with_memory(jumpstart(environmentVariables=[{"name": "HF_TOKEN", "value": "hf_secret"}]), "200Gi")
    (write,) = plan(JUMPSTART, look(made), Wish(l1_bytes=60 * GIB)).writes
    path = ("spec", "environmentVariables", f"[name={SIZE}]")
    assert write.edits == (FieldEdit(path, ABSENT, {"name": SIZE, "value": "30"}),)
    assert "hf_secret" not in repr(write)


def test_off_is_its_switch() -> None:
    found = plan(JUMPSTART, look(jumpstart()), Wish(l1_bytes=0))
    assert found.writes[0].edits == (FieldEdit(("spec", "kvCacheSpec", "enableL1Cache"), True, False),)


def test_l2_has_no_size_there() -> None:
    assert list(refusals(JUMPSTART, look(jumpstart()), Wish(l2_bytes=GIB))) == ["not_possible"]
