"""The faults of the simulated fleet; a new one is a class in a file here and a line in `FAULTS`."""

from __future__ import annotations

from lab.sim.fault import Fault
from lab.sim.faults.counting import CounterNotWired, DoubleCounted, MetricRename, NoEngineMetrics
from lab.sim.faults.keys import DifferingHashSeed, SharedKeySpace
from lab.sim.faults.pool import FullPool, FuseError, FuseHang, MasterStall, SilentWrites, UnreadableL2, WorkerLoss
from lab.sim.faults.processes import CacheServerFrozen, CacheServerGone, L0Wiped, ReplicaRestart, SlowScrape
from lab.sim.faults.traffic import EvictionStorm, StrategyNotEffective, WorkloadShift

FAULTS: tuple[Fault, ...] = (
    ReplicaRestart(),
    WorkerLoss(),
    UnreadableL2(),
    FuseHang(),
    FullPool(),
    SilentWrites(),
    CacheServerFrozen(),
    CacheServerGone(),
    SlowScrape(),
    DifferingHashSeed(),
    SharedKeySpace(),
    StrategyNotEffective(),
    WorkloadShift(),
    EvictionStorm(),
    MetricRename(),
    DoubleCounted(),
    CounterNotWired(),
    NoEngineMetrics(),
    L0Wiped(),
    MasterStall(),
    FuseError(),
)

BY_NAME = {fault.name: fault for fault in FAULTS}
