"""The lab's `/admin`: what its fleet is now, and one call to change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests

from tierdeck.errors import UnreachableError
from tierdeck.fleet import Role

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Current:
    """One endpoint as it is now.

    Attributes:
        fields: by path, as `controller.changes.lab` names them.
        replicas: whether each is up.
        prefilling: those that a router sends prompts to.
        pool: name of the pool.
        is_rolling: new sizes are being rolled out.
    """

    name: str
    fields: Mapping[tuple[str, ...], object]
    replicas: Mapping[str, bool]
    prefilling: tuple[str, ...]
    pool: str
    is_rolling: bool


class LabApi:
    """Speaks to one lab; nothing of the environment is used."""

    def __init__(self, address: str) -> None:
        self._admin = f"{address}/admin"
        self._http = requests.Session()
        self._http.trust_env = False

    def endpoints(self) -> list[str]:
        return sorted(self._state()["endpoints"])

    def current(self, name: str) -> Current | None:
        """None: the lab has no such endpoint."""
        state = self._state()
        found = state["endpoints"].get(name)
        if found is None:
            return None
        fields: dict[tuple[str, ...], object] = {
            ("strategy",): found["strategy"],
            ("sizes", "l0_bytes"): found["sizes"]["l0_bytes"],
            ("sizes", "l1_bytes"): found["sizes"]["l1_bytes"],
            ("size_bytes",): state["pool"]["size_bytes"],
        }
        replicas = {one: bool(each["up"]) for one, each in found["replicas"].items()}
        prefilling = tuple(one for one, each in found["replicas"].items() if each["role"] != Role.CONSUMER)
        return Current(name, fields, replicas, prefilling, state["pool"]["name"], bool(found.get("rolling")))

    def pool_bytes(self) -> int:
        return int(self._state()["pool"]["size_bytes"])

    def post(self, address: str, body: dict[str, Any]) -> str:
        """Change something; why it is refused, or nothing.

        Raises:
            UnreachableError: the lab does not answer.
        """
        answer = self._ask("POST", address, body)
        return "" if answer.status_code == 200 else str(_document(answer).get("error", answer.status_code))

    def _state(self) -> dict[str, Any]:
        answer = self._ask("GET", self._admin)
        document = _document(answer)
        if answer.status_code != 200 or "endpoints" not in document or "pool" not in document:
            raise UnreachableError(f"{self._admin} is no simulated fleet's", "Look at TIERDECK_LAB_URL.")
        return document

    def _ask(self, method: str, address: str, body: dict[str, Any] | None = None) -> requests.Response:
        try:
            return self._http.request(method, address, json=body, timeout=_SECONDS, allow_redirects=False)
        except requests.RequestException as error:
            hint = "Is the lab running, and TIERDECK_LAB_URL its address?"
            raise UnreachableError(f"The lab at {self._admin} does not answer: {type(error).__name__}", hint) from error


def _document(answer: requests.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
