"""What an endpoint's engines have counted of chats, from their own pages; every sum is worked by hand."""

from __future__ import annotations

from controller.changes.planner import Load
from controller.probe.chats import chatted, with_chats
from controller.probe.counters import Counted, chats_counted
from tests.support.http_replies import Canned, replying
from tierdeck.fleet import FLEET, Endpoint, Replica, ReplicaKey, SourceKind, Target

BEFORE = Load(running=3.0, request_seconds=1.5)
COMPLETIONS = 'http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 40.0\n'
CHATS = (
    'http_requests_total{handler="/v1/chat/completions",method="POST",status="2xx"} 15.0\n'
    'http_requests_total{handler="/v1/chat/completions",method="POST",status="4xx"} 2.0\n'
)
STARTED = "process_start_time_seconds 1.7999e+09\n"


def endpoint(*urls: str, shared: str = "") -> Endpoint:
    replicas = [(f"chat-{number}", url) for number, url in enumerate(urls)]
    named = [*replicas, *([(FLEET, shared)] if shared else [])]
    made = []
    for name, url in named:
        key = ReplicaKey("east", "inference/chat", name)
        made.append(Replica(key, (Target(key, SourceKind.VLLM, url), Target(key, SourceKind.LMCACHE, f"{url}/cache"))))
    return Endpoint("east", "inference/chat", tuple(made))


def test_a_page_tells_chats_of_every_status_and_when_its_process_started() -> None:
    assert chats_counted(COMPLETIONS + CHATS + STARTED) == Counted(17.0, 1_799_900_000.0)
    assert chats_counted(COMPLETIONS + STARTED) == Counted(0.0, 1_799_900_000.0)


def test_a_page_of_several_processes_has_no_start() -> None:
    assert chats_counted(COMPLETIONS + CHATS) == Counted(17.0, None)


def test_a_page_that_names_no_path_tells_nothing_of_chats() -> None:
    assert chats_counted(STARTED) is None
    assert chats_counted(STARTED + 'http_requests_total{method="POST"} 9.0\n') is None


def test_chats_of_all_engines_are_added() -> None:
    # 15 + 2 = 17; of the two that chatted the first started at 100, the silent one does not count
    found = chatted(BEFORE, [Counted(15.0, 200.0), Counted(2.0, 100.0), Counted(0.0, 50.0), None])
    assert found == Load(running=3.0, request_seconds=1.5, chats=17.0, chats_since=100.0)


def test_since_when_is_not_told_where_one_that_chatted_does_not_tell_its_start() -> None:
    found = chatted(BEFORE, [Counted(15.0, 200.0), Counted(2.0, None)])
    assert (found.chats, found.chats_since) == (17.0, None)


def test_without_chats_it_is_free_since_the_last_engine_started() -> None:
    found = chatted(BEFORE, [Counted(0.0, 200.0), Counted(0.0, 100.0)])
    assert found == Load(running=3.0, request_seconds=1.5, chat_free_since=200.0)


def test_one_that_can_t_be_read_or_has_no_start_leaves_it_unknown() -> None:
    assert chatted(BEFORE, [Counted(0.0, 200.0), None]) == BEFORE
    assert chatted(BEFORE, [Counted(0.0, 200.0), Counted(0.0, None)]) == BEFORE
    assert chatted(BEFORE, []) == BEFORE


def test_each_engine_s_page_is_read_once() -> None:
    with replying(Canned(body=COMPLETIONS + CHATS + STARTED)) as one, replying(Canned(body=COMPLETIONS)) as other:
        found = with_chats(BEFORE, endpoint(f"{one.url}/metrics", f"{other.url}/metrics", shared=f"{one.url}/shared"))
    assert (found.chats, found.chats_since) == (17.0, 1_799_900_000.0)
    assert [asked.target for asked in (*one.asked, *other.asked)] == ["/metrics", "/metrics"]


def test_pages_that_can_t_be_read_tell_nothing() -> None:
    page = COMPLETIONS + STARTED
    failing = (
        Canned(500, page),
        Canned(302, headers={"Location": "/elsewhere"}),
        Canned(is_cut=True),
        Canned(body=COMPLETIONS + "process_start_time_seconds soon\n"),
    )
    for canned in failing:
        with replying(canned) as one, replying(Canned(body=page)) as other:
            assert with_chats(BEFORE, endpoint(one.url, other.url)) == BEFORE
            assert {asked.target for asked in one.asked} == {"/"}  # no redirect is followed
