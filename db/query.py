"""What a chart asks for."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Table

from tierdeck.resolution import Resolution


@dataclass(frozen=True, slots=True)
class Query:
    """A window in epoch seconds, how finely, and of whom; None: all."""

    start_at: float
    end_at: float
    resolution: Resolution
    cluster: str | None = None
    endpoint: str | None = None

    def rows(self, table: Table) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """The rows that touch the window: a raw row ends at its `at`, a rolled-up one begins there."""
        first = table.c.at > self.start_at - self.resolution.value
        is_raw = self.resolution is Resolution.RAW
        return first, table.c.at <= self.end_at if is_raw else table.c.at < self.end_at
