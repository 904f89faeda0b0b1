"""What an engine is told, by an argument or by a variable of AWS's images; what is not known ends the asking.

Source: AWS's vLLM images make `--x-y VALUE` of `SM_VLLM_X_Y`; an empty variable is the argument without a value.
"""

from __future__ import annotations

from controller.reading.fields import items, text
from controller.reading.processes import Process
from tierdeck.deployed import Stated

_OFF = ("false", "0", "no", "off")


class UntoldError(Exception):
    """A part of the identity is not told; the reason."""


def argument(engine: Process, name: str) -> str:
    """Its value; empty where it is not set."""
    own = engine.command.get(name)
    given = engine.environment.get(variable_of(name))
    value = told(own or given, "")
    if own and given and given.value != value and not _is_spelled_out(engine):
        raise UntoldError(f"{name} and {variable_of(name)} say different things")
    return value


def switch(engine: Process, name: str) -> bool:
    """A flag without a value is on."""
    variable = variable_of(name)
    given = engine.environment.get(variable)
    told(given, "")
    is_empty = given is None and any(text(one, "name") == variable for one in items(engine.container, "env"))
    return engine.command.has(name) or is_empty or (given is not None and given.value.lower() not in _OFF)


def told(stated: Stated | None, default: str) -> str:
    """
    Raises:
        UntoldError: it is set, and to what is not known.
    """
    if stated is None:
        return default
    if stated.reason:
        raise UntoldError(f"{stated.where}: {stated.reason}" if stated.where else stated.reason)
    return stated.value


def variable_of(name: str) -> str:
    return f"SM_VLLM_{name.removeprefix('--').replace('-', '_').upper()}"


def _is_spelled_out(engine: Process) -> bool:
    """It starts vLLM itself, so that no image's entry point looks at the variables."""
    return engine.command.runs("vllm", "serve") or engine.command.mentions("vllm.entrypoints")
