"""The Helm chart on a real API server: installed by Helm itself, admitted, and with reading rights only."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterable

import pytest
import yaml

from controller.api.client import Api, Sent
from controller.api.rights import (
    READ,
    change_cluster_rules,
    change_read_rules,
    change_write_rules,
    injector_cluster_rules,
    injector_rules,
    rules,
)
from controller.injector.certificates import make_pair
from controller.injector.keeper import WEBHOOKS
from controller.reading.origin import OWNERS
from controller.resources import path_of
from tests.cluster.test_chart import EVERYTHING, L2, POSTGRESQL, as_set
from tests.support.cluster import Cluster
from tests.support.cluster_namespace import fresh_namespace
from tests.support.helm import CHART, Helm
from tests.support.kube_rest import Manifest, Rest

RBAC = "rbac.authorization.k8s.io/v1"
Rules = set[tuple[str, str, frozenset[str]]]


@pytest.fixture
def restricted(rest: Rest, namespace: str) -> str:
    """A namespace that admits pods of the strictest Pod Security Standard only, and warns as well."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    rest.merge(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, {"metadata": {"labels": levels}}
    )
    return namespace


PROCESSES = ("collectors", "controller", "alerting", "console")


def test_an_install_as_it_comes_is_admitted_without_a_warning(
    cluster: Cluster, rest: Rest, installing_helm: Helm, restricted: str
) -> None:
    with installing_helm.installed("deck", restricted) as notes:
        assert f"kubectl --namespace {restricted} port-forward service/deck-tierdeck-console 8501:80" in notes
        cluster.wait_until(lambda: len(rest.objects("Pod", restricted)) == 1, "the deck's pod")
        assert rest.find("PersistentVolumeClaim", "deck-tierdeck-store", restricted) is not None
        assert rest.find("NetworkPolicy", "deck-tierdeck", restricted, "networking.k8s.io/v1") is not None
    assert rest.find("Deployment", "deck-tierdeck", restricted, "apps/v1") is None
    claim = rest.find("PersistentVolumeClaim", "deck-tierdeck-store", restricted)
    assert claim is not None, "an uninstall leaves what was recorded"
    roles = {one["metadata"]["name"] for one in rest.objects("ClusterRole", api=RBAC)}
    assert f"{restricted}-deck-tierdeck-observe" not in roles


