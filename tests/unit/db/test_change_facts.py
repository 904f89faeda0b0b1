"""Changes and proofs as JSON, exact there and back."""

from __future__ import annotations

import pytest
from hypothesis import given

from db.change_facts import UnreadableError, dump_change, dump_proof, load_change, load_proof
from tests.support import any_changes
from tests.support.any_changes import CHANGE
from tierdeck.changes.change import Change
from tierdeck.changes.plan import ABSENT, FieldEdit, Plan, Preview, Write
from tierdeck.changes.proof import Proof
from tierdeck.deployed import ObjectRef


@given(any_changes.changes)
def test_a_change_comes_back_exactly(change: Change) -> None:
    text = dump_change(change)
    assert load_change(text) == change
    assert dump_change(load_change(text)) == text  # of the same types too: 1, 1.0 and true are not the same text


@given(any_changes.proofs)
def test_a_proof_comes_back_exactly(proof: Proof) -> None:
    assert load_proof(dump_proof(proof)) == proof


def test_a_field_that_is_not_there_is_neither_null_nor_a_text_like_it() -> None:
    edits = tuple(FieldEdit(("spec",), before, None) for before in (ABSENT, None, str(ABSENT)))
    write = Write(ObjectRef("Deployment", "inference", "chat"), "/apis/…", "apps/v1", edits)
    preview = Preview(Plan((write,)), "", 0.0)
    found = load_change(dump_change(Change("c", "e", CHANGE.wish, "", "", "", 0.0, {}, preview=preview)))
    assert found.preview is not None
    absent, null, word = (edit.before for edit in found.preview.plan.writes[0].edits)
    assert absent is ABSENT
    assert null is None
    assert type(word) is str


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no such document"),
        ("[]", "no such document"),
        ("null", "no such document"),
        ('{"preview": {"plan": 3}}', "no such document"),
        (dump_change(CHANGE).replace('"proposed"', '"judging"'), "state: "),
        (dump_change(CHANGE).replace('"prefixaware"', '"" '), "wish: "),
    ],
)
def test_what_can_not_be_read_is_told_without_its_values(text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words) as caught:
        load_change(text)
    assert "ada" not in str(caught.value)


def test_fields_of_another_version_are_no_reason_not_to_read_it() -> None:
    older = dump_change(CHANGE).replace('"notes":[],', "").replace('{"cluster"', '{"newer":1,"cluster"')
    assert load_change(older) == CHANGE
