"""A small page of a pod, over HTTP, where the controller can reach it."""

from __future__ import annotations

from collections.abc import Callable

import urllib3

Fetch = Callable[[str], bytes | None]
"""The page at a URL; None where it can't be had."""
_SECONDS = 3.0
_MOST_BYTES = 16 * 2**20


def fetch(url: str) -> bytes | None:
    """The page, if it is answered with 200 in time."""
    try:
        with urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=_SECONDS)) as pool:
            answer = pool.request("GET", url, preload_content=False, redirect=False)
            body = answer.read(_MOST_BYTES, decode_content=True)
            return bytes(body) if answer.status == 200 else None
    except (urllib3.exceptions.HTTPError, OSError, ValueError):
        return None
