"""The chart's janitor: off until it is wanted, dry until it is told otherwise, in the claim's own namespace."""

from __future__ import annotations

from tests.support.helm import CHART, Helm
from tests.support.kube_rest import Manifest
from tierdeck.settings import Settings

POSTGRESQL: Manifest = {"database": {"type": "postgresql", "postgresql": {"existingSecret": "store"}}}


def janitor(helm: Helm, **values: object) -> Manifest:
    """Its Deployment."""
    objects = helm.template({**POSTGRESQL, "janitor": {"enabled": True, "claim": "curvine-pvc", **values}})
    (found,) = [one for one in objects if one["metadata"]["name"].endswith("-janitor")]
    return found


def test_it_is_off_until_it_is_wanted(helm: Helm) -> None:
    names = [one["metadata"]["name"] for one in helm.template(POSTGRESQL)]
    assert not [name for name in names if "janitor" in name]


def test_it_only_looks_until_it_is_told_to_delete(helm: Helm) -> None:
    found = janitor(helm, namespace="inference", subPath="l2cache")
    pod = found["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    told = {one["name"]: one.get("value") for one in container["env"]}
    mount = container["volumeMounts"][1]
    assert (found["metadata"]["namespace"], found["spec"]["replicas"]) == ("inference", 1)
    assert (told["TIERDECK_JANITOR_DELETE"], told["TIERDECK_JANITOR_PATH"]) == ("false", mount["mountPath"])
    assert (mount["subPath"], mount["readOnly"]) == ("l2cache", True)
    assert pod["volumes"][1]["persistentVolumeClaim"] == {"claimName": "curvine-pvc", "readOnly": True}
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsNonRoot"]) == (10001, True)
    assert "fsGroup" not in pod["securityContext"], "the owners of a pool's files stay"
    settings = {f"TIERDECK_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in told if name.startswith("TIERDECK_")} <= settings


def test_told_to_delete_it_may_write(helm: Helm) -> None:
    pod = janitor(helm, delete=True, runAsUser=0, env=[{"name": "TIERDECK_JANITOR_LOW_RATIO", "value": "0.6"}])["spec"]
    (container,) = pod["template"]["spec"]["containers"]
    told = {one["name"]: one.get("value") for one in container["env"]}
    assert (told["TIERDECK_JANITOR_DELETE"], told["TIERDECK_JANITOR_LOW_RATIO"]) == ("true", "0.6")
    assert "readOnly" not in container["volumeMounts"][1]
    assert container["securityContext"]["runAsNonRoot"] is False


def test_what_can_not_be_is_refused(helm: Helm) -> None:
    for values, words in (
        ({"janitor": {"enabled": True, "claim": "c"}}, "take database.type postgresql"),
        ({**POSTGRESQL, "janitor": {"enabled": True}}, "claim"),
        ({**POSTGRESQL, "janitor": {"enabled": True, "claim": "c", "subPath": "../x"}}, "subPath"),
    ):
        done = helm.run("template", "deck", str(CHART), values=values)
        assert done.returncode != 0
        assert words in done.stderr
