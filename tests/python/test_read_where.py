"""Rows by condition: reading them in one scan gives what finding and then reading them gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf

pytestmark = pytest.mark.once

CONDITIONS = [
    "N > 3",
    "N > 1000",
    "ROW > 0",
    "ROW % 7 == 2",
    "isnull(N) || X < 0",
    "S == 'b' && !L",
    "V[2] > 0.5",
    "1 > 2",
]


def _table(path: Path, rows: int, seed: int, padding: int = 0) -> None:
    rng = np.random.default_rng(seed)
    integers = np.ma.MaskedArray(rng.integers(-9, 9, rows, np.int16), mask=rng.random(rows) < 0.1)
    floats = rng.normal(size=rows).astype(np.float32)
    floats[rng.random(rows) < 0.1] = np.nan
    columns: dict[str, Any] = {
        "N": integers,
        "X": floats,
        "S": np.array(["a", "b", "", "long text"])[rng.integers(0, 4, rows)],
        "L": rng.random(rows) < 0.5,
        "V": rng.random((rows, 3)),
        "U": rng.integers(0, 2**63, rows).astype(np.uint64),
        "C": rng.random(rows).astype(np.complex64),
        "A": [np.arange(count, dtype=np.int32) for count in rng.integers(0, 4, rows)],
    }
    if padding:
        columns["PAD"] = np.zeros((rows, padding), np.uint8)
        columns["LAST"] = np.arange(rows)
    tf.write(path, columns, overwrite=True)


def _same(one: tf.Columns, other: tf.Columns) -> None:
    assert list(one) == list(other)
    for name in one:
        a, b = one[name], other[name]
        if isinstance(a, tf.Ragged):
            assert isinstance(b, tf.Ragged)
            np.testing.assert_array_equal(a.offsets, b.offsets)
            np.testing.assert_array_equal(a.values, b.values)
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b))
        np.testing.assert_array_equal(np.ma.filled(a, 0), np.ma.filled(b, 0))


@settings(max_examples=25)
@given(
    rows=st.integers(0, 3000),
    seed=st.integers(0, 2**32 - 1),
    condition=st.sampled_from(CONDITIONS),
    raw=st.booleans(),
    padding=st.sampled_from([0, 0, 40_000]),
    data=st.data(),
)
def test_reading_by_a_condition_gives_the_rows_that_it_finds(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    seed: int,
    condition: str,
    raw: bool,
    padding: int,
    data: st.DataObject,
) -> None:
    rows = min(rows, 50) if padding else rows
    path = tmp_path_factory.mktemp("where") / "table.fits"
    _table(path, rows, seed, padding)
    with tf.open(path) as file:
        table = file[1]
        names = data.draw(
            st.lists(
                st.sampled_from([column.key for column in table.columns]), min_size=1, unique=True
            )
        )
        first = data.draw(st.integers(0, rows))
        span = slice(first, data.draw(st.integers(first, rows)))
        found = table.where(condition, rows=span)
        for threads in (1, 3):
            read = table.read(names, rows=span, where=condition, raw=raw, threads=threads)
            _same(read, table.read(names, rows=found, raw=raw))


def test_reading_by_a_condition_reads_each_byte_once(tmp_path: Path) -> None:
    path = tmp_path / "table.fits"
    rng = np.random.default_rng(1)
    tf.write(path, {"N": rng.integers(0, 100, 200_000), "X": rng.random(200_000)})
    with tf.open(path) as file, tf.reports() as reports:
        read = file[1].read("X", where="N < 50")
    assert 90_000 < len(read["X"]) < 110_000
    assert sum(report.bytes for report in reports) <= 200_000 * 16


def test_invalid_field_of_a_row_that_is_not_found_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "table.fits"
    tf.write(path, {"N": [1, 2, 3], "X": [1.5, 2.5, 3.5]}, kind="ascii")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"2.5", b"bad", 1))
    with tf.open(path) as file:
        table = file[1]
        assert table.read("X", where="N != 2")["X"].tolist() == [1.5, 3.5]
        with pytest.raises(tf.FormatError, match=r"row 2 \(from 1\)"):
            table.read("X", where="N == 2")
