"""Which of the resources an API server serves, in which version, and what it has of the family that is not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.api.client import Api
from controller.api.errors import ApiUnreachableError
from controller.resources import HYPERPOD_GROUP, PRODUCTION_STACK_GROUP, RESOURCES, Resource

_FAMILY = {
    HYPERPOD_GROUP: "HyperPod's inference operator",
    PRODUCTION_STACK_GROUP: "production-stack's operator",
    "inference.networking.k8s.io": "the Gateway API inference extension",
    "inference.networking.x-k8s.io": "the Gateway API inference extension",
    "serving.kserve.io": "KServe",
    "llmd.ai": "llm-d",
}
"""API groups that deploy or route LLM serving: their kinds are named where this version does not read them."""
_HARMLESS = {"SageMakerEndpointRegistration", "LoraAdapter"}
"""Kinds of the family that hold no endpoint, tier or route of their own."""


@dataclass(frozen=True, slots=True)
class Served:
    """What an API server has.

    Attributes:
        versions: by resource that is served in a version that is read: that version.
        other: by resource that is served, but in no version that is read: its versions.
        unknown: kinds of the family that this version does not read, a sentence each.
    """

    versions: Mapping[Resource, str]
    other: Mapping[Resource, tuple[str, ...]]
    unknown: tuple[str, ...]


def discover(api: Api) -> Served:
    """Ask once; cheap enough to serve as the sign of life.

    Raises:
        TierdeckError: of a kind of `controller.api.errors`.
    """
    try:
        return _discover(api)
    except (KeyError, TypeError) as error:
        raise ApiUnreachableError(
            f"what answers at {api.address} does not speak the Kubernetes API: {error!r}"
        ) from error


_POLICIES, _POLICY_VERSIONS = "admissionregistration.k8s.io", ("v1", "v1beta1", "v1alpha1")


def policy_version(api: Api) -> str:
    """In which version the server has MutatingAdmissionPolicy, the most settled first; empty: in none.

    Raises:
        TierdeckError: of a kind of `controller.api.errors`.
    """
    served = [one["version"] for group in api.get("/apis")["groups"] if group["name"] == _POLICIES
              for one in group["versions"]]  # fmt: skip
    for version in _POLICY_VERSIONS:
        if version in served:
            listed = api.get(f"/apis/{_POLICIES}/{version}")["resources"]
            if any(one["name"] == "mutatingadmissionpolicies" for one in listed):
                return version
    return ""


def _discover(api: Api) -> Served:
    groups = {group["name"]: [one["version"] for one in group["versions"]] for group in api.get("/apis")["groups"]}
    groups[""] = ["v1"]
    wanted = {resource.group for resource in RESOURCES} | _FAMILY.keys()
    kinds: dict[tuple[str, str], dict[str, str]] = {}
    for group in sorted(wanted & groups.keys()):
        for version in groups[group]:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            listed = api.get(path)["resources"]
            kinds[group, version] = {one["name"]: one["kind"] for one in listed if "/" not in one["name"]}
    versions: dict[Resource, str] = {}
    other: dict[Resource, tuple[str, ...]] = {}
    for resource in RESOURCES:
        served = [
            version for version in groups.get(resource.group, ()) if resource.plural in kinds[resource.group, version]
        ]
        usable = [version for version in resource.versions if version in served]
        if usable:
            versions[resource] = usable[0]
        elif served:
            other[resource] = tuple(served)
    return Served(versions, other, _unknown(kinds))


def _unknown(kinds: Mapping[tuple[str, str], Mapping[str, str]]) -> tuple[str, ...]:
    read = {(resource.group, resource.kind) for resource in RESOURCES}
    found = {
        (group, kind)
        for (group, _), some in kinds.items()
        if group in _FAMILY
        for kind in some.values()
        if (group, kind) not in read and kind not in _HARMLESS
    }
    return tuple(f"{kind} ({group}, of {_FAMILY[group]})" for group, kind in sorted(found))
