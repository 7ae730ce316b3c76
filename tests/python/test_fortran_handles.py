"""Open Fortran files and writers as objects: closed, pickled, shared by threads, refused early."""

from __future__ import annotations

import bz2
import copy
import gzip
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a file of four records of six numbers, big-endian between markers of 8 bytes."""
    fortran.write(tmp_path / "four.dat", *np.arange(24.0).reshape(4, 6), order="big", markers=8)
    return tmp_path / "four.dat"


def test_nothing_is_read_from_a_closed_file(path: Path) -> None:
    with fortran.open(path) as file:
        record = file[1]
        before = record.read("f8")
    assert_array_equal(before, np.arange(6.0) + 6)
    for act in (len, iter, lambda file: file[0], lambda file: file.stats("f8")):
        with pytest.raises(tf.UsageError, match=r"four\.dat: the file is closed\nhint: use it"):
            list(act(file)) if act is iter else act(file)
    with pytest.raises(tf.UsageError, match="the file is closed"):
        record.read("f8")
    assert repr(file) == f"<fortran.File '{path}': closed>"
    file.close()


def test_a_file_is_opened_again_where_it_is_unpickled(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(path.parent)
    file = fortran.open(path.name, 8, "big", recover=True)
    file.skip(2)
    file[1:]
    packed = pickle.dumps((file, file[3]))
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    again, record = pickle.loads(packed)
    assert (again.markers, again.order, again.reason, again.position) == (8, "big", None, 2)
    assert_array_equal(again.read("f8"), np.arange(6.0) + 12)
    assert_array_equal(record.read("f8"), np.arange(6.0) + 18)
    direct = fortran.open(path, access="direct", record_bytes=64, order="big")
    for twin in (copy.copy(direct), copy.deepcopy(direct)):
        assert (len(twin), twin.access, twin.order) == (4, "direct", "big")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"order": "little"}, "order='little' is given"),
        ({"markers": 4}, "markers=4 is given"),
        ({"markers": 4, "order": "little"}, "markers=4 and order='little' is given"),
        ({"markers": 8, "order": "little"}, "markers=8 and order='little' is given"),
    ],
)
def test_markers_that_are_not_those_of_the_file_are_not_appended(
    path: Path, given: dict[str, Any], told: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(tf.UsageError) as refused:
        fortran.create(path, append=True, **given)
    problem, hint = str(refused.value).splitlines()
    assert problem == f"{path} has 8-byte big-endian markers, and {told}"
    assert "use the markers and byte order of the file" in hint
    assert path.read_bytes() == before
    fortran.append(path, [1.0], markers=8, order="big")
    fortran.append(path, [2.0], order="big")
    assert_array_equal(fortran.open(path)[-1].read("f8"), [2.0])


def test_markers_that_cannot_be_found_out_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, [], [])
    with pytest.raises(tf.FormatError, match="record-framing-ambiguous"):
        fortran.create(path, append=True)
    with pytest.raises(tf.FormatError, match="record-framing-ambiguous"):
        fortran.create(path, append=True, markers=4)
    fortran.append(path, [1.0], markers=4, order="big")
    assert fortran.open(path).order == "big"
    path.write_bytes(b"")
    fortran.append(path, [1.0], markers=8, order="big")
    assert (fortran.open(path).markers, fortran.open(path).order) == (8, "big")


def test_appending_to_an_unsuitable_file_is_refused_first(path: Path) -> None:
    for act in (
        lambda: fortran.create(path.with_name("none.dat"), append=True),
        lambda: fortran.create(path.parent, append=True, access="direct", record_bytes=8),
    ):
        with pytest.raises(tf.IoError):
            act()
    with pytest.raises(tf.UsageError, match="append=True and overwrite=True"):
        fortran.create(path, append=True, overwrite=True)


@pytest.mark.parametrize("append", [False, True])
def test_threads_write_one_record_after_the_other(tmp_path: Path, append: bool) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, np.arange(2, dtype="i4")) if append else None
    many, threads = 200, 8
    failed: list[BaseException] = []
    begin = threading.Barrier(threads)

    def write(new: fortran.Writer, thread: int) -> None:
        try:
            begin.wait()
            for number in range(many):
                new.write(np.int32(thread), np.int32(number))
        except BaseException as error:
            failed.append(error)

    with fortran.create(path, append=append) as new:
        each = [threading.Thread(target=write, args=(new, thread)) for thread in range(threads)]
        for thread in each:
            thread.start()
        for thread in each:
            thread.join()
    assert not failed
    rows = fortran.open(path).records(int(append), None, "i4")
    assert len(rows) == many * threads
    for number in range(threads):
        assert_array_equal(rows[rows[:, 0] == number, 1], range(many))


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (
            lambda path: fortran.open(path, 5),
            "invalid markers 5: expected 4 or 8\nhint: use 4 or 8",
        ),
        (
            lambda path: fortran.open(path, -4),
            "invalid markers -4: expected 4 or 8\nhint: use 4 or 8",
        ),
        (lambda path: fortran.create(path, markers=2**70), "hint: use 4 or 8"),
        (lambda path: fortran.convert(path, path, markers=0), "hint: use 4 or 8"),
        (lambda path: fortran.open(path, None, None, "direct", -1), "1 byte or more"),
        (lambda path: fortran.open(path, None, None, "direct", 0), "1 byte or more"),
        (
            lambda path: fortran.create(path, access="direct", record_bytes=2**64),
            "1 byte or more",
        ),
    ],
)
def test_lengths_that_nothing_has_are_refused(
    path: Path, act: Callable[[Path], Any], told: str
) -> None:
    with pytest.raises(tf.UsageError) as refused:
        act(path)
    assert told in str(refused.value)


def test_records_are_read_into_an_array_of_their_shape(path: Path) -> None:
    file = fortran.open(path)
    out = np.empty((4, 3, 2))
    assert file.records(0, 4, "f8", shape=(3, 2), order="C", out=out) is out
    assert_array_equal(out.ravel(), np.arange(24))
    turned = np.empty((4, 3, 2)).transpose(0, 2, 1)
    assert file.records(dtype="f8", shape=(2, -1), out=turned) is turned
    assert_array_equal(turned, file.records(dtype="f8", shape=(2, 3)))
    assert file.records(1, 2, "f8", step=2, shape=np.int64(6), out=np.empty((2, 6)))[1, 0] == 18
    for wrong in (np.empty((4, 6)), np.empty((4, 2, 3)), np.empty((4, 1, 6)), np.empty(24)):
        with pytest.raises(tf.UsageError, match="the first index of a record the fastest"):
            file.records(dtype="f8", shape=(2, 3), out=wrong)
    assert file.records(dtype="f8", shape=np.int64(6)).shape == (4, 6)


def test_messages_name_the_fault_of_an_out_array(path: Path) -> None:
    file = fortran.open(path)
    kept = np.empty((4, 6))
    kept.flags.writeable = False
    for out, told in (
        (kept, "which cannot be written"),
        (np.empty((4, 12))[:, ::2], "not contiguous in C order"),
        (np.empty((4, 6), ">f8"), "an array of >f8"),
    ):
        with pytest.raises(tf.UsageError, match=told):
            file.records(dtype="f8", out=out)
    for out in (np.empty((4, 6), bool), np.empty((4, 6), "i8")):
        with pytest.raises(tf.UsageError, match="read integers instead"):
            file.records(dtype="l8", out=out)
    assert_array_equal(file[0].read(" f8 "), np.arange(6.0))


def test_gzipped_files_are_read_but_not_written(path: Path) -> None:
    packed = path.with_name("four.dat.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_array_equal(fortran.open(packed).records(dtype="f8").ravel(), np.arange(24))
    other = path.with_name("four.dat.bz2")
    other.write_bytes(bz2.compress(path.read_bytes()))
    with pytest.raises(tf.FormatError, match="decompress formats other than gzip first"):
        fortran.open(other)
    before = packed.read_bytes()
    for act in (
        lambda: fortran.write(packed, [1.0], overwrite=True),
        lambda: fortran.append(packed, [1.0]),
        lambda: fortran.convert(path, packed, markers=4, overwrite=True),
    ):
        with pytest.raises(tf.UsageError, match="cannot write a compressed file"):
            act()
    assert packed.read_bytes() == before
    fortran.write(path.with_name("velocity.z"), [1.0])
