"""What any write to a custom resource of HyperPod's can bring about: the operator may render everything anew.

Source: CurvineIO/curvine-doc, the tiered KV cache post ("Editing the CRD, upgrading the Operator, or deleting the
Deployment all trigger a re-render that drops the patch").
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.changes.planners.injector_proof import injector_doubt
from controller.reading.fields import text
from controller.reading.owners import writers
from controller.reading.processes import Process
from tierdeck.changes.plan import Refusal
from tierdeck.tiers import Tier

LOST = (Tier.L0, Tier.L1)
"""Both live in the engine's process. L2 stays where its address does."""
_TIERED = "sagemaker-hyperpod://"
"""What the operator itself renders for `tieredstorage`. Source: sagemaker-hyperpod-cli#431."""
_L2_VARIABLES = ("LMCACHE_REMOTE_URL", "LMCACHE_LOCAL_DISK", "LMCACHE_MAX_LOCAL_DISK_SIZE")
_TEMPLATE = (("spec", "template"),)
_BY_HAND = ("kubectl", "k9s", "lens", "openlens", "headlamp", "dashboard")


def rendering_refusals(found: HyperPodResource) -> Iterator[Refusal]:
    """L2 that the object can't state, and that nobody would put back."""
    carried = sorted({words for one in (*found.running(), *found.templates()) for words in _beyond(found, one)})
    if not carried:
        return
    doubt = injector_doubt(found)
    if doubt:
        yield Refusal(
            "l2_would_be_lost",
            f"The engines of {found.ref} carry {', '.join(carried)}, which it does not state: any write may render "
            f"them anew without it, and {doubt}.",
            "Let the injector wire the pods (docs/l2.md) and make them anew, then change the endpoint.",
        )


def back_warnings(found: HyperPodResource) -> tuple[str, ...]:
    """The same of a revert, which is no planner's: whether L2 would come back is not looked at again."""
    return (
        _worst(found),
        f"What was patched into the Deployments of {found.ref} since then, such as a mount for L2, is dropped by that.",
    )


def rendering_warnings(found: HyperPodResource) -> Iterator[str]:
    """The worst case, the price of a revert, and what is lost by hand."""
    yield _worst(found)
    yield "A revert is another write: it costs the same again."
    yield "HyperPod has no canary: a second endpoint to try it on costs a second load balancer."
    for ref, raw in found.engines:
        hands = sorted({one for one, _ in writers(raw, _TEMPLATE) if one.lower().startswith(_BY_HAND)})
        if hands:
            yield f"What {', '.join(hands)} wrote to {ref} is dropped when the operator renders it anew."


def _worst(found: HyperPodResource) -> str:
    pods = len(found.pods())
    engines = f"all {pods} engine pods restart" if pods != 1 else "the one engine pod restarts"
    return (
        f"Any write to {found.ref} may make the operator render its Deployments anew: in the worst case {engines}, "
        "and L0 and L1 are empty."
    )


def _beyond(found: HyperPodResource, engine: Process) -> Iterator[str]:
    """What of L2 an engine carries that the object does not make the operator render."""
    stated = {text(one, "name"): text(one, "value") for one in found.variables()}
    url = text(found.raw, "spec", "kvCacheSpec", "l2CacheSpec", "l2CacheLocalUrl")
    for name in _L2_VARIABLES:
        value = engine.environment.get(name)
        if value is None or stated.get(name) in ("", value.value):
            continue
        if name == _L2_VARIABLES[0] and (value.value.startswith(_TIERED) or (url and value.value == url)):
            continue
        yield f"{name} ({value.value.partition(':')[0]}:…)" if "://" in value.value else name
    storage = found.look.scene.storage(found.ref.namespace)
    size = storage.l2_of(engine)
    if size.text.startswith("Curvine"):
        yield f"a mount for L2 ({size.text})"
