"""Changes in words: where one is, what it asks, what it costs, why it was refused, what its proof says."""

from __future__ import annotations

from collections.abc import Mapping

from console.deployment import NOT_PROVED
from console.words import age_words, sentence
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.proof import Proof, Verdict

SHAPES: Mapping[State, str] = {
    State.PROPOSED: "○",
    State.PREVIEWED: "◇",
    State.APPROVED: "◔",
    State.APPLYING: "◑",
    State.PROVING: "◕",
    State.OBSERVING: "◕",
    State.KEPT: "●",
    State.ROLLED_BACK: "↩",
    State.REFUSED: "⊘",
    State.FAILED: "✕",
    State.CANCELLED: "–",
}
"""A shape per state, so that a list can be scanned without colours."""
_LABELS = {
    State.PROPOSED: "looking",
    State.PREVIEWED: "waits for approval",
    State.ROLLED_BACK: "rolled back",
}
_USUAL = {
    State.PROPOSED: "The controller looks at what would be written; nothing is written yet.",
    State.PREVIEWED: "It waits to be approved; nothing is written yet.",
    State.REFUSED: "It was refused; nothing was written.",
    State.APPROVED: "It is approved; the controller takes it next.",
    State.APPLYING: "It is being written.",
    State.PROVING: "It is written. The controller waits until every running pod carries it.",
    State.OBSERVING: "It is in effect and is observed.",
    State.KEPT: "It is in effect.",
    State.ROLLED_BACK: "What was there before was written back.",
    State.FAILED: "It failed.",
    State.CANCELLED: "It was cancelled before anything was written.",
}
_VERDICTS = {
    Verdict.EFFECTIVE: "in effect, proved by behaviour",
    Verdict.APPLIED_NOT_EFFECTIVE: "applied, but requests are not routed so",
    Verdict.CANNOT_TELL: "cannot tell",
}
_NOTES = {
    "not_judged": "Whether it helped was not judged",
    "probe_off": "The strategy was not proved: probing is off (TIERDECK_PROBE_ROUTING)",
}
NOT_TOLD = "not known"


def label(state: State) -> str:
    """`applying`."""
    return _LABELS.get(state, str(state))


def state_words(state: State) -> str:
    """`◑ applying`."""
    return f"{SHAPES[state]} {label(state)}"


def asks_words(change: Change) -> str:
    """`prefixaware → roundrobin`."""
    return f"{from_words(change)} → {to_words(change)}"


def from_words(change: Change) -> str:
    """What was there of what it asks for: `prefixaware`, or `L1 40 GiB`."""
    wish = change.wish
    if wish.strategy:
        return change.was.get("strategy") or NOT_TOLD
    asked = {"L0": wish.l0, "L1": wish.l1_bytes, "L2": wish.l2_bytes}
    return ", ".join(f"{tier} {change.was.get(tier) or NOT_TOLD}" for tier, size in asked.items() if size is not None)


def to_words(change: Change) -> str:
    """What it asks for."""
    return change.wish.text


def progress_words(change: Change) -> str:
    """Where it is and what it waits for, one or two sentences; never empty. Of a refused one every reason."""
    if change.state is State.REFUSED and change.refusals:
        return " ".join(refusal_words(one) for one in change.refusals)
    told = change.outcome.removeprefix(f"{change.state}: ")
    said = f"{_begun(told).rstrip('.')}." if told else _usual(change)
    return " ".join(part for part in (said, next_words(change)) if part)


def next_words(change: Change) -> str:
    """What a person can do now; "": nothing has to be done, or only what a button or the command's last line offers."""
    is_offered = change.state is State.PREVIEWED and change.next_step == f"`tierdeck approve {change.id}`"
    return sentence(change.next_step) if change.next_step and not is_offered else ""


def _usual(change: Change) -> str:
    plan = change.preview.plan if change.preview is not None else None
    if change.state is State.PREVIEWED and plan is not None and plan.exports_only:
        return f"It is not written here: {plan.exports_only.rstrip('.')}. Export it as a patch."
    if change.state is State.PREVIEWED and change.is_approved_at_once:
        return "It goes on by itself; nothing is written yet."
    if change.state is State.APPROVED and change.approved_by:
        return f"Approved by {change.approved_by}; the controller takes it next."
    if change.state is State.PROVING and plan is not None and plan.strategy:
        return "It is written. The controller waits until every running pod carries it, then proves the strategy."
    return _USUAL[change.state]


def refusal_words(refusal: Refusal) -> str:
    """The reason, and what to do instead."""
    told = f"{refusal.reason.rstrip('.')}."
    return f"{told} {refusal.fix.rstrip('.')}." if refusal.fix else told


def cost_words(plan: Plan) -> tuple[str, str]:
    """What restarts, and which tiers start empty; a sentence each."""
    restarts, tiers = _listed([str(one) for one in plan.restarts]), _listed([tier.value for tier in plan.loses])
    start = "start" if len(plan.loses) > 1 else "starts"
    return (
        f"Restarts {restarts}." if restarts else "Nothing restarts.",
        f"{tiers} {start} empty again." if tiers else "No tier starts empty.",
    )


def verdict_words(proof: Proof) -> str:
    """`in effect, proved by behaviour`; where another strategy fits what was seen, it is named."""
    told = _VERDICTS[proof.verdict]
    if proof.verdict is Verdict.APPLIED_NOT_EFFECTIVE and proof.seen:
        return f"applied, but requests are routed as {proof.seen}"
    return told


def proof_words(proof: Proof | None, strategy: str, now: float) -> str:
    """What is known of whether the configured strategy is in effect: `proved 3 min ago`, or `configured, not proved`.

    Args:
        proof: the last one of that endpoint.
        strategy: that is configured now.
    """
    if proof is None:
        return NOT_PROVED
    age = f"{age_words(max(0.0, now - proof.at))} ago"
    if is_proved(proof, strategy):
        return f"proved {age}"
    if proof.wished != strategy:
        return NOT_PROVED
    return f"{NOT_PROVED}; the probe {age}: {verdict_words(proof)}"


def is_proved(proof: Proof | None, strategy: str) -> bool:
    """Whether that proof says that this strategy is in effect."""
    return proof is not None and proof.verdict is Verdict.EFFECTIVE and strategy in (proof.wished, proof.seen)


def note_words(note: str) -> str:
    """A note's code as a sentence; words after its colon stay."""
    code, _, more = note.partition(":")
    told = _NOTES.get(code.strip(), code.strip().replace("_", " ").capitalize())
    return f"{told}: {more.strip().rstrip('.')}." if more.strip() else f"{told}."


def _begun(words: str) -> str:
    """As the controller begins them, as a sentence; a name or a strategy stays as it is spelled."""
    return f"I{words[1:]}" if words.startswith(("it ", "it'")) else words


def _listed(names: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
