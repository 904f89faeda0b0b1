"""A Llama of a few hundred thousand seeded random weights and its tokenizer: `python model.py FOLDER`.

It runs inside the fleet's own environment, which is why it stands alone and imports nothing of ours.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from pathlib import Path

SEED = 20261129
VOCABULARY = 2048
LAYERS = 2
KV_HEADS = 2
HEAD_DIM = 32
CONTEXT = 4096
_BYTES_PER_VALUE = 2  # bfloat16
KV_BYTES_PER_TOKEN = 2 * LAYERS * KV_HEADS * HEAD_DIM * _BYTES_PER_VALUE
"""Keys and values of all layers."""
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou")


def make(folder: Path) -> None:
    """Put weights, configuration and tokenizer there, all at once at the end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        _tokenizer(unfinished)
        _weights(unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _tokenizer(folder: Path) -> None:
    """Byte-level BPE, trained on words that are made of syllables."""
    from tokenizers import ByteLevelBPETokenizer  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    from transformers import (  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        PreTrainedTokenizerFast,
    )

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(_text(), vocab_size=VOCABULARY, special_tokens=["<s>", "</s>"], show_progress=False)
    ends = {"bos_token": "<s>", "eos_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, **ends).save_pretrained(folder)


def _text() -> list[str]:
    dice = random.Random(SEED)
    words = ["".join(dice.choices(_SYLLABLES, k=dice.randint(1, 4))) for _ in range(3000)]
    return [" ".join(dice.choices(words, k=40)) for _ in range(1000)]


def _weights(folder: Path) -> None:
    import torch  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    from transformers import (  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        LlamaConfig,
        LlamaForCausalLM,
    )

    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        max_position_embeddings=CONTEXT,
        bos_token_id=0,
        eos_token_id=1,
        dtype=torch.bfloat16,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
