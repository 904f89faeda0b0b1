"""Whether the fields of a write are anybody else's: taken over from hands and Helm, left to what reconciles.

Sources: Kubernetes, "Server-Side Apply" (conflicts, and when to overrule them); Argo CD and Flux (both write back what
their repository says).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.changes.kube.ownership import Holder, holders
from controller.objects import Objects, Raw
from controller.reading.fields import flag, items, text
from controller.reading.owners import named_in, scalers_of
from tierdeck.changes.plan import Refusal, Write
from tierdeck.deployed import ObjectRef

_GITOPS = {"argo-cd": "Argo CD", "flux": "Flux"}
_REPLICAS = ("spec", "replicas")
_BOUNDS = "Change the autoscaler's bounds."
_NO_MORE = f"{_BOUNDS} If there is none any more, set the replicas once by `kubectl scale`."


@dataclass(frozen=True, slots=True)
class Claims:
    """What others have in the fields of one write.

    Attributes:
        refusals: they belong to what writes them back.
        exports_only: a GitOps tool owns the object: the change belongs into its repository; empty: none does.
        warnings: what is taken over, and from whom.
    """

    refusals: tuple[Refusal, ...] = ()
    exports_only: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_free(self) -> bool:
        """It may be written, over those who own it now."""
        return not self.refusals and not self.exports_only


def claims_of(write: Write, live: Raw, by_hand: tuple[str, ...] = ()) -> Claims:
    """Who has what.

    Args:
        live: the object with its managedFields.
        by_hand: beginnings of more field managers that write nothing back by themselves.
    """
    refusals = list(_operators(write.ref, live))
    exports_only = next(iter(_gitops(write.ref, live)), "")
    warnings: list[str] = []
    for edit in write.edits:
        for holder in holders(live, edit.path):
            if holder.is_ours:
                continue
            where = f"{edit.where} of {write.ref}"
            if holder.is_gitops:
                exports_only = exports_only or (
                    f"{holder.manager} owns {where} and would write it back; change it in its repository"
                )
            elif edit.path == _REPLICAS and holder.is_scaler:
                refusals.append(Refusal("owner_autoscaler", f"{holder.manager} scales {write.ref}.", _NO_MORE))
            elif holder.is_by_hand(by_hand):
                warnings.append(_taken(holder, where))
            else:
                refusals.append(_unknown(holder, where))
    return Claims(tuple(dict.fromkeys(refusals)), exports_only, tuple(dict.fromkeys(warnings)))


def scaled(write: Write, objects: Objects) -> Iterator[Refusal]:
    """Replicas that an autoscaler sets, also where it has not written yet."""
    if any(edit.path == _REPLICAS for edit in write.edits):
        for one in scalers_of(objects, write.ref):
            words = f"{one.tool} ({one.name}) sets the replicas of {write.ref}."
            yield Refusal("owner_autoscaler", words, _BOUNDS)


def _gitops(ref: ObjectRef, live: Raw) -> Iterator[str]:
    for one in named_in(live):
        if one.tool in _GITOPS:
            name = f" ({one.name})" if one.name else ""
            yield f"{_GITOPS[one.tool]}{name} owns {ref}, by its {one.evidence}; change it in its repository"


def _operators(ref: ObjectRef, live: Raw) -> Iterator[Refusal]:
    for owner in items(live, "metadata", "ownerReferences"):
        if flag(owner, "controller"):
            parent = f"{text(owner, 'kind')} {text(owner, 'name')}"
            yield Refusal("owner_operator", f"{ref} is rendered from {parent}, whose operator would write it back.",
                          f"Change {parent}.")  # fmt: skip


def _taken(holder: Holder, where: str) -> str:
    if holder.manager.lower().startswith("helm"):
        later = "the next helm upgrade will conflict with it, or write its own value back"
    else:
        later = "whoever applies it again will conflict with it, or write the old value back"
    return f"{holder.manager} owns {where} until now: it is taken over, and {later}."


def _unknown(holder: Holder, where: str) -> Refusal:
    return Refusal(
        "owner_operator",
        f"{holder.manager} owns {where}, and it is not known whether it would write it back.",
        f"Change it where {holder.manager} takes it from; if that writes nothing by itself, name it in "
        "TIERDECK_CHANGES_BY_HAND.",
    )
