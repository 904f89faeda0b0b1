"""The colours of figures, light and dark; one per source of tokens, the same on every chart.

The tokens of pages and widgets are in `.streamlit/config.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from console.segments import Source

FONT = '"Source Sans", sans-serif'


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as `#RRGGBB`. `scale` runs from a hit ratio of 0 to one of 1; `alert` is for what fires, and nothing
    else.
    """

    background: str
    raised: str
    border: str
    text: str
    muted: str
    primary: str
    recomputed: str
    hatching: str
    alert: str
    scale: tuple[str, str, str]

    def of(self, source: Source) -> str:
        """Fill of a segment."""
        own = {
            Source.L0: "#F0A92B",
            Source.L1: "#17A398",
            Source.L2: "#3D6BE0",
            Source.LOWER: "#3D6BE0",
            Source.MISS: self.recomputed,
            Source.TRANSFER: "#9A7BC8",
            Source.UNKNOWN: self.raised,
        }
        return own[source]

    def swatch(self, source: Source) -> str:
        """The segment's colour where it stands alone on the page."""
        return self.muted if source is Source.UNKNOWN else self.of(source)

    def hatch(self, source: Source) -> tuple[str, str] | None:
        """Shape and colour of the lines over the fill; None: a plain fill."""
        hatches = {
            Source.LOWER: ("/", "#17A398"),
            Source.MISS: ("/", self.hatching),
            Source.TRANSFER: ("|", self.hatching),
            Source.UNKNOWN: (".", self.muted),
        }
        return hatches.get(source)

    def pattern(self, source: Source) -> dict[str, object]:
        """The hatching as Plotly takes it, for bars and for areas."""
        hatch = self.hatch(source)
        if hatch is None:
            return {"shape": ""}
        lines = {
            Source.LOWER: {"fgopacity": 1.0, "size": 12, "solidity": 0.5},
            Source.UNKNOWN: {"fgopacity": 0.45, "size": 9, "solidity": 0.12},
        }.get(source, {"fgopacity": 0.5, "size": 8, "solidity": 0.25})
        return {"shape": hatch[0], "fillmode": "overlay", "fgcolor": hatch[1], **lines}

    def on(self, source: Source) -> str:
        """Text on the segment, by contrast."""
        if source in (Source.L2, Source.LOWER):
            return "#FFFFFF"
        return self.text if source is Source.UNKNOWN else "#101522"


LIGHT = Palette(
    background="#FBFBFD",
    raised="#F1F3F8",
    border="#DDE2EC",
    text="#1C2333",
    muted="#667085",
    primary="#2F5FD0",
    recomputed="#A3ABBD",
    hatching="#FBFBFD",
    alert="#C4283C",
    scale=("#ECE7F6", "#A58AD0", "#452A7C"),
)
DARK = Palette(
    background="#0E1320",
    raised="#161D2E",
    border="#2A3347",
    text="#E6EAF2",
    muted="#8E98AD",
    primary="#7AA2FF",
    recomputed="#7C8499",
    hatching="#C6CEDF",
    alert="#FF7383",
    scale=("#241C3B", "#7A5DB5", "#E3D8FA"),
)


def faint(color: str, opacity: float) -> str:
    """The colour as Plotly and style sheets take it, seen through."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def current() -> Palette:
    """The palette of the theme that the viewer's browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT
