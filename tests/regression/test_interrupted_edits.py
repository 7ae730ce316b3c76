"""The next program that opens a file undoes an interrupted edit; none reads a partial one."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from killing import interrupt, journal_of, kill_after
from tachyfits import fortran

ROWS = 1_500_000


def table(path: Path) -> Path:
    tf.write(path, {"A": np.zeros(ROWS), "B": np.arange(ROWS)}, overwrite=True)
    return path


def update(path: Path) -> Callable[[], None]:
    """Return a change in place of much of a table."""

    def change() -> None:
        with tf.edit(path) as editor:
            editor[1].update("A", np.ones(ROWS // 4), rows=slice(0, ROWS // 4))

    return change


def said(action: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, [str(warning.message) for warning in caught]


def command(*words: object) -> Callable[[], Any]:
    return lambda: subprocess.run(
        [sys.executable, "-m", "tachyfits", *map(str, words)], capture_output=True, check=False
    )


def edited(path: Path) -> None:
    with tf.edit(path):
        pass


OPENERS: dict[str, Callable[[Path], Any]] = {
    "open": lambda path: tf.open(path).close(),
    "edit": edited,
    "verify": tf.verify,
    "diff": lambda path: tf.diff(path, path),
    "repair": tf.repair,
    "update_checksums": tf.update_checksums,
    "command": lambda path: command("info", path)(),
    "verify command": lambda path: command("verify", path)(),
}


@pytest.mark.parametrize("opener", OPENERS)
def test_opening_a_fits_file_undoes_an_interrupted_edit(opener: str, tmp_path: Path) -> None:
    path = table(tmp_path / "x.fits")
    old = interrupt(path, update(path))
    assert path.read_bytes() != old
    result, messages = said(lambda: OPENERS[opener](path))
    assert not journal_of(path).exists()
    if opener != "update_checksums":
        assert path.read_bytes() == old
    if opener in ("command", "verify command"):
        assert result.returncode == 0
        assert b"interrupted edit was undone" in result.stderr
    else:
        assert any("interrupted edit was undone" in message for message in messages)
    table_now = tf.open(path)[1]
    assert float(np.sum(table_now["A"])) == 0


RECORDS: dict[str, Callable[[Path], Any]] = {
    "open": lambda path: fortran.open(path),
    "recover": lambda path: fortran.open(path, recover=True),
    "append": lambda path: fortran.append(path, np.ones(3)),
    "create": lambda path: fortran.create(path, append=True).close(),
    "command": lambda path: command("fortran", "info", path)(),
}


@pytest.mark.parametrize("opener", RECORDS)
def test_opening_a_record_file_undoes_an_interrupted_append(opener: str, tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    fortran.write(path, np.arange(1000.0))
    old = interrupt(path, lambda: fortran.append(path, np.ones(4_000_000)))
    assert len(path.read_bytes()) > len(old)
    _, messages = said(lambda: RECORDS[opener](path))
    assert not journal_of(path).exists()
    assert path.read_bytes()[: len(old)] == old
    assert len(fortran.open(path)) == (2 if opener == "append" else 1)
    if opener != "command":
        assert any("interrupted edit was undone" in message for message in messages)


def test_a_replaced_file_is_not_blocked_by_the_old_journal(tmp_path: Path) -> None:
    path = table(tmp_path / "x.fits")
    interrupt(path, update(path))
    tf.write(path, np.ones((5, 5)), overwrite=True)
    assert not journal_of(path).exists()
    assert tf.open(path)[0].shape == (5, 5)


@pytest.mark.parametrize("how", ["another program", "removed", "moved over", "copied over"])
def test_the_journal_of_a_replaced_file_is_ignored(how: str, tmp_path: Path) -> None:
    path = table(tmp_path / "x.fits")
    interrupt(path, update(path))
    new = tmp_path / "new.fits"
    tf.write(new, np.ones((5, 5)))
    if how == "another program":
        from astropy.io import fits

        fits.writeto(path, np.ones((5, 5)), overwrite=True)
    elif how == "removed":
        path.unlink()
        tf.write(path, np.ones((5, 5)))
    elif how == "moved over":
        new.replace(path)
    else:
        # The same inode.
        shutil.copyfile(new, path)
    shape, messages = said(lambda: tf.open(path)[0].shape)
    assert shape == (5, 5)
    assert any("is ignored" in message and ".tachyfits-undo" in message for message in messages)
    with tf.edit(path) as editor:
        editor[0].header["OBJECT"] = "new"
    assert not journal_of(path).exists()
    _, messages = said(lambda: tf.open(path)[0].header["OBJECT"])
    assert not any("ignored" in message for message in messages)


@pytest.mark.parametrize("how", ["moved", "linked", "moved away and back", "copied"])
def test_a_file_that_was_changed_in_part_is_known_by_another_name(how: str, tmp_path: Path) -> None:
    path = table(tmp_path / "x.fits")
    try:
        os.setxattr(path, "user.test", b"")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    other = tmp_path / "folder" / "other.fits"
    other.parent.mkdir()
    old = interrupt(path, update(path))
    if how == "copied":
        shutil.copy2(path, other)
        _, messages = said(lambda: tf.open(other))
        assert any("may be partly changed" in message for message in messages)
        assert tf.open(path)[1]["A"].sum() == 0
        return
    if how == "linked":
        os.link(path, other)
    else:
        path.rename(other)
    if how == "moved away and back":
        other.rename(path)
        other = path
    _, messages = said(lambda: tf.open(other))
    assert any("interrupted edit was undone" in message for message in messages)
    assert other.read_bytes() == old
    assert not journal_of(path).exists()


@pytest.mark.parametrize("place", [3, 18, 30, 90, 5000, -3])
def test_a_damaged_journal_is_an_error_with_a_way_out(place: int, tmp_path: Path) -> None:
    path = table(tmp_path / "x.fits")
    old = interrupt(path, update(path))
    journal = journal_of(path)
    damaged = bytearray(journal.read_bytes())
    damaged[place] ^= 1
    journal.write_bytes(damaged)
    half = path.read_bytes()
    for opener in (tf.open, edited, tf.verify, tf.repair):
        with pytest.raises(tf.IoError, match="journal") as caught:
            opener(path)
        assert caught.value.code == "io-journal"
        assert "rename the journal" in str(caught.value)
    # Nothing was dropped, and the damage can be repaired.
    assert (journal.read_bytes(), path.read_bytes()) == (damaged, half)
    damaged[place] ^= 1
    journal.write_bytes(damaged)
    edited(path)
    assert path.read_bytes() == old


def test_an_empty_file_of_that_name_does_not_block_reading(tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    tf.write(path, np.arange(4.0))
    journal_of(path).touch()
    _, messages = said(lambda: tf.open(path))
    assert any("is ignored: it is empty" in message for message in messages)
    np.testing.assert_array_equal(tf.open(path)[0][:], np.arange(4.0))
    assert command("stats", path)().returncode == 0
    with tf.edit(path) as editor:
        editor[0].header["OBJECT"] = "M31"
    assert not journal_of(path).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
@pytest.mark.parametrize("kind", ["forged", "empty", "link"])
def test_a_journal_of_another_user_is_ignored(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "sticky"
    folder.mkdir()
    folder.chmod(0o1777)
    for parent in folder.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    path = folder / "victim.fits"
    tf.write(path, np.zeros((10, 10), "f4"))
    child = os.fork()
    if not child:
        try:
            os.setgid(65534)
            os.setuid(65534)
            journal = journal_of(path)
            if kind == "forged":
                status = path.stat()
                header = struct.pack(
                    ">7Q", status.st_size, status.st_size, status.st_ino, 0, 0, 0, 1
                )
                evil = b"\x42\x28\x00\x00" * 100
                record = struct.pack(">QQ", 2880, len(evil)) + evil
                sums = [struct.pack(">Q", zlib.crc32(part)) for part in (header, record)]
                parts = [b"tachyfits undo 2writing ", header, sums[0], record, sums[1]]
                journal.write_bytes(b"".join(parts))
                journal.chmod(0o666)
            elif kind == "empty":
                journal.touch()
            else:
                journal.symlink_to("/etc/passwd")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert journal_of(path).is_symlink() or journal_of(path).exists()
    total, messages = said(lambda: float(tf.open(path)[0].stats().sum))
    assert total == 0
    assert any("is ignored" in message for message in messages)
    with tf.edit(path) as editor:
        editor[0].header["OBJECT"] = "mine"
    assert float(tf.open(path)[0].stats().sum) == 0
    assert tf.open(path)[0].header["OBJECT"] == "mine"
    assert Path("/etc/passwd").stat().st_size > 0


def _changes(path: Path) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return functions that write a new file, and that change it, by name."""
    cells = np.arange(40_000, dtype="f8")

    def cube() -> None:
        tf.write(path, np.zeros((20, 100, 100), "i2"), checksum=True, overwrite=True)

    def pixels() -> None:
        with tf.edit(path) as editor:
            editor[0].pixels[3:15, ::2] = 7

    def rows() -> None:
        with tf.edit(path) as editor:
            editor[1].delete(rows=slice(100, 200))
            editor[1].append({"A": cells[:5000], "B": cells[:5000]})

    def columns() -> None:
        tf.write(path, {"A": cells, "B": cells}, overwrite=True)

    def added() -> None:
        with tf.edit(path) as editor:
            editor[1].add_column("C", cells)

    def records() -> None:
        fortran.write(path, cells, overwrite=True)

    return {
        "pixels in place": (cube, pixels),
        "an image written over": (cube, lambda: tf.write(path, np.ones(90_000), overwrite=True)),
        "rows": (columns, rows),
        "a column, which writes a new file": (columns, added),
        "records appended": (records, lambda: fortran.append(path, cells, cells)),
    }


