"""Changes through every state: runner and store around a changer, proposed by one person, approved by another."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from controller.changes.changer import Changer
from controller.changes.runner import Runner
from db import Store
from tests.support.cluster import Cluster
from tierdeck.changes.change import Change, State
from tierdeck.changes.wish import Wish
from tierdeck.settings import Settings

WHOLE_WAY = [
    State.PROPOSED, State.PREVIEWED, State.APPROVED, State.APPLYING, State.PROVING, State.OBSERVING, State.KEPT,
]  # fmt: skip
KINDS = (
    "Deployment", "StatefulSet", "DaemonSet", "ConfigMap", "InferenceEndpointConfig", "JumpStartModel", "VLLMRuntime",
    "VLLMRouter",
)  # fmt: skip


class AllStates:
    """One controller of one cluster, driven step by step."""

    def __init__(self, cluster: Cluster, store: Store, runner: Runner, meanwhile: Callable[[], object]) -> None:
        """
        Args:
            meanwhile: what else happens in the cluster between two steps, such as an operator that renders.
        """
        self._cluster, self._store, self._runner, self._meanwhile = cluster, store, runner, meanwhile
        self._numbers = itertools.count(1)

    def made(self, endpoint: str, wish: Wish, reverts: int | None = None) -> Change:
        """As it ends, with the ways it took asserted."""
        key = f"key-{next(self._numbers)}"
        asked = Change("east", endpoint, wish, "ann", "a test", key, time.time(), {}, reverts)
        number = self._store.propose(asked).id

        def stands() -> Change:
            found = self._store.change(number)
            assert found is not None
            return found

        def goes_on() -> bool:
            self._runner.step()
            self._meanwhile()
            if stands().state is State.PREVIEWED:
                self._store.approve_change(number, "bob", time.time())
            return stands().state.is_over

        self._cluster.wait_until(goes_on, "the end of the change")
        return stands()

    def kept(self, endpoint: str, wish: Wish, reverts: int | None = None) -> Change:
        """It went through every state, in order."""
        change = self.made(endpoint, wish, reverts)
        assert change.state is State.KEPT, (change.refusals, change.outcome, change.next_step)
        steps = [step.state for step in self._store.change_steps(change.id)]
        assert [state for state, _ in itertools.groupby(steps)] == WHOLE_WAY
        assert any(note.startswith("not_judged") for note in change.notes)
        return change


@contextmanager
def all_states(
    cluster: Cluster, changer: Changer, folder: Path, namespaces: tuple[str, ...], meanwhile: Callable[[], object]
) -> Iterator[AllStates]:
    """With an allow list of these namespaces and every kind that planners write."""
    allowed = folder / "changes.yaml"
    allowed.write_text(
        yaml.safe_dump({"namespaces": list(namespaces), "kinds": list(KINDS), "limits": {"replicas": 4}}), "utf-8"
    )
    settings = Settings(cluster="east", changes_file=allowed, changes_second_person=True)
    with Store.open(f"sqlite:///{folder}/states.db", migrate=True) as store:
        yield AllStates(cluster, store, Runner(settings, store, changer, "here"), meanwhile)
