"""Whose KV it is: what two engines must have in common to read each other's, and the directory that is theirs alone.

LMCache's key holds the model's path, the number of ranks and the rank, a hash of the tokens, and the type of the
KV. It does not hold the weights: two models that are mounted at the same path read each other's KV without an error.

Source: LMCache 0.5.6, CacheEngineKey and ChunkedTokenDatabase (embedded mode: no LoRA, no cache salt).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from enum import StrEnum

_MOST_OF_NAME = 40
_DIGEST_DIGITS = 24
"""96 bits: nobody has enough models for two of them to meet."""
_FORMAT = "tierdeck-l2-1"
"""Part of every digest; another one would give every model a new, empty directory."""


class ModelSource(StrEnum):
    """Where weights come from."""

    S3 = "s3"
    FSX = "fsx"
    HUGGING_FACE = "huggingface"
    JUMPSTART = "jumpstart"
    VOLUME = "volume"
    IMAGE = "image"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class KvLayout:
    """How the KV is made from weights and tokens, and cut into chunks.

    Attributes:
        dtype, kv_cache_dtype: as vLLM is told them; `auto`: the model's own.
        tensor_parallel, pipeline_parallel: ranks.
        chunk_tokens: tokens of an LMCache chunk.
        hash_algorithm, hash_seed: of the chunks' names; with another seed nothing is found.
        variant: further arguments that make other KV of the same weights (quantization, LoRA adapters), by name.
    """

    dtype: str = "auto"
    kv_cache_dtype: str = "auto"
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    chunk_tokens: int = 256
    hash_algorithm: str = "builtin"
    hash_seed: str = "0"
    variant: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """One model's KV.

    Attributes:
        model: where its source has it (`bucket/location`, `organisation/model`).
        revision: of the weights; empty where none is stated.
        pinned_by: what holds the weights of that revision fast; empty: they can change without a sign of it.
        notes: what an operator should know of it, a sentence each; like `pinned_by` no part of the identity.
    """

    source: ModelSource
    model: str
    revision: str = ""
    layout: KvLayout = field(default_factory=KvLayout)
    pinned_by: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("a model's identity needs where its weights are")

    @property
    def is_pinned(self) -> bool:
        return bool(self.pinned_by)

    @property
    def directory(self) -> str:
        """Its directory's name: readable first, then a digest of everything that counts.

        Lower-case letters, digits, dots, dashes and underscores, at most 65 of them: every file system takes it,
        also one that does not tell capitals apart.
        """
        readable = re.sub(r"[^a-z0-9._]+", "-", self.model.lower()).strip("-._")
        return f"{readable[-_MOST_OF_NAME:].strip('-._') or self.source.value}-{self._digest()}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What can go wrong with it, a sentence each."""
        if self.is_pinned:
            return self.notes
        stated = f"revision {self.revision}" if self.revision else "no revision"
        unpinned = (
            f"{self.model} is unpinned ({stated}): weights that change at the same place would read the KV of the old "
            "ones. Pin a revision, or set another tierdeck.io/model-revision with each change."
        )
        return (unpinned, *self.notes)

    def facts(self) -> dict[str, object]:
        """All that counts, JSON-able: what two identities differ in."""
        layout = self.layout
        return {
            "source": self.source.value,
            "model": self.model,
            "revision": self.revision,
            "dtype": layout.dtype,
            "kv_cache_dtype": layout.kv_cache_dtype,
            "tensor_parallel": layout.tensor_parallel,
            "pipeline_parallel": layout.pipeline_parallel,
            "chunk_tokens": layout.chunk_tokens,
            "hash_algorithm": layout.hash_algorithm,
            "hash_seed": layout.hash_seed,
            "variant": dict(sorted(layout.variant)),
        }

    def _digest(self) -> str:
        written = json.dumps([_FORMAT, self.facts()], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(written.encode()).hexdigest()[:_DIGEST_DIGITS]


@dataclass(frozen=True, slots=True)
class UnknownIdentity:
    """Whose KV it would be can't be told: then it gets no directory."""

    reason: str
