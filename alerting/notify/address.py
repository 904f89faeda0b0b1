"""An address that is a secret as a whole: it shows itself as nothing, and credentials stand apart from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    """`url` without user and password; path and query often are the secret."""

    url: str = field(repr=False)
    login: tuple[bytes, bytes] | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `http://…` or `https://…`.

        Raises:
            ValueError: it is no such address; the sentence holds nothing of it.
        """
        try:
            parts = urlsplit(text.strip())
            port, host = parts.port, parts.hostname
        except ValueError:
            raise ValueError("it is no address") from None
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("it is no address that begins with http:// or https:// and names a host")
        place = f"[{host}]" if ":" in host else host
        place = place if port is None else f"{place}:{port}"
        login = (unquote(parts.username or "").encode(), unquote(parts.password or "").encode())
        url = parts._replace(netloc=place, fragment="").geturl()
        return cls(url, login if any(login) else None)
