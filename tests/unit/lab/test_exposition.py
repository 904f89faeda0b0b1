"""The lab's reading of exposition text."""

from decimal import Decimal

import pytest

from lab.exposition import is_exposition, parse, split_sample


@pytest.mark.parametrize(
    ("line", "series", "value"),
    [
        ("up 1", "up", "1"),
        ('a{b="c"} 2.5', 'a{b="c"}', "2.5"),
        ('a{b="c"} 2.5 1700000000000', 'a{b="c"}', "2.5"),
        ("a 2 1700000000000", "a", "2"),
        ('a{b="x } y 3"} 1e+06', 'a{b="x } y 3"}', "1e+06"),
        ('a{b="c"}   7', 'a{b="c"}', "7"),
        ("<html>", "<html>", ""),
        ("too many words here", "too many words here", ""),
        ("", "", ""),
    ],
)
def test_splits_a_sample_into_series_and_value(line: str, series: str, value: str) -> None:
    assert split_sample(line) == (series, value)


def test_only_what_can_rise_alone_is_a_count() -> None:
    text = "\n".join(
        [
            "# HELP c_total text",
            "# TYPE c_total counter",
            "c_total 3.0",
            "# TYPE c_created gauge",
            "c_created 1.7e+09",
            "# TYPE h histogram",
            'h_bucket{le="1.0"} 1',
            'h_bucket{le="+Inf"} 2',
            "h_count 2",
            "h_sum 4.5",
            "h_created 1.7e+09",
            "# TYPE s summary",
            's{quantile="0.5"} 9',
            "s_count 1",
            "s_sum 9",
            "# TYPE g gauge",
            "g 5",
            "untyped_total 6",
        ]
    )
    counts = {line.series: line.count for family in parse(text).values() for line in family.lines if line.count}
    assert counts == {
        "c_total": Decimal("3.0"),
        'h_bucket{le="1.0"}': Decimal(1),
        'h_bucket{le="+Inf"}': Decimal(2),
        "h_count": Decimal(2),
        "h_sum": Decimal("4.5"),
        "s_count": Decimal(1),
        "s_sum": Decimal(9),
    }


def test_a_histogram_whose_name_ends_like_a_counter_is_told_by_its_type() -> None:
    families = parse('# TYPE t_total histogram\nt_total_bucket{le="1"} 2\nt_total_created 5\n')
    lines = families["t_total"].lines
    assert [line.count for line in lines] == [Decimal(2), None]


def test_a_counter_announced_without_its_ending_is_found() -> None:
    assert parse("# TYPE c counter\nc_total 2\n")["c"].lines[0].count == 2


def test_values_that_are_no_numbers_are_no_counts() -> None:
    families = parse("# TYPE c counter\nc NaN\n# TYPE d counter\nd +Inf\n# TYPE e counter\ne oops\n")
    assert all(line.count is None for family in families.values() for line in family.lines)


def test_an_error_page_is_no_exposition() -> None:
    assert not is_exposition("<html><body>502</body></html>")
    assert not is_exposition("")
    assert is_exposition("# TYPE a gauge\na 1\n")
