"""The fleet's table as real text: links that carry the window, words for what is unknown, trends with their gaps.

Markup of our own, since `st.dataframe` draws no gaps in its sparklines, can't say why a cell is
empty, and doubles what a browser loads before the first paint. Styles touch nothing outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import urlencode

from console.fleet_page import EndpointRow
from console.web.palette import Palette
from console.web.sparks import mini_bar, spark
from tierdeck.computation import computation

_MOST_HEIGHT = 620
"""Pixels; a longer table scrolls within itself, under its head."""
_CELL = "padding:3px 10px;vertical-align:middle;white-space:nowrap"
_CUT = "max-width:210px;overflow:hidden;text-overflow:ellipsis"


_HOW = {"state": "state", "hit ratio": "hit_ratio.by_token", "TTFT": "ttft_seconds"}
"""Whose computation the head of a column tells."""


def endpoint_table(rows: Sequence[EndpointRow], palette: Palette, window: str) -> str:
    """HTML; every text from outside is escaped."""
    several = len({row.cluster for row in rows}) > 1
    more = [name for name in ("owners", "drift") if any(getattr(row, name) for row in rows)]
    heads = [
        "endpoint", *(["cluster"] if several else []), "state", "model", "replicas", "strategy", *more, "hit ratio",
        "served by", f"hit ratio, {window}", "TTFT p95", f"TTFT p95, {window}", "notes",
    ]  # fmt: skip
    head = "".join(_head(text, palette) for text in heads)
    line = f"border-top:1px solid {palette.border}"
    body = "".join(
        f"<tr style='{line}'>{''.join(_cells(row, palette, window, [*more, *(['cluster'] if several else [])]))}</tr>"
        for row in rows
    )
    frame = f"border:1px solid {palette.border};border-radius:8px;overflow:auto;max-height:{_MOST_HEIGHT}px"
    return (
        f"<div style='{frame}'><table style='width:100%;border-collapse:collapse;font-size:14px' "
        f"aria-label='Endpoints'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _head(text: str, palette: Palette) -> str:
    sticky = f"position:sticky;top:0;background:{palette.raised};color:{palette.muted}"
    style = f"{_CELL};padding:9px 10px;{sticky};text-align:left;font-weight:400"
    key = next((key for name, key in _HOW.items() if text.startswith(name)), "")
    told = f" title='{escape(computation(key).sentence)}'" if key else ""
    return f"<th scope='col' style='{style}'{told}>{escape(text)}</th>"


def _cells(row: EndpointRow, palette: Palette, window: str, more: Sequence[str]) -> Iterator[str]:
    asked = urlencode({"cluster": row.cluster, "endpoint": row.name, "window": window})
    style = f"color:{palette.primary};font-weight:600;text-decoration:none"
    link = f"<a href='endpoint?{escape(asked)}' target='_self' style='{style}'>{escape(row.name)}</a>"
    yield _cell(link, _CUT, row.name)
    if "cluster" in more:
        yield _cell(escape(row.cluster))
    yield _cell(escape(row.state))
    yield _cell(escape(row.model), _CUT, row.model)
    yield _cell(escape(row.replicas))
    yield _cell(escape(f"✓ {row.strategy}" if row.is_proved else row.strategy or "not told"))
    if "owners" in more:
        yield _cell(escape(row.owners or "–"), _CUT, row.owners or "nothing else writes to it, or it is not told")
    if "drift" in more:
        yield _cell(escape(f"≠ {row.drift}" if row.drift else "–"), "", row.drift_words)
    yield _cell(_share(row, palette), "", row.why)
    yield _cell(_image(mini_bar(row.segments, palette), "tokens by tier"))
    yield _cell(_image(spark(row.hit_trend, palette.primary, high=1.0), "hit ratio over time, from 0 to 100 %"))
    yield _cell(escape(row.ttft_p95))
    yield _cell(_image(spark(row.ttft_trend, palette.muted), "TTFT p95 over time, from 0"))
    yield _cell(str(row.notes), "text-align:right")


def _cell(inner: str, style: str = "", hint: str = "") -> str:
    told = f" title='{escape(hint)}'" if hint else ""
    return f"<td style='{_CELL};{style}'{told}>{inner}</td>"


def _share(row: EndpointRow, palette: Palette) -> str:
    """A bar with its percent, or the words for why there is none."""
    if row.hit_percent is None:
        return f"<span style='color:{palette.muted}'>{escape(row.hit_words)}</span>"
    track = f"display:inline-block;width:64px;height:6px;border-radius:3px;background:{palette.border}"
    fill = f"width:{row.hit_percent:.0f}%;height:6px;border-radius:3px;background:{palette.primary}"
    return f"<span style='{track}'><div style='{fill}'></div></span>&nbsp; {escape(row.hit_words)}"


def _image(uri: str, words: str) -> str:
    return f"<img src='{uri}' alt='{escape(words)}' title='{escape(words)}' style='display:block'>" if uri else ""
