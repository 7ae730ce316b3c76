"""Writing tables: what is written is what is read, by us, by astropy and by CFITSIO."""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tachyfits as tf
from tablebytes import Made, big, binary_table, tables
from tachyfits.base.kinds import kind_of
from tachyfits.writing.options import Options
from tachyfits.writing.sinks import temporary_file
from tachyfits.writing.sources import sources_of

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]

names = st.lists(
    st.text("ABCxyz_019", min_size=1, max_size=8), min_size=1, max_size=6, unique_by=str.upper
)


@st.composite
def columns(draw: st.DrawFn, rows: int) -> Any:
    """Values of one column: any type that FITS has, cells of any shape, some undefined."""
    way = draw(st.sampled_from(["number", "number", "truth", "text", "ragged"]))
    if way == "ragged":
        kind = draw(st.sampled_from(NUMBERS))
        lengths = draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))
        return tf.Ragged.from_cells([draw(hnp.arrays(kind, n)) for n in lengths], kind)
    shape = (rows, *draw(st.sampled_from([(), (), (1,), (3,), (2, 3), (2, 1)])))
    if way == "text":
        characters = st.text("aZ ~0", max_size=5)
        values = draw(hnp.arrays(np.dtype("U5"), shape, elements=characters))
        # Blanks at the end mean nothing.
        return np.char.rstrip(values) if values.size else values
    kind = "?" if way == "truth" else draw(st.sampled_from(NUMBERS))
    values = draw(hnp.arrays(kind, shape))
    if values.dtype.kind in "iub" and draw(st.booleans()):
        return np.ma.MaskedArray(values, mask=draw(hnp.arrays(np.bool_, shape)))
    return values


