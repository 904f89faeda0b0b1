"""Grafana's boards of the panels, as its JSON: the fleet, and an endpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from alerting.export import names
from alerting.export.panels import Line, Panel, endpoint_panels, fleet_panels
from alerting.export.promql import Scope
from alerting.export.rule_file import Document

_SCHEMA = 39
_HEIGHT = 8
_DATASOURCE = "${datasource}"
COLOURS = {"L0": "#1f6feb", "L1+L2": "#2da44e", "computed": "#8c959f", "L1": "#2da44e", "L2": "#bf8700"}
"""One colour a tier, on every panel."""


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """What boards can be told; without a data source's uid one is chosen on the board."""

    scope: Scope = field(default_factory=Scope)
    datasource_uid: str = ""


def boards(options: BoardOptions) -> dict[str, Document]:
    """By name: `fleet` and `endpoint`."""
    scope = options.scope
    chosen = replace(scope, match=(*scope.match, *(f'{label}=~"${label}"' for label in _chosen(scope))))
    one = {label: label != "model_name" for label in _chosen(scope)}
    return {
        "fleet": _board(options, "Tierdeck: fleet", fleet_panels(chosen), dict.fromkeys(_chosen(scope), True)),
        "endpoint": _board(options, "Tierdeck: endpoint", endpoint_panels(chosen), one),
    }


def board_text(board: Document) -> str:
    """As JSON, as Grafana imports and provisions it."""
    return json.dumps(board, indent=2) + "\n"


def _chosen(scope: Scope) -> tuple[str, ...]:
    return tuple(label for label in scope.by if label in ("namespace", "model_name"))


def _board(options: BoardOptions, title: str, panels: Sequence[Panel], several: dict[str, bool]) -> Document:
    source: Document = {"type": "prometheus", "uid": options.datasource_uid or _DATASOURCE}
    variables: list[Document] = []
    if not options.datasource_uid:
        variables.append({"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"})
    variables += [_variable(options.scope, label, source, is_many=many) for label, many in several.items()]
    return {
        "title": title,
        "uid": title.lower().replace(": ", "-"),
        "tags": ["tierdeck"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "templating": {"list": variables},
        "panels": [_panel(panel, number, source) for number, panel in enumerate(panels)],
    }


def _variable(scope: Scope, label: str, source: Document, *, is_many: bool) -> Document:
    """Values of a label; all of them is `.*`, so that series without it (caches, pools) stay."""
    names_ = "|".join(names.PROCESSED_TOKENS.spelled())
    inside = ",".join((f'__name__=~"{names_}"', *scope.match))
    query = f"label_values({{{inside}}}, {label})"
    return {
        "name": label,
        "label": label.replace("_", " "),
        "type": "query",
        "datasource": source,
        "query": {"query": query, "refId": label},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": is_many,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(panel: Panel, number: int, source: Document) -> Document:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.note,
        "datasource": source,
        "gridPos": {"x": 12 * (number % 2), "y": _HEIGHT * (number // 2), "w": panel.width, "h": _HEIGHT},
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "custom": {
                    "drawStyle": "line",
                    "lineWidth": 1,
                    "fillOpacity": 40 if panel.stacked else 0,
                    "spanNulls": False,
                    "showPoints": "auto",
                    "stacking": {"mode": "normal" if panel.stacked else "none"},
                },
            },
            "overrides": [_coloured(line.legend) for line in panel.lines if line.legend in COLOURS],
        },
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [_target(line, chr(ord("A") + place), source) for place, line in enumerate(panel.lines)],
    }


def _coloured(name: str) -> Document:
    colour = {"id": "color", "value": {"mode": "fixed", "fixedColor": COLOURS[name]}}
    return {"matcher": {"id": "byName", "options": name}, "properties": [colour]}


def _target(line: Line, ref: str, source: Document) -> Document:
    return {"refId": ref, "expr": line.expr, "legendFormat": line.legend, "datasource": source, "range": True}
