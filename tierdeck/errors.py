"""Every error that reaches a user, each with a hint that says what to do.

::

    TierdeckError                exit code 1: the answer is "no"
    ├── UsageError               exit code 2: wrong usage or configuration
    │   └── StoreVersionError      the store's schema is not this code's
    └── UnreachableError         exit code 3: something needed does not answer
"""


class TierdeckError(Exception):
    """A failure told in one sentence; `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def line(self) -> str:
        """Message and hint as the one line that the command prints."""
        return f"{self}. {self.hint}".rstrip() if self.hint else str(self)


class UsageError(TierdeckError):
    """A command line, configuration file or input that can't be used as it is."""

    exit_code = 2


class StoreVersionError(UsageError):
    """The store was made by a newer or an older Tierdeck."""


class UnreachableError(TierdeckError):
    """A store, target or server that this command needs does not answer."""

    exit_code = 3
