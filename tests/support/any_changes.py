"""Any change that the vocabulary allows, and a plain one to begin with."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.rounds import T0
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import (
    ABSENT,
    Carried,
    Carrying,
    FieldEdit,
    Plan,
    Preview,
    Refusal,
    Surface,
    Write,
)
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

CHAT = "inference/chat"
CHANGE = Change("east", CHAT, Wish(strategy="prefixaware"), "ada", "more hits", "click-1", T0, {"strategy": "session"})

_words = st.text(max_size=8)
_instants = st.floats(0, 1e10)
_sizes = st.integers(0, 2**45)
_names = st.lists(_words, max_size=3).map(tuple)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=6,
)
_field = st.just(ABSENT) | _json
_refs = st.builds(ObjectRef, _words, _words, _words)
_edits = st.builds(FieldEdit, _names, _field, _field)
_writes = st.builds(
    Write, _refs, _words, _words, st.lists(_edits, max_size=3).map(tuple), st.sampled_from(Surface), _words
)
_carried = st.builds(Carried, _refs, _words, st.sampled_from(Carrying), _words, st.none() | _words)


def _some(one: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(one, max_size=2).map(tuple)


_plans = st.builds(
    Plan,
    _some(_writes),
    _some(_carried),
    _some(_refs),
    _some(st.sampled_from(Tier)),
    _words,
    _names,
    _words,
)
_previews = st.builds(Preview, _plans, _words, _instants, st.dictionaries(_words, _words, max_size=3))
_tokens = st.lists(st.tuples(_words, st.integers(0)), max_size=3).map(tuple)
_l0 = st.one_of(
    st.floats(0, 1).map(lambda share: L0Wish(share=share)),
    _sizes.map(lambda size: L0Wish(size_bytes=size)),
    _sizes.map(lambda blocks: L0Wish(blocks=blocks)),
)
_wishes = st.one_of(
    st.text(min_size=1, max_size=8).map(lambda name: Wish(strategy=name)),
    st.builds(Wish, st.just(""), _l0, st.none() | _sizes, st.none() | _sizes),
)
proofs = st.builds(
    Proof, st.sampled_from(Verdict), _words, _words, _names, st.integers(0, 20), _instants, _instants, _tokens
)
changes = st.builds(
    Change,
    cluster=_words,
    endpoint=_words,
    wish=_wishes,
    by=_words,
    reason=_words,
    key=_words,
    proposed_at=_instants,
    was=st.dictionaries(_words, _words, max_size=3),
    reverts=st.none() | st.integers(1),
    is_approved_at_once=st.booleans(),
    id=st.integers(0),
    state=st.sampled_from(State),
    preview=st.none() | _previews,
    refusals=_some(st.builds(Refusal, _words, _words, _words)),
    approved_by=_words,
    approved_at=st.none() | _instants,
    proof=st.none() | proofs,
    outcome=_words,
    next_step=_words,
    notes=_names,
    ended_at=st.none() | _instants,
    applied_at=st.none() | _instants,
)
