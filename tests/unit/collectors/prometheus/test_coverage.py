"""What a Prometheus can't tell of a fleet is told as notes."""

from __future__ import annotations

from tests.support.expositions import vllm
from tests.support.prometheus_targets import a_cache, an_engine, in_pod, observed, on_host
from tierdeck.notes import Note, NoteCode


def notes(*targets: tuple[dict[str, str], str], seconds: int = 15) -> dict[str, list[Note]]:
    return {key.replica: sorted(found) for key, found in observed(*targets, seconds=seconds).notes.items()}


def test_a_fleet_that_tells_everything_has_no_notes() -> None:
    assert notes((in_pod("chat-0"), an_engine()), (in_pod("chat-0", 8080), a_cache())) == {}


def test_replicas_without_lmcache_beside_others_that_have_it_are_counted() -> None:
    engines = [(in_pod(f"chat-{number}"), an_engine()) for number in range(6)]
    caches = [(in_pod(f"chat-{number}", 8080), a_cache()) for number in (0, 5)]
    found = notes(*engines, *caches)
    assert set(found) == {"chat-1", "chat-2", "chat-3", "chat-4"}
    detail = "4 of 6 replicas of chat have no LMCache series in this Prometheus"
    assert found["chat-1"] == [Note(NoteCode.SERIES_MISSING, detail, "chat-1")]


def test_a_shared_lmcache_server_is_everybodys() -> None:
    assert notes((in_pod("chat-0"), an_engine()), (in_pod("lmcache-0", 8080), a_cache())) == {}


def test_an_embedded_lmcache_is_one_as_well() -> None:
    embedded = an_engine() + "lmcache:num_lookup_tokens_total 5\n"
    assert set(notes((in_pod("chat-0"), an_engine()), (in_pod("chat-1"), embedded))) == {"chat-0"}


def test_series_without_pod_and_instance_may_hide_replicas() -> None:
    (found,) = notes(({"job": "vllm"}, an_engine()))["all"]
    assert found.code is NoteCode.LABELS_MISSING


def test_scrapes_that_are_far_apart_lose_what_was_before_a_restart() -> None:
    (found,) = notes((on_host("a"), an_engine()), seconds=120)["a"]
    assert (found.code, found.detail[:19]) == (NoteCode.SPARSE_SCRAPES, "scraped every 120 s")
    assert notes((on_host("a"), an_engine()), seconds=60) == {}


def test_families_that_were_dropped_are_named() -> None:
    (found,) = notes((on_host("a"), vllm(10, 5, requests=1)))["a"]
    assert found.code is NoteCode.SERIES_MISSING
    assert "this Prometheus has no vllm:time_to_first_token_seconds of this engine" in found.detail
