"""`probe ENDPOINT`: is the configured strategy really in effect? Exit code 1 where it isn't, or can't be told."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from tierdeck.changes.proof import Proof, Verdict
from tierdeck.errors import UsageError
from tierdeck.fleet import Endpoint
from tierdeck.settings import Settings, load_settings

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]
_WORDS = {
    Verdict.EFFECTIVE: "{wished} is in effect.",
    Verdict.APPLIED_NOT_EFFECTIVE: "{wished} is configured, and requests are not routed so.",
    Verdict.CANNOT_TELL: "Whether {wished} is in effect can't be told.",
}


def add_to(app: typer.Typer) -> None:
    app.command()(probe)


def probe(
    endpoint: Annotated[str, typer.Argument(help="Its name, as `status` shows it.")],
    as_json: AsJson = False,
    router: Annotated[str, typer.Option(metavar="URL", help="The address that clients use; else it is found.")] = "",
    strategy: Annotated[str, typer.Option(help="What should be in effect; else what is configured.")] = "",
    session_header: Annotated[
        str, typer.Option(metavar="NAME", help="Where its router looks for a session (its --session-key).")
    ] = "",
    chat: Annotated[
        bool | None, typer.Option("--chat/--completions", help="By which path; else the one that clients use most.")
    ] = None,
) -> None:
    """Send at most 20 requests through the router within 15 seconds, and tell which strategy it follows."""
    told = _Told(router, strategy, session_header, chat)
    proof = _probe(load_settings(), endpoint, told)
    print(json.dumps(_document(endpoint, proof), indent=2) if as_json else _told(endpoint, proof))
    raise typer.Exit(0 if proof.verdict is Verdict.EFFECTIVE else 1)


@dataclass(frozen=True, slots=True)
class _Told:
    """What the options say; empty or None: nothing."""

    router: str
    strategy: str
    session_header: str
    is_chat: bool | None


def _probe(settings: Settings, name: str, told: _Told) -> Proof:
    """Also written to the store, which keeps what the probe sent out of what clients did."""
    from controller.probe.prober import Chosen, probe
    from controller.probe.route import route_of
    from db import Store

    if not settings.probe_routing:
        raise UsageError("Probes are switched off", "TIERDECK_PROBE_ROUTING=true allows them.")
    with Store.open(settings.store_url) as store:
        found = _named(store.endpoints(), name)
        wished = told.strategy or found.strategy
        if not wished:
            raise UsageError(f"Nothing is known of the strategy of {name}", "Name it with --strategy.")
        route = route_of(found, router=told.router, lab=settings.lab_url, session_header=told.session_header)
        proof = probe(route, wished, Chosen(told.is_chat))
        store.save_proof(found.cluster, found.name, proof)
    return proof


def _named(endpoints: list[Endpoint], name: str) -> Endpoint:
    """
    Raises:
        UsageError: none, or several, are called so.
    """
    found = [one for one in endpoints if name in (one.name, f"{one.cluster}/{one.name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"Several clusters have an endpoint {name}", f"Say {found[0].cluster}/{name}.")
    counts = Counter(one.name for one in endpoints)
    raise UsageError(f"There is no endpoint {name}", f"There are {', '.join(counts) or 'none yet'}.")


def _told(endpoint: str, proof: Proof) -> str:
    first = f"{endpoint}: {_WORDS[proof.verdict].format(wished=proof.wished)}"
    last = f"{proof.requests} requests, {proof.seconds:.1f} s."
    return "\n".join([first, *(f"  {one}" for one in proof.evidence), f"  {last}"])


def _document(endpoint: str, proof: Proof) -> dict[str, object]:
    return {
        "endpoint": endpoint,
        "verdict": str(proof.verdict),
        "evidence": list(proof.evidence),
        "wished": proof.wished or None,
        "seen": proof.seen or None,
        "requests": proof.requests,
        "seconds": round(proof.seconds, 3),
        "at": datetime.fromtimestamp(proof.at, UTC).isoformat().replace("+00:00", "Z"),
        "tokens": dict(proof.tokens),
    }
