"""`--set NAME=VALUE` of a stage's plan, read against a model that knows the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tierdeck.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)


def read_wishes(model: type[Model], values: Mapping[str, str], usual: Mapping[str, Any]) -> Model:
    """The model with these values.

    Args:
        usual: what holds where nothing is said, as the cluster tells it.

    Raises:
        UsageError: there is no such name, or the value can't be used.
    """
    known = ", ".join(sorted(model.model_fields)) or "none"
    unknown = sorted(values.keys() - model.model_fields.keys())
    if unknown:
        raise UsageError(f"--set {unknown[0]}: this stage has no such value", f"It has: {known}.")
    try:
        return model.model_validate({**usual, **values})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        words = str(model.model_fields[name].description)
        raise UsageError(f"--set {name}={values.get(name, '')}: {words} is needed") from error


def parse_sets(written: list[str]) -> dict[str, str]:
    """`NAME=VALUE`, several times.

    Raises:
        UsageError: one is no such pair, or a name is given twice.
    """
    found: dict[str, str] = {}
    for one in written:
        name, is_pair, value = one.partition("=")
        if not is_pair or not name:
            raise UsageError(f"--set {one}: NAME=VALUE is needed")
        if name in found:
            raise UsageError(f"--set {name} is given twice")
        found[name] = value
    return found
