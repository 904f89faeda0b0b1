"""Which strategy landings fit: right where they tell, silent where they don't, and never wrong for luck."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from tierdeck.changes import turns
from tierdeck.changes.inference import ODDS, judge, likelihoods
from tierdeck.changes.landing import Landing
from tierdeck.changes.proof import Verdict

ABC = ("a", "b", "c")
_APART = 0.2


def landing(number: int, replica: str, session: str = "", *prefix: str, direct: bool = False) -> Landing:
    at = number * _APART
    return Landing(at, at + 0.1, session or f"own {number}", prefix, replica, is_direct=direct)


def sessions(*homes: str) -> list[Landing]:
    """Each replica is the home of the session of its name."""
    return [landing(number, home, f"session {home}") for number, home in enumerate(homes)]


def cycle(count: int, replicas: Sequence[str] = ABC, apart: float = 0.01) -> list[Landing]:
    """One after the other, of one session and one beginning."""
    return [
        Landing(number * apart, number * apart + 0.005, "same", ("A",), replicas[number % len(replicas)])
        for number in range(count)
    ]


def test_session_is_told_once_chance_is_ten_thousand_times_less_likely() -> None:
    # 12 requests, 4 to each of 3: chance makes them 3^-12; session 3^-3 for the three new ones. 3^9 = 19,683.
    found = judge("session", sessions(*"aabbccaabbcc"), ABC)
    assert (found.verdict, found.seen) == (Verdict.EFFECTIVE, "session")
    assert found.evidence[0] == "12 requests landed: 4 to a, 4 to b, 4 to c."
    assert found.evidence[1] == "9 of 9 requests for which session leaves no choice went where it says."


def test_session_is_not_told_with_one_request_less() -> None:
    # 11 requests, 4, 4 and 3: (4/11)^8 (3/11)^3 = 6.2e-6 by chance, 3^-3 = 0.037 by session: 6,000 times at most.
    found = judge("session", sessions(*"aabbccaabbc"), ABC)
    assert found.verdict is Verdict.CANNOT_TELL
    assert "10,000 are needed" in found.evidence[-1]


def test_what_all_goes_to_one_replica_proves_no_strategy() -> None:
    asked = [landing(number, "a", f"session {number % 2}", f"beginning {number % 2}") for number in range(20)]
    for strategy in ("session", "prefixaware", "kvaware"):
        assert judge(strategy, asked, ABC).verdict is Verdict.CANNOT_TELL
    assert judge("roundrobin", asked, ABC).verdict is Verdict.APPLIED_NOT_EFFECTIVE


def test_roundrobin_is_told_by_its_order() -> None:
    found = judge("roundrobin", cycle(16), ABC)
    assert (found.verdict, found.seen) != (Verdict.EFFECTIVE, "roundrobin")  # the least busy one, in turn, looks alike
    held = [Landing(-0.02, 9.0, "same", ("A",), "c", is_long=True)]
    found = judge("roundrobin", [*held, *cycle(16)], ABC)
    assert (found.verdict, found.seen) == (Verdict.EFFECTIVE, "roundrobin")


def test_requests_of_others_move_the_turn_on() -> None:
    # at 3 a second in bursts of 10 ms, one in 33 comes between: two of 18 steps skip a replica
    order = [0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 0, 2, 0, 1, 2, 0, 1, 2]
    asked = [
        Landing(-0.02, 9.0, "same", ("A",), "c", is_long=True),
        *(Landing(n * 0.01, n * 0.01 + 0.004, "same", ("A",), ABC[turn]) for n, turn in enumerate(order)),
    ]
    assert judge("roundrobin", asked, ABC).verdict is Verdict.EFFECTIVE


def test_the_least_busy_in_turn_is_not_taken_for_roundrobin() -> None:
    held = [Landing(-0.02, 9.0, "same", ("A",), "c", is_long=True)]
    found = judge("roundrobin", [*held, *cycle(19, ("a", "b"))], ABC)
    assert found.verdict is Verdict.APPLIED_NOT_EFFECTIVE
    assert (
        likelihoods([*held, *cycle(19, ("a", "b"))], ABC)["least busy"]
        > math.log(ODDS) + likelihoods([*held, *cycle(19, ("a", "b"))], ABC)["roundrobin"]
    )


def crossed(goes: Callable[[str, str], str]) -> list[Landing]:
    """Two beginnings, served by a and b; longer ones that c and a hold and the router never sent.

    Args:
        goes: (home, where the longer one was put) -> where it goes.
    """
    asked = [landing(0, "a", "", "A"), landing(1, "a", "", "A"), landing(2, "b", "", "B"), landing(3, "b", "", "B")]
    asked += [landing(4, "c", "", "A", "more", direct=True), landing(5, "a", "", "B", "more", direct=True)]
    places = {"A": ("a", "c"), "B": ("b", "a")}
    for number in range(14):
        family = "AABB"[number % 4]
        asked.append(landing(6 + number, goes(*places[family]), "", family, "more"))
    return asked


def test_texts_and_caches_are_told_apart_by_what_a_cache_got_past_the_router() -> None:
    by_text, by_cache = crossed(lambda home, put: home), crossed(lambda home, put: put)
    assert judge("prefixaware", by_text, ABC).verdict is Verdict.EFFECTIVE
    assert judge("kvaware", by_text, ABC).verdict is Verdict.APPLIED_NOT_EFFECTIVE
    assert judge("kvaware", by_cache, ABC).verdict is Verdict.EFFECTIVE
    assert judge("prefixaware", by_cache, ABC).verdict is not Verdict.EFFECTIVE


@pytest.mark.parametrize("replicas", [("a", "b"), ABC, ("a", "b", "c", "d", "e", "f")])
@pytest.mark.parametrize("wished", ["roundrobin", "session", "prefixaware", "kvaware"])
def test_a_random_router_is_never_taken_for_a_clever_one(wished: str, replicas: tuple[str, ...]) -> None:
    for seed in range(15):
        dice = random.Random(seed)
        asked = [
            Landing(
                number * 0.05,
                number * 0.05 + 0.02,
                f"session {dice.randrange(3)}",
                (f"beginning {dice.randrange(3)}",),
                dice.choice(replicas),
            )
            for number in range(20)
        ]
        assert judge(wished, asked, replicas).verdict is not Verdict.EFFECTIVE


def test_one_replica_tells_nothing() -> None:
    found = judge("session", sessions(*"aaaa"), ("a",))
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.evidence == ("With one replica every strategy does the same.",)


def test_a_strategy_without_a_test_is_not_judged() -> None:
    found = judge("power_of_two", sessions(*"abc"), ABC)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.evidence == ("There is no test for the strategy power_of_two.",)


def test_the_routers_own_words_are_kept() -> None:
    found = judge("consistent_hash", sessions(*"aabbccaabbcc"), ABC)
    assert (found.verdict, found.seen) == (Verdict.EFFECTIVE, "consistent_hash")


def test_ten_replicas_are_judged_by_the_order_in_which_they_come() -> None:
    ten = tuple("abcdefghij")
    # the second ten have to follow the first: 10^-10 by chance, less 9! = 362,880 for the order that was not known
    assert turns.log_likelihood(cycle(20, ten), ten) > -20 * math.log(10) + math.log(ODDS)