@st.composite
def made_tables(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(st.integers(0, 6))
    return {name: draw(columns(rows)) for name in draw(names)}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def same(found: Any, expected: Any) -> None:
    """Type, shape, masks and the bits of what is defined."""
    if isinstance(expected, tf.Ragged):
        assert isinstance(found, tf.Ragged)
        np.testing.assert_array_equal(found.lengths, expected.lengths)
        found, expected = found.compact().values, expected.compact().values
    mask = np.ma.getmaskarray(expected)
    np.testing.assert_array_equal(np.ma.getmaskarray(found), mask)
    if expected.dtype.kind == "U":
        assert found.tolist() == expected.tolist()
        return
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    a, b = np.ma.getdata(found)[~mask], np.ma.getdata(expected)[~mask]
    assert a.tobytes() == b.tobytes()


@settings(max_examples=80)
@given(made_tables(), st.booleans(), st.sampled_from([1, 3]))
def test_written_tables_read_the_same(
    folder: Path, data: dict[str, Any], checksum: bool, threads: int
) -> None:
    path = folder / "written.fits"
    tf.write(path, data, overwrite=True, checksum=checksum, threads=threads)
    with tf.open(path) as file:
        assert not file.warnings
        table = file[1]
        assert table.names == tuple(data)
        found = table.read()
        for name, expected in data.items():
            same(found[name], expected)


def theirs(values: Any) -> Any:
    """Return astropy's values of a column."""
    return values if isinstance(values, tf.Ragged) else np.ma.getdata(values)


@settings(max_examples=60)
@given(made_tables())
def test_astropy_reads_the_same(folder: Path, data: dict[str, Any]) -> None:
    path = folder / "astropy.fits"
    tf.write(path, data, overwrite=True, checksum=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fits.verify.VerifyWarning)
        with fits.open(path, checksum=True) as hdus:
            hdus.verify("exception")
            assert hdus[1].columns.names == list(data)
            for name, expected in data.items():
                found = hdus[1].data.field(name)
                if isinstance(expected, tf.Ragged):
                    if expected.dtype.kind in "u" and expected.dtype.itemsize > 1:
                        continue  # astropy gives the stored integers of unsigned arrays
                    if expected.dtype == np.int8:
                        continue  # the same
                    for cell, other in zip(found, expected, strict=True):
                        np.testing.assert_array_equal(np.asarray(cell), other)
                    continue
                defined = ~np.ma.getmaskarray(expected)
                values = np.asarray(found).reshape(expected.shape)
                np.testing.assert_array_equal(values[defined], np.ma.getdata(expected)[defined])


@settings(max_examples=40)
@given(made_tables())
def test_cfitsio_reads_the_same(folder: Path, data: dict[str, Any]) -> None:
    fitsio = pytest.importorskip("fitsio", reason="LEFT OUT: fitsio (CFITSIO) is not installed")
    path = folder / "cfitsio.fits"
    tf.write(path, data, overwrite=True)
    with fitsio.FITS(path) as file:
        rows = file[1].get_nrows()
        for name, expected in data.items():
            assert rows == len(expected)
            is_odd = isinstance(expected, tf.Ragged) or expected.dtype == np.int8
            if rows == 0 or is_odd or (expected.dtype.kind == "U" and not expected.dtype.itemsize):
                continue
            if expected.dtype.kind == "U" and max(map(len, expected.reshape(-1))) == 0:
                continue  # a column without characters, at which fitsio fails
            found = file[1].read_column(name)
            defined = ~np.ma.getmaskarray(expected)
            if expected.dtype.kind == "U":
                found = np.char.rstrip(np.asarray(found).astype("U"))
            values = np.asarray(found).reshape(expected.shape)
            if expected.dtype.kind == "b":
                # fitsio makes undefined truth values false.
                values = values.astype(bool)
            np.testing.assert_array_equal(values[defined], np.ma.getdata(expected)[defined])


@st.composite
def plain_tables(draw: st.DrawFn) -> dict[str, Any]:
    """Contents of an ASCII table: finite numbers and text."""
    rows = draw(st.integers(1, 6))
    kinds = ["i2", "i4", "i8", "f4", "f8", "U5"]
    data: dict[str, Any] = {}
    for name in draw(names):
        kind = np.dtype(draw(st.sampled_from(kinds)))
        elements = None
        if kind.kind == "f":
            elements = st.floats(allow_nan=False, allow_infinity=False, width=8 * kind.itemsize)
        elif kind.kind == "U":
            elements = st.text("aZ~0", max_size=5)
        data[name] = draw(hnp.arrays(kind, rows, elements=elements))
    return data


@settings(max_examples=60)
@given(plain_tables())
def test_ascii_tables_keep_every_digit(folder: Path, data: dict[str, Any]) -> None:
    path = folder / "ascii.fits"
    tf.write(path, data, kind="ascii", overwrite=True, checksum=True)
    with tf.open(path) as file:
        assert not file.warnings
        table = file[1]
        assert table.kind == "ascii table"
        for name, expected in data.items():
            found = table[name]
            if expected.dtype.kind == "U":
                assert found.tolist() == expected.tolist()
            else:
                np.testing.assert_array_equal(found.astype(expected.dtype), expected)
    with fits.open(path, checksum=True) as hdus:
        for name, expected in data.items():
            found = hdus[1].data.field(name)
            if expected.dtype.kind == "f":
                # To the last digit but one, the precision of astropy's own reading of text.
                digits = 1e-7 if expected.dtype.itemsize == 4 else 1e-15
                np.testing.assert_allclose(found.astype("f8"), expected.astype("f8"), rtol=digits)
            else:
                np.testing.assert_array_equal(found, expected)


@settings(max_examples=40)
@given(tables(), st.data())
def test_a_part_of_a_table_is_copied_as_stored(
    folder: Path, columns: list[Any], data: st.DataObject
) -> None:
    table = tf.open(binary_table(columns))[1]
    chosen = data.draw(st.lists(st.sampled_from(table.names), min_size=1, unique=True))
    rows = data.draw(st.slices(len(table)))
    path = folder / "part.fits"
    table.write(path, chosen, rows=rows, overwrite=True, batch_rows=2)
    copy = tf.open(path)[1]
    assert copy.names == tuple(chosen)
    stored, copied = table.read(chosen, rows=rows, raw=True), copy.read(raw=True)
    for name in chosen:
        a, b = table.column(name), copy.column(name)
        assert (a.unit, a.null, a.scale, a.zero) == (b.unit, b.null, b.scale, b.zero)
        if isinstance(stored[name], tf.Ragged):
            assert stored[name].lengths.tolist() == copied[name].lengths.tolist()
            assert big(stored[name].compact().values) == big(copied[name].values)
        else:
            assert big(stored[name]) == big(copied[name])


def test_cells_without_a_byte_are_copied(tmp_path: Path) -> None:
    numbers = np.array([1, 2], "i4")
    nothing = [Made(form, form, [b""] * 2, None) for form in ("0A", "0D", "0X", "0L")]
    whole = binary_table([Made("N", "1J", [big(number) for number in numbers], numbers), *nothing])
    table = tf.open(whole)[1]
    table.write(tmp_path / "copy.fits")
    tf.write(tmp_path / "hdus.fits", [table])
    for name in ("copy.fits", "hdus.fits"):
        copy = tf.open(tmp_path / name)[1]
        assert [column.form for column in copy.columns] == ["1J", "0A", "0D", "0X", "0L"]
        assert copy["N"].tolist() == [1, 2]
        assert copy["0A"].tolist() == ["", ""]


@pytest.fixture
def stars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tf.Table:
    monkeypatch.chdir(tmp_path)
    data = {
        "NAME": ["alpha", "beta, too", ""],
        "MAG": np.array([0.1, np.nan, -2.5], "f4"),
        "N": np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0]),
        "SEEN": [True, False, None],
        "POS": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "HITS": [[1, 2], [], [3]],
    }
    tf.write(
        "stars.fits", data, units={"MAG": "mag"}, descriptions={"N": "how many"}, name="STARS",
        header={"OBSERVER": ("Hubble", "observer"), "HISTORY": ["one", "two"]},
    )  # fmt: skip
    table = tf.open("stars.fits")["STARS"]
    assert isinstance(table, tf.Table)
    return table


