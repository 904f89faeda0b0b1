"""A look of the controller in the store: what can be written is, and what can't is said; on both databases."""

from __future__ import annotations

from controller.inventory import Seen
from controller.writing import ORIGIN, Written, write
from db import Store
from tests.support.deployed import deployed, pod, pool, sighting
from tests.support.rounds import T0
from tierdeck.fleet import POOL, Endpoint, Replica, ReplicaKey, Target


def observed(name: str, address: str = "10.0.0.7") -> Endpoint:
    key = ReplicaKey("east", name, "chat-0")
    return Endpoint("east", name, (Replica(key, (Target(key, "vllm", f"http://{address}:8000/metrics"),)),))


def curvine(name: str = "curvine/main") -> Replica:
    return Replica(ReplicaKey("east", POOL, name), ())


def seen(at: float, *endpoints: Endpoint, pools: tuple[Replica, ...] = ()) -> Seen:
    return Seen(sighting(at, *(deployed(one.name, pods=[pod()]) for one in endpoints)), endpoints, pools)


def test_a_name_that_a_file_declares_is_left_out_and_the_others_are_declared(store: Store) -> None:
    mine, theirs = observed("inference/code"), observed("inference/chat", "10.0.0.9")
    store.declare("east", [theirs], [curvine()], "configuration file", "ann")
    look = seen(T0, observed("inference/chat"), mine, pools=(curvine(), curvine("curvine/own")))
    written = write(store, look)
    assert written.is_changed
    assert written.trouble == (
        "not declared from cluster east, since the name is taken: endpoint inference/chat (declared by configuration "
        "file), pool curvine/main (declared by configuration file). Rename or remove it where it is declared."
    )
    assert store.endpoints() == [theirs, mine]
    assert [one.key.replica for one in store.pools()] == ["curvine/main", "curvine/own"]
    # once the file has let go of it, it is declared like the others
    store.declare("east", [], [], "configuration file", "ann")
    assert write(store, look) == Written(0, is_changed=True)
    assert store.endpoints() == [observed("inference/chat"), mine]


def test_many_names_that_are_taken_are_counted(store: Store) -> None:
    some = [observed(f"inference/e{number}") for number in range(7)]
    store.declare("east", some, [], "Prometheus", "collectors")
    trouble = write(store, seen(T0, *some)).trouble
    assert "inference/e4 (declared by Prometheus) and 2 more. " in trouble
    assert "e5" not in trouble


def test_a_look_that_was_overtaken_declares_nothing_and_says_both_instants(store: Store) -> None:
    newer = observed("inference/chat", "10.0.0.9")
    write(store, seen(T0 + 30, newer))
    written = write(store, seen(T0, observed("inference/chat")))
    assert store.endpoints() == [newer]
    # T0 is 22:20:00
    assert written == Written(
        trouble="the look of 2023-11-14 22:20:00 UTC was not written: the store has one of 2023-11-14 22:20:30 UTC. "
        "Set this machine's clock, or stop the other controller of cluster east."
    )


def test_what_is_seen_in_time_is_written_without_trouble(store: Store) -> None:
    look = Seen(sighting(T0, deployed(), pool()), (observed("inference/chat"),), (curvine(),))
    assert write(store, look) == Written(0, is_changed=True)
    assert write(store, look) == Written()
    assert store.declared_by_others("east", ORIGIN) == {}
    assert store.declared_by_others("east", "configuration file") == {
        ("inference/chat",): ORIGIN,
        (POOL, "curvine/main"): ORIGIN,
    }
