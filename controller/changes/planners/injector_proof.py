"""Whether Tierdeck's L2 injector is proved to wire an endpoint's next pods: by its policy, its webhook, its last pods.

Source: Kubernetes API, admissionregistration.k8s.io/v1 MutatingWebhookConfiguration, discovery.k8s.io/v1 EndpointSlice.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.api.errors import ForbiddenError, NotServedError
from controller.changes.planner import Look
from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.injector.mutation import ANNOTATION
from controller.injector.wired import wired
from controller.objects import Raw
from controller.reading.fields import field, items, labels, mapping, text, words
from controller.reading.lineage import Found, selects
from controller.reading.opted_in import Misstated, policy_of
from controller.reading.origin import Origin
from controller.resources import CLAIMS
from tierdeck.deployed import ObjectRef
from tierdeck.l2.policy import L2Policy

WEBHOOK = "l2.tierdeck.io"
"""As the chart calls it (templates/injector.yaml)."""
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"


def injector_doubt(found: HyperPodResource) -> str:
    """Why the next pods may come without their L2; empty: it is proved that they get it.

    Raises:
        TierdeckError: the API server does not answer.
    """
    file = found.look.objects.l2
    objects = (*found.engines[:1], (found.ref, found.raw))
    policy = policy_of(file, objects)
    if not file.enabled:
        return "the L2 file says enabled: false"
    if not isinstance(policy, L2Policy):
        return (
            f"its opting in can't be used ({policy.reason})"
            if isinstance(policy, Misstated)
            else ("it did not opt in to the injector")
        )
    claim = found.look.objects.get(CLAIMS, found.ref.namespace, policy.claim)
    if text(claim, "status", "phase") != "Bound" or field(claim, "metadata", "deletionTimestamp"):
        return f"the claim {found.ref.namespace}/{policy.claim} of its policy is not Bound"
    try:
        return _webhook_doubt(found.look, found.ref.namespace) or _pods_doubt(found, policy)
    except (ForbiddenError, NotServedError) as error:
        return f"the injector's webhook can't be read ({error.line()})"


def _webhook_doubt(look: Look, namespace: str) -> str:
    own = labels(look.reader.get(ObjectRef("Namespace", "", namespace)), "metadata", "labels")
    hooks = [
        hook for one in look.reader.list(_WEBHOOKS) for hook in items(one, "webhooks") if text(hook, "name") == WEBHOOK
    ]
    if not hooks:
        return f"no webhook {WEBHOOK} is configured"
    doubts = [_hook_doubt(look, hook, own, namespace) for hook in hooks]
    return "" if "" in doubts else doubts[0]


def _hook_doubt(look: Look, hook: Raw, own: dict[str, str], namespace: str) -> str:
    selector = mapping(hook, "namespaceSelector")
    has_rules = bool(mapping(selector, "matchLabels") or items(selector, "matchExpressions"))
    if has_rules and not selects(selector, own):
        return f"its webhook is not shown the pods of namespace {namespace}"
    if not any(_takes_pods(rule) for rule in items(hook, "rules")):
        return "its webhook is not shown pods that are made"
    if not text(hook, "clientConfig", "caBundle"):
        return "its webhook has no caBundle yet"
    if text(hook, "clientConfig", "url"):
        return ""  # outside the cluster: only what it did to pods tells
    service = mapping(hook, "clientConfig", "service")
    slices = look.reader.list(_SLICES.format(text(service, "namespace")))
    if not any(_is_ready(one, text(service, "name")) for one in slices):
        return f"no pod of its webhook's Service {text(service, 'namespace')}/{text(service, 'name')} is ready"
    return ""


def _takes_pods(rule: Raw) -> bool:
    operations = words(rule, "operations")
    return "pods" in words(rule, "resources") and bool({"CREATE", "*"} & set(operations))


def _is_ready(one: Raw, service: str) -> bool:
    if labels(one, "metadata", "labels").get("kubernetes.io/service-name") != service:
        return False
    return any(field(end, "conditions", "ready") is not False for end in items(one, "endpoints"))


def _pods_doubt(found: HyperPodResource, policy: L2Policy) -> str:
    """The evidence: each pod that runs now was wired as it was made, and lacks nothing that a new one would get."""
    pods = found.pods()
    if not pods:
        return "no pod runs that shows that it works"
    unwired = [pod[0].name for pod in pods if not _is_wired(found, pod, policy)]
    if unwired:
        named = ", ".join(unwired[:3]) + (f" and {len(unwired) - 3} more" if len(unwired) > 3 else "")
        return f"the injector did not wire {named}"
    return ""


def _is_wired(found: HyperPodResource, pod: Found, policy: L2Policy) -> bool:
    if ANNOTATION not in labels(pod[1], "metadata", "annotations"):
        return False
    workload = _workload_of(pod, found.engines, found)
    origin = Origin(pod, workload, (found.ref, found.raw))
    made = wired(origin, found.look.scene.configs(found.ref.namespace), policy)
    return not isinstance(made, str) and not made.patch.did


def _workload_of(pod: Found, engines: Sequence[Found], found: HyperPodResource) -> Found | None:
    lineage = found.look.scene.lineage
    return next((one for one in engines if pod[0] in {known for known, _ in lineage.pods(one)}), None)
