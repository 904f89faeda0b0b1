"""An AdmissionReview in, its answer out. Whatever goes wrong, the pod is admitted, and the reason is said.

Source: Kubernetes API, admission.k8s.io/v1.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from controller.injector import metrics
from controller.injector.decision import Decision, Injected, Withheld
from controller.objects import Raw
from controller.reading.fields import flag, mapping, text
from tierdeck.errors import TierdeckError, UsageError

log = structlog.get_logger()

API_VERSION = "admission.k8s.io/v1"
_MOST_WARNING = 240
"""Source: Kubernetes, AdmissionResponse.warnings: longer ones may be cut."""

Decide = Callable[[Raw, str], Decision]
"""A pod and its namespace."""
Tell = Callable[[Withheld], None]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Answers; `tell` is called with what was withheld, unless nothing is really made."""

    decide: Decide
    tell: Tell

    def answer(self, body: bytes) -> bytes:
        """The review with its response.

        Raises:
            UsageError: it is no AdmissionReview that asks something.
        """
        try:
            review = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"no AdmissionReview: {error}") from error
        request = mapping(review, "request")
        if text(review, "apiVersion") != API_VERSION or not text(request, "uid"):
            raise UsageError(f"no AdmissionReview of {API_VERSION}")
        response = {"uid": text(request, "uid"), "allowed": True, **self._respond(request)}
        return json.dumps({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}).encode()

    def _respond(self, request: Raw) -> Mapping[str, object]:
        pod, is_dry = mapping(request, "object"), flag(request, "dryRun")
        if text(request, "operation") != "CREATE" or text(request, "kind", "kind") != "Pod":
            return {}
        try:
            decision = self.decide(pod, text(request, "namespace"))
        except TierdeckError as error:
            return _failed(error.line())
        except Exception as error:  # a fault of ours must not keep a pod from starting
            log.exception("review_failed")
            return _failed(f"a fault of Tierdeck's own: {error!r}")
        if isinstance(decision, Withheld):
            metrics.REVIEWS.labels("withheld").inc()
            if not is_dry:
                self.tell(decision)
            return _warned(decision.reason)
        if isinstance(decision, Injected):
            metrics.REVIEWS.labels("injected").inc()
            return _patched(decision)
        metrics.REVIEWS.labels("not_opted_in").inc()
        return {}


def admitted(body: bytes, reason: str) -> bytes:
    """The answer to a review that was not looked at in time: the pod as it is."""
    try:
        uid = text(json.loads(body), "request", "uid")
    except (ValueError, RecursionError):
        uid = ""
    response = {"uid": uid, "allowed": True, **_failed(reason)}
    return json.dumps({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}).encode()


def _failed(reason: str) -> Mapping[str, object]:
    metrics.REVIEWS.labels("failed").inc()
    log.warning("review_failed", reason=reason)
    return _warned(reason)


def _warned(reason: str) -> Mapping[str, object]:
    said = f"Tierdeck injects no L2: {reason}"
    return {"warnings": [said if len(said) <= _MOST_WARNING else f"{said[: _MOST_WARNING - 1]}…"]}


def _patched(decision: Injected) -> Mapping[str, object]:
    if not decision.wired.patch.operations:
        return {}
    written = json.dumps(list(decision.wired.patch.operations)).encode()
    return {"patchType": "JSONPatch", "patch": base64.b64encode(written).decode()}
