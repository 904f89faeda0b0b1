"""Stage 4: who opted in, what each running pod lacks, and what brings it about or takes it back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.injector.mutation import Patch, patch_of
from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.model_identity import identity_of
from controller.reading.processes import read_spec
from controller.stage import Evidence, NoPlanError, State, View, Wishes
from controller.stages.engines import engines_of
from controller.stages.l2_plans import NAMESPACE_LABEL
from controller.stages.l2_wiring import L2_WIRING
from controller.stages.policy_target import GUARDED, GUARDED_PREFIX, HARMLESS, PolicyTarget, target_of, telling
from tests.support.json_patch import patched
from tests.support.manifests import documents, objects_of
from tierdeck.deployed import ObjectRef, Stated
from tierdeck.l2.file import L2File, parse_l2
from tierdeck.l2.identity import ModelIdentity
from tierdeck.l2.policy import L2Policy

LISTED = parse_l2("defaults: {claim: curvine-pvc}\nendpoints: {inference/chat: {}}", "here")


def manifests() -> list[dict[str, Any]]:
    """HyperPod's example, and a claim of Curvine's in its namespace."""
    found = copy.deepcopy([one for name in ("hyperpod", "curvine") for one in documents(name)])
    for one in found:
        if one["kind"] == "PersistentVolumeClaim":
            one["metadata"]["namespace"] = "inference"
    return found


def pods(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one["kind"] == "Pod" and one["metadata"]["name"].startswith("chat-5f6d-")]


def view(found: list[dict[str, Any]] | None = None, file: L2File = LISTED, version: str = "v1") -> View:
    return View(replace(objects_of(found if found is not None else manifests()), l2=file), version)


def target(seen: View) -> PolicyTarget:
    (engine,) = [one for one in engines_of(seen) if one.name == "inference/chat"]
    found = target_of(seen, engine)
    assert isinstance(found, PolicyTarget), found
    return found


def wired(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pods as the injector would have made them."""
    made = target(view(found))
    for one in pods(found):
        patch = patch_of(one, made.container, made.wiring, made.identity)
        assert isinstance(patch, Patch)
        after = patched(one, patch.operations)
        one.update(after)
    return found


def evidence(seen: View) -> list[Evidence]:
    return list(L2_WIRING.look(seen).evidence)


def test_nobody_opted_in_is_not_done() -> None:
    (told,) = evidence(view(file=L2File()))
    assert (told.state, told.found) == (State.NOT_DONE, "none of inference/chat opted in")


def test_pods_that_slipped_by_are_named_with_what_they_lack_and_their_restart() -> None:
    told = evidence(view())
    assert [one.about for one in told] == [
        "Pod inference/chat-5f6d-aaaaa, container chat",
        "Pod inference/chat-5f6d-bbbbb, container chat",
    ]
    assert "LMCACHE_REMOTE_URL replaced" in told[0].found
    assert "volume tierdeck-l2: claim curvine-pvc" in told[0].found
    assert told[0].fix == "kubectl delete pod chat-5f6d-aaaaa -n inference"


def test_pods_that_are_wired_are_done_with_their_directory() -> None:
    found = wired(manifests())
    told = evidence(view(found))
    assert {one.state for one in told} == {State.DONE}
    assert target(view(found)).identity.directory in told[0].found


@pytest.mark.parametrize("damage", ["url twice", "another directory", "no seed", "no mount"])
def test_one_pod_that_drifted_is_named_alone(damage: str) -> None:
    found = wired(manifests())
    container = next(one for one in pods(found)[0]["spec"]["containers"] if one["name"] == "chat")
    env = container["env"]
    match damage:
        case "url twice":
            env.append({"name": "LMCACHE_REMOTE_URL", "value": "sagemaker-hyperpod://$(NODE_IP):9200"})
        case "another directory":
            next(one for one in env if one["name"] == "LMCACHE_REMOTE_URL")["value"] = "fs://localhost:0/mnt/other/"
        case "no seed":
            container["env"] = [one for one in env if one["name"] != "PYTHONHASHSEED"]
        case "no mount":
            container["volumeMounts"] = []
    states = [(one.about.split(",")[0], one.state) for one in evidence(view(found))]
    assert states == [
        ("Pod inference/chat-5f6d-aaaaa", State.NOT_DONE),
        ("Pod inference/chat-5f6d-bbbbb", State.DONE),
    ]


