"""The live feed: every interval one question for the time since the last, and a round of every replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from collectors.prometheus.absent import nothing_found
from collectors.prometheus.addresses import Address, longest_interval
from collectors.prometheus.asking import Answering, Asking
from collectors.prometheus.fleet import Observed, arrange
from collectors.prometheus.history import Chunk, chunks
from collectors.prometheus.labels import Rule
from collectors.prometheus.server import Server
from collectors.prometheus.watch import Memories, Watch
from db import Store
from tierdeck.errors import TierdeckError
from tierdeck.rounds import Round
from tierdeck.settings import Settings

log = structlog.get_logger()

ORIGIN = "Prometheus"
_RAW_SECONDS = 300.0
"""A longer time without a round is caught up on a grid."""
_CATCH_UP_STEP_SECONDS = 60
_GONE_INTERVALS = 2.5
"""An address without a sample for so many of its intervals was taken out of the server's targets."""
_KEPT_SECONDS = 3600.0
"""An endpoint's last replicas stay so long, as ones that don't answer."""
_UNKNOWN_INTERVAL_SECONDS = 60.0


class Feed:
    """Rounds of one Prometheus-compatible server; synchronous, so that it runs in a thread."""

    def __init__(
        self,
        settings: Settings,
        rules: Callable[[], Sequence[Rule]],
        store: Store,
        put: Callable[[Round], None],
        server: Answering | None = None,
    ) -> None:
        """
        Args:
            server: the one that the settings name, by default.
        """
        self._settings = settings
        self._rules = rules
        self._store = store
        self._put = put
        self._server = server if server is not None else Server.of(settings)
        self._asking = Asking(self._server, settings.prometheus_match)
        self._watch: Watch | None = None
        self._at = 0.0
        self._clusters: set[str] = set()
        self._told: tuple[str, ...] = ()
        self._fleet = Observed()
        self._signature: object = None
        self._goes_on = False
        self._was_away = False
        self._since = 0

    @property
    def goes_on(self) -> bool:
        """The store had rounds of this fleet already when it began."""
        return self._goes_on

    @property
    def since(self) -> int:
        """Epoch second of the first contact: the rounds of this feed begin there."""
        return self._since

    @property
    def known_series(self) -> int:
        """How many series are remembered."""
        return self._asking.catalogue.size

    def step(self, now: float) -> int:
        """One round, and what was missed since the last one; returns how many rounds were handed on.

        Raises:
            TierdeckError: the server or the store does not answer; the next step catches up.
        """
        if self._watch is None:
            return self._begin(now)
        try:
            return self._go_on(now)
        except TierdeckError:
            self._was_away = True
            raise

    def _go_on(self, now: float) -> int:
        assert self._watch is not None, "the first contact made it"
        if self._was_away:
            self._watch.server_was_away(now)
        handed_on = 0
        if now - self._at > _RAW_SECONDS:
            handed_on += self._catch_up(now)
        seen = self._asking.raw(self._at - self._settings.prometheus_late_seconds, now)
        handed_on += self._take(Chunk((now,), seen))
        self._was_away = False
        return handed_on

    def _begin(self, now: float) -> int:
        """First contact, or going on where the store's rounds end."""
        self._asking.discover(now)
        addresses = [address for address in self._asking.catalogue.addresses if address.kind is not None]
        if not addresses:
            raise nothing_found(self._server, now, self._asking.match)
        seen = self._asking.raw(now - self._lookback(addresses), now)
        fleet = self._observe(now)
        memories = self._memories(fleet)
        oldest = now - self._settings.prometheus_backfill_seconds
        known = [float(at) for memory in memories.values() if isinstance(at := memory.get("at"), int | float)]
        goes_on = self._goes_on = bool(known) and oldest < max(known) < now
        late = self._settings.prometheus_late_seconds
        self._since = int(min(known) if goes_on else now - late)  # of what was scraped before, nothing is on its way
        self._watch = Watch(self._since, late, self._asking.help_text, memories if goes_on else None)
        self._at = max(known) if goes_on else self._since
        log.info("prometheus_found", server=self._settings.prometheus_address, endpoints=len(fleet.endpoints),
                 replicas=len(fleet.replicas), goes_on=goes_on)  # fmt: skip
        if goes_on:
            return self.step(now)
        return self._take(Chunk((float(self._since), now), seen))

    def _memories(self, fleet: Observed) -> Memories:
        clusters = {replica.key.cluster for replica in fleet.replicas}
        wanted = {replica.key for replica in fleet.replicas}
        return {
            key: memory
            for cluster in clusters
            for key, memory in self._store.memories(cluster).items()
            if key in wanted
        }

    def _lookback(self, addresses: Sequence[Address]) -> float:
        longest = longest_interval(addresses) or _UNKNOWN_INTERVAL_SECONDS
        return min(_RAW_SECONDS, 1.5 * longest + 2 * self._settings.prometheus_late_seconds)

    def _catch_up(self, now: float) -> int:
        """What nobody asked for in time, up to a moment ago."""
        step = _CATCH_UP_STEP_SECONDS
        start, handed_on = int(self._at), 0
        steps = int((now - start) // step)
        for chunk in chunks(self._asking, start, start + steps * step, step):
            handed_on += self._take(chunk)
        return handed_on

    def _take(self, chunk: Chunk) -> int:
        at = chunk.moments[-1]
        fleet = self._observe(at)
        assert self._watch is not None, "the first contact made it"
        rounds = self._watch.feed(chunk.seen, fleet, chunk.moments)
        for one in rounds:
            self._put(one)
        self._at = max(self._at, at)
        return len(rounds)

    def _observe(self, now: float) -> Observed:
        """The fleet without what was taken away; an endpoint that is silent as a whole stays for a while."""
        addresses = [address for address in self._asking.catalogue.addresses if address.kind is not None]
        newest = max((address.seen_at for address in addresses), default=now)
        self._asking.catalogue.forget(newest - _KEPT_SECONDS)
        recent = [address for address in addresses if newest - address.seen_at <= _KEPT_SECONDS]
        fresh = [address for address in recent if newest - address.seen_at <= self._stays(address)]
        silent = sorted({*recent} - {*fresh}, key=lambda address: address.seen_at)
        rules = self._rules()
        signature = (
            rules,
            frozenset(silent),
            {(address, len(address.names), address.interval_seconds) for address in recent},
        )
        if signature == self._signature:
            return self._fleet
        present = {target.key.owner for target in arrange(fresh, rules, self._settings.cluster).where.values()}
        where = arrange([*fresh, *silent], rules, self._settings.cluster).where
        kept = [address for address in silent if address in where and where[address].key.owner not in present]
        self._fleet = arrange([*fresh, *kept], rules, self._settings.cluster)
        self._declare(self._fleet)
        self._signature = signature
        return self._fleet

    def _stays(self, address: Address) -> float:
        interval = address.interval_seconds or _UNKNOWN_INTERVAL_SECONDS
        return _GONE_INTERVALS * interval + self._settings.prometheus_late_seconds

    def _declare(self, fleet: Observed) -> None:
        """Tell the store what there is, cluster by cluster."""
        clusters = {replica.key.cluster for replica in fleet.replicas}
        for cluster in sorted(clusters | self._clusters):
            endpoints = [endpoint for endpoint in fleet.endpoints if endpoint.cluster == cluster]
            pools = [pool for pool in fleet.pools if pool.key.cluster == cluster]
            self._store.declare(cluster, endpoints, pools, origin=ORIGIN, actor="collectors")
        self._clusters = clusters
        told = (*fleet.guesses, *fleet.strays)
        for sentence in told if told != self._told else ():
            log.info("prometheus_labels", told=sentence)
        self._told = told
