"""Selecting records: slices, steps, invalid numbers; and invalid items of a record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran


@pytest.fixture
def file(tmp_path: Path) -> fortran.File:
    """Give five records of two numbers each."""
    fortran.write(tmp_path / "five.dat", *np.arange(10.0).reshape(5, 2))
    return fortran.open(tmp_path / "five.dat")


@pytest.fixture
def cut(file: fortran.File, tmp_path: Path) -> fortran.File:
    """Give four records before damage."""
    (tmp_path / "cut.dat").write_bytes(Path(file.name).read_bytes()[:-3])
    return fortran.open(tmp_path / "cut.dat")


_ENDS = [None, -6, -5, -2, -1, 0, 1, 3, 4, 5, 6]


@pytest.mark.parametrize("step", [None, 1, 2, -1, -3])
def test_slices_are_those_of_a_list(file: fortran.File, step: int | None) -> None:
    for chosen in (slice(first, last, step) for first in _ENDS for last in _ENDS):
        assert [record.number for record in file[chosen]] == list(range(5))[chosen]


@pytest.mark.parametrize(
    "chosen", [slice(2), slice(0, 4), slice(1, 4, 2), slice(3, 0, -1), slice(3, None, -1)]
)
def test_slices_before_damage(cut: fortran.File, chosen: slice) -> None:
    assert [record.number for record in cut[chosen]] == list(range(4))[chosen]


@pytest.mark.parametrize(
    "chosen", [slice(None), slice(0, 5), slice(-2, None), slice(0, -1), slice(None, None, -1)]
)
def test_slices_into_damage_are_refused(cut: fortran.File, chosen: slice) -> None:
    with pytest.raises(tf.FormatError, match="record 5"):
        cut[chosen]


@pytest.mark.parametrize("step", [2, 3, 7, 5000])
@pytest.mark.parametrize("form", ["f8,i4,x4", "2f8", "u1", None])
def test_steps_within_a_run_are_slices(tmp_path: Path, step: int, form: str | None) -> None:
    with fortran.create(tmp_path / "a.dat", order="big") as new:
        new.write_records(np.random.default_rng(1).normal(size=(3000, 2)))
    file = fortran.open(tmp_path / "a.dat")
    every = file.records(dtype=form)
    seen: list[tuple[int, int]] = []
    found = file.records(dtype=form, step=step, progress=lambda *done: seen.append(done))
    assert_array_equal(found, every[::step])
    assert max(seen) == (found.nbytes, found.nbytes)
    count = 1 + 1000 // step
    assert_array_equal(file.records(1, count, form, step=step), every[1::step][:count])
    out = np.empty_like(found)
    assert file.records(dtype=form, step=step, out=out) is out
    assert_array_equal(out, found)


class Counted:
    """A layer between an array and the compiled module that counts the reads."""

    def __init__(self, core: Any) -> None:
        self.core, self.reads = core, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    def read(self, *arguments: Any, **options: Any) -> Any:
        self.reads += 1
        return self.core.read(*arguments, **options)


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("form", ["f8,i4,x4", "2f8", "2l8", None])
@pytest.mark.parametrize("is_regular", [True, False])
def test_records_that_alternate_are_read_in_one_go(
    tmp_path: Path, order: str, form: str | None, is_regular: bool
) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 3, (2000, 2)).astype("f8")
    with fortran.create(tmp_path / "a.dat", order=order) as new:
        for row in values:
            new.write(np.int32(7))
            new.write(row)
            new.write(np.zeros(3 if is_regular else rng.integers(0, 9), "i1"))
    file = fortran.open(tmp_path / "a.dat")
    counted = Counted(file._arrays._core)
    file._arrays._core = counted  # type: ignore[assignment]
    found = file.records(1, None, form, step=3)
    assert counted.reads == 1
    fortran.write(tmp_path / "b.dat", *values, order=order)
    assert_array_equal(found, fortran.open(tmp_path / "b.dat").records(dtype=form))
    assert_array_equal(file.records(4, 5, form, step=6), found[1:11:2])
    with pytest.raises(tf.UsageError, match=r"records 1 and 3 \(from 0\) have 16 and 4 bytes"):
        file.records(1, None, form, step=2)
    with pytest.raises(tf.UsageKeyError):
        file.records(1, 2001, form, step=3)


def test_steps_over_long_records(tmp_path: Path) -> None:
    values = np.arange(5 * 3000.0).reshape(5, 3000)
    fortran.write(tmp_path / "a.dat", *values)
    assert_array_equal(fortran.open(tmp_path / "a.dat").records(dtype="f8", step=2), values[::2])


@pytest.mark.parametrize(
    "act",
    [
        lambda file: file.records(2**64),
        lambda file: file.records(0, 2**64),
        lambda file: file.records(1, 2**64 - 1, step=2),
        lambda file: file.stats(first=2**64),
        lambda file: file.stats(first=2**64, count=1),
        lambda file: file[2**64],
        lambda file: file[-(2**70)],
    ],
)
def test_records_beyond_all_files_are_not_found(
    file: fortran.File, act: Callable[[fortran.File], Any]
) -> None:
    with pytest.raises(tf.UsageKeyError, match="the file has 5 records"):
        act(file)


def test_invalid_requests_are_named(file: fortran.File) -> None:
    for first, count, told in (
        (-1, None, "invalid first -1, count all"),
        (0, -2, "invalid first 0, count -2"),
    ):
        for act in (file.records, file.stats):
            with pytest.raises(tf.UsageError, match=f"five.dat: {told}: expected 0 or"):
                act(first=first, count=count)
    for form in ("a8", "l8", "i16"):
        with pytest.raises(tf.UsageError, match=f"five.dat: {form} has no statistics"):
            file.stats(form)


def test_batches_of_more_than_all_records(file: fortran.File) -> None:
    (batch,) = file.batches("f8", records=2**70)
    assert_array_equal(batch, np.arange(10.0).reshape(5, 2))


@pytest.mark.parametrize("out", [np.array(1.0), [1.0], np.empty((5, 2), "f4")])
@pytest.mark.parametrize("count", [0, 5])
def test_invalid_out_arrays_are_refused(file: fortran.File, out: Any, count: int) -> None:
    with pytest.raises(tf.UsageError, match=r"invalid out of type|out is a"):
        file.records(0, count, "f8", out=out)


@pytest.mark.parametrize("wrong", ["f8,(", "i4,,f8", ("i4", 2**70), {"names": ["a"]}])
def test_invalid_dtypes_are_refused(file: fortran.File, wrong: Any) -> None:
    with pytest.raises(tf.UsageError, match="expected a dtype or a form"):
        file[0].read(wrong)


def test_views_of_memory_are_written_as_they_are_seen(tmp_path: Path) -> None:
    fortran.write(tmp_path / "a.dat", memoryview(b"abcdef")[::2])
    assert bytes(fortran.open(tmp_path / "a.dat")[0]) == b"ace"
    numbers = np.arange(6, dtype="i4").reshape(2, 3)
    views = memoryview(numbers), memoryview(numbers[0])[::2], memoryview(b"a\0").cast("c")
    fortran.write(tmp_path / "b.dat", *views, order="big")
    file = fortran.open(tmp_path / "b.dat", 4, "big")
    assert_array_equal(file[0].read("i4", shape=(2, 3)), numbers)
    assert_array_equal(file[1].read("i4"), [0, 2])
    assert bytes(file[2]) == b"a\0"


@pytest.mark.parametrize(
    "wrong", [None, {"a": 1}, 2**64, (x for x in "ab"), np.array([1, "a"], "O")]
)
def test_invalid_items_of_a_record_are_named(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(tf.UsageError) as refused:
        fortran.write(tmp_path / "a.dat", wrong)
    problem, hint = str(refused.value).splitlines()
    assert problem == f"invalid item {wrong!r:.60}: expected numbers or text"
    assert hint.startswith("hint: write integers of up to 8 bytes")


def test_masks_of_fields_are_seen(tmp_path: Path) -> None:
    items = np.ma.masked_array(np.zeros((3, 4), "i4,f8"), mask=False)
    fortran.write(tmp_path / "a.dat", items)
    assert fortran.open(tmp_path / "a.dat")[0].nbytes == 12 * 12
    items.mask[1, 2] = (False, True)
    for masked in (items, items.T, items[1:, ::2]):
        with pytest.raises(tf.UsageError, match="an array with masked elements"):
            fortran.write(tmp_path / "b.dat", masked)


@pytest.mark.skipif(not hasattr(getattr(np, "dtypes", None), "StringDType"), reason="since NumPy 2")
def test_text_without_a_fixed_width_is_refused(tmp_path: Path) -> None:
    text = np.array(["a", "bc"], np.dtypes.StringDType())
    with pytest.raises(tf.UsageError, match=r"astype\('U8'\)"):
        fortran.write(tmp_path / "a.dat", text)
    fortran.write(tmp_path / "a.dat", text.astype("U3"))
    assert bytes(fortran.open(tmp_path / "a.dat")[0]) == b"a  bc "
