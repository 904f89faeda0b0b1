"""Stage 4: every running pod of the endpoints that opted in is wired to L2, exactly once and by its own identity."""

from __future__ import annotations

from collections.abc import Iterator

from controller.injector.mutation import ANNOTATION
from controller.reading.fields import labels
from controller.reading.opted_in import Misstated
from controller.reading.origin import OWNERS, Origin
from controller.resources import PODS
from controller.stage import Evidence, Finding, Plan, State, View, Wishes
from controller.stages.engines import Engine, claims_in_other_containers, container_of, engines_of, wiring_of
from controller.stages.l2_plans import opting_in, opting_out, policies, restart
from tierdeck.l2.policy import L2Policy

_PLAN = "tierdeck stage 4 --plan"


class L2Wiring:
    """Stage 4."""

    number = 4
    title = "Engines keep L2 on Curvine"

    def look(self, view: View) -> Finding:
        blind = [one for one in (PODS, *OWNERS) if not view.objects.sees(one)]
        if blind:
            reasons = [f"{one.name} can't be seen: {view.objects.blind[one]}" for one in blind]
            return Finding(tuple(Evidence(State.UNKNOWN, "engines", reason) for reason in reasons))
        return Finding(tuple(_evidence(view)))

    def plan(self, view: View, wishes: Wishes) -> Plan:
        return policies(view, wishes) if wishes.form else opting_in(view, wishes)

    def undo(self, view: View, wishes: Wishes) -> Plan:
        return opting_out(view, wishes)


L2_WIRING = L2Wiring()


def _evidence(view: View) -> Iterator[Evidence]:
    engines = engines_of(view)
    if not engines:
        yield Evidence(State.UNKNOWN, "engines", "no Deployment or StatefulSet runs one that is known")
        return
    if not view.file.enabled:
        fix = "Set enabled: true in it; pods that come until then get no L2 by the injector."
        yield Evidence(State.NOT_DONE, "L2 file, enabled", "false: nothing is injected anywhere", fix)
    if all(one.wanted is None for one in engines):
        names = ", ".join(sorted({one.name for one in engines}))
        yield Evidence(State.NOT_DONE, "opting in", f"none of {names} opted in", _PLAN)
    for one in engines:
        if isinstance(one.wanted, Misstated):
            yield Evidence(State.NOT_DONE, f"{one.name}, opting in", one.wanted.reason)
        elif one.wanted is not None:
            yield from _read_back(view, one, one.wanted)


def _read_back(view: View, engine: Engine, policy: L2Policy) -> Iterator[Evidence]:
    """Of each running pod, what it lacks."""
    if not engine.pods:
        yield Evidence(State.UNKNOWN, engine.name, f"opted in ({policy.origin}), and no pod of it runs")
    for pod in engine.pods:
        ref = pod.pod[0]
        made = wiring_of(view, pod, policy)
        if isinstance(made, str):
            yield Evidence(State.NOT_DONE, str(ref), f"it can't be wired: {made}")
            continue
        container = container_of(view, pod)
        extra = sorted(claims_in_other_containers(pod, container, policy.claim))
        if made.patch.did:
            lacks = "; ".join(made.patch.did)
            yield Evidence(State.NOT_DONE, f"{ref}, container {container}", f"a new pod would differ: {lacks}",
                           restart(ref))  # fmt: skip
        elif extra:
            told = f"claim {policy.claim} is mounted in {', '.join(extra)} too, which is no engine"
            yield Evidence(State.NOT_DONE, str(ref), told)
        else:
            yield Evidence(State.DONE, f"{ref}, container {container}", _wired(pod, made.identity.directory))


def _wired(pod: Origin, directory: str) -> str:
    by = "" if ANNOTATION in labels(pod.pod[1], "metadata", "annotations") else ", by hand or an older rendering"
    return f"one URL, serde and seed, claim and mount; directory {directory}{by}"
