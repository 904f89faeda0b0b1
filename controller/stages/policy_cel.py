"""The same wiring as a policy in CEL, for the API server itself or for Kyverno: what `patch_of` does, said once more.

Sources: Kubernetes, admissionregistration.k8s.io MutatingAdmissionPolicy; Kyverno 1.17, policies.kyverno.io/v1
MutatingPolicy, which takes the same expressions and needs no binding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from controller.injector.mutation import ANNOTATION, explained
from controller.reading.lmcache import FILE
from controller.reading.opted_in import OFF, SWITCH
from controller.stages.policy_target import GUARDED, GUARDED_PREFIX, HARMLESS, PolicyTarget
from tierdeck.l2.wiring import HASH_SEED, VOLUME

_GROUP = "admissionregistration.k8s.io"
_KYVERNO = "policies.kyverno.io/v1"


def admission_policy(target: PolicyTarget, version: str) -> list[dict[str, object]]:
    """Policy and binding for an API server that has MutatingAdmissionPolicy in this version."""
    api, metadata = f"{_GROUP}/{version}", {"name": target.name}
    spec, binding = _spec(target), dict[str, object](policyName=target.name)
    if target.stated_by is not None:
        ref, resource = target.stated_by.ref, target.stated_by.resource
        spec = {"paramKind": {"apiVersion": f"{resource.group}/{resource.versions[0]}", "kind": ref.kind}, **spec}
        # where it is gone, the policy meets no pod
        binding["paramRef"] = {"name": ref.name, "namespace": ref.namespace, "parameterNotFoundAction": "Allow"}
    return [
        {"apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {"apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata, "spec": binding},
    ]


def kyverno_policy(target: PolicyTarget) -> dict[str, object]:
    """For Kyverno 1.17 and newer; it has no way to look at the custom resource that states a model."""
    if target.stated_by is not None:
        raise ValueError("it can't be told when the model changes")
    return {"apiVersion": _KYVERNO, "kind": "MutatingPolicy", "metadata": {"name": target.name}, "spec": _spec(target)}


def _spec(target: PolicyTarget) -> dict[str, object]:
    return {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": target.namespace}},
            "objectSelector": dict(target.selector),
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ],
        },
        "matchConditions": [{"name": name, "expression": text} for name, text in _conditions(target).items()],
        "variables": [{"name": name, "expression": text} for name, text in _variables(target).items()],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _patch(target)}}],
    }


def _conditions(target: PolicyTarget) -> Mapping[str, str]:
    """When it must not meet a pod; variables can't be used here."""
    claim, path = _word(target.wiring.policy.claim), target.wiring.policy.mount_path
    engine = f"object.spec.containers.filter(c, c.name == {_word(target.container)})"
    env = f"{engine}[0].?env.orValue([])"
    volumes, mounts = "object.spec.?volumes.orValue([])", f"{engine}[0].?volumeMounts.orValue([])"
    guarded = f"e.name in {_list(GUARDED)} || e.name.startsWith({_word(GUARDED_PREFIX)})"
    at_path = f"(m.mountPath == {_word(path)} || m.mountPath == {_word(path + '/')})"
    ours = f"v.?persistentVolumeClaim.claimName.orValue('') == {claim}"
    found = {
        "one-engine": f"{engine}.size() == 1",
        "not-opted-out": " && ".join(
            f"!(object.metadata.?{kind}[{_word(SWITCH)}].orValue('').lowerAscii() in {_list(OFF)})"
            for kind in ("labels", "annotations")
        ),
        "told-the-same": " && ".join(
            f"{_telling(f'{engine}[0].?{field}.orValue([])')} == {_list(words)}"
            for field, words in (("command", target.command), ("args", target.args))
        ),
        "same-settings": f"sets.equivalent({env}.filter(e, {guarded}).map(e, e.name + '=' + e.?value.orValue('?')), "
        f"{_list(target.variables)})",
        "same-seed": f"{env}.filter(e, e.name == {_word(HASH_SEED)}).all(e, "
        f"e.?value.orValue('?') == {_word(target.identity.layout.hash_seed)})",
        "settings-are-read": f"!{env}.exists(e, e.name == {_word(FILE)})",
        "volume-is-free": f"{volumes}.exists(v, {ours}) ? "
        f"!{volumes}.filter(v, {ours})[0].?persistentVolumeClaim.readOnly.orValue(false) : "
        f"!{volumes}.exists(v, v.name == {_word(VOLUME)})",
        "path-is-free": f"{mounts}.all(m, !{at_path} || ({volumes}.filter(v, {ours}).map(v, v.name).exists_one(n, "
        "n == m.name) && !m.?readOnly.orValue(false) && m.?subPath.orValue('') == '' && "
        "m.?subPathExpr.orValue('') == ''))",
    }
    if target.image:
        found["same-image"] = f"{engine}[0].image == {_word(target.image)}"
    if target.stated_by is not None:
        found["same-model"] = " && ".join(_stated(path, value) for path, value in target.stated_by.facts)
    return found


def _stated(path: tuple[str, ...], value: object) -> str:
    """A field of the custom resource is as it was."""
    first, second, *rest = path
    below = "".join(f"[{_word(name)}]" for name in rest)
    return f"params.{first}.?{second}{below}.orValue(dyn('')) == {_literal(value)}"


