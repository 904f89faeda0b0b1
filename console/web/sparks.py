"""Small pictures in table cells, as data URIs of SVG: a trend with its gaps, and a bar of tiers."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from itertools import groupby

from console.segments import Segment
from console.trends import Trend
from console.web.palette import Palette

_WIDTH, _HEIGHT, _EDGE = 104, 28, 3


def spark(values: Trend, color: str, high: float | None = None) -> str:
    """A line from 0 to `high` (by default the largest value); a lone value is a dot; "" without any."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return ""
    top = (high if high is not None else max(known)) or 1.0
    step = (_WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    points = [
        (_EDGE + index * step, _HEIGHT - _EDGE - min(1.0, value / top) * (_HEIGHT - 2 * _EDGE))
        for index, value in enumerate(values)
    ]
    pieces = []
    for finite, run in groupby(zip(points, values, strict=True), key=lambda pair: math.isfinite(pair[1])):
        if finite:
            pieces.append(_piece([point for point, _ in run], color))
    return _svg("".join(pieces))


def mini_bar(parts: Sequence[Segment], palette: Palette) -> str:
    """The tier bar of one endpoint, the size of a cell."""
    x, pieces = 0.0, []
    for part in parts:
        width = part.share * _WIDTH
        pieces.append(_box(x, width, palette.of(part.source)))
        hatch = palette.hatch(part.source)
        if hatch is not None:
            pieces.append(_lines(x, width, hatch[1]))
        x += width
    return _svg("".join(pieces)) if pieces else ""


def _piece(points: Sequence[tuple[float, float]], color: str) -> str:
    if len(points) == 1:
        return f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="1.6" fill="{color}"/>'
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.6" stroke-linejoin="round"/>'


def _box(x: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="7" width="{max(0.0, width - 1):.1f}" height="14" fill="{color}"/>'


def _lines(x: float, width: float, color: str) -> str:
    """Hatching: strokes that lean to the right."""
    strokes = "".join(
        f"M{start:.1f} 21 L{min(start + 5, x + width - 1):.1f} 7" for start in _steps(x, x + width - 5, 6)
    )
    return f'<path d="{strokes}" stroke="{color}" stroke-width="1.4" stroke-opacity="0.6" fill="none"/>'


def _steps(start: float, end: float, step: float) -> list[float]:
    return [start + index * step for index in range(max(0, math.ceil((end - start) / step)))]


def _svg(body: str) -> str:
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">{body}</svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"
