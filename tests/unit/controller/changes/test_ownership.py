"""Who owns a field; what we applied before; and what is sent so that none of it is lost."""

from __future__ import annotations

from controller.changes.kube.claims import claims_of, scaled
from controller.changes.kube.document import document, lost
from controller.changes.kube.ownership import holders, is_one_value, owned
from controller.objects import Objects
from controller.resources import AUTOSCALERS
from tests.unit.controller.changes.kube_objects import (
    AFTER,
    ARGS,
    CONTAINER,
    SIZE,
    args,
    deployment,
    entry,
    of_container,
    write,
)
from tierdeck.changes.plan import ABSENT, FieldEdit

OTHER = {"name": "LMCACHE_CHUNK_SIZE", "value": "256"}
CHUNK = (*CONTAINER, "env", "[name=LMCACHE_CHUNK_SIZE]")
OF_CHUNK = of_container({"f:env": {'k:{"name":"LMCACHE_CHUNK_SIZE"}': {".": {}, "f:name": {}, "f:value": {}}}})
OURS = entry("tierdeck", OF_CHUNK, "Apply")
HELM = entry("helm", of_container({"f:args": {}, "f:image": {}}))


def test_the_owner_of_a_field_is_found_by_the_keys_of_the_list() -> None:
    raw = deployment(HELM, OURS, env=[OTHER])
    assert [one.manager for one in holders(raw, ARGS)] == ["helm"]
    assert [one.manager for one in holders(raw, (*CHUNK, "value"))] == ["tierdeck"]
    assert holders(raw, SIZE) == ()
    assert holders(raw, ("spec", "template", "spec", "containers", "[name=sidecar]", "args")) == ()


def test_whoever_owns_a_map_as_one_value_owns_what_is_in_it_but_not_what_comes_to_an_empty_one() -> None:
    leaf = entry("helm", of_container({"f:resources": {}}))
    raw = deployment(leaf)
    path = (*CONTAINER, "resources", "limits", "memory")
    assert holders(raw, path) == ()
    raw["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"memory": "8Gi"}}
    assert [one.manager for one in holders(raw, path)] == ["helm"]


def test_what_writes_the_status_owns_no_field_and_who_wrote_last_comes_last() -> None:
    status = entry("kube-controller-manager", of_container({"f:args": {}}), subresource="status")
    late = entry("kubectl-edit", of_container({"f:args": {}}), time="2026-11-30T07:00:00Z")
    assert [one.manager for one in holders(deployment(late, status, HELM), ARGS)] == ["helm", "kubectl-edit"]


def test_what_we_applied_before_is_applied_again_with_the_edit() -> None:
    made = document(deployment(HELM, OURS, env=[OTHER]), [args()])
    assert made.is_apply
    assert made.content == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "chat", "namespace": "llm", "uid": "u-1", "resourceVersion": "7"},
        "spec": {"template": {"spec": {"containers": [{"name": "vllm", "env": [OTHER], "args": AFTER}]}}},
    }


def test_what_others_applied_is_not_in_the_document() -> None:
    assert owned(deployment(HELM)) == {}
    assert owned(deployment(entry("tierdeck", of_container({"f:args": {}})))) == {}, "an update is no apply"


def test_a_field_of_ours_goes_by_being_left_out() -> None:
    raw = deployment(OURS, env=[OTHER])
    made = document(raw, [FieldEdit(CHUNK, OTHER, ABSENT)])
    assert made.is_apply
    assert made.content["spec"] == {"template": {"spec": {"containers": [{"name": "vllm", "env": []}]}}}


def test_a_field_of_another_one_goes_only_with_the_whole_object() -> None:
    env = entry(
        "helm", of_container({"f:env": {'k:{"name":"LMCACHE_CHUNK_SIZE"}': {".": {}, "f:name": {}, "f:value": {}}}})
    )
    raw = deployment(env, env=[OTHER])
    made = document(raw, [FieldEdit((*CONTAINER, "env", "[name=LMCACHE_CHUNK_SIZE]"), OTHER, ABSENT)])
    assert not made.is_apply
    assert made.content["metadata"] == raw["metadata"]


