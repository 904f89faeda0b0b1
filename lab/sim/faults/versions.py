"""Faults of versions: an engine that comes back as another one, and processes that don't tell which they are."""

from __future__ import annotations

from lab.sim.fault import Address, BaseFault, FaultTarget, is_cache, is_engine
from lab.sim.faults.processes import embedded
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.spec import Form

_GATEWAY_PAGE = "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>"


class EngineUpgraded(BaseFault):
    """A roll-out has come to one replica: vLLM 0.32.0 with an LMCache server beside it takes the place of an older."""

    name = "engine-upgraded"
    seen = (
        "the replica restarts and is another version: note `restarted` with the version before and after, and "
        "`meaning_changed` where a counter means something else since; its LMCache is read at another address"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        replica = embedded(fleet, target)
        replica.form = Form.MULTI_PROCESS
        replica.restart()


class VersionSilent(BaseFault):
    """`/version` takes the connection and does not answer."""

    name = "version-silent"
    seen = (
        "nothing, but that a process which starts meanwhile has no version of its own: what the configuration states "
        "counts, or it is unknown; scrapes go on in time"
    )

    def version_told(self, text: str, address: Address, target: FaultTarget) -> str:
        if is_engine(address, target) or is_cache(address, target):
            raise NoAnswerError("its version is not told", hangs=True)
        return text


class VersionPage(BaseFault):
    """A gateway answers `/version` with a page of its own."""

    name = "version-page"
    seen = "as with `version-silent`: an HTML page is no version"

    def version_told(self, text: str, address: Address, target: FaultTarget) -> str:
        return _GATEWAY_PAGE if is_engine(address, target) or is_cache(address, target) else text
