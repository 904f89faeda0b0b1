"""Addresses of a Prometheus, as people type and paste them."""

from __future__ import annotations

import pytest

from tierdeck.server_address import ServerAddress


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("prometheus:9090", "http://prometheus:9090"),
        (" http://prometheus:9090/ ", "http://prometheus:9090"),
        ("https://mimir.example/prometheus", "https://mimir.example/prometheus"),
        ("http://vm:8481/select/0/prometheus/", "http://vm:8481/select/0/prometheus"),
        ("http://prometheus:9090/graph", "http://prometheus:9090"),
        ("https://aps.example/workspaces/ws-1/api/v1/query", "https://aps.example/workspaces/ws-1"),
        ("https://aps.example/workspaces/ws-1/api/v1/query_range", "https://aps.example/workspaces/ws-1"),
        ("http://[::1]:9090", "http://[::1]:9090"),
    ],
)
def test_it_is_made_what_the_api_lies_under(typed: str, url: str) -> None:
    assert ServerAddress.parse(typed).url == url


def test_user_and_password_are_kept_apart_and_not_shown() -> None:
    address = ServerAddress.parse("https://me:p%40ss@prometheus.example/mon")
    assert (address.url, address.username, address.password) == ("https://prometheus.example/mon", "me", "p@ss")
    assert "p@ss" not in repr(address)


@pytest.mark.parametrize(
    "typed",
    ["ftp://x", "http://", "http://x:99999", "http://x:abc", "http://me:secret@x/?query=up", "http://me:secret@"],
)
def test_what_is_none_is_refused_without_its_password(typed: str) -> None:
    with pytest.raises(ValueError, match="it") as caught:
        ServerAddress.parse(typed)
    assert "secret" not in str(caught.value)
