"""What a pool owes: only what can't be otherwise is believed."""

from controller.janitor.owed import FUTILE_SECONDS, OWED_SECONDS, Owed
from tierdeck.l2.janitor_runs import JanitorRun, Outcome

RUN = JanitorRun(
    "east", "curvine", "a", 0.0, False, Outcome.CLEANED, 40.0,
    used_before_bytes=860.0, deleted_bytes=110, chosen_bytes=110, seen_bytes=860,
)  # fmt: skip


def deleted_110() -> Owed:
    owed = Owed()
    owed.looked(0.0, 860.0)
    owed.walked(860.0, 0.0)
    owed.deleted(10.0, 110.0)
    return owed


def test_use_that_falls_was_freed_and_use_that_rises_was_written() -> None:
    owed = deleted_110()
    owed.looked(20.0, 800.0)
    owed.looked(30.0, 830.0)
    assert (owed.size_bytes, owed.written_bytes) == (50.0, 30.0)


def test_deleting_alone_counts_neither_as_freed_nor_as_written() -> None:
    owed = deleted_110()
    for at in range(20, 900, 10):
        owed.looked(float(at), 860.0)
    assert (owed.size_bytes, owed.written_bytes) == (110.0, 0.0)


def test_a_walk_finds_what_was_written_while_use_fell() -> None:
    owed = deleted_110()
    owed.looked(20.0, 780.0)  # 110 came, and 30 were written: use fell by 80
    assert (owed.size_bytes, owed.written_bytes) == (30.0, 0.0)
    owed.walked(780.0, owed.written_bytes)  # 860 − 110 + 30
    assert (owed.size_bytes, owed.written_bytes) == (0.0, 30.0)
    owed.walked(780.0, owed.written_bytes)
    assert owed.written_bytes == 30.0, "once"


def test_rounds_add_up_and_one_that_deleted_nothing_forgives_nothing() -> None:
    owed = deleted_110()
    owed.deleted(50.0, 20.0)
    owed.deleted(60.0, 0.0)
    assert owed.size_bytes == 130.0


def test_what_is_late_is_lost_after_a_while_and_much_later_where_nothing_comes() -> None:
    owed = deleted_110()
    owed.looked(100.0, 820.0)
    owed.looked(10.0 + OWED_SECONDS, 820.0)
    assert (owed.size_bytes, owed.is_futile) == (0.0, False)
    owed = deleted_110()
    owed.looked(10.0 + OWED_SECONDS, 850.0)
    assert (owed.size_bytes, owed.is_futile) == (100.0, True)
    owed.looked(10.0 + FUTILE_SECONDS, 850.0)
    assert (owed.size_bytes, owed.is_futile) == (0.0, False)


def test_the_next_process_knows_what_the_last_one_left() -> None:
    owed = Owed.recalled(RUN, 100.0)
    owed.looked(100.0, 800.0)
    assert owed.size_bytes == 50.0
    owed.looked(40.0 + OWED_SECONDS, 800.0)
    assert owed.size_bytes == 0.0


def test_one_that_was_cut_off_may_have_deleted_all_it_chose_until_a_walk_tells() -> None:
    cut_off = JanitorRun(
        "east", "curvine", "a", 0.0, False, used_before_bytes=860.0, chosen_bytes=110, deleted_bytes=20, seen_bytes=860
    )
    owed = Owed.recalled(cut_off, 100.0)
    owed.looked(100.0, 830.0)
    assert owed.size_bytes == 80.0
    owed.walked(830.0, owed.written_bytes)  # it had deleted 30, all of which came
    assert owed.size_bytes == 0.0