@pytest.mark.parametrize("name", _changes(Path()))
def test_a_kill_at_any_time_leaves_the_old_or_the_new_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make, change = _changes(path)[name]
    make()
    old = path.read_bytes()
    begun = time.monotonic()
    change()
    took = time.monotonic() - begun
    new = path.read_bytes()
    assert new != old
    opened = fortran.open if name == "records appended" else tf.open
    killed, seen = 0, set()
    for number in range(24):
        path.unlink()
        path.write_bytes(old)
        killed += kill_after(took * (number + 1) / 24, change)
        opened(path)
        found = path.read_bytes()
        assert found in (old, new), f"kill {number}"
        seen.add(found == new)
        assert not journal_of(path).exists()
        change() if found == old and number % 8 == 0 else None
    assert killed
    assert seen
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


def test_the_next_writer_removes_the_temporary_file_of_a_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "out.fits"
    left = [tmp_path / f".out.fits.tachyfits-{number}.part" for number in (1, 2)]
    for part in left:
        part.write_bytes(b"of a process that was killed")
    other = tmp_path / ".other.fits.tachyfits-1.part"
    other.write_bytes(b"of another name")
    tf.write(path, np.ones(3))
    assert sorted(child.name for child in tmp_path.iterdir()) == [other.name, "out.fits"]


