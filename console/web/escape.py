"""Names and evidence from outside, made harmless where they stand in Markdown or in Plotly's text."""

from __future__ import annotations

import html
import re

_CODE = re.compile(r"`([^`]+)`")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-!|~$<>:])")


def escaped(text: str) -> str:
    """For Markdown: every mark stands for itself; a bare `12:30:00` would also make the browser load emoji."""
    return _MARKDOWN.sub(r"\\\1", text)


def marked(text: str) -> str:
    """For Markdown: what stands between backticks stays code, in which no mark means anything; the rest as `escaped`.

    Line ends become spaces: code does not reach over an empty line.
    """
    parts = _CODE.split(" ".join(text.split()))
    return "".join(f"`{part}`" if number % 2 else escaped(part) for number, part in enumerate(parts))


def coded(text: str) -> str:
    """For HTML; what stands between backticks is code."""
    return _CODE.sub(r"<code style='font-size:.92em'>\1</code>", html.escape(text))


def plain(text: str) -> str:
    """For Plotly, which reads some HTML in its texts."""
    return html.escape(text, quote=False)
