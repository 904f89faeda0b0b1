"""The edge to a Prometheus against the real server: queries, limits, credentials, TLS, prefix."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.prometheus.errors import (
    AccessRefusedError,
    NotPrometheusError,
    QueryRefusedError,
    QueryTooLargeError,
    ServerUnreachableError,
)
from collectors.prometheus.server import Server
from tests.support.certificates import make_certificates
from tests.support.processes import wait_until
from tests.support.prometheus import Prometheus, load_openmetrics, running_prometheus
from tierdeck.errors import UnreachableError
from tierdeck.settings import Settings

T0 = 1_760_000_000
"""First of 20 samples 15 s apart, 0 to 19, of two series."""
SAMPLES = (
    "# HELP tokens Tokens that were counted.\n# TYPE tokens counter\n"
    + "".join(f'tokens_total{{pod="{pod}"}} {n} {T0 + 15 * n}\n' for pod in ("a", "b") for n in range(20))
    + "# EOF\n"
)
USERS = "basic_auth_users: {reader: $2b$04$axiN7uUSOFn1KIvL2Sjw9.tadTm3nbd91bdlUCMg8LdriPyiDeAFu}\n"  # let-me-in


def connected(url: str, **settings: Any) -> Server:
    """A client that loses no time between its tries."""
    return Server.of(Settings(prometheus_url=url, **settings), wait=lambda _: None)


def why(url: str, kind: type[Exception], **settings: Any) -> str:
    """The line that an operator reads."""
    with connected(url, **settings) as server, pytest.raises(kind) as caught:
        server.server_time()
    assert isinstance(caught.value, UnreachableError | AccessRefusedError | NotPrometheusError)
    return caught.value.line()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    load_openmetrics(folder, SAMPLES)
    with running_prometheus(folder, "{}", "--query.max-samples=30") as server:
        yield server


def test_a_range_selector_gives_the_samples_as_they_were_stored(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server:
        (series,) = server.instant('tokens_total{pod="a"}[45s]', T0 + 60)
    assert series["metric"] == {"__name__": "tokens_total", "pod": "a"}
    # Prometheus 2 takes in both ends of [15, 60]; 3 leaves out the first
    assert [tuple(sample) for sample in series["values"]][-3:] == [(T0 + 30, "2"), (T0 + 45, "3"), (T0 + 60, "4")]


def test_an_instant_has_the_latest_value_of_each_series(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server:
        answer = server.instant("tokens_total", T0 + 61.5)
    assert [(one["metric"]["pod"], one["value"][1]) for one in answer] == [("a", "4"), ("b", "4")]


def test_a_range_has_a_value_a_step_with_both_ends(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server:
        (series,) = server.over("sum(tokens_total)", T0, T0 + 30, 15)
    assert [value for _, value in series["values"]] == ["0", "2", "4"]  # two series of 0, 1, 2


def test_what_nothing_matches_is_an_empty_answer(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server:
        assert server.instant("no_such_metric", T0) == []


def test_the_servers_clock_is_ours_on_this_machine(prometheus: Prometheus) -> None:
    before = time.time()
    with connected(prometheus.url) as server:
        assert before - 1 <= server.server_time() <= time.time() + 1


def test_more_samples_than_allowed_is_a_query_too_large(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server:
        assert len(server.instant("tokens_total[2m]", T0 + 300)) == 2  # 2 series × 8 samples or so
        with pytest.raises(QueryTooLargeError, match="too many samples"):
            server.instant("tokens_total[5m]", T0 + 300)  # 2 × 20 are more than 30


def test_more_points_than_allowed_is_a_query_too_large(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server, pytest.raises(QueryTooLargeError, match="11,000 points"):
        server.over("tokens_total", T0, T0 + 86400, 1)


def test_a_query_that_is_none_is_refused(prometheus: Prometheus) -> None:
    with connected(prometheus.url) as server, pytest.raises(QueryRefusedError, match="parse error"):
        server.instant('limit_exceeded{pod="a"', T0)


def test_a_help_text_is_what_a_target_said_and_else_empty(tmp_path: Path) -> None:
    scrape = "scrape_configs: [{job_name: self, scrape_interval: 1s, static_configs: [{targets: ['%s']}]}]"
    with running_prometheus(tmp_path) as prometheus, connected(prometheus.url) as server:
        prometheus.reload(scrape % prometheus.url.removeprefix("http://"))
        wait_until(lambda: server.help_text("prometheus_build_info") != "", "the first scrape")
        assert "prometheus was built" in server.help_text("prometheus_build_info")
        assert server.help_text("tokens_total") == ""


def test_a_restart_keeps_address_and_data_and_the_client_goes_on(tmp_path: Path) -> None:
    load_openmetrics(tmp_path, SAMPLES)
    with running_prometheus(tmp_path) as prometheus, connected(prometheus.url) as server:
        assert len(server.instant("tokens_total", T0)) == 2
        prometheus.restart()
        assert len(server.instant("tokens_total", T0)) == 2
        prometheus.stop()
        with pytest.raises(ServerUnreachableError, match="nothing listens there"):
            server.instant("tokens_total", T0)


def test_a_path_prefix_belongs_to_the_address(tmp_path: Path) -> None:
    with running_prometheus(tmp_path, "{}", "--web.route-prefix=/mon") as prometheus:
        for ending in ("/mon", "/mon/", "/mon/graph", "/mon/api/v1/query"):
            with connected(prometheus.url + ending) as server:
                assert server.server_time() > T0
        assert "no API of a Prometheus" in why(prometheus.url, NotPrometheusError)
        assert "/select/0/prometheus" in why(prometheus.url, NotPrometheusError)


def test_a_user_and_password_come_from_the_address_or_a_file(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("let-me-in\n")
    with running_prometheus(tmp_path, web=USERS) as prometheus:
        with connected(prometheus.url.replace("//", "//reader:let%2Dme-in@")) as server:
            assert server.server_time() > T0
        with connected(prometheus.url, prometheus_username="reader", prometheus_password_file=password) as server:
            assert server.server_time() > T0
            password.write_text("wrong-one")
            with pytest.raises(AccessRefusedError) as caught:
                server.server_time()
            assert "wrong-one" not in caught.value.line()
        assert "TIERDECK_PROMETHEUS_TOKEN_FILE" in why(prometheus.url, AccessRefusedError)
        wrong = why(prometheus.url.replace("//", "//reader:guess@"), AccessRefusedError)
        assert prometheus.url in wrong
        assert "guess" not in wrong


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority of our own, `ca.pem`, and what it signed: `server` for 127.0.0.1, and `client`."""
    return make_certificates(tmp_path_factory.mktemp("certificates"), server="IP:127.0.0.1", client="IP:127.0.0.1")


