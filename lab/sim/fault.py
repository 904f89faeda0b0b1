"""What a fault is: something to switch on and off, and one line about what an operator sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lab.sim.fleet import Fleet

Address = tuple[str, str, str]
"""(endpoint or pool, replica or `_fleet`, source)."""


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """Where a fault is; an empty replica is the endpoint's first."""

    endpoint: str
    replica: str = ""


class Fault(Protocol):
    """One fault; `seen` says what an operator sees while it is on."""

    @property
    def name(self) -> str: ...

    @property
    def seen(self) -> str: ...

    def on(self, fleet: Fleet, target: FaultTarget) -> None: ...

    def off(self, fleet: Fleet, target: FaultTarget) -> None: ...

    def silences(self, address: Address, target: FaultTarget) -> bool:
        """The process at an address takes connections, and does not answer."""
        ...

    def delay_seconds(self, address: Address, target: FaultTarget) -> float:
        """How much longer the address takes to answer."""
        ...

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        """The exposition of an address as it looks with the fault on.

        Raises:
            NoAnswerError: it has none.
        """
        ...

    def version_told(self, text: str, address: Address, target: FaultTarget) -> str:
        """What the process at an address answers when asked for its version, with the fault on.

        Raises:
            NoAnswerError: nothing.
        """
        ...


class BaseFault:
    """A fault that does nothing: others say what they change."""

    name = ""
    seen = ""

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        """Begin."""

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        """End."""

    def silences(self, address: Address, target: FaultTarget) -> bool:
        return False

    def delay_seconds(self, address: Address, target: FaultTarget) -> float:
        return 0.0

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        return text

    def version_told(self, text: str, address: Address, target: FaultTarget) -> str:
        return text


def is_engine(address: Address, target: FaultTarget) -> bool:
    """The address is the vLLM page of the replica that the target names."""
    return _is_of(address, target) and address[2] == "vllm"


def is_cache(address: Address, target: FaultTarget) -> bool:
    """The address is the LMCache page of the replica that the target names."""
    return _is_of(address, target) and address[2] in ("lmcache", "lmcache-mp")


def _is_of(address: Address, target: FaultTarget) -> bool:
    return address[:2] == (target.endpoint, target.replica or f"{target.endpoint}-0")
