"""A path is cleaned only where it lies on a file system of the expected kind."""

from pathlib import Path

import pytest

from controller.janitor.mounts import Mount, check_mount, mount_of
from tierdeck.errors import UsageError

TABLE = """\
22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw
41 22 8:1 /x /mnt rw - ext4 /dev/sda1 rw
42 41 0:51 / /mnt/curvine rw,relatime shared:9 - fuse.curvinefs curvinefs rw,user_id=0
43 41 0:52 / /mnt/old rw - fuse curvinefs rw
44 41 0:53 / /mnt/with\\040space rw - fuse.curvinefs curvinefs rw
45 41 8:2 / /mnt/over rw - ext4 /dev/sdb rw
46 45 0:54 / /mnt/over rw - fuse.curvinefs curvinefs rw
a line of another kind
"""
KINDS = frozenset({"fuse.curvinefs", "curvinefs"})


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mnt/curvine", "fuse.curvinefs"),
        ("/mnt/curvine/l2cache/qwen", "fuse.curvinefs"),
        ("/mnt/curvine2", "ext4"),  # not below /mnt/curvine
        ("/mnt/with space/a", "fuse.curvinefs"),
        ("/mnt/over", "fuse.curvinefs"),  # the later one lies above the earlier
        ("/srv", "overlay"),
    ],
)
def test_the_mount_of_a_path_is_the_one_that_is_seen_there(path: str, kind: str) -> None:
    found = mount_of(Path(path), TABLE)
    assert found is not None
    assert found.kind == kind


def test_a_table_without_a_root_has_no_mount() -> None:
    assert mount_of(Path("/srv"), "") is None
    assert mount_of(Path("/mnt/old"), TABLE) == Mount(Path("/mnt/old"), "fuse", "curvinefs", "0:52")


def test_curvine_is_known_by_its_type_or_its_source() -> None:
    check_mount(Path("/mnt/curvine/l2cache"), KINDS, TABLE)
    check_mount(Path("/mnt/old"), KINDS, TABLE)


@pytest.mark.parametrize("path", ["/srv/pool", "/mnt/curvine2", "/mnt"])
def test_a_claim_that_is_not_mounted_is_no_pool(path: str) -> None:
    with pytest.raises(UsageError, match=r"lies on .*, and not on curvinefs or fuse\.curvinefs") as caught:
        check_mount(Path(path), KINDS, TABLE)
    assert "Is the claim mounted?" in caught.value.hint


@pytest.mark.parametrize("path", ["mnt/curvine", "/mnt/curvine/../../etc"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="no absolute path without links"):
        check_mount(Path(path), KINDS, TABLE)


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="without links"):
        check_mount(tmp_path / "link", KINDS, TABLE)


def test_the_kernels_table_is_read() -> None:
    with pytest.raises(UsageError, match="and not on no-such-kind"):
        check_mount(Path("/"), frozenset({"no-such-kind"}))


def test_a_link_further_up_is_refused_as_well(tmp_path: Path) -> None:
    (tmp_path / "real" / "pool").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    kind = mount_of(tmp_path, Path("/proc/self/mountinfo").read_text("utf-8"))
    assert kind is not None
    check_mount(tmp_path / "real" / "pool", frozenset({kind.kind}))
    with pytest.raises(UsageError, match="without links: it leads to"):
        check_mount(tmp_path / "link" / "pool", frozenset({kind.kind}))
    with pytest.raises(UsageError, match="there is no"):
        check_mount(tmp_path / "real" / "none", frozenset({kind.kind}))
