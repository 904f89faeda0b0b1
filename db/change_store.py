"""The store's face towards changes: console and controller meet here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

from db.change_moves import drop_change, hold_change, is_any_due, take_change, write_move
from db.change_proposals import write_approval, write_cancellation, write_proposal
from db.change_rows import read_change, read_change_steps, read_changes, read_open_changes
from db.database import Database
from db.event_rows import write_events
from db.proof_rows import read_last_proof, read_proofs, write_proof
from tierdeck.changes.change import Change, Step
from tierdeck.changes.proof import Proof
from tierdeck.events import Event


class ChangeStore:
    """The part of `Store` about changes. Instants are epoch seconds.

    A change that this version can't read, since a newer one wrote it or the row is damaged, is given as one with the
    note `unreadable:` and the reason; it can be looked at, and nothing else.
    """

    _database: Database

    def propose(self, change: Change) -> Change:
        """With its id; leaves a step and an audit row. Of a key that is known the first one, as it is now.

        Only what a proposer says is taken from it: its state, preview and approval are the store's.

        Raises:
            UsageError: the endpoint has another change that is not over, which the message names; or what is to be
                reverted is not there, was never written, or is another endpoint's.
        """
        with self._database.write() as connection:
            return write_proposal(connection, change)

    def change(self, number: int) -> Change | None:
        """None: there is none of this id."""
        with self._database.read() as connection:
            return read_change(connection, number)

    def changes(self, cluster: str | None = None, endpoint: str | None = None, limit: int = 100) -> list[Change]:
        """The newest first."""
        with self._database.read() as connection:
            return read_changes(connection, cluster, endpoint, limit)

    def open_changes(self, cluster: str) -> list[Change]:
        """Those that are not over, the oldest first; one of an endpoint at most."""
        with self._database.read() as connection:
            return read_open_changes(connection, cluster)

    def change_steps(self, number: int) -> list[Step]:
        """A change's history in the order written."""
        with self._database.read() as connection:
            return read_change_steps(connection, number)

    def approve_change(
        self, number: int, by: str, at: float, *, seen_at: float | None = None, reason: str = ""
    ) -> Change:
        """Somebody wants it as it was previewed; leaves a step and an audit row.

        Args:
            seen_at: of the preview that was looked at (`Preview.at`); None: the one that is there is meant.
            reason: why, where the approver says it.

        Raises:
            UsageError: no such change, or it can't be approved now, with the reason.
        """
        with self._database.write() as connection:
            return write_approval(connection, number, by, at, seen_at=seen_at, reason=reason)

    def cancel_change(self, number: int, by: str, at: float) -> Change:
        """Nothing of it will be written; leaves a step and an audit row.

        Raises:
            UsageError: no such change, or it is over, or being written.
        """
        with self._database.write() as connection:
            return write_cancellation(connection, number, by, at)

    def claim_change(self, cluster: str, holder: str, now: float, seconds: float) -> Change | None:
        """The open change of the cluster that has been due longest, this holder's alone until `now + seconds`.

        None: nothing is due. The holder keeps it by `hold_change`; a person who approves or cancels it takes it away.
        """
        with self._database.read() as connection:  # asked often, and mostly in vain: nobody should wait for that
            if not is_any_due(connection, cluster, now):
                return None
        with self._database.write() as connection:
            return take_change(connection, cluster, holder, now, seconds)

    def hold_change(self, number: int, holder: str, now: float, seconds: float) -> bool:
        """True where it still is the holder's, from now on until `now + seconds`."""
        with self._database.write() as connection:
            return hold_change(connection, number, holder, now, seconds)

    def drop_change(self, number: int, holder: str) -> None:
        """Give it back; nothing happens where it is another's."""
        with self._database.write() as connection:
            drop_change(connection, number, holder)

    def move_change(
        self,
        change: Change,
        step: Step | None,
        holder: str,
        now: float,
        *,
        due_at: float | None = None,
        events: Sequence[Event] = (),
    ) -> bool:
        """Write where a change is now, with the step, the events and the proof that tell it, all or nothing.

        Args:
            step: None: nothing is to be told, only the change differs, or when it is due.
            now: by which the holder's lease is judged.
            due_at: when a controller looks at it next, until when it is nobody's; None: at once.

        Returns:
            False, and nothing is written, where the holder's lease does not hold: it ran out, or a person has
            approved or cancelled it meanwhile.

        Raises:
            ValueError: no way leads there from the state that is stored (`NEXT`).
        """
        with self._database.write() as connection:
            is_moved = write_move(connection, change, step, holder, now=now, due_at=now if due_at is None else due_at)
            if is_moved:
                write_events(connection, events, now)
                if change.proof is not None:
                    write_proof(connection, change.cluster, change.endpoint, change.proof)
            return is_moved

    def save_proof(self, cluster: str, endpoint: str, proof: Proof) -> None:
        """What a probe told."""
        with self._database.write() as connection:
            write_proof(connection, cluster, endpoint, proof)

    def last_proof(self, cluster: str, endpoint: str) -> Proof | None:
        """None: there is none, or not any more."""
        with self._database.read() as connection:
            return read_last_proof(connection, cluster, endpoint)

    def proofs(self, start_at: float, end_at: float) -> list[tuple[str, str, Proof]]:
        """(cluster, endpoint, proof) of the probes that began in (start_at, end_at], in order."""
        with self._database.read() as connection:
            return read_proofs(connection, start_at, end_at)
