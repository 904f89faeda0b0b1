"""L2 of LMCache's multi-process server: the capacity that its one adapter is told.

Source: LMCache 0.5.6, `lmcache server --l2-adapter JSON` (`max_capacity_gb`, GiB of one server). A server counts what
it wrote itself, as seen in the lab: two on one folder each count their own.
"""

from __future__ import annotations

import json

from controller.changes.edits.quantities import gib_per_rank
from controller.changes.refused import RefusedError
from controller.changes.workloads.draft import Draft
from controller.changes.workloads.l2 import POOL
from controller.changes.workloads.place import Place
from controller.objects import Raw
from controller.reading.fields import field, text
from controller.reading.pools import PROVISIONER
from controller.reading.processes import Process
from controller.reading.sizes import gib_of, in_gib
from controller.reading.storage import Storage

_ADAPTER = "--l2-adapter"
_CAPACITY = "max_capacity_gb"


def set_server_l2(draft: Draft, place: Place, size_bytes: int, storage: Storage) -> None:
    """
    Args:
        storage: of the server's namespace.

    Raises:
        RefusedError, NotEditableError: it can't be.
    """
    process = draft.process(place)
    adapter = _adapter(process)
    path = text(adapter, "base_path")
    found = storage.at(path, process) if path else None
    if found is not None and found[0].provisioner == PROVISIONER:
        raise RefusedError("not_possible", f"{process.where} keeps L2 on Curvine, which holds nobody to a size", POOL)
    limit = gib_of(str(field(adapter, _CAPACITY)))
    if limit is None:
        raise RefusedError(
            "not_possible",
            f"{process.where}: its adapter states no {_CAPACITY}, so its L2 has no size",
            "Add it first.",
        )
    if not size_bytes:
        raise RefusedError("not_possible", f"{process.where}: an adapter without capacity is no way to turn L2 off")
    if in_gib(limit).size_bytes == size_bytes:
        return
    number = float(gib_per_rank(size_bytes, 1))
    wanted = {**adapter, _CAPACITY: int(number) if number.is_integer() else number}
    draft.argue(place, _ADAPTER, json.dumps(wanted))
    if _adapter(draft.process(place)) != wanted:
        raise RefusedError("not_possible", f"{process.where} would not be told this {_ADAPTER} by its arguments")
    draft.warn(
        f"{process.where}: the capacity is of one server, which counts only what it writes itself: files that are "
        "there before its restart may not count."
    )


def _adapter(process: Process) -> Raw:
    stated = process.command.all(_ADAPTER)
    if len(stated) != 1:
        raise RefusedError("not_possible", f"{process.where} has {len(stated) or 'no'} L2 adapters: one can be sized")
    try:
        found = json.loads(stated[0].value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RefusedError("not_possible", f"{process.where}: its {_ADAPTER} is no JSON object that can be read")
    return found
