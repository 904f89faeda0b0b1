"""A change as JSON and as text: the keys that stay, what is null and why, fields that are not there."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given

from console.change_document import brief_document, change_document, proof_document, steps_document
from console.cli import change_text
from tests.support.any_changes import CHANGE, changes
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.plan import ABSENT, FieldEdit, Plan, Preview, Surface, Write
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

ROUTER = ObjectRef("Deployment", "inference", "router")
ARGS = ("spec", "template", "spec", "containers", "[name=router]", "args")
EDITS = (
    FieldEdit(ARGS, ["--routing-logic", "session"], ["--routing-logic", "prefixaware"]),
    FieldEdit(("metadata", "annotations", "x"), ABSENT, None),
)
PLAN = Plan(
    (Write(ROUTER, "/apis/apps/v1/namespaces/inference/deployments/router", "apps/v1", EDITS, why="it looks"),),
    restarts=(ROUTER,),
    strategy="prefixaware",
    warnings=("helm owns args until now",),
)
DIFF = "--- a\n+++ b\n-session\n+prefixaware\n"
PROOF = Proof(Verdict.EFFECTIVE, "prefixaware", "prefixaware", ("8 of 8 landed on chat-0",), 12, 3.2, at=1000.0)
PREVIEWED = replace(CHANGE, id=12, state=State.PREVIEWED, preview=Preview(PLAN, DIFF, 1000.0))
CONTRACT = {"id", "endpoint", "state", "from", "to", "preview", "proof", "verdict", "notes"}


def test_the_keys_of_the_contract_are_there_and_nulls_have_reasons() -> None:
    found = change_document(replace(CHANGE, id=12))
    assert found.keys() >= CONTRACT
    assert (found["id"], found["state"], found["from"], found["to"]) == (12, "proposed", "session", "prefixaware")
    assert [found["preview"], found["proof"], found["verdict"]] == [None, None, None]
    assert found["why"] == {
        "preview": "the controller has not looked yet",
        "proof": "it is not in effect yet",
        "verdict": "whether it helped is not judged",
    }


def test_a_preview_has_diff_writes_cost_and_warnings() -> None:
    preview = change_document(PREVIEWED)["preview"]
    assert preview == {
        "at": "1970-01-01T00:16:40+00:00",
        "diff": DIFF,
        "writes": [
            {
                "object": {"kind": "Deployment", "namespace": "inference", "name": "router"},
                "surface": "kubernetes",
                "why": "it looks",
                "fields": [
                    {
                        "where": "spec.template.spec.containers[name=router].args",
                        "before": ["--routing-logic", "session"],
                        "after": ["--routing-logic", "prefixaware"],
                    },
                    {"where": "metadata.annotations.x", "after": None},
                ],
            }
        ],
        "restarts": ["Deployment inference/router"],
        "loses": [],
        "cost": "Restarts Deployment inference/router. No tier starts empty.",
        "warnings": ["helm owns args until now"],
        "proves": "prefixaware",
        "exports_only": None,
    }


def test_a_proof_has_its_verdict_and_evidence() -> None:
    found = proof_document(PROOF)
    assert (found["verdict"], found["evidence"]) == ("effective", ["8 of 8 landed on chat-0"])
    assert (found["requests"], found["seconds"]) == (12, 3.2)


def test_a_resize_tells_bytes_and_needs_no_proof() -> None:
    resize = replace(CHANGE, wish=Wish(l0=L0Wish(blocks=4096), l1_bytes=0), was={"L1": "40 GiB"})
    found = change_document(replace(resize, preview=Preview(Plan((), loses=(Tier.L1,)), "", 1.0)))
    assert found["wish"] == {
        "strategy": None,
        "l0": {"share": None, "bytes": None, "blocks": 4096},
        "l1_bytes": 0,
        "l2_bytes": None,
        "salt": None,
    }
    assert isinstance(found["why"], dict)
    assert found["why"]["proof"] == "it changes no strategy"


def test_notes_are_codes_with_words() -> None:
    found = change_document(replace(CHANGE, notes=("not_judged", "waits: the API server answers 429")))
    assert found["notes"] == [
        {"code": "not_judged", "detail": "Whether it helped was not judged."},
        {"code": "waits", "detail": "the API server answers 429"},
    ]


@given(changes)
def test_any_change_is_a_document_and_a_text(change: Change) -> None:
    found = change_document(change) | {"steps": steps_document([Step(1, 1000.0, State.PROPOSED, "ada", "words")])}
    json.dumps(found)
    assert change_text.change({"change": found})
    assert change_text.changes({"changes": [brief_document(change)]})


def test_the_text_has_the_diff_the_cost_and_the_warnings() -> None:
    text = change_text.change({"change": change_document(replace(PREVIEWED, proof=PROOF))})
    assert "◇ waits for approval  change 12 of inference/chat: session → prefixaware" in text
    assert DIFF in text
    assert "Restarts Deployment inference/router. No tier starts empty.\n! helm owns args until now" in text
    assert "proof: effective (12 requests in 3.2 s)\n  8 of 8 landed on chat-0" in text


def test_what_has_no_diff_is_told_field_by_field() -> None:
    lab = Write(ObjectRef("Endpoint", "", "chat"), "http://lab/admin/strategy", "",
                (FieldEdit(("strategy",), "session", "kvaware"),), Surface.LAB)  # fmt: skip
    found = change_document(replace(PREVIEWED, preview=Preview(Plan((lab,)), "", 1000.0)))
    assert (
        change_text.preview(found) == "Endpoint chat strategy: session → kvaware\n"
        "Nothing restarts. No tier starts empty."
    )


def test_no_change_yet_says_what_to_do() -> None:
    assert "tierdeck route ENDPOINT STRATEGY --dry-run" in change_text.changes({"changes": []})
