"""Another strategy for an InferenceEndpointConfig: one field, its companions asked for and never written."""

from __future__ import annotations

import pytest

from controller.changes.planner import Load
from controller.changes.planners.hyperpod import HYPERPOD
from tests.support.hyperpod_planning import GATEWAYS, chat, everywhere, hyperpod, operator, source
from tests.support.planning import NOW, Planned, plan, refusals
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

ROUTER = ObjectRef("Deployment", "hyperpod-inference-system", "chat-inference-router")
ENGINES = ObjectRef("Deployment", "inference", "chat")
FIELD = ("spec", "intelligentRoutingSpec", "routingStrategy")
KVAWARE = Wish(strategy="kvaware")


def kvaware_ready() -> Planned:
    """All that kvaware needs."""
    made = hyperpod("v3.2")
    spec = source(made)
    spec["invocationEndpoint"] = "/completions"
    spec["worker"]["environmentVariables"].append({"name": "SESSION_KEY", "value": "user_id"})
    for engine in everywhere(made):
        engine["image"] = "lmcache/vllm-openai:v0.5.6"
    return made


def test_it_is_one_field_and_the_router_is_asked_for_it_afterwards() -> None:
    made = plan(HYPERPOD, chat(hyperpod()), Wish(strategy="roundrobin"))
    (write,) = made.writes
    assert write.ref == ObjectRef("InferenceEndpointConfig", "inference", "chat")
    assert write.api_version == "inference.sagemaker.aws.amazon.com/v1"
    assert write.address == (
        "/apis/inference.sagemaker.aws.amazon.com/v1/namespaces/inference/inferenceendpointconfigs/chat"
    )
    assert write.edits == (FieldEdit(FIELD, "prefixaware", "roundrobin"),)
    assert made.carries == (Carried(ROUTER, "router-container", Carrying.ARGUMENT, "--routing-logic", "roundrobin"),)
    assert made.strategy == "roundrobin"


def test_the_worst_case_is_said_all_engines_restart_and_a_revert_costs_the_same() -> None:
    made = plan(HYPERPOD, chat(hyperpod()), Wish(strategy="roundrobin"))
    assert (made.restarts, made.loses) == ((ROUTER, ENGINES), (Tier.L0, Tier.L1))
    said = " ".join(made.warnings)
    assert "in the worst case all 2 engine pods restart, and L0 and L1 are empty." in said
    assert "A revert is another write: it costs the same again." in said
    assert "HyperPod has no canary" in said


def test_enabled_is_never_written_since_the_operator_refuses_it_on_a_live_endpoint() -> None:
    made = hyperpod()
    source(made)["intelligentRoutingSpec"] = {"enabled": False, "routingStrategy": "prefixaware"}
    (refused,) = refusals(HYPERPOD, chat(made), Wish(strategy="session")).values()
    assert refused.code == "routing_not_enabled"
    assert refused.fix == "Delete the endpoint and make it anew with enabled: true."


def test_a_field_that_is_not_stated_is_the_default_and_was_not_there() -> None:
    made = hyperpod()
    del source(made)["intelligentRoutingSpec"]["routingStrategy"]
    assert list(refusals(HYPERPOD, chat(made), Wish(strategy="prefixaware"))) == ["nothing_to_do"]
    (write,) = plan(HYPERPOD, chat(made), Wish(strategy="roundrobin")).writes
    assert write.edits == (FieldEdit(FIELD, ABSENT, "roundrobin"),)


