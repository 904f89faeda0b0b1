"""Configuration written as YAML: strict reading, and what is wrong with it in words for who wrote it."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import ValidationError

from tierdeck.errors import UsageError

_WORDS = {
    "missing": "missing",
    "too_short": "empty, at least one entry is needed",
    "extra_forbidden": "there is no such key",
    "string_type": "text is needed",
    "int_type": "a whole number is needed",
    "int_parsing": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "float_type": "a number is needed",
    "float_parsing": "a number is needed",
    "bool_type": "true or false is needed",
    "bool_parsing": "true or false is needed",
    "tuple_type": "a list is needed, each entry after a dash",
    "dict_type": "keys with values are needed",
    "model_type": "keys with values are needed",
    "enum": "one of {expected} is needed",
    "greater_than": "a number above {gt} is needed",
    "greater_than_equal": "a number of at least {ge} is needed",
    "less_than": "a number below {lt} is needed",
    "less_than_equal": "a number of at most {le} is needed",
    "value_error": "{error}",
}


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice, where plain YAML would silently take the last."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise yaml.constructor.ConstructorError(problem=f"{twice[0]} is given twice", problem_mark=node.start_mark)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_yaml(text: str, where: str) -> object:
    """The document.

    Raises:
        UsageError: not YAML, or a key is given twice.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{where}: not YAML: {' '.join(str(error).split())[:300]}") from error


def refusal(error: ValidationError, where: str, hint: str) -> UsageError:
    """What is wrong with a document's first bad key, as one line."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    words = _WORDS.get(first["type"], "this value can't be used").format(**first.get("ctx", {}))
    return UsageError(f"{where}: {key or 'file'}: {words}", hint)
