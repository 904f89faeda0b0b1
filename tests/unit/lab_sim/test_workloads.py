"""Workloads: seeded, in order of time, and of the shape that their names say."""

from __future__ import annotations

import gzip
import json
from itertools import islice, takewhile
from pathlib import Path

import pytest

from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME as BY_FAULT
from lab.sim.rhythm import Rhythm
from lab.sim.traces import play_traces
from lab.sim.workload import Request, Text, Workload, ask
from lab.sim.workloads import BY_NAME, WORKLOADS
from lab.sim.workloads.mooncake import Line, Mooncake, read_trace
from tests.unit.lab_sim.scraping import fleet
from tierdeck.errors import UsageError

BLOCK = 64


def some(workload: Workload, count: int = 400, seed: int = 1, rate: float = 2.0) -> list[Request]:
    return list(islice(workload.requests(seed, lambda at: rate, 0.0, BLOCK), count))


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_same_seed_same_requests_in_order_of_time_at_the_wanted_pace(workload: Workload) -> None:
    requests = some(workload)
    assert requests == some(workload)
    assert requests != some(workload, seed=2)
    moments = [request.at for request in requests]
    assert moments == sorted(moments)
    hour = list(takewhile(lambda request: request.at < 3600, workload.requests(1, lambda at: 1.0, 0.0, BLOCK)))
    assert 2800 < len(hour) < 4400  # sessions vary more than a Poisson process
    for request in requests:
        assert len(request.prompt.blocks) == request.prompt.tokens // BLOCK
        whole = (request.prompt.tokens + request.answer_tokens) // BLOCK
        assert len(request.answer_blocks) == whole - len(request.prompt.blocks)


def test_a_text_goes_on_where_another_ended() -> None:
    # 100 tokens of system prompt: one whole block of 64 is shared, the second belongs to each conversation
    system = Text(BLOCK, "system").add(100)
    first, second = (Text(BLOCK, "talk", number, after=system).add(60) for number in (1, 2))
    assert first.tokens == 160
    assert first.blocks(160)[:1] == second.blocks(160)[:1] == system.blocks(100)
    assert first.blocks(160)[1] != second.blocks(160)[1]
    assert first.blocks(160, 1) == first.blocks(160)[1:]


def test_an_answer_is_part_of_the_next_turns_prompt() -> None:
    text = Text(BLOCK, "talk").add(100)
    turn = ask(0.0, text, 60, BLOCK)
    assert (len(turn.prompt.blocks), len(turn.answer_blocks)) == (1, 1)  # 100 tokens, then 160
    text.add(60 + 40)
    assert ask(1.0, text, 10, BLOCK).prompt.blocks[:2] == turn.prompt.blocks + turn.answer_blocks


def test_chats_share_a_system_prompt_and_grow() -> None:
    requests = some(BY_NAME["chat"])
    assert len({request.prompt.blocks[:10] for request in requests}) == 1  # 700 tokens: 10 whole blocks
    by_session: dict[str, list[int]] = {}
    for request in requests:
        by_session.setdefault(request.prompt.session, []).append(request.prompt.tokens)
    assert all(tokens == sorted(tokens) for tokens in by_session.values())
    assert sum(len(tokens) > 1 for tokens in by_session.values()) > 30


def test_a_few_documents_are_asked_about_most() -> None:
    documents = [request.prompt.blocks[7] for request in some(BY_NAME["rag"], 1000)]
    most = max(documents.count(document) for document in set(documents))
    assert most > 100
    assert len(set(documents)) > 200


def test_the_writer_repeats_nothing() -> None:
    requests = some(BY_NAME["writer"])
    blocks = [block for request in requests for block in request.prompt.blocks]
    assert len(blocks) == len(set(blocks))