def test_an_install_on_postgresql_waits_for_its_migration(
    cluster: Cluster, rest: Rest, installing_helm: Helm, restricted: str
) -> None:
    # No node runs images here: the test says of the migration's pod that it has succeeded, as its node would.
    arguments = ("install", "deck", str(CHART), "--namespace", restricted)
    command = installing_helm.command(*arguments, values=POSTGRESQL)
    with subprocess.Popen(
        command, env=installing_helm.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as helm:
        try:
            chosen = {"labelSelector": "app.kubernetes.io/component=migrate"}
            cluster.wait_until(lambda: bool(rest.objects("Pod", restricted, **chosen)), "the migration's pod")
            assert not rest.objects("Deployment", restricted, "apps/v1"), "nothing starts on an older store"
            (pod,) = rest.objects("Pod", restricted, **chosen)
            rest.merge(pod, {"status": {"phase": "Succeeded"}}, "/status")
            said, warned = helm.communicate(timeout=120)
        finally:
            helm.kill()
    assert (helm.returncode, warned) == (0, ""), said
    try:
        cluster.wait_until(lambda: len(rest.objects("Pod", restricted)) == len(PROCESSES), "a pod of each process")
        assert not rest.objects("Job", restricted, "batch/v1"), "a migration that has succeeded is cleared away"
    finally:
        assert installing_helm.run("uninstall", "deck", "--namespace", restricted).returncode == 0


def test_everything_at_once_is_admitted(cluster: Cluster, rest: Rest, helm: Helm, restricted: str) -> None:
    # By server-side apply as a dry run, which all of the API server's checks precede.
    unknown = {"PodMonitor", "Role", "RoleBinding"}  # of a kind, or in namespaces, that this server has not
    for one in (*helm.template(EVERYTHING), *helm.template(L2)):
        if one["kind"] not in unknown:
            if "namespace" in one["metadata"]:
                one["metadata"]["namespace"] = restricted
            rest.apply(one, dryRun="All", fieldValidation="Strict")


def test_an_upgrade_keeps_what_can_not_be_changed(rest: Rest, installing_helm: Helm, restricted: str) -> None:
    with installing_helm.installed("deck", restricted):
        before = rest.get("Deployment", "deck-tierdeck", restricted, "apps/v1")
        changed = {"image": {"tag": "next"}, "cluster": "west"}
        done = installing_helm.run("upgrade", "deck", str(CHART), "--namespace", restricted, values=changed)
        assert (done.returncode, done.stderr) == (0, "")
        after = rest.get("Deployment", "deck-tierdeck", restricted, "apps/v1")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "tierdeck:next"


def test_an_upgrade_leaves_the_certificate_that_the_webhook_keeps(
    cluster: Cluster, rest: Rest, installing_helm: Helm, namespace: str
) -> None:
    values = {**L2, "database": {**L2["database"], "migration": {"job": False}}}
    hook = ("MutatingWebhookConfiguration", f"{namespace}-deck-tierdeck-l2", "", "admissionregistration.k8s.io/v1")
    with installing_helm.installed("deck", namespace, values):
        secret = rest.get("Secret", "deck-tierdeck-injector", namespace)
        kept = base64.b64encode(b"[]").decode()
        rest.merge(secret, {"data": {"pairs.json": kept}})
        trusted = base64.b64encode(make_pair(("a.svc",), 1.7e9, 4e9, 0.0).authority.encode()).decode()
        steps = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": trusted}]
        patch = Sent("PATCH", steps, "application/json-patch+json")
        Api.of(cluster.client()).send(path_of(WEBHOOKS, "", hook[1]), patch)
        changed = {**values, "image": {"tag": "next"}, "injector": {**values["injector"], "timeoutSeconds": 7}}
        done = installing_helm.run("upgrade", "deck", str(CHART), "--namespace", namespace, values=changed)
        assert (done.returncode, done.stderr) == (0, "")
        (after,) = rest.get(*hook)["webhooks"]
        assert (after["timeoutSeconds"], after["clientConfig"].get("caBundle")) == (7, trusted)
        assert rest.get("Secret", "deck-tierdeck-injector", namespace)["data"] == {"pairs.json": kept}
    assert rest.find(*hook) is None, "an uninstall takes the webhook away"


def test_no_service_account_of_ours_may_change_anything(
    cluster: Cluster, rest: Rest, installing_helm: Helm, namespace: str
) -> None:
    values = {**POSTGRESQL, "database": {**POSTGRESQL["database"], "migration": {"job": False}}}
    with installing_helm.installed("deck", namespace, values):
        accounts = {
            one["metadata"]["name"]
            for one in rest.objects("ServiceAccount", namespace)
            if one["metadata"]["name"] != "default"
        }
        assert accounts == {f"deck-tierdeck-{process}" for process in PROCESSES}
        bound = _bound(rest, namespace, accounts)
        assert {verb for _, _, verbs in bound for verb in verbs} == set(READ)
        assert bound == as_set(yaml.safe_load(rules()))
        (role,) = [one for one in rest.objects("ClusterRole", api=RBAC) if namespace in one["metadata"]["name"]]
        assert "aggregationRule" not in role, "what others label must not add to it"
        # And as the API server itself sums up what each may do: beyond what every service account may.
        common = _allowed(cluster, namespace, "default", namespace)
        for account in accounts:
            own = _allowed(cluster, namespace, account, namespace) - common
            assert own == (bound if account == "deck-tierdeck-controller" else set())


def test_with_namespaces_nothing_can_be_read_anywhere_else(
    cluster: Cluster, rest: Rest, installing_helm: Helm, namespace: str
) -> None:
    values = {**L2, "database": {**L2["database"], "migration": {"job": False}}}
    with (
        fresh_namespace(cluster) as seen,
        fresh_namespace(cluster) as hidden,
        installing_helm.installed("deck", namespace, {**values, "namespaces": [seen]}),
    ):
        common = _allowed(cluster, namespace, "default", hidden)
        everywhere = {one for one in as_set(yaml.safe_load(rules())) if one[1] in ("nodes", "storageclasses")}
        account = "deck-tierdeck-controller"
        assert _allowed(cluster, namespace, account, seen) - common == as_set(yaml.safe_load(rules()))
        assert _allowed(cluster, namespace, account, hidden) - common == everywhere
        # Where Tierdeck runs, it may not even read its own Secrets.
        assert _allowed(cluster, namespace, account, namespace) - common == everywhere
        injector, hook = "deck-tierdeck-injector", frozenset({"get", "patch"})
        above = as_set(yaml.safe_load(injector_cluster_rules()))
        above |= {("admissionregistration.k8s.io", "mutatingwebhookconfigurations", hook)}
        inside = as_set(yaml.safe_load(injector_rules(OWNERS)))
        assert _allowed(cluster, namespace, injector, seen) - common == above | inside
        assert _allowed(cluster, namespace, injector, hidden) - common == above
        secret = ("", "secrets", frozenset({"get", "update"}))
        assert _allowed(cluster, namespace, injector, namespace) - common == above | {secret}


def test_with_changes_on_the_controller_alone_may_write_and_only_what_is_told(
    cluster: Cluster, installing_helm: Helm, namespace: str
) -> None:
    with fresh_namespace(cluster) as seen, fresh_namespace(cluster) as hidden:
        changes = {"enabled": True, "policy": {"namespaces": [seen], "kinds": ["Deployment"]}}
        values: Manifest = {"controller": {"changes": changes}, "namespaces": [seen]}
        with installing_helm.installed("deck", namespace, values) as notes:
            assert "changes what its policy allows once somebody approves it" in notes
            common = _allowed(cluster, namespace, "default", hidden)
            above = as_set(yaml.safe_load(change_cluster_rules(impersonates=False))) - common
            above |= {one for one in as_set(yaml.safe_load(rules())) if one[1] in ("nodes", "storageclasses")}
            inside = as_set(yaml.safe_load(change_write_rules() + "\n" + change_read_rules())) | as_set(
                yaml.safe_load(rules())
            )
            account = "deck-tierdeck-controller"
            assert _allowed(cluster, namespace, account, seen) - common == above | inside
            assert _allowed(cluster, namespace, account, hidden) - common == above


def _bound(rest: Rest, namespace: str, accounts: Iterable[str]) -> Rules:
    """What all bindings on the server give to these accounts, one by one or as members of a group of their own."""
    subjects = {("ServiceAccount", namespace, account) for account in accounts}
    group = {("Group", "", f"system:serviceaccounts:{namespace}")}
    found: Rules = set()
    for binding in (*rest.objects("ClusterRoleBinding", api=RBAC), *rest.objects("RoleBinding", api=RBAC)):
        given = {(one["kind"], one.get("namespace", ""), one["name"]) for one in binding.get("subjects", ())}
        if given & (subjects | group):
            to = binding["roleRef"]
            role = rest.get(to["kind"], to["name"], binding["metadata"].get("namespace", ""), RBAC)
            found |= as_set(role["rules"])
    return found


def _allowed(cluster: Cluster, home: str, account: str, namespace: str) -> Rules:
    """What the API server says that this account may do in a namespace."""
    caller = cluster.rest_with(cluster.token_for(home, account))
    review: Manifest = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
        "metadata": {"name": ""},
    }
    try:
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        answer = caller.request("POST", path, review)
    finally:
        caller.close()
    assert not answer["status"]["incomplete"]
    return as_set(answer["status"]["resourceRules"])
