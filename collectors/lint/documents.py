"""What kind of document a file holds, and the queries in it, through all wrappings."""

from __future__ import annotations

from pathlib import Path

from collectors.lint.boards import is_board, read_board
from collectors.lint.files import documents, parse_json, parse_yaml
from collectors.lint.found import Found, items, mapping, text
from collectors.lint.rulefiles import is_rule_file, read_rules
from tierdeck.errors import UsageError


def read_file(path: Path) -> Found:
    """All queries of a file.

    Raises:
        UsageError: it can't be read, or holds neither boards nor rules.
    """
    found = Found()
    waiting = documents(path)
    usable = 0
    while waiting:
        document = waiting.pop(0)
        if isinstance(document, list):
            waiting[:0] = items(document)
        elif isinstance(document, dict):
            if is_rule_file(document):
                usable += 1
                read_rules(document, found)
            elif is_board(document):
                usable += 1
                read_board(document, found)
            else:
                waiting[:0] = _inside(document, str(path))
    if not usable:
        raise UsageError(
            f"{path} holds neither a Grafana board nor Prometheus rules", "A board has panels, a rule file has groups."
        )
    return found


def _inside(document: dict[str, object], name: str) -> list[object]:
    """The documents that a mapping wraps."""
    kind = document.get("kind")
    if kind == "List":
        return list(items(document.get("items")))
    if kind == "ConfigMap":
        return [one for key, value in mapping(document.get("data")).items() for one in _embedded(key, value, name)]
    if kind == "GrafanaDashboard":
        return _embedded("board.json", mapping(document.get("spec")).get("json"), name)
    for key in ("dashboard", "spec"):
        inner = mapping(document.get(key))
        if inner and (key == "dashboard" or is_board(inner) or is_rule_file(inner)):
            return [inner]
    model = mapping(document.get("model"))
    return [{"panels": [model]}] if isinstance(model.get("targets"), list) else []


def _embedded(key: str, value: object, name: str) -> list[object]:
    """A file within a manifest; what is neither JSON nor YAML by its name is left alone."""
    body = text(value)
    if body.lstrip().startswith("{"):
        return [parse_json(body, f"{key} in {name}")]
    if key.endswith((".yaml", ".yml", ".rules")) and body.strip():
        return parse_yaml(body, f"{key} in {name}")
    return []
