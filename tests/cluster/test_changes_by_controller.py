"""A change from its proposal to its end and back, by the controller's own process, with the rights of the chart."""

from __future__ import annotations

import time
from pathlib import Path

import yaml

from controller.api.rights import change_cluster_rules, change_read_rules, change_write_rules, rules
from tests.cluster.changing import ARGS, FLAG, engines
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.cluster.watched import CLUSTER, Watched
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.change import Change, State
from tierdeck.changes.wish import L0Wish, Wish

CANARY = "canary-8f3a"
GROUP = "rbac.authorization.k8s.io"
REPLACING: Manifest = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def kubeconfig(cluster: Cluster, namespace: str) -> Path:
    """Of a service account with the chart's rules, and no more."""
    name = f"{namespace}-tierdeck"
    granted = (rules(), change_write_rules(), change_read_rules(), change_cluster_rules(impersonates=False))
    meta = {"name": "tierdeck", "namespace": namespace}
    role = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    to = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
    cluster.rest.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    cluster.rest.apply(role | {"rules": yaml.safe_load("\n".join(granted))})
    binding = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}, "roleRef": to}
    cluster.rest.apply(binding | {"subjects": [{"kind": "ServiceAccount", **meta}]})
    return cluster.kubeconfig_for(namespace, "tierdeck")


def proposal(namespace: str, wish: Wish, key: str, reverts: int | None = None) -> Change:
    return Change(CLUSTER, f"{namespace}/engine", wish, "ann", "a test", key, time.time(), {"L0": "0.9"}, reverts)


def ended(watched: Watched, change: Change) -> Change:
    """Approved once it is previewed; as it ends."""
    watched.until(lambda: state(watched, change) in (State.PREVIEWED, State.REFUSED), "its preview")
    seen = watched.store.change(change.id)
    assert seen is not None
    assert seen.state is State.PREVIEWED, (seen.refusals, seen.outcome)
    watched.store.approve_change(change.id, "bob", time.time())
    watched.until(lambda: state(watched, change).is_over, "its end")
    found = watched.store.change(change.id)
    assert found is not None
    return found


def state(watched: Watched, change: Change) -> State:
    found = watched.store.change(change.id)
    assert found is not None
    return found.state


def test_it_is_previewed_approved_written_read_back_kept_and_taken_back(
    cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path
) -> None:
    kubelets.add_node(Machine(gpus=4))
    cluster.rest.apply(engines(namespace, replicas=2, strategy=REPLACING), manager="kubectl-client-side-apply")
    allowed = tmp_path / "changes.yaml"
    allowed.write_text(yaml.safe_dump({"namespaces": [namespace], "kinds": ["Deployment"]}), "utf-8")
    settings = {"TIERDECK_KUBE_NAMESPACES": namespace, "TIERDECK_CHANGES_FILE": str(allowed)}

    def live() -> Manifest:
        return cluster.rest.get("Deployment", "engine", namespace, "apps/v1")

    def args() -> list[str]:
        found: list[str] = live()["spec"]["template"]["spec"]["containers"][0]["args"]
        return found

    cluster.wait_until(lambda: live().get("status", {}).get("availableReplicas") == 2, "engines that run")
    with Watched(tmp_path, kubeconfig(cluster, namespace), **settings) as watched:
        watched.start()
        watched.until(lambda: f"{namespace}/engine" in watched.endpoints(), "the endpoint")
        assert watched.endpoints()[f"{namespace}/engine"].write_rules == ()
        first = watched.store.propose(proposal(namespace, Wish(l0=L0Wish(share=0.8)), "one"))
        done = ended(watched, first)
        assert done.state is State.KEPT, (done.outcome, done.next_step)
        assert args()[-2:] == [FLAG, "0.8"]
        assert live()["metadata"]["generation"] == 2
        assert done.preview is not None
        assert [edit.path for write in done.preview.plan.writes for edit in write.edits] == [ARGS]
        back = watched.store.propose(proposal(namespace, done.wish, "two", first.id))
        taken = ended(watched, back)
        assert taken.state is State.KEPT, (taken.outcome, taken.next_step)
        assert args()[-2:] == [FLAG, "0.9"]
        assert live()["metadata"]["generation"] == 3
        assert CANARY not in watched.log.read_text("utf-8")
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("deck.db*"))
    assert FLAG.encode() in stored, "what is searched is what was stored"
    assert CANARY.encode() not in stored
