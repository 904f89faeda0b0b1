"""`python -m tests.support.dying_controller POINT LATER`: the lab's controller, which kills itself at a point.

The clock is LATER seconds ahead, so that the lease of one that died is over. It ends once nothing is left to do.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from controller.api.errors import ApiUnreachableError
from controller.changes.runner import Runner
from controller.changes.ways import ways
from controller.objects import Objects
from db import Store
from tierdeck.changes.change import State
from tierdeck.log import configure
from tierdeck.settings import load_settings

_MOST_SECONDS = 120.0


class Dying:
    """Ends as by `kill -9` at the point."""

    def __init__(self, point: str) -> None:
        self._point = point

    def at(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def main(point: str, later: float) -> None:
    settings = load_settings()
    configure("controller", "debug")
    with Store.open(settings.store_url) as store:
        changer = ways(settings, store, None, _no_cluster)
        holder = f"test:{os.getpid()}"
        runner = Runner(settings, store, changer, holder, seam=Dying(point), clock=lambda: time.time() + later)
        end = time.monotonic() + _MOST_SECONDS
        while time.monotonic() < end:
            runner.step()
            (change,) = store.changes(settings.cluster)
            if change.state.is_over:
                return
            if change.state is State.PREVIEWED:
                store.approve_change(change.id, "bob", time.time() + later)
            time.sleep(0.05)
    raise SystemExit("it came to no end")


def _no_cluster() -> Objects:
    raise ApiUnreachableError("there is no cluster")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
