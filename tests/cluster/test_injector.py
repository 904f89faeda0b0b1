"""L2 by the webhook on a real API server: it stays whatever the operator does, and never keeps a pod from starting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.hyperpod import OPERATOR, endpoint
from tests.cluster.injecting import Injecting, engine_of, hanging, has_l2, injecting, uids, urls, working
from tests.cluster.rendering import API, KIND, SYSTEM, EnvHandling
from tests.cluster.workloads import engine_deployment, engine_pod
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest

GOOD, HUNG, BARE = "ml.g5.12xlarge", "ml.g6e.12xlarge", "ml.p5.48xlarge"
"""Instance types: of the node whose mount works, of the one whose mount hangs, of the one without Curvine's driver."""
OPERATORS = "sagemaker-hyperpod://$(NODE_IP):9200"


@pytest.fixture(scope="module")
def bed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Injecting]:
    with injecting(cluster, tmp_path_factory.mktemp("injector")) as one:
        one.add_node(GOOD, working())
        one.add_node(HUNG, hanging())
        one.add_node(BARE, driver=False)
        one.list_endpoints("chat", "other")
        one.start()
        one.watched.start()
        yield one


def s3(bed: Injecting, name: str, location: str, **spec: object) -> Manifest:
    """An endpoint of HyperPod's whose model is in a bucket."""
    storage = {"bucketName": "weights", "region": "us-east-1"}
    source = {"modelSourceType": "s3", "modelLocation": location, "s3Storage": storage}
    return endpoint(bed.namespace, name, modelSourceConfig=source, **spec)


def plain(bed: Injecting, name: str, instance_type: str = GOOD, **noted: str) -> Manifest:
    """A Deployment that opts in by annotations of its own."""
    made = engine_deployment(bed.namespace, name)
    annotations = {f"tierdeck.io/{key.replace('_', '-')}": value for key, value in noted.items()}
    made["metadata"]["annotations"] = {"tierdeck.io/l2": "true", "tierdeck.io/l2-claim": "curvine-pvc", **annotations}
    spec = made["spec"]["template"]["spec"]
    spec["nodeSelector"] = {"node.kubernetes.io/instance-type": instance_type}
    spec["containers"][0]["args"] = ["--model", "an/llm"]
    return made


def _stated(bed: Injecting) -> list[str]:
    """The addresses of the Deployment, as its operator rendered it."""
    made = bed.rest.get("Deployment", "chat", bed.namespace, "apps/v1")
    env = made["spec"]["template"]["spec"]["containers"][0]["env"]
    return [one["value"] for one in env if one["name"] == "LMCACHE_REMOTE_URL"]


def test_l2_stays_whatever_the_operator_does(bed: Injecting) -> None:
    worker: Manifest = endpoint(bed.namespace)["spec"]["worker"]
    worker["environmentVariables"].append({"name": "LMCACHE_REMOTE_URL", "value": "fs://by/hand/"})
    bed.rest.apply(s3(bed, "chat", "llama/v1", worker=worker))
    first = bed.new_pods("chat")
    assert _stated(bed) == [OPERATORS, "fs://by/hand/"], "this version of the operator states it twice"
    assert has_l2(first[0])
    address = urls(first[0])[0]
    assert address.startswith("fs://localhost:0/mnt/curvine/l2cache/weights-llama-v1-")

    config = bed.rest.get(KIND, "chat", bed.namespace, API)
    bed.rest.merge(config, {"spec": {"worker": {"args": ["--model", "/opt/ml/model", "--max-num-seqs", "64"]}}})
    edited = bed.new_pods("chat", after=uids(first))
    assert has_l2(edited[0])
    assert urls(edited[0]) == [address]

    bed.hyperpod.upgrade("v3.7", EnvHandling.STRIPS)
    upgraded = bed.new_pods("chat", after=uids([*first, *edited]))
    assert has_l2(upgraded[0])

    bed.rest.merge(config, {"spec": {"replicas": 2}})
    scaled = bed.new_pods("chat", 2)
    assert all(has_l2(pod) for pod in scaled)

    bed.rest.delete(bed.rest.get("Deployment", "chat", bed.namespace, "apps/v1"))
    again = bed.new_pods("chat", 2, uids(scaled))
    assert all(has_l2(pod) for pod in again)
    assert {url for pod in again for url in urls(pod)} == {address}

    # the Deployment is as its operator rendered it: nobody fights over it
    assert _stated(bed) == [OPERATORS]
    name = f"{bed.namespace}/chat"
    bed.watched.until(lambda: "at /mnt/curvine" in bed.watched.endpoints()[name].effective.l2.text, "L2 in the deck")
    seen = bed.watched.endpoints()[name]
    assert seen.configured.l2.text == seen.effective.l2.text
    assert "l2" not in {what.lower() for what in seen.drift()}
    assert not [one for one in seen.problems if "without the L2" in one]
    assert [one for one in seen.problems if "weights/llama/v1 is unpinned" in one]


