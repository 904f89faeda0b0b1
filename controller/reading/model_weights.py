"""Where an engine's weights are: as its custom resource states it, else where its arguments lead to.

HyperPod mounts every model at /opt/ml/model, so where a custom resource owns the engine, that tells the model.

Source: HyperPod's CRD v1 (modelSourceConfig) and JumpStartModel.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace

from controller.objects import Raw
from controller.reading.configs import is_below
from controller.reading.environment import read_environment
from controller.reading.fields import items, mapping, text
from controller.reading.lineage import Found
from controller.reading.processes import Process
from controller.reading.told import UntoldError, argument
from controller.resources import ENDPOINT_CONFIGS, JUMPSTART_MODELS
from tierdeck.deployed import ObjectRef
from tierdeck.l2.identity import ModelSource

_MOUNTED_AT = "/opt/ml/model"
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Weights:
    """As in `ModelIdentity`."""

    source: ModelSource
    model: str
    revision: str = ""
    pinned_by: str = ""


def weights_of(engine: Process, endpoint: ObjectRef, source: Found | None) -> Weights:
    word = _model_word(engine)
    is_path = word.startswith(("/", ".", "~"))
    if source is not None and (is_path or not word):
        if source[0].kind == ENDPOINT_CONFIGS.kind:
            return _in_folder(_of_endpoint_config(source), word)
        if source[0].kind == JUMPSTART_MODELS.kind:
            return _in_folder(_of_jumpstart(source), word)
    if not word or "$" in word:
        raise UntoldError("which model it loads is not told by its arguments")
    if is_path:
        return _on_path(word, engine, endpoint)
    if word.startswith("s3://"):
        return Weights(ModelSource.S3, word.removeprefix("s3://").strip("/") or word)
    if "://" in word:
        return Weights(ModelSource.ADDRESS, word)
    if word.count("/") > 1:
        raise UntoldError(f"the model is at {word}, which is neither a path nor a name of Hugging Face's")
    revision = argument(engine, "--revision")
    pinned_by = "the commit of --revision" if _COMMIT.fullmatch(revision) else ""
    return Weights(ModelSource.HUGGING_FACE, word, revision or "main", pinned_by)


def _model_word(engine: Process) -> str:
    """What it loads: `--model`, or what follows `serve`."""
    named = argument(engine, "--model")
    if named:
        return named
    words = engine.command.words
    names = [word.rpartition("/")[2] for word in words]
    at = next((at + 1 for at in range(len(names) - 1) if names[at] == "serve"), len(names))
    word = words[at] if at < len(words) else ""
    return "" if word.startswith("-") else word


def _in_folder(weights: Weights, path: str) -> Weights:
    """A folder of what the custom resource states holds other weights than the whole."""
    path = posixpath.normpath(path) if path else _MOUNTED_AT
    return weights if path == _MOUNTED_AT else replace(weights, model=f"{weights.model}:{path}")


def _of_endpoint_config(source: Found) -> Weights:
    ref, raw = source
    config = mapping(raw, "spec", "modelSourceConfig")
    kind, location = text(config, "modelSourceType"), text(config, "modelLocation").strip("/")
    version = text(raw, "spec", "modelVersion")
    match kind:
        case "huggingface":
            model, commit = text(config, "huggingFaceModel", "modelId"), text(config, "huggingFaceModel", "commitSHA")
            pinned_by = "huggingFaceModel.commitSHA" if _COMMIT.fullmatch(commit) else ""
            weights = Weights(ModelSource.HUGGING_FACE, model, commit or "main", pinned_by)
        case "s3":
            weights = Weights(ModelSource.S3, _joined(text(config, "s3Storage", "bucketName"), location), version)
        case "fsx":
            weights = Weights(ModelSource.FSX, _joined(text(config, "fsxStorage", "fileSystemId"), location), version)
        case "kubernetesVolume":
            weights = Weights(ModelSource.VOLUME, "resource:" + _joined(ref.namespace, ref.name, location), version)
        case _:
            raise UntoldError(f"{ref}: spec.modelSourceConfig.modelSourceType {kind!r} is not known")
    if not weights.model:
        raise UntoldError(f"{ref}: spec.modelSourceConfig does not tell where its model is")
    return weights


def _of_jumpstart(source: Found) -> Weights:
    ref, raw = source
    model, version = text(raw, "spec", "model", "modelId"), text(raw, "spec", "model", "modelVersion")
    if not model:
        raise UntoldError(f"{ref}: spec.model.modelId is missing")
    hub = text(raw, "spec", "model", "modelHubName") or "SageMakerPublicHub"
    return Weights(ModelSource.JUMPSTART, _joined(hub, model), version, "spec.model.modelVersion" if version else "")


def _on_path(path: str, engine: Process, endpoint: ObjectRef) -> Weights:
    """Weights in a folder: of a claim, of the node, of the image. What comes before the colon keeps them apart."""
    if not path.startswith("/"):
        raise UntoldError(f"the model is at {path}, which depends on the engine's working directory")
    mounts = [one for one in items(engine.container, "volumeMounts") if is_below(path, text(one, "mountPath"))]
    mount = max(mounts, key=lambda one: len(posixpath.normpath(text(one, "mountPath"))), default=None)
    if mount is None:
        image, at, digest = engine.image.partition("@")
        if not image:
            raise UntoldError(f"the model is at {path} in an image without a name")
        return Weights(ModelSource.IMAGE, f"{image}:{path}", digest, "the image's digest" if at else "")
    name = text(mount, "name")
    volume = next((one for one in engine.volumes if text(one, "name") == name), None)
    if volume is None:
        raise UntoldError(f"the model is on volume {name}, which its pod does not state")
    below = posixpath.join(_sub_path(mount, engine), posixpath.relpath(path, text(mount, "mountPath")))
    below = posixpath.normpath(below).removeprefix(".")
    claim, host = text(volume, "persistentVolumeClaim", "claimName"), text(volume, "hostPath", "path")
    image, server = text(volume, "image", "reference"), text(volume, "nfs", "server")
    if claim:
        return Weights(ModelSource.VOLUME, "claim:" + _joined(endpoint.namespace, claim, below))
    if server:
        return Weights(ModelSource.VOLUME, "nfs:" + _joined(server, text(volume, "nfs", "path"), below))
    if image:
        image, at, digest = image.partition("@")
        return Weights(ModelSource.IMAGE, f"volume:{image}:{below}", digest, "the image's digest" if at else "")
    # what a node or an init container put there is this endpoint's, as far as can be told
    own = own_of(endpoint, "its model is in a folder that is not of a claim")
    if host:
        return Weights(ModelSource.VOLUME, f"host:{own}:" + _joined(host, below))
    return Weights(ModelSource.VOLUME, f"volume:{own}:" + _joined(name, below))


def _sub_path(mount: Raw, engine: Process) -> str:
    expression = text(mount, "subPathExpr")
    if not expression:
        return text(mount, "subPath")
    # the kubelet knows the container's variables, and nothing of its script
    found = read_environment(engine.container, "env", engine.configs, engine.where).expand(expression)
    if "$(" in found:
        raise UntoldError(f"the model is in the folder {found} of a volume, which is not known")
    return found


def own_of(endpoint: ObjectRef, why: str) -> str:
    """An endpoint's name, its kind with it: a Deployment and a StatefulSet may be called the same.

    Raises:
        UntoldError: nothing that is known made the pod.
    """
    if endpoint.kind == "Pod":
        raise UntoldError(f"{why}, and nothing that lasts made the pod")
    return f"{endpoint.namespace}/{endpoint.kind}/{endpoint.name}"


def _joined(first: str, *rest: str) -> str:
    """A place with what is below it; empty where the place is."""
    parts = [part.strip("/") for part in (first, *rest)]
    return "/".join(part for part in parts if part) if parts[0] else ""
