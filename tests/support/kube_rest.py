"""Kubernetes objects as plain dicts over plain HTTP: what tests and stand-ins use, apart from the client under test."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import requests
import yaml

Manifest = dict[str, Any]
"""An object as its YAML has it."""

_APPLY = "application/apply-patch+yaml"
_JSON = "application/json"
_MERGE = "application/merge-patch+json"
_TIMEOUT_SECONDS = 60.0


class RefusedError(Exception):
    """The API server said no.

    Attributes:
        status: The HTTP status, such as 409.
        reason: The API's word for it, such as `Conflict`.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason


class Rest:
    """One caller of one API server. Not for two threads at once: `another` makes a second one."""

    def __init__(self, url: str, ca: Path, token: str) -> None:
        self._to = (url, ca, token)
        self._url = url
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = str(ca)
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def another(self) -> Rest:
        """The same caller for another thread."""
        return Rest(*self._to)

    def close(self) -> None:
        """Close its connections."""
        self._session.close()

    def apply(self, manifest: Manifest | str, *, manager: str = "tests", force: bool = True, **query: str) -> Manifest:
        """Server-side apply.

        Args:
            manifest: One object, or YAML with one.
            query: More parameters, such as `dryRun="All"`.
        """
        given: Manifest = yaml.safe_load(manifest) if isinstance(manifest, str) else manifest
        query = {"fieldManager": manager, "force": str(force).lower(), **query}
        return self.request("PATCH", self.path_of(given), given, _APPLY, **query)

    def apply_file(self, file: Path) -> list[Manifest]:
        """Apply all objects of a YAML file, in its order."""
        return [self.apply(one) for one in yaml.safe_load_all(file.read_text("utf-8")) if one]

    def create(self, manifest: Manifest, **query: str) -> Manifest:
        """Create an object; `generateName` works."""
        return self.request("POST", self._collection(manifest), manifest, _JSON, **query)

    def replace(self, manifest: Manifest, subresource: str = "", **query: str) -> Manifest:
        """Put the whole object, at the resourceVersion that it carries."""
        return self.request("PUT", self.path_of(manifest) + subresource, manifest, _JSON, **query)

    def merge(self, manifest: Manifest, patch: Manifest, subresource: str = "", **query: str) -> Manifest:
        """Merge-patch the object that the manifest names; `subresource` such as `/status`."""
        return self.request("PATCH", self.path_of(manifest) + subresource, patch, _MERGE, **query)

    def delete(self, manifest: Manifest, **query: str) -> None:
        """Delete it, if it is there; `gracePeriodSeconds="0"` at once."""
        try:
            self.request("DELETE", self.path_of(manifest), None, _JSON, **query)
        except RefusedError as refused:
            if refused.status != 404:
                raise

    def get(self, kind: str, name: str, namespace: str = "", api: str = "v1") -> Manifest:
        """One object; `api` such as `apps/v1`."""
        return self.request("GET", self.path(kind, name, namespace, api))

    def find(self, kind: str, name: str, namespace: str = "", api: str = "v1") -> Manifest | None:
        """One object, or None where there is none."""
        try:
            return self.get(kind, name, namespace, api)
        except RefusedError as refused:
            if refused.status != 404:
                raise
            return None

    def objects(self, kind: str, namespace: str = "", api: str = "v1", **query: str) -> list[Manifest]:
        """Objects of a kind, of one namespace or of all; queries such as `labelSelector="app=x"`."""
        answer = self.request("GET", self.path(kind, "", namespace, api), None, _JSON, **query)
        items: list[Manifest] = answer["items"]
        return [{"apiVersion": api, "kind": kind, **item} for item in items]

    def watch(self, kind: str, namespace: str = "", api: str = "v1", **query: str) -> Generator[Manifest]:
        """Events until the server ends it or the caller closes it; `resourceVersion` and the like are queries."""
        query = {"watch": "true", "allowWatchBookmarks": "true", **query}
        url = self._url + self.path(kind, "", namespace, api)
        with self._session.get(url, params=query, stream=True, timeout=_TIMEOUT_SECONDS) as answer:
            _raise(answer)
            for line in answer.iter_lines():
                if line:
                    yield json.loads(line)

    def request(
        self, method: str, path: str, body: Manifest | None = None, content_type: str = _JSON, **query: str
    ) -> Manifest:
        """Any request.

        Raises:
            RefusedError: The answer was no.
            requests.RequestException: There was none.
        """
        data = None if body is None else json.dumps(body)
        answer = self._session.request(
            method,
            self._url + path,
            data=data,
            params=query,
            headers={"Content-Type": content_type},
            timeout=_TIMEOUT_SECONDS,
        )
        _raise(answer)
        return dict(answer.json())

    def path_of(self, manifest: Manifest) -> str:
        """The path of the object that a manifest names."""
        return f"{self._collection(manifest)}/{manifest['metadata']['name']}"

    def path(self, kind: str, name: str = "", namespace: str = "", api: str = "v1") -> str:
        """The path of an object, or without a name that of its collection; without a namespace that of all."""
        plural, namespaced = self._kind(api, kind)
        root = f"/api/{api}" if "/" not in api else f"/apis/{api}"
        within = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{root}{within}/{plural}" + (f"/{name}" if name else "")

    def _collection(self, manifest: Manifest) -> str:
        namespace = manifest["metadata"].get("namespace", "default")
        return self.path(manifest["kind"], "", namespace, manifest["apiVersion"])

    def _kind(self, api: str, kind: str) -> tuple[str, bool]:
        """What the API server calls a kind in paths, and whether it lives in namespaces."""
        if (api, kind) not in self._kinds:
            answer = self.request("GET", f"/api/{api}" if "/" not in api else f"/apis/{api}")
            for resource in answer["resources"]:
                if "/" not in resource["name"]:
                    self._kinds[api, resource["kind"]] = (resource["name"], resource["namespaced"])
        if (api, kind) not in self._kinds:
            raise RefusedError(404, "NotFound", f"the API server has no {kind} in {api}")
        return self._kinds[api, kind]


def _raise(answer: requests.Response) -> None:
    if answer.ok:
        return
    try:
        status = answer.json()
    except ValueError:
        status = {"message": answer.text}
    raise RefusedError(answer.status_code, status.get("reason", ""), status.get("message", ""))
