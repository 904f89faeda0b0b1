"""What the mirror tells of how far it sees."""

from __future__ import annotations

from controller.api.mirror import Mirror
from controller.resources import NODES, PODS


def test_it_tells_which_namespaces_it_is_filled_from() -> None:
    mirror = Mirror("prod")
    for namespace in ("b", "a"):
        mirror.expect(PODS, namespace)
    mirror.expect(NODES, "")
    assert mirror.look().spaces == ("a", "b")


def test_a_mirror_of_all_namespaces_names_none() -> None:
    mirror = Mirror("prod")
    mirror.expect(PODS, "")
    mirror.expect(NODES, "")
    assert mirror.look().spaces == ()