def test_a_claim_in_a_container_that_is_no_engine_is_told() -> None:
    found = wired(manifests())
    side = {"name": "reader", "image": "busybox", "volumeMounts": [{"name": "tierdeck-l2", "mountPath": "/l2"}]}
    pods(found)[0]["spec"]["containers"].append(side)
    assert "mounted in reader too, which is no engine" in evidence(view(found))[0].found


def test_a_switch_that_is_off_is_told() -> None:
    off = parse_l2("enabled: false\ndefaults: {claim: curvine-pvc}\nendpoints: {inference/chat: {}}", "here")
    assert evidence(view(wired(manifests()), off))[0].found == "false: nothing is injected anywhere"


def test_the_plan_lists_the_endpoints_and_restarts_what_runs_without() -> None:
    plan = L2_WIRING.plan(view(file=L2File()), Wishes())
    (file,) = plan.files
    assert yaml.safe_load(file.text) == {"enabled": True, "endpoints": {"inference/chat": {"claim": "curvine-pvc"}}}
    assert parse_l2(file.text, file.name).endpoints["inference/chat"].claim == "curvine-pvc"
    kind = "inferenceendpointconfigs.inference.sagemaker.aws.amazon.com"
    assert plan.commands == (
        "kubectl label namespace inference tierdeck.io/l2-injection=enabled",
        f"kubectl annotate {kind} chat -n inference tierdeck.io/l2=true tierdeck.io/l2-claim=curvine-pvc",
        "kubectl delete pod chat-5f6d-aaaaa -n inference",
        "kubectl delete pod chat-5f6d-bbbbb -n inference",
        "tierdeck stage 4",
    )


def test_pods_that_are_wired_are_not_restarted_again() -> None:
    commands = L2_WIRING.plan(view(wired(manifests())), Wishes()).commands
    assert not any(" delete pod " in one for one in commands)


def test_weights_that_are_not_pinned_are_a_note_of_the_plan() -> None:
    assert any("unpinned" in note for note in L2_WIRING.plan(view(), Wishes()).notes)


def test_the_undo_opts_out_before_it_restarts_and_says_what_that_costs() -> None:
    found = wired(manifests())
    config = next(one for one in found if one["kind"] == "InferenceEndpointConfig")
    config["metadata"]["annotations"] = {"tierdeck.io/l2": "true", "tierdeck.io/l2-claim": "curvine-pvc"}
    plan = L2_WIRING.undo(view(found, L2File()), Wishes())
    words = [one.split()[1] for one in plan.commands]
    assert words == ["annotate", "delete", "delete", "delete", "delete"]  # two kinds of policies, then two pods
    assert plan.commands[0].endswith("chat -n inference tierdeck.io/l2-")
    assert plan.commands[-1] == "kubectl delete pod chat-5f6d-bbbbb -n inference"
    assert any("loses its L0 and L1, and has no L2" in note for note in plan.notes)
    assert any("files in the pool stay" in note for note in plan.notes)


def test_who_is_listed_in_the_file_is_taken_out_of_it_first() -> None:
    assert L2_WIRING.undo(view(), Wishes()).notes[0].startswith("First take inference/chat out of the L2 file")


def config_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    return next(one for one in found if one["kind"] == "InferenceEndpointConfig" and one["metadata"]["name"] == "chat")


def said_no() -> View:
    found = manifests()
    config_of(found)["metadata"]["annotations"] = {"tierdeck.io/l2": "false"}
    return view(found, L2File())


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (said_no(), "tierdeck.io/l2 of InferenceEndpointConfig inference/chat"),
        (view(file=parse_l2("endpoints: {inference/chat: {opted_in: false}}", "here")),
         "opted_in: false of inference/chat in the L2 file"),
    ],
)  # fmt: skip
def test_who_opted_out_is_not_opted_in(seen: View, reason: str) -> None:
    with pytest.raises(NoPlanError) as error:
        L2_WIRING.plan(seen, Wishes({"claim": "curvine-pvc"}))
    assert f"inference/chat opted out and is left out ({reason})" in error.value.line()


