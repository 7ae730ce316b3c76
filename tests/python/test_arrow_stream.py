"""Streams of Arrow batches that the engine makes, beside those that Python makes of its arrays."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from realfiles import files_under, traps

pytestmark = pytest.mark.once

#: (TFORMn, TDIMn, TNULLn, TZEROn, TSCALn): every kind of cell.
FORMS = {
    "L": None, "X": None, "11X": None, "B": None, "I": None, "J": None, "K": None, "E": None,
    "D": None, "C": None, "2M": None, "8A": None, "12A": "(4,3)", "3E": None, "6J": "(3,2)",
    "0D": None, "0A": None, "PE(4)": None, "QJ(6)": "(3,2)", "PL(3)": None, "PC(2)": None,
    "PA(9)": None, "PA(12)": "(4,3)",
}  # fmt: skip


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of random bytes in cells of every form, arrays of the heap valid."""
    path = tmp_path_factory.mktemp("arrow") / "mixed.fits"
    rng = np.random.default_rng(7)
    rows, heap = 403, rng.integers(32, 127, 4096).astype("u1").tobytes()
    columns, widths = [], []
    for number, (form, dimensions) in enumerate(FORMS.items(), 1):
        header = {f"TTYPE{number}": f"C{number}", f"TFORM{number}": form}
        if dimensions:
            header[f"TDIM{number}"] = dimensions
        if form in ("B", "I", "J", "K"):
            header[f"TNULL{number}"] = 65
        if form == "I":
            header[f"TZERO{number}"] = 32768
        if form == "J":
            header[f"TSCAL{number}"] = 0.5
        columns.append(header)
        letter = form.strip("0123456789(),")[:1]
        count = int(form[: form.index(letter)] or 1) if letter not in "PQ" else 1
        bits = {"X": 1, "L": 8, "A": 8, "B": 8, "I": 16, "J": 32, "K": 64, "E": 32, "D": 64,
                "C": 64, "M": 128, "P": 64, "Q": 128}[letter]  # fmt: skip
        widths.append((letter, (count * bits + 7) // 8))
    cells = []
    for letter, width in widths:
        column = rng.integers(60, 70, (rows, width)).astype("u1")
        if letter == "L":
            column = rng.choice([84, 70, 0], (rows, width)).astype("u1")
        elif letter in "PQ":
            kind = ">i4" if letter == "P" else ">i8"
            lengths = rng.integers(0, 2, rows) * (6 if letter == "Q" else 3)
            pairs = np.stack([lengths, rng.integers(0, 256, rows) * 8], axis=1).astype(kind)
            column = pairs.view("u1").reshape(rows, width)
        cells.append(column)
    body = np.concatenate(cells, axis=1).tobytes() + heap
    header = fits.Header()
    header["XTENSION"], header["BITPIX"], header["NAXIS"] = "BINTABLE", 8, 2
    header["NAXIS1"], header["NAXIS2"] = sum(width for _, width in widths), rows
    header["PCOUNT"], header["GCOUNT"], header["TFIELDS"] = len(heap), 1, len(columns)
    for cards in columns:
        header.update(cards)
    primary = fits.Header([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0)])
    padding = b"\0" * (-len(body) % 2880)
    path.write_bytes(primary.tostring().encode() + header.tostring().encode() + body + padding)
    return path


def same(left: pa.Table, right: pa.Table) -> None:
    """Compare tables: types, metadata, and values, where NaN is NaN."""
    assert left.schema.equals(right.schema, check_metadata=True)
    for name in left.column_names:
        assert repr(left[name].to_pylist()) == repr(right[name].to_pylist()), name


def by_python(table: tf.Table, **options: object) -> pa.Table:
    return table.arrow_stream(**options)._batches().read_all()


def test_every_kind_of_cell_is_as_python_makes_it(mixed: Path) -> None:
    table = tf.open(mixed).table(1)
    same(table.arrow_stream(rows=100).reader().read_all(), by_python(table))


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_columns_rows_and_condition_are_as_python_makes_them(
    mixed: Path, data: st.DataObject
) -> None:
    table = tf.open(mixed).table(1)
    names = data.draw(st.lists(st.sampled_from(table.names), unique=True, max_size=5))
    first, last = sorted(data.draw(st.tuples(st.integers(0, 403), st.integers(0, 403))))
    where = data.draw(st.sampled_from([None, "C4 > 64", "C5 == C5", "C4 > 300", "C12 > 'A'"]))
    options = {"columns": names, "within": slice(first, last), "where": where}
    rows = data.draw(st.integers(1, 500))
    got = table.arrow_stream(**options, rows=rows, threads=data.draw(st.integers(1, 3)))
    same(got.reader().read_all(), by_python(table, **options))


def test_real_tables_are_as_python_makes_them() -> None:
    tables = 0
    for path in [*traps(), *files_under("data")]:
        try:
            found = [hdu for hdu in tf.open(path) if isinstance(hdu, tf.Table)]
        except tf.TachyfitsError:
            continue
        for table in found:
            try:
                expected = by_python(table)
            except tf.TachyfitsError as error:
                problem = re.escape(str(error).partition("\nhint: ")[0])
                with pytest.raises((pa.ArrowException, OSError, tf.TachyfitsError), match=problem):
                    table.arrow_stream(rows=997).reader().read_all()
                continue
            same(table.arrow_stream(rows=997).reader().read_all(), expected)
            tables += 1
    assert tables > 5


def test_a_stream_is_taken_any_number_of_times(mixed: Path) -> None:
    table = tf.open(mixed).table(1)
    stream = table.arrow_stream(["C4", "C12"], where="C4 > 64")
    frames = [pl.DataFrame(stream), pl.DataFrame(stream)]
    assert frames[0].equals(frames[1])
    assert len(frames[0]) == len(table.where("C4 > 64"))
    # A capsule without a consumer is released with it.
    assert "arrow_array_stream" in repr(stream.__arrow_c_stream__())


def test_frames_need_no_pyarrow(mixed: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "import polars, tachyfits as tf\n"
        f"table = tf.open({str(mixed)!r}).table(1)\n"
        "print(len(polars.DataFrame(table)))\n"
        "print(table.scan_polars().filter(polars.col('C5') > 0).select('C5').collect().shape[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["403", "1"], done.stderr


def test_what_is_odd_is_warned_of_after_the_last_batch(tmp_path: Path) -> None:
    path = tmp_path / "odd.fits"
    names = fits.Column("NAME", "4A", array=np.array([b"caf\xe9", b"abc"]))
    flags = fits.Column("FLAG", "L", array=[True, False])
    fits.BinTableHDU.from_columns([names, flags]).writeto(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"caf\xe9") + 4] = ord("x")
    path.write_bytes(content)
    reader = tf.open(path).table(1).arrow_stream(rows=1).reader()
    with pytest.warns(tf.TachyfitsWarning) as caught:
        texts = [batch.to_pydict() for batch in reader]
    assert [each["NAME"][0] for each in texts] == ["café", "abc"]
    assert texts[0]["FLAG"] == [None]
    said = [str(warning.message) for warning in caught]
    assert any("Latin-1" in text for text in said)
    assert any("1 logical values are neither T, F nor 0" in text for text in said)


def test_faults_of_a_request_and_of_a_file_are_told(mixed: Path, tmp_path: Path) -> None:
    table = tf.open(mixed).table(1)
    with pytest.raises(tf.UsageError, match="no column"):
        table.arrow_stream(["NOTHING"])
    with pytest.raises(tf.UsageError, match="C99"):
        table.arrow_stream(where="C99 > 1").reader()
    cut = tmp_path / "cut.fits"
    cut.write_bytes(mixed.read_bytes()[:9000])
    with pytest.raises(tf.TachyfitsError, match="rows"):
        tf.open(cut).table(1).arrow_stream().reader()


def test_duckdb_queries_tables_by_name_any_number_of_times(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    columns = {
        "id": np.arange(3000),
        "flux": rng.normal(size=3000).astype("f4"),
        "name": rng.choice(["NGC 1", "M 31", ""], 3000),
    }
    tf.write(tmp_path / "table.fits", columns)
    catalogue = tf.open(tmp_path / "table.fits")[1]
    bright = columns["flux"] > 0.5
    query = "SELECT count(*), sum(id), min(flux) FROM catalogue WHERE flux > 0.5 AND name = 'M 31'"
    rows = bright & (columns["name"] == "M 31")
    for _ in range(2):
        assert duckdb.sql(query).fetchall() == [
            (rows.sum(), columns["id"][rows].sum(), columns["flux"][rows].min())
        ]
    # A condition of the engine, before DuckDB has the rows.
    part = catalogue.arrow_stream(["id", "flux"], where="flux > 0.5")
    numbers = duckdb.sql("SELECT id FROM part ORDER BY flux").fetchnumpy()["id"]
    np.testing.assert_array_equal(
        numbers, columns["id"][bright][np.argsort(columns["flux"][bright])]
    )
    assert catalogue is not None
    assert part is not None
