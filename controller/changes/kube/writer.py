"""Writes one object as `tierdeck`: at the version that it was read at, again where somebody else was quicker."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from controller.api.client import APPLY, Api, Person, Sent
from controller.api.errors import (
    ApiFailingError,
    BusyError,
    ConflictError,
    FieldConflictError,
    ForbiddenError,
    NotServedError,
    RefusedError,
)
from controller.changes.changer import DeniedError, DriftedError, Hold, unheld
from controller.changes.kube.claims import claims_of
from controller.changes.kube.document import document, lost
from controller.changes.kube.fields import get, picked, same, short, with_edits
from controller.changes.kube.ownership import MANAGER, holders
from controller.changes.kube.reader import KubeReader
from controller.changes.kube.rights import missing_rule
from controller.objects import Raw
from controller.reading.fields import text
from tierdeck.changes.plan import ABSENT, FieldEdit, Write
from tierdeck.changes.shown import HIDDEN, hidden_values, is_shown, shown
from tierdeck.errors import TierdeckError

_TRIES = 5
_MOST_WAIT_SECONDS = 10.0
_LEAST_WAIT_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Answered:
    """A dry run: the object as it is, and as the server would store it."""

    live: Raw
    stored: Raw


class Writer:
    """Writes to one API server; safe to ask again after any failure."""

    def __init__(self, api: Api, by_hand: tuple[str, ...] = (), pause: Callable[[float], None] = time.sleep) -> None:
        """
        Args:
            by_hand: field managers, by their beginning, that write nothing back by themselves.
            pause: waits for so many seconds.
        """
        self._api = api
        self._reader = KubeReader(api)
        self._by_hand = by_hand
        self._pause = pause

    def check(self, write: Write) -> bool:
        """Whether there is anything to write.

        Raises:
            DriftedError: a field is neither as before nor as wanted, or the object is gone.
        """
        return not _is_made(write, self._live(write))

    def dry_run(self, write: Write) -> Answered:
        """What the server would store.

        Raises:
            DeniedError: the server, a webhook or a policy refuses it or makes something else of it, or it would take
                away more than was asked for.
            DriftedError: as of `check`.
        """
        answered = self._send(write, {"dryRun": "All"}, None)
        gone = lost(with_edits(answered.live, write.edits), answered.stored)
        if gone:
            raise DeniedError(f"this write of {write.ref} would also take away {', '.join(gone[:3])}")
        made = [one for one in write.edits if one.after is not ABSENT]  # a default may come in place of what goes
        other = next((one for one in made if not _is(one, answered.stored, one.after)), None)
        if other is not None:
            stored, wanted = in_words(other, get(answered.stored, other.path)), in_words(other, other.after)
            raise DeniedError(
                f"the server would store {stored} and not {wanted} in {other.where} of {write.ref}",
                "A webhook or policy of the cluster rewrites it: change it there.",
            )
        return answered

    def apply(self, write: Write, person: Person | None, hold: Hold = unheld) -> bool:
        """Write it, if it is not there yet.

        Args:
            hold: asked between the look and the write. Whoever took the change over meanwhile and wrote makes the
                version another one, so that this write does not come through.

        Returns:
            Whether it was written now.

        Raises:
            DeniedError, DriftedError: as of `dry_run`.
        """
        if not self.check(write):
            return False
        answered = self._send(write, {}, person, hold)
        return answered.live is not answered.stored

    def _send(self, write: Write, query: dict[str, str], person: Person | None, hold: Hold = unheld) -> Answered:
        """Read, decide, send, and start over where the object changed in between or the server is busy."""
        for turn in range(_TRIES):
            live = self._live(write)
            if _is_made(write, live):
                return Answered(live, live)
            if "dryRun" not in query:
                self._allowed(write, live)
            made = document(live, write.edits)
            told = {"fieldManager": MANAGER, "fieldValidation": "Strict", **query}
            sent = (
                Sent("PATCH", made.content, APPLY, {**told, "force": "true"}, person)
                if made.is_apply
                else Sent("PUT", made.content, query=told, person=person)
            )
            hold()
            try:
                return Answered(live, self._api.send(write.address, sent))
            except ConflictError:
                self._pause(_LEAST_WAIT_SECONDS * turn)
            except BusyError as error:
                if error.seconds > _MOST_WAIT_SECONDS:
                    raise
                self._pause(max(error.seconds, _LEAST_WAIT_SECONDS))
            except (ForbiddenError, RefusedError, FieldConflictError) as error:
                raise _denied(write, error, live) from error
            except NotServedError as error:
                raise DriftedError(f"{write.ref} is not there any more") from error
        raise ApiFailingError(
            f"{write.ref} could not be written {_TRIES} times in a row: it keeps changing, or the server is too busy",
            "It is tried again.",
        )

    def _live(self, write: Write) -> Raw:
        """What is looked at has to be what is written to: kinds of two groups may have one name."""
        live = self._reader.get(write.ref)
        if live is None:
            raise DriftedError(f"{write.ref} is not there any more")
        if (write.address, write.api_version) != self._reader.address_of(write.ref):
            raise DeniedError(f"{write.address} is not where the server has {write.ref}", "Propose it again.")
        return live

    def _allowed(self, write: Write, live: Raw) -> None:
        """What reconciles is never overruled: who owns a field may have changed since the plan.

        Force is used only after this, and only at the very version that was looked at.
        """
        claims = claims_of(write, live, self._by_hand)
        if not claims.is_free:
            first = claims.exports_only or claims.refusals[0].reason.rstrip(".")
            raise DeniedError(first, claims.refusals[0].fix if claims.refusals else "Take `export-change`.")


def _is_made(write: Write, live: Raw) -> bool:
    """All fields are as wanted.

    Raises:
        DriftedError: one is neither as before nor as wanted.
    """
    strange = [edit for edit in write.edits if not _is(edit, live, edit.after) and not _is(edit, live, edit.before)]
    if strange:
        raise DriftedError(told_drift(write, strange[0], live), "Look at it, and propose the change anew.")
    return all(_is(edit, live, edit.after) for edit in write.edits)


def told_drift(write: Write, edit: FieldEdit, live: Raw) -> str:
    """What stands there in place of what was expected, and who wrote it."""
    who = [one.manager for one in holders(live, edit.path)]
    by = f", by {who[-1]}" if who else ""
    now, before, after = (in_words(edit, one) for one in (get(live, edit.path), edit.before, edit.after))
    return f"{edit.where} of {write.ref} is {now}{by}: neither {before} as before, nor {after} as wanted"


def in_words(edit: FieldEdit, value: object) -> str:
    """A field's value as it may be shown."""
    by = picked(edit.path[-2]) if len(edit.path) > 1 and edit.path[-1] == "value" else None
    if by is not None and isinstance(value, str) and value is not ABSENT:
        return short(value) if is_shown(by.get("name", ""), value) else HIDDEN
    return short(shown(value))


