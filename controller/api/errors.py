"""What can go wrong with a Kubernetes API server; each kind is a class, since callers act on the kind.

::

    UnreachableError             exit code 3
    └── ApiUnreachableError        it does not answer, answers too late, or says that it can't now
        └── ApiFailingError          it answers, and this it can't do now (5xx, 429)
    UsageError                   exit code 2
    ├── CredentialsError           there is no usable kubeconfig, or the server does not know who asks (401)
    ├── ForbiddenError             who asks may not (403)
    └── NotServedError             it has no such resource (404)
    TierdeckError                exit code 1
    ├── ConflictError              somebody else was quicker, or it is there already (409): look again
    └── ExpiredError               the version asked to watch from is too old (410): list anew
"""

from __future__ import annotations

from tierdeck.errors import TierdeckError, UnreachableError, UsageError


class ApiUnreachableError(UnreachableError):
    """The server does not answer, or says that it can't now."""


class ApiFailingError(ApiUnreachableError):
    """The server answers, and can't do this one thing now: its storage or a conversion webhook fails, or it is busy."""


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
