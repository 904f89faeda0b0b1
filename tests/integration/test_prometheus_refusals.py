"""What a server that is not well, or not a Prometheus, says: each becomes one kind of error, told in one line."""

from __future__ import annotations

import base64
import re
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from collectors.prometheus.errors import (
    AccessRefusedError,
    IncompleteAnswerError,
    NotPrometheusError,
    QueryRefusedError,
    QueryTooLargeError,
    ServerBusyError,
    ServerUnreachableError,
)
from collectors.prometheus.server import Server
from collectors.prometheus.session import Session
from tests.support.http_replies import Canned, refusal, replying, result
from tierdeck.errors import TierdeckError, UnreachableError, UsageError
from tierdeck.settings import Settings

ONE = {"metric": {"pod": "a"}, "value": [1, "5"]}
FINE = result(ONE)
BUSY = refusal(429, "too_many_requests", "the request rate is too high")
TOO_LARGE = {
    "samples": refusal(422, "execution", "query processing would load too many samples into memory in query execution"),
    "series of Mimir": refusal(422, "execution", "the query exceeded the maximum number of series (limit: 100)"),
    "samples of VictoriaMetrics": refusal(
        422, "422", f'error when executing query="{"x" * 400}": cannot select more than -search.maxSamplesPerQuery=9'
    ),
    "points": refusal(400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries"),
    "time": refusal(503, "timeout", "query timed out in expression evaluation"),
    "a proxy's time": Canned(504, "<html><h1>504 Gateway Time-out</h1></html>"),
    "body": Canned(413, "Request Entity Too Large"),
    "address": Canned(414, "<html>Request-URI Too Large</html>"),
}
NO_PROMETHEUS = {
    "a page": Canned(200, "<!DOCTYPE html><html><body>Sign in, please</body></html>", {"Content-Type": "text/html"}),
    "another API": Canned(200, '{"database": "ok"}'),
    "nothing": Canned(200, ""),
    "half of it": Canned(200, '{"status": "success", "data": {"resultType": "vec'),
    "no result": Canned(200, '{"status": "success", "data": {}}'),
    "another path": Canned(404, "404 page not found"),
    "a VictoriaMetrics cluster without its path": Canned(400, 'unsupported path requested: "/api/v1/query"'),
    "a log-in page": Canned(302, "", {"Location": "https://login.example/start?state=SECRET"}),
}
BUSY_ALWAYS = {
    "rate": BUSY,
    "start": Canned(503, "Service Unavailable"),
    "queue": refusal(503, "timeout", "query timed out in query queue"),
    "a proxy": Canned(502, "<html><h1>502 Bad Gateway</h1></html>"),
    "a mesh": Canned(
        503, "upstream connect error or disconnect/reset before headers. reset reason: connection timeout"
    ),
    "a store of Thanos": refusal(422, "execution", "expanding series: rpc error: code = Unavailable desc = no route"),
    "a cut": Canned(is_cut=True),
}


class Waits(list[float]):
    """Takes the place of waiting, and keeps how long it would have been."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def connected(url: str, waits: Waits | None = None, **settings: Any) -> Server:
    return Server.of(Settings(prometheus_url=url, **settings), wait=waits if waits is not None else Waits())


def told(reply: Canned, kind: type[TierdeckError], **settings: Any) -> str:
    """The line about a server that answers so for ever; it holds nothing of a web page."""
    with replying(reply) as there, connected(there.url, **settings) as server:
        with pytest.raises(kind) as caught:
            server.instant("up", 1)
        assert there.url in str(caught.value)
    line = caught.value.line()
    assert "<" not in line
    assert len(line) < 700
    return line


@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_is_too_large_can_be_told_from_what_is_wrong(what: str) -> None:
    told(TOO_LARGE[what], QueryTooLargeError)


def test_a_long_refusal_shows_its_reason() -> None:
    assert "-search.maxSamplesPerQuery" in told(TOO_LARGE["samples of VictoriaMetrics"], QueryTooLargeError)


def test_words_of_the_query_do_not_make_it_too_large() -> None:
    reply = refusal(422, "422", 'error when executing query="limit_exceeded{x=\\"too many\\"}": unknown function')
    told(reply, QueryRefusedError)


@pytest.mark.parametrize("what", NO_PROMETHEUS)
def test_what_is_no_prometheus_is_told_so(what: str) -> None:
    line = told(NO_PROMETHEUS[what], NotPrometheusError)
    assert "SECRET" not in line


@pytest.mark.parametrize("what", BUSY_ALWAYS)
def test_a_busy_server_is_asked_three_times(what: str) -> None:
    waits = Waits()
    with replying(BUSY_ALWAYS[what]) as there, connected(there.url, waits) as server:
        with pytest.raises(ServerBusyError) as caught:
            server.instant("up", 1)
        assert len(there.asked) == 3
    assert waits == [1, 4]
    assert isinstance(caught.value, UnreachableError)


def test_a_server_that_was_busy_once_is_read_all_the_same() -> None:
    waits = Waits()
    busy = refusal(429, "", "slow down", **{"Retry-After": "7"})
    with replying(busy, FINE) as there, connected(there.url, waits) as server:
        assert server.instant("up", 1) == [ONE]
    assert waits == [7]


def test_a_moment_to_come_back_may_be_a_date() -> None:
    waits = Waits()
    busy = refusal(503, "", "", **{"Retry-After": formatdate(time.time() + 9, usegmt=True)})
    with replying(busy, FINE) as there, connected(there.url, waits) as server:
        server.instant("up", 1)
    assert 1 <= waits[0] <= 9


def test_one_that_wants_long_to_be_left_alone_is_not_waited_for() -> None:
    waits = Waits()
    with replying(refusal(429, "", "", **{"Retry-After": "3600"})) as there, connected(there.url, waits) as server:
        with pytest.raises(ServerBusyError) as caught:
            server.instant("up", 1)
        assert len(there.asked) == 1
    assert waits == []
    assert caught.value.retry_after_seconds == 3600


def test_a_server_that_keeps_silent_is_given_up() -> None:
    with replying(Canned(is_held=True)) as there:
        session = Session(there.url, seconds=0.2)
        server = Server(session, there.url, timeout_seconds=0.1, wait=Waits())
        with server, pytest.raises(QueryTooLargeError, match="did not answer a query within"):
            server.instant("up", 1)
        assert len(there.asked) <= 1  # asking again as much would take as long


@pytest.mark.parametrize(
    "more",
    [{"isPartial": True}, {"warnings": ["receive series from Addr: 10.0.0.7: context deadline exceeded"]}],
    ids=["VictoriaMetrics", "Thanos"],
)
def test_an_answer_that_says_it_is_incomplete_is_no_answer(more: dict[str, Any]) -> None:
    told(result(ONE, **more), IncompleteAnswerError)


def test_a_remark_that_nothing_is_missing_makes_no_answer_incomplete() -> None:
    remarks = [
        'PromQL info: metric might not be a counter, name does not end in _total: "up"',
        "PromQL warning: quantile value should be between 0 and 1, got 2",
        "No StoreAPIs matched for this query",
    ]
    fine = result(ONE, warnings=remarks, infos=remarks[:1], isPartial=False)
    with replying(fine) as there, connected(there.url) as server:
        assert server.instant("up", 1) == [ONE]


def test_what_is_asked_forbids_partial_and_downsampled_answers() -> None:
    with replying(FINE) as there, connected(there.url, prometheus_timeout_seconds=7) as server:
        server.instant('up{pod="a b"}', 1.5)
        server.over("up", 0, 60, 0.5)
        instant, over = there.asked
    assert instant.method == "GET"
    assert instant.target.startswith("/api/v1/query?")
    assert over.target.startswith("/api/v1/query_range?")
    always = {"timeout": "7000ms", "max_source_resolution": "0s", "partial_response": "false", "nocache": "1"}
    for asked in (instant, over):
        assert always.items() <= asked.parameters.items()
        assert asked.parameters["deny_partial_response"] == "1"
        assert "X-Scope-OrgID" not in asked.headers
    assert (instant.parameters["query"], instant.parameters["time"]) == ('up{pod="a b"}', "1.500")
    assert [over.parameters[name] for name in ("start", "end", "step")] == ["0", "60", "0.5"]


def test_a_missing_tenant_is_told_and_a_tenant_is_sent() -> None:
    assert "TIERDECK_PROMETHEUS_TENANT" in told(Canned(401, "no org id\n"), AccessRefusedError)
    with replying(FINE) as there, connected(there.url, prometheus_tenant="team-a|team-b") as server:
        server.instant("up", 1)
        assert there.asked[0].headers["X-Scope-OrgID"] == "team-a|team-b"


def test_who_may_not_is_told_in_the_servers_words() -> None:
    words = "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: aps:QueryMetrics"
    assert "aps:QueryMetrics" in told(Canned(403, f'{{"message": "{words}"}}'), AccessRefusedError)
    assert "403" in told(Canned(403, "<html>Forbidden</html>"), AccessRefusedError)


def test_a_token_that_was_renewed_is_used_from_the_next_query_on(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    with replying(FINE) as there, connected(there.url, prometheus_token_file=token) as server:
        server.instant("up", 1)
        renewed = tmp_path / "renewed"
        renewed.write_text("second\n")
        renewed.replace(token)  # as the kubelet does
        server.instant("up", 1)
        assert [asked.headers["Authorization"] for asked in there.asked] == ["Bearer first", "Bearer second"]
        token.unlink()
        with pytest.raises(UsageError, match="token can't be read"):
            server.instant("up", 1)


@pytest.mark.parametrize("words", ["", "two\nlines", "not-ascii-é"])
def test_a_token_file_without_one_token_is_refused_at_once(tmp_path: Path, words: str) -> None:
    (tmp_path / "token").write_text(words)
    with pytest.raises(UsageError, match="TIERDECK_PROMETHEUS_TOKEN_FILE") as caught:
        connected("http://127.0.0.1:9", prometheus_token_file=tmp_path / "token")
    assert not words or words not in caught.value.line()


def test_credentials_in_the_address_are_sent_and_never_told() -> None:
    with replying(Canned(401, "Unauthorized")) as there:
        with (
            connected(there.url.replace("//", "//me:p%40ss:word@")) as server,
            pytest.raises(AccessRefusedError) as caught,
        ):
            server.instant("up", 1)
        assert there.asked[0].headers["Authorization"] == f"Basic {base64.b64encode(b'me:p@ss:word').decode()}"
    for text in (caught.value.line(), repr(caught.value.__cause__), repr(server)):
        assert not re.search("p@ss|p%40ss", text)


def test_no_help_text_is_worth_a_failure() -> None:
    for reply in (Canned(404, "no"), Canned(403, "no"), BUSY, Canned(200, '{"status": "success", "data": null}')):
        with replying(reply) as there, connected(there.url) as server:
            assert server.help_text("up") == ""
            assert len(there.asked) == 1
    with pytest.raises(ServerUnreachableError):
        connected(there.url).help_text("up")


def test_the_clock_of_victoriametrics_is_a_vector() -> None:
    with replying(result({"metric": {}, "value": [1, "1760000000.5"]})) as there, connected(there.url) as server:
        assert server.server_time() == 1760000000.5
        assert "time" not in there.asked[0].parameters