def test_a_day_has_a_busy_hour_and_a_quiet_one_and_a_mean_of_one() -> None:
    rhythm = Rhythm(swing=0.4, busiest_hour=15)
    hours = [rhythm.factor(hour * 3600.0) for hour in range(24)]
    assert hours[15] == pytest.approx(1.4)
    assert hours[3] == pytest.approx(0.6)
    assert sum(hours) / 24 == pytest.approx(1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Rhythm(swing=1.0)


def write(path: Path, lines: list[object]) -> Path:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


GOOD = {"timestamp": 0, "input_length": 1000, "output_length": 10, "hash_ids": [0, 1]}
NEXT = {"timestamp": 4000, "input_length": 700, "output_length": 5, "hash_ids": [0, 2]}


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_a_trace_is_played_at_the_wanted_pace_with_its_blocks_cut(tmp_path: Path, name: str) -> None:
    workload = Mooncake(read_trace(write(tmp_path / name, [NEXT, "", GOOD])))
    first, second, third = islice(workload.requests(0, lambda at: 2.0, 100.0, 256), 3)
    # 1,000 tokens in blocks of 256: three whole ones, two of the trace's first block, one of its second
    assert (first.prompt.tokens, len(first.prompt.blocks)) == (1000, 3)
    assert second.prompt.blocks[:2] == first.prompt.blocks[:2]
    assert third.prompt == first.prompt  # over and over
    # a mean gap of 2 s (4 s over 2 requests) at 2 a second: the recorded 4 s become 1 s
    assert (first.at, second.at) == (100.0, 101.0)


def test_a_trace_of_one_moment_is_played_in_even_gaps(tmp_path: Path) -> None:
    workload = Mooncake(read_trace(write(tmp_path / "trace.jsonl", [GOOD, GOOD])))
    assert [request.at for request in islice(workload.requests(0, lambda at: 2.0, 100.0, 256), 3)] == [100, 100.5, 101]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "trace.jsonl:3: no JSON: Expecting property name"),
        ("[" * 100_000, "trace.jsonl:3: no JSON that can be used"),
        ([], "trace.jsonl:3: it is no JSON object"),
        ({**GOOD, "timestamp": float("nan")}, "trace.jsonl:3: timestamp must be a number of milliseconds"),
        ({**GOOD, "timestamp": "0"}, "trace.jsonl:3: timestamp must be a number of milliseconds"),
        ({"timestamp": 0}, "trace.jsonl:3: input_length must be a whole number above 0"),
        ({**GOOD, "input_length": 1000.5}, "trace.jsonl:3: input_length must be a whole number above 0"),
        ({**GOOD, "output_length": -1}, "trace.jsonl:3: output_length must be a whole number"),
        ({**GOOD, "hash_ids": [1, -1]}, "trace.jsonl:3: hash_ids must be a list of whole numbers"),
        ({**GOOD, "hash_ids": [1]}, "trace.jsonl:3: 1 hash_ids are too few for 1000 tokens"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(tmp_path: Path, line: object, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_trace(write(tmp_path / "trace.jsonl", [GOOD, "", line]))
    assert told in str(refused.value)
    assert "\n" not in refused.value.line()


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no request"):
        read_trace(write(tmp_path / "empty.jsonl", []))
    with pytest.raises(UsageError, match="can't be read"):
        read_trace(tmp_path / "none.jsonl")
    whole = write(tmp_path / "cut.jsonl.gz", [GOOD] * 50).read_bytes()
    for broken in (whole[:-12], b"no gzip", whole[:20] + bytes(30) + whole[50:]):
        (tmp_path / "cut.jsonl.gz").write_bytes(broken)
        with pytest.raises(UsageError, match="can't be read"):
            read_trace(tmp_path / "cut.jsonl.gz")


def test_a_trace_whose_blocks_can_not_be_cut_to_the_engine_s_is_refused() -> None:
    with pytest.raises(UsageError, match="can't be cut into 48"):
        Mooncake((Line(0.0, 100, 1, (1,)),)).requests(0, lambda at: 1.0, 0.0, 48)


def test_a_trace_takes_the_place_of_an_endpoint_s_traffic_with_as_many_tokens(tmp_path: Path) -> None:
    path = write(tmp_path / "a=b.jsonl", [GOOD, NEXT])
    simulated = fleet(requests_per_second=2.0)
    endpoint = simulated.endpoints["chat"]
    play_traces(simulated, [f"chat={path}"])
    assert endpoint.workload == simulated.usual["chat"]
    # prompts of 1,000 and 700 tokens are shorter than chats: more of them
    pace = endpoint.requests_per_second
    assert pace > 2.0
    play_traces(simulated, [str(path)])  # at the first endpoint again: as many tokens as the trace had before
    assert endpoint.requests_per_second == pytest.approx(pace)
    simulated.advance(60.0)
    lengths = {replica.truth.prompt_tokens / replica.truth.requests for replica in endpoint.replicas}
    assert all(700 <= length <= 1000 for length in lengths)
    shift = BY_FAULT["workload-shift"]
    for on in (True, False):
        simulated.switch(shift, FaultTarget("chat"), on=on)
    assert endpoint.workload == simulated.usual["chat"]
