"""What `tierdeck export-change` prints or writes: a change as files for a Git repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from console.change_queries import change_of
from db import Store
from tierdeck.changes.export import as_kustomize
from tierdeck.changes.helm_values import as_helm_values
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.settings import Settings

_CHART = "production-stack-helm"


def export(settings: Settings, number: int, *, is_helm: bool, output: Path | None) -> dict[str, Any]:
    """The files, which stand in `output` too where that is given.

    Raises:
        UsageError: there is no such change, or the folder can't be written to.
        TierdeckError: it has no preview, or nothing of it can be exported so.
    """
    with Store.open(settings.store_url) as store:
        change = change_of(store, number)
        seen = [one for one in store.deployed(change.cluster) if one.endpoint == change.endpoint]
    if change.preview is None:
        raise TierdeckError(f"change {number} has no preview, so there is nothing to export", _hint(number))
    if is_helm and not any(one.backend == _CHART for one in seen):
        raise TierdeckError(
            f"{change.endpoint} is not made by production-stack's chart, so no values are known", "Use --kustomize."
        )
    found = as_helm_values(change.preview.plan) if is_helm else as_kustomize(change.preview.plan)
    if output is not None:
        _write(output, found.files)
    return {
        "change": number,
        "form": "helm" if is_helm else "kustomize",
        "files": [{"name": name, "content": content} for name, content in found.files],
        "by_hand": list(found.by_hand),
        "written_to": None if output is None else str(output),
    }


def as_text(document: dict[str, Any]) -> str:
    """The files one after the other, each after a comment with its name; or where they were written."""
    by_hand = [f"# By hand: {one}" for one in document["by_hand"]]
    if document["written_to"] is not None:
        names = ", ".join(one["name"] for one in document["files"]) or "no file"
        return "\n".join([f"Wrote {names} to {document['written_to']}.", *by_hand])
    parts = [f"# {one['name']}\n{one['content'].rstrip()}" for one in document["files"]]
    return "\n".join(["\n---\n".join(parts), *by_hand]).strip("\n")


def _write(folder: Path, files: tuple[tuple[str, str], ...]) -> None:
    taken = [name for name, _ in files if (folder / name).exists()]
    if taken:
        raise UsageError(f"{folder / taken[0]} is there already", "Name an empty folder: nothing is overwritten.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files:
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write to {folder}: {error.strerror}") from error


def _hint(number: int) -> str:
    return f"`tierdeck change {number}` says where it is."
