"""Routing strategies against replicas whose load and content are given."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Prompt
from tierdeck.sizing.routing import Balance, KvAware, PrefixAware, RoundRobin, Session, make_router


@dataclass
class Replica:
    name: str
    outstanding: int = 0
    held: dict[int, int] = field(default_factory=dict)

    def held_tokens(self, prompt: Prompt) -> int:
        return self.held.get(prompt.blocks[0], 0)


def replicas(count: int = 3) -> list[Replica]:
    return [Replica(f"r{number}") for number in range(count)]


def prompt(*blocks: int, session: str = "") -> Prompt:
    return Prompt(len(blocks) * 16 + 1, blocks, session)


def test_every_strategy_has_a_router() -> None:
    assert [make_router(strategy).strategy for strategy in RoutingStrategy] == list(RoutingStrategy)


def test_roundrobin_takes_turns_also_when_replicas_go() -> None:
    router = RoundRobin()
    assert [router.choose(prompt(1), replicas()) for _ in range(4)] == [0, 1, 2, 0]
    assert [router.choose(prompt(1), replicas(1)) for _ in range(2)] == [0, 0]


def test_session_keeps_a_session_and_moves_few_when_a_replica_joins() -> None:
    router = Session()
    sessions = [f"s{number}" for number in range(300)]
    before = [router.choose(prompt(1, session=name), replicas(3)) for name in sessions]
    assert before == [router.choose(prompt(1, session=name), replicas(3)) for name in sessions]
    assert min(Counter(before).values()) > 50
    after = [router.choose(prompt(1, session=name), replicas(4)) for name in sessions]
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {3}  # whoever moves goes to the newcomer


def test_session_without_a_session_takes_the_least_loaded() -> None:
    some = replicas()
    some[0].outstanding = some[1].outstanding = 2
    assert Session().choose(prompt(1), some) == 2


def test_prefixaware_follows_the_longest_prefix() -> None:
    router, some = PrefixAware(), replicas(2)
    assert router.choose(prompt(1, 2, 3), some) == 0
    some[0].outstanding = 3
    assert router.choose(prompt(11, 12, 13), some) == 1
    assert router.choose(prompt(1, 2, 3, 4), some) == 0


def test_prefixaware_spills_over_when_one_replica_is_far_busier_and_then_knows_both() -> None:
    router, some = PrefixAware(balance=Balance(absolute=4, relative=1.5)), replicas(2)
    router.choose(prompt(1, 2), some)
    some[0].outstanding = 5  # 5 - 0 > 4
    assert router.choose(prompt(1, 2), some) == 1
    some[0].outstanding, some[1].outstanding = 2, 1
    assert router.choose(prompt(1, 2), some) == 1


def test_prefixaware_ignores_a_match_that_is_too_short() -> None:
    router, some = PrefixAware(least_match=0.5), replicas(2)
    router.choose(prompt(1, 2, 3, 4), some)
    some[0].outstanding = 1
    assert router.choose(prompt(1, 12, 13, 14), some) == 1


def test_kvaware_asks_who_holds_most() -> None:
    some = replicas()
    some[1].held[1], some[2].held[1] = 8, 12
    assert KvAware().choose(prompt(1), some) == 2
    some[1].held[1], some[2].outstanding = 12, 3
    assert KvAware().choose(prompt(1), some) == 1


def test_kvaware_spares_a_replica_that_is_far_busier() -> None:
    some = replicas(2)
    some[0].held[1], some[0].outstanding = 16, 5
    assert KvAware(balance=Balance(absolute=4)).choose(prompt(1), some) == 1
    assert KvAware(balance=Balance(absolute=5)).choose(prompt(1), some) == 0


@pytest.mark.parametrize("held", [0, 6])
def test_kvaware_takes_the_least_loaded_where_nobody_holds_enough(held: int) -> None:
    some = replicas()  # the prompt has 17 tokens: 40 % are 6.8
    some[0].held[1], some[0].outstanding, some[1].outstanding = held, 1, 1
    assert KvAware(least_share=0.4).choose(prompt(1), some) == 2


def test_the_least_loaded_take_turns() -> None:
    router, some = Session(), replicas()
    assert [router.choose(prompt(1), some) for _ in range(4)] == [0, 1, 2, 0]
