"""`stages` and `stage N`: how far the set-up is, and what would bring it on. This version writes nothing there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from controller.stage import Plan, Stage, View, Wishes
from tierdeck.errors import TierdeckError, UsageError

FORMS = ("kyverno", "mutatingadmissionpolicy")
_REFUSAL = "this version of Tierdeck changes nothing in a cluster"

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]


class WritesRefusedError(TierdeckError):
    """It would have to write."""


def add_to(app: typer.Typer) -> None:
    app.command()(stages)
    app.command()(stage)


def stages(as_json: AsJson = False) -> None:
    """How far each of the five set-up stages is."""
    from controller.stage_told import finding_document, finding_text
    from controller.stages import STAGES

    view = _view("")
    found = [(one, one.look(view)) for one in STAGES]
    if as_json:
        print(json.dumps({"stages": [finding_document(*one) for one in found]}, indent=2))
    else:
        print("\n".join(finding_text(*one) for one in found))


def stage(
    number: Annotated[int, typer.Argument(min=1, max=5, help="1 to 5.")],
    plan: Annotated[bool, typer.Option("--plan", help="Print the files and commands that bring it about.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Refused in this version: prints the commands.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Refused in this version: prints what takes it back.")] = False,
    form: Annotated[str, typer.Option("--as", metavar="FORM", help=f"Of stage 4: {', '.join(FORMS)}.")] = "",
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Otherwise than usual.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the plan's files into this folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """One set-up stage: what is found, or what would bring it about or take it back."""
    from controller.stage_told import finding_document, finding_text
    from controller.stages import STAGES
    from controller.stages.wishes import parse_sets

    if plan + apply + undo > 1:
        raise UsageError("one of --plan, --apply and --undo is needed, not several")
    if form and form not in FORMS:
        raise UsageError(f"--as {form} is not known", f"There are {', '.join(FORMS)}.")
    is_look = not (plan or apply or undo)
    if is_look and (form or sets or out):
        raise UsageError("--as, --set and --out are about a plan", "Add --plan.")
    wishes = Wishes(parse_sets(sets or []), form)
    one, view = STAGES[number - 1], _view(form)
    if is_look:
        finding = one.look(view)
        print(json.dumps(finding_document(one, finding), indent=2) if as_json else finding_text(one, finding))
        return
    made = one.undo(view, wishes) if undo else one.plan(view, wishes)
    _show(one, made, out, is_plan=plan, as_json=as_json)


def _show(one: Stage, made: Plan, out: Path | None, *, is_plan: bool, as_json: bool) -> None:
    from controller.stage_told import commands_text, plan_document, plan_text

    document = plan_document(one, made)
    if out is not None:
        document["folder"] = str(_write(made, out))
    if not is_plan:
        document["refused"] = _REFUSAL
    if as_json:
        print(json.dumps(document, indent=2))
    elif out is not None or not is_plan:
        print(commands_text(made))
    else:
        print(plan_text(one, made, "plan"), end="")
    if not is_plan:
        raise WritesRefusedError(_REFUSAL, "Run the commands that were printed yourself; files come with --plan --out.")


def _write(made: Plan, folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in made.files:
            (folder / one.name).write_text(one.text, "utf-8")
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from error
    return folder


def _view(form: str) -> View:
    """The cluster, looked at once."""
    from controller.api.discovery import policy_version
    from controller.looking import look_once
    from tierdeck.settings import load_settings

    settings = load_settings()
    looked = look_once(settings, time.time())
    version = policy_version(looked.api) if form == "mutatingadmissionpolicy" else ""
    return View(looked.objects, version, tuple(settings.namespaces))
