"""Grafana boards: panels in rows old and new, library panels, variables and annotations."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.lint.datasources import LIKE_PROMETHEUS, PROMETHEUS, DataSources, is_logql
from collectors.lint.found import Expression, Found, items, mapping, text
from collectors.lint.variables import holes


def is_board(document: dict[str, object]) -> bool:
    """Whether a mapping looks like a dashboard of Grafana."""
    panels = any(isinstance(document.get(key), list) for key in ("panels", "rows"))
    return panels or isinstance(document.get("elements"), dict) or "schemaVersion" in document


def read_board(board: dict[str, object], found: Found) -> None:
    """Add the queries of a board."""
    sources = DataSources(board)
    values = dict(_values(board))
    for panel in _panels(board):
        _read_panel(panel, sources, values, found)
    for variable in items(mapping(board.get("templating")).get("list")):
        _read_variable(variable, sources, values, found)
    for note in items(mapping(board.get("annotations")).get("list")):
        expr = text(note.get("expr")) or text(mapping(note.get("target")).get("expr"))
        if expr.strip() and sources.kind(note.get("datasource")) in ("", *PROMETHEUS):
            where = f'annotation "{text(note.get("name"))}"'
            found.expressions.append(Expression(where, expr, board=True, values=values, surely_prometheus=False))


def _values(board: dict[str, object]) -> Iterator[tuple[str, str]]:
    for variable in items(mapping(board.get("templating")).get("list")):
        value = mapping(variable.get("current")).get("value")
        yield text(variable.get("name")), text(value[0] if isinstance(value, list) and value else value)


def _panels(board: dict[str, object]) -> Iterator[dict[str, object]]:
    """All panels that can draw, rows opened and library panels put in."""
    library = mapping(board.get("__elements"))
    waiting = [*items(board.get("panels")), *_of_elements(board)]
    for row in items(board.get("rows")):
        waiting += items(row.get("panels"))
    while waiting:
        panel = waiting.pop(0)
        waiting[:0] = items(panel.get("panels"))
        if panel.get("type") == "row":
            continue
        shared = mapping(panel.get("libraryPanel"))
        if shared and not panel.get("targets"):
            model = shared.get("model") or mapping(library.get(text(shared.get("uid")))).get("model")
            panel = {"title": shared.get("name"), "library": not model, **mapping(model), "id": panel.get("id")}
        yield panel


def _of_elements(board: dict[str, object]) -> Iterator[dict[str, object]]:
    """Panels of a board of schema 2 in the shape of schema 1."""
    for name, element in mapping(board.get("elements")).items():
        spec = mapping(mapping(element).get("spec"))
        if mapping(element).get("kind") == "LibraryPanel":
            yield {"title": spec.get("title") or name, "library": True}
            continue
        data = mapping(mapping(spec.get("data")).get("spec"))
        targets = []
        for entry in items(data.get("queries")):
            asked = mapping(entry.get("spec"))
            query = mapping(asked.get("query"))
            kind = text(query.get("group")) or text(query.get("kind"))
            source = {"type": "" if kind == "DataQuery" else kind}
            targets.append({"refId": asked.get("refId"), "datasource": source, **mapping(query.get("spec"))})
        drawn = mapping(mapping(spec.get("vizConfig")).get("spec"))
        yield {
            "id": spec.get("id"),
            "title": spec.get("title"),
            "description": spec.get("description"),
            "targets": targets,
            "fieldConfig": drawn.get("fieldConfig"),
            "transformations": data.get("transformations"),
        }


def _read_panel(panel: dict[str, object], sources: DataSources, values: dict[str, str], found: Found) -> None:
    if panel.get("library"):
        found.skipped["library panel kept elsewhere"] += 1
        return
    title, number = " ".join(text(panel.get("title")).split()), text(panel.get("id"))
    place = f'panel "{title}"' if title else "a panel without a title"
    place += f" (id {number})" if number else ""
    targets = items(panel.get("targets"))
    unit = _unit(panel)
    for target in targets:
        kind = sources.kind(target.get("datasource"), panel.get("datasource"))
        expr = text(target.get("expr"))
        if kind not in ("", *PROMETHEUS, *LIKE_PROMETHEUS):
            found.skipped[kind] += 1
        elif not expr.strip():
            if any(key in target for key in ("rawSql", "query", "rawQuery")):
                found.skipped["no PromQL"] += 1
        elif kind == "" and is_logql(expr):
            found.skipped["loki"] += 1
        else:
            ref = text(target.get("refId"))
            words = " ".join((title, text(target.get("legendFormat")), text(panel.get("description"))))
            found.expressions.append(
                Expression(
                    f"{place}, query {ref}" if ref else place,
                    expr,
                    unit="" if target.get("hide") is True else unit,
                    board=True,
                    words=words.lower(),
                    values=values,
                    surely_prometheus=kind not in LIKE_PROMETHEUS,
                )
            )


def _unit(panel: dict[str, object]) -> str:
    """The unit in which a panel shows its figures; empty where it is more than one, or computed on first."""
    config = mapping(panel.get("fieldConfig"))
    for override in items(config.get("overrides")):
        if any(one.get("id") == "unit" for one in items(override.get("properties"))):
            return ""
    if panel.get("transformations") or any("yaxis" in one for one in items(panel.get("seriesOverrides"))):
        return ""
    axes = items(panel.get("yaxes"))
    old = text(axes[0].get("format")) if axes else text(panel.get("format"))
    return text(mapping(config.get("defaults")).get("unit")) or old


def _read_variable(variable: dict[str, object], sources: DataSources, values: dict[str, str], found: Found) -> None:
    """`label_values(metric, label)` and `query_result(expr)`: a dead name here empties the whole board."""
    if variable.get("type") != "query" or sources.kind(variable.get("datasource")) not in ("", *PROMETHEUS):
        return
    asked = variable.get("query")
    whole = (text(mapping(asked).get("query")) if isinstance(asked, dict) else text(asked)).strip()
    for function in ("label_values", "query_result"):
        if not whole.startswith(function + "(") or not whole.endswith(")"):
            continue
        start, end = len(function) + 1, len(whole) - 1
        if function == "label_values":
            end = _last_comma(whole)
        if end > start:
            where = f'variable "{text(variable.get("name"))}"'
            inner = whole[start:end].strip()
            found.expressions.append(
                Expression(
                    where,
                    inner,
                    board=True,
                    before=whole[:start],
                    after=whole[end:],
                    values=values,
                    surely_prometheus=False,
                )
            )


def _last_comma(whole: str) -> int:
    """Where the last argument begins; -1 where there is one only."""
    quoted = {place for hole in holes(whole) for place in range(hole.start, hole.end)}
    depth, quote, last = 0, "", -1
    for at, char in enumerate(whole):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 1 and at not in quoted:
            last = at
    return last
