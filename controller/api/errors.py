"""What can go wrong with a Kubernetes API server; each kind is a class, since callers act on the kind.

::

    UnreachableError             exit code 3
    └── ApiUnreachableError        it does not answer, answers too late, or says that it can't now
        └── ApiFailingError          it answers, and this it can't do now (5xx)
            └── BusyError              it is asked too much, and says for how long to wait (429)
    UsageError                   exit code 2
    ├── CredentialsError           there is no usable kubeconfig, or the server does not know who asks (401)
    ├── ForbiddenError             who asks may not (403)
    └── NotServedError             it has no such resource (404)
    TierdeckError                exit code 1
    ├── ConflictError              somebody else was quicker, or it is there already (409): look again
    ├── FieldConflictError         other field managers own what was applied (409)
    ├── RefusedError               what was written is wrong, or a webhook or policy denies it (400, 413, 422)
    └── ExpiredError               the version asked to watch from is too old (410): list anew
"""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.errors import TierdeckError, UnreachableError, UsageError


class ApiUnreachableError(UnreachableError):
    """The server does not answer, or says that it can't now."""


class ApiFailingError(ApiUnreachableError):
    """The server answers, and can't do this one thing now: its storage or a conversion webhook fails, or it is busy."""


class BusyError(ApiFailingError):
    """The server is asked too much.

    Attributes:
        seconds: for how long it wants to be left alone; 0: it does not say.
    """

    def __init__(self, message: str, hint: str = "", seconds: float = 0.0) -> None:
        super().__init__(message, hint)
        self.seconds = seconds


class CredentialsError(UsageError):
    """Nobody knows who asks."""


class ForbiddenError(UsageError):
    """Who asks is known, and may not."""


class NotServedError(UsageError):
    """The server has no such resource, or no such object."""


class ExpiredError(TierdeckError):
    """The history that a watch needs is gone."""


class ConflictError(TierdeckError):
    """The object is another than the one that was read, or is there already."""


@dataclass(frozen=True, slots=True)
class Conflicting:
    """A field that somebody else owns.

    Attributes:
        manager: field manager (`helm`, `argocd-controller`); in the server's words where it names none.
        field: such as `.spec.template.spec.containers[name="vllm"].args`.
    """

    manager: str
    field: str


class FieldConflictError(TierdeckError):
    """Other field managers own what was applied, and were not overruled; nothing was written."""

    def __init__(self, message: str, conflicts: tuple[Conflicting, ...] = ()) -> None:
        super().__init__(message)
        self.conflicts = conflicts


class RefusedError(TierdeckError):
    """The server, or a webhook or policy of the cluster, refuses what was written, and would again."""
