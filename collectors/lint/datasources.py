"""Which data source a Grafana query goes to: by type, by name, or through a variable."""

from __future__ import annotations

from collectors.lint.found import items, mapping, text
from collectors.lint.variables import holes

PROMETHEUS = ("prometheus", "grafana-amazonprometheus-datasource", "grafana-azureprometheus-datasource")
LIKE_PROMETHEUS = ("victoriametrics-metrics-datasource", "victoriametrics-datasource")
"""Their language has more than PromQL: what does not parse is passed over."""

_OTHERS = ("loki", "elastic", "opensearch", "sql", "postgres", "tempo", "jaeger", "influx", "cloudwatch", "pyroscope")
_OWN = ("__expr__", "-- Grafana --", "grafana", "-- Dashboard --", "datasource")


class DataSources:
    """The data sources that a board names."""

    def __init__(self, board: dict[str, object]) -> None:
        self._types: dict[str, str] = {}
        for variable in items(mapping(board.get("templating")).get("list")):
            if variable.get("type") == "datasource":
                self._types[text(variable.get("name"))] = text(variable.get("query"))
        for wanted in items(board.get("__inputs")):
            if wanted.get("type") == "datasource":
                self._types[text(wanted.get("name"))] = text(wanted.get("pluginId"))

    def kind(self, *mentions: object) -> str:
        """The type behind the first mention that tells one; empty where none does.

        Args:
            mentions: `datasource` of the query, then of the panel: a mapping, a name or nothing.
        """
        for mention in mentions:
            found = self._kind(mention)
            if found:
                return found
        return ""

    def _kind(self, mention: object) -> str:
        if isinstance(mention, dict):
            kind, uid = text(mention.get("type")), text(mention.get("uid"))
            return kind if kind else self._of_name(uid)
        return self._of_name(text(mention))

    def _of_name(self, name: str) -> str:
        for hole in holes(name):
            if hole.name in self._types:
                return self._types[hole.name]
        lower = name.lower()
        if name in _OWN:
            return "grafana"
        if "prometheus" in lower:
            return "prometheus"
        return next((word for word in _OTHERS if word in lower), "")


def is_logql(query: str) -> bool:
    """Whether a query has the pipe of LogQL outside of its strings: PromQL has none."""
    quote, escaped = "", False
    for char in query:
        if quote:
            escaped = char == "\\" and not escaped and quote != "`"
            quote = "" if char == quote and not escaped else quote
        elif char in "\"'`":
            quote = char
        elif char == "|":
            return True
    return False
