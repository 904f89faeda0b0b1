"""One look at a cluster without a store: every resource listed once, with the ConfigMaps that they name."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from controller.api.access import open_api
from controller.api.client import Api
from controller.api.mirror import Mirror
from controller.api.watches import Watches
from controller.backends import BACKENDS
from controller.inventory import Inventory
from controller.l2_file import L2Source
from controller.objects import Objects
from tierdeck.deployed import Sighting
from tierdeck.settings import Settings


@dataclass(frozen=True, slots=True)
class Looked:
    """What was there."""

    api: Api
    objects: Objects
    sighting: Sighting


def look_once(settings: Settings, at: float) -> Looked:
    """The cluster as it is.

    Raises:
        CredentialsError: there is no usable kubeconfig, or the server does not know who asks.
        ApiUnreachableError: the API server does not answer.
        UsageError: the file of L2 policies can't be used.
    """
    l2 = L2Source(settings.l2_file).file
    mirror, api = Mirror(settings.cluster), open_api(settings)
    watches = Watches(api, mirror, settings.namespaces, threading.Event())
    watches.list_once()
    inventory = Inventory(BACKENDS, (), ())
    served = watches.served
    objects = replace(mirror.look(), l2=l2)
    inventory.look(objects, (), at)
    watches.ask(objects.asked)
    objects = replace(mirror.look(), l2=l2)
    seen = inventory.look(objects, served.unknown if served is not None else (), at)
    return Looked(api, objects, seen.sighting)
