"""Editing files through Python: all of it or nothing, and astropy reads what we wrote."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

pytestmark = pytest.mark.once


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "stars.fits"
    data = {
        "NAME": ["alpha", "beta", "gamma"],
        "MAG": [1.5, 2.5, 3.5],
        "N": np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0], dtype="i2"),
        "HITS": tf.Ragged.from_cells([[1, 2], [], [3]], "i2"),
        "SEEN": [True, False, None],
        "POS": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    }
    image = np.arange(12, dtype="i2").reshape(3, 4)
    table = tmp_path / "table.fits"
    tf.write(table, data, name="STARS", descriptions={"N": "how many"})
    tf.write(path, [image, tf.open(table)[1]], checksum=True)
    return path


def checked(path: Path) -> None:
    """Astropy finds the sums right and nothing against the Standard."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(path, checksum=True) as hdus:
            hdus.verify("exception")


def test_headers_are_changed_in_their_place(path: Path) -> None:
    size = path.stat().st_size
    with tf.edit(path) as editor:
        header = editor[0].header
        header["OBJECT"] = "M31", "target"
        header["exptime"] = np.float64(3.5)
        header.insert("OBJECT", "FIRST", 1)
        header["OBJECT"] = "M 31"
        assert header["OBJECT"] == "M 31"
        assert list(header)[-1] == "EXPTIME"
    assert editor.done is not None
    assert editor.done["in_place"]
    assert path.stat().st_size == size
    header = tf.open(path)[0].header
    assert header["OBJECT"] == "M 31"
    assert header.comments["OBJECT"] == "target"
    names = [card.keyword for card in header.cards]
    assert names.index("FIRST") == names.index("OBJECT") - 1
    with tf.edit(path) as editor:
        del editor[0].header["FIRST"]
        editor[0].header.rename("OBJECT", "TARGET")
    header = tf.open(path)[0].header
    assert "FIRST" not in header
    assert header.comments["TARGET"] == "target"
    checked(path)


def test_a_long_comment_continues_or_gives_a_warning(path: Path) -> None:
    long = "a comment that needs more room than a single card has beside its value, by far enough"
    with tf.edit(path) as editor:
        header = editor[0].header
        header["OURS"] = "a string", long
        header["OBJECT"] = "M31", "the target of the observation"
        # Reserved: the Standard forbids CONTINUE.
        with pytest.warns(
            tf.TachyfitsWarning, match="comment of OBJECT is cut.*'the target of the"
        ):
            header["OBJECT"] = "x" * 60
        with pytest.warns(tf.TachyfitsWarning, match="comment of EXPTIME is cut"):
            header["EXPTIME"] = 3.5, long
    header = tf.open(path)[0].header
    assert header.comments["OURS"] == long
    assert header["OURS"] == "a string"
    assert fits.getheader(path).comments["OURS"] == long


def test_a_comment_changes_and_the_value_keeps_its_digits(path: Path) -> None:
    fits.append(path, np.zeros(1), fits.Header.fromstring("FREQ    =       1.4200000D+09 / Hz"))
    with tf.edit(path) as editor:
        header = editor[2].header
        header.comments["freq"] = "of the line"
        header.comments["NAXIS1"] = "one pixel"
        header.comments["BITPIX"] = ""
        with pytest.raises(KeyError, match="NONE"):
            header.comments["NONE"] = "nothing"
        with pytest.raises(tf.UsageError, match="invalid comment None of FREQ: expected text"):
            header.comments["FREQ"] = None
        with pytest.raises(tf.UsageError, match=r"FREQ = \(1.0, None\)"):
            header["FREQ"] = 1.0, None
        with pytest.warns(tf.TachyfitsWarning, match="comment of FREQ is cut"):
            header.comments["FREQ"] = "of the line " * 6
        header.comments["FREQ"] = "of the line"
        assert header.comments["FREQ"] == "of the line"
    header = tf.open(path)[2].header
    assert b"FREQ    =        1.4200000D+09 / of the line " in (header.raw or b"")
    assert [header.comments[name] for name in ("NAXIS1", "BITPIX")] == ["one pixel", ""]
    checked(path)


