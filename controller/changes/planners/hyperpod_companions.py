"""What a strategy of HyperPod's router needs beside itself: it is refused where that is missing, never added.

Sources: AWS documentation on caching and routing (kvaware: `/completions`, operator v3.1.3, LMCache 0.4.3, vLLM
0.19.1; SESSION_KEY); vllm-project/production-stack, routing_logic.py (kvaware reads `prompt` only, so that chat is no
prompt to it); Inference Gateway and intelligentRoutingSpec exclude each other per model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.api.errors import ForbiddenError, NotServedError
from controller.changes.chats import chat_refusals, chat_warnings
from controller.changes.planners.hyperpod_operator import is_older, operator_of
from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.objects import Raw
from controller.reading.fields import field, text
from controller.reading.images import versions_of
from controller.reading.lmcache import Settings, connectors
from controller.reading.processes import Process
from controller.resources import HYPERPOD_GROUP, JUMPSTART_MODELS
from tierdeck.changes.plan import Refusal

COMPLETIONS = ("/completions", "completions")
NEEDED = {"operator": "3.1.3", "lmcache": "0.4.3", "vllm": "0.19.1"}
_SESSION = ("session", "kvaware")
_GATEWAYS = f"/apis/{HYPERPOD_GROUP}/v1alpha1/namespaces/{{}}/inferencegatewayconfigs"
_NAMES = {"operator": "the inference operator", "lmcache": "LMCache", "vllm": "vLLM"}


def companion_refusals(found: HyperPodResource, strategy: str) -> Iterator[Refusal]:
    """What stands against a strategy."""
    if strategy == "kvaware":
        yield from _kvaware(found)
    if strategy in _SESSION and not _has_session_key(found):
        where = "spec.environmentVariables" if _is_model(found) else "spec.worker.environmentVariables"
        yield Refusal(
            "session_key_missing",
            f"{strategy} needs SESSION_KEY, the header or body field that names a session, and {found.ref} has none "
            f"in {where}.",
            f"Add SESSION_KEY to {where}; that restarts the engines.",
        )
    yield from _gateway(found)


def companion_warnings(found: HyperPodResource, strategy: str) -> Iterator[str]:
    """What can't be told of them."""
    if strategy != "kvaware":
        return
    yield "kvaware behaves as roundrobin, without an error, wherever LMCache is not healthy: the proof tells."
    unknown = [_NAMES[one] for one, version in _versions(found) if not version]
    if unknown:
        needs = ", ".join(f"{_NAMES[one]} {version}" for one, version in NEEDED.items())
        yield f"kvaware needs {needs} or newer; no image tells the version of {' and '.join(unknown)}."
    yield from chat_warnings(found.look)


def _kvaware(found: HyperPodResource) -> Iterator[Refusal]:
    stated = text(found.raw, "spec", "invocationEndpoint")
    if _is_model(found):
        yield Refusal(
            "kvaware_invocation_endpoint",
            f"kvaware needs invocationEndpoint /completions, and {found.ref.kind} has no such field.",
            "Deploy the model by an InferenceEndpointConfig.",
        )
    elif stated not in COMPLETIONS:
        yield Refusal(
            "kvaware_invocation_endpoint",
            f"kvaware needs spec.invocationEndpoint /completions, and {found.ref} has {stated or 'invocations'}.",
            "It is where clients send to, so it is not changed on the side: change it first, with your clients.",
        )
    yield from chat_refusals(found.look)
    for one, version in _versions(found):
        if version and is_older(version, NEEDED[one]):
            yield Refusal(
                "kvaware_versions",
                f"kvaware needs {_NAMES[one]} {NEEDED[one]} or newer, and {version} runs.",
                f"Upgrade {_NAMES[one]} first.",
            )
    engines = found.running() or found.templates()
    if engines and not any(_has_lmcache(one) for one in engines):
        yield Refusal(
            "kvaware_controller",
            f"kvaware asks LMCache where KV lies, and no engine of {found.ref} starts LMCache.",
            "Make the endpoint with kvCacheSpec.enableL1Cache true.",
        )


def _versions(found: HyperPodResource) -> Iterator[tuple[str, str]]:
    """The oldest of each, as images tell; empty: none tells."""
    operator = operator_of(found.look.scene)
    yield "operator", operator.version if operator is not None else ""
    engines = found.running() or found.templates()
    for one in ("lmcache", "vllm"):
        yield one, _oldest(versions_of(engine.image).get(one, "") for engine in engines)


def _oldest(versions: Iterable[str]) -> str:
    oldest = ""
    for version in versions:
        if version and (not oldest or is_older(version, oldest)):
            oldest = version
    return oldest


def _has_lmcache(engine: Process) -> bool:
    return Settings(engine).is_there or any(name.startswith("LMCache") for name in connectors(engine))


def _is_model(found: HyperPodResource) -> bool:
    return found.ref.kind == JUMPSTART_MODELS.kind


def _has_session_key(found: HyperPodResource) -> bool:
    named = [one for one in found.variables() if text(one, "name") == "SESSION_KEY"]
    return any(text(one, "value") or "valueFrom" in one for one in named)


def _gateway(found: HyperPodResource) -> Iterator[Refusal]:
    """An InferenceGatewayConfig that names this endpoint or its model, anywhere: its schema is not published."""
    try:
        gateways = found.look.reader.list(_GATEWAYS.format(found.ref.namespace))
    except (NotServedError, ForbiddenError):
        return
    names = {found.ref.name, text(found.raw, "spec", "modelName"), text(found.raw, "spec", "model", "modelId")} - {""}
    for one in gateways:
        if names & set(_texts(field(one, "spec"))):
            yield Refusal(
                "not_possible",
                f"InferenceGatewayConfig {found.ref.namespace}/{text(one, 'metadata', 'name')} routes to this model, "
                "and a gateway and intelligentRoutingSpec exclude each other.",
                "Change the weights of the gateway's scorers instead.",
            )


def _texts(part: Raw | list[object] | object) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(part, str):
        yield part
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for one in inner:
        yield from _texts(one)