def test_the_live_definition_says_which_strategies_there_are() -> None:
    made = hyperpod()
    (refused,) = refusals(HYPERPOD, chat(made), Wish(strategy="loadaware")).values()
    assert refused.code == "unknown_strategy"
    assert "prefixaware, kvaware, session, roundrobin, and not loadaware" in refused.reason
    (raw,) = [raw for ref, raw in made.others if ref.name.startswith("inferenceendpointconfigs")]
    spec = raw["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["intelligentRoutingSpec"]["properties"]["routingStrategy"]["enum"].append("loadaware")
    assert plan(HYPERPOD, chat(made), Wish(strategy="loadaware")).strategy == "loadaware"


def test_a_definition_that_may_not_be_read_leaves_the_published_strategies_and_says_so() -> None:
    made = hyperpod()
    made.forbidden.add("CustomResourceDefinition")
    assert list(refusals(HYPERPOD, chat(made), Wish(strategy="loadaware"))) == ["unknown_strategy"]
    warned = plan(HYPERPOD, chat(made), Wish(strategy="roundrobin")).warnings[-1]
    assert warned.endswith("so the strategies of chart 2.2.2 are taken.")


def test_a_router_that_runs_otherwise_than_stated_is_not_written_again() -> None:
    made = hyperpod()
    for one in (*made.pods("chat-inference-router"), made.pick("Deployment", ROUTER.name)["spec"]["template"]):
        one["spec"]["containers"][0]["args"] = ["--routing-logic", "roundrobin"]
    (refused,) = refusals(HYPERPOD, chat(made), Wish(strategy="prefixaware")).values()
    assert refused.code == "nothing_to_do"
    assert "its router runs with roundrobin" in refused.reason


def test_a_router_that_does_not_state_its_strategy_is_left_to_the_proof() -> None:
    made = hyperpod()
    made.pick("Deployment", ROUTER.name)["spec"]["template"]["spec"]["containers"][0]["args"] = []
    planned = plan(HYPERPOD, chat(made), Wish(strategy="roundrobin"))
    assert planned.carries == ()
    assert "only its behaviour can prove it" in planned.warnings[-1]


def test_kvaware_is_planned_where_all_that_it_needs_is_there() -> None:
    made = kvaware_ready()
    made.load = Load(chat_seen_at=NOW - 25 * 3600)
    planned = plan(HYPERPOD, chat(made), KVAWARE)
    assert planned.writes[0].edits == (FieldEdit(FIELD, "prefixaware", "kvaware"),)
    assert any("behaves as roundrobin, without an error" in one for one in planned.warnings)


@pytest.mark.parametrize("stated", ["", "invocations", "v1/chat/completions", "v1/completions"])
def test_kvaware_does_not_change_where_clients_send_to(stated: str) -> None:
    made = kvaware_ready()
    source(made)["invocationEndpoint"] = stated
    refused = refusals(HYPERPOD, chat(made), KVAWARE)
    assert list(refused) == ["kvaware_invocation_endpoint"]
    assert (stated or "invocations") in refused["kvaware_invocation_endpoint"].reason


def test_completions_without_a_slash_is_the_same() -> None:
    made = kvaware_ready()
    source(made)["invocationEndpoint"] = "completions"
    assert plan(HYPERPOD, chat(made), KVAWARE).strategy == "kvaware"


def test_kvaware_is_refused_where_chat_came_within_a_day() -> None:
    made = kvaware_ready()
    made.load = Load(chat_seen_at=NOW - 6 * 3600)
    refused = refusals(HYPERPOD, chat(made), KVAWARE)
    assert list(refused) == ["kvaware_chat"]
    assert refused["kvaware_chat"].reason.startswith("Chat completions came 6.0 hours ago")


@pytest.mark.parametrize(
    ("operator_version", "image", "words"),
    [
        ("v3.1.2", "lmcache/vllm-openai:v0.5.6", "the inference operator 3.1.3 or newer, and 3.1.2 runs"),
        ("v3.2", "lmcache/vllm-openai:v0.4.2", "LMCache 0.4.3 or newer, and 0.4.2 runs"),
        ("v3.2", "vllm/vllm-openai:v0.19.0", "vLLM 0.19.1 or newer, and 0.19.0 runs"),
    ],
)
def test_kvaware_needs_versions_as_far_as_images_tell_them(operator_version: str, image: str, words: str) -> None:
    made = kvaware_ready()
    made.documents.remove(made.pick("Deployment", "hyperpod-inference-controller-manager"))
    made.documents.append(operator(operator_version))
    for engine in everywhere(made):
        engine["image"] = image
    refused = refusals(HYPERPOD, chat(made), KVAWARE)
    assert list(refused) == ["kvaware_versions"]
    assert words in refused["kvaware_versions"].reason


def test_a_version_that_no_image_tells_is_a_warning() -> None:
    made = kvaware_ready()
    made.documents.remove(made.pick("Deployment", "hyperpod-inference-controller-manager"))
    warnings = plan(HYPERPOD, chat(made), KVAWARE).warnings
    assert any("no image tells the version of the inference operator and vLLM" in one for one in warnings)
    assert any("Whether chat came within 24 hours is not known" in one for one in warnings)


def test_kvaware_asks_lmcache_so_an_engine_without_it_is_refused() -> None:
    made = kvaware_ready()
    for engine in everywhere(made):
        engine["env"] = [one for one in engine["env"] if not one["name"].startswith("LMCACHE_")]
    assert list(refusals(HYPERPOD, chat(made), KVAWARE)) == ["kvaware_controller"]


@pytest.mark.parametrize("strategy", ["session", "kvaware"])
def test_session_and_kvaware_need_a_session_key(strategy: str) -> None:
    made = kvaware_ready()
    source(made)["worker"]["environmentVariables"].pop()
    refused = refusals(HYPERPOD, chat(made), Wish(strategy=strategy))
    assert list(refused) == ["session_key_missing"]


def test_a_gateway_for_the_model_excludes_it() -> None:
    made = hyperpod()
    gateway = {"metadata": {"name": "front"}, "spec": {"models": [{"endpointRef": {"name": "chat"}}]}}
    made.lists[GATEWAYS] = [gateway]
    (refused,) = refusals(HYPERPOD, chat(made), Wish(strategy="roundrobin")).values()
    assert refused.code == "not_possible"
    assert refused.reason.startswith("InferenceGatewayConfig inference/front routes to this model")
    made.lists[GATEWAYS] = [{"metadata": {"name": "front"}, "spec": {"models": ["another"]}}]
    assert plan(HYPERPOD, chat(made), Wish(strategy="roundrobin"))


def test_an_operator_that_is_scaled_to_none_would_render_nothing() -> None:
    made = hyperpod()
    made.pick("Deployment", "hyperpod-inference-controller-manager")["spec"]["replicas"] = 0
    (refused,) = refusals(HYPERPOD, chat(made), Wish(strategy="roundrobin")).values()
    assert refused.code == "silent_no_op"
    assert "scale deployment hyperpod-inference-controller-manager --replicas=1" in refused.fix


def test_what_a_hand_wrote_to_the_deployment_is_said_to_be_dropped() -> None:
    made = hyperpod()
    made.pick("Deployment", "chat")["metadata"]["managedFields"] = [
        {"manager": "kubectl-edit", "time": "2026-11-20T08:00:00Z", "fieldsV1": {"f:spec": {"f:template": {}}}}
    ]
    warnings = plan(HYPERPOD, chat(made), Wish(strategy="roundrobin")).warnings
    assert "What kubectl-edit wrote to Deployment inference/chat is dropped when the operator renders it anew." in (
        warnings
    )


def test_an_object_that_is_gone_or_going_is_refused() -> None:
    made = hyperpod()
    look = chat(made)
    made.pick("InferenceEndpointConfig", "chat")["metadata"]["deletionTimestamp"] = "2026-11-30T08:00:00Z"
    assert list(refusals(HYPERPOD, look, Wish(strategy="roundrobin"))) == ["unreadable"]
