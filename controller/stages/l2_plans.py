"""Plans of stage 4: opting in, opting out, and policies that do without our server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from controller.objects import Raw
from controller.reading.fields import labels, mapping, named
from controller.reading.opted_in import CLAIM, OFF, SWITCH, opted_out
from controller.reading.origin import Origin
from controller.reading.pools import PROVISIONER
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, RESOURCES
from controller.stage import File, NoPlanError, Plan, View, Wishes
from controller.stages.engines import Engine, chosen, engines_of, wiring_of
from controller.stages.policy_cel import admission_policy, kyverno_policy
from controller.stages.policy_target import PolicyTarget, policy_name, target_of
from controller.stages.pool_files import document
from controller.stages.wishes import read_wishes
from tierdeck.deployed import ObjectRef
from tierdeck.l2.policy import CLAIM_PATTERN, L2Policy

_KINDS = {one.kind: one.name for one in RESOURCES}
_NAMES = r"^([^/,\s]+/[^/,\s]+(,[^/,\s]+/[^/,\s]+)*)?$"
NAMESPACE_LABEL = "tierdeck.io/l2-injection=enabled"
"""As the chart's injector.namespaceLabels has it."""
_POLICY_FILE = "l2-policies.yaml"
_KINDS_OF_FORMS = {
    "mutatingadmissionpolicy": "mutatingadmissionpolicybindings,mutatingadmissionpolicies",
    "kyverno": "mutatingpolicies.policies.kyverno.io",
}
_LIMITS = (
    "What such a policy can't do, and Tierdeck's injector does: it does not look whether the claim is Bound, nor",
    "whether the mount of a node works. A pod whose volume can't be mounted does not start, and one on a mount that",
    "hangs stays hanging. Apply it where that is watched otherwise, and delete it when the pool is in trouble.",
    "It knows each model as it was when this was printed. A pod whose engine is told otherwise (arguments other than",
    "sizes, settings of the KV) is left alone, and gets L2 again once this was printed anew; so is one whose custom",
    "resource states another model than it did. What it can't see is a change of weights at the same place, another",
    "tierdeck.io/model-revision of a workload or in the L2 file, a claim that was swapped, or settings from ConfigMaps",
    "and Secrets: print it anew then, before the new weights are loaded, else they read the KV of the old ones.",
    "failurePolicy Ignore: where it can't be evaluated, pods start without L2; `tierdeck stage 4` names them.",
    "Don't run it beside the injector for the same endpoints: both would do the same, and both must be undone.",
)