def test_keywords_are_found_however_they_are_spelled(path: Path) -> None:
    with tf.edit(path) as editor:
        header = editor[0].header
        header["HIERARCH ESO DET DIT"] = 1.5
        header["Hierarch ESO DET NDIT"] = 3
        header["EXPTIME"] = 2.0
        header["HISTORY"] = "one"
        header.insert("hierarch eso det ndit", "BEFORE", 1)
        header.rename("HIERARCH ESO DET NDIT", "HIERARCH ESO DET COUNT")
        for keyword in ("hierarch eso det dit", "exptime", "history"):
            del header[keyword]
        with pytest.raises(tf.UsageError, match=r"stars\.fits: keyword K\u00c4SE"):
            header["K\u00c4SE"] = 1
    names = [card.keyword for card in tf.open(path)[0].header.cards]
    assert names[names.index("BEFORE") + 1] == "ESO DET COUNT"
    assert not {"ESO DET DIT", "EXPTIME", "HISTORY"} & set(names)
    checked(path)


@pytest.mark.parametrize("keyword", ["abc", "ABC", "Abc"])
def test_a_keyword_that_is_deleted_is_there_in_no_case(path: Path, keyword: str) -> None:
    with tf.edit(path) as editor:
        editor[0].header.update({"ABD": 5, "ABC": 6})
    path.write_bytes(path.read_bytes().replace(b"ABD     =", b"abc     =", 1))
    tf.update_checksums(path)
    with tf.edit(path) as editor:
        header = editor[0].header
        assert sum(card.keyword.upper() == "ABC" for card in header.cards) == 2
        del header[keyword]
        assert not {"abc", "ABC", "Abc"} & {card.keyword for card in header.cards}
        assert keyword not in header
    checked(path)


def test_missing_objects_are_named(path: Path) -> None:
    with tf.edit(path) as editor:
        with pytest.raises(KeyError, match="NONE"):
            del editor[0].header["NONE"]
        with pytest.raises(KeyError):
            editor[0].header.rename("NONE", "SOME")
        with pytest.raises(IndexError):
            editor[7]
        with pytest.raises(KeyError):
            editor["NOWHERE"]
        with pytest.raises(tf.TachyfitsError):
            editor[0].header["NAXIS1"] = 5
        with pytest.raises(tf.UsageError):
            editor[0].append({"A": [1]})


def test_an_exception_leaves_the_file_unchanged(path: Path) -> None:
    before = path.read_bytes()

    def spoil() -> None:
        with tf.edit(path) as editor:
            editor[0].header["OBJECT"] = "M31"
            editor["STARS"].delete(rows=[0])
            del editor[0]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        spoil()
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["stars.fits", "table.fits"]


def test_rows_come_and_go(path: Path) -> None:
    with tf.edit(path) as editor:
        stars = editor["STARS"]
        new: dict[str, Any] = {
            "name": ["delta", "eps"], "MAG": [9, 8], "N": [7, None], "HITS": [[4, 5, 6], []],
            "SEEN": [None, True], "POS": np.zeros((2, 2), "i4"),
        }  # fmt: skip
        stars.append(new)
        stars.insert(0, {name: values[:1] for name, values in new.items()})
        assert len(stars) == 6
        stars.delete(where="MAG == 2.5")
        stars.delete(rows=slice(-1, None))
    checked(path)
    table = tf.open(path)["STARS"]
    assert table["NAME"].tolist() == ["delta", "alpha", "gamma", "delta"]
    assert table["MAG"].tolist() == [9.0, 1.5, 3.5, 9.0]
    assert table["N"].tolist() == [7, 1, 3, 7]
    assert table["HITS"].to_list() == [[4, 5, 6], [1, 2], [3], [4, 5, 6]]
    assert table["SEEN"].tolist() == [None, True, None, None]
    assert table["POS"].shape == (4, 2)


