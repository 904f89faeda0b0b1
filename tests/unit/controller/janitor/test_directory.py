"""A mounted pool, walked and deleted from without ever leaving it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from controller.janitor.directory import MountedDirectory
from tests.support.pool_folders import KILO, chunk_name, fill, put
from tierdeck.errors import UnreachableError
from tierdeck.l2.cleaning import CleaningLimits, Survey
from tierdeck.l2.pool_file import Deletion, FileKind, PoolFile

AT = 1_700_000_000.0


def found(path: Path) -> dict[str, PoolFile]:
    return {file.path: file for file in MountedDirectory(path).files()}


def test_links_are_neither_followed_nor_deleted(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    secret = put(outside, chunk_name(1), AT)
    pool = tmp_path / "pool"
    fill(pool / "qwen", 1, AT)
    (pool / "away").symlink_to(outside)
    (pool / "qwen" / chunk_name(7)).symlink_to(secret)
    kinds = {path: file.kind for path, file in found(pool).items()}
    assert kinds == {
        f"qwen/{chunk_name(0)}": FileKind.CHUNK,
        "away": FileKind.FOREIGN,
        f"qwen/{chunk_name(7)}": FileKind.FOREIGN,
    }


def test_a_directory_that_became_a_link_since_is_not_entered(tmp_path: Path) -> None:
    outside, pool = tmp_path / "outside", tmp_path / "pool"
    target = put(outside, chunk_name(0), AT)
    fill(pool / "qwen", 1, AT)
    directory = MountedDirectory(pool)
    (file,) = directory.files()
    (pool / "qwen" / chunk_name(0)).unlink()
    (pool / "qwen").rmdir()
    (pool / "qwen").symlink_to(outside)
    with pytest.raises(UnreachableError):
        directory.delete(file)
    assert target.exists()


def test_a_file_that_became_a_link_since_stays(tmp_path: Path) -> None:
    target = put(tmp_path / "outside", chunk_name(0), AT)
    fill(tmp_path / "pool", 1, AT)
    directory = MountedDirectory(tmp_path / "pool")
    (file,) = directory.files()
    (tmp_path / "pool" / file.name).unlink()
    (tmp_path / "pool" / file.name).symlink_to(target)
    assert directory.delete(file) is Deletion.USED_AGAIN
    assert target.exists()


def test_a_name_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    outside = put(tmp_path, chunk_name(0), AT)
    pool = tmp_path / "pool"
    fill(pool / "qwen", 1, AT)
    directory = MountedDirectory(pool)
    (file,) = directory.files()
    assert (pool / file.identity / ".." / ".." / outside.name).exists()
    made_up = PoolFile("..", outside.name, KILO, AT, AT)
    with pytest.raises(ValueError, match="no directory below"):
        directory.delete(made_up)
    assert outside.exists()


def test_directories_stay_when_they_are_empty(tmp_path: Path) -> None:
    fill(tmp_path / "qwen", 2, AT)
    directory = MountedDirectory(tmp_path)
    assert [directory.delete(file) for file in list(directory.files())] == [Deletion.DELETED] * 2
    assert (tmp_path / "qwen").is_dir()


def test_what_is_neither_file_nor_directory_is_foreign(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / chunk_name(1))
    (file,) = found(tmp_path).values()
    assert file.kind is FileKind.FOREIGN


def test_directories_that_lie_too_deep_are_foreign(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefghij")
    fill(deep, 1, AT)
    assert [file.kind for file in found(tmp_path).values()] == [FileKind.FOREIGN]


def test_the_file_system_tells_its_room_or_the_files_add_up(tmp_path: Path) -> None:
    fill(tmp_path / "qwen", 3, AT)
    own = MountedDirectory(tmp_path, capacity_bytes=10 * KILO).room()
    assert (own.capacity_bytes, own.used_bytes) == (10 * KILO, 3 * KILO)
    whole, told = MountedDirectory(tmp_path).room(), os.statvfs(tmp_path)
    assert whole.capacity_bytes == told.f_blocks * told.f_frsize
    assert 0 <= whole.used_bytes <= whole.capacity_bytes


def test_what_can_not_be_read_or_deleted_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="can't be walked: No such file"):
        list(MountedDirectory(tmp_path / "none").files())
    with pytest.raises(UnreachableError, match="can't be asked for its room"):
        MountedDirectory(tmp_path / "none").room()
    (tmp_path / "qwen").mkdir()
    (tmp_path / "qwen" / chunk_name(0)).mkdir()  # where a file was
    made_up = PoolFile("qwen", chunk_name(0), 1, AT, AT)
    assert MountedDirectory(tmp_path).delete(made_up) is Deletion.USED_AGAIN


def test_asking_for_room_does_not_forget_which_file_system_was_walked(tmp_path: Path) -> None:
    other = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        put(other, chunk_name(1), AT)
        if tmp_path.stat().st_dev == other.stat().st_dev:
            pytest.skip("there is one file system only")
        mounted = tmp_path / "mounted"
        mounted.mkdir()
        put(mounted, chunk_name(1), AT)
        directory = MountedDirectory(mounted, 10 * KILO)
        (file,) = directory.files()
        directory._path = other  # as where another file system is mounted meanwhile
        directory.room()
        with pytest.raises(UnreachableError, match="another file system by now"):
            directory.delete(file)
        assert (other / chunk_name(1)).exists()
    finally:
        shutil.rmtree(other)


def test_a_directory_is_the_same_by_any_name(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "pool")
    pool, alias, other = (MountedDirectory(tmp_path / name).place() for name in ("pool", "alias", "other"))
    assert pool == alias != other


def test_names_that_are_no_text_can_be_told_and_deleted(tmp_path: Path) -> None:
    folder = os.fsdecode(b"bad\xff\x1b[2J")
    put(tmp_path / folder, chunk_name(1), AT)
    put(tmp_path, os.fsdecode(b"thesis\xfe.tex"), AT)
    directory = MountedDirectory(tmp_path)
    survey = Survey(CleaningLimits(), AT + 9999.0)
    files = list(directory.files())
    for file in files:
        survey.add(file)
    assert survey.named_foreign == ["thesis\\xfe.tex"]
    assert [part.identity for part in survey.parts(())] == ["bad\\xff\\x1b[2J"]
    (chunk,) = [file for file in files if file.kind is FileKind.CHUNK]
    assert directory.delete(chunk) is Deletion.DELETED
