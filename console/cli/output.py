"""What commands print: a document as JSON, or its text."""

from __future__ import annotations

import json
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def show(document: object, text: str, *, as_json: bool) -> None:
    """One of them, on stdout."""
    print(json.dumps(document, indent=2) if as_json else text)
