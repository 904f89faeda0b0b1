"""Scenes for the detectors' tests: minutes of one endpoint or pool, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.judgement import Detector, Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.fleet import POOL

START = 1_800_000_000.0
CHAT = Subject("east", "chat")
NVME = Subject("east", POOL, "nvme")


def scenes(minutes: Iterable[Mapping[str, object]], pools: Sequence[PoolAccount] = ()) -> list[Scene]:
    """One scene a minute; figures by name. A pool for each, if any are given."""
    made = []
    for number, figures in enumerate(minutes):
        at = START + 60.0 * number
        pool = {NVME: pools[number]} if number < len(pools) else {}
        usual = {"replicas": 2, "readable": 2}
        made.append(Scene(at, {CHAT: Minute(at=at, **(usual | dict(figures)))}, pool))  # type: ignore[arg-type]
    return made


def run(detector: Detector, played: Iterable[Scene], rule: str = "", whose: Subject | None = None) -> list[Judgement]:
    """The judgement of each scene, of this rule and subject if one is named; each must give exactly one."""
    found = []
    for scene in played:
        judged = [one for one in detector.judge(scene) if one.rule == (rule or one.rule)]
        judged = [one for one in judged if whose in (None, one.subject)]
        assert len(judged) == 1, "one subject, one judgement"
        assert not (judged[0].is_bad and judged[0].is_clear), "bad and clear at once"
        found.append(judged[0])
    return found