def test_arguments_about_a_table_are_in_its_header(stars: tf.Table) -> None:
    assert stars.header["OBSERVER"] == "Hubble"
    assert stars.header.comments["OBSERVER"] == "observer"
    assert stars.header.history() == ["one", "two"]
    assert stars.column("MAG").unit == "mag"
    assert stars.column("N").description == "how many"
    assert stars.name == "STARS"


def test_csv(stars: tf.Table) -> None:
    stars.write("stars.csv")
    with open("stars.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ["NAME", "MAG", "N", "SEEN", "POS", "HITS"],
        ["alpha", "0.1", "1", "true", "1.0 2.0", "1 2"],
        ["beta, too", "", "", "false", "3.0 4.0", ""],
        ["", "-2.5", "3", "", "5.0 6.0", "3"],
    ]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_parquet_and_arrow_files(stars: tf.Table, suffix: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="LEFT OUT: pyarrow is not installed")
    feather = pytest.importorskip("pyarrow.feather")
    stars.write(f"stars.{suffix}", batch_rows=2)
    reader = parquet.read_table if suffix == "parquet" else feather.read_table
    found = reader(f"stars.{suffix}")
    assert found.num_rows == 3
    assert found["N"].to_pylist() == [1, None, 3]
    assert found["HITS"].to_pylist() == [[1, 2], [], [3]]
    assert found["POS"].to_pylist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert found.schema.field("MAG").metadata[b"unit"] == b"mag"
    tf.write("back.fits", found)
    back = tf.open("back.fits")[1]
    assert back.column("MAG").unit == "mag"
    assert back.column("N").description == "how many"
    for name, values in stars.read().items():
        same(back[name], values)