class L2Wishes(BaseModel):
    """`--set` of stage 4."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoints: str = Field("", pattern=_NAMES, description="namespace/name of an endpoint, or several with commas,")
    claim: str = Field("", pattern=f"^({CLAIM_PATTERN})?$", description="the name of a claim in their namespace")

    @property
    def names(self) -> list[str]:
        return self.endpoints.split(",") if self.endpoints else []


def restart(ref: ObjectRef) -> str:
    """How a pod becomes a new one: what made it makes another, which is admitted anew."""
    return f"kubectl delete pod {ref.name} -n {ref.namespace}"


def opting_in(view: View, wishes: Wishes) -> Plan:
    """The file of policies, or the same as annotations; then new pods."""
    wanted = read_wishes(L2Wishes, wishes.values, {})
    engines = [one for one in engines_of(view) if not wanted.names or one.name in wanted.names]
    _refuse_unknown(wanted, engines)
    if not engines:
        raise NoPlanError("no engine is found that could opt in", "`tierdeck inventory` tells what is seen.")
    left_out = {one.name: said for one in engines if (said := opted_out(view.file, one.template.objects))}
    engines = [one for one in engines if one.name not in left_out]
    notes = [
        f"{name} opted out and is left out ({said}): take that back first, if it is to have L2."
        for name, said in sorted(left_out.items())
    ]
    if not engines:
        raise NoPlanError("everybody who could opt in opted out", " ".join(notes))
    claims = {one.name: wanted.claim or _claim_for(view, one) for one in engines}
    usable = [one for one in engines if claims[one.name]]
    notes += [
        f"{one.name}: no Bound claim of Curvine is in its namespace; make one (tierdeck stage 3 --plan) or name one "
        "(--set claim=NAME)."
        for one in engines
        if not claims[one.name]
    ]
    notes += [warning for one in usable for warning in _warnings(view, one)]
    notes += [
        "l2.yaml is what injector.policies of the chart holds, without the chart the file that TIERDECK_L2_FILE names.",
        "The annotations say the same where that can't be written.",
        "Only pods of namespaces with the label reach the injector.",
        "A restarted pod loses its L0 and L1. Delete one pod at a time, and wait until the next one is ready.",
    ]
    spaces = sorted({one.source.namespace for one in usable})
    commands = [f"kubectl label namespace {space} {NAMESPACE_LABEL}" for space in spaces]
    commands += [
        f"kubectl annotate {_KINDS[one.source.kind]} {one.source.name} "
        f"-n {one.source.namespace} {SWITCH}=true {CLAIM}={claims[one.name]}"
        for one in usable
        if one.wanted is None
    ]
    commands += [restart(pod.pod[0]) for one in usable for pod in one.pods if _lacks(view, one, pod)]
    unlisted = {
        one.name: claims[one.name] for one in usable if not any(name in view.file.endpoints for name in _names(one))
    }
    return Plan((_file(view, unlisted),), (*commands, "tierdeck stage 4"), tuple(notes))


def opting_out(view: View, wishes: Wishes) -> Plan:
    """First whatever would wire the next pod, then the pods."""
    wanted = read_wishes(L2Wishes, wishes.values, {})
    engines = chosen(view, wanted.names)
    _refuse_unknown(wanted, engines)
    if not engines:
        raise NoPlanError("no endpoint opted in, so there is nothing to take back")
    commands = [command for one in engines for command in _withdrawn(one)]
    names = " ".join(sorted({policy_name(one.workload[0]) for one in engines}))
    for form, kinds in _KINDS_OF_FORMS.items():
        commands.append(f"kubectl delete {kinds} {names} --ignore-not-found   # if --as {form} was used")
    commands += [restart(pod.pod[0]) for one in engines for pod in one.pods]
    known = view.file.endpoints
    listed = sorted(
        {name for one in engines for name in _names(one) if name in known and known[name].opted_in is not False}
    )
    notes = [f"First take {name} out of the L2 file, or write opted_in: false there." for name in listed]
    notes += [
        "In this order: a pod that is restarted before its endpoint has opted out comes up with L2 again.",
        "One pod at a time, each after the one before is ready: a restarted pod loses its L0 and L1, and has no L2.",
        "The operator's own variables hold again in new pods; nothing else of theirs was changed.",
        "The files in the pool stay, and serve again when the endpoint opts in with the same model.",
        "To get their room back, delete the directories that `tierdeck stage 4` names now.",
    ]
    return Plan((), tuple(commands), tuple(notes))


def policies(view: View, wishes: Wishes) -> Plan:
    """One policy per endpoint that opted in."""
    wanted = read_wishes(L2Wishes, wishes.values, {})
    is_kyverno = wishes.form == "kyverno"
    if not is_kyverno and not view.policy_version:
        raise NoPlanError(
            "this API server has no MutatingAdmissionPolicy",
            "Kubernetes has it from 1.36 on, in 1.32 to 1.35 behind a feature gate; --as kyverno needs none.",
        )
    engines = chosen(view, wanted.names)
    _refuse_unknown(wanted, engines)
    targets: list[PolicyTarget] = []
    notes = []
    for one in engines:
        made = target_of(view, one)
        if isinstance(made, PolicyTarget) and made.stated_by is not None and is_kyverno:
            made = (
                f"{made.stated_by.ref} tells its model, which no pod shows and Kyverno's policy can't look at: after a "
                "change the KV of the new weights would lie beside that of the old ones, and be read as theirs"
            )
        if isinstance(made, PolicyTarget):
            targets.append(made)
            notes += [f"{one.name}: {warning}" for warning in made.identity.warnings]
        else:
            notes.append(f"{one.name} is left out: {made}.")
    if not targets:
        raise NoPlanError("no policy can be made" + "".join(f"; {note}" for note in notes), "Opt in first.")
    documents: list[dict[str, Any]] = [
        made
        for target in targets
        for made in ([kyverno_policy(target)] if is_kyverno else admission_policy(target, view.policy_version))
    ]
    head = "".join(f"# {line}\n" for line in (*_LIMITS, *(_KYVERNO if is_kyverno else ())))
    body = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    commands = (f"kubectl apply --server-side -f {_POLICY_FILE}", "tierdeck stage 4")
    return Plan((File(_POLICY_FILE, head + body),), commands, tuple(notes))


_KYVERNO = (
    "For Kyverno 1.17 and newer; 1.15 and 1.16 have it as policies.kyverno.io/v1alpha1 and v1beta1. ClusterPolicy, its",
    "older form, is deprecated. The expressions are those of --as mutatingadmissionpolicy, which are tested on an API",
    "server; Kyverno itself was not at hand for a test. Try it with a pod first: kubectl apply --dry-run=server -f …",
)


class _Dumper(yaml.SafeDumper):
    """Long expressions keep their lines."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _refuse_unknown(wanted: L2Wishes, engines: list[Engine]) -> None:
    missing = sorted(set(wanted.names) - {one.name for one in engines})
    if missing:
        raise NoPlanError(f"there is no endpoint {missing[0]}", "`tierdeck inventory` names those that are seen.")


