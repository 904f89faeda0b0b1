"""The five numbers of a pool, each with what stands behind it."""

from __future__ import annotations

from console.headlines import Headline
from console.pool_figures import PoolFigures
from console.windows import Window
from console.words import age_words, ratio_words, short_reason
from tierdeck.figure import Figure
from tierdeck.l2.computation import POOL_COMPUTATIONS
from tierdeck.l2.fill import full_words, hours_words, is_full
from tierdeck.units import format_count, format_size

_DAY_SECONDS = 86400.0
_WORTH_TELLING = 0.02
"""Of the capacity: less than that, taken by others, is the file system's own."""


def pool_headlines(found: PoolFigures, window: Window) -> tuple[Headline, ...]:
    """In the order in which an operator asks."""
    read, written = found.read_rate, found.written_rate
    return (
        _headline("used", ratio_words(found.used), found.used.reason, _room(found)),
        _time_to_full(found),
        _workers(found),
        _headline("reads", rate_words(read), read.reason, f"{rate_words(written)} written, last {window.words}"),
        _errors(found, window),
    )


def rate_words(rate: Figure) -> str:
    """`118 MiB/s`."""
    return f"{format_size(rate.value)}/s" if rate.value is not None else short_reason(rate.reason)


def _time_to_full(found: PoolFigures) -> Headline:
    fill, available = found.fill, found.account.available_bytes
    pace = fill.pace.value
    below = f"{format_size(abs(pace))}/s {'net written' if pace >= 0 else 'net freed'}" if pace is not None else ""
    if available is not None and is_full(available, found.account.live):
        return _headline("time_to_full", "full", "", full_words(available, found.account.live))
    if pace is None:
        return _headline("time_to_full", short_reason(fill.pace.reason), fill.pace.reason, "")
    left = fill.left_seconds.value
    if not fill.is_losing or left is None:
        return _headline("time_to_full", "not filling", "", f"{format_size(available)} free" if available else "")
    words = hours_words(left) if left < 2 * _DAY_SECONDS else age_words(left)
    return _headline("time_to_full", words, "", f"{below}, last hour")


def _workers(found: PoolFigures) -> Headline:
    account = found.account
    if account.live is None:
        return _headline("workers", "not known", account.reason or "the pool does not tell it", "")
    others = {
        "blacklisted": account.blacklisted,
        "being drained": account.decommissioned,
        "lost": account.lost,
    }
    away = [f"{count:.0f} {name}" for name, count in others.items() if count]
    known = [count for count in others.values() if count is not None]
    value = f"{account.live:.0f} of {account.live + sum(known):.0f}" if known else f"{account.live:.0f}"
    return _headline("workers", value, "", " · ".join(away) or "none missing" if known else "no master tells others")


def _errors(found: PoolFigures, window: Window) -> Headline:
    failed = found.failed
    if failed.value is None:
        return _headline("errors", short_reason(failed.reason), failed.reason, "")
    since, unread = found.at - window.seconds, sum(not health.is_read for _, health in found.mounts)
    where = sum(bool(one.member.mount and (one.member.mount.failed_at or 0.0) > since) for one, _ in found.mounts)
    many, read = len(found.mounts), len(found.mounts) - unread
    none = f"none on {read} mount{'' if read == 1 else 's'}"
    on = f"{where} of {many} mounts had some" if where else none
    parts = (on, f"{unread} not read" if unread else "", f"last {window.words}")
    return _headline("errors", format_count(failed.value), "", ", ".join(filter(None, parts)))


def _room(found: PoolFigures) -> str:
    account = found.account
    if account.used_bytes is None or not account.capacity_bytes:
        return ""
    parts = [f"{format_size(account.used_bytes)} of {format_size(account.capacity_bytes)}"]
    others = found.others_bytes.value
    if others is not None and others > _WORTH_TELLING * account.capacity_bytes:
        parts.append(f"{format_size(others)} others'")
    return " · ".join(parts)


def _headline(key: str, value: str, reason: str, below: str) -> Headline:
    how = POOL_COMPUTATIONS[key]
    return Headline(how.title, value, reason or below, reason, how.markdown())