def _is(edit: FieldEdit, live: Raw, value: object) -> bool:
    return same(get(live, edit.path), value, edit.path)


def _denied(write: Write, error: TierdeckError, live: Raw) -> DeniedError:
    """The server's words, without values of the object that may not be shown."""
    words = str(error)
    for value in hidden_values(live):
        words = words.replace(value, HIDDEN)
    words = str(shown(words)).rstrip(".")
    if isinstance(error, ForbiddenError):
        rule = missing_rule(str(error))
        return DeniedError(f"{write.ref} may not be written: {words}", f"This rule grants it: {rule}" if rule else "")
    if isinstance(error, FieldConflictError):
        who = ", ".join(sorted({one.manager for one in error.conflicts}))
        return DeniedError(f"{who} owns fields of {write.ref}: {words}")
    return DeniedError(f"the API server refuses this write of {write.ref}: {words}")


def version_of(raw: Raw) -> str:
    """Its resourceVersion."""
    return text(raw, "metadata", "resourceVersion")


def as_person(name: str) -> Person:
    """In whose name.

    Raises:
        DeniedError: nobody of that name can be impersonated: the server's own have rights that no approval gives.
    """
    if not name or name.strip() != name or name.lower().startswith("system:") or not (name + ".").isprintable():
        raise DeniedError(f"nothing is written in the name of {name!r}", "Let a person of the cluster approve it.")
    if not name.isascii():  # a header can't hold it
        raise DeniedError(f"the API server can't be told the name {name!r}", "Approve it by a name in ASCII.")
    return Person(name)
