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
from controller.injector.decision import Decision, Injected, Undecided, Withheld
from controller.objects import Raw
from controller.reading.fields import flag, mapping, text
from tierdeck.errors import TierdeckError, UsageError

log = structlog.get_logger()

API_VERSION = "admission.k8s.io/v1"
_MOST_WARNING = 240
"""Source: Kubernetes, AdmissionResponse.warnings: longer ones may be cut."""

Decide = Callable[[Raw, str], Decision]
"""A pod and its namespace."""
Tell = Callable[[Withheld | Undecided], None]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Answers; `tell` is called with what got no L2, unless nothing is really made."""

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
        return _answer(request, self._respond(request))

    def undecided(self, body: bytes, reason: str) -> bytes:
        """The answer to a review that was not looked at in time: the pod as it is."""
        try:
            request = mapping(json.loads(body), "request")
        except (ValueError, RecursionError):
            request = {}
        return _answer(request, self._failed(request, reason))

    def _respond(self, request: Raw) -> Mapping[str, object]:
        if text(request, "operation") != "CREATE" or text(request, "kind", "kind") != "Pod":
            return {}
        try:
            return self._decided(request)
        except TierdeckError as error:
            return self._failed(request, error.line())
        except Exception as error:  # a fault of ours must not keep a pod from starting
            log.exception("review_failed")
            return self._failed(request, f"a fault of Tierdeck's own: {error!r}")

    def _decided(self, request: Raw) -> Mapping[str, object]:
        decision = self.decide(mapping(request, "object"), text(request, "namespace"))
        if isinstance(decision, Withheld):
            self._say(request, decision)
            metrics.REVIEWS.labels("withheld").inc()
            return _warned(decision.reason)
        if isinstance(decision, Injected):
            response = _patched(decision)
            metrics.REVIEWS.labels("injected").inc()
            return response
        metrics.REVIEWS.labels("not_opted_in").inc()
        return {}

    def _failed(self, request: Raw, reason: str) -> Mapping[str, object]:
        metrics.REVIEWS.labels("failed").inc()
        log.warning("review_failed", reason=reason)
        self._say(request, Undecided(mapping(request, "object"), text(request, "namespace"), reason))
        return _warned(reason)

    def _say(self, request: Raw, what: Withheld | Undecided) -> None:
        """To whoever reads events; that this fails changes no answer."""
        if flag(request, "dryRun"):
            return
        try:
            self.tell(what)
        except Exception:  # the answer matters more than what is said of it
            log.exception("telling_failed", reason=what.reason)


def _answer(request: Raw, response: Mapping[str, object]) -> bytes:
    said = {"uid": text(request, "uid"), "allowed": True, **response}
    return json.dumps({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": said}).encode()


def _warned(reason: str) -> Mapping[str, object]:
    return _warnings(f"Tierdeck injects no L2: {reason}")


def _warnings(*said: str) -> Mapping[str, object]:
    cut = [one if len(one) <= _MOST_WARNING else f"{one[: _MOST_WARNING - 1]}…" for one in said]
    return {"warnings": cut} if cut else {}


def _patched(decision: Injected) -> Mapping[str, object]:
    patch = decision.wired.patch
    if not patch.operations:
        return {}
    written = base64.b64encode(json.dumps(list(patch.operations)).encode()).decode()
    return {"patchType": "JSONPatch", "patch": written, **_warnings(*(f"Tierdeck: {one}" for one in patch.warnings))}
