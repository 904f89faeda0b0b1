"""The address of a Prometheus as a person types or pastes it: made canonical, credentials kept apart from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit

_ENDPOINTS = ("/api/v1/query_range", "/api/v1/query", "/api/v1", "/graph", "/query")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """`url` has scheme, host and path prefix only, without a slash at the end: safe to show."""

    url: str
    username: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """`host:port` is taken for http; the path of the API or of the web page at the end is cut off.

        Raises:
            ValueError: it is no such address; the sentence holds nothing of a password.
        """
        given = text.strip()
        parts = urlsplit(given if "://" in given else f"http://{given}")
        try:
            port = parts.port
        except ValueError:
            raise ValueError("its port is not a number from 0 to 65535") from None
        if parts.scheme not in ("http", "https"):
            raise ValueError("it begins with neither http:// nor https://")
        if not parts.hostname:
            raise ValueError("it names no host")
        if parts.query:
            raise ValueError("it holds a query (what follows the question mark); give the address without it")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        path = parts.path.rstrip("/")
        for ending in _ENDPOINTS:
            path = path.removesuffix(ending)
        place = host if port is None else f"{host}:{port}"
        return cls(f"{parts.scheme}://{place}{path}", unquote(parts.username or ""), unquote(parts.password or ""))
