"""What the commands of the stages print: as JSON-able documents, and for people."""

from __future__ import annotations

from collections.abc import Iterator

from controller.stage import Evidence, Finding, Plan, Stage, State

_WORDS = {State.DONE: "done", State.NOT_DONE: "not done", State.UNKNOWN: "unknown"}


def finding_document(stage: Stage, finding: Finding) -> dict[str, object]:
    """One stage."""
    return {
        "stage": stage.number,
        "title": stage.title,
        "state": finding.state.value,
        "evidence": [
            {"state": one.state.value, "about": one.about, "found": one.found, "fix": one.fix}
            for one in finding.evidence
        ],
    }


def finding_text(stage: Stage, finding: Finding) -> str:
    """The same for people."""
    lines = [f"Stage {stage.number}: {stage.title}: {_WORDS[finding.state]}"]
    lines += [line for one in finding.evidence for line in _lines(one)]
    return "\n".join(lines)


def _lines(one: Evidence) -> Iterator[str]:
    yield f"  {_WORDS[one.state]:<9}{one.about}: {one.found}"
    if one.fix:
        yield f"  {'':<9}→ {one.fix}"


def plan_document(stage: Stage, plan: Plan) -> dict[str, object]:
    """A plan, with its files' text."""
    return {
        "stage": stage.number,
        "files": [{"name": one.name, "text": one.text} for one in plan.files],
        "commands": list(plan.commands),
        "notes": list(plan.notes),
    }


def plan_text(stage: Stage, plan: Plan, title: str) -> str:
    """A stream of YAML documents; notes and commands are its comments."""
    head = [f"# Stage {stage.number}, {title}: {stage.title}"]
    head += [f"# {note}" for note in plan.notes]
    if plan.commands:
        head += ["#", "# In this order:", *(f"#   {command}" for command in plan.commands)]
    parts = ["\n".join(head) + "\n", *(f"# {one.name}\n{one.text}" for one in plan.files)]
    return "---\n".join(parts)


def commands_text(plan: Plan) -> str:
    """Notes and commands, as a shell script has them."""
    return "\n".join([*(f"# {note}" for note in plan.notes), *plan.commands])
