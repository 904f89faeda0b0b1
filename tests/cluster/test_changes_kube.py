"""Changes through a real API server: who owns what, who is quicker, who refuses, and what was written how often."""

from __future__ import annotations

import json

import pytest

from controller.api.client import Api
from controller.api.errors import ApiFailingError
from controller.changes.changer import DeniedError, DriftedError
from controller.changes.kube.ownership import holders
from controller.resources import DEPLOYMENTS
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
    group = "admissionregistration.k8s.io"
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments"]}
    policy: Manifest = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": changing.namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "!object.spec.template.spec.containers[0].args.exists(a, a == '0.8')",
                             "message": "L0 below 0.85 takes a ticket"}],
        },
    }  # fmt: skip
    spaces = {"matchLabels": {"kubernetes.io/metadata.name": changing.namespace}}
    binding: Manifest = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": changing.namespace},
        "spec": {"policyName": changing.namespace, "validationActions": ["Deny"],
                 "matchResources": {"namespaceSelector": spaces}},
    }  # fmt: skip
    plan = changing.planned(L0)
    cluster.rest.apply(policy)
    cluster.rest.apply(binding)
    try:
        told: list[str] = []

        def is_denied() -> bool:  # the API server takes a moment to know a policy
            try:
                changing.changer.preview(plan, 1.0)
            except DeniedError as error:
                told.append(str(error))
            return bool(told)

        cluster.wait_until(is_denied, "the policy")
        assert "L0 below 0.85 takes a ticket" in told[0]
        with pytest.raises(DeniedError, match="takes a ticket"):
            changing.changer.apply(plan, "")
        assert changing.live()["metadata"]["generation"] == 1
    finally:
        cluster.rest.delete(binding)
        cluster.rest.delete(policy)


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
    made = endpoint(namespace)
    variables = made["spec"]["worker"]["environmentVariables"]
    variables.append({"name": "HF_TOKEN", "value": CANARY})
    cluster.rest.apply(made, manager="kubectl-client-side-apply")
    changing = Changing(cluster, namespace)
    ref = ObjectRef("InferenceEndpointConfig", namespace, "chat")
    path = ("spec", "worker", "environmentVariables", f"[name={SIZE}]")
    plan = Plan((write_of(changing.reader, ref, FieldEdit(path, ABSENT, {"name": SIZE, "value": "40"})),))
    preview = changing.changer.preview(plan, 1.0)
    assert CANARY not in preview.diff
    assert changing.changer.apply(preview.plan, "")
    live = changing.reader.get(ref)
    assert live is not None
    assert live["spec"]["worker"]["environmentVariables"] == [*variables, {"name": SIZE, "value": "40"}]
    assert live["metadata"]["generation"] == 2


def test_an_endpoint_that_is_not_there_is_said(changing: Changing, cluster: Cluster) -> None:
    cluster.rest.delete(changing.live())
    changing.cluster.wait_until(lambda: not list(changing.look().all(DEPLOYMENTS)), "no deployment")
    (refusal,) = changing.changer.plan(changing.change(), None)  # type: ignore[misc]
    assert isinstance(refusal, Refusal)
    assert refusal.code == "unreadable"


def account(cluster: Cluster, namespace: str, name: str, *rules: Manifest) -> Api:
    """An API server as a service account with these rules, once they hold."""
    meta = {"name": name, "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    cluster.rest.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": f"{namespace}-{name}"}}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{namespace}-{name}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"{namespace}-{name}"},
        "subjects": [{"kind": "ServiceAccount", **meta}],
    }
    cluster.rest.apply(role | {"rules": list(rules)})
    cluster.rest.apply(binding)
    return Api.of(cluster.client_with(cluster.token_for(namespace, name)))


READS: Manifest = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
PATCHES: Manifest = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch", "update"]}


def test_without_the_right_the_rule_that_grants_it_is_named(cluster: Cluster, changing: Changing) -> None:
    poor = Changing(cluster, changing.namespace, account(cluster, changing.namespace, "poor", READS))
    cluster.wait_until(lambda: _sees(poor), "the role")
    plan = poor.planned(L0)
    with pytest.raises(DeniedError, match="cannot patch resource") as denied:
        poor.changer.preview(plan, 1.0)
    assert '{apiGroups: ["apps"], resources: [deployments], verbs: [patch]}' in denied.value.hint
    assert poor.changer.may_write(f"{changing.namespace}/engine") == (
        '- {apiGroups: [""], resources: [configmaps], verbs: [patch, update]}',
        '- {apiGroups: ["apps"], resources: [deployments], verbs: [patch, update]}',
    )
    assert changing.changer.may_write(f"{changing.namespace}/engine") == ()


def _sees(one: Changing) -> bool:
    objects = one.look()
    return not objects.blind.keys() & {DEPLOYMENTS}


def test_in_the_approvers_name_the_clusters_own_rights_count(cluster: Cluster, changing: Changing) -> None:
    space = changing.namespace
    acts: Manifest = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}
    api = account(cluster, space, "controller", READS, acts)
    mine = Changing(cluster, space, api, impersonates=True)
    cluster.wait_until(lambda: _sees(mine), "the role")
    plan = mine.planned(L0)
    with pytest.raises(DeniedError, match='User "ann" cannot patch resource'):
        mine.changer.apply(plan, "ann")
    group = "rbac.authorization.k8s.io"
    meta = {"name": "ann", "namespace": space}
    cluster.rest.apply({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": [PATCHES]})
    cluster.rest.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "ann"},
            "subjects": [{"kind": "User", "apiGroup": group, "name": "ann"}],
        }
    )

    def is_written() -> bool:  # the API server takes a moment to know a role
        try:
            return mine.changer.apply(plan, "ann")
        except DeniedError:
            return False

    cluster.wait_until(is_written, "ann's right")
    assert changing.field(ARGS) == ["--model", "an/llm", FLAG, "0.8"]
    with pytest.raises(DeniedError, match="bob"):
        mine.changer.apply(mine.planned(Wish(l0=L0Wish(share=0.7))), "bob")
