"""A dry look at a directory, as text and as a document."""

from __future__ import annotations

from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.run_document import run_document
from tierdeck.units import format_ratio, format_size

_ROW = "  {:<48} {:>9} files {:>10}   {:>9} files {:>10} would go"


def document(run: JanitorRun, refusal: str) -> dict[str, object]:
    """Keys as docs/cli.md tells them."""
    return {"run": run_document(run), "refusal": refusal or (run.words if run.outcome is Outcome.REFUSED else "")}


def told(run: JanitorRun, refusal: str) -> str:
    """The same for people."""
    lines = [run.words]
    if run.capacity_bytes and run.used_before_bytes is not None:
        share = format_ratio(run.used_before_bytes / run.capacity_bytes)
        lines.append(f"{share} of {format_size(run.capacity_bytes)} are used.")
    lines += [
        _ROW.format(
            one.identity, f"{one.files:,}", format_size(one.size_bytes), f"{one.deleted_files:,}",
            format_size(one.deleted_bytes),
        )
        for one in run.identities
    ]  # fmt: skip
    if refusal:
        lines.append(f"A janitor would not touch it: {refusal}")
    return "\n".join(lines)
