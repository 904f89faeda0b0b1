"""The injector in the Helm chart: whom its webhook stops, what it may do, and where its policies go."""

from __future__ import annotations

import yaml

from controller.api.rights import injector_cluster_rules, injector_rules
from controller.reading.origin import OWNERS
from tests.cluster.test_chart import L2, POSTGRESQL, SETS, as_set, containers, environment
from tests.support.helm import Helm, one_of
from tierdeck.l2.file import parse_l2


def test_the_webhook_never_stops_a_pod_and_sees_few(helm: Helm) -> None:
    objects = helm.template(L2)
    (hook,) = one_of(objects, "MutatingWebhookConfiguration")["webhooks"]
    assert (hook["failurePolicy"], hook["timeoutSeconds"], hook["sideEffects"]) == ("Ignore", 5, "NoneOnDryRun")
    assert hook["namespaceSelector"]["matchLabels"] == {"tierdeck.io/l2-injection": "enabled"}
    (rule,) = hook["namespaceSelector"]["matchExpressions"]
    assert (rule["operator"], set(rule["values"])) == ("NotIn", {"kube-system", "serving"})
    assert [one["name"] for one in hook["matchConditions"]] == ["not-opted-out", "not-a-static-pod"]
    deployment = one_of(objects, "Deployment", "deck-tierdeck-injector")
    assert deployment["spec"]["replicas"] == 2
    assert one_of(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    service = one_of(objects, "Service", hook["clientConfig"]["service"]["name"])["spec"]
    assert service["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert environment(container)["TIERDECK_INJECTOR_NAMES"] == "deck-tierdeck-injector.serving.svc"
    assert not [one for one in helm.template(POSTGRESQL) if one["kind"] == "MutatingWebhookConfiguration"]


def test_policies_reach_injector_and_controller(helm: Helm) -> None:
    objects = helm.template(L2)
    told = yaml.safe_load(one_of(objects, "ConfigMap", "deck-tierdeck-l2")["data"]["l2.yaml"])
    assert told == L2["injector"]["policies"]
    assert parse_l2(yaml.safe_dump(told), "l2.yaml").defaults.claim == "curvine-pvc"
    assert parse_l2(yaml.safe_dump({}), "l2.yaml").enabled
    knowing = [one["name"] for one in containers(objects) if "TIERDECK_L2_FILE" in environment(one)]
    assert knowing == ["controller", "injector"]


def test_the_injectors_rights_are_the_rules_that_it_needs_and_two_objects_by_name(helm: Helm) -> None:
    objects = helm.template(L2)
    given = one_of(objects, "ClusterRole", "serving-deck-tierdeck-injector")["rules"]
    *plain, named = given
    assert as_set(plain) == everywhere() | inside()
    assert named["resourceNames"] == [one_of(objects, "MutatingWebhookConfiguration")["metadata"]["name"]]
    assert (named["resources"], named["verbs"]) == (["mutatingwebhookconfigurations"], ["get", "patch"])
    (secret,) = one_of(objects, "Role")["rules"]
    assert secret["resourceNames"] == [one_of(objects, "Secret")["metadata"]["name"]]
    assert secret["verbs"] == ["get", "update"]


def test_with_namespaces_its_rights_and_its_webhook_end_there(helm: Helm) -> None:
    objects = helm.template({**L2, "namespaces": ["a", "b"], "rights": {"clusterResources": False}})
    *plain, named = one_of(objects, "ClusterRole", "serving-deck-tierdeck-injector")["rules"]
    assert as_set(plain) == everywhere()
    assert named["resources"] == ["mutatingwebhookconfigurations"]
    roles = [one for one in objects if one["metadata"]["name"] == "serving-deck-tierdeck-injector"]
    for namespace in ("a", "b"):
        own = {one["kind"]: one for one in roles if one["metadata"].get("namespace") == namespace}
        assert as_set(own["Role"]["rules"]) == inside()
        assert own["RoleBinding"]["roleRef"]["name"] == own["Role"]["metadata"]["name"]
        (subject,) = own["RoleBinding"]["subjects"]
        assert (subject["namespace"], subject["name"]) == ("serving", "deck-tierdeck-injector")
    (hook,) = one_of(objects, "MutatingWebhookConfiguration")["webhooks"]
    name = "kubernetes.io/metadata.name"
    assert {"key": name, "operator": "In", "values": ["a", "b"]} in hook["namespaceSelector"]["matchExpressions"]


def everywhere() -> set[tuple[str, str, frozenset[str]]]:
    return as_set(yaml.safe_load(injector_cluster_rules()))


def inside() -> set[tuple[str, str, frozenset[str]]]:
    return as_set(yaml.safe_load(injector_rules(OWNERS)))


def test_cert_manager_takes_the_place_of_secret_and_rights(helm: Helm) -> None:
    objects = helm.template(SETS["l2 by cert-manager"])
    assert not [one for one in objects if one["kind"] in ("Secret", "Role")]
    noted = one_of(objects, "MutatingWebhookConfiguration")["metadata"]["annotations"]
    assert noted == {"cert-manager.io/inject-ca-from": "serving/deck-tierdeck-injector"}
    certificate = one_of(objects, "Certificate")["spec"]
    assert certificate["dnsNames"] == ["deck-tierdeck-injector.serving.svc"]
    assert certificate["issuerRef"]["name"] == one_of(objects, "Issuer")["metadata"]["name"]
    own = one_of(objects, "Deployment", "deck-tierdeck-injector")["spec"]["template"]["spec"]
    assert environment(own["containers"][0])["TIERDECK_INJECTOR_CERT_FILE"] == "/etc/tierdeck/webhook/tls.crt"
    assert certificate["secretName"] in [one.get("secret", {}).get("secretName") for one in own["volumes"]]