def _literal(value: object) -> str:
    """Any JSON as CEL writes it."""
    if isinstance(value, Mapping):
        return "dyn({" + ", ".join(f"{_word(str(name))}: {_literal(one)}" for name, one in value.items()) + "})"
    if isinstance(value, list):
        return "dyn([" + ", ".join(_literal(one) for one in value) + "])"
    return f"dyn({json.dumps(value, ensure_ascii=False)})"


def _telling(words: str) -> str:
    """As `telling` of the target."""
    return (
        f"{words}.transformList(i, a, !{_list(HARMLESS)}.exists(h, a == h || a.startsWith(h + '=')) && "
        f"!(i > 0 && {words}[i - 1] in {_list(HARMLESS)}), a)"
    )


def _variables(target: PolicyTarget) -> Mapping[str, str]:
    claim, path = _word(target.wiring.policy.claim), target.wiring.policy.mount_path
    wanted = [one.name for one in target.wiring.variables() if one.replaces]
    return {
        "at": f"object.spec.containers.map(c, c.name).indexOf({_word(target.container)})",
        "engine": "object.spec.containers[variables.at]",
        "where": "'/spec/containers/' + string(variables.at)",
        "env": "variables.engine.?env.orValue([])",
        "names": "variables.env.map(e, e.name)",
        "wanted": _list(wanted),
        # positions of what is there more than once: each moves down by those that went before
        "surplus": "variables.env.transformList(i, e, e.name in variables.wanted && "
        "i != variables.names.indexOf(e.name), i)",
        "claimed": "object.spec.?volumes.orValue([])"
        f".filter(v, v.?persistentVolumeClaim.claimName.orValue('') == {claim}).map(v, v.name)",
        "mounted": "variables.engine.?volumeMounts.orValue([])"
        f".exists(m, m.mountPath == {_word(path)} || m.mountPath == {_word(path + '/')})",
    }


def _patch(target: PolicyTarget) -> str:
    """One list of steps that ends as `patch_of` does.

    No step has a value that is a part of the pod: Kubernetes 1.37 can't make JSON of one where a policy has
    conditions, and takes the policy for failed.
    """
    volume = _entries(target.wiring.volume())
    mount = _entries(target.wiring.mount()).replace(
        f"dyn({_word(VOLUME)})", f"dyn(variables.claimed.size() > 0 ? variables.claimed[0] : {_word(VOLUME)})"
    )
    note = f"'/metadata/annotations/' + jsonpatch.escapeKey({_word(ANNOTATION)})"
    steps = (
        _missing("variables.engine", "env", "variables.where + '/env'", "[]"),
        *_environment(target),
        _missing("variables.engine", "volumeMounts", "variables.where + '/volumeMounts'", "[]"),
        _unless("variables.mounted", "variables.where + '/volumeMounts/-'", mount),
        _missing("object.spec", "volumes", "'/spec/volumes'", "[]"),
        _unless("variables.claimed.size() > 0", "'/spec/volumes/-'", volume),
        _missing("object.metadata", "annotations", "'/metadata/annotations'", "{}"),
        f"[JSONPatch{{op: 'add', path: {note}, value: {_word(note_of(target))}}}]",
    )
    return "\n+ ".join(steps)


def _environment(target: PolicyTarget) -> Iterable[str]:
    """The variables, each exactly once where it replaces; the others keep their place."""
    wanted = target.wiring.variables()
    values = json.dumps({one.name: one.value for one in wanted if one.replaces}, ensure_ascii=False)
    yield (
        "variables.env.transformList(i, e, e.name in variables.wanted && i == variables.names.indexOf(e.name), "
        "JSONPatch{op: 'replace', path: variables.where + '/env/' + string(i), "
        f"value: {{'name': dyn(e.name), 'value': dyn({values}[e.name])}}}})"
    )
    yield (
        "variables.surplus.map(i, JSONPatch{op: 'remove', "
        "path: variables.where + '/env/' + string(i - variables.surplus.indexOf(i))})"
    )
    for one in wanted:
        entry = json.dumps({"name": one.name, "value": one.value}, ensure_ascii=False)
        yield _unless(f"{_word(one.name)} in variables.names", "variables.where + '/env/-'", entry)


def _missing(parent: str, field: str, path: str, empty: str) -> str:
    """The step that makes a list or map to add to, where there is none."""
    return _unless(f"has({parent}.{field})", path, empty)


def _unless(there: str, path: str, value: str) -> str:
    return f"({there} ? [] : [JSONPatch{{op: 'add', path: {path}, value: {value}}}])"


def note_of(target: PolicyTarget) -> str:
    """The annotation: as the webhook's, without what was done to this very pod."""
    told = json.loads(explained(target.wiring, target.identity, target.container, ()))
    told |= {"by": f"policy {target.name}"}
    del told["did"]
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _entries(entry: Mapping[str, object]) -> str:
    """An object as CEL writes it, its values of any type."""
    return "{" + ", ".join(f"{_word(name)}: dyn({json.dumps(value)})" for name, value in entry.items()) + "}"


def _word(text: str) -> str:
    """A string as CEL writes it."""
    return json.dumps(text, ensure_ascii=False)


def _list(words: Iterable[str]) -> str:
    return json.dumps(list(words), ensure_ascii=False)
