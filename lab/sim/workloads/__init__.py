"""The workloads of the lab; a new one is a file here and a line in `WORKLOADS`."""

from __future__ import annotations

from lab.sim.workload import Workload
from lab.sim.workloads.agents import Agents
from lab.sim.workloads.batch import Batch
from lab.sim.workloads.chat import Chat
from lab.sim.workloads.rag import Rag
from lab.sim.workloads.writer import Writer

WORKLOADS: tuple[Workload, ...] = (Chat(), Rag(), Batch(), Agents(), Writer())
"""Those that need no file; a trace is `Mooncake`."""

BY_NAME = {workload.name: workload for workload in WORKLOADS}
