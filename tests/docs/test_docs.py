"""Documents against code: the made ones are up to date, links lead somewhere, the README stays short."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from console.cli.app import app
from controller.api.rights import READ
from controller.resources import CONFIG_MAPS, RESOURCES
from tests.docs.generate import PAGES, ROOT
from tierdeck.notes import MEANINGS, NoteCode
from tierdeck.readings import READINGS, Reading

LEFT_OUT = {".venv", "node_modules", "build"}
DOCUMENTS = sorted(path for path in ROOT.rglob("*.md") if not LEFT_OUT & set(path.relative_to(ROOT).parts))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run python -m tests.docs.generate --write"


def test_every_note_code_and_every_reading_has_its_meaning() -> None:
    assert set(MEANINGS) == set(NoteCode)
    assert set(READINGS) == set(Reading)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(document: Path) -> None:
    dead = []
    for target in LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        path = document.parent / name if name else document
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            dead.append(target)
    assert not dead


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_every_document_is_reached_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    unnamed = [path.name for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" not in text]
    assert not unnamed


def test_every_command_is_in_the_table_of_commands() -> None:
    commands = re.findall(r"^\| `([a-z-]+)[^`]*` \|", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    known |= {group.name for group in app.registered_groups if isinstance(group.name, str)}
    assert known <= set(commands)


def test_the_table_of_rights_is_the_rules_that_the_controller_needs() -> None:
    text = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w.-]+)` \| ((?:get|list|watch|, )+) \|", text, re.MULTILINE))
    needed = {resource.name: ", ".join(READ) for resource in RESOURCES} | {CONFIG_MAPS.name: "get"}
    assert told == needed


def test_every_setting_that_a_document_names_exists() -> None:
    known = set(re.findall(r"TIERDECK_[A-Z_]+", (ROOT / "docs/settings.md").read_text(encoding="utf-8")))
    beyond = {"TIERDECK_DB_PASSWORD", "TIERDECK_FLEET", "TIERDECK_TAG", "TIERDECK_REQUIRE_ALL", "TIERDECK_HELM"}
    for document in DOCUMENTS:
        named = set(re.findall(r"TIERDECK_[A-Z_]*[A-Z]", document.read_text(encoding="utf-8")))
        assert named <= known | beyond, document
