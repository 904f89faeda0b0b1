"""A container's environment: the last one wins, and what can't be told has its reason."""

from __future__ import annotations

from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.environment import Environment, read_environment
from controller.resources import CONFIG_MAPS, RESOURCES


def read(*variables: object, objects: Objects | None = None, **more: object) -> Environment:
    configs = Configs(objects or Objects("prod", {}), "ns")
    return read_environment({"env": list(variables), **more}, "env", configs, "Pod ns/p")


def test_the_last_of_two_wins_and_both_are_told() -> None:
    found = read({"name": "A", "value": "1"}, {"name": "B", "value": "x"}, {"name": "A", "value": "2"})
    assert found.value("A") == "2"
    assert found.duplicates == ("A",)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read({"name": "A", "value": "1"}, {"name": "A", "value": ""}).get("A") is None


def test_a_reference_to_an_earlier_variable_is_filled_in() -> None:
    assert read({"name": "A", "value": "1"}, {"name": "B", "value": "x$(A)$(C)"}).value("B") == "x1$(C)"


def test_what_a_field_or_a_secret_tells_is_unknown_with_its_reason() -> None:
    found = read(
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    )
    ip, key = found.get("IP"), found.get("KEY")
    assert ip is not None
    assert ip.reason == "its value comes from status.podIP (fieldRef)"
    assert key is not None
    assert key.reason == "its value comes from s (secretKeyRef)"


def test_a_config_map_is_asked_for_and_then_read() -> None:
    variable = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "a"}}}
    first = Objects("prod", {})
    found = read(variable, objects=first).get("A")
    assert found is not None
    assert found.reason == "ConfigMap ns/c, which is missing or was not read yet"
    assert first.asked == {("ns", "c")}
    second = Objects("prod", {}, config_maps={("ns", "c"): {"data": {"a": "1"}}})
    assert read(variable, objects=second).value("A") == "1"


def test_config_maps_that_may_not_be_read_are_told_so() -> None:
    objects = Objects("prod", {}, dict.fromkeys((*RESOURCES, CONFIG_MAPS), "forbidden"))
    found = read(objects=objects, envFrom=[{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}])
    assert found.hidden == (
        "may be set by ConfigMap ns/c, which may not be read",
        "Secret s, which is not read, may set it",
    )
