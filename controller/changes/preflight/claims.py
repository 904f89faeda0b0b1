"""The truth about the size of a claim: it can't be written as the size of L2.

Sources: CurvineIO/curvine, curvine-csi controller.go (CreateVolume echoes the size that was asked for,
ControllerExpandVolume is unimplemented); Kubernetes, "Expanding Persistent Volumes Claims"; apps/v1 StatefulSet
(volumeClaimTemplates can't be changed).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.saying import size
from controller.reading.fields import field, flag
from controller.reading.pools import PROVISIONER
from controller.reading.quantities import bytes_of
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, STORAGE_CLASSES
from tierdeck.changes.plan import FieldEdit, Refusal
from tierdeck.deployed import Claim, ObjectRef

_TEMPLATES = "volumeClaimTemplates"
_SIZE = ("spec", "resources", "requests", "storage")


def find_claims(ahead: Ahead) -> Iterator[Finding]:
    """Each edit of a claim's size, or of the template that claims are made from."""
    for write in ahead.plan.writes:
        for edit in write.edits:
            if write.ref.kind == CLAIMS.kind and edit.path[:3] == _SIZE[:3]:
                yield from _refused(ahead, write.ref, edit)
            elif _TEMPLATES in edit.path:
                yield Refusal(
                    "not_possible",
                    f"{write.ref}: {edit.where} can't be changed on a live StatefulSet.",
                    "Make a StatefulSet with the new size beside it; its claims are new and empty.",
                )


def _refused(ahead: Ahead, ref: ObjectRef, edit: FieldEdit) -> Iterator[Refusal]:
    objects = ahead.look.objects
    raw = objects.get(CLAIMS, ref.namespace, ref.name) or {}
    claim = read_claim(objects, ref.namespace, ref.name, raw)
    wished = bytes_of(edit.after if edit.path == _SIZE else field({"x": edit.after}, "x", "storage"))
    reason = _reason(claim, wished)
    if not reason and not flag(objects.get(STORAGE_CLASSES, "", claim.storage_class) or {}, "allowVolumeExpansion"):
        reason = f"its StorageClass {claim.storage_class or '(none)'} does not allow volumes to grow"
    if reason:
        yield Refusal(
            "not_possible",
            f"{ref} can't be resized: {reason}.",
            "Resize what holds the data: of Curvine the workers' data directories.",
        )


def _reason(claim: Claim, wished: int | None) -> str:
    if claim.provisioner == PROVISIONER:
        return "Curvine holds no claim to its size and can't expand one, so L2 would stay as large as it is"
    if wished is None:
        return "what is asked for is no size"
    if claim.requested_bytes is not None and wished < claim.requested_bytes:
        return f"it asks for {size(claim.requested_bytes)} and the API server lets no claim shrink"
    return ""


CLAIM_SIZES = Check("claims", ("not_possible",), find_claims)
