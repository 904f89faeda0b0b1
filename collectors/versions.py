"""Component versions: what a process answers when it is asked for its own, and as numbers that compare.

Upstream: vLLM answers `GET /version` with `{"version": "0.32.0"}` (vllm/entrypoints/serve/instrumentator/basic.py),
LMCache's multi-process server and its API inside the engine with `"0.5.6-g3e11e108"`, version and commit, of which
either may be `NA` (lmcache/utils.py, `get_version`). No exposition that was recorded carries a version of theirs.
"""

from __future__ import annotations

import asyncio
import json
import re
from urllib.parse import urljoin

from collectors.fetch import Fetcher
from tierdeck.fleet import Target

WITHIN_SECONDS = 1.0
"""A process that answers its metrics answers this at once."""
_MOST_BYTES = 16 * 1024
_VERSION = re.compile(r"v?\d{1,6}(?:\.\d{1,6})+[0-9A-Za-z.+_]{0,64}")


def parse_version(text: str) -> tuple[int, ...] | None:
    """`0.11.1`, `v0.32.0+cpu`, `0.12.0rc1` -> (0, 11, 1) …; None where there is no number."""
    match = re.match(r"v?(\d{1,6}(?:\.\d{1,6})*)", text.strip())
    return tuple(int(part) for part in match[1].split(".")) if match else None


def read_version(text: str) -> str:
    """The version in an answer: a JSON object's `version`, a JSON string or plain text; empty where it is none.

    What follows a dash, such as LMCache's commit, is no part of it.
    """
    told: object = text
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        told = document.get("version") if isinstance(document, dict) else document
    version = told.strip().partition("-")[0] if isinstance(told, str) else ""
    return version if _VERSION.fullmatch(version) else ""


def version_url(target: Target) -> str:
    """`/version` beside the target's metrics, whatever path a proxy puts in front of both."""
    return urljoin(target.url.partition("?")[0].rstrip("/"), "version")


async def ask_version(fetcher: Fetcher, target: Target, within_seconds: float = WITHIN_SECONDS) -> str:
    """What the process behind a target says; empty where it does not answer in time, or not with a version."""
    try:
        async with asyncio.timeout(min(WITHIN_SECONDS, within_seconds)):
            fetched = await fetcher.fetch(version_url(target), _MOST_BYTES)
    except TimeoutError:
        return ""
    return "" if fetched.reason else read_version(fetched.text)


def agree(stated: str, told: str) -> bool:
    """The stated version is the one that the process told; one of them may leave a build (`+cpu`) out."""
    one, other = (text.strip().removeprefix("v").partition("-")[0] for text in (stated, told))
    return one == other or other == one.partition("+")[0] or one == other.partition("+")[0]
