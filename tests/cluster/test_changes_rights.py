"""Who may write what: rights that are missing, and writes in the approver's name, on a real API server."""

from __future__ import annotations

import pytest

from controller.api.client import Api
from controller.backends import BACKENDS
from controller.changes.changer import DeniedError
from controller.changes.kube.rights import WriteRights
from controller.inventory import Inventory
from controller.resources import DEPLOYMENTS
from tests.cluster.changing import ARGS, FLAG, Changing, engines
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.wish import L0Wish, Wish

L0 = Wish(l0=L0Wish(share=0.8))


@pytest.fixture
def changing(cluster: Cluster, namespace: str) -> Changing:
    """An engine that kubectl applied."""
    cluster.rest.apply(engines(namespace), manager="kubectl-client-side-apply")
    return Changing(cluster, namespace)


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


def test_what_is_missing_to_change_an_endpoint_is_told_with_it(cluster: Cluster, changing: Changing) -> None:
    space = changing.namespace
    sighting = Inventory(BACKENDS, (), ()).look(changing.look(), (), 1.0).sighting
    poor = account(cluster, space, "poor", READS)
    (told,) = WriteRights(poor).stamped(sighting).deployed
    assert told.write_rules is not None
    assert len(told.write_rules) == 2
    (rich,) = WriteRights(changing.api).stamped(sighting).deployed
    assert rich.write_rules == ()