@pytest.mark.parametrize(
    ("name", "instance_type", "noted", "words"),
    [
        ("missing", GOOD, {"l2_claim": "nowhere"}, "there is no claim {namespace}/nowhere"),
        ("unbound", GOOD, {"l2_claim": "pending"}, "claim {namespace}/pending is Pending, not Bound"),
        ("hung", HUNG, {}, "its mount is hung: 2 replies wait"),
        ("bare", BARE, {}, "no node plugin of Curvine's CSI driver runs there"),
    ],
)
def test_where_l2_could_hurt_a_pod_starts_without_it(
    bed: Injecting, name: str, instance_type: str, noted: dict[str, str], words: str
) -> None:
    if name == "unbound":
        bed.make_claim("pending", bound=False)
    bed.rest.apply(plain(bed, name, instance_type, **noted))
    (pod,) = bed.new_pods(name)
    assert urls(pod) == []
    expected = words.format(namespace=bed.namespace)
    bed.wait_for_words(name, expected)
    told = [one for one in bed.rest.objects("Event", bed.namespace) if one["reason"] == "L2NotInjected"]
    (own,) = [one for one in told if one["involvedObject"]["name"] == name]
    assert own["involvedObject"]["kind"] == "Deployment"
    assert expected in own["message"]
    bed.wait_for_problem(name, f"kubectl --namespace {bed.namespace} delete pod {pod['metadata']['name']}")


def test_two_models_at_the_same_path_never_share_a_directory(bed: Injecting) -> None:
    for name, location in (("chat", "llama/v1"), ("other", "llama/v2")):
        bed.rest.apply(s3(bed, name, location))
    bed.cluster.wait_until(lambda: all(map(has_l2, bed.pods("other"))) and bool(bed.pods("other")), "the other model")
    one, other = urls(bed.pods("chat")[0]), urls(bed.pods("other")[0])
    assert one != other
    assert "weights-llama-v1-" in one[0]
    assert "weights-llama-v2-" in other[0]
    arguments = [engine_of(bed.pods(name)[0])["args"] for name in ("chat", "other")]
    assert [words[1] for words in arguments] == ["/opt/ml/model"] * 2


def test_an_edit_that_the_operator_has_not_taken_up_names_no_directory(bed: Injecting) -> None:
    # the pod has the old weights still, and the custom resource names the new ones
    bed.rest.apply(s3(bed, "other", "llama/v2"))
    before = bed.new_pods("other")
    own = bed.rest.get("Deployment", OPERATOR, SYSTEM, "apps/v1")
    bed.rest.merge(own, {"spec": {"replicas": 0}})
    bed.hyperpod.settle()
    bed.rest.apply(s3(bed, "other", "llama/v3"))
    bed.rest.delete(before[0], gracePeriodSeconds="0")
    (between,) = bed.new_pods("other", after=uids(before))
    assert urls(between) == [OPERATORS]
    bed.wait_for_words("other", "was edited, and its operator has not taken that up yet")
    bed.rest.merge(own, {"spec": {"replicas": 1}})
    config = bed.rest.get(KIND, "other", bed.namespace, API)
    bed.wait_for_operator(config)
    bed.rest.delete(between, gracePeriodSeconds="0")
    (after,) = bed.new_pods("other", after=uids([*before, between]))
    assert has_l2(after)
    assert "weights-llama-v3-" in urls(after)[0]


def test_a_dry_run_is_answered_and_told_to_nobody(bed: Injecting) -> None:
    pod = engine_pod(bed.namespace, "dry")
    pod["metadata"]["annotations"] = {"tierdeck.io/l2": "true", "tierdeck.io/l2-claim": "nowhere"}
    pod["spec"]["containers"][0]["args"] = ["--model", "an/llm"]
    made = bed.rest.create(pod, dryRun="All")
    assert urls(made) == []
    pod["metadata"]["annotations"]["tierdeck.io/l2-claim"] = "curvine-pvc"
    pod["spec"]["nodeSelector"] = {"node.kubernetes.io/instance-type": GOOD}
    assert has_l2(bed.rest.create(pod, dryRun="All"))
    assert bed.withheld("dry") == []


def test_a_pod_elsewhere_never_comes_by(bed: Injecting, namespace: str) -> None:
    pod = engine_pod(namespace, "elsewhere")
    pod["metadata"]["annotations"] = {"tierdeck.io/l2": "true", "tierdeck.io/l2-claim": "curvine-pvc"}
    assert "tierdeck.io/l2-injected" not in bed.rest.create(pod)["metadata"]["annotations"]


def test_the_switch_stops_it_and_a_dead_webhook_stops_nobody(bed: Injecting) -> None:
    bed.rest.apply(plain(bed, "slipped"))
    first = bed.new_pods("slipped")
    assert has_l2(first[0])
    bed.list_endpoints("chat", "other", enabled=False)
    bed.wait_for_log("l2_file_changed")
    bed.rest.delete(first[0], gracePeriodSeconds="0")
    second = bed.new_pods("slipped", after=uids(first))
    assert urls(second[0]) == []
    bed.wait_for_words("slipped", "the L2 file says enabled: false")
    bed.list_endpoints("chat", "other")
    bed.kill()
    bed.rest.delete(second[0], gracePeriodSeconds="0")
    third = bed.new_pods("slipped", after=uids([*first, *second]))
    assert urls(third[0]) == []
    name = third[0]["metadata"]["name"]
    bed.wait_for_problem("slipped", f"1 running pod without the L2 that it opted in to: {name}.")
    bed.start()
    bed.rest.delete(third[0], gracePeriodSeconds="0")
    (pod,) = bed.new_pods("slipped", after=uids([*first, *second, *third]))
    assert has_l2(pod)
    bed.wait_without_problem("slipped", "without the L2")
    assert bed.end() == 0
    assert "injector_stopped" in bed.log.read_text("utf-8")