def _claim_for(view: View, engine: Engine) -> str:
    """A Curvine claim of its namespace that is Bound; what it states itself wins."""
    if isinstance(engine.wanted, L2Policy):
        return engine.wanted.claim
    for ref, raw in named(view.objects, CLAIMS):
        claim = read_claim(view.objects, ref.namespace, ref.name, raw)
        if ref.namespace == engine.source.namespace and claim.provisioner == PROVISIONER and claim.phase == "Bound":
            return ref.name
    return ""


def _names(engine: Engine) -> set[str]:
    """By which the L2 file may list it: its custom resource's, its workload's."""
    return {f"{ref.namespace}/{ref.name}" for ref, _ in engine.template.objects}


def _file(view: View, claims: dict[str, str]) -> File:
    """What is listed stays as it is."""
    known = {name: options.model_dump(exclude_none=True) for name, options in view.file.endpoints.items()}
    listed = {**{name: {"claim": claim} for name, claim in claims.items()}, **known}
    content: dict[str, object] = {"enabled": view.file.enabled}
    defaults = view.file.defaults.model_dump(exclude_none=True)
    if defaults:
        content["defaults"] = defaults
    content["endpoints"] = dict(sorted(listed.items()))
    return File("l2.yaml", document(content, ("Which endpoints get L2 by Tierdeck's injector, on which claim.",)))


def _warnings(view: View, engine: Engine) -> Iterator[str]:
    if isinstance(engine.wanted, L2Policy):
        made = wiring_of(view, engine.template, engine.wanted)
        if isinstance(made, str):
            yield f"{engine.name} can't be wired: {made}."
        else:
            yield from (f"{engine.name}: {warning}" for warning in made.identity.warnings)


def _lacks(view: View, engine: Engine, pod: Origin) -> bool:
    if not isinstance(engine.wanted, L2Policy):
        return True
    made = wiring_of(view, pod, engine.wanted)
    return not isinstance(made, str) and bool(made.patch.did)


def _withdrawn(engine: Engine) -> Iterator[str]:
    """What takes back that an object says it opts in."""
    for ref, raw in engine.template.objects[1:]:
        kind = _KINDS[ref.kind]
        if _opts_in(raw, "labels"):
            yield f"kubectl label {kind} {ref.name} -n {ref.namespace} {SWITCH}-"
        if _opts_in(raw, "annotations"):
            yield f"kubectl annotate {kind} {ref.name} -n {ref.namespace} {SWITCH}-"
    ref, template = engine.workload[0], mapping(engine.workload[1], "spec", "template")
    for where in ("labels", "annotations"):
        if _opts_in(template, where):
            path = f"/spec/template/metadata/{where}/{SWITCH.replace('/', '~1')}"
            patch = f'[{{"op":"remove","path":"{path}"}}]'
            yield f"kubectl patch {_KINDS[ref.kind]} {ref.name} -n {ref.namespace} --type=json -p '{patch}'"


def _opts_in(raw: Raw, where: str) -> bool:
    """It says so; what says the contrary stays."""
    return labels(raw, "metadata", where).get(SWITCH, OFF[0]).lower() not in OFF
