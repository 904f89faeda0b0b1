"""What a probe sent is told of a window, and its minutes are no evidence."""

from __future__ import annotations

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.probes import without_probes
from tierdeck.changes.probed import is_probed, probe_notes, probed_spans
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.notes import NoteCode

T0 = 1_800_000_000.0
CHAT, RAG = Subject("east", "chat"), Subject("east", "rag")


def proof(at: float, *tokens: tuple[str, int], requests: int = 20, seconds: float = 12.0) -> Proof:
    return Proof(Verdict.EFFECTIVE, "session", "session", (), requests, seconds, at, tokens)


def test_a_windows_note_says_how_many_tokens_were_no_clients() -> None:
    proofs = [("east", "chat", proof(T0, ("a", 1200), ("b", 34))), ("east", "chat", proof(T0 + 60, ("a", 6)))]
    (note,) = probe_notes(proofs)["east", "chat"]
    assert note.code is NoteCode.PROBED
    assert "1,240 of the prompt tokens" in note.detail  # 1,200 + 34 + 6
    assert note.evidence == "40 requests in 2 probes"


def test_a_probe_that_sent_nothing_leaves_nothing() -> None:
    proofs = [("east", "chat", proof(T0, requests=0))]
    assert not probe_notes(proofs)
    assert not probed_spans(proofs)


def test_a_minute_into_which_a_probe_reaches_has_no_hits() -> None:
    minutes = {one: Minute(T0, 1000.0, 600.0, 10.0, l0=500.0) for one in (CHAT, RAG)}
    # it began 10 seconds before the minute and took 12
    found = without_probes(Scene(T0, minutes), [("east", "chat", proof(T0 - 10))])
    assert (found.minutes[CHAT].hit_tokens, found.minutes[CHAT].l0) == (None, None)
    assert found.minutes[CHAT].prompt_tokens == 1000.0
    assert found.minutes[RAG] == minutes[RAG]


def test_the_minute_after_a_probe_counts() -> None:
    spans = [(T0, T0 + 12)]
    assert is_probed(spans, T0)
    assert not is_probed(spans, T0 + 60)
    assert not is_probed(spans, T0 - 60)
