"""Everything that the first page needs, done once before anybody looks: imports, figures, the store's first answers."""

from __future__ import annotations

import time

from console import queries
from console.web import shell  # noqa: F401  # imports every view
from console.web.figures.frame import TimeAxis
from console.web.figures.tier_area import tier_area
from console.web.figures.tier_bar import tier_bar
from console.web.figures.ttft import ttft_lines
from console.web.palette import LIGHT
from console.windows import DEFAULT
from tierdeck.errors import TierdeckError


def warm() -> None:
    """A store that does not answer yet is not waited for."""
    try:
        story = queries.fleet_view(DEFAULT, time.time()).story
    except TierdeckError:
        return
    axis = TimeAxis(story.span.start, story.span.end)
    for figure in (
        tier_bar(story.segments, LIGHT),
        tier_area(story.shares, axis, LIGHT, ""),
        ttft_lines(story.ttft, axis, LIGHT, ""),
    ):
        figure.to_json()
