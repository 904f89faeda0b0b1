"""Changes through a real API server: who owns what, who is quicker, who refuses, and what was written how often."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controller.api.errors import ApiFailingError, NotServedError
from controller.changes.changer import DeniedError, DriftedError
from controller.changes.kube.ownership import holders
from controller.resources import DEPLOYMENTS, HYPERPOD_GROUP
from tests.cluster.changing import (
    ARGS,
    ENV,
    FLAG,
    GIB,
    MEMORY,
    SIZE,
    Changing,
    Overtaken,
    engines,
    is_absent,
    write_of,
)
from tests.cluster.hyperpod import endpoint
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.plan import ABSENT, FieldEdit, Plan, Refusal
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef

L0 = Wish(l0=L0Wish(share=0.8))
L1 = Wish(l1_bytes=4 * GIB)
CANARY = "canary-8f3a"


@pytest.fixture
def changing(cluster: Cluster, namespace: str) -> Changing:
    """An engine that kubectl applied."""
    cluster.rest.apply(engines(namespace), manager="kubectl-client-side-apply")
    return Changing(cluster, namespace)


def entries(live: Manifest, manager: str) -> list[Manifest]:
    return [one for one in live["metadata"]["managedFields"] if one["manager"] == manager and "subresource" not in one]


def test_a_preview_shows_what_the_server_would_store_and_stores_nothing(changing: Changing) -> None:
    before = changing.live()
    preview = changing.previewed(L0)
    lines = [line for line in preview.diff.splitlines() if line[:1] in "+-"]
    assert lines == [
        f"--- Deployment {changing.namespace}/engine (now)",
        f"+++ Deployment {changing.namespace}/engine (changed)",
        "-        - '0.9'",
        "+        - '0.8'",
    ]
    assert preview.versions.keys() == {str(changing.ref)}
    after = changing.live()
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], 1)


def test_no_secret_is_in_a_preview(changing: Changing) -> None:
    preview = changing.previewed(L1)
    assert CANARY not in preview.diff
    assert "(not shown)" in preview.diff
    assert CANARY not in repr(preview)


def test_what_was_applied_before_stays_when_something_else_is_applied(changing: Changing) -> None:
    changing.applied(L1)
    changing.applied(L0)
    assert changing.field(ARGS) == ["--model", "an/llm", FLAG, "0.8"]
    assert changing.field(ENV) == {"name": SIZE, "value": "4"}
    assert changing.field(MEMORY) == "20Gi"
    (ours,) = entries(changing.live(), "tierdeck")
    assert ours["operation"] == "Apply"
    owned = json.dumps(ours["fieldsV1"])
    assert all(part in owned for part in ("f:args", SIZE, "f:memory"))
    assert "HF_TOKEN" not in owned, "nothing is taken that was not changed"


def test_a_write_that_is_there_is_not_made_again(changing: Changing) -> None:
    plan = changing.previewed(L0).plan
    assert changing.changer.apply(plan, "")
    made = changing.live()
    assert made["metadata"]["generation"] == 2
    assert not changing.changer.apply(plan, "")
    again = changing.live()
    assert again["metadata"]["generation"] == 2
    assert entries(again, "tierdeck") == entries(made, "tierdeck"), "also not a second time without a difference"


@pytest.mark.parametrize(("manager", "words"), [
    ("helm", "the next helm upgrade will conflict with it, or write its own value back"),
    ("kubectl-edit", "whoever applies it again will conflict with it, or write the old value back"),
])  # fmt: skip
def test_fields_of_helm_and_of_hands_are_taken_over_with_a_warning(
    cluster: Cluster, namespace: str, manager: str, words: str
) -> None:
    cluster.rest.apply(engines(namespace), manager=manager)
    changing = Changing(cluster, namespace)
    plan = changing.planned(L0)
    where = f"{'.'.join(ARGS[:4])}[name=vllm].args of Deployment {namespace}/engine"
    assert plan.warnings == (f"{manager} owns {where} until now: it is taken over, and {words}.",)
    assert changing.changer.apply(plan, "")
    assert [one.manager for one in holders(changing.live(), ARGS)] == ["tierdeck"]


def test_what_argo_cd_applied_is_only_exported(cluster: Cluster, namespace: str) -> None:
    cluster.rest.apply(engines(namespace), manager="argocd-controller")
    changing = Changing(cluster, namespace)
    plan = changing.planned(L0)
    assert plan.exports_only.startswith("argocd-controller owns spec.template")
    assert "+        - '0.8'" in changing.changer.preview(plan, 1.0).diff
    with pytest.raises(DeniedError, match="argocd-controller owns"):
        changing.changer.apply(plan, "")
    assert changing.live()["metadata"]["generation"] == 1


def test_what_an_unknown_manager_owns_is_refused_until_it_is_named_as_one_that_writes_nothing_back(
    cluster: Cluster, namespace: str
) -> None:
    cluster.rest.apply(engines(namespace), manager="chat-operator")
    changing = Changing(cluster, namespace)
    refused = changing.changer.plan(changing.change(L0), None)
    assert isinstance(refused, tuple)
    assert [one.code for one in refused] == ["owner_operator"]
    assert Changing(cluster, namespace, by_hand=("chat-operator",)).planned(L0).warnings


def test_a_gitops_tool_that_came_after_the_plan_is_not_overruled(cluster: Cluster, changing: Changing) -> None:
    plan = changing.planned(L0)
    cluster.rest.apply(engines(changing.namespace), manager="argocd-controller")
    with pytest.raises(DeniedError, match="argocd-controller owns"):
        changing.changer.apply(plan, "")


def test_somebody_who_is_quicker_is_no_harm(cluster: Cluster, changing: Changing) -> None:
    def annotate() -> None:
        noted = {"metadata": {"annotations": {"seen": f"{len(api.times)}"}}}
        cluster.rest.merge(changing.live(), noted)

    client = cluster.client()
    api = Overtaken(cluster.url, client, annotate, [1, 2, 3])
    quick = Changing(cluster, changing.namespace, api)
    assert quick.changer.apply(changing.planned(L0), "")
    assert api.times == []
    assert changing.field(ARGS) == ["--model", "an/llm", FLAG, "0.8"]
    assert changing.live()["metadata"]["annotations"]["seen"] == "0"


def test_an_object_that_never_holds_still_is_tried_again_later(cluster: Cluster, changing: Changing) -> None:
    count = [0]

    def annotate() -> None:
        count[0] += 1
        cluster.rest.merge(changing.live(), {"metadata": {"annotations": {"seen": f"{count[0]}"}}})

    api = Overtaken(cluster.url, cluster.client(), annotate, list(range(100)))
    with pytest.raises(ApiFailingError, match="keeps changing"):
        Changing(cluster, changing.namespace, api).changer.apply(changing.planned(L0), "")
    assert changing.field(ARGS) == ["--model", "an/llm", FLAG, "0.9"]


def test_a_field_that_somebody_else_set_meanwhile_is_left_alone(cluster: Cluster, changing: Changing) -> None:
    plan = changing.planned(L0)
    other = engines(changing.namespace)
    other["spec"]["template"]["spec"]["containers"][0]["args"][-1] = "0.5"
    cluster.rest.apply(other, manager="kubectl-edit")
    with pytest.raises(DriftedError, match=r"0\.5.*by kubectl-edit: neither"):
        changing.changer.preview(plan, 1.0)
    with pytest.raises(DriftedError):
        changing.changer.apply(plan, "")
    assert changing.field(ARGS) == ["--model", "an/llm", FLAG, "0.5"]


def test_an_object_that_is_gone_is_not_made_anew(cluster: Cluster, changing: Changing) -> None:
    plan = changing.planned(L0)
    cluster.rest.delete(changing.live())
    with pytest.raises(DriftedError, match="is not there any more"):
        changing.changer.apply(plan, "")
    assert cluster.rest.find("Deployment", "engine", changing.namespace, "apps/v1") is None


def test_a_policy_of_the_cluster_that_denies_is_told_in_its_words(cluster: Cluster, changing: Changing) -> None:
    no = {
        "expression": "!object.spec.template.spec.containers[0].args.exists(a, a == '0.8')",
        "message": "L0 below 0.85 takes a ticket",
    }
    plan = changing.planned(L0)
    with installed(cluster, *policy(changing.namespace, "deployments", no)):
        assert "L0 below 0.85 takes a ticket" in denied(changing, plan)
        with pytest.raises(DeniedError, match="takes a ticket"):
            changing.changer.apply(plan, "")
        assert changing.live()["metadata"]["generation"] == 1


def policy(namespace: str, plural: str, validation: dict[str, str]) -> tuple[Manifest, Manifest]:
    """What forbids updates of a kind in one namespace, and its binding."""
    api, metadata = "admissionregistration.k8s.io/v1", {"name": namespace}
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [plural]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    inside = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    bound = {"policyName": namespace, "validationActions": ["Deny"], "matchResources": inside}
    return (
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": bound},
    )


@contextmanager
def installed(cluster: Cluster, *objects: Manifest) -> Iterator[None]:
    for one in objects:
        cluster.rest.apply(one)
    try:
        yield
    finally:
        for one in reversed(objects):
            cluster.rest.delete(one)


def denied(changing: Changing, plan: Plan) -> str:
    """What a preview is denied with, once the API server knows the policy."""
    told: list[str] = []

    def is_denied() -> bool:
        try:
            changing.changer.preview(plan, 1.0)
        except DeniedError as error:
            told.append(str(error))
        return bool(told)

    changing.cluster.wait_until(is_denied, "the policy")
    return told[0]


@pytest.mark.parametrize("edit", [
    FieldEdit(("spec", "replicas"), 1, -1),
    FieldEdit(MEMORY, "16Gi", "a lot"),
    FieldEdit(("spec", "tierSize"), ABSENT, "8Gi"),
])  # fmt: skip
def test_what_the_server_takes_for_wrong_is_denied_in_its_words(changing: Changing, edit: FieldEdit) -> None:
    plan = Plan((write_of(changing.reader, changing.ref, edit),))
    with pytest.raises(DeniedError, match="the API server refuses this write of Deployment"):
        changing.changer.preview(plan, 1.0)


def test_a_revert_writes_each_field_back_and_takes_away_what_was_not_there(changing: Changing) -> None:
    before = changing.live()["spec"]
    done = changing.applied(Wish(l0=L0Wish(share=0.8), l1_bytes=4 * GIB))
    back = changing.previewed(reverted=done)
    assert changing.changer.apply(back.plan, "")
    assert is_absent(changing.field(ENV))
    assert changing.live()["spec"] == before
    assert [(one.name, one.value) for one in back.plan.carries] == [(FLAG, "0.9"), (SIZE, None)]
    again = changing.changer.plan(changing.change(), done)
    assert isinstance(again, tuple)
    assert [one.code for one in again] == ["nothing_to_do"]


def test_a_revert_of_what_somebody_changed_since_says_what_is_there(cluster: Cluster, changing: Changing) -> None:
    done = changing.applied(L0)
    other = engines(changing.namespace)
    other["spec"]["template"]["spec"]["containers"][0]["args"][-1] = "0.5"
    cluster.rest.apply(other, manager="kubectl-edit")
    (refusal,) = changing.changer.plan(changing.change(), done)  # type: ignore[misc]
    assert isinstance(refusal, Refusal)
    assert refusal.code == "changed_meanwhile"
    assert "'0.5'], by kubectl-edit: not what the change wrote" in refusal.reason


def test_a_field_that_another_one_owns_is_taken_away_in_one_write(cluster: Cluster, namespace: str) -> None:
    made = engines(namespace)
    made["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": SIZE, "value": "5"})
    cluster.rest.apply(made, manager="helm")
    changing = Changing(cluster, namespace)
    edits = [FieldEdit(ENV, {"name": SIZE, "value": "5"}, ABSENT), FieldEdit(MEMORY, "16Gi", "11Gi")]
    plan = Plan((write_of(changing.reader, changing.ref, *edits),))
    assert changing.changer.apply(plan, "")
    assert is_absent(changing.field(ENV))
    assert changing.field(MEMORY) == "11Gi"
    assert changing.live()["metadata"]["generation"] == 2
    assert not changing.changer.apply(plan, "")


def test_an_item_of_a_list_without_keys_leaves_the_others_as_they_are(cluster: Cluster, namespace: str) -> None:
    variables = [{"name": "PYTHONHASHSEED", "value": "0"}, {"name": "HF_TOKEN", "value": CANARY}]
    spec = {"model": {"modelId": "an-llm"}, "server": {"instanceType": "ml.g6e.4xlarge"}}
    ref = ObjectRef("JumpStartModel", namespace, "chat")
    model: Manifest = {
        "apiVersion": f"{HYPERPOD_GROUP}/v1",
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": namespace},
        "spec": spec | {"environmentVariables": variables},
    }
    cluster.rest.apply(model, manager="kubectl-client-side-apply")
    changing = Changing(cluster, namespace)
    path = ("spec", "environmentVariables", f"[name={SIZE}]")
    plan = Plan((write_of(changing.reader, ref, FieldEdit(path, ABSENT, {"name": SIZE, "value": "40"})),))
    preview = changing.changer.preview(plan, 1.0)
    assert CANARY not in preview.diff
    assert changing.changer.apply(preview.plan, "")
    live = changing.reader.get(ref)
    assert live is not None
    assert live["spec"]["environmentVariables"] == [*variables, {"name": SIZE, "value": "40"}]
    assert live["metadata"]["generation"] == 2


def test_a_secret_that_the_server_repeats_is_not_told(cluster: Cluster, namespace: str) -> None:
    made = endpoint(namespace)
    made["spec"]["worker"]["environmentVariables"].append({"name": "HF_TOKEN", "value": CANARY})
    cluster.rest.apply(made, manager="kubectl-client-side-apply")
    repeats = {
        "expression": f"!object.spec.worker.environmentVariables.exists(v, v.name == '{SIZE}')",
        "messageExpression": "'there is ' + object.spec.worker.environmentVariables.map(v, v.value).join(' ')",
    }
    rules = policy(namespace, "inferenceendpointconfigs", repeats)
    changing = Changing(cluster, namespace)
    path = ("spec", "worker", "environmentVariables", f"[name={SIZE}]")
    edit = FieldEdit(path, ABSENT, {"name": SIZE, "value": "40"})
    plan = Plan((write_of(changing.reader, ObjectRef("InferenceEndpointConfig", namespace, "chat"), edit),))
    with installed(cluster, *rules):
        words = denied(changing, plan)
    assert "there is 0 (not shown) 40" in words
    assert CANARY not in words


def test_an_endpoint_that_is_not_there_is_said(changing: Changing, cluster: Cluster) -> None:
    cluster.rest.delete(changing.live())
    changing.cluster.wait_until(lambda: not list(changing.look().all(DEPLOYMENTS)), "no deployment")
    (refusal,) = changing.changer.plan(changing.change(), None)  # type: ignore[misc]
    assert isinstance(refusal, Refusal)
    assert refusal.code == "unreadable"


def test_what_was_written_of_several_objects_is_counted_and_not_written_again(
    cluster: Cluster, changing: Changing
) -> None:
    space = changing.namespace
    settings: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "router", "namespace": space}}
    cluster.rest.apply(settings | {"data": {"a": "1"}, "immutable": True}, manager="kubectl")
    first = changing.planned(L0).writes[0]
    ref = ObjectRef("ConfigMap", space, "router")
    second = write_of(changing.reader, ref, FieldEdit(("data", "a"), "1", "2"))
    with pytest.raises(DeniedError, match="field is immutable") as denied:
        changing.changer.apply(Plan((first, second)), "")
    assert denied.value.written == 1
    with pytest.raises(DeniedError) as denied:
        changing.changer.apply(Plan((first, second)), "")
    assert denied.value.written == 1
    assert changing.live()["metadata"]["generation"] == 2
    cluster.rest.delete(settings)
    with pytest.raises(DriftedError, match="is not there any more") as drifted:
        changing.changer.apply(Plan((first, second)), "")
    assert drifted.value.written == 1


def test_kinds_that_are_not_watched_are_found_where_the_server_has_them(changing: Changing) -> None:
    reader = changing.reader
    space = reader.get(ObjectRef("Namespace", "", changing.namespace))
    assert space is not None
    assert space["metadata"]["name"] == changing.namespace
    ref = ObjectRef("CustomResourceDefinition", "", "vllmrouters.production-stack.vllm.ai")
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/vllmrouters.production-stack.vllm.ai"
    assert reader.address_of(ref) == (path, "apiextensions.k8s.io/v1")
    assert reader.get(ObjectRef("Service", changing.namespace, "none")) is None
    assert reader.get(ObjectRef("NoSuchKind", changing.namespace, "x")) is None
    with pytest.raises(NotServedError, match="no NoSuchKind"):
        reader.address_of(ObjectRef("NoSuchKind", changing.namespace, "x"))
    assert list(reader.list(f"/apis/policy/v1/namespaces/{changing.namespace}/poddisruptionbudgets")) == []