def test_a_reader_never_takes_rows_that_another_process_is_changing(tmp_path: Path) -> None:
    path = tmp_path / "changing.fits"
    rows = 60_000
    tf.write(path, {"A": np.arange(float(rows))})
    child = os.fork()
    if not child:
        until = time.monotonic() + 3
        try:
            while time.monotonic() < until:
                try:
                    with tf.edit(path) as editor:
                        editor[1].delete(rows=slice(rows // 2, rows))
                    with tf.edit(path) as editor:
                        editor[1].append({"A": np.arange(rows / 2, rows)})
                except tf.TachyfitsError:
                    pass
        finally:
            os._exit(0)
    right, codes = 0, set()
    while not os.waitpid(child, os.WNOHANG)[0]:
        for storage in ("auto", "mmap", "pread"):
            try:
                with tf.open(path, storage=storage) as file:
                    for _ in range(3):
                        found = file[1]["A"]
                        np.testing.assert_array_equal(found, np.arange(len(found)))
                        right += 1
            except tf.TachyfitsError as error:
                codes.add(error.code)
    assert right > 0
    assert codes <= {"io-changed", "io-unfinished", "io-short", "io-busy"}


def test_a_file_that_was_edited_since_it_was_opened_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    tf.write(path, np.arange(6.0))
    file = tf.open(path)
    file[0].read()
    with tf.edit(path) as editor:
        editor[0].pixels[2] = 9
    with pytest.raises(tf.IoError, match="changed since") as caught:
        file[0].read()
    assert caught.value.code == "io-changed"
    assert tf.open(path)[0][2] == 9


def test_records_that_a_program_adds_do_not_disturb_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    fortran.write(path, [1.0, 2.0])
    file = fortran.open(path)
    fortran.append(path, [3.0])
    np.testing.assert_array_equal(file[0].read("f8"), [1.0, 2.0])