def test_cells_are_updated(path: Path) -> None:
    with tf.edit(path) as editor:
        stars = editor["STARS"]
        stars.update("MAG", 0.25, where="NAME == 'beta'")
        stars.update("N", [10, None], rows=[2, 0])
        stars.update("NAME", "xi", rows=1)
        stars.update("HITS", [[9, 9, 9]], rows=[1])
        stars.update("POS", [7.0, 8.0], rows=slice(0, 2))
        stars.update("SEEN", None, rows=[0])
    checked(path)
    table = tf.open(path)["STARS"]
    assert table["MAG"].tolist() == [1.5, 0.25, 3.5]
    assert table["N"].tolist() == [None, None, 10]
    assert table["NAME"].tolist() == ["alpha", "xi", "gamma"]
    assert table["HITS"].to_list() == [[1, 2], [9, 9, 9], [3]]
    assert table["POS"].tolist() == [[7.0, 8.0], [7.0, 8.0], [5.0, 6.0]]
    assert table["SEEN"].tolist() == [None, False, None]
    assert table.column("N").description == "how many"


@pytest.mark.parametrize(
    ("column", "values", "word"),
    [
        ("N", [40000, 1, 2], "40000"),
        ("N", [1.5, 1, 2], "1.5"),
        ("N", ["a", "b", "c"], "cannot hold"),
        ("NAME", ["too long a name", "", ""], "characters"),
        ("MAG", [1, 2], "2 values for 3 rows"),
        ("POS", [[1.0], [2.0], [3.0]], "shape"),
        ("SEEN", [1, 0, 1], "cannot hold"),
        ("HITS", [1, 2, 3], "single values"),
        ("HITS", [[1], [2**20], []], str(2**20)),
    ],
)
def test_values_that_do_not_fit_are_refused(
    path: Path, column: str, values: Any, word: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(tf.UsageError, match=word), tf.edit(path) as editor:
        editor["STARS"].update(column, values)
    assert path.read_bytes() == before


def test_rows_that_lack_columns_are_refused(path: Path) -> None:
    with (
        pytest.raises(
            tf.UsageError,
            match=r"rows lack the columns MAG, N.* and have unknown columns: COLOUR",
        ),
        tf.edit(path) as editor,
    ):
        editor["STARS"].append({"NAME": ["x"], "COLOUR": [1]})
    with tf.edit(path) as editor:
        stars = editor["STARS"]
        rows = dict(stars.table.read())
        with pytest.raises(tf.UsageError, match=r"new rows lack the columns MAG\nhint: "):
            stars.append({name: rows[name] for name in rows if name != "MAG"})
        with pytest.raises(tf.UsageError, match=r"new rows have unknown columns: A, B\nhint: "):
            stars.append({**rows, "A": [1] * 3, "B": [1] * 3})
        editor.discard()


def test_rows_of_columns_of_one_name_are_each_given(tmp_path: Path) -> None:
    path = tmp_path / "same.fits"
    tf.write(path, {"TIME": [1], "B": [2]})
    with fits.open(path, mode="update") as file:
        file[1].header["TTYPE2"] = "Time"
    with tf.edit(path) as editor:
        rows = editor[1]
        with pytest.raises(tf.UsageError, match=r"lack the columns Time_2"):
            rows.append({"TIME": [9]})
        with pytest.raises(tf.UsageError, match=r"have unknown columns: time"):
            rows.append({"TIME": [9], "Time_2": [8], "time": [7]})
        rows.append({"TIME": [3], "Time_2": [4]})
        rows.append(rows.table.read())
    table = tf.open(path)[1]
    assert table["TIME"].tolist() == [1, 3, 1, 3]
    assert table["Time_2"].tolist() == [2, 4, 2, 4]


def test_columns_come_and_go(path: Path) -> None:
    with tf.edit(path) as editor:
        stars = editor["STARS"]
        stars.add_column("ID", [10, 20, 30], before="NAME", unit="count", description="number")
        stars.add_column("LISTS", [[1.5], [], [2.5, 3.5]])
        stars.rename_column("MAG", "MAGNITUDE")
        stars.delete_column("SEEN", "POS")
        assert [column.name for column in stars.columns] == [
            "ID", "NAME", "MAGNITUDE", "N", "HITS", "LISTS",
        ]  # fmt: skip
    checked(path)
    table = tf.open(path)["STARS"]
    assert table.names == ("ID", "NAME", "MAGNITUDE", "N", "HITS", "LISTS")
    assert table["ID"].tolist() == [10, 20, 30]
    assert (table.column("ID").unit, table.column("ID").description) == ("count", "number")
    assert table["N"].tolist() == [1, None, 3]
    assert table.column("N").description == "how many"
    assert table["HITS"].to_list() == [[1, 2], [], [3]]
    assert table["LISTS"].to_list() == [[1.5], [], [2.5, 3.5]]
    with pytest.raises(tf.UsageError, match="2 values for 3 rows"), tf.edit(path) as editor:
        editor["STARS"].add_column("X", [1, 2])


def test_hdus_come_and_go(path: Path) -> None:
    other = tf.open(path)
    with tf.edit(path) as editor:
        editor.append(np.ones((2, 2), "f4"), name="ONES")
        editor.insert(1, {"A": [1, 2]}, name="SMALL", units={"A": "m"})
        editor.copy(other[0], at=1)
        editor.append(other["STARS"], name="COPY")
        del editor["STARS"]
        assert [hdu.header.get("EXTNAME") for hdu in editor] == [
            None, None, "SMALL", "ONES", "COPY",
        ]  # fmt: skip
    checked(path)
    with tf.open(path) as file:
        kinds = [hdu.kind for hdu in file]
        assert kinds == ["primary", "image", "binary table", "image", "binary table"]
        np.testing.assert_array_equal(file[1][...], np.arange(12).reshape(3, 4))
        assert file["SMALL"].column("A").unit == "m"
        assert file["COPY"]["HITS"].to_list() == [[1, 2], [], [3]]


def test_a_table_as_the_first_hdu_gets_one_before_it(path: Path) -> None:
    with tf.edit(path) as editor:
        del editor[0]
        editor.insert(0, {"A": [1, 2]}, name="FIRST")
    checked(path)
    kinds = [(hdu.kind, hdu.name) for hdu in tf.open(path)]
    assert kinds[0][0] == "primary"
    assert ("binary table", "FIRST") in kinds


def test_ascii_tables_are_edited(tmp_path: Path) -> None:
    path = tmp_path / "ascii.fits"
    data = {"N": [1, 22], "X": [1.5, -2.5], "S": ["a", "bb"]}
    tf.write(path, data, kind="ascii", forms={"N": "I5", "X": "F8.3", "S": "A4"})
    with tf.edit(path) as editor:
        editor[1].append({"N": [333], "X": [0.125], "S": ["ccc"]})
        editor[1].update("X", 9.75, rows=0)
        editor[1].add_column("Y", [1, 2, 3], form="I3")
    checked(path)
    table = tf.open(path)[1]
    assert table["N"].tolist() == [1, 22, 333]
    assert table["X"].tolist() == [9.75, -2.5, 0.125]
    assert table["Y"].tolist() == [1, 2, 3]
    assert table["S"].tolist() == ["a", "bb", "ccc"]


@pytest.mark.parametrize("before", ["N", "X", "S", None])
def test_fields_of_ascii_tables_are_in_the_order_of_the_columns(
    tmp_path: Path, before: str | None
) -> None:
    path = tmp_path / "ascii.fits"
    data = {"N": [1, 22], "X": [1.5, -2.5], "S": ["a", "bb"]}
    tf.write(path, data, kind="ascii")
    with tf.edit(path) as editor:
        editor[1].add_column("Y", [-7, 8], before=before)
        editor[1].add_column("Z", ["y", "zz"], before=before)
    checked(path)
    expected = data | {"Y": [-7, 8], "Z": ["y", "zz"]}
    starts = [tf.open(path)[1].header[f"TBCOL{number}"] for number in range(1, 6)]
    assert starts == sorted(starts)
    with fits.open(path) as hdus:
        for name, values in expected.items():
            theirs = [str(cell).rstrip() for cell in hdus[1].data[name].tolist()]
            assert theirs == [str(value) for value in values]
            assert tf.open(path)[1][name].tolist() == values


@pytest.mark.filterwarnings("error")
def test_undefined_values_of_complex_columns_are_nan(tmp_path: Path) -> None:
    tf.write(tmp_path / "complex.fits", {"C": [1j, 2]})
    with tf.edit(tmp_path / "complex.fits") as editor:
        editor[1].append({"C": [None, 2**53]})
        with pytest.raises(tf.UsageError, match="cannot hold 9007199254740993"):
            editor[1].append({"C": [2**53 + 1]})
    found = tf.open(tmp_path / "complex.fits")[1]["C"]
    np.testing.assert_array_equal(np.isnan(found), [False, False, True, False])
    assert found[3] == 2**53


def test_a_compressed_file_is_refused(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "a.fits.gz"
    tf.write(tmp_path / "a.fits", np.zeros(3))
    path.write_bytes(gzip.compress((tmp_path / "a.fits").read_bytes()))
    with pytest.raises(tf.TachyfitsError, match="compress"):
        tf.edit(path)


def test_names_that_would_not_find_their_column_are_refused(path: Path) -> None:
    with tf.edit(path) as editor:
        stars = editor["STARS"]
        for name in ("", " "):
            with pytest.raises(tf.UsageError, match="expected text that is not empty"):
                stars.rename_column("MAG", name)
            with pytest.raises(tf.UsageError, match="expected text that is not empty"):
                stars.add_column(name, [1, 2, 3])
        for name in ("N", "n"):
            with pytest.raises(tf.UsageError, match="would duplicate 'N'"):
                stars.rename_column("MAG", name)
            with pytest.raises(tf.UsageError, match="would duplicate 'N'"):
                stars.add_column(name, [1, 2, 3])
        stars.rename_column("MAG", "mag")
    assert tf.open(path)["STARS"].names[1] == "mag"


def test_a_file_that_is_held_is_not_replaced(path: Path) -> None:
    import fcntl

    before = path.read_bytes()

    def grow() -> None:
        with tf.edit(path) as editor:
            editor[0].header.update({f"KEY{number}": number for number in range(60)})

    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(tf.IoError, match="io-busy"):
            grow()
    assert path.read_bytes() == before
    grow()
    assert path.read_bytes() != before


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Run as an ordinary user: root may write read-only files."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(65534)
    except PermissionError:
        pytest.skip("root may write what is read-only, and cannot be somebody else here")
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that everybody may write to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_a_file_that_is_read_only_is_not_replaced(
    path: Path, open_directory: Path, request: pytest.FixtureRequest
) -> None:
    before = path.read_bytes()
    held = open_directory / path.name
    held.write_bytes(before)
    held.chmod(0o444)
    request.getfixturevalue("ordinary_user")
    may = [(open_directory, os.W_OK), (held, os.R_OK), (held, os.W_OK)]
    assert [os.access(path, how, effective_ids=True) for path, how in may] == [True, True, False]
    with (
        pytest.raises(tf.IoError, match="Permission denied"),
        tf.edit(held) as editor,
    ):
        editor[0].header.update({f"KEY{number}": number for number in range(60)})
    assert held.read_bytes() == before
    assert list(open_directory.iterdir()) == [held]


def test_compacting_keeps_the_used_arrays_of_a_heap(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    columns = {
        "V": tf.Ragged.from_cells([[1, 2, 3], [4, 5], [], [6, 7], [8]], "i2"),
        "N": np.arange(5, dtype="i4"),
        "W": tf.Ragged.from_cells([[1.5], [2.5], [3.5, 4.5], [], [5.5]], "f8"),
    }
    tf.write(path, [np.zeros(1), (columns, {}), np.arange(5)], checksum=True)
    content = bytearray(path.read_bytes())
    with tf.open(path) as file:
        offset = file[1].data_offset
    # The second row shares two elements with the first; the third has no elements anywhere.
    content[offset + 20 : offset + 28] = np.array([2, 2], ">i4").tobytes()
    content[offset + 40 : offset + 48] = np.array([0, 99], ">i4").tobytes()
    path.write_bytes(content)
    tf.update_checksums(path)
    with tf.edit(path) as editor:
        table = editor[1]
        table.update("W", [[7.5, 8.5, 9.5]], rows=[4])
        table.delete(rows=[3])
        before = table.table.read()
        # The arrays that 4, 5 and 5.5 were, and that of the row that went.
        assert table.compact_heap() == 4 + 4 + 8
        assert table.compact_heap() == 0
        assert table.header["PCOUNT"] == 6 + 2 + 8 + 8 + 16 + 24
    assert editor.done is not None
    checked(path)
    after = tf.open(path)[1].read()
    cells = {"V": [[1, 2, 3], [2, 3], [], [8]], "W": [[1.5], [2.5], [3.5, 4.5], [7.5, 8.5, 9.5]]}
    theirs = fits.getdata(path, 1)
    for name, wanted in cells.items():
        for column in (before[name], after[name], theirs[name]):
            assert [list(cell) for cell in column] == wanted
    # They share the bytes still.
    stored = np.frombuffer(path.read_bytes()[offset : offset + 40], ">i4").reshape(2, 5)
    assert stored[:, :2].tolist() == [[3, 0], [2, 2]]
    assert tf.open(path)[2].read().tolist() == [0, 1, 2, 3, 4]


def test_a_heap_without_columns_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    hdu = fits.BinTableHDU.from_columns([fits.Column("A", "J", array=[1, 2])])
    hdu.writeto(path)
    content = path.read_bytes().replace(
        b"PCOUNT  =                    0", b"PCOUNT  =                   16"
    )
    path.write_bytes(content)
    (found,) = tf.verify(path)
    assert (found.code, "compact_heap()" in found.advice) == ("heap-unused", True)
    with tf.edit(path) as editor:
        assert editor[1].compact_heap() == 16
        with pytest.raises(tf.TachyfitsError, match="table"):
            editor[0].compact_heap()
    assert list(tf.verify(path)) == []


@pytest.mark.parametrize(
    "cells",
    [
        [["a", "b"], ["c"]],
        tf.Ragged.from_cells([[[1, 2], [3, 4]], np.zeros((0, 2), int)]),
        [[1, 2], [3]],
        [[1.0, 2.0], [3.0]],
        [[True], []],
    ],
)
def test_cells_without_elements_fit_every_column_of_arrays(tmp_path: Path, cells: Any) -> None:
    path = tmp_path / "arrays.fits"
    tf.write(path, {"A": cells})
    with tf.edit(path) as editor:
        for nothing in ([[]], [None], [[], []], [None, []]):
            editor[1].append({"A": nothing})
        editor[1].update("A", None, rows=[1])
        editor[1].update("A", [None, []], rows=[2, 3])
    found = [len(cell) for cell in tf.open(path)[1]["A"]]
    assert found == [len(cells[0]), *[0] * 7]


def test_sums_are_stated_of_one_hdu_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    tf.write(path, {"N": [1, 2]})
    assert tf.update_checksums(path, 1) == (1,)
    with tf.open(path) as file:
        assert "CHECKSUM" in file[1].header
        assert "CHECKSUM" not in file[0].header
    for odd in (1.5, "1", [0, None]):
        with pytest.raises(tf.UsageError, match="expected numbers of HDUs"):
            tf.update_checksums(path, odd)


class Reader:
    """A file object that does not tell which file it reads."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0

    def read(self, size: int = -1) -> bytes:
        with open(self._path, "rb") as file:
            file.seek(self._at)
            found = file.read(size)
        self._at += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._path.stat().st_size}
        self._at = begin[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True


@pytest.mark.parametrize(
    "source",
    [
        lambda path, editor: editor.preview()[0],
        lambda path, editor: tf.open(path)[0],
        lambda path, editor: tf.open(path)[0] * 1,
        lambda path, editor: tf.open(Reader(path))[0],
        lambda path, editor: tf.open(path)["TILES"],
        lambda path, editor: editor.preview()["TILES"],
    ],
)
def test_copies_have_the_pixels_from_before_the_edit(tmp_path: Path, source: Any) -> None:
    path = tmp_path / "file.fits"
    pixels = np.arange(6000, dtype="i2").reshape(60, 100)
    # The last HDU is large beside the change, which is therefore written in place.
    hdus = [fits.PrimaryHDU(pixels), fits.CompImageHDU(pixels, name="TILES")]
    fits.HDUList([*hdus, fits.ImageHDU(np.zeros(1_000_000))]).writeto(path, checksum=True)
    with tf.edit(path) as editor:
        editor.append(source(path, editor))
        editor[0].pixels[:] = -1
        editor[1].header["OBJECT"] = "M 31"
    assert editor.done is not None
    assert editor.done["in_place"]
    assert np.array_equal(fits.getdata(path, 3), pixels)
    assert np.array_equal(fits.getdata(path, 1), pixels)
    assert (fits.getdata(path, 0) == -1).all()
    checked(path)


def test_a_file_that_was_opened_before_it_was_replaced_is_another(tmp_path: Path) -> None:
    path = tmp_path / "file.fits"
    tf.write(path, np.arange(2000))
    old = tf.open(path)
    new = tmp_path / "new.fits"
    tf.write(new, np.arange(2000) + 5)
    new.replace(path)
    with tf.edit(path) as editor:
        editor.insert(0, old[0])
        del editor[1]
    assert np.array_equal(fits.getdata(path), np.arange(2000))


def test_sums_of_copies_of_changed_hdus_are_right(path: Path) -> None:
    with tf.edit(path) as editor:
        stars = editor["STARS"]
        stars.update("MAG", 7.0)
        stars.header["OBJECT"] = "M 31"
        stars.update_checksums()
        editor[0].pixels[0] = 9
        assert editor.preview()[0].checksum().data == "not stated"
        editor.append(stars.table, name="COPY")
        editor.append(editor.preview()[0])
        editor.append(editor.preview()[3])
    checked(path)
    header = tf.open(path)["COPY"].header
    assert "CHECKSUM" in header


def test_a_preview_ends_with_the_edit(tmp_path: Path) -> None:
    path = tmp_path / "file.fits"
    tf.write(path, [{"A": np.arange(10)}, (np.zeros(100_000), None)])
    with tf.edit(path) as editor:
        stars = editor[1]
        stars.delete(rows=[0])
        table = stars.table
        assert table["A"][0] == 1
    assert editor.done is not None
    assert editor.done["in_place"]
    with pytest.raises(tf.IoError, match="changed since it was opened"):
        table["A"]


@pytest.mark.parametrize("length", [239, 240, 255])
def test_files_of_the_longest_names_are_read_and_edited(tmp_path: Path, length: int) -> None:
    path = tmp_path / "stars.fits".rjust(length, "x")
    tf.write(path, np.zeros(1_000_000))
    with tf.edit(path) as editor:
        editor[0].pixels[0] = 7
    assert tf.open(path)[0][0] == 7
    assert [*tmp_path.iterdir()] == [path]


def test_an_hdu_without_data_has_no_pixels(tmp_path: Path) -> None:
    path = tmp_path / "table.fits"
    tf.write(path, {"A": [1]})
    with tf.edit(path) as editor:
        pixels = editor[0].pixels
        for use in (len, lambda pixels: pixels[...], lambda pixels: pixels.__setitem__(..., 1)):
            with pytest.raises(tf.UsageError, match=r"HDU 0 .* is not an image"):
                use(pixels)
