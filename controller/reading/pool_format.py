"""Curvine's format flags: left on after the first start, they make the next restart wipe the pool.

Sources: CurvineIO/curvine, cluster_conf.rs (`format_master` and `format_worker` are true where the file does not name
them) and curvine-helm, configmap.yaml (values cluster.formatMaster and cluster.formatWorker; formatJournal is written
nowhere).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.fields import items, text, whole
from controller.reading.lineage import Found, Lineage
from controller.reading.pools import CONFIG_FILE, Pool

FLAGS: Mapping[str, str] = {"master": "format_master", "worker": "format_worker"}
_CONSEQUENCES: Mapping[str, str] = {
    "master": "a master that restarts forgets every file of the pool",
    "worker": "a worker that restarts erases its part of the pool",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag in the ConfigMap that its component takes at its next start.

    Attributes:
        is_on: also where it is not named; None: it can't be told, for `reason`.
        is_named: it stands in the file.
        where: ConfigMap, file and key.
    """

    component: str
    where: str
    is_on: bool | None = None
    is_named: bool = False
    reason: str = ""

    @property
    def name(self) -> str:
        return FLAGS[self.component]

    @property
    def said(self) -> str:
        """What stands there, in words."""
        if self.reason:
            return self.reason
        return f"{self.name} = {str(self.is_on).lower()}" if self.is_named else f"{self.name} is absent, so it is true"


def format_flags(objects: Objects, pool: Pool) -> tuple[Flag, ...]:
    """Of its masters and its workers, as far as it has some."""
    return tuple(_flag(objects, pool, component) for component in FLAGS if pool.of(component))


def _flag(objects: Objects, pool: Pool, component: str) -> Flag:
    config, name = pool.config_name(component), FLAGS[component]
    where = f"ConfigMap {pool.namespace}/{config}, {CONFIG_FILE} {name}"
    if not config:
        return Flag(component, f"{component}s", reason=f"its {component}s mount no ConfigMap with {CONFIG_FILE}")
    data = Configs(objects, pool.namespace).data(config)
    if isinstance(data, str):
        return Flag(component, where, reason=f"it is in {data}")
    if CONFIG_FILE not in data:
        return Flag(component, where, reason=f"the ConfigMap has no {CONFIG_FILE}")
    try:
        value = tomllib.loads(data[CONFIG_FILE]).get(name)
    except (tomllib.TOMLDecodeError, RecursionError):
        return Flag(component, where, reason=f"{CONFIG_FILE} can't be read as TOML")
    if value is not None and not isinstance(value, bool):
        return Flag(component, where, reason=f"{name} is neither true nor false")
    return Flag(component, where, is_on=value is not False, is_named=value is not None)


def has_run(pool: Pool, lineage: Lineage) -> bool:
    """One of its masters and workers was ready, so that there is something to lose."""
    sets = (*pool.masters, *pool.workers)
    if any(whole(raw, "status", "readyReplicas") for _, raw in sets):
        return True
    pods = [pod for one in sets for pod in lineage.pods(one)]
    return any(_was_ready(pod) for pod in (*pods, *pool.loose.get("master", ()), *pool.loose.get("worker", ())))


def _was_ready(pod: Found) -> bool:
    """It is, or one of its containers was started again."""
    conditions, statuses = items(pod[1], "status", "conditions"), items(pod[1], "status", "containerStatuses")
    is_ready = any((text(one, "type"), text(one, "status")) == ("Ready", "True") for one in conditions)
    return is_ready or any(whole(one, "restartCount") for one in statuses)


def format_problems(objects: Objects, pool: Pool, lineage: Lineage) -> Iterator[str]:
    """A sentence for each flag that endangers a pool that has run; a flag that can't be read is one too."""
    flags = format_flags(objects, pool)
    if not has_run(pool, lineage):
        return
    for flag in flags:
        if flag.is_on:
            yield (
                f"Pool {pool.name}: {flag.where}: {flag.said}, and the pool has run: "
                f"{_CONSEQUENCES[flag.component]}. {what_to_do(pool)}"
            )
        elif flag.is_on is None:
            yield f"Pool {pool.name}: whether {flag.name} is off can't be told: {flag.reason}."


def what_to_do(pool: Pool) -> str:
    """How the flags are switched off."""
    config = pool.config_name("master") or pool.config_name("worker")
    return (
        "Before anything of it restarts, set both flags to false: by kubectl edit configmap "
        f"{config} -n {pool.namespace}, then for good in the chart's values (cluster.formatMaster and "
        "cluster.formatWorker)."
    )
