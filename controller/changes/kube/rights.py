"""What the controller may write: asked of the API server, and told as the rules that are missing.

Source: Kubernetes API, authorization.k8s.io/v1 SelfSubjectAccessReview.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace

from controller.api.client import Api, Sent
from controller.api.rights import WRITABLE, WRITE, write_rule
from controller.reading.fields import flag, mapping
from controller.resources import CONFIG_MAPS, VLLM_ROUTERS, VLLM_RUNTIMES, Resource
from tierdeck.deployed import Deployed, Sighting
from tierdeck.errors import TierdeckError

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_GOOD_SECONDS = 60.0
_REFUSED = re.compile(r'cannot (\w+) resource "([^"]+)" in API group "([^"]*)"')


def missing_rule(words: str) -> str:
    """The RBAC rule that grants what the server refused; empty where its words are about something else."""
    found = _REFUSED.search(words)
    if found is None:
        return ""
    return f'- {{apiGroups: ["{found[3]}"], resources: [{found[2]}], verbs: [{found[1]}]}}'


class WriteRights:
    """Asks what may be written, and remembers it for a minute."""

    def __init__(self, api: Api, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: seconds.
        """
        self._api = api
        self._clock = clock
        self._known: dict[tuple[str, Resource], tuple[float, bool]] = {}

    def missing(self, one: Deployed) -> tuple[str, ...]:
        """The rules that are missing to change an endpoint; empty: it may be changed.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        lacking = [resource for namespace, resource in needs(one) if not self._may(namespace, resource)]
        return tuple(dict.fromkeys(write_rule(resource) for resource in lacking))

    def stamped(self, sighting: Sighting) -> Sighting:
        """With what is missing to change each endpoint; None where that can't be told now."""
        made = (one if one.is_pool else replace(one, write_rules=self._told(one)) for one in sighting.deployed)
        return replace(sighting, deployed=tuple(made))

    def _told(self, one: Deployed) -> tuple[str, ...] | None:
        try:
            return self.missing(one)
        except TierdeckError:
            return None

    def _may(self, namespace: str, resource: Resource) -> bool:
        key = namespace, resource
        at, answer = self._known.get(key, (float("-inf"), False))
        if self._clock() - at >= _GOOD_SECONDS:
            answer = all(self._asks(namespace, resource, verb) for verb in WRITE)
            self._known[key] = self._clock(), answer
        return answer

    def _asks(self, namespace: str, resource: Resource, verb: str) -> bool:
        asked = {"namespace": namespace, "verb": verb, "group": resource.group, "resource": resource.plural}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        return flag(mapping(self._api.send(_REVIEWS, Sent("POST", review)), "status"), "allowed")


def needs(one: Deployed) -> list[tuple[str, Resource]]:
    """Where which kinds are written to change an endpoint: never what an operator renders from its source."""
    if one.source.kind in (VLLM_RUNTIMES.kind, VLLM_ROUTERS.kind):
        return [(one.source.namespace, resource) for resource in (VLLM_RUNTIMES, VLLM_ROUTERS)]
    by_kind = {resource.kind: resource for resource in WRITABLE}
    if one.source.kind in by_kind and by_kind[one.source.kind].is_custom:
        return [(one.source.namespace, by_kind[one.source.kind])]
    refs = [one.source, *(workload.ref for workload in one.workloads)]
    found = {(ref.namespace, by_kind[ref.kind]) for ref in refs if ref.kind in by_kind}
    found |= {(namespace, CONFIG_MAPS) for namespace, _ in found}
    return sorted(found, key=lambda need: (need[0], need[1].name))
