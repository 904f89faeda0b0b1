"""Loops that come round, and those that hang."""

from __future__ import annotations

from health.pulse import Pulse


def test_a_loop_that_does_not_come_round_in_its_time_is_named() -> None:
    now = 100.0
    pulse = Pulse(lambda: now)
    assert pulse.trouble() == ""  # none has begun
    pulse.beat("look", 300)
    pulse.beat("write", 60)
    now = 160.0
    assert pulse.trouble() == ""
    now = 161.0
    assert pulse.trouble() == "the loop write has not come round for 61 s"
    now = 401.0
    assert pulse.trouble().count("has not come round") == 2
    pulse.beat("look", 300)
    pulse.beat("write", 60)
    assert pulse.trouble() == ""


def test_a_loop_that_comes_round_and_fails_is_named_until_it_does_its_work() -> None:
    pulse = Pulse(lambda: 0.0)
    pulse.beat("say")
    pulse.tell("say", "a fault at channel hook")
    pulse.beat("say")
    assert pulse.trouble() == "the loop say fails: a fault at channel hook"
    pulse.tell("say", "")
    assert pulse.trouble() == ""