def tls(certificates: Path) -> str:
    return f"tls_server_config: {{cert_file: {certificates}/server.pem, key_file: {certificates}/server.key"


def test_a_certificate_is_checked_against_the_authority_that_was_named(tmp_path: Path, certificates: Path) -> None:
    with running_prometheus(tmp_path, web=tls(certificates) + "}\n") as prometheus:
        with connected(prometheus.url, prometheus_ca_file=certificates / "ca.pem") as server:
            assert server.server_time() > T0
        untrusted = why(prometheus.url, ServerUnreachableError)
        assert "is not trusted" in untrusted
        assert "TIERDECK_PROMETHEUS_CA_FILE" in untrusted
        other_name = prometheus.url.replace("127.0.0.1", "localhost")
        mismatch = why(other_name, ServerUnreachableError, prometheus_ca_file=certificates / "ca.pem")
        assert "mismatch" in mismatch.lower()
        assert "https://" in why(prometheus.url.replace("https", "http"), NotPrometheusError)


def test_a_server_may_want_a_client_certificate(tmp_path: Path, certificates: Path) -> None:
    ca, certificate, key = (certificates / name for name in ("ca.pem", "client.pem", "client.key"))
    mutual = f", client_auth_type: RequireAndVerifyClientCert, client_ca_file: {ca}}}\n"
    with running_prometheus(tmp_path, web=tls(certificates) + mutual) as prometheus:
        shown = {"prometheus_cert_file": certificate, "prometheus_key_file": key}
        with connected(prometheus.url, prometheus_ca_file=ca, **shown) as server:
            assert server.server_time() > T0
        assert "client certificate" in why(prometheus.url, UnreachableError, prometheus_ca_file=ca)


def test_a_server_without_tls_is_told_from_one_that_is_not_there(prometheus: Prometheus) -> None:
    assert "Begin the address with http://" in why(prometheus.url.replace("http", "https"), ServerUnreachableError)
    assert "name is not known" in why("http://prometheus.invalid:9090", ServerUnreachableError)
