"""What every deployment backend promises, held against one example of each."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.backend import Backend
from controller.backends import BACKENDS
from controller.objects import Objects, Raw
from controller.resources import RESOURCES, Resource
from tests.support.manifests import example, objects_of
from tierdeck.deployed import ObjectRef
from tierdeck.fleet import FLEET, POOL, Endpoint, Replica
from tierdeck.l2.file import L2File, L2Options

# the sources that each example holds, read off the manifests
EXPECTED = {
    "hyperpod": "InferenceEndpointConfig inference/chat",
    "hyperpod-jumpstart": "JumpStartModel inference/qwen",
    "production-stack": "VLLMRuntime serving/coder",
    "production-stack-helm": "Deployment stack/stack-llama-deployment-vllm",
    "curvine": "StatefulSet curvine/curvine-worker",
    "deployment": "Deployment llm/mistral",
}
NAMES = tuple(EXPECTED)
OPTED_IN = L2File(
    defaults=L2Options(claim="curvine-pvc"), endpoints={one.split()[1]: L2Options() for one in EXPECTED.values()}
)
WRONG: tuple[Any, ...] = (None, True, 7, -1, 1e400, "", "x", "$(A)", "0" * 30, "{", [], [None, 3], {}, {"a": 1}, ["-"])

each = pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)


def test_every_backend_has_its_own_name_and_an_example() -> None:
    assert sorted(backend.name for backend in BACKENDS) == sorted(EXPECTED)


@each
def test_it_finds_its_example(backend: Backend) -> None:
    found = backend.find(example(backend.name), ())
    assert [str(one.deployed.source) for one in found] == [EXPECTED[backend.name]]
    assert [one.deployed.backend for one in found] == [backend.name]


@each
def test_it_finds_nothing_in_an_empty_cluster(backend: Backend) -> None:
    assert list(backend.find(Objects("prod", {}), ())) == []


@each
def test_it_finds_nothing_where_nothing_can_be_seen(backend: Backend) -> None:
    assert list(backend.find(Objects("prod", {}, dict.fromkeys(RESOURCES, "forbidden")), ())) == []


@each
def test_it_finds_nothing_among_foreign_pods(backend: Backend) -> None:
    pods = [
        {
            "kind": "Pod",
            "metadata": {"namespace": "shop", "name": f"web-{number}", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
            "status": {"phase": "Running", "podIP": "10.9.0.1"},
        }
        for number in range(5000)
    ]
    assert list(backend.find(objects_of(pods), ())) == []


def test_each_thing_is_found_once_when_the_backends_look_in_turn() -> None:
    objects, found = example(*NAMES), []
    taken: set[ObjectRef] = set()
    for backend in BACKENDS:
        for one in backend.find(objects, taken):
            taken |= set(one.claimed)
            found.append((backend.name, str(one.deployed.source)))
    assert sorted(found) == sorted(EXPECTED.items())


@each
def test_names_of_what_is_observed_fit_together(backend: Backend) -> None:
    for found in backend.find(example(backend.name), ()):
        deployed, observed = found.deployed, found.observed
        if isinstance(observed, Replica):
            assert (observed.key.endpoint, observed.key.replica) == (POOL, deployed.name)
            replicas: tuple[Replica, ...] = (observed,)
        else:
            assert isinstance(observed, Endpoint)
            assert observed.name == deployed.endpoint == f"{deployed.source.namespace}/{deployed.source.name}"
            assert {replica.key.owner for replica in observed.replicas} <= {("prod", observed.name)}
            pods = {pod.name for pod in deployed.pods}
            assert {replica.key.replica for replica in observed.replicas} <= {FLEET, *pods}
            replicas = observed.replicas
        for replica in replicas:
            assert replica.targets
            names = [target.name for target in replica.targets]
            assert len(set(names)) == len(names)
            assert all(target.kind and target.is_scraped for target in replica.targets)


@each
def test_a_sentence_about_a_problem_ends_and_is_said_once(backend: Backend) -> None:
    objects = example(backend.name)
    for found in (*backend.find(objects, ()), *backend.find(replace(objects, l2=OPTED_IN), ())):
        problems = found.deployed.problems
        assert len(set(problems)) == len(problems)
        assert all(problem.endswith((".", ")")) for problem in problems)


@each
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_field_of_a_wrong_type_never_stops_it(backend: Backend, data: st.DataObject) -> None:
    objects = replace(example("curvine", backend.name), l2=data.draw(st.sampled_from([L2File(), OPTED_IN])))
    for _ in range(data.draw(st.integers(1, 3))):
        objects = _mutated(objects, data)
    backend.find(objects, ())


def _mutated(objects: Objects, data: st.DataObject) -> Objects:
    kept: dict[Resource | None, dict[tuple[str, str], Raw]] = {
        **{kind: dict(found) for kind, found in objects.kinds.items()},
        None: dict(objects.config_maps),
    }
    places = [(kind, key) for kind, found in kept.items() for key in found]
    kind, key = data.draw(st.sampled_from(places))
    raw = copy.deepcopy(dict(kept[kind][key]))
    path = data.draw(st.sampled_from(list(_paths(raw))))
    _put(raw, path, data.draw(st.sampled_from(WRONG)))
    kept[kind][key] = raw
    config_maps = kept.pop(None)
    return replace(objects, kinds={kind: found for kind, found in kept.items() if kind}, config_maps=config_maps)


def _paths(part: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document, the shallow ones too."""
    inner = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from _paths(value, (*above, key))


def _put(raw: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        raw = raw[key]
    raw[path[-1]] = copy.deepcopy(value)
