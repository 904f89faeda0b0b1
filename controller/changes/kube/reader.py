"""Objects as they are at the API server now, past the watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.api.client import Api
from controller.api.errors import NotServedError
from controller.objects import Raw
from controller.reading.fields import items, text
from controller.resources import CONFIG_MAPS, RESOURCES, Resource, path_of
from tierdeck.deployed import ObjectRef

_PAGE = 500
_KNOWN: Mapping[str, Resource] = {one.kind: one for one in (*RESOURCES, CONFIG_MAPS)}


class KubeReader:
    """A `Reader` of one API server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._kinds: dict[str, tuple[str, str, bool]] = {}

    def get(self, ref: ObjectRef) -> Raw | None:
        """One object whole; None where there is none, or no such kind."""
        try:
            address, version = self.address_of(ref)
            found = self._api.get(address)
        except NotServedError:
            return None
        return {"apiVersion": version, "kind": ref.kind, **found}

    def list(self, path: str, query: Mapping[str, str] | None = None) -> Sequence[Raw]:
        """The items of a collection, page by page."""
        found: list[Raw] = []
        token = ""
        while True:
            asked: dict[str, str | int] = {**(query or {}), "limit": _PAGE}
            page = self._api.get(path, asked | ({"continue": token} if token else {}))
            found += items(page, "items")
            token = text(page, "metadata", "continue")
            if not token:
                return found

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        """An object's path at the API server, and its apiVersion.

        Raises:
            NotServedError: the server has no such kind.
        """
        known = _KNOWN.get(ref.kind)
        if known is not None:
            version = f"{known.group}/{known.versions[0]}" if known.group else known.versions[0]
            return path_of(known, ref.namespace, ref.name), version
        base, plural, is_namespaced = self._find(ref.kind)
        inside = f"/namespaces/{ref.namespace}" if is_namespaced else ""
        return f"{base}{inside}/{plural}/{ref.name}", base.partition("/")[2].partition("/")[2]

    def _find(self, kind: str) -> tuple[str, str, bool]:
        """Where a kind is that is not watched: in the first group that serves it, in its preferred version."""
        if kind not in self._kinds:
            groups = [text(one, "preferredVersion", "groupVersion") for one in items(self._api.get("/apis"), "groups")]
            for base in ("/api/v1", *(f"/apis/{one}" for one in groups)):
                for one in items(self._api.get(base), "resources"):
                    if text(one, "kind") == kind and "/" not in text(one, "name"):
                        self._kinds[kind] = base, text(one, "name"), one.get("namespaced") is True
                        return self._kinds[kind]
            raise NotServedError(f"the API server has no {kind}")
        return self._kinds[kind]
