"""`python -m alerting export …`: rules, routes and boards on stdout or in files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from alerting.export.alertmanager import RouteOptions, alertmanager_text
from alerting.export.boards import BoardOptions, board_text, boards
from alerting.export.options import Objective, RuleOptions, pairs
from alerting.export.promql import Scope
from alerting.export.rule_file import Resource, own_rule_file, prometheus_rule, rule_file, rules_text
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.units import parse_duration

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="Rules, routes and boards."
)
_DEFAULT_BY = "cluster,namespace,job,model_name"
_USUAL = RuleOptions()

By = Annotated[str, typer.Option(help="Labels that tell endpoints apart, and are kept.")]
Match = Annotated[list[str] | None, typer.Option(help='Only series with this, such as namespace="inference".')]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write here instead of to stdout.")]


@app.command("prometheus-rules")
def prometheus_rules(
    form: Annotated[str, typer.Option("--as", help="`file`, or `prometheusrule` for the operator.")] = "file",
    name: Annotated[str, typer.Option(help="With --as prometheusrule: its name.")] = "tierdeck",
    namespace: Annotated[str, typer.Option(help="With --as prometheusrule: its namespace.")] = "",
    labels: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="With --as prometheusrule: a label of it; repeatable.")
    ] = None,
    alert_labels: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="A label that every alert carries; repeatable.")
    ] = None,
    by: By = _DEFAULT_BY,
    match: Match = None,
    ttft_objective: Annotated[
        str, typer.Option(help="Share and seconds, at a bound of vLLM's buckets; `none`: no such rule.")
    ] = "0.95:2.5s",
    floor: Annotated[float | None, typer.Option(help="Hit ratio below which none must fall, such as 0.3.")] = None,
    depth: Annotated[float, typer.Option(help="How far below what is usual is a drop.")] = _USUAL.depth,
    least_tokens: Annotated[
        float, typer.Option(min=0, help="Prompt tokens in 15m without which no hit ratio is judged.")
    ] = _USUAL.least_tokens,
    least_requests: Annotated[
        float, typer.Option(min=0, help="Requests in 15m without which no hit ratio is judged.")
    ] = _USUAL.least_requests,
    runbook_base: Annotated[str, typer.Option(metavar="URL", help="Where docs/alerts.md is read.")] = "",
    interval: Annotated[str, typer.Option(help="Between two evaluations, such as 30s; else the server's.")] = "",
    own: Annotated[bool, typer.Option("--own", help="Only the rules on Tierdeck's own processes.")] = False,
    out: Out = None,
) -> None:
    """Recording and alerting rules that live without the console (docs/export.md)."""

    def act() -> None:
        options = RuleOptions(
            scope=_scope(by, match),
            objective=None if ttft_objective == "none" else Objective.of(ttft_objective),
            floor=floor,
            depth=depth,
            least_tokens=least_tokens,
            least_requests=least_requests,
            runbook_base=runbook_base,
            labels=pairs(alert_labels or []),
            interval=parse_duration(interval) if interval else None,
        )
        document = own_rule_file(options) if own else rule_file(options)
        if form == "prometheusrule":
            document = prometheus_rule(document, Resource(name, namespace, pairs(labels or [])))
        elif form != "file":
            raise UsageError(f"{form!r} is no form of rules", "Write --as file or --as prometheusrule.")
        elif namespace or labels:
            raise UsageError("--namespace and --labels are of a PrometheusRule", "Add --as prometheusrule.")
        _put(rules_text(document), out)

    _guard(act)


@app.command()
def alertmanager(
    slack_url_file: Annotated[
        str, typer.Option("--url-file", metavar="FILE", help="File with the URL of a Slack webhook, on its machine.")
    ] = "",
    channel: Annotated[str, typer.Option(help="With --url-file: the channel.")] = "#alerts",
    pager_key_file: Annotated[
        str, typer.Option(metavar="FILE", help="File with a PagerDuty key (Events API v2), for critical alerts.")
    ] = "",
    webhook: Annotated[str, typer.Option(metavar="URL", help="A webhook that gets every alert.")] = "",
    heartbeat: Annotated[str, typer.Option(metavar="URL", help="What tells when the watchdog stops.")] = "",
    out: Out = None,
) -> None:
    """Route, receivers and inhibit rules for Tierdeck's alerts, to be merged into Alertmanager's configuration."""

    def act() -> None:
        _put(alertmanager_text(RouteOptions(slack_url_file, channel, pager_key_file, webhook, heartbeat)), out)

    _guard(act)


@app.command()
def grafana(
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a file per board here.")] = None,
    board: Annotated[str, typer.Option(help="Without --out: which one to print.")] = "fleet",
    datasource_uid: Annotated[str, typer.Option(help="Uid of the Prometheus; else one is chosen on the board.")] = "",
    by: By = _DEFAULT_BY,
    match: Match = None,
) -> None:
    """The console's panels as boards of Grafana (JSON)."""

    def act() -> None:
        made = boards(BoardOptions(_scope(by, match), datasource_uid))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            for name, document in made.items():
                _put(board_text(document), out / f"tierdeck-{name}.json")
        elif board not in made:
            raise UsageError(f"there is no board {board!r}", f"There are: {', '.join(made)}.")
        else:
            _put(board_text(made[board]), None)

    _guard(act)


def _scope(by: str, match: list[str] | None) -> Scope:
    return Scope(tuple(filter(None, (label.strip() for label in by.split(",")))), tuple(match or ()))


def _put(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"can't write {out}: {error.strerror}") from error
    sys.stderr.write(f"written: {out}\n")


def _guard(act: Callable[[], None]) -> None:
    """Errors are one line that says what to do, never a traceback."""
    try:
        act()
    except TierdeckError as error:
        sys.stderr.write(f"tierdeck: {error.line()}\n")
        raise typer.Exit(error.exit_code) from None
