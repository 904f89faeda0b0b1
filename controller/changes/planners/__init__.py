"""The registry of planners."""

from __future__ import annotations

from controller.changes.planner import Planner

PLANNERS: tuple[Planner, ...] = ()
