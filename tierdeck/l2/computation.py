"""How each figure of a pool is computed: a sentence and the readings behind it, for page and command alike."""

from __future__ import annotations

from tierdeck.computation import Computation
from tierdeck.readings import Reading

_SPACE = (Reading.POOL_USED, Reading.POOL_AVAILABLE, Reading.POOL_CAPACITY)

POOL_COMPUTATIONS: dict[str, Computation] = {
    "used": Computation(
        "Used of capacity",
        "bytes that the pool holds / its capacity, as the master that knows most workers says (without one, the sum "
        "over all workers); what is free can be less than the rest, since other files share the disks",
        _SPACE,
    ),
    "time_to_full": Computation(
        "Time to full",
        "what is free / the pace at which that went over the last hour, where it went by more than 1 % of the capacity "
        "and goes on; each worker keeps its last 128 MiB (Curvine's usual block), so that "
        "the pool is full where no more than that is free for each live worker, and writes fail",
        (Reading.POOL_AVAILABLE, Reading.POOL_CAPACITY),
    ),
    "workers": Computation(
        "Workers live",
        "as the master counts them: blacklisted is silent for 30 s, lost for 10 minutes; one that was taken away on "
        "purpose stays lost until the master restarts",
        (Reading.WORKERS_LIVE, Reading.WORKERS_BLACKLISTED, Reading.WORKERS_LOST, Reading.WORKERS_DECOMMISSIONED),
    ),
    "reads": Computation(
        "Reads",
        "bytes that went through the mounts in the window / its seconds, restarts bridged; without mounts among the "
        "targets, what the workers read and wrote over the network",
        (Reading.FUSE_READ_BYTES, Reading.FUSE_WRITTEN_BYTES, Reading.WORKER_READ_BYTES, Reading.WORKER_WRITTEN_BYTES),
    ),
    "errors": Computation(
        "Failed requests",
        "FUSE requests that failed in the window, of all mounts; a lookup of what is not there (ENOENT) is a cache "
        "miss and no error, and a full pool answers with EIO",
        (Reading.FUSE_ERRORS,),
    ),
    "hang": Computation(
        "State of a mount",
        "hung where replies wait at every scrape for a minute while a sender sends nothing, or where requests are "
        "under way and none was answered for a minute; Kubernetes goes on calling such a pod ready",
        (
            Reading.FUSE_WAITING,
            Reading.FUSE_PROGRESS,
            Reading.FUSE_ACTIVE,
            Reading.FUSE_REQUESTS,
            Reading.FUSE_ATTACHED,
        ),
    ),
    "worker": Computation(
        "State of a worker",
        "as the master's list of workers has it; without that list, whether its own page answers",
        (Reading.WORKER_STATUS, Reading.DATA_DIRS, Reading.FAILED_DIRS),
    ),
    "orphans": Computation(
        "Orphan chunks",
        "files that the master lists − blocks that the workers hold; not known where workers have several data "
        "directories, since the master then counts blocks several times",
        (Reading.POOL_FILES, Reading.POOL_BLOCKS, Reading.DATA_DIRS),
    ),
}


def every_pool_figure() -> str:
    """All of them as one text in Markdown."""
    return "\n\n".join(f"**{one.title}.** {one.markdown()}" for one in POOL_COMPUTATIONS.values())