def test_who_opted_out_is_a_note_where_others_opt_in() -> None:
    seen = said_no()
    mistral = next(one for one in documents("deployment") if one["kind"] == "Deployment")
    objects = objects_of([*(raw for kind in seen.objects.kinds.values() for raw in kind.values()), mistral])
    plan = L2_WIRING.plan(View(objects), Wishes({"claim": "curvine-pvc"}))
    assert plan.notes[0].startswith("inference/chat opted out and is left out")
    assert not any("chat -n inference" in command or "chat-5f6d" in command for command in plan.commands)
    assert list(yaml.safe_load(plan.files[0].text)["endpoints"]) == ["llm/mistral"]


def listed_by_workload() -> View:
    """The endpoint's Deployment has another name, and the file lists that."""
    found = manifests()
    for one in found:
        for ref in one["metadata"].get("ownerReferences", []):
            if (ref["kind"], ref["name"]) == ("Deployment", "chat"):
                ref["name"] = "chat-deploy"
        if (one["kind"], one["metadata"]["name"]) == ("Deployment", "chat"):
            one["metadata"]["name"] = "chat-deploy"
    file = parse_l2("defaults: {claim: curvine-pvc}\nendpoints: {inference/chat-deploy: {hash_seed: 7}}", "here")
    return view(found, file)


def test_the_undo_takes_an_endpoint_out_of_the_file_by_whichever_name_it_is_listed() -> None:
    notes = L2_WIRING.undo(listed_by_workload(), Wishes()).notes
    assert notes[0].startswith("First take inference/chat-deploy out of the L2 file")


def test_an_endpoint_that_is_listed_by_its_workload_is_not_listed_twice() -> None:
    (file,) = L2_WIRING.plan(listed_by_workload(), Wishes()).files
    assert yaml.safe_load(file.text)["endpoints"] == {"inference/chat-deploy": {"hash_seed": 7}}


def test_the_undo_leaves_what_says_no() -> None:
    found = manifests()
    config_of(found)["metadata"]["annotations"] = {"tierdeck.io/l2": "false"}
    for one in found:
        if (one["kind"], one["metadata"]["name"]) == ("Deployment", "chat"):
            one["metadata"]["annotations"] = {"tierdeck.io/l2": "true"}
    commands = L2_WIRING.undo(view(found), Wishes()).commands
    assert [one for one in commands if "tierdeck.io/l2-" in one] == [
        "kubectl annotate deployments.apps chat -n inference tierdeck.io/l2-"
    ]


@pytest.mark.parametrize(
    ("seen", "wishes", "words"),
    [
        (View(Objects("prod", {})), Wishes(), "no engine is found"),
        (view(file=L2File()), Wishes({}, "kyverno"), "no policy can be made"),
        (view(version=""), Wishes({}, "mutatingadmissionpolicy"), "this API server has no MutatingAdmissionPolicy"),
        (view(), Wishes({"endpoints": "inference/none"}), "there is no endpoint inference/none"),
    ],
)
def test_a_plan_that_can_not_be_made_is_refused_with_the_reason(seen: View, wishes: Wishes, words: str) -> None:
    with pytest.raises(NoPlanError, match=words):
        L2_WIRING.plan(seen, wishes)


def naming() -> list[dict[str, Any]]:
    """The same manifests, but that the engine's arguments name its model."""
    found = manifests()
    for one in found:
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "chat":
            container = next(each for each in one["spec"]["template"]["spec"]["containers"] if each["name"] == "chat")
            container["args"] = ["--model", "an/llm"]
    return found


def conditions(made: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["expression"] for one in made["spec"]["matchConditions"]}


def test_a_policy_looks_at_the_custom_resource_that_tells_a_model_which_pods_do_not_show() -> None:
    (file,) = L2_WIRING.plan(view(), Wishes({}, "mutatingadmissionpolicy")).files
    made, binding = yaml.safe_load_all(file.text)
    api = "inference.sagemaker.aws.amazon.com/v1"
    assert made["spec"]["paramKind"] == {"apiVersion": api, "kind": "InferenceEndpointConfig"}
    ref = {"name": "chat", "namespace": "inference", "parameterNotFoundAction": "Allow"}
    assert binding["spec"]["paramRef"] == ref
    assert '"modelId": dyn("an/llm")' in conditions(made)["same-model"]


def test_a_policy_of_pods_that_name_their_model_needs_no_custom_resource() -> None:
    (file,) = L2_WIRING.plan(view(naming()), Wishes({}, "mutatingadmissionpolicy")).files
    made, binding = yaml.safe_load_all(file.text)
    assert "paramKind" not in made["spec"]
    assert binding["spec"] == {"policyName": made["metadata"]["name"]}
    assert "same-model" not in conditions(made)


