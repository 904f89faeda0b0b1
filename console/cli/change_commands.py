"""The commands about changes, which `console.cli.app` takes in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from console.cli.handing_on import PASS, hand_on
from console.cli.output import AsJson, show
from tierdeck.errors import UsageError
from tierdeck.settings import load_settings
from tierdeck.units import parse_duration

if TYPE_CHECKING:
    from console.change_commands import Who
    from console.cli.change_making import How
    from db import Store
    from tierdeck.changes.change import Change
    from tierdeck.changes.wish import Wish

_USUAL_WAIT = "2h"

By = Annotated[str, typer.Option(help="Who does this; by default whoever is logged in.")]
Endpoint = Annotated[str, typer.Argument(help="Name of the endpoint; CLUSTER:NAME where several clusters have it.")]
Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="Its number.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept with the change.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Make it without asking, unless it is refused.")]
Wait = Annotated[bool, typer.Option("--wait", help="Follow it to its end; Ctrl-C leaves it going.")]
Limit = Annotated[str, typer.Option("--timeout", help="With --wait: how long at most.")]

probe_app = typer.Typer(no_args_is_help=True, help="Requests of our own that show how an endpoint really behaves.")


def add_to(app: typer.Typer) -> None:
    """Make them commands of `app`."""
    for command in (route, resize, changes, change, approve, cancel, revert):
        app.command()(command)
    app.command(name="export-change")(export_change)
    app.add_typer(probe_app, name="probe")


def route(
    endpoint: Endpoint,
    strategy: Annotated[str, typer.Argument(help="Such as prefixaware; as the endpoint's router spells it.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Limit = _USUAL_WAIT,
    reason: Reason = "",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Change how an endpoint's router chooses the replica: shown first, made once it is approved."""
    from tierdeck.changes.wish import Wish

    wished = strategy.strip()
    if not wished:
        raise UsageError("no strategy is named", "Name one, such as prefixaware.")
    how = _how(by, reason, is_dry_run=dry_run, is_approved=yes, wait=timeout if wait else "", as_json=as_json)
    _propose(endpoint, Wish(strategy=wished), how)


def resize(
    endpoint: Annotated[str, typer.Argument(help="Name of the endpoint, or with --l2 alone of a pool.")],
    l0: Annotated[
        str, typer.Option("--l0", help="GPU: a share of its memory (0.85), bytes of one GPU (12Gi), or 4096blocks.")
    ] = "",
    l1: Annotated[str, typer.Option("--l1", help="CPU memory of one replica, such as 40Gi; 0: off.")] = "",
    l2: Annotated[str, typer.Option("--l2", help="The whole pool, such as 2Ti.")] = "",
    salt: Annotated[
        str, typer.Option(help="With --l2: only the quota of this cache salt, where a coordinator keeps one.")
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Limit = _USUAL_WAIT,
    reason: Reason = "",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Change the sizes of an endpoint's tiers: shown first, made once it is approved."""
    from console.size_wish import size_wish

    if not (l0 or l1 or l2):
        raise UsageError("no size is given", "Give --l0, --l1 or --l2, such as --l1 40Gi.")
    if salt and not l2:
        raise UsageError("--salt is about --l2", "Give both.")
    wish = size_wish(l0, l1, l2, salt)
    how = _how(by, reason, is_dry_run=dry_run, is_approved=yes, wait=timeout if wait else "", as_json=as_json)
    _propose(endpoint, wish, how)


def changes(
    endpoint: Annotated[str, typer.Option(help="Only of this endpoint.")] = "",
    only_open: Annotated[bool, typer.Option("--open", help="Only those that are not over.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many, the newest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """What was changed, is being changed and waits for approval; the newest first."""
    from console.cli import change_reading, change_text

    document = change_reading.changes(load_settings(), endpoint, limit, is_open=only_open)
    show(document, change_text.changes(document), as_json=as_json)


def change(number: Number, wait: Wait = False, timeout: Limit = _USUAL_WAIT, as_json: AsJson = False) -> None:
    """One change: what is written, its proof, its history, what can be done now."""
    from console.cli import change_making, change_reading, change_text

    if wait:
        how = _how("", "", is_dry_run=False, is_approved=False, wait=timeout, as_json=as_json)
        raise typer.Exit(change_making.follow(load_settings(), number, how))
    document = change_reading.change(load_settings(), number)
    show(document, change_text.change(document), as_json=as_json)


def approve(
    number: Number, wait: Wait = False, timeout: Limit = _USUAL_WAIT, by: By = "", as_json: AsJson = False
) -> None:
    """Let the controller make a change as it was previewed."""
    from console.cli import change_making

    how = _how(by, "", is_dry_run=False, is_approved=True, wait=timeout if wait else "", as_json=as_json)
    raise typer.Exit(change_making.approve(load_settings(), number, how))


def cancel(number: Number, by: By = "", as_json: AsJson = False) -> None:
    """End a change of which nothing is written yet."""
    from console.cli import change_reading, change_text

    document = change_reading.cancel(load_settings(), number, by)
    show(document, change_text.headline(document["change"]), as_json=as_json)


def revert(
    number: Number,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Limit = _USUAL_WAIT,
    reason: Reason = "",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Write back what was there before a change; it is a change of its own."""
    import time

    from console import change_commands
    from console.cli import change_making

    def start(store: Store, who: Who) -> Change:
        return change_commands.revert(store, number, who, time.time())

    how = _how(by, reason, is_dry_run=dry_run, is_approved=yes, wait=timeout if wait else "", as_json=as_json)
    raise typer.Exit(change_making.make(load_settings(), start, how))


def export_change(
    number: Number,
    kustomize: Annotated[bool, typer.Option("--kustomize", help="As kustomize patches; so by default.")] = False,
    helm: Annotated[bool, typer.Option("--helm", help="As values for the chart that made the object.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Write files there instead of printing them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A change as a patch for GitOps; nothing is written to the cluster."""
    from console.cli import change_exporting

    if kustomize and helm:
        raise UsageError("--kustomize and --helm are two forms", "Give one of them.")
    document = change_exporting.export(load_settings(), number, is_helm=helm, output=output)
    show(document, change_exporting.as_text(document), as_json=as_json)


@probe_app.command("routing", context_settings=PASS)
def probe_routing(context: typer.Context) -> None:
    """Which strategy an endpoint's router follows, by at most 20 requests: probe routing ENDPOINT [--json]."""
    hand_on("controller", "probe", *context.args)


def _propose(endpoint: str, wish: Wish, how: How) -> None:
    import time

    from console import change_commands
    from console.cli import change_making

    def start(store: Store, who: Who) -> Change:
        return change_commands.propose(store, endpoint, wish, who, time.time())

    raise typer.Exit(change_making.make(load_settings(), start, how))


def _how(by: str, reason: str, *, is_dry_run: bool, is_approved: bool, wait: str, as_json: bool) -> How:
    """
    Args:
        wait: how long its end is waited for; empty: it is not.

    Raises:
        UsageError: options that contradict each other.
    """
    from console.cli.change_making import How

    if is_dry_run and (is_approved or wait):
        raise UsageError("a dry run ends with its preview", "Leave out --yes and --wait, or --dry-run.")
    limit = parse_duration(wait) if wait else 0.0
    return How(by, reason, is_dry_run, is_approved, bool(wait), limit, as_json)
