"""The file that production-stack's router watches: another strategy without a restart, where that is safe.

Source: vllm-project/production-stack, dynamic_config.py: read every 10 s; a key that it does not know, or a missing
one that it needs, makes it ignore the whole file; a switch to kvaware there has neither port nor threshold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml

from controller.changes.planner import Look
from controller.changes.refused import RefusedError
from controller.changes.workloads.companions import session_missing
from controller.changes.workloads.place import Place
from controller.reading.configs import ConfigFile, config_file
from controller.reading.fields import field, flag, labels
from tierdeck.changes.plan import FieldEdit, Write
from tierdeck.changes.shown import shown
from tierdeck.deployed import ObjectRef, Stated
from tierdeck.routing import RoutingStrategy

JSON, YAML = "--dynamic-config-json", "--dynamic-config-yaml"
SAFE = (RoutingStrategy.ROUNDROBIN, RoutingStrategy.SESSION, RoutingStrategy.PREFIXAWARE)
_NEEDED = ("service_discovery", "routing_logic")
_KNOWN = frozenset({
    *_NEEDED, "static_backends", "static_models", "static_aliases", "static_model_labels", "static_model_types",
    "static_backend_health_checks", "prefill_model_labels", "decode_model_labels", "k8s_port", "k8s_namespace",
    "k8s_label_selector", "session_key", "callbacks",
})  # fmt: skip
_REPEATED = ("k8s_port", "k8s_namespace", "k8s_label_selector")
_RESET = ("--prefix-min-match-length", "--max-instance-failover-reroute-attempts")
_IN_JSON = re.compile(r'("routing_logic"\s*:\s*)"[^"\\]*"')
_IN_YAML = re.compile(r"(?m)^(routing_logic[ \t]*:[ \t]*)(?:\"[^\"\\]*\"|'[^']*'|[^\s#\"']+)")


def file_of(place: Place) -> Stated | None:
    """The file that a router watches; None: none."""
    return place.process.command.get(JSON, YAML)


def switch_in_file(look: Look, place: Place, file: Stated, strategy: str) -> Write | None:
    """The write to the ConfigMap; None: it says so already.

    Raises:
        RefusedError: it would have no effect, or another one.
    """
    source = _source(place, file)
    ref = ObjectRef("ConfigMap", place.ref.namespace, source.name)
    raw = look.reader.get(ref)
    text = None if raw is None else labels(raw, "data").get(source.key)
    if raw is None or text is None:
        raise RefusedError("changed_meanwhile", f"{ref} with the key {source.key} is not there")
    if flag(raw, "immutable"):
        raise RefusedError("not_possible", f"{ref} is immutable", "Make another one, and point the router at it.")
    if shown(text) != text:
        raise RefusedError(
            "not_possible",
            f"{ref}, {source.key} holds a secret in the clear, and a change keeps the whole file",
            "Give it to the router by a variable from a Secret first.",
        )
    document = _document(text, f"{ref}, {source.key}", is_json=place.process.command.has(JSON))
    now = document["routing_logic"]
    if now == strategy:
        return None
    for one in (now, strategy):
        if one not in SAFE:
            raise RefusedError(
                "not_possible",
                f"{ref}, {source.key}: a switch between {now} and {strategy} in the watched file leaves the router "
                "without a controller's port and threshold",
                f"Among {', '.join(SAFE)} it is safe; for kvaware, take the file out of the router's arguments first.",
            )
    if strategy == RoutingStrategy.SESSION:
        key = str(document.get("session_key") or "")
        for refusal in session_missing(key, f"{ref}, {source.key}", "Add session_key to the file first."):
            raise RefusedError(refusal.code, refusal.reason.removesuffix("."), refusal.fix)
    edit = FieldEdit(("data", source.key), text, _switched(text, document, strategy))
    address, version = look.reader.address_of(ref)
    return Write(ref, address, version, (edit,))


def file_warnings(place: Place, strategy: str, written: Write) -> Iterator[str]:
    """What a switch in the file brings with it."""
    command = place.process.command
    yield "The router reads the file within 10 s of the kubelet's bringing it to the pod, which takes up to 90 s."
    yield "The router's memory of who holds which prefix starts empty."
    stated = command.value("--routing-logic")
    if stated and stated != strategy:
        yield f"After each start {place.ref} routes by {stated} from its arguments until it reads the file."
    lost = [name for name in _RESET if command.value(name) not in ("", "0")]
    if lost:
        yield f"A change of the file sets {' and '.join(lost)} of {place.ref} back to 0 until its next start."
    document = _parsed(str(written.edits[0].after), is_json=command.has(JSON))
    if isinstance(document, dict) and document.get("service_discovery") == "k8s":
        missing = [name for name in _REPEATED if field(document, name) is None]
        if missing:
            yield f"{written.ref}: the file lacks {', '.join(missing)}, which its router then takes as not set."


def _source(place: Place, file: Stated) -> ConfigFile:
    if not file.value:
        raise RefusedError("not_possible", f"{place.process.where}: which file it watches is not known: {file.reason}")
    found = config_file(file.value, place.container, place.process.volumes)
    if isinstance(found, str):
        raise RefusedError(
            "not_possible",
            f"{place.process.where}: the file that it watches decides, and {found}",
            "Change it where the file comes from.",
        )
    if found.is_copied:
        raise RefusedError(
            "silent_no_op",
            f"{place.process.where} mounts {file.value} by subPath, so that a changed ConfigMap never reaches it",
            "Mount the ConfigMap as a folder.",
        )
    return found


def _document(text: str, where: str, *, is_json: bool) -> dict[str, object]:
    found = _parsed(text, is_json=is_json)
    if not isinstance(found, dict):
        raise RefusedError("silent_no_op", f"{where} can't be read, so the router ignores it", "Mend the file first.")
    unknown = sorted(str(key) for key in found if key not in _KNOWN)
    if unknown:
        raise RefusedError(
            "silent_no_op",
            f"{where} has {', '.join(unknown)}, which the router does not know: it ignores the whole file",
            "Take it out of the file first.",
        )
    missing = [key for key in _NEEDED if not isinstance(found.get(key), str)]
    if missing:
        raise RefusedError(
            "silent_no_op",
            f"{where} lacks {', '.join(missing)}, without which the router ignores the whole file",
            "Add it to the file first.",
        )
    return found


def _switched(text: str, document: dict[str, object], strategy: str) -> str:
    """The text with the strategy; as it was written but for that, else written anew."""
    wanted, is_json = {**document, "routing_logic": strategy}, text.lstrip().startswith("{")
    pattern = _IN_JSON if is_json else _IN_YAML
    made, count = pattern.subn(lambda found: found[1] + (f'"{strategy}"' if is_json else strategy), text)
    if count == 1 and _parsed(made, is_json=is_json) == wanted:
        return made
    if is_json:
        return json.dumps(wanted, indent=2 if "\n" in text.strip() else None)
    return yaml.safe_dump(wanted, sort_keys=False)


def _parsed(text: str, *, is_json: bool) -> object:
    try:
        return json.loads(text) if is_json else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        return None
