"""Identities of models: each has a directory of its own, which stays."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tierdeck.l2.identity import KvLayout, ModelIdentity, ModelSource

LLAMA = ModelIdentity(ModelSource.S3, "models/llama-3-8b", "v1")
layouts = st.builds(
    KvLayout,
    st.sampled_from(["auto", "bfloat16"]),
    st.sampled_from(["auto", "fp8_e4m3", "fp8_e5m2"]),
    st.integers(1, 8),
    st.integers(1, 2),
    st.sampled_from([256, 512]),
    st.sampled_from(["builtin", "sha256_cbor"]),
    st.sampled_from(["0", "1"]),
    st.lists(st.tuples(st.text(), st.text()), max_size=2, unique_by=lambda one: one[0]).map(
        lambda some: tuple(sorted(some))
    ),
)
identities = st.builds(ModelIdentity, st.sampled_from(ModelSource), st.text(min_size=1), st.text(), layouts)


@settings(max_examples=60, deadline=None)
@given(identities, identities)
def test_two_identities_never_share_a_directory(one: ModelIdentity, other: ModelIdentity) -> None:
    assume(one != other)
    assert one.directory.lower() != other.directory.lower()


@settings(max_examples=60, deadline=None)
@given(identities)
def test_any_file_system_takes_a_directorys_name(one: ModelIdentity) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", one.directory)
    assert len(one.directory) <= 65
    assert one.directory == replace(one, pinned_by="a hand", notes=("a note.",)).directory


@pytest.mark.parametrize(
    "other",
    [
        replace(LLAMA, source=ModelSource.FSX),
        replace(LLAMA, model="models/llama-3-8b-tuned"),
        replace(LLAMA, model="models/Llama-3-8b"),
        replace(LLAMA, revision="v2"),
        replace(LLAMA, revision=""),
        replace(LLAMA, layout=KvLayout(dtype="float16")),
        replace(LLAMA, layout=KvLayout(kv_cache_dtype="fp8_e4m3")),
        replace(LLAMA, layout=KvLayout(tensor_parallel=2)),
        replace(LLAMA, layout=KvLayout(pipeline_parallel=2)),
        replace(LLAMA, layout=KvLayout(chunk_tokens=512)),
        replace(LLAMA, layout=KvLayout(hash_algorithm="sha256_cbor")),
        replace(LLAMA, layout=KvLayout(hash_seed="1")),
        replace(LLAMA, layout=KvLayout(variant=(("--quantization", "fp8"),))),
    ],
)
def test_whatever_makes_other_kv_has_a_directory_of_its_own(other: ModelIdentity) -> None:
    assert other.directory != LLAMA.directory


def test_a_directory_stays_from_release_to_release() -> None:
    # what a release wrote, the next one must find: a new name here empties every L2
    assert LLAMA.directory == "models-llama-3-8b-" + LLAMA.directory[-24:]
    assert LLAMA.directory == "models-llama-3-8b-de33c6d4dadf6236cd67b677"


def test_a_revision_that_nothing_pins_is_said() -> None:
    (said,) = LLAMA.warnings
    assert "models/llama-3-8b is unpinned (revision v1)" in said
    assert "tierdeck.io/model-revision" in said
    assert not replace(LLAMA, pinned_by="spec").warnings


def test_an_identity_needs_a_model() -> None:
    with pytest.raises(ValueError, match="where its weights are"):
        ModelIdentity(ModelSource.S3, "")