def test_an_item_of_a_list_without_keys_is_applied_with_the_whole_list() -> None:
    # as environmentVariables of a JumpStartModel
    hands = entry("kubectl-create", {"f:spec": {"f:environmentVariables": {}}})
    listed = [{"name": "HF_TOKEN", "value": "x"}, {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "5"}]
    raw = {
        "apiVersion": "x/v1",
        "kind": "JumpStartModel",
        "metadata": {"name": "chat", "namespace": "llm", "managedFields": [hands]},
        "spec": {"environmentVariables": listed},
    }
    path = ("spec", "environmentVariables", "[name=LMCACHE_MAX_LOCAL_CPU_SIZE]", "value")
    assert is_one_value(raw, path[:2])
    made = document(raw, [FieldEdit(path, "5", "40")])
    assert made.content["spec"] == {
        "environmentVariables": [listed[0], {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "40"}]
    }


def test_what_a_write_would_take_away_is_found() -> None:
    wanted = {"metadata": {"a": 1}, "spec": {"env": [{"name": "A", "value": "1"}, {"name": "B"}], "x": None, "y": 2}}
    assert lost(wanted, {"spec": {"env": [{"name": "A", "value": "2"}, {"name": "B"}], "y": 3, "new": 1}}) == []
    assert lost(wanted, {"spec": {"env": [{"name": "A", "value": "1"}]}}) == ["spec.env", "spec.y"]


def test_helm_and_hands_are_taken_over_with_a_warning_that_says_what_comes_of_it() -> None:
    claims = claims_of(write(args()), deployment(HELM))
    assert claims.is_free
    (warning,) = claims.warnings
    assert warning == (
        "helm owns spec.template.spec.containers[name=vllm].args of Deployment llm/chat until now: it is taken over, "
        "and the next helm upgrade will conflict with it, or write its own value back."
    )
    assert claims_of(write(args()), deployment(entry("tierdeck", of_container({"f:args": {}}), "Apply"))).warnings == ()


def test_a_gitops_owner_makes_it_an_export() -> None:
    claims = claims_of(write(args()), deployment(entry("argocd-controller", of_container({"f:args": {}}), "Apply")))
    assert claims.exports_only.startswith("argocd-controller owns spec.template")
    tracked = deployment(HELM, annotations={"argocd.argoproj.io/tracking-id": "chat:apps/Deployment:llm/chat"})
    assert claims_of(write(args()), tracked).exports_only.startswith("Argo CD (chat) owns Deployment llm/chat")
    flux = deployment(HELM, labels={"kustomize.toolkit.fluxcd.io/name": "apps"})
    assert claims_of(write(args()), flux).exports_only.startswith("Flux (apps) owns Deployment llm/chat")


def test_an_unknown_owner_and_an_operator_are_left_alone() -> None:
    odd = deployment(entry("chat-operator", of_container({"f:args": {}})))
    (refusal,) = claims_of(write(args()), odd).refusals
    assert (refusal.code, "chat-operator owns" in refusal.reason) == ("owner_operator", True)
    assert claims_of(write(args()), odd, by_hand=("chat-",)).is_free
    owner = {"apiVersion": "x/v1", "kind": "InferenceEndpointConfig", "name": "chat", "controller": True}
    (refusal,) = claims_of(write(args()), deployment(HELM, ownerReferences=[owner])).refusals
    assert refusal.fix == "Change InferenceEndpointConfig chat."


def test_replicas_that_an_autoscaler_sets_are_not_ours() -> None:
    scaler = entry("kube-controller-manager", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    (refusal,) = claims_of(write(FieldEdit(("spec", "replicas"), 2, 3)), deployment(scaler)).refusals
    assert refusal.code == "owner_autoscaler"
    by_hand = entry("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    assert claims_of(write(FieldEdit(("spec", "replicas"), 2, 3)), deployment(by_hand)).is_free


def test_an_autoscaler_that_has_not_written_yet_is_known_by_what_it_aims_at() -> None:
    aim = {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "chat"}}}
    objects = Objects("east", {AUTOSCALERS: {("llm", "chat-scaler"): aim}})
    (refusal,) = scaled(write(FieldEdit(("spec", "replicas"), 2, 3)), objects)
    assert refusal.reason == "hpa (chat-scaler) sets the replicas of Deployment llm/chat."
    assert not list(scaled(write(args()), objects))
