"""Which names are LMCache's."""

import pytest

from tierdeck.l2.pool_file import FileKind, PoolFile, PoolRoom, kind_of

HASH = "9f3a" * 16


@pytest.mark.parametrize(
    "name",
    [
        f"Qwen-SEP-Qwen2-7B@1@0@{HASH}@bfloat16.data",  # inside vLLM, LMCache 0.5.6
        f"Qwen-SEP-Qwen2-7B@8@3@{HASH}@bfloat16@12.data",  # a layer of it
        f"Qwen-SEP-Qwen2-7B@1@0@{HASH}@bfloat16@tenant%gold.data",
        f"vllm@Qwen2-7B@1@0@{HASH}@bfloat16.data",  # before
        "qwen@1@0@-1a2b3c4d@half.data",  # Python's own hash may be negative
        f"-SEP-models-SEP-m@0x01000100@0@{HASH}.data",  # cache server
        f"-SEP-models-SEP-m@0x01000100@0@{HASH}@gold.data",  # with a salt
    ],
)
def test_a_chunk_goes_by_its_key(name: str) -> None:
    assert kind_of(name) is FileKind.CHUNK
    assert kind_of(name.removesuffix(".data") + ".tmp") is FileKind.TEMPORARY


@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "notes.data", "a@b@c.data", "train@2026@q1@final.data", ".data", "x.tmp", f"m@1@0@{HASH}"],
)
def test_what_has_another_name_is_somebody_elses(name: str) -> None:
    assert kind_of(name) is FileKind.FOREIGN


def test_a_file_is_used_when_it_was_read_or_written_last() -> None:
    assert PoolFile("q", "n", 1, written_at=50.0, read_at=70.0).used_at == 70.0
    assert (
        PoolFile("q", "n", 1, written_at=50.0, read_at=40.0).used_at == 50.0
    )  # a mount that keeps no times of reading
    assert [PoolFile(where, "n", 1, 0.0, 0.0).path for where in ("q/a", ".")] == ["q/a/n", "n"]


def test_room_is_never_negative() -> None:
    assert PoolRoom(100.0, 130.0).available_bytes == 0.0
    with pytest.raises(ValueError, match="room for something"):
        PoolRoom(0.0, 0.0)
