"""Facts about deployments as JSON: exact there and back; what an older version wrote is read with the defaults."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter

from tierdeck.deployed import Deployed, Node


def dump_fact(fact: Deployed | Node) -> str:
    """The same fact is the same text: texts are what is compared to see whether anything changed."""
    text = _deployed().dump_json(fact) if isinstance(fact, Deployed) else _node().dump_json(fact)
    return text.decode()


def load_deployed(text: str) -> Deployed:
    """A field that the text lacks has its default, one that is no longer known is passed over."""
    return _deployed().validate_json(text)


def load_node(text: str) -> Node:
    """Likewise."""
    return _node().validate_json(text)


@cache
def _deployed() -> TypeAdapter[Deployed]:
    return TypeAdapter(Deployed)


@cache
def _node() -> TypeAdapter[Node]:
    return TypeAdapter(Node)
