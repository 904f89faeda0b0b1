"""The Helm chart as text: what it makes of values, which it refuses, and what all of our pods have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from alerting.export.options import RuleOptions
from alerting.export.rule_file import own_rule_file
from controller.api.rights import rules
from tests.support.helm import CHART, Helm, one_of
from tests.support.kube_rest import Manifest
from tierdeck.settings import Settings

POSTGRESQL: Manifest = {"database": {"type": "postgresql", "postgresql": {"existingSecret": "store"}}}
L2: Manifest = {
    **POSTGRESQL,
    "injector": {"enabled": True, "policies": {"defaults": {"claim": "curvine-pvc"}, "endpoints": {"llm/chat": {}}}},
}
EVERYTHING: Manifest = {
    "cluster": "east",
    "image": {"repository": "example/tierdeck", "digest": "sha256:" + "0" * 64, "pullSecrets": [{"name": "registry"}]},
    "database": {
        "type": "postgresql",
        "postgresql": {"existingSecret": "store", "url": "postgresql+psycopg://tierdeck@db/tierdeck"},
    },
    "namespaces": ["a", "b"],
    "config": {
        "endpoints": [{"name": "chat", "replicas": [{"name": "r", "targets": {"vllm": "http://10.0.0.1:8000"}}]}]
    },
    "extraEnv": [{"name": "TIERDECK_LOG_LEVEL", "value": "debug"}],
    "alerting": {
        "limits": {"defaults": {"floor": 0.4}},
        "existingSecret": "notify",
        "env": [{"name": "TIERDECK_WARMING_TOKENS", "value": "500"}],
    },
    "console": {"replicas": 2, "service": {"annotations": {"a": "b"}}},
    "ingress": {"enabled": True, "className": "nginx", "hosts": ["deck.example.org"], "annotations": {"a": "b"}},
    "networkPolicy": {"consoleFrom": [{"namespaceSelector": {}}]},
    "podMonitor": {"mode": "always", "labels": {"release": "prometheus"}},
    "podAnnotations": {"a": "b"},
    "podLabels": {"team": "serving"},
    "nodeSelector": {"pool": "cpu"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
}
PROMETHEUS: Manifest = {
    "controller": {"enabled": False},
    "config": EVERYTHING["config"],
    "prometheus": {
        "url": "http://prometheus:9090",
        "tenant": "team",
        "existingSecret": "prometheus",
        "tokenKey": "token",
        "caKey": "ca.crt",
    },
}
CHANGES: Manifest = {
    "controller": {
        "changes": {
            "enabled": True,
            "policy": {"namespaces": ["llm"], "kinds": ["Deployment"], "limits": {"l1": "80GiB"}},
            "secondPerson": True,
        }
    }
}
SETS: dict[str, Manifest] = {
    "as it comes": {},
    "postgresql": POSTGRESQL,
    "everything": EVERYTHING,
    "a Prometheus": PROMETHEUS,
    "without the API": {"controller": {"enabled": False}, "console": {"enabled": False}},
    "changes": CHANGES,
    "l2": L2,
    "l2 by cert-manager": {**L2, "injector": {**L2["injector"], "certManager": {"enabled": True}}},
    "namespaces": {"namespaces": ["a"], "rights": {"clusterResources": False}},
}


def pods(objects: list[Manifest]) -> Iterator[Manifest]:
    """The pod templates, by way of what makes them."""
    for one in objects:
        if one["kind"] in ("Deployment", "Job"):
            yield one["spec"]["template"]


def containers(objects: list[Manifest]) -> Iterator[Manifest]:
    for pod in pods(objects):
        yield from (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"])


def environment(container: Manifest) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}


def test_lint_has_nothing_to_say(helm: Helm) -> None:
    for values in SETS.values():
        done = helm.run("lint", "--strict", str(CHART), values=values)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("name", SETS)
def test_every_pod_is_restricted_and_knows_its_limits(helm: Helm, name: str) -> None:
    objects = helm.template(SETS[name])
    for pod in pods(objects):
        context = pod["spec"]["securityContext"]
        assert (context["runAsUser"], context["runAsNonRoot"]) == (10001, True)
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["enableServiceLinks"] is False
    for container in containers(objects):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        }
        assert "memory" in container["resources"]["limits"]
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


@pytest.mark.parametrize("name", SETS)
def test_every_lasting_container_has_all_three_probes(helm: Helm, name: str) -> None:
    for one in helm.template(SETS[name]):
        if one["kind"] == "Deployment":
            for container in one["spec"]["template"]["spec"]["containers"]:
                named = {port["name"] for port in container["ports"]}
                for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                    assert container[probe]["httpGet"]["port"] in named
                alive = "/_stcore/health" if container["name"] == "console" else "/healthz"
                assert container["livenessProbe"]["httpGet"]["path"] == alive


@pytest.mark.parametrize("name", SETS)
def test_every_variable_of_ours_is_a_setting(helm: Helm, name: str) -> None:
    known = {f"TIERDECK_{field.upper()}" for field in Settings.model_fields}
    for container in containers(helm.template(SETS[name])):
        named = environment(container)
        assert {key for key in named if key.startswith("TIERDECK_")} <= known
        assert len(named) == len(container["env"]), "a variable is there twice"


def test_the_embedded_store_has_one_pod_that_is_never_there_twice(helm: Helm) -> None:
    objects = helm.template()
    deployment = one_of(objects, "Deployment")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    spec = deployment["spec"]["template"]["spec"]
    assert [one["name"] for one in spec["containers"]] == ["collectors", "controller", "alerting", "console"]
    assert [one["command"] for one in spec["initContainers"]] == [["python", "-m", "db", "upgrade"]]
    assert {environment(one)["TIERDECK_HOME"] for one in containers(objects)} == {"/var/lib/tierdeck"}
    assert one_of(objects, "PersistentVolumeClaim")["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert not [one for one in objects if one["kind"] == "Job"], "a hook can't mount what is not there yet"


def test_only_who_speaks_to_the_api_gets_a_token(helm: Helm) -> None:
    token = "/var/run/secrets/kubernetes.io/serviceaccount"
    for values in SETS.values():
        objects = helm.template(values)
        mounting = [
            one["name"] for one in containers(objects) if token in {mount["mountPath"] for mount in one["volumeMounts"]}
        ]
        expected = ["controller"] if values.get("controller", {}).get("enabled", True) else []
        assert mounting == expected + (["injector"] if "injector" in values else [])
        accounts = [one for one in objects if one["kind"] == "ServiceAccount"]
        assert accounts
        assert not any(one["automountServiceAccountToken"] for one in accounts)


def test_with_postgresql_each_process_has_its_pod_and_a_job_migrates_first(helm: Helm) -> None:
    objects = helm.template(POSTGRESQL)
    deployments = {one["metadata"]["name"]: one for one in objects if one["kind"] == "Deployment"}
    assert set(deployments) == {f"deck-tierdeck-{name}" for name in ("collectors", "controller", "alerting", "console")}
    job = one_of(objects, "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert "serviceAccountName" not in job["spec"]["template"]["spec"], "none of ours is there yet"
    assert not [one for one in objects if one["kind"] == "PersistentVolumeClaim"]
    secret = {"secretKeyRef": {"name": "store", "key": "url"}}
    assert all(environment(one)["TIERDECK_DATABASE_URL"] == secret for one in containers(objects))


def test_a_url_without_a_password_takes_it_from_the_secret(helm: Helm) -> None:
    for container in containers(helm.template(EVERYTHING)):
        named = environment(container)
        assert named["TIERDECK_DATABASE_URL"] == "postgresql+psycopg://tierdeck@db/tierdeck"
        assert named["PGPASSWORD"] == {"secretKeyRef": {"name": "store", "key": "password"}}


def test_limits_and_channels_reach_the_alerting_process_alone(helm: Helm) -> None:
    objects = helm.template(EVERYTHING)
    limits = [one for one in objects if one["kind"] == "ConfigMap" and one["metadata"]["name"].endswith("-alerts")]
    assert [yaml.safe_load(one["data"]["alerts.yaml"]) for one in limits] == [{"defaults": {"floor": 0.4}}]
    mounting = {one["name"]: {mount["mountPath"] for mount in one["volumeMounts"]} for one in containers(objects)}
    told = {one["name"]: environment(one) for one in containers(objects)}
    assert told["alerting"]["TIERDECK_ALERTS_FILE"] == "/etc/tierdeck/alerts/alerts.yaml"
    assert told["alerting"]["TIERDECK_WARMING_TOKENS"] == "500"
    for path in ("/etc/tierdeck/alerts", "/etc/tierdeck/notify"):
        assert [name for name, paths in mounting.items() if path in paths] == ["alerting"]


def test_a_prometheus_and_a_configuration_reach_the_collectors(helm: Helm) -> None:
    objects = helm.template(PROMETHEUS)
    collectors = one_of(objects, "Deployment")["spec"]["template"]["spec"]
    named = environment(collectors["containers"][0])
    assert named["TIERDECK_PROMETHEUS_URL"] == "http://prometheus:9090"
    assert named["TIERDECK_PROMETHEUS_TOKEN_FILE"] == "/etc/tierdeck/prometheus/token"
    assert named["TIERDECK_CONFIG_FILE"] == "/etc/tierdeck/config/tierdeck.yaml"
    config = one_of(objects, "ConfigMap")["data"]["tierdeck.yaml"]
    assert yaml.safe_load(config) == PROMETHEUS["config"]


def test_two_consoles_are_spread_sticky_and_guarded(helm: Helm) -> None:
    objects = helm.template(EVERYTHING)
    assert one_of(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert one_of(objects, "Service")["spec"]["sessionAffinity"] == "ClientIP"
    assert one_of(objects, "Ingress")["spec"]["rules"][0]["host"] == "deck.example.org"
    assert not [one for one in helm.template(POSTGRESQL) if one["kind"] == "PodDisruptionBudget"]


def test_a_service_finds_pods_of_its_own_release(helm: Helm) -> None:
    for values in (SETS["as it comes"], POSTGRESQL):
        objects = helm.template(values)
        selector = one_of(objects, "Service")["spec"]["selector"].items()
        fitting = [pod for pod in pods(objects) if selector <= pod["metadata"]["labels"].items()]
        assert [one["name"] for pod in fitting for one in pod["spec"]["containers"]][-1:] == ["console"]
        assert len(fitting) == 1


def test_only_the_consoles_port_is_open_unless_our_metrics_are_scraped(helm: Helm) -> None:
    def ports(*flags: str, **values: Any) -> list[int]:
        policy = one_of(helm.template(values, *flags), "NetworkPolicy")["spec"]
        assert policy["policyTypes"] == ["Ingress"]
        return [port["port"] for rule in policy["ingress"] for port in rule["ports"]]

    known = ("--api-versions", "monitoring.coreos.com/v1/PodMonitor")
    assert ports() == [8501]
    assert ports(*known) == ports(podMonitor={"mode": "always"}) == [8501, 9464, 9465, 9466]
    assert ports(*known, podMonitor={"mode": "never"}) == [8501]


def test_a_pod_monitor_is_made_where_its_kind_is_known(helm: Helm) -> None:
    objects = helm.template({}, "--api-versions", "monitoring.coreos.com/v1/PodMonitor")
    wanted = [one["port"] for one in one_of(objects, "PodMonitor")["spec"]["podMetricsEndpoints"]]
    assert wanted == [port["name"] for one in containers(objects) for port in one.get("ports", ())]
    assert not [one for one in helm.template() if one["kind"] == "PodMonitor"]


def test_the_roles_are_the_rules_that_observing_needs_and_no_more(helm: Helm) -> None:
    needed = as_set(yaml.safe_load(rules()))
    assert as_set(one_of(helm.template(), "ClusterRole")["rules"]) == needed
    split = helm.template({"namespaces": ["a", "b"]})
    roles = [one for one in split if one["kind"] == "Role"]
    assert [one["metadata"]["namespace"] for one in roles] == ["a", "b"]
    whole = as_set(one_of(split, "ClusterRole")["rules"])
    assert {plural for _, plural, _ in whole} == {"nodes", "storageclasses"}
    assert all(as_set(one["rules"]) | whole == needed for one in roles)
    bare = helm.template(SETS["namespaces"])
    assert not [one for one in bare if one["kind"].startswith("ClusterRole")]
    assert not [one for one in helm.template(SETS["without the API"]) if "Role" in one["kind"]]


def as_set(given: list[Manifest]) -> set[tuple[str, str, frozenset[str]]]:
    """Rules as (group, resource, verbs)."""
    return {
        (group, plural, frozenset(one["verbs"]))
        for one in given
        for group in one["apiGroups"]
        for plural in one["resources"]
    }


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"controller": {"changes": {"enabled": True}}}, "say which namespaces and kinds may be changed"),
        ({"controller": {"enabled": False, "changes": {"enabled": True}}}, "it is the controller that makes changes"),
        ({"console": {"replicas": 2}}, "more than one console takes database.type postgresql"),
        ({"database": {"type": "postgresql"}}, "name the Secret that holds the URL"),
        ({"prometheus": {"url": "http://prometheus:9090"}}, "each endpoint would be found twice"),
        ({"prometheus": {"tokenKey": "token"}}, "prometheus.existingSecret"),
        ({"prometheus": {"username": "me"}}, "a user needs the key of its password"),
        ({"prometheus": {"username": "a", "passwordKey": "p", "existingSecret": "s", "awsRegion": "x"}}, "keep one"),
        ({"ingress": {"enabled": True, "hosts": ["a"]}, "console": {"enabled": False}}, "no console here"),
        ({"injector": {"enabled": True}}, "the webhook has pods of its own; it takes database.type postgresql"),
        ({**L2, "controller": {"enabled": False}}, "nothing tells where Curvine's mounts are"),
    ],
)
def test_values_that_contradict_each_other_are_refused_with_a_sentence(
    helm: Helm, values: Manifest, words: str
) -> None:
    assert words in helm.refusal(values)


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"replicas": 3}, "replicas"),
        ({"cluster": ""}, "/cluster"),
        ({"database": {"type": "mysql"}}, "/database/type"),
        ({"database": {"embedded": {"size": "much"}}}, "/database/embedded/size"),
        ({"database": {"postgresql": {"url": "postgresql://me:secret@db/x"}}}, "/database/postgresql/url"),
        ({"prometheus": {"url": "http://me:secret@prometheus"}}, "/prometheus/url"),
        ({"console": {"replicas": 0}}, "/console/replicas"),
        ({"namespaces": ["Not_One"]}, "/namespaces/0"),
        ({"ingress": {"enabled": True}}, "/ingress/hosts"),
        ({"extraEnv": {"A": "b"}}, "/extraEnv"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"podMonitor": {"mode": "on"}}, "/podMonitor/mode"),
    ],
)
def test_the_schema_refuses_nonsense_and_says_where(helm: Helm, values: Manifest, where: str) -> None:
    said = helm.refusal(values)
    assert "don't meet the specifications of the schema" in said
    assert where in said
    assert "secret" not in said.lower().replace("existingsecret", "").replace("pullsecrets", "") or "me:" in said


def test_the_schema_and_the_values_name_the_same_things() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    assert set(_schema_paths(schema)) - {"global"} == set(_value_paths(values, schema))


def _schema_paths(schema: Manifest, path: str = "") -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        yield f"{path}{name}"
        yield from _schema_paths(part, f"{path}{name}.")
        if "properties" in part:
            assert part["additionalProperties"] is False, name


def _value_paths(values: Manifest, schema: Manifest, path: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"{path}{name}"
        part = schema["properties"][name]
        if "properties" in part:
            yield from _value_paths(value, part, f"{path}{name}.")


def test_every_value_is_explained_above_it() -> None:
    lines = (CHART / "values.yaml").read_text("utf-8").splitlines()
    bare = []
    for above, line in zip(["", *lines], lines, strict=False):
        key = re.fullmatch(r"( *)([A-Za-z]+):( .*)?", line)
        holds_more = key is not None and not key[3]
        inside = key is not None and key[2] in ("requests", "limits")
        if key is not None and not holds_more and not inside and not above.lstrip().startswith("#"):
            bare.append(line)
    assert not bare


def test_the_chart_and_the_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert f'version = "{chart["appVersion"]}"' in project


def test_the_rules_on_our_own_processes_are_the_exported_ones(helm: Helm) -> None:
    assert not [one for one in helm.template() if one["kind"] == "PrometheusRule"]
    made = one_of(helm.template({"prometheusRule": {"enabled": True, "labels": {"release": "prom"}}}), "PrometheusRule")
    assert made["metadata"]["labels"]["release"] == "prom"
    assert made["spec"] == own_rule_file(RuleOptions())