def test_kyverno_gets_no_policy_of_pods_that_do_not_show_their_model() -> None:
    with pytest.raises(NoPlanError, match="InferenceEndpointConfig inference/chat tells its model, which no pod shows"):
        L2_WIRING.plan(view(), Wishes({}, "kyverno"))


def test_a_revision_that_an_annotation_of_the_custom_resource_names_is_looked_at_too() -> None:
    found = naming()
    config = next(one for one in found if one["kind"] == "InferenceEndpointConfig")
    config["metadata"]["annotations"] = {"tierdeck.io/model-revision": "7"}
    (file,) = L2_WIRING.plan(view(found), Wishes({}, "mutatingadmissionpolicy")).files
    made, _ = yaml.safe_load_all(file.text)
    assert 'params.metadata.?annotations["tierdeck.io/model-revision"]' in conditions(made)["same-model"]


def test_kyverno_gets_the_expressions_of_the_api_servers_policy() -> None:
    def specs(form: str) -> list[dict[str, Any]]:
        (file,) = L2_WIRING.plan(view(naming()), Wishes({}, form)).files
        return [one for one in yaml.safe_load_all(file.text) if one["kind"] != "MutatingAdmissionPolicyBinding"]

    (kyverno,), (ours,) = specs("kyverno"), specs("mutatingadmissionpolicy")
    assert (kyverno["apiVersion"], kyverno["kind"]) == ("policies.kyverno.io/v1", "MutatingPolicy")
    assert kyverno["spec"] == ours["spec"]


def test_what_a_policy_can_not_do_stands_above_it() -> None:
    (file,) = L2_WIRING.plan(view(naming()), Wishes({}, "kyverno")).files
    head = " ".join(line.removeprefix("# ") for line in file.text.splitlines() if line.startswith("#"))
    assert "does not look whether the claim is Bound" in head
    assert "Kyverno itself was not at hand for a test" in head


def test_the_label_of_namespaces_is_the_one_that_the_chart_asks_for() -> None:
    chart = Path(__file__).parents[3] / "deploy/helm/tierdeck/values.yaml"
    asked = yaml.safe_load(chart.read_text("utf-8"))["injector"]["namespaceLabels"]
    assert [f"{key}={value}" for key, value in asked.items()] == [NAMESPACE_LABEL]


class Recorded(dict[str, Stated]):
    """Variables that remember which of them were asked for."""

    def __init__(self, known: Mapping[str, Stated]) -> None:
        super().__init__(known)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


def test_every_variable_that_an_identity_is_made_of_is_guarded() -> None:
    container = {"name": "chat", "image": "vllm/vllm-openai:v1", "args": ["--model", "an/llm"]}
    spec = read_spec({"containers": [container]}, Configs(Objects("", {}), ""), "here")
    (engine,) = spec.processes
    asked = Recorded(engine.environment.variables)
    watched = replace(engine, environment=replace(engine.environment, variables=asked))
    made = identity_of(watched, ObjectRef("Deployment", "llm", "chat"), None, L2Policy("here", "curvine-pvc"))
    assert isinstance(made, ModelIdentity)
    elsewhere = {"PYTHONHASHSEED", "LMCACHE_CONFIG_FILE"}  # by conditions of their own
    assert {name for name in asked.asked if not name.startswith(GUARDED_PREFIX)} - elsewhere == set(GUARDED)


@pytest.mark.parametrize("argument", HARMLESS)
def test_an_argument_that_policies_leave_out_makes_no_other_identity(argument: str) -> None:
    def made(*more: str) -> ModelIdentity:
        container = {"name": "chat", "image": "vllm/vllm-openai:v1", "args": ["--model", "an/llm", *more]}
        (engine,) = read_spec({"containers": [container]}, Configs(Objects("", {}), ""), "here").processes
        found = identity_of(engine, ObjectRef("Deployment", "llm", "chat"), None, L2Policy("here", "curvine-pvc"))
        assert isinstance(found, ModelIdentity)
        return found

    assert made(argument, "7") == made(f"{argument}=8") == made()
    assert telling(["--model", "an/llm", argument, "7", "--dtype", "half"]) == ("--model", "an/llm", "--dtype", "half")
