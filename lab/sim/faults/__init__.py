"""The faults of the simulated fleet: each a class here, a line in `FAULTS` and one in `lab.sim.expected_alerts`."""

from __future__ import annotations

from lab.sim.fault import Fault
from lab.sim.faults import counting, keys, names, pool, processes, traffic, versions

FAULTS: tuple[Fault, ...] = (
    processes.ReplicaRestart(),
    processes.NodeReplaced(),
    processes.EvictionCrash(),
    processes.Preemptions(),
    processes.CacheServerFrozen(),
    processes.CacheServerGone(),
    processes.EmbeddedNeverStarted(),
    processes.CacheMetricsPushed(),
    processes.SlowScrape(),
    processes.L0Wiped(),
    processes.RouterDown(),
    pool.WorkerLoss(),
    pool.UnreadableL2(),
    pool.WriteOnlyL2(),
    pool.FuseHang(),
    pool.FullPool(),
    pool.SilentWrites(),
    pool.CoordinatorDrift(),
    pool.QuotaConflict(),
    pool.MasterStall(),
    pool.FuseError(),
    keys.DifferingHashSeed(),
    keys.SharedKeySpace(),
    traffic.StrategyNotEffective(),
    traffic.ChatNotRouted(),
    traffic.WorkloadShift(),
    traffic.EvictionStorm(),
    names.MetricRename(),
    names.NamesRespelled(),
    names.BothNames(),
    counting.DoubleCounted(),
    counting.ExternalCountedTwice(),
    counting.CounterNotWired(),
    counting.HitsNotUpdated(),
    counting.HitsWithoutLookups(),
    counting.RetrievalNotCounted(),
    counting.TtftUndercounted(),
    counting.TtftOffScale(),
    counting.NoEngineMetrics(),
    versions.EngineUpgraded(),
    versions.VersionSilent(),
    versions.VersionPage(),
)

BY_NAME = {fault.name: fault for fault in FAULTS}
