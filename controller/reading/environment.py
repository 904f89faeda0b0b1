"""A container's environment: what each variable is, or why that can't be told.

Source: Kubernetes API, core/v1 EnvVar and EnvFromSource; of several with one name the last one wins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.objects import Raw
from controller.reading.configs import Configs
from controller.reading.fields import items, labels, mapping, text
from tierdeck.deployed import Stated

_REFERENCE = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables by name.

    Attributes:
        duplicates: names that are given more than once.
        hidden: what may set variables that can't be seen, a reason each.
    """

    variables: Mapping[str, Stated] = field(default_factory=dict)
    duplicates: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def get(self, name: str) -> Stated | None:
        """None where it is not set, or empty."""
        return self.variables.get(name)

    def value(self, name: str) -> str:
        """Empty where it is not set or not known."""
        found = self.variables.get(name)
        return found.value if found else ""

    def expand(self, word: str) -> str:
        """`$(NAME)` replaced, as Kubernetes does in commands and arguments; what is not known stays."""
        return _expand(word, self.variables)

    def with_script(self, name: str, stated: Stated) -> Environment:
        """The same, with a variable that a shell script sets."""
        more = {name: stated} if stated.value or stated.reason else {}
        kept = {key: value for key, value in self.variables.items() if key != name}
        return Environment({**kept, **more}, self.duplicates, self.hidden)


def read_environment(container: Raw, key: str, configs: Configs, where: str) -> Environment:
    """The variables of a container.

    Args:
        key: where they are listed: `env`, or `environmentVariables` in a custom resource.
    """
    found: dict[str, Stated] = {}
    hidden: list[str] = []
    for source in items(container, "envFrom"):
        hidden += _read_source(source, configs, where, found)
    names: list[str] = []
    for variable in items(container, key):
        name = text(variable, "name")
        if not name:
            continue
        names.append(name)
        stated = _one(variable, configs, f"{where}, {key} {name}", found)
        if stated is None:
            found.pop(name, None)
        else:
            found[name] = stated
    twice = tuple(sorted(name for name, count in Counter(names).items() if count > 1))
    return Environment(found, twice, tuple(hidden))


def _read_source(source: Raw, configs: Configs, where: str, found: dict[str, Stated]) -> Iterable[str]:
    prefix = text(source, "prefix")
    config = text(source, "configMapRef", "name")
    if not config:
        secret = text(source, "secretRef", "name")
        return [f"Secret {secret}, which is not read, may set it"] if secret else []
    data = configs.data(config)
    if isinstance(data, str):
        return [f"may be set by {data}"]
    for key, value in data.items():
        if value:
            found[prefix + key] = Stated(value, f"{where}, ConfigMap {config} {key}")
    return []


def _one(variable: Raw, configs: Configs, where: str, known: Mapping[str, Stated]) -> Stated | None:
    source = mapping(variable, "valueFrom")
    if not source:
        value = _expand(text(variable, "value"), known)
        return Stated(value, where) if value else None
    config = mapping(source, "configMapKeyRef")
    if config:
        data = configs.data(text(config, "name"))
        if isinstance(data, str):
            return Stated.unknown(data, where)
        value = data.get(text(config, "key"), "")
        return Stated(value, where) if value else None
    kind = next((kind for kind in ("secretKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef") if kind in source), "")
    detail = labels(source, kind)
    of = detail.get("fieldPath") or detail.get("resource") or detail.get("name") or "elsewhere"
    return Stated.unknown(f"its value comes from {of} ({kind or 'valueFrom'})", where)


def _expand(word: str, known: Mapping[str, Stated]) -> str:
    def replace(match: re.Match[str]) -> str:
        stated = known.get(match[1])
        return stated.value if stated and stated.value else match[0]

    return _REFERENCE.sub(replace, word)
