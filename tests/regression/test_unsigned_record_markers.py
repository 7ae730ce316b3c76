"""Records of 2 to 4 GiB whose markers have no sign, as C programs and SciPy write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import fortran

#: Just over 2^31 bytes, and about the most that a marker of 4 bytes says.
SIZES = [2**31 - 8, 2**31, 2_400_000_000, 2**32 - 1]


def sparse(path: Path, sizes: list[int], order: str, trailing: int | None = None) -> None:
    """Write records of zeros between short ones; the file has holes."""
    kind = "<u4" if order == "little" else ">u4"
    with path.open("wb") as stream:
        for size in (8, *sizes, 8):
            stream.write(np.array(size, kind).tobytes())
            if size == 8:
                stream.write(b"12345678")
            else:
                stream.seek(size, 1)
            stream.write(np.array(size if size == 8 else trailing or size, kind).tobytes())


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("size", SIZES)
def test_markers_without_a_sign_are_one_record(tmp_path: Path, order: str, size: int) -> None:
    path = tmp_path / "run.dat"
    sparse(path, [size], order)
    for options in ({}, {"markers": 4, "order": order}):
        with fortran.open(path, **options) as file:
            assert (file.markers, file.order) == (4, order)
            assert [len(file), file[1].nbytes, file[2].nbytes] == [3, size, 8]
            assert bytes(file[0]) == bytes(file[2]) == b"12345678"
            assert file.damage is None
    if size == SIZES[1]:
        # The bytes are not read into memory: a file of direct access has them once.
        path.unlink()


def test_several_long_records_in_a_row(tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    sparse(path, [2_400_000_000, 2_400_000_000, 3_000_000_000], "little")
    with fortran.open(path) as file:
        assert [record.nbytes for record in file] == [
            8, 2_400_000_000, 2_400_000_000, 3_000_000_000, 8,
        ]  # fmt: skip


def test_markers_that_disagree_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    sparse(path, [2_400_000_000], "little", trailing=2_400_000_001)
    with fortran.open(path, markers=4, order="little") as file:
        with pytest.raises(tf.FormatError):
            len(file)
        assert file.whole_records == 1


def test_signed_subrecords_are_still_those_of_compilers(tmp_path: Path) -> None:
    # A record of two subrecords, of 10 and 5 bytes.
    mark = lambda number: np.array(number, "<i4").tobytes()  # noqa: E731
    path = tmp_path / "run.dat"
    path.write_bytes(mark(-10) + b"x" * 10 + mark(10) + mark(5) + b"y" * 5 + mark(-5))
    with fortran.open(path) as file:
        assert bytes(file[0]) == b"x" * 10 + b"y" * 5
