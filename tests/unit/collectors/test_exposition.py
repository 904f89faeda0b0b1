"""Our parser against prometheus_client's, on generated and on hostile text."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from collectors.exposition import Parser, Series, parse_line

CAPTURE = Path(__file__).parents[3] / "lab" / "captures" / "pressure" / "A" / "180" / "vllm.txt"

names = st.from_regex(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,12}", fullmatch=True).filter(
    lambda name: not name.endswith(("_total", "_created", "_bucket", "_sum", "_count", "_info"))
)
label_names = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,8}", fullmatch=True)
label_values = st.text(
    st.characters(exclude_categories=("Cs", "Zl", "Zp"), exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85"), max_size=12
)
values = st.one_of(st.floats(allow_nan=False), st.integers(-(10**12), 10**12).map(float), st.just(math.inf))
all_series = st.tuples(names, st.dictionaries(label_names, label_values, max_size=3), values)


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def render(samples: list[tuple[str, dict[str, str], float]], trailing: str) -> str:
    lines = []
    for name, labels, value in samples:
        inside = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items())
        braces = f"{{{inside}{trailing if inside else ''}}}" if labels or trailing else ""
        lines.append(
            f"# HELP {name} words\n# TYPE {name} gauge\n{name}{braces} {value!r}\n".replace("inf", "+Inf").replace(
                "-+", "-"
            )
        )
    return "".join(lines)


def theirs(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault((sample.name, frozenset(sample.labels.items())), sample.value)
    return found


def ours(text: str, wanted: frozenset[str]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    parser: Parser[str] = Parser(wanted, lambda series: series.name)
    parser.parse(text)
    samples = parser.parse(text).samples  # the second time, from memory
    return {(entry.series.name, frozenset(entry.series.labels.items())): value for entry, value in samples.items()}


@settings(max_examples=300, deadline=None)
@given(st.lists(all_series, max_size=8), st.sampled_from(["", ","]))
def test_reads_what_the_reference_parser_reads(samples: list[tuple[str, dict[str, str], float]], trailing: str) -> None:
    text = render(samples, trailing)
    wanted = frozenset(name for name, _, _ in samples)
    assert ours(text, wanted) == theirs(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(all_series, max_size=8), st.sampled_from(["", ","]))
def test_series_and_values_that_came_apart_read_as_the_text_does(
    samples: list[tuple[str, dict[str, str], float]], trailing: str
) -> None:
    text = render(samples, trailing)
    parser: Parser[str] = Parser(frozenset(name for name, _, _ in samples), lambda series: series.name)
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    apart = parser.gather((series, value) for series, value in lines)
    assert apart == parser.parse(text)


def test_a_series_too_long_to_be_remembered_is_no_lasting_one() -> None:
    parser: Parser[str] = Parser(frozenset({"a"}), lambda series: series.name)
    short, long = 'a{x="1"} 5\n', f'a{{x="{"y" * 5000}"}} 5\n'
    assert [parser.parse(text).lasts for text in (short, short + long, short + long, short)] == [
        True, False, False, True
    ]  # fmt: skip


def test_reads_a_whole_capture_as_the_reference_parser_does() -> None:
    text = CAPTURE.read_text("utf-8")
    expected = theirs(text)
    assert ours(text, frozenset(name for name, _ in expected)) == expected


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400), st.binary(max_size=200))
def test_never_raises_on_anything(text: str, raw: bytes) -> None:
    parser: Parser[str] = Parser(frozenset({"a", "b_total"}), lambda series: series.name)
    for body in (text, raw.decode("utf-8", errors="replace"), f"a{{{text}}} 1\nb_total {text}\n"):
        parser.parse(body)


def test_counts_what_it_can_t_read_and_goes_on() -> None:
    parser: Parser[str] = Parser(frozenset({"a", "b"}), lambda series: series.name)
    found = parser.parse('a{x="1"} one\na{x="unclosed} 2\nb 3\na\n')
    assert [(entry.slot, value) for entry, value in found.samples.items()] == [("b", 3.0)]
    assert found.unreadable == 3


def test_of_duplicate_series_the_first_sample_counts_however_it_is_written() -> None:
    parser: Parser[str] = Parser(frozenset({"a"}), lambda series: series.name)
    for _ in range(2):
        found = parser.parse('a{x="1",y="2"} 5\na{y="2",x="1"} 7\na{x="1",y="2",} 9\n')
        assert list(found.samples.values()) == [5.0]
        assert found.duplicates == 2


def test_timestamps_and_exemplars_are_no_values() -> None:
    assert parse_line('a{x="1"} 5 1700000000000') == (Series("a", {"x": "1"}), 5.0, "5 1700000000000")
    assert parse_line('a_bucket{le="1"} 5 # {trace="x"} 0.3 17')[1] == 5.0  # type: ignore[index]  # it is a sample
    parser: Parser[str] = Parser(frozenset({"a"}), lambda series: series.name)
    for stamp in (1, 2, 3):
        assert list(parser.parse(f'a{{x="1"}} 5 {stamp}\n').samples.values()) == [5.0]


def test_a_line_with_a_huge_label_is_left_out() -> None:
    parser: Parser[str] = Parser(frozenset({"a"}), lambda series: series.name)
    found = parser.parse(f'a{{x="{"y" * 2**20}"}} 1\na 2\n')
    assert list(found.samples.values()) == [2.0]
    assert found.unreadable == 1


@pytest.mark.parametrize("line", ["", "#", "{", "a{", 'a{b="c"', "a{b=c} 1", "a 1 2 3 4", "1a 5", 'a{b="c"}5x'])
def test_what_is_no_sample_is_none(line: str) -> None:
    assert parse_line(line) is None