def test_a_library_that_is_missing_is_named(
    stars: tf.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(tf.UsageError, match=r"pip install 'tachyfits\[arrow\]'"):
        stars.write("stars.parquet")
    assert not Path("stars.parquet").exists()


def test_files_that_exist_are_kept_unless_overwritten(stars: tf.Table) -> None:
    for name in ("kept.fits", "kept.csv"):
        Path(name).write_bytes(b"old")
        with pytest.raises(tf.IoError):
            stars.write(name)
        assert Path(name).read_bytes() == b"old"
        stars.write(name, overwrite=True)
        assert Path(name).read_bytes() != b"old"


def test_a_failure_leaves_nothing_behind(stars: tf.Table, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(tf.UsageError):
        tf.write("new.fits", {"A": ["caf\xe9"]})
    with pytest.raises(tf.TachyfitsError):
        tf.write("new.fits", {"A": [1]}, units={"A": "\xb5m"})
    with pytest.raises(tf.UsageError, match="unknown format"):
        stars.write("stars.doc")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "options",
    [
        {"units": {"X": "m"}}, {"nulls": {"X": 1}}, {"columns": ["X"]}, {"kind": "text"},
        {"forms": {"A": "I5"}}, {"kind": "ascii", "forms": {"X": "I5"}}, {"nulls": {"B": 1}},
        {"kind": "ascii", "forms": {"A": 5}}, {"kind": "ascii", "forms": {"A": ""}},
        {"units": {"A": 5}}, {"columns": [["A"]]}, {"compress": True}, {"descriptions": {"A": 5}},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_name_nothing_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    tf.write(tmp_path / "old.fits", {"A": [1, 2], "B": [1.5, 2.5]})
    table = tf.open(tmp_path / "old.fits")[1]
    for data in (table, table.read()):
        with pytest.raises(tf.UsageError):
            tf.write(tmp_path / "new.fits", data, **options)


def test_forms_of_ascii_tables(tmp_path: Path) -> None:
    data = {"N": [1, -22], "X": [1.25, -3.5], "S": ["a", "bc"]}
    path = tmp_path / "forms.fits"
    tf.write(path, data, kind="ascii", forms={"N": "I6", "X": "F8.3", "S": "A4"})
    table = tf.open(path)[1]
    assert [column.form for column in table.columns] == ["I6", "F8.3", "A4"]
    assert table["X"].tolist() == [1.25, -3.5]
    rows = path.read_bytes()[table.data_offset :][: 2 * table.row_bytes]
    assert rows == b"     1    1.250 a      -22   -3.500 bc  "


@pytest.mark.parametrize("values", [[[1], [2]], np.zeros((2, 1), "U2"), np.ones((2, 1, 1))])
def test_cells_of_one_element_keep_their_axis(tmp_path: Path, values: Any) -> None:
    path = tmp_path / "one.fits"
    tf.write(path, {"A": values})
    with tf.edit(path) as editor:
        editor[1].append({"A": values})
    table = tf.open(path)[1]
    assert table["A"].shape == (4, *np.shape(values)[1:])
    assert table.column("A").shape == np.shape(values)[1:]


@pytest.mark.parametrize("values", [["", ""], np.zeros(0, "U3")])
def test_text_in_the_heap_may_have_no_characters(tmp_path: Path, values: Any) -> None:
    path = tmp_path / "text.fits"
    tf.write(path, {"A": values}, forms={"A": "PA"})
    with tf.edit(path) as editor:
        editor[1].add_column("B", values, form="PA")
        editor[1].append({"A": ["x"], "B": [""]})
    table = tf.open(path)[1]
    assert [table[name].tolist() for name in "AB"] == [[*values, "x"], [*values, ""]]


@pytest.mark.parametrize(
    ("values", "form", "found"),
    [
        ([2.0, -3.0, np.nan], "I4", [2, -3, None]),
        ([np.nan, np.nan], "I4", [None, None]),
        ([1, None], "F8.2", [1.0, None]),
        ([2**53], "F20.0", [2.0**53]),
        (np.array([7, 2**63 - 1], "u8"), None, [7, 2**63 - 1]),
        (["a", "bc"], "A5", ["a", "bc"]),
        # A form says how many decimals there are.
        ([1.25, 1e-10], "F8.1", [1.2, 0.0]),
    ],
)
def test_values_that_mean_the_same_in_a_form_are_taken(
    tmp_path: Path, values: Any, form: str | None, found: list[Any]
) -> None:
    path = tmp_path / "forms.fits"
    tf.write(path, {"A": values}, kind="ascii", forms={"A": form} if form else None)
    read = tf.open(path)[1]["A"]
    if read.dtype.kind == "f":
        read = np.ma.masked_invalid(read)
    assert read.tolist() == found


@pytest.mark.parametrize(
    ("values", "form", "word"),
    [
        (np.array([1, 2**63], "u8"), None, r"9223372036854775808.*\n.*binary table"),
        (np.ma.MaskedArray([2**64 - 1, 5], mask=[0, 1], dtype="u8"), None, "18446744073709551615"),
        ([1.0, 1.5], "I4", "hold 1.5"),
        ([1e30], "I40", "1e\\+30"),
        ([2.0**63], "I20", "9.22"),
        ([np.inf], "I40", "inf"),
        ([np.inf, np.nan], "F8.2", "infinities"),
        ([2**53 + 1], "F20.0", "9007199254740993"),
        (["ab", "abc"], "A2", "'abc'"),
        (["12"], "I5", "S2"),
        ([12], "A5", "int64.*\n.*text"),
        ([12], "G5", "invalid form"),
    ],
)
def test_values_that_a_form_would_change_are_refused(
    tmp_path: Path, values: Any, form: str | None, word: str
) -> None:
    with pytest.raises(tf.UsageError, match=f"'A'.*{word}"):
        tf.write(
            tmp_path / "new.fits", {"A": values}, kind="ascii", forms={"A": form} if form else None
        )
    path = tmp_path / "old.fits"
    tf.write(path, {"B": np.zeros(len(values), int)}, kind="ascii")
    with pytest.raises(tf.UsageError, match=f"'A'.*{word}"), tf.edit(path) as editor:
        editor[1].add_column("A", values, form=form)
    assert not (tmp_path / "new.fits").exists()


def test_one_cell_for_all_rows_keeps_integers_and_undefined_values(tmp_path: Path) -> None:
    path = tmp_path / "cells.fits"
    tf.write(path, {"U": np.zeros((2, 2), "u8"), "D": np.zeros((2, 2))})
    with tf.edit(path) as editor:
        editor[1].update("U", [2**53 + 1, 2**63])
        editor[1].update("D", np.ma.MaskedArray([5.0, 6.0], mask=[0, 1]))
        with pytest.raises(tf.UsageError, match=r"'D'.*hold arrays of 1, 2 elements"):
            editor[1].update("D", [[1.0, 2.0], [3.0]])
    table = tf.open(path)[1]
    assert table["U"].tolist() == 2 * [[2**53 + 1, 2**63]]
    np.testing.assert_array_equal(table["D"], 2 * [[5, np.nan]])


def test_cells_of_several_axes_need_matching_columns(tmp_path: Path) -> None:
    path = tmp_path / "shapes.fits"
    shaped, flat = [np.ones((2, 2)), None], [[1.0, 2.0], [3.0]]
    tf.write(path, {"A": shaped, "B": flat})
    with tf.edit(path) as editor:
        rows = editor[1]
        rows.append({"A": np.ones((1, 2, 2)), "B": [[5.0]]})
        with pytest.raises(tf.UsageError, match=r"'A'.*\(4, 1\)"):
            rows.append({"A": np.ones((1, 4, 1)), "B": [[5.0]]})
        with pytest.raises(tf.UsageError, match=r"'B'.*\(2, 2\)"):
            rows.update("B", shaped, rows=[0, 1])
    assert [cell.shape for cell in tf.open(path)[1]["A"]] == [(2, 2), (0,), (2, 2)]


@pytest.mark.parametrize(
    ("form", "scale", "zero", "taken", "refused"),
    [
        ("J", 2.0, 0.0, [4.0, -2, np.nan], [3.0, 5, 4.0000001]),
        ("I", 0.01, 5.0, [6.23, np.float32(6.23), 0.07, 300], [6.234, np.float32(6.234)]),
        ("K", 1e-9, 0.0, [1.123456789], [0.5e-9]),
        ("J", 0.1, -1000.3, [-1000.3, 0.0, 1234.5, 77.7], [0.05]),
        ("PJ()", 2.0, 0.0, [[4.0, -2.0]], [[4.0, 3.0]]),
        ("E", 2.0, 0.0, [3.0, 0.5], []),
    ],
)
def test_columns_of_whole_steps_take_these_alone(
    tmp_path: Path, form: str, scale: float, zero: float, taken: list[Any], refused: list[Any]
) -> None:
    path = tmp_path / "scaled.fits"
    array = np.array([[1, 2], [3]], object) if "P" in form else np.array([0, 1])
    hdu = fits.BinTableHDU.from_columns([fits.Column(name="B", format=form, array=array)])
    hdu.header.update({"TSCAL1": scale, "TZERO1": zero, "TNULL1": 99})
    if form == "E":
        del hdu.header["TNULL1"]
    hdu.writeto(path)
    with tf.edit(path) as editor:
        for value in taken:
            editor[1].append({"B": [value]})
        for value in refused:
            with pytest.raises(tf.UsageError, match=r"'B'.*would become"):
                editor[1].append({"B": [value]})
    found = list(tf.open(path)[1]["B"])[2:]
    for value, read in zip(taken, found, strict=True):
        np.testing.assert_allclose(read, value, rtol=1e-6, atol=1e-12)


def test_steps_in_ascii_tables(tmp_path: Path) -> None:
    path = tmp_path / "scaled.fits"
    tf.write(path, {"A": [10]}, kind="ascii", forms={"A": "I4"})
    with tf.edit(path) as editor:
        editor[1].header["TSCAL1"] = 2.0
        editor[1].header["TZERO1"] = 10.0
    with tf.edit(path) as editor:
        editor[1].append({"A": [32.0]})
        with pytest.raises(tf.UsageError, match="steps of 2 from 10"):
            editor[1].append({"A": [31.0]})
    assert tf.open(path)[1]["A"].tolist() == [30.0, 32.0]


def test_integers_that_no_float_is_are_refused_by_a_column_of_floats(tmp_path: Path) -> None:
    path = tmp_path / "numbers.fits"
    tf.write(path, {"D": [1.0], "U": np.array([1], "u8"), "K": [1]})
    with tf.edit(path) as editor:
        rows = editor[1]
        for column, value in [
            ("D", np.uint64(2**64 - 1)), ("D", 2**63 - 1), ("U", 2.0**64), ("K", 2.0**63),
        ]:  # fmt: skip
            with pytest.raises(tf.UsageError, match=f"'{column}'"):
                rows.update(column, value)
        rows.update("U", 2.0**63)
    assert tf.open(path)[1]["U"].tolist() == [2**63]


def test_files_of_several_hdus(stars: tf.Table) -> None:
    cube = np.arange(24, dtype="i2").reshape(2, 3, 4)
    header = tf.Header([("EXTNAME", "CUBE", ""), ("BUNIT", "K", "")])
    tf.write("all.fits", [cube, (cube, header), stars, {"A": [1, 2]}], checksum=True)
    with fits.open("all.fits", checksum=True) as hdus:
        hdus.verify("exception")
    with tf.open("all.fits") as file:
        assert [hdu.kind for hdu in file] == ["primary", "image"] + ["binary table"] * 2
        np.testing.assert_array_equal(file["CUBE"][...], cube)
        assert file["CUBE"].unit == "K"
        assert file["STARS"]["N"].tolist() == [1, None, 3]
        assert file["STARS"].column("N").description == "how many"
        assert file[3]["A"].tolist() == [1, 2]
        tf.write("again.fits", list(file))
    assert [hdu.kind for hdu in tf.open("again.fits")] == ["primary", "image"] + [
        "binary table"
    ] * 2


def test_a_null_other_than_an_integer_is_refused(tmp_path: Path) -> None:
    for null in (1.5, "1", True):
        with pytest.raises(
            tf.UsageError, match=r"column 'A': invalid null .*: expected an integer"
        ):
            tf.write(tmp_path / "no.fits", {"A": [1, None]}, nulls={"A": null})  # type: ignore[dict-item]


@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_of_columns_of_one_name_the_first_is_chosen(tmp_path: Path) -> None:
    made = [fits.Column(name, "K", array=[n]) for n, name in enumerate(("A", "A2", "B"))]
    two = fits.BinTableHDU.from_columns(made)
    two.header["TTYPE2"] = "A"
    two.writeto(tmp_path / "two.fits")
    table, path = tf.open(tmp_path / "two.fits")[1], tmp_path / "one.fits"
    for source, units in ((table, None), (table.read(), None), (table, {"B": "m"})):
        tf.write(path, source, columns=["B", "A", "A"], units=units, overwrite=True)
        found = tf.open(path)[1].read()
        assert {name: values.tolist() for name, values in found.items()} == {"B": [2], "A": [0]}


@pytest.mark.parametrize("option", ["units", "nulls", "descriptions", "forms"])
def test_properties_of_columns_are_given_by_name(tmp_path: Path, option: str) -> None:
    with pytest.raises(
        tf.UsageError, match=rf"invalid {option}: expected a dict by column name, found 3\nhint: as"
    ):
        tf.write(tmp_path / "new.fits", {"A": [1]}, **{option: 3})  # type: ignore[arg-type]


def test_units_may_be_those_of_astropy(tmp_path: Path) -> None:
    path = tmp_path / "new.fits"
    tf.write(path, {"A": [1], "B": [2]}, units={"A": u.km / u.s, "B": ""})  # type: ignore[dict-item]
    with tf.edit(path) as editor:
        editor[1].add_column("C", [3], unit=u.km / u.s)  # type: ignore[arg-type]
    assert [column.unit for column in tf.open(path)[1].columns] == ["km s-1", None, "km s-1"]


def test_masked_values_of_cards_are_undefined(tmp_path: Path) -> None:
    header = {"MASKED": np.ma.masked, "NONE": None, "ZERO": np.array(0.0)}
    tf.write(tmp_path / "new.fits", {"A": [1]}, header=header)
    found = tf.open(tmp_path / "new.fits")[1].header
    assert [found[keyword] for keyword in header] == [None, None, 0.0]


@pytest.mark.parametrize("name", [b"A", None, ("A", 1), 1.5])
def test_names_of_columns_are_text(tmp_path: Path, name: Any) -> None:
    with pytest.raises(tf.UsageError, match=r"invalid column name .*: expected text"):
        tf.write(tmp_path / "new.fits", {name: [1]})


@pytest.mark.parametrize(
    ("values", "form", "found"),
    [
        ([0.5, 1e300], "E", r"1e\+300 \(float64\)"),
        ([1, 70000], "I", r"70000 \(int64\)"),
        (np.array([[1.0, 2.5]]), "2J", r"2\.5 \(float64\)"),
        ([-1, 40000], "I", r"both -1 and 40000 \(int64\)"),
    ],
)
def test_a_value_that_a_form_does_not_hold_is_named(
    tmp_path: Path, values: Any, form: str, found: str
) -> None:
    with pytest.raises(tf.UsageError, match=f"the form '{form}' does not hold {found}"):
        tf.write(tmp_path / "new.fits", {"A": values}, forms={"A": form})


def test_columns_are_chosen_by_one_name_or_several(tmp_path: Path) -> None:
    path, data = tmp_path / "new.fits", {"AB": [1], "A": [2], "B": [3]}
    for columns, names in (("AB", ("AB",)), (("B", "AB"), ("B", "AB")), (iter(["A"]), ("A",))):
        for source in (data, tf.Columns({name: np.array(data[name]) for name in data})):
            tf.write(path, source, columns=columns, overwrite=True)
            assert tf.open(path)[1].names == names
            columns = list(names)
    with pytest.raises(tf.UsageError, match=r"expected names, found 3\nhint: as columns="):
        tf.write(path, data, columns=3, overwrite=True)  # type: ignore[arg-type]


def _every_kind(kind: str) -> Any:
    """Return the same table in a kind of `tf.write`'s."""
    columns = {"N": np.array([1, 2, 3], "i4"), "X": np.array([0.5, np.nan, 2.0]),
               "T": np.array(["a", "bc", ""])}  # fmt: skip
    if kind == "astropy":
        return pytest.importorskip("astropy.table").Table(columns)
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).DataFrame(columns)
    if kind == "arrow":
        return tf.Columns(columns).to_arrow()
    if kind == "columns":
        return tf.Columns(columns)
    return tf.Columns(columns).to_structured() if kind == "structured" else columns


@pytest.mark.parametrize(
    "kind", ["mapping", "columns", "structured", "astropy", "pandas", "polars", "arrow"]
)
def test_every_writer_makes_the_same_of_a_table(kind: str, tmp_path: Path) -> None:
    data = _every_kind(kind)
    # Frames of polars are Arrow streams.
    assert kind_of(data) == ("arrow" if kind == "polars" else kind)
    tf.write(tmp_path / "one.fits", data)
    tf.write(tmp_path / "list.fits", [data])
    tf.write(tmp_path / "edited.fits", np.zeros(1, "u1"))
    with tf.edit(tmp_path / "edited.fits") as editor:
        editor.append(data)
    found = [
        (tmp_path / f"{name}.fits").read_bytes()[2880 * blocks :]
        for name, blocks in (("one", 1), ("list", 1), ("edited", 2))
    ]
    assert found[0] == found[1] == found[2]
    assert tf.open(tmp_path / "one.fits")[1]["T"].tolist() == ["a", "bc", ""]


def test_a_table_in_a_spool_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sources = sources_of({"A": [1, 2]}, Options())
    core, _ = temporary_file(sources, (), "new rows", checksum=True)
    assert list(tmp_path.iterdir()) == []
    file = tf.File.computed(core, None)
    assert (file.name, file[1]["A"].tolist(), file[1].checksum().data) == (
        "new rows", [1, 2], "right",
    )  # fmt: skip
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(tf.IoError, match="none"):
        temporary_file(sources, (), "new rows")
