"""The custom resource that tells which model its pods load, where no pod shows it: a policy has to look at it too.

HyperPod mounts every model at /opt/ml/model, so that pods before and after a change of weights are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.injector.wired import engine_of
from controller.reading.configs import Configs
from controller.reading.fields import field, labels
from controller.reading.model_identity import identity_of
from controller.reading.opted_in import MODEL_REVISION
from controller.reading.origin import CUSTOM
from controller.resources import ENDPOINT_CONFIGS, JUMPSTART_MODELS, Resource
from controller.stage import View
from controller.stages.engines import Engine
from tierdeck.deployed import ObjectRef
from tierdeck.l2.identity import ModelIdentity
from tierdeck.l2.policy import L2Policy

Path = tuple[str, ...]
_FIELDS: Mapping[str, tuple[Path, ...]] = {
    ENDPOINT_CONFIGS.kind: (("spec", "modelSourceConfig"), ("spec", "modelVersion")),
    JUMPSTART_MODELS.kind: (("spec", "model"), ("spec", "server", "instanceType")),
}
"""What an identity takes from them."""
_NOTE: Path = ("metadata", "annotations", MODEL_REVISION)


@dataclass(frozen=True, slots=True)
class StatedBy:
    """What it stated when the policy was made.

    Attributes:
        facts: by path; a field that is not there is an empty text.
    """

    ref: ObjectRef
    resource: Resource
    facts: tuple[tuple[Path, object], ...]


def stated_by(view: View, engine: Engine, policy: L2Policy, made: ModelIdentity) -> StatedBy | None:
    """None where the pods themselves tell their model."""
    source = engine.template.source
    process = engine_of(engine.template, Configs(view.objects, engine.workload[0].namespace))
    if source is None or process is None:
        return None
    ref, raw = source
    alone = identity_of(process, ref, None, policy)
    is_told = isinstance(alone, ModelIdentity) and alone.directory == made.directory
    if is_told and MODEL_REVISION not in labels(raw, "metadata", "annotations"):
        return None
    resource = next(one for one in CUSTOM if one.kind == ref.kind)
    paths = (*_FIELDS.get(ref.kind, ()), _NOTE)
    return StatedBy(ref, resource, tuple((path, _plain(field(raw, *path))) for path in paths))


def _plain(value: object) -> object:
    return "" if value is None else value
