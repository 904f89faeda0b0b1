"""HyperPod's inference operator: its Deployment, version, and whether it renders at all now.

Sources: aws/sagemaker-hyperpod-cli (image `hyperpod-inference-operator`; two names of its Deployment are in the wild,
so that the image tells), and #431 (versions that drop or double `LMCACHE_*`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.reading.fields import items, text, whole
from controller.reading.images import split_image, tag_version
from controller.reading.lineage import Found, template_spec
from controller.reading.scene import Scene
from controller.resources import DEPLOYMENTS
from tierdeck.changes.plan import Refusal

_IMAGE = "hyperpod-inference-operator"
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Operator:
    """As its Deployment states it.

    Attributes:
        version: as its image's tag has it (`3.2`); empty: the tag tells none.
    """

    deployment: Found
    version: str

    @property
    def is_paused(self) -> bool:
        return whole(self.deployment[1], "spec", "replicas") == 0


def operator_of(scene: Scene) -> Operator | None:
    """None: it is not seen."""
    for one in scene.lineage.workloads(DEPLOYMENTS):
        for container in items(template_spec(one[1]), "containers"):
            image = text(container, "image")
            if split_image(image)[0].rpartition("/")[2] == _IMAGE:
                return Operator(one, tag_version(image))
    return None


def paused(found: HyperPodResource) -> Refusal | None:
    """Nothing would render what is written."""
    operator = operator_of(found.look.scene)
    if operator is None or not operator.is_paused:
        return None
    where = operator.deployment[0]
    return Refusal(
        "silent_no_op",
        f"{where}, the inference operator, is scaled to 0, so nothing would render what is written to {found.ref}.",
        f"kubectl --namespace {where.namespace} scale deployment {where.name} --replicas=1, and wait 3 minutes.",
    )


def is_older(version: str, than: str) -> bool:
    """`3.2` is older than `3.10`; `3.2` is no older than `3.2.0`."""
    own, other = _numbers(version), _numbers(than)
    length = max(len(own), len(other))
    return own + (0,) * (length - len(own)) < other + (0,) * (length - len(other))


def _numbers(version: str) -> tuple[int, ...]:
    match = _NUMBERS.match(version.removeprefix("v"))
    return tuple(int(one) for one in match[0].split(".")) if match else ()
