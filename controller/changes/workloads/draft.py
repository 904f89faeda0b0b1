"""A plan in the making: containers as they will be, and what follows from that."""

from __future__ import annotations

from controller.changes.edits.arguments import with_argument
from controller.changes.edits.difference import edits_between
from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.variables import with_variable
from controller.changes.refused import RefusedError
from controller.changes.workloads.place import Place
from controller.objects import Raw
from controller.reading.fields import words
from controller.reading.processes import Process
from controller.reading.shells import is_shell
from tierdeck.changes.plan import Carried, Carrying, FieldEdit, Plan, Write
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier


class Draft:
    """Edits of several containers, each made on what the edits before it left."""

    def __init__(self) -> None:
        self._places: dict[tuple[ObjectRef, str], Place] = {}
        self._after: dict[tuple[ObjectRef, str], Raw] = {}
        self._carries: dict[tuple[ObjectRef, str, str], Carried] = {}
        self._warnings: dict[str, None] = {}
        self._loses: set[Tier] = set()

    def container(self, place: Place) -> Raw:
        """As it is by now."""
        return self._after.get((place.ref, place.process.name), place.container)

    def process(self, place: Place) -> Process:
        """What it starts by now."""
        return place.with_container(self.container(place))

    def put(self, place: Place, container: Raw) -> None:
        key = place.ref, place.process.name
        self._places[key], self._after[key] = place, container

    def argue(self, place: Place, name: str, value: str | None) -> None:
        """Another argument, which each running pod has to carry; None: none.

        Raises:
            NotEditableError: it can't be done exactly.
        """
        self.put(place, with_argument(self.container(place), name, value))
        doubt = self.process(place).command.doubt
        if doubt and is_shell([*words(place.container, "command"), *words(place.container, "args")]):
            raise NotEditableError(doubt, "State the arguments as a list.")
        self._carry(place, Carrying.ARGUMENT, name, value)

    def set(self, place: Place, name: str, value: str) -> None:
        """Another variable, which each running pod has to carry.

        Raises:
            NotEditableError: it can't be done exactly.
        """
        self.put(place, with_variable(self.container(place), name, value))
        self._carry(place, Carrying.ENVIRONMENT, name, value)

    def _carry(self, place: Place, kind: Carrying, name: str, value: str | None) -> None:
        self._carries[place.ref, place.process.name, name] = Carried(place.ref, place.process.name, kind, name, value)

    def warn(self, *sentences: str) -> None:
        self._warnings |= dict.fromkeys(sentences)

    def lose(self, *tiers: Tier) -> None:
        self._loses |= set(tiers)

    def plan(self, strategy: str = "", already: str = "", others: tuple[Write, ...] = ()) -> Plan:
        """The plan.

        Args:
            already: what is there where nothing is to be done.
            others: writes to objects that are no workloads; they come last.

        Raises:
            RefusedError: `nothing_to_do`.
        """
        writes: dict[ObjectRef, tuple[Place, list[FieldEdit]]] = {}
        for key, place in self._places.items():
            edits = edits_between(place.container, self._after[key], place.path)
            if edits:
                writes.setdefault(place.ref, (place, []))[1].extend(edits)
        if not writes and not others:
            raise RefusedError("nothing_to_do", f"It has {already} already" if already else "Nothing would change")
        own = (Write(ref, place.address, place.api_version, tuple(edits)) for ref, (place, edits) in writes.items())
        return Plan(
            (*own, *others),
            tuple(one for one in self._carries.values() if one.workload in writes),
            tuple(writes),
            tuple(sorted(self._loses)),
            strategy,
            tuple(self._warnings),
        )
