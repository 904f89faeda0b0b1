"""Whether /dev/shm holds what LMCache's server keeps there.

Source: LMCache 0.5.6, multi-process mode: with `--shm-name` the server's L1 pool is a file of that size in /dev/shm.
Where a container mounts nothing there, container runtimes give it 64 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.saying import sentence, size, told
from controller.reading.fields import field, flag, items, mapping, text
from controller.reading.lineage import template_spec
from controller.reading.processes import Process
from controller.reading.quantities import bytes_of
from tierdeck.changes.plan import Refusal

_SHARED = "/dev/shm"  # noqa: S108
_LEGACY_BYTES = 64 << 20


def find_shared_memory(ahead: Ahead) -> Iterator[Finding]:
    """Only where L1 changes and a server keeps it in shared memory."""
    for one in ahead.restarts:
        if ahead.wish.l1_bytes and one.holder is not None and one.holder.command.has("--shm-name"):
            yield from _holds(one, one.holder, ahead.wish.l1_bytes)


def _holds(one: Restart, server: Process, wanted: int) -> Iterator[Finding]:
    spec, container = template_spec(one.after), one.container(server)
    where = f"container {server.name} of {one.ref}"
    mount = next((it for it in items(container, "volumeMounts") if text(it, "mountPath").rstrip("/") == _SHARED), None)
    if mount is None:
        if flag(spec, "hostIPC"):
            yield f"Whether {_SHARED} of the node holds L1 is not checked: {where} uses the node's own (hostIPC)."
        elif wanted > _LEGACY_BYTES:
            yield (f"{sentence(where)} keeps L1 in {_SHARED} and mounts nothing there: container runtimes give it "
                   f"{size(_LEGACY_BYTES)} unless they are told otherwise, and L1 takes {size(wanted)}.")  # fmt: skip
        return
    volume = next((it for it in items(spec, "volumes") if text(it, "name") == text(mount, "name")), {})
    bound = bytes_of(field(mapping(volume, "emptyDir"), "sizeLimit"))
    if bound is not None and bound < wanted:
        yield Refusal(
            "shm",
            f"{sentence(where)} keeps L1 in {_SHARED}, whose volume {text(volume, 'name')} holds {size(bound)}; "
            f"L1 takes {size(wanted)}, so {told(wanted - bound)} are missing.",
            f"Raise emptyDir.sizeLimit of volume {text(volume, 'name')} to {told(wanted)}.",
        )


SHARED_MEMORY = Check("shared memory", ("shm",), find_shared_memory)
