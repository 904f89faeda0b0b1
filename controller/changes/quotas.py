"""Quotas of LMCache's coordinator: L2 of one cache salt, of the whole fleet, changed without a restart.

Source: LMCache 0.5.6, mp_coordinator/http_apis/quota_api.py: `GET|PUT|DELETE /quota/SALT`, `limit_gb` in GiB,
`_default` for requests without a salt; a salt without an entry has no limit of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import urllib3

from controller.api.errors import ApiFailingError, ApiUnreachableError
from controller.changes.changer import DeniedError, DriftedError, Progress, Verified
from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Write

LIMIT = ("limit_gb",)
_UNSALTED = "_default"
_NEAR = 1e-9


def quota_address(base: str, salt: str) -> str:
    """Where the quota of a salt is.

    Args:
        base: of the coordinator (`http://10.0.0.7:9300`).
        salt: empty: of requests without one.
    """
    return f"{base.rstrip('/')}/quota/{quote(salt or _UNSALTED, safe='')}"


@dataclass(frozen=True, slots=True)
class Quotas:
    """Writes to a coordinator; `Elsewhere` of a Kubernetes changer."""

    timeout_seconds: float = 5.0

    def limit(self, address: str) -> Json:
        """GiB; ABSENT: there is no entry.

        Raises:
            ApiUnreachableError: no answer that tells it.
        """
        found = self._ask("GET", address)
        limit = found.get("quota_limit_gb")
        if found.get("quota_exists") is not True:
            return ABSENT
        if not isinstance(limit, int | float) or isinstance(limit, bool):
            raise ApiFailingError(f"{_place(address)} does not say what the quota is")
        return limit

    def preview(self, write: Write) -> str:
        """The one line that changes."""
        edit = self._edit(write)
        return f"--- {write.ref} (now)\n+++ {write.ref} (changed)\n{_line('-', edit.before)}{_line('+', edit.after)}"

    def apply(self, write: Write) -> bool:
        """Set it, or take it away."""
        edit = self._edit(write)
        if _is_same(self.limit(write.address), edit.after):
            return False
        if edit.after is ABSENT:
            self._ask("DELETE", write.address)
        else:
            self._ask("PUT", write.address, {"limit_gb": edit.after, "tier": "l2"})
        return True

    def verify(self, write: Write) -> Verified:
        """Whether it is there; evicting down to it is the coordinator's to do, by its next sweeps."""
        (edit,) = write.edits
        now = self.limit(write.address)
        if _is_same(now, edit.after):
            return Verified(Progress.DONE, f"{write.ref} is {_said(now)}")
        return Verified(
            Progress.FAILED,
            f"{write.ref} is {_said(now)} and not {_said(edit.after)}: somebody set it, or the coordinator restarted",
            "Propose the change again.",
        )

    def _edit(self, write: Write) -> FieldEdit:
        """Its one edit, which still holds."""
        (edit,) = write.edits
        now = self.limit(write.address)
        if not _is_same(now, edit.before) and not _is_same(now, edit.after):
            raise DriftedError(f"{write.ref} is {_said(now)} and no longer {_said(edit.before)}")
        return edit

    def _ask(self, method: str, address: str, body: dict[str, object] | None = None) -> dict[str, object]:
        sent = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            answer = urllib3.request(
                method, address, body=sent, headers=headers, timeout=self.timeout_seconds, retries=False, redirect=False
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiUnreachableError(f"{_place(address)} does not answer ({type(error).__name__})") from error
        if answer.status >= 500 or answer.status == 429:
            raise ApiFailingError(f"{_place(address)} answers {answer.status}")
        if answer.status >= 300:
            raise DeniedError(f"{_place(address)} refuses the quota ({answer.status})")
        try:
            found = json.loads(answer.data)
        except ValueError as error:
            raise ApiFailingError(f"{_place(address)} does not answer in JSON: is it a coordinator?") from error
        return found if isinstance(found, dict) else {}


def _is_same(one: Json, other: Json) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= _NEAR


def _said(limit: Json) -> str:
    return "without a limit" if limit is ABSENT else f"{limit:g} GiB"


def _line(sign: str, limit: Json) -> str:
    return "" if limit is ABSENT else f"{sign}limit_gb: {limit:g}\n"


def _place(address: str) -> str:
    """Without path: the salt is a tenant's name."""
    return f"LMCache's coordinator at {urlsplit(address).netloc}"
