"""The commands about alerts, which `console.cli.app` takes in."""

from __future__ import annotations

from typing import Annotated

import typer

from console.cli.output import AsJson, show
from tierdeck.settings import load_settings
from tierdeck.units import parse_duration

By = Annotated[str, typer.Option(help="Who does this; by default whoever is logged in.")]
For = Annotated[str, typer.Option("--for", help="How long, such as 30m, 2h, 1d.")]
Why = Annotated[str, typer.Option(help="Why; whoever is on call next reads it.")]
Endpoint = Annotated[str, typer.Argument(help="Name of the endpoint; CLUSTER:NAME where several clusters have it.")]

silence_app = typer.Typer(no_args_is_help=True, help="Silences: say nothing of alerts that match.")
maintenance_app = typer.Typer(
    no_args_is_help=True, help="Maintenance windows: silence, change freeze and a mark on charts, in one act."
)


def add_to(app: typer.Typer) -> None:
    """Make them commands of `app`."""
    for command in (alerts, alert, ack, rules, handover):
        app.command()(command)
    app.add_typer(silence_app, name="silence")
    app.add_typer(maintenance_app, name="maintenance")


def alerts(
    everything: Annotated[
        bool, typer.Option("--all", help="Pending, quiet and resolved ones too, of the last 12 hours unless --since.")
    ] = False,
    since: Annotated[
        str, typer.Option(help="Also those that are over, that far back, such as 12h or 7d.", show_default=False)
    ] = "",
    endpoint: Annotated[str, typer.Option(help="Only of this endpoint.")] = "",
    as_json: AsJson = False,
) -> None:
    """What fires, the most urgent first."""
    from console.cli import alert_documents, alert_text

    wanted = alert_documents.Wanted(everything, parse_duration(since) if since else None, endpoint)
    document = alert_documents.alerts(load_settings(), wanted)
    show(document, alert_text.alerts(document), as_json=as_json)


def alert(number: Annotated[int, typer.Argument(metavar="ID", help="Its number.")], as_json: AsJson = False) -> None:
    """One alert: figures, causes, what to do, its history, who was told."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.alert(load_settings(), number)
    show(document, alert_text.alert(document), as_json=as_json)


def ack(
    number: Annotated[int, typer.Argument(metavar="ID", help="Its number.")],
    note: Annotated[str, typer.Option(help="What you found, or what you do.")] = "",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Acknowledge an alert: it is not said again until it resolves."""
    from console.cli import alert_documents

    document = alert_documents.acknowledge(load_settings(), number, by, note)
    show(document, f"Alert {number} is acknowledged by {document['acknowledged']['by']}.", as_json=as_json)


def rules(as_json: AsJson = False) -> None:
    """Every rule: what it means, how long it holds, and whether it can judge now."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.rules(load_settings())
    show(document, alert_text.rules(document), as_json=as_json)


def handover(
    since: Annotated[str, typer.Option(help="How long the shift was.")] = "12h", as_json: AsJson = False
) -> None:
    """The shift's summary, as Markdown."""
    from console.cli import alert_documents
    from console.handover import as_markdown

    document = alert_documents.shift_summary(load_settings(), parse_duration(since))
    show(document, as_markdown(document).rstrip("\n"), as_json=as_json)


@silence_app.command("add")
def silence_add(
    matcher: Annotated[
        list[str], typer.Option(help="LABEL=VALUE, all of which must hold: endpoint, rule, part, severity, cluster.")
    ],
    why: Why,
    how_long: For = "2h",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Say nothing of alerts that match, from now on."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.add_silence(load_settings(), matcher, parse_duration(how_long), why, by)
    show(document, alert_text.silence(document), as_json=as_json)


@silence_app.command("list")
def silence_list(as_json: AsJson = False) -> None:
    """Silences and maintenance windows that hold, and those to come."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.silences(load_settings())
    show(document, alert_text.silences(document), as_json=as_json)


@silence_app.command("end")
def silence_end(
    number: Annotated[int, typer.Argument(metavar="ID", help="Its number.")], by: By = "", as_json: AsJson = False
) -> None:
    """End a silence before its time."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.end_silence(load_settings(), number, by)
    show(document, alert_text.silence(document), as_json=as_json)


@maintenance_app.command("start")
def maintenance_start(endpoint: Endpoint, why: Why, how_long: For = "2h", by: By = "", as_json: AsJson = False) -> None:
    """Silence its alerts, freeze its changes, and mark the window on its charts."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.start_maintenance(load_settings(), endpoint, parse_duration(how_long), why, by)
    show(document, alert_text.silence(document), as_json=as_json)


@maintenance_app.command("end")
def maintenance_end(endpoint: Endpoint, by: By = "", as_json: AsJson = False) -> None:
    """End the endpoint's maintenance windows that hold now."""
    from console.cli import alert_documents, alert_text

    document = alert_documents.end_maintenance(load_settings(), endpoint, by)
    show(document, "\n".join(alert_text.silence(one) for one in document["ended"]), as_json=as_json)
