"""The store's face towards alerting: alerts, what is said of them, silences, and who does it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from db.alert_rows import (
    WantedAlerts,
    delete_acknowledgement,
    read_alert,
    read_alerts,
    read_open,
    read_steps,
    save_alerts,
    write_acknowledgement,
)
from db.channel_rows import read_channels, write_channels
from db.clauses import rolled_at, watermark, watermarks_of
from db.database import Database
from db.hit_history import read_hit_history
from db.leases import drop_lease, hold_lease, read_leases
from db.limit_rows import read_limits, write_limits
from db.notice_rows import count_waiting, mark_failed, mark_sent, read_notices, take_notice, write_notices
from db.scenes import Moment, read_scene
from db.schema import watermarks
from db.silence_rows import end_silence, read_frozen, read_silences, write_silence
from db.unjudged_rows import read_unjudged, write_unjudged
from db.upsert import Upsert, incoming
from tierdeck.alerts.alert import Acknowledgement, Alert
from tierdeck.alerts.limits import AlertLimits
from tierdeck.alerts.minute import Scene
from tierdeck.alerts.notice import Notice, Way
from tierdeck.alerts.silence import Silence
from tierdeck.errors import UsageError
from tierdeck.resolution import Resolution

if TYPE_CHECKING:
    import pandas as pd


JUDGING = "alerting/"
"""With the cluster's name behind it, the lease of the process that judges that cluster's rules."""
_RESTATED = "restated/"
"""With cluster and endpoint behind it, a line each since names may hold a slash, a watermark."""
_LATEST = Upsert(watermarks, where=incoming(watermarks).c.at > watermarks.c.at)


def _judged(cluster: str) -> str:
    """Name of the watermark."""
    return f"judged/{cluster}"


class AlertStore:
    """The part of `Store` about alerting. Instants are epoch seconds."""

    _database: Database

    def scene(self, at: float, cluster: str | None = None, *, stale_after_seconds: float = 45.0) -> Scene:
        """The minute [at, at + 60) of everything: `at` is a whole minute that has been rolled up.

        A figure that one of an endpoint's readable replicas can't tell is unknown (None) in the endpoint's.

        Args:
            stale_after_seconds: a pool whose last reading is older at the minute's end is left out; three scrape
                intervals.

        Raises:
            UsageError: `at` is no whole minute.
        """
        if at % Resolution.MINUTE.value:
            raise UsageError(f"a minute can't begin at {at:.3f}: it is no multiple of 60 seconds")
        with self._database.read() as connection:
            return read_scene(connection, Moment(at, cluster, stale_after_seconds))

    def hit_history(self, start_at: float, end_at: float, cluster: str | None = None) -> pd.DataFrame:
        """Hits of endpoints in the buckets of 10 minutes that lie in [start_at, end_at], in order of time.

        Columns: at (UTC, start of the bucket), cluster, endpoint, prompt_tokens, hit_tokens, l0, l1, l2, requests
        (counts; NaN: unknown, hits too where counters of a replica contradict each other). No row where nothing was
        scraped; the last bucket may still be growing.
        """
        with self._database.read() as connection:
            return read_hit_history(connection, start_at, end_at, cluster)

    def rolled_up_to(self) -> float | None:
        """How far the roll-up has come; None: it never ran."""
        with self._database.read() as connection:
            return rolled_at(connection)

    def judged_up_to(self, cluster: str) -> float | None:
        """Up to when the rules have been judged for a cluster; None: never yet."""
        with self._database.read() as connection:
            return watermark(connection, _judged(cluster))

    def save_alerts(
        self, changed: Sequence[Alert], notices: Sequence[Notice], at: float, *, judged: str = ""
    ) -> list[Alert]:
        """Write alerts and what is to be said of them, all or nothing; the alerts as stored, in this order.

        An alert without an id is new, unless one of its key is open: then it is that one. A state never goes
        back, and acknowledgements stay as people left them. A notice whose key is known is not written again;
        one whose alert has no id yet is about the alert of the same key.

        Args:
            at: of what the alerts don't date themselves, such as being suppressed.
            judged: the cluster whose rules have been judged up to then.

        Raises:
            UsageError: no alert has such an id.
        """
        if not (changed or notices or judged):
            return []
        with self._database.write() as connection:
            saved = save_alerts(connection, changed, at)
            write_notices(connection, notices, saved)
            if judged:
                _LATEST.run(connection, [(_judged(judged), at)])
        return saved

    def open_alerts(self, cluster: str | None = None) -> list[Alert]:
        """Those that are pending or firing, the newest first."""
        with self._database.read() as connection:
            return read_open(connection, cluster)

    def alert(self, number: int) -> Alert | None:
        """None: there is none of this id, or no longer."""
        with self._database.read() as connection:
            return read_alert(connection, number)

    def alerts(
        self,
        start_at: float,
        end_at: float,
        cluster: str | None = None,
        endpoint: str | None = None,
        rule: str | None = None,
        *,
        limit: int = 500,
    ) -> list[Alert]:
        """Those that were pending or firing at some time in [start_at, end_at], the newest first.

        One that is over and never fired is left out.
        """
        wanted = WantedAlerts(start_at, end_at, cluster, endpoint, rule, limit)
        with self._database.read() as connection:
            return read_alerts(connection, wanted)

    def alert_steps(self, number: int) -> list[tuple[float, str, str]]:
        """An alert's history in the order written: when, what, and why or by whom.

        `pending`, `firing` and `resolved` come with the alert's words, `suppressed` and `unsuppressed` with
        what keeps or kept it from being said, `acknowledged` and `unacknowledged` with who did it.
        """
        with self._database.read() as connection:
            return read_steps(connection, number)

    def acknowledge(self, number: int, ack: Acknowledgement) -> Alert:
        """Somebody has seen it; an earlier acknowledgement is replaced.

        Raises:
            UsageError: no such alert, or it is over.
        """
        with self._database.write() as connection:
            return write_acknowledgement(connection, number, ack)

    def unacknowledge(self, number: int, by: str, at: float) -> Alert:
        """Take it back.

        Raises:
            UsageError: no such alert, or it is over or not acknowledged.
        """
        with self._database.write() as connection:
            return delete_acknowledgement(connection, number, by, at)

    def silences(self, now: float | None = None) -> list[Silence]:
        """By their beginning; with `now` those that are active or still to come."""
        with self._database.read() as connection:
            return read_silences(connection, now)

    def add_silence(self, silence: Silence) -> Silence:
        """With its id; leaves an audit row.

        Raises:
            UsageError: no matchers or unknown ones, no reason, or an end before the beginning; a maintenance
                window about more than a cluster and an endpoint.
        """
        with self._database.write() as connection:
            return write_silence(connection, silence)

    def end_silence(self, number: int, by: str, at: float) -> Silence:
        """End it early; leaves an audit row.

        Raises:
            UsageError: no such silence, or it is over.
        """
        with self._database.write() as connection:
            return end_silence(connection, number, by, at)

    def frozen(self, cluster: str, endpoint: str, now: float) -> Silence | None:
        """The maintenance window in which nothing of this endpoint is to be changed; of several the longest."""
        with self._database.read() as connection:
            return read_frozen(connection, cluster, endpoint, now)

    def take_notice(
        self, now: float, channels: Collection[str], claim_seconds: float, cluster: str | None = None
    ) -> Notice | None:
        """The notice that has been due longest for one of these channels; None: nothing is due.

        It is one sender's alone for `claim_seconds`, which must be longer than a sending takes. A notice whose
        claim ended without an outcome is due again, and says that it may be a repetition.

        Args:
            cluster: only about its alerts, and tests: another cluster's process has channels of its own.
        """
        with self._database.write() as connection:
            return take_notice(connection, now, channels, claim_seconds, cluster)

    def notice_sent(self, number: int, at: float) -> None:
        """The channel has it."""
        with self._database.write() as connection:
            mark_sent(connection, number, at)

    def notice_failed(self, number: int, at: float, trouble: str, again_at: float | None) -> None:
        """The channel does not have it.

        Args:
            again_at: when to try again; None: it is given up.
        """
        with self._database.write() as connection:
            mark_failed(connection, number, at, trouble, again_at)

    def add_notice(self, notice: Notice) -> bool:
        """True where its key was new."""
        with self._database.write() as connection:
            return bool(write_notices(connection, [notice]))

    def notices(self, limit: int = 100, *, alert_id: int | None = None) -> list[Notice]:
        """The newest first."""
        with self._database.read() as connection:
            return read_notices(connection, limit, alert_id)

    def notices_waiting(self) -> int:
        """Neither sent nor given up."""
        with self._database.read() as connection:
            return count_waiting(connection)

    def hold_lease(self, name: str, holder: str, now: float, seconds: float) -> bool:
        """True where the holder has it until `now + seconds`; it keeps it by asking again."""
        with self._database.write() as connection:
            return hold_lease(connection, name, holder, now, seconds)

    def drop_lease(self, name: str, holder: str) -> None:
        """Give it back; nothing happens where it is another's."""
        with self._database.write() as connection:
            drop_lease(connection, name, holder)

    def lease_holder(self, name: str) -> str:
        """Who had it last, whether it has run out or not; empty: nobody."""
        with self._database.read() as connection:
            return read_leases(connection, name).get("", ("", 0.0))[0]

    def judges(self) -> dict[str, tuple[str, float]]:
        """By cluster, which process judges its rules (its instance, as in `processes`), and until when it said so.

        One that ended as it was told to is missing.
        """
        with self._database.read() as connection:
            return read_leases(connection, JUDGING)

    def note_restated(self, cluster: str, endpoint: str, at: float) -> None:
        """A counter of the endpoint means something else since then: what was usual before it is void."""
        with self._database.write() as connection:
            _LATEST.run(connection, [(f"{_RESTATED}{cluster}\n{endpoint}", at)])

    def restated(self, cluster: str) -> dict[tuple[str, str], float]:
        """By (cluster, endpoint), when that happened last."""
        beginning = f"{_RESTATED}{cluster}\n"
        with self._database.read() as connection:
            found = watermarks_of(connection, beginning)
        return {(cluster, name.removeprefix(beginning)): at for name, at in found.items()}

    def note_unjudged(self, cluster: str, start_at: float, end_at: float) -> None:
        """No rule of the cluster was judged between these instants."""
        with self._database.write() as connection:
            write_unjudged(connection, (cluster, start_at, end_at))

    def unjudged(self, start_at: float, end_at: float) -> list[tuple[str, float, float]]:
        """(cluster, from, until), of those that reach into [start_at, end_at]: noted once judging goes on."""
        with self._database.read() as connection:
            return read_unjudged(connection, start_at, end_at)

    def declare_limits(self, cluster: str, limits: AlertLimits) -> None:
        """What the cluster's rules are judged by from now on."""
        with self._database.write() as connection:
            write_limits(connection, cluster, limits)

    def limits(self) -> dict[str, AlertLimits]:
        """By cluster, as declared last; one whose alerting process has not yet is missing."""
        with self._database.read() as connection:
            return read_limits(connection)

    def declare_channels(self, cluster: str, names: Sequence[tuple[str, str]]) -> None:
        """Make the cluster's channels exactly these (name, kind): no address, no secret."""
        with self._database.write() as connection:
            write_channels(connection, cluster, names)

    def channels(self) -> list[Way]:
        """As declared last, by cluster."""
        with self._database.read() as connection:
            return read_channels(connection)
