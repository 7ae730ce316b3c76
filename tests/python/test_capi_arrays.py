"""Arrays of the C interface: DLPack for NumPy, Arrow for pyarrow, counts of undefined pixels."""

from __future__ import annotations

import ctypes as ct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from astropy.io import fits

import tachyfits as tf
from capiprograms import library

pytestmark = pytest.mark.once

#: Numbers of types in the interface.
TYPES = {
    "uint8": 1, "int8": 2, "uint16": 3, "int16": 4, "uint32": 5, "int32": 6, "uint64": 7,
    "int64": 8, "float32": 9, "float64": 10,
}  # fmt: skip
STORED = 16


class Error(ct.Structure):
    _fields_ = [
        ("kind", ct.c_int32), ("code", ct.c_char * 44), ("message", ct.c_char * 720),
        ("hint", ct.c_char * 256),
    ]  # fmt: skip


class Nulls(ct.Structure):
    _fields_ = [
        ("bytes", ct.c_uint32), ("policy", ct.c_int32), ("flags", ct.c_void_p),
        ("room", ct.c_size_t), ("count", ct.c_uint64),
    ]  # fmt: skip


class Options(ct.Structure):
    _fields_ = [
        ("bytes", ct.c_uint32), ("threads", ct.c_uint32), ("storage", ct.c_int32),
        ("flags", ct.c_uint32), ("job", ct.c_void_p), ("nulls", ct.POINTER(Nulls)),
        ("encoding", ct.c_void_p),
    ]  # fmt: skip


class Range(ct.Structure):
    _fields_ = [("first", ct.c_uint64), ("count", ct.c_uint64), ("step", ct.c_int64)]


class Stream(ct.Structure):
    _fields_ = [("functions", ct.c_void_p * 4), ("private_data", ct.c_void_p)]


class Tensor:
    """A tensor as NumPy takes it from other libraries."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: object) -> object:
        new = ct.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ct.py_object, [ct.c_void_p, ct.c_char_p, ct.c_void_p]
        capsule: object = new(self._pointer, NAME, None)
        return capsule


#: The capsule refers to it.
NAME = b"dltensor_versioned"


class File:
    """An open file of the C interface."""

    def __init__(self, path: Path) -> None:
        self._c = ct.CDLL(str(library() / "libtachyfits_c.so"))
        self._error = Error()
        self._handle = ct.c_void_p()
        handle = ct.byref(self._handle)
        self.check(self._c.tachyfits_open(str(path).encode(), None, handle, self.error))

    @property
    def error(self) -> Any:
        return ct.byref(self._error)

    def check(self, outcome: int) -> None:
        assert outcome == 0, self._error.message.decode()

    def close(self) -> None:
        self._c.tachyfits_close(self._handle)

    def tensor(
        self, hdu: int, kind: str, ranges: Any = None, options: Options | None = None
    ) -> np.ndarray:
        pointer = ct.c_void_p()
        how = ct.byref(options) if options else None
        self.check(
            self._c.tachyfits_read_dlpack(
                self._handle, ct.c_size_t(hdu), ranges, TYPES[kind], ct.byref(pointer), how,
                self.error,
            )
        )  # fmt: skip
        assert pointer.value is not None
        return np.from_dlpack(Tensor(pointer.value))

    def undefined(self, hdu: int, kind: str, pixels: int, flags: int = 0) -> tuple[int, list[int]]:
        """Return the number of undefined pixels, and which they are."""
        marks = np.full(pixels, 9, np.uint8)
        nulls = Nulls(ct.sizeof(Nulls), 0, marks.ctypes.data, marks.size, 99)
        options = Options(ct.sizeof(Options), 2, 0, flags, None, ct.pointer(nulls), None)
        self.tensor(hdu, kind, None, options)
        assert set(marks) <= {0, 1}
        return nulls.count, np.flatnonzero(marks).tolist()

    def arrow(
        self, hdu: int, columns: list[int] | None = None, where: str | None = None, first: int = 0,
        rows: int = 2**64 - 1, batch_rows: int = 0,
    ) -> pa.RecordBatchReader:  # fmt: skip
        stream = Stream()
        numbers = (ct.c_int32 * len(columns))(*columns) if columns is not None else None
        condition = where.encode() if where else None
        self.check(
            self._c.tachyfits_export_arrow(
                self._handle, ct.c_size_t(hdu), numbers, ct.c_size_t(len(columns or [])),
                condition, ct.c_uint64(first), ct.c_uint64(rows), ct.c_uint64(batch_rows),
                ct.byref(stream), None, self.error,
            )
        )  # fmt: skip
        return pa.RecordBatchReader._import_from_c(ct.addressof(stream))


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an image of each type; integers have BLANK, floats NaN."""
    path = tmp_path_factory.mktemp("images") / "images.fits"
    rng = np.random.default_rng(1)
    hdus: list[Any] = [fits.PrimaryHDU()]
    for kind in TYPES:
        values = rng.integers(0, 100, (4, 5, 6)).astype(kind)
        image = fits.ImageHDU(values, name=kind)
        hdus.append(image)
    path_of_hdus = fits.HDUList(hdus)
    for hdu in hdus[9:11]:
        hdu.data[1, 2, 3] = np.nan
        hdu.data[3, 4, 5] = np.inf
    path_of_hdus.writeto(path)
    return path


