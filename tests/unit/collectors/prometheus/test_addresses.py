"""Which target a series belongs to, what kind of target it is, and what is forgotten."""

from __future__ import annotations

import pytest

from collectors.prometheus.addresses import Address, Catalogue, longest_interval
from tests.support.prometheus_targets import T0, a_cache, a_router, an_engine, asked, in_pod, on_host
from tierdeck.fleet import SourceKind

EMBEDDED = 'lmcache:num_lookup_tokens_total{worker_id="0"} 5\n'
WORKER = "capacity 10\navailable 4\nfs_used 6\n"
MASTER = WORKER + 'worker_num{tag="live"} 1\n'


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (an_engine(), SourceKind.VLLM),
        (an_engine() + EMBEDDED, SourceKind.VLLM),
        (EMBEDDED, SourceKind.LMCACHE),
        (a_cache(), SourceKind.LMCACHE_MP),
        ('lmcache_coordinator_key_directory_placement_bytes{tier="l2"} 5\n', SourceKind.LMCACHE_COORDINATOR),
        (a_router(), SourceKind.ROUTER),
        ('vllm:num_requests_running{server="http://10.0.0.1:8000"} 1\n', SourceKind.ROUTER),  # copies, nothing else
        ('curvine_fuse_io_bytes{io_type="read"} 5\n', SourceKind.CURVINE_FUSE),
        (WORKER, SourceKind.CURVINE_WORKER),
        (MASTER, SourceKind.CURVINE_MASTER),
        ("capacity 10\n", None),  # a name that anybody may use
    ],
)
def test_the_kind_of_a_target_shows_by_its_names(page: str, kind: SourceKind | None) -> None:
    (address,) = asked((on_host("h"), page)).catalogue.addresses
    assert address.kind is kind


def test_the_longest_interval_is_that_of_what_is_ours_and_was_seen_twice() -> None:
    ours, slow, new, other = (Address({}, {name}) for name in ("vllm:num_requests_running",) * 3 + ("capacity",))
    assert longest_interval([ours, new]) is None
    ours.interval_seconds, slow.interval_seconds, other.interval_seconds = 15.0, 60.0, 300.0
    assert longest_interval([ours, slow, new, other]) == 60.0


def test_labels_of_up_are_the_targets_own_and_not_on_its_page() -> None:
    asking = asked((on_host("h", team="x", rack="7"), an_engine()))
    (address,) = asking.catalogue.addresses
    assert address.labels == {"instance": "h:8000", "job": "vllm", "model_name": "m", "rack": "7", "team": "x"}
    (pages,) = asking.raw(T0 - 1, T0).values()
    assert pages.pages[0].lines['vllm:prefix_cache_queries_total{engine="0",model_name="m"}'] == "100"


def test_an_exporters_labels_stay_on_its_page_as_they_were_written() -> None:
    page = 'vllm:prefix_cache_queries_total{engine="0",model_name="a \\"b\\" \\\\ c"} 7\n'
    (pages,) = asked((on_host("h"), page)).raw(T0 - 1, T0).values()
    assert pages.pages[0].body() == f"# put together from the series of a Prometheus\n{page}"


def test_a_series_is_placed_by_its_labels_whatever_followed_the_one_before_it_the_last_time() -> None:
    catalogue = Catalogue()
    a, b, c = ({"__name__": "vllm:num_requests_running", **on_host(name)} for name in "abc")
    for answer in ((a, b, c), (a, b, c), (a, c, b), (b, a), (a, c)):
        place = None
        for labels in answer:
            place = catalogue.place(labels, place)
            assert place.address.labels == {name: labels[name] for name in ("instance", "job")}
    assert catalogue.size == 3


def test_what_follows_another_series_is_placed_anew_once_its_target_has_labels_of_its_own() -> None:
    catalogue = Catalogue()
    a, b = ({"__name__": "vllm:num_requests_running", **on_host(name, team="x")} for name in "ab")
    before = catalogue.place(b, catalogue.place(a))
    assert "team" in before.text
    catalogue.learn_labels([{**b, "__name__": "up"}])
    after = catalogue.place(b, catalogue.place(a))
    assert (after.address.labels["team"], after.text) == ("x", "vllm:num_requests_running")


def test_a_new_target_with_labels_of_its_own_leaves_the_others_as_they_are() -> None:
    catalogue = Catalogue()
    old, new = on_host("a", team="x"), on_host("b", team="y")
    catalogue.learn_labels([{**old, "__name__": "up"}])
    known = catalogue.place({"__name__": "vllm:num_requests_running", **old}).address
    catalogue.learn_labels([{**old, "__name__": "up"}, {**new, "__name__": "up"}])
    assert catalogue.addresses == [known]
    assert catalogue.place({"__name__": "vllm:num_requests_running", **old}).address is known


def test_a_target_that_has_a_new_label_is_placed_anew() -> None:
    catalogue = Catalogue()
    series = {"__name__": "vllm:num_requests_running", **on_host("a", team="x")}
    assert catalogue.place(series).text == 'vllm:num_requests_running{team="x"}'
    catalogue.learn_labels([{**on_host("a", team="x"), "__name__": "up"}])
    assert catalogue.place(series).text == "vllm:num_requests_running"
    assert [address.labels["team"] for address in catalogue.addresses] == ["x"]


def test_what_was_not_scraped_for_long_is_forgotten_with_its_series() -> None:
    asking = asked((in_pod("chat-0"), an_engine()), (in_pod("chat-1"), an_engine()))
    size = asking.catalogue.size
    next(one for one in asking.catalogue.addresses if one.labels["pod"] == "chat-0").seen_at -= 100
    asking.catalogue.forget(T0 - 50)
    assert [address.labels["pod"] for address in asking.catalogue.addresses] == ["chat-1"]
    assert asking.catalogue.size == size / 2


def test_targets_without_a_job_are_asked_about_too() -> None:
    asking = asked(({"instance": "h:8000"}, an_engine()), (on_host("other", job="node"), "x 1\n"))
    (pages,) = asking.raw(T0 - 1, T0).values()
    assert pages.pages[0].lines["process_start_time_seconds"] == str(T0 - 1000)
    assert len(asking.catalogue.addresses) == 1  # and `up` of other jobs is not


def test_an_address_without_pod_and_instance_is_like_others() -> None:
    assert Address({"job": "vllm"}).is_alike
    assert not Address({"job": "vllm", "pod": "chat-0"}).is_alike
    assert Address({"job": "vllm", "pod": "chat-0", "tier": "x"}).told == "job=vllm pod=chat-0"
