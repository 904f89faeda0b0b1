"""What labels say about where a series comes from: names differ from set-up to set-up, so they are guessed.

The guess can be replaced by relabelling rules with Prometheus's own words (`relabel_config`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tierdeck.fleet import Role

NAMESPACE = ("namespace", "kubernetes_namespace", "k8s_namespace_name", "exported_namespace")
POD = ("pod", "kubernetes_pod_name", "pod_name", "k8s_pod_name", "exported_pod")
CLUSTER = ("cluster", "cluster_name", "k8s_cluster_name")
COPY = ("prometheus", "prometheus_replica", "__replica__", "receive_replica")
_CORE = (*CLUSTER, *NAMESPACE, *POD, "instance", "job", *COPY)
_BESIDE = ("container", "endpoint", "service", "node", "nodename", "host", "region", "environment", "env", "app",
           "helm_chart", "tenant_id", "metrics_path", "scrape_job", "service_name", "service_instance_id")  # fmt: skip
OF_TARGET = frozenset((*_CORE, *_BESIDE))
"""Labels that Prometheus or its set-up adds to every series of a target, besides those of the target's `up`."""

TARGETS = ("cluster", "endpoint", "replica", "role")
"""What a rule may set."""

_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
"""Kubernetes writes its hashes and random parts without vowels and what looks like one, so that no words come about."""
_DEPLOYMENT = re.compile(rf"(.+)-{_SAFE}{{6,10}}-{_SAFE}{{5}}")
_NUMBERED = re.compile(r"(.+)-\d+")
_RANDOM = re.compile(rf"(.+)-{_SAFE}{{5}}")


@dataclass(frozen=True, slots=True)
class Rule:
    """One step of relabelling.

    Attributes:
        source_labels: labels whose values are joined by `separator`; `model_name` is among them.
        regex: must match the whole.
        target_label: one of `TARGETS`.
        replacement: may hold `$1` or `${1}`.

    Source: Prometheus, configuration, `relabel_config`.
    """

    source_labels: tuple[str, ...]
    regex: re.Pattern[str] = field(default_factory=lambda: re.compile("(.*)"))
    separator: str = ";"
    target_label: str = ""
    replacement: str = "$1"
    action: Literal["replace", "keep", "drop"] = "replace"

    def joined(self, labels: Mapping[str, str]) -> str:
        return self.separator.join(labels.get(name, "") for name in self.source_labels)


@dataclass(frozen=True, slots=True)
class Told:
    """What rules made of a target's labels; `is_dropped`: it is not to be watched."""

    values: Mapping[str, str] = field(default_factory=dict)
    is_dropped: bool = False


def relabel(labels: Mapping[str, str], rules: Sequence[Rule]) -> Told:
    """Apply rules in their order; a rule sees what the ones before it set."""
    values: dict[str, str] = {}
    for rule in rules:
        found = rule.regex.fullmatch(rule.joined({**labels, **values}))
        if rule.action == "replace":
            if found is not None:
                values[rule.target_label] = found.expand(template(rule.replacement))
        elif (found is None) == (rule.action == "keep"):
            return Told(values, is_dropped=True)
    return Told(values)


def template(replacement: str) -> str:
    r"""`$1` and `${1}` as Python's `\g<1>`; everything else stands for itself."""
    parts = re.split(r"\$(?:\{(\w+)\}|(\d+))", replacement)
    found = [parts[0].replace("\\", "\\\\")]
    for braced, plain, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        found.append(rf"\g<{braced or plain}>" + text.replace("\\", "\\\\"))
    return "".join(found)


def first_of(labels: Mapping[str, str], names: Sequence[str]) -> str:
    """The first of some labels that is there and not empty."""
    return next((labels[name] for name in names if labels.get(name)), "")


def owner_of(pod: str) -> str:
    """What a pod belongs to, by its name: `chat-7d9f8b6c5-x2x4x`, `chat-0` and `chat-x2x4x` are of `chat`.

    Behind the name of a Deployment Kubernetes puts a hash of the template and five random characters, behind a
    StatefulSet's a number, and behind a DaemonSet's five random characters.

    Source: k8s.io/apimachinery, `pkg/util/rand` (`SafeEncodeString`, `String`).
    """
    found = next((found for form in (_DEPLOYMENT, _NUMBERED, _RANDOM) if (found := form.fullmatch(pod))), None)
    return found[1] if found is not None else pod


def role_of(text: str) -> Role:
    """`kv_consumer`, `consumer` or `decode` and the like; both where it says neither.

    Raises:
        ValueError: no such role.
    """
    known = {"": Role.BOTH, "both": Role.BOTH, "producer": Role.PRODUCER, "prefill": Role.PRODUCER,
             "consumer": Role.CONSUMER, "decode": Role.CONSUMER}  # fmt: skip
    plain = text.removeprefix("kv_")
    if plain not in known:
        raise ValueError(f"{text} is no role")
    return known[plain]