@pytest.mark.parametrize("kind", TYPES)
def test_tensor_has_the_pixels_of_an_image(images: Path, kind: str) -> None:
    file = File(images)
    with fits.open(images) as hdus:
        expected = hdus[kind].data
        number = hdus.index_of(kind)
        np.testing.assert_array_equal(file.tensor(number, kind), expected)
        physical = file.tensor(number, "float64")
        np.testing.assert_array_equal(physical, expected.astype("f8"))
        ranges = (Range * 3)(Range(1, 3, 2), Range(4, 2, -1), Range(2, 1, 1))
        part = file.tensor(number, kind, ranges)
        np.testing.assert_array_equal(part, expected[2:3, 4:2:-1, 1:6:2])
        assert part.dtype == kind
    file.close()
    # The memory does not depend on the file.
    assert physical.sum() == np.sum(expected.astype("f8")) or np.isnan(physical.sum())


def test_tensor_of_another_type_is_an_error(images: Path) -> None:
    file = File(images)
    with pytest.raises(AssertionError, match="invalid type"):
        file.tensor(9, "int16")
    file.close()


@pytest.mark.parametrize(
    ("kind", "offset"),
    [("int16", 0), ("uint16", 2**15), ("int8", -(2**7)), ("uint8", 0), ("uint32", 2**31),
     ("int32", 0), ("uint64", 2**63), ("int64", 0)],
)  # fmt: skip
def test_blank_pixels_are_counted_and_marked(tmp_path: Path, kind: str, offset: int) -> None:
    """BLANK is a stored number: the unsigned conventions add to it."""
    path = tmp_path / "blank.fits"
    values = (np.arange(12, dtype=object) + 100 + max(offset, 0)).astype(kind)
    header = fits.Header({"BLANK": 103 + max(offset, 0) - offset})
    fits.PrimaryHDU(values, header).writeto(path)
    with fits.open(path, mode="update", do_not_scale_image_data=True) as hdus:
        hdus[0].header["BLANK"] = 103 + max(offset, 0) - offset
    file = File(path)
    assert file.undefined(0, kind, 12) == (1, [3])
    assert file.undefined(0, "float64", 12) == (1, [3])
    stored = {"int8": "uint8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}
    assert file.undefined(0, stored.get(kind, kind), 12, STORED) == (1, [3])
    file.close()


def test_nan_pixels_are_counted_and_infinities_are_not(images: Path) -> None:
    file = File(images)
    for hdu, kind in ((9, "float32"), (10, "float64"), (9, "float64")):
        assert file.undefined(hdu, kind, 120) == (1, [1 * 30 + 2 * 6 + 3])
    assert file.undefined(4, "int16", 120) == (0, [])
    file.close()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table with columns of every kind."""
    path = tmp_path_factory.mktemp("table") / "table.fits"
    rng = np.random.default_rng(2)
    rows = 50

    def column(form: str, values: Any, name: str, **cards: Any) -> fits.Column:
        return fits.Column(name, form, array=values, **cards)

    lists = np.empty(rows, object)
    texts = np.empty(rows, object)
    waves = np.empty(rows, object)
    for row in range(rows):
        lists[row] = rng.normal(size=row % 4)
        texts[row] = "x" * (row % 3) + str(row)
        waves[row] = rng.normal(size=row % 2 * 2).astype("c8")
    columns = [
        column("L", rng.random(rows) > 0.5, "GOOD"),
        column("B", rng.integers(0, 255, rows), "BYTE", null=7),
        column("I", np.arange(rows), "SHORT", null=3, unit="adu"),
        column("J", rng.integers(-9, 9, rows), "INT", bzero=2**31),
        column("K", rng.integers(-9, 9, rows), "LONG"),
        column("E", rng.normal(size=rows), "FLOAT", unit="keV"),
        column("D", rng.normal(size=rows), "DOUBLE", disp="F8.3"),
        column("I", rng.integers(0, 9, rows), "SCALED"),
        column("8A", [f"na me{row}" for row in range(rows)], "NAME"),
        column("3E", rng.normal(size=(rows, 3)), "VECTOR"),
        column("6I", rng.integers(0, 9, (rows, 2, 3)), "MATRIX", dim="(3,2)"),
        column("C", rng.normal(size=rows) + 1j, "COMPLEX"),
        column("2M", rng.normal(size=(rows, 2)) + 1j, "COMPLEXES"),
        column("12X", rng.random((rows, 12)) > 0.5, "BITS"),
        column("8A", np.array([["ab", "cd"]] * rows), "WORDS", dim="(4,2)"),
        column("PD()", lists, "LIST"),
        column("PA()", texts, "TEXT"),
        column("QC()", waves, "WAVES"),
        column("0E", None, "EMPTY"),
    ]
    fits.BinTableHDU.from_columns(columns).writeto(path)
    cards = {"TCOMM6": "energy of the photon", "TSCAL8": 0.5, "TZERO8": 10.0}
    for keyword, value in cards.items():
        fits.setval(path, keyword, value=value, ext=1)
    # Text in Latin-1.
    path.write_bytes(path.read_bytes().replace(b"na me7", b"na m\xfc7"))
    return path


def test_stream_has_the_table_that_python_gives(table: Path) -> None:
    file = File(table)
    mine = file.arrow(1).read_all()
    expected = tf.open(table)[1].to_arrow()
    file.close()
    assert mine.column_names == expected.column_names
    for name in expected.column_names:
        assert mine[name].to_pylist() == expected[name].to_pylist(), name
        assert mine.schema.field(name).type == expected.schema.field(name).type, name
        assert mine.schema.field(name).metadata == expected.schema.field(name).metadata, name
    mine.validate(full=True)


def test_stream_gives_rows_columns_and_condition(table: Path) -> None:
    file = File(table)
    expected = tf.open(table)[1].to_arrow(["LIST", "SHORT"], where="FLOAT > 0")
    reader = file.arrow(1, [15, 2], "FLOAT > 0", batch_rows=7)
    batches = list(reader)
    assert 1 < len(batches) <= 8
    mine = pa.Table.from_batches(batches)
    assert mine.to_pydict() == expected.to_pydict()
    part = file.arrow(1, [2], first=45, rows=100, batch_rows=2).read_all()
    assert part["SHORT"].to_pylist() == list(range(45, 50))
    assert file.arrow(1, [2], first=1, rows=5).read_all()["SHORT"].to_pylist() == [1, 2, None, 4, 5]
    assert file.arrow(1, [2], "SHORT > 1000").read_all().num_rows == 0
    assert file.arrow(1, [2], first=99).read_all().num_rows == 0
    file.close()


def test_stream_outlives_its_file_and_may_be_left_unread(table: Path) -> None:
    file = File(table)
    reader, unread = file.arrow(1, batch_rows=10), file.arrow(1)
    file.close()
    assert reader.read_all().num_rows == 50
    del unread


def test_stream_reports_an_error_of_a_batch(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.fits"
    path.write_bytes(table.read_bytes())
    file = File(path)
    reader = file.arrow(1, [5], batch_rows=10)
    with path.open("r+b") as content:
        content.truncate(path.stat().st_size - 5000)
    with pytest.raises((pa.ArrowException, OSError), match=str(path)):
        reader.read_all()
    file.close()


@pytest.mark.parametrize(
    ("columns", "where", "message"),
    [([99], None, "found 99"), ([-1], None, "column"), (None, "NOTHERE > 3", "NOTHERE")],
)
def test_invalid_request_of_a_stream_is_an_error(
    table: Path, columns: list[int] | None, where: str | None, message: str
) -> None:
    file = File(table)
    with pytest.raises(AssertionError, match=message):
        file.arrow(1, columns, where)
    file.close()


def test_ascii_table_has_nulls(tmp_path: Path) -> None:
    path = tmp_path / "ascii.fits"
    columns = [
        fits.Column("N", "I4", array=np.array([1, 2, 3]), null="   2", ascii=True),
        fits.Column("NAME", "A5", array=np.array(["a", "b c", ""]), ascii=True),
    ]
    fits.TableHDU.from_columns(columns).writeto(path)
    file = File(path)
    mine = file.arrow(1).read_all()
    file.close()
    assert mine.to_pydict() == tf.open(path)[1].to_arrow().to_pydict()
    assert mine["N"].null_count == 1
