"""The loop: counters go on rising, everything else is as recorded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lab.tape import Tape

HEAD = "# HELP c_total count\n# TYPE c_total counter\n"


def values(body: bytes | None) -> dict[str, float]:
    """Samples as prometheus_client reads them: the oracle that a body is a valid exposition."""
    assert body is not None
    return {
        sample.name + str(sorted(sample.labels.items()) if sample.labels else ""): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def test_the_first_lap_is_served_as_recorded() -> None:
    text = f"# a remark\n{HEAD}c_total 1 1700000000000\n"
    tape = Tape([text, None])
    assert tape.body(0, 0) == text.encode()
    assert tape.body(0, 1) is None


def test_counters_go_on_from_lap_to_lap() -> None:
    # A lap adds 8 − 2 = 6: lap 1 has 8, 11, 14; lap 2 has 14, 17, 20.
    tape = Tape([f"{HEAD}c_total {value}\n" for value in (2, 5, 8)])
    played = [[values(tape.body(lap, moment))["c_total"] for moment in range(3)] for lap in range(3)]
    assert played == [[2, 5, 8], [8, 11, 14], [14, 17, 20]]


def test_gauges_and_instants_are_as_they_were_at_the_moment() -> None:
    text = (
        HEAD + "c_total {0}\n# TYPE c_created gauge\nc_created 7{0}\n"
        "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 99\n# TYPE g gauge\ng {0}\n"
    )
    tape = Tape([text.format(1), text.format(5)])
    assert values(tape.body(3, 0)) == {
        "c_total": 13.0,  # 1 + 3 × (5 − 1)
        "c_created": 71.0,
        "process_start_time_seconds": 99.0,
        "g": 1.0,
    }


def test_a_counter_born_during_the_recording_is_served_on_every_later_lap_under_its_headers() -> None:
    born = '# HELP h seconds\n# TYPE h histogram\nh_bucket{le="1.0"} 1\nh_bucket{le="+Inf"} 3\nh_count 3\nh_sum 6.5\n'
    tape = Tape([f"{HEAD}c_total 0\n", f"{HEAD}c_total 2\n{born}"])
    assert "h_count" not in values(tape.body(0, 0))
    later = tape.body(2, 0)
    # Absent counts as 0 at the first moment: 0 + 2 × 3 observations, of which 2 × 1 within a second.
    assert values(later)["h_count"] == 6
    assert values(later)["h_bucket[('le', '1.0')]"] == 2
    assert values(later)["h_sum"] == 13
    assert later is not None
    assert later.count(b"# TYPE h histogram\n") == 1
    assert values(tape.body(1, 1))["h_count"] == 6


def test_a_label_set_born_later_joins_its_family() -> None:
    tape = Tape([f'{HEAD}c_total{{a="1"}} 1\n# TYPE g gauge\ng 1\n', f'{HEAD}c_total{{a="1"}} 2\nc_total{{a="2"}} 4\n'])
    body = tape.body(1, 0)
    assert body == f'{HEAD}c_total{{a="1"}} 2.0\nc_total{{a="2"}} 4.0\n# TYPE g gauge\ng 1\n'.encode()


def test_a_gauge_that_a_moment_lacks_is_not_made_up() -> None:
    tape = Tape([f"{HEAD}c_total 1\n", f"{HEAD}c_total 2\n# TYPE g gauge\ng 5\n"])
    assert "g" not in values(tape.body(4, 0))


def test_a_missing_scrape_stays_missing_and_does_not_count_as_zero() -> None:
    # First seen at moment 1 with 10: a lap adds 14 − 10 = 4.
    tape = Tape([None, f"{HEAD}c_total 10\n", f"{HEAD}c_total 14\n"])
    assert tape.body(1, 0) is None
    assert [values(tape.body(1, moment))["c_total"] for moment in (1, 2)] == [14, 18]


def test_an_error_page_is_played_as_it_is() -> None:
    tape = Tape([f"{HEAD}c_total 1\n", "<html>502</html>", f"{HEAD}c_total 3\n"])
    assert tape.body(5, 1) == b"<html>502</html>"
    assert values(tape.body(5, 0))["c_total"] == 11  # 1 + 5 × (3 − 1)


def test_a_recorded_restart_is_replayed_from_its_beginning() -> None:
    tape = Tape([f"{HEAD}c_total 100\n# TYPE g gauge\ng 1\n", f"{HEAD}c_total 4\n# TYPE g gauge\ng 2\n"])
    assert [values(tape.body(2, moment))["c_total"] for moment in (0, 1)] == [100, 4]


def test_a_counter_that_was_gone_at_the_end_keeps_what_it_counted() -> None:
    tape = Tape([f'{HEAD}c_total{{a="1"}} {one}\n' for one in (1, 3)] + [HEAD])
    assert values(tape.body(1, 0)) == {"c_total[('a', '1')]": 3}
    assert values(tape.body(1, 2)) == {}


@given(
    st.lists(st.floats(0, 1e9, allow_nan=False), min_size=1, max_size=5).map(sorted),
    st.integers(1, 30),
)
def test_a_counter_never_falls(recorded: list[float], laps: int) -> None:
    tape = Tape([f"{HEAD}c_total {value!r}\n" for value in recorded])
    played = [values(tape.body(lap, at))["c_total"] for lap in range(laps) for at in range(len(recorded))]
    assert all(before <= after for before, after in pairwise(played))


@pytest.mark.parametrize("lap", [0, 1])
def test_a_single_moment_stands_still(lap: int) -> None:
    assert values(Tape([f"{HEAD}c_total 5\n"]).body(lap, 0))["c_total"] == 5
