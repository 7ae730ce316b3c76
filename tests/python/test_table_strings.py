"""Columns whose cells are several strings: TDIMn in the heap, and delimiters (rA:SSTRw/nnn)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import empty_primary, header
from tablebytes import Made, big, binary_table

#: Cells of strings of three characters as they are stored, and what they are.
STORED = [b"NGC M31IC \0", b"", b"abc", b"  x\0yzab"]
STRINGS = [["NGC", " M3", "1IC", ""], [], ["abc"], ["  x", "", "ab"]]


def in_the_heap(dimensions: str, stored: list[bytes]) -> bytes:
    """A table of one column, S, of characters in the heap."""
    ends = np.cumsum([0, *map(len, stored)]).tolist()
    cells = [big(np.array([len(text), at], "i4")) for text, at in zip(stored, ends, strict=False)]
    cards = {"TDIM": dimensions} if dimensions else {}
    return binary_table([Made("S", "1PA", cells, None, cards=cards, heap=b"".join(stored))])


def opened(file: bytes) -> tf.Table:
    table = tf.open(file)[1]
    assert isinstance(table, tf.Table)
    return table


def test_dimensions_divide_text_of_the_heap() -> None:
    table = opened(in_the_heap("(3,4)", STORED))
    column = table.column("S")
    assert (column.dtype, column.shape) == (np.dtype("U3"), (4,))
    assert column.type_text == "text 3[any]"
    found = table["S"]
    assert isinstance(found, tf.Ragged)
    assert found.to_list() == STRINGS
    assert found[0].shape == (4,)
    assert table.read("S", rows=[3, 0])["S"].to_list() == [STRINGS[3], STRINGS[0]]
    assert table.read("S", raw=True)["S"].to_list()[2] == [b"abc"]


def test_dimensions_beyond_the_width_are_the_shape_of_cells_that_are_all_so_long() -> None:
    found = opened(in_the_heap("(2,3,2)", [b"aabbccddeeff", b""]))["S"]
    assert found[0].tolist() == [["aa", "bb", "cc"], ["dd", "ee", "ff"]]
    assert found[1].tolist() == []
    table = opened(in_the_heap("(2,3,2)", [b"aabbccddeeff..", b"aabb", b""]))
    with pytest.warns(tf.TachyfitsWarning, match="TDIM1"):
        found = table["S"]
    assert [cell.tolist() for cell in found] == found.to_list()
    assert found.to_list() == [["aa", "bb", "cc", "dd", "ee", "ff", ".."], ["aa", "bb"], []]


@pytest.mark.parametrize("dimensions", ["", "(3)", "(0,2)"])
@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_text_that_nothing_divides_is_one_string(dimensions: str) -> None:
    found = opened(in_the_heap(dimensions, STORED))["S"]
    assert found.tolist() == ["NGC M31IC", "", "abc", "  x"]


@pytest.mark.parametrize("width", [2**29 - 1, 2**29, 2**40])
def test_widths_beyond_any_array_divide_nothing(width: int) -> None:
    assert opened(in_the_heap(f"({width},2)", STORED))["S"].to_list() == [
        ["NGC M31IC"],
        [],
        ["abc"],
        ["  x"],
    ]


@pytest.mark.parametrize("width", [2**29, 2**31])
@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_text_wider_than_numpy_has_is_refused_when_it_is_read(width: int) -> None:
    columns = [("TTYPE1", "S"), ("TFORM1", f"{width}A"), ("TTYPE2", "N"), ("TFORM2", "J")]
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", width + 4)]
    cards += [("NAXIS2", 0), ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", 2)]
    table = opened(empty_primary() + header([*cards, *columns]))
    assert table.read("N")["N"].tolist() == []
    with pytest.raises(tf.TachyfitsError, match="an array of NumPy"):
        table.read("S")
    assert "0 rows of 2 columns" in repr(table)


def test_strings_of_the_heap_elsewhere(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    table = opened(in_the_heap("(3,4)", STORED))
    arrow = table.to_arrow()
    assert arrow["S"].to_pylist() == STRINGS
    assert arrow.schema.field("S").type == pa.large_list(pa.large_string())
    astropy = table.to_astropy()
    assert [list(cell) for cell in astropy["S"]] == STRINGS
    table.write(tmp_path / "s.csv")
    text = (tmp_path / "s.csv").read_text()
    assert text == 'S\nNGC  M3 1IC \n""\nabc\n  x  ab\n'


def test_strings_of_the_heap_are_written_to_the_heap(tmp_path: Path) -> None:
    table = opened(in_the_heap("(3,4)", STORED))
    path, again = tmp_path / "copy.fits", tmp_path / "again.fits"
    table.write(path)
    tf.write(again, table.read())
    streamed = tmp_path / "streamed.fits"
    tf.write(streamed, table.to_arrow())
    for written in (path, again, streamed):
        with tf.open(written) as file:
            assert file[1].header["TDIM1"] == "(3,4)", written
            assert file[1]["S"].to_list() == STRINGS
            assert not [f for f in file.verify() if f.severity == "error"]


def test_cells_of_strings_in_the_heap_are_edited(tmp_path: Path) -> None:
    path = tmp_path / "s.fits"
    path.write_bytes(in_the_heap("(3,2)", [b"abcdef", b"ghi"]))
    with tf.edit(path) as editor:
        editor[1].update("S", values=[["x", "yz"], ["uvw", ""]])
    assert tf.open(path)[1]["S"].to_list() == [["x", "yz"], ["uvw", ""]]
    with pytest.raises(tf.UsageError, match="3, as TDIM says"), tf.edit(path) as editor:
        editor[1].update("S", values=[["x", "wxyz"], ["uvw", ""]])


#: Fields of strings with blanks between them as they are stored, and the strings.
FIELDS = [b"NGC M31 \0jun", b"\0 no string ", b"one string..", b"    \0 after."]
DIVIDED = [["NGC", "M31", ""], [], ["one", "string.."], ["", "", "", "", ""]]


def in_fields(form: str = "12A:SSTR8/032", fields: list[bytes] | None = None) -> tf.Table:
    return opened(binary_table([Made("S", form, fields or FIELDS, None)]))


def test_delimiters_divide_fields_into_strings() -> None:
    table = in_fields()
    assert table.column("S").delimiter == " "
    assert table.column("S").type_text == "text of any length[any]"
    found = table.read()["S"]
    assert isinstance(found, tf.Ragged)
    assert found.to_list() == DIVIDED
    assert found[0].tolist() == DIVIDED[0]
    assert table.read("S", rows=[2, 0])["S"].to_list() == [DIVIDED[2], DIVIDED[0]]
    assert table.read(raw=True)["S"].tolist() == FIELDS
    assert [batch["S"].to_list() for batch in table.batches(rows=3, reuse=True)] == [
        DIVIDED[:3],
        DIVIDED[3:],
    ]
    assert table.to_arrow()["S"].to_pylist() == DIVIDED


@pytest.mark.parametrize("form", ["12A:SSTR8/32", "12A:SSTR99/032", "12A:SSTR0/032"])
def test_the_width_in_the_form_is_advice(form: str) -> None:
    assert in_fields(form)["S"].to_list() == DIVIDED


@pytest.mark.parametrize("form", ["12A:SSTR8/000", "12A:SSTR8/x", "12A:SSTR8/300", "12A:SSTR/032"])
def test_an_invalid_delimiter_leaves_one_string(form: str) -> None:
    assert in_fields(form)["S"].tolist() == ["NGC M31", "", "one string..", ""]


def test_a_delimiter_that_is_not_printable_is_warned_of() -> None:
    table = in_fields("12A:SSTR8/031", [b"a\x1fb\0"])
    with pytest.warns(tf.TachyfitsWarning, match="SSTR8/031"):
        assert table["S"].to_list() == [["a", "b"]]


def test_divided_strings_are_written_divided(tmp_path: Path) -> None:
    table = in_fields()
    copy = tmp_path / "copy.fits"
    table.write(copy)
    cards = tf.open(copy)[1].header
    # A copy keeps the form of the file; new tables state it by TSSTRn.
    assert (cards["TFORM1"], "TSSTR1" in cards) == ("12A:SSTR8/032", False)
    assert tf.open(copy)[1].read(raw=True)["S"].tolist() == FIELDS
    for number, data in enumerate((table.read(), table.to_arrow(), {"S": DIVIDED})):
        path = tmp_path / f"{number}.fits"
        tf.write(path, data)
        with tf.open(path) as file:
            assert file[1].header["TFORM1"] == "13A"
            assert file[1].header["TSSTR1"] == "SSTR8/124"
            assert file[1]["S"].to_list() == DIVIDED
            assert not [f for f in file.verify() if f.severity == "error"]


def test_the_delimiter_occurs_in_no_string(tmp_path: Path) -> None:
    bands = [["a|b", "c;d"], [], ["e"]]
    tf.write(tmp_path / "s.fits", {"S": bands})
    table = tf.open(tmp_path / "s.fits")[1]
    assert (table.column("S").delimiter, table["S"].to_list()) == (",", bands)


def test_a_single_empty_string_is_not_an_empty_list(tmp_path: Path) -> None:
    tf.write(tmp_path / "s.fits", {"S": [["a", "b"], [""], [], [" "], ["", ""]]})
    cells = [["a", "b"], [""], [], [""], ["", ""]]
    assert tf.open(tmp_path / "s.fits")[1]["S"].to_list() == cells
    tf.write(tmp_path / "t.fits", tf.open(tmp_path / "s.fits")[1].read())
    assert tf.open(tmp_path / "t.fits")[1]["S"].to_list() == cells


def test_divided_strings_are_edited(tmp_path: Path) -> None:
    path = tmp_path / "s.fits"
    path.write_bytes(binary_table([Made("S", "12A:SSTR8/032", FIELDS, None)]))
    with tf.edit(path) as editor:
        editor[1].update("S", [["a", "bc", "def", "ghi"], ["jkl"]], rows=[0, 1])
        editor[1].update("S", "m n", rows=[3])
    wanted = [["a", "bc", "def", "ghi"], ["jkl"], ["one", "string.."], ["m", "n"]]
    assert tf.open(path)[1]["S"].to_list() == wanted
    for cells in ([["a", "b c"]], [["abc", "def", "ghi", "jkl"]]):
        with pytest.raises(tf.UsageError), tf.edit(path) as editor:
            editor[1].update("S", cells, rows=[0])


def test_cells_without_strings_are_put_where_dimensions_divide_text(tmp_path: Path) -> None:
    path = tmp_path / "text.fits"
    path.write_bytes(in_the_heap("(3,4)", STORED))
    with tf.edit(path) as editor:
        for nothing in ([[]], [None], [[], []]):
            editor[1].append({"S": nothing})
        editor[1].update("S", None, rows=[0])
    assert tf.open(path)[1]["S"].to_list() == [[], *STRINGS[1:], [], [], [], []]


@pytest.mark.parametrize("width", [10**9, 4 * 10**12])
def test_strings_are_not_filled_up_to_a_width_that_memory_does_not_hold(
    tmp_path: Path, width: int
) -> None:
    path = tmp_path / "text.fits"
    path.write_bytes(in_the_heap(f"({width},2)", STORED))
    place = r"text.fits: HDU 1 \(0-based\), column 'S' .*\[memory\]\nhint: "
    with pytest.raises(tf.LimitError, match=place) as caught, tf.edit(path) as editor:
        editor[1].update("S", [["ab", "cd"]], rows=[0])
    assert caught.value.code == "memory"
