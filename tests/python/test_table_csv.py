"""CSV of tables: the compiled formatter against Python's csv module over Python's values."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tachyfits as tf
from tachyfits.writing.export import csv_rows

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", "?", "S5"]


def python_rows(columns: tf.Columns) -> str:
    """The specification: cell by cell, with Python's own numbers and csv module."""
    cells = [python_cells(values) for values in columns.values()]
    return "".join(map(python_row, zip(*cells, strict=True)))


def python_row(cells: Sequence[str]) -> str:
    # Before Python 3.13 only the default line end makes the module quote a carriage return.
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def python_cells(values: Any) -> list[str]:
    if isinstance(values, tf.Ragged):
        elements = python_elements(values.values, "nan")
        return [" ".join(elements[a:b]) for a, b in pairwise(values.offsets.tolist())]
    if values.ndim == 1:
        return python_elements(values, "")
    elements = python_elements(values.reshape(-1), "nan")
    width = int(np.prod(values.shape[1:]))
    return [" ".join(elements[width * n : width * (n + 1)]) for n in range(len(values))]


def python_elements(values: Any, undefined: str) -> list[str]:
    plain, missing = np.ma.getdata(values), np.ma.getmaskarray(values)
    if plain.dtype.kind == "f":
        missing = missing | np.isnan(plain)
    return [
        undefined if absent else python_text(value)
        for value, absent in zip(plain, missing, strict=True)
    ]


def python_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, np.bool_):
        return str(bool(value)).lower()
    # NumPy knows the digits of a float32; when it writes an exponent depends on its version.
    if value.dtype.kind == "c":
        return str(complex(float(str(value.real)), float(str(value.imag))))
    return repr(float(str(value))) if value.dtype.kind == "f" else str(value.item())


@st.composite
def columns(draw: st.DrawFn) -> tf.Columns:
    rows = draw(st.integers(0, 6))
    return tf.Columns({f"C{n}": draw(column(rows)) for n in range(draw(st.integers(1, 3)))})


@st.composite
def column(draw: st.DrawFn, rows: int) -> Any:
    dtype = np.dtype(draw(st.sampled_from(NUMBERS)))
    lengths = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    shape: Sequence[int] = draw(st.sampled_from([(rows,), (rows, 1), (rows, 2, 3), (rows, 0)]))
    ragged = draw(st.booleans())
    # NumPy takes NULs at the end for fill.
    text = st.binary(max_size=5).map(lambda cell: cell.rstrip(b"\0"))
    elements = text if dtype.kind == "S" else None
    values: Any = draw(hnp.arrays(dtype, sum(lengths) if ragged else shape, elements=elements))
    if draw(st.booleans()):
        values = np.ma.MaskedArray(values, draw(hnp.arrays(bool, values.shape)))
    return tf.Ragged(np.concatenate([[0], np.cumsum(lengths)]), values) if ragged else values


@given(columns())
def test_compiled_rows_are_those_of_the_csv_module(columns: tf.Columns) -> None:
    assert b"".join(csv_rows(columns)).decode() == python_rows(columns)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_have_the_digits_that_restore_them(dtype: str) -> None:
    unsigned = np.random.default_rng(3).integers(0, 2**32, 40_000, dtype="u4")
    values = unsigned.view(dtype)
    values = np.concatenate([values, 10.0 ** np.arange(-30, 30).astype(dtype)]).astype(dtype)
    columns = tf.Columns({"X": values})
    text = b"".join(csv_rows(columns, threads=3)).decode()
    assert text == python_rows(columns)
    finite = np.isfinite(values)
    np.testing.assert_array_equal(
        np.array(text.split("\n")[:-1])[finite].astype(dtype), values[finite]
    )


def test_a_table_is_streamed_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    numbers = np.arange(1000)
    tf.write("t.fits", {"N": numbers, "NAME": [f"star, {n}" for n in numbers]})
    monkeypatch.setattr("tachyfits.table.part.BATCH_ROWS", 64)
    tf.open("t.fits", threads=2)[1].write("t.csv", where="N != 5")
    rows = list(csv.reader(Path("t.csv").read_text().splitlines()))
    expected = [[str(n), f"star, {n}"] for n in numbers if n != 5]
    assert rows == [["N", "NAME"], *expected]


def test_formatter_refuses_columns_of_other_lengths() -> None:
    from tachyfits import _core

    eight = np.arange(8, dtype="u1")
    for name, undefined, cells in (
        ("float64", None, None),
        ("int32", None, 2),
        ("uint8", eight[:1], None),
        ("uint8", None, np.array([0, 9, 9, 9], "i8")),
        ("uint8", None, np.array([3, 1, 2, 2], "i8")),
        ("uint8", None, np.array([-1, 1, 2, 2], "i8")),
        ("S", None, None),
        ("float128", None, None),
    ):
        with pytest.raises(ValueError, match="does not fit"):
            _core.csv_rows([(name, eight, undefined, cells)], 3, threads=1)
