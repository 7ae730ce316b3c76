"""An edit changes the content of a file: its owner, rights, attributes and other names stay."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf

#: An access control list: user 1234 may read (as Linux stores it: version 2, then tag, rights, id).
ACCESS_LIST = b"".join(
    [
        (2).to_bytes(4, "little"),
        *(
            tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + owner.to_bytes(4, "little")
            for tag, rights, owner in [
                (1, 6, 0xFFFFFFFF),
                (2, 4, 1234),
                (4, 4, 0xFFFFFFFF),
                (16, 4, 0xFFFFFFFF),
                (32, 0, 0xFFFFFFFF),
            ]
        ),
    ]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.fits"
    tf.write(path, {"A": np.arange(20_000), "B": np.zeros(20_000)})
    return path


def in_place(path: Path) -> None:
    with tf.edit(path) as editor:
        editor[1].header["OBJECT"] = "M31"
    assert editor.done is not None
    assert editor.done["in_place"]


def anew(path: Path) -> None:
    with tf.edit(path) as editor:
        editor[1].delete(rows=slice(0, 15_000))
        editor[1].add_column("C", np.ones(5000))
    assert editor.done is not None
    assert not editor.done["in_place"]


EDITS = pytest.mark.parametrize("edit", [in_place, anew])


@EDITS
def test_rights_and_attributes_stay(edit: Callable[[Path], None], path: Path) -> None:
    path.chmod(0o640)
    os.setxattr(path, "user.origin", b"telescope")
    kept = {"user.origin": b"telescope"}
    try:
        os.setxattr(path, "system.posix_acl_access", ACCESS_LIST)
        kept["system.posix_acl_access"] = ACCESS_LIST
    except OSError:
        print("this file system has no access control lists")
    mode = path.stat().st_mode
    edit(path)
    assert path.stat().st_mode == mode
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == kept


@EDITS
@pytest.mark.skipif(os.geteuid() != 0, reason="files are given away by root alone")
def test_the_owner_stays(edit: Callable[[Path], None], path: Path) -> None:
    os.chown(path, 1234, 4321)
    path.chmod(0o640)
    edit(path)
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 4321, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="files are given away by root alone")
def test_a_file_of_another_owner_is_edited_in_place(path: Path, tmp_path: Path) -> None:
    os.chown(path, 1234, 65534)
    path.chmod(0o660)
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/") and folder.stat().st_uid == 0:
            folder.chmod(folder.stat().st_mode | 0o011)
    os.chown(tmp_path, 65534, 65534)
    inode = path.stat().st_ino
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with tf.edit(path) as editor:
                editor[1].delete(rows=slice(0, 15_000))
                editor[1].add_column("C", np.ones(5000))
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    found = path.stat()
    assert (found.st_ino, found.st_uid, found.st_mode & 0o777) == (inode, 1234, 0o660)
    assert tf.open(path)[1].names == ["A", "B", "C"] or len(tf.open(path)[1].columns) == 3


@EDITS
def test_all_names_of_a_file_show_the_edit(edit: Callable[[Path], None], path: Path) -> None:
    other = path.with_name("other.fits")
    os.link(path, other)
    if edit is anew:
        with tf.edit(path) as editor:
            editor[1].delete(rows=slice(0, 15_000))
            editor[1].add_column("C", np.ones(5000))
        assert editor.done is not None
        assert editor.done["in_place"]
        np.testing.assert_array_equal(tf.open(other)[1]["A"], np.arange(15_000, 20_000))
    else:
        edit(path)
        assert tf.open(other)[1].header["OBJECT"] == "M31"
    assert path.samefile(other)
    assert path.read_bytes() == other.read_bytes()


def test_a_file_that_is_replaced_keeps_its_rights(path: Path) -> None:
    path.chmod(0o604)
    os.setxattr(path, "user.origin", b"of the old content")
    tf.write(path, np.ones(3), overwrite=True)
    assert path.stat().st_mode & 0o777 == 0o604
    assert "user.origin" not in os.listxattr(path)
