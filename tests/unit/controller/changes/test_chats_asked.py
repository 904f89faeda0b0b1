"""The engines are asked of chats where the wish is kvaware, and only there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from kubernetes.client import ApiClient, Configuration

from controller.api.client import Api
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.parts import Parts
from controller.changes.planner import Load
from controller.changes.planners import PLANNERS
from tests.support.http_replies import Replies, RepliesHandler, serving
from tests.support.manifests import objects_of
from tests.support.plain_looks import NOW, Documents, ManifestReader, changed, container
from tierdeck.changes.change import Change
from tierdeck.changes.plan import Plan
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef


def stack(found: Documents) -> None:
    """production-stack's router, which has no controller of LMCache."""
    router = container(found, "gate")
    router.clear()
    router |= {"name": "router", "image": "lmcache/lmstack-router:v0.1.7"}
    router |= {"args": ["--k8s-label-selector", "app=mistral", "--routing-logic", "roundrobin"]}


class Manifests(RepliesHandler):
    """An API server that has these manifests."""

    def do_GET(self) -> None:
        found = changed("deployment", stack)
        reader = ManifestReader(found)
        paths = {
            reader.address_of(ObjectRef(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]))[0]: one
            for one in found
            if one["kind"] in ("Deployment", "Pod", "ReplicaSet")
        }
        body = json.dumps(paths.get(self.path, {})).encode()
        self.send_response(200 if self.path in paths else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.parametrize(
    ("strategy", "asked", "code"),
    [("kvaware", ["llm/mistral"], "kvaware_chat"), ("session", [], "session_key_missing")],
)
def test_only_kvaware_asks(strategy: str, asked: list[str], code: str) -> None:
    questions = []

    def with_chats(endpoint: str, load: Load) -> Load:
        questions.append(endpoint)
        return replace(load, chats=load.running)

    objects = objects_of(changed("deployment", stack))
    parts = Parts(
        lambda: objects,
        PLANNERS,
        lambda *_: pytest.fail("a plan that is refused goes before no preflight"),
        lambda *_: pytest.fail("nothing is proved"),
        load=lambda _endpoint: Load(running=17.0),
        clock=lambda: NOW,
        with_chats=with_chats,
    )
    change = Change("prod", "llm/mistral", Wish(strategy=strategy), "mara", "", "a key", NOW, {})
    with serving(Replies((), Manifests)) as server:
        changer = KubernetesChanger(Api.of(ApiClient(Configuration(host=server.url))), parts)
        refused = changer.plan(change, None)
    assert not isinstance(refused, Plan)
    assert questions == asked
    assert refused[0].code == code
    assert refused[0].reason.startswith("17 chat requests came") is bool(asked)
