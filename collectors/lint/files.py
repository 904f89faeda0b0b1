"""Files as documents: JSON or YAML, read without trusting a byte of them."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tierdeck.errors import UsageError

LARGEST_BYTES = 16 * 1024 * 1024
LARGEST_YAML_BYTES = 4 * 1024 * 1024
MOST_NODES = 1_000_000
"""Entries of a YAML file with each alias written out: a few lines can stand for billions."""
_HINT = "A Grafana board as JSON or a Prometheus rule file as YAML is wanted."


def documents(path: Path) -> list[object]:
    """What a file holds; a YAML file may hold several documents. YAML's scalars are all text.

    Raises:
        UsageError: it can't be read, is too large or neither JSON nor YAML.
    """
    text = _text(path)
    if text.lstrip()[:1] in ("{", "[") and path.suffix not in (".yaml", ".yml"):
        return [parse_json(text, str(path))]
    return parse_yaml(text, str(path))


def _text(path: Path) -> str:
    if path.is_dir():
        raise UsageError(f"{path} is a directory", _HINT)
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no regular file", _HINT)
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            limit = LARGEST_BYTES // 1024**2
            raise UsageError(f"{path} has {size / 1024**2:.0f} MiB, and more than {limit} MiB are not read", _HINT)
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"can't read {path}: {reason}") from error
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8", _HINT) from error
    if "\0" in text:
        raise UsageError(f"{path} is not text", _HINT)
    if not text.strip():
        raise UsageError(f"{path} is empty", _HINT)
    return text


def parse_json(text: str, name: str) -> object:
    """One JSON document.

    Raises:
        UsageError: it is none; `name` says what was read.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name} is not JSON: {error.msg} in line {error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is JSON that can't be read: {_reason(error)}") from error


def parse_yaml(text: str, name: str) -> list[object]:
    """The documents of a YAML text, its scalars as text; aliases stay shared, merge keys are not followed.

    Raises:
        UsageError: it is none; `name` says what was read.
    """
    if len(text) > LARGEST_YAML_BYTES:
        raise UsageError(f"{name} is YAML of more than {LARGEST_YAML_BYTES // 1024**2} MiB", _HINT)
    # nothing but text, lists and mappings comes out of the base loader
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        found = [document for document in yaml.load_all(text, Loader=loader) if document]
        size = _size(found, {})
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        hint = "A chart's template has to be rendered first: helm template." if "{{" in text else ""
        raise UsageError(f"{name} is not YAML: {error.problem or error.context}{line}", hint) from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{name} is YAML that can't be read: {_reason(error)}") from error
    if size > MOST_NODES:
        raise UsageError(f"{name} grows beyond {MOST_NODES} entries by its aliases")
    return found


def _size(value: object, known: dict[int, int]) -> int:
    """Entries below a value, aliases written out."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(one, known) for one in inner)
    return known[id(value)]


def _reason(error: BaseException) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())[:200]
