"""A round of the janitor as the command's JSON has it."""

from __future__ import annotations

from datetime import UTC, datetime

from tierdeck.l2.janitor_runs import JanitorRun


def run_document(run: JanitorRun) -> dict[str, object]:
    """Instants are ISO 8601 UTC, sizes bytes; null is unknown, or not yet."""
    return {
        "id": run.id or None,
        "cluster": run.cluster,
        "pool": run.pool,
        "started_at": _instant(run.started_at),
        "ended_at": _instant(run.ended_at),
        "dry": run.is_dry,
        "outcome": run.outcome.value,
        "why": run.why,
        "words": run.words,
        "order": run.order.value,
        "capacity_bytes": run.capacity_bytes,
        "used_before_bytes": run.used_before_bytes,
        "used_after_bytes": run.used_after_bytes,
        "files": run.files,
        "size_bytes": run.size_bytes,
        "chosen_files": run.chosen_files,
        "chosen_bytes": run.chosen_bytes,
        "deleted_files": run.deleted_files,
        "deleted_bytes": run.deleted_bytes,
        "spared_files": run.spared_files,
        "temporary_files": run.temporary_files,
        "temporary_bytes": run.temporary_bytes,
        "walk_seconds": run.seconds_walking,
        "identities": [
            {
                "identity": one.identity,
                "files": one.files,
                "size_bytes": one.size_bytes,
                "last_used_at": _instant(one.last_used_at),
                "deleted_files": one.deleted_files,
                "deleted_bytes": one.deleted_bytes,
            }
            for one in run.identities
        ],
    }


def _instant(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()
