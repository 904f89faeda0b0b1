"""Makes the documents that are lists of what the code has: `python -m tests.docs.generate --write`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from alerting.export.options import RuleOptions
from alerting.export.rule_file import own_rule_file, rules_text
from collectors.lint.rules import RULES
from collectors.source import Family, Kind
from collectors.sources import SOURCES
from tests.docs.alerts import alert_parts
from tests.docs.lab import HEAD, alert_rows
from tests.docs.lint import ABOUT, rule_parts
from tierdeck.identities import IDENTITIES
from tierdeck.notes import MEANINGS
from tierdeck.readings import READINGS
from tierdeck.settings import Settings

ROOT = Path(__file__).parents[2]
_MADE = "<!-- Made from {}: run `python -m tests.docs.generate --write` after a change there. -->"

_IDENTITIES = "<!-- Made from tierdeck/identities.py: run `python -m tests.docs.generate --write` after a change. -->"
_ALERTS = "<!-- Made from tierdeck/alerts: run `python -m tests.docs.generate --write` after a change there. -->"
_LAB = "<!-- Made from lab/sim/expected_alerts.py: run `python -m tests.docs.generate --write` after a change. -->"
_END = "<!-- end -->"


def main(arguments: list[str]) -> int:
    """Write the pages with `--write`; without, say which are out of date."""
    stale = [name for name, page in PAGES.items() if _text(name) != page()]
    for name in stale:
        if arguments == ["--write"]:
            (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
        sys.stderr.write(f"{name} {'written' if arguments == ['--write'] else 'is out of date'}\n")
    return 0 if arguments == ["--write"] or not stale else 1


def _text(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def own_rules() -> str:
    """The rules on our own processes, as the Helm chart brings them."""
    return rules_text(own_rule_file(RuleOptions()))


def settings_page() -> str:
    """Every setting with its variable, default and bounds."""
    rows = [
        (f"`TIERDECK_{name.upper()}`", _default(name, field), _bounds(field), field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    return _page(
        "Settings",
        "tierdeck/settings.py",
        "Every process reads its settings from the environment, once, when it starts. A value out of bounds is told "
        "in one line, with exit code 2.",
        _table(("variable", "default", "bounds", "what it is"), rows),
    )


def _default(name: str, field: FieldInfo) -> str:
    if name == "home":
        return "`$XDG_DATA_HOME/tierdeck`, else `~/.local/share/tierdeck`"
    value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    return "none" if value in (None, "") else f"`{value}`"


def _bounds(field: FieldInfo) -> str:
    low = high = None
    for rule in field.metadata:
        low = getattr(rule, "ge", low)
        high = getattr(rule, "le", high)
        pattern = getattr(rule, "pattern", None)
        if pattern is not None:
            return ", ".join(f"`{word}`" for word in pattern.strip("^$()").split("|"))
        if getattr(rule, "min_length", None):
            return "not empty"
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else "" if high is None else f"at most {high}"


def notes_page() -> str:
    """Every note code with its meaning."""
    return _page(
        "Notes",
        "tierdeck/notes.py",
        "A note is a reservation about a figure: a code that stays the same from version to version, a sentence, and "
        "the numbers behind it. They stand under `notes` in JSON, and beside the figure in the console.",
        _table(("code", "what it means"), [(f"`{code}`", _sentence(text)) for code, text in MEANINGS.items()]),
    )


def readings_page() -> str:
    """Every reading with its unit, and where each source finds it."""
    parts = [
        _table(
            ("reading", "unit", "what it is"),
            [(f"`{reading}`", meaning.unit, _sentence(meaning.text)) for reading, meaning in READINGS.items()],
        )
    ]
    for source in SOURCES:
        spelled = [(f"`{family.reading}`", _names(family), _conditions(family)) for family in source.families]
        if spelled:
            heading = f"## {source.kind}\n\nRead from `{source.path}` unless a target's address has a path of its own."
            parts += [heading, _table(("reading", "upstream names, newest first", "series"), spelled)]
    return _page(
        "Readings",
        "tierdeck/readings.py and collectors/sources",
        "What Tierdeck reads, whatever it is called upstream, and below it the names under which each kind of target "
        "exports it. `vllm:` also stands for `vllm_`, and a counter's name for the same with `_total`.",
        *parts,
    )


def ledger_page() -> str:
    """docs/ledger.md as it stands, with its table of identities made anew."""
    rows = [
        (one.says, one.tolerance, ", ".join(f"`{code}`" for code in one.codes), one.withholds) for one in IDENTITIES
    ]
    table = _table(("what must hold", "tolerance", "note", "withheld"), rows)
    return _with("docs/ledger.md", _IDENTITIES, table)


def alerts_page() -> str:
    """docs/alerts.md as it stands, with its sections of rules made anew."""
    return _with("docs/alerts.md", _ALERTS, *alert_parts())


def lab_page() -> str:
    """docs/lab.md as it stands, with its table of alerts made anew."""
    return _with("docs/lab.md", _LAB, _table(HEAD, alert_rows()))


def _with(name: str, mark: str, *parts: str) -> str:
    """A page as it stands, but for what lies between a mark and the end's."""
    before, _, rest = _text(name).partition(mark)
    _, _, after = rest.partition(_END)
    return "\n\n".join((f"{before}{mark}", *parts, f"{_END}{after}"))


def _names(family: Family) -> str:
    gone = {name: f" (gone by {version})" for name, version in family.gone.items()}
    return ", ".join(f"`{name}`{gone.get(name, '')}" for name in family.names)


def _conditions(family: Family) -> str:
    only = [f'`{label}="{value}"`' for label, value in family.where.items()]
    never = [f'`{label}="{value}"`' for label, value in family.unless.items()]
    parts = [f"with {' and '.join(only)}"] if only else []
    parts += [f"without {' and '.join(never)}"] if never else []
    parts += ["the histogram's sum"] if family.kind is Kind.SUM else []
    parts += [f"kept apart by `{family.by}`"] if family.by else []
    parts += ["the largest, not the sum"] if family.largest else []
    parts += ["0 until it appears"] if family.zero_when_absent else []
    return "; ".join(parts)


def lint_page() -> str:
    """Every rule of `tierdeck lint` with a query that breaks it and the corrected one."""
    parts = [part for rule in RULES for part in rule_parts(rule)]
    return _page("Faults of boards and rules", "collectors/lint/rules", ABOUT, *parts)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _page(title: str, origin: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", _MADE.format(origin), *parts)) + "\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


PAGES: dict[str, Callable[[], str]] = {
    "deploy/helm/tierdeck/files/own-rules.yaml": own_rules,
    "docs/settings.md": settings_page,
    "docs/notes.md": notes_page,
    "docs/readings.md": readings_page,
    "docs/ledger.md": ledger_page,
    "docs/alerts.md": alerts_page,
    "docs/lab.md": lab_page,
    "docs/lint.md": lint_page,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
