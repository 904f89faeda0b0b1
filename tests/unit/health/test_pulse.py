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
