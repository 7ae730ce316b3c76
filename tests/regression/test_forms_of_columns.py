"""Requested forms, lists without elements, and undefined values for other readers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table as AstropyTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tachyfits as tf

fitsverify = pytest.mark.skipif(shutil.which("fitsverify") is None, reason="fitsverify is missing")


def _checked(path: Path) -> str:
    said = subprocess.run(["fitsverify", str(path)], capture_output=True, text=True).stdout
    assert "0 warning(s) and 0 error(s)" in said, said
    return said


def _complaints(path: Path) -> list[str]:
    said = subprocess.run(["fitsverify", str(path)], capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if line.startswith("***") and "ication" not in line]


def _written(path: Path, values: Any, form: str, **options: Any) -> Any:
    tf.write(path, {"A": values}, forms={"A": form}, overwrite=True, **options)
    assert tf.verify(path).ok
    return tf.open(path)[1]


@pytest.mark.parametrize(
    ("values", "form", "stored", "zero"),
    [
        ([1, 2, 300], "J", "1J", None),
        ([1, 2, 300], "1i", "1I", None),
        ([0, 255], "B", "1B", None),
        ([-5, 100], "B", "1B", -128),
        ([0, 60000], "I", "1I", 32768),
        ([1.0, 2.0], "J", "1J", None),
        ([1, 2], "E", "1E", None),
        ([1, 2], "D", "1D", None),
        ([1.5, 2.5], "M", "1M", None),
        ([[1, 2], [3, 4]], "2I", "2I", None),
        ([[1, 2], [3, 4]], "PJ", "1PJ(2)", None),
        ([[1, 2], [3, 4]], "QJ(9)", "1QJ(2)", None),
        ([[1], [2, 3]], "1QE", "1QE(2)", None),
        ([1, 2], "PI", "1PI(1)", None),
        ([[True, False, True]] * 2, "3X", "3X", None),
        ([[True], [False, True]], "PL", "1PL(2)", None),
        (["a", "bcd"], "20A", "20A", None),
        (["a", "b c d"], "PA", "1PA(5)", None),
        (["a", "b c d"], "QA", "1QA(5)", None),
        ([["a", "bb"], ["c", "d"]], "10A", "10A", None),
    ],
)
def test_forms_of_binary_tables(
    tmp_path: Path, values: list[Any], form: str, stored: str, zero: int | None
) -> None:
    table = _written(tmp_path / "a.fits", values, form)
    assert table.header["TFORM1"] == stored
    assert table.header.get("TZERO1") == zero
    found = table["A"]
    back = found.to_list() if isinstance(found, tf.Ragged) else found.tolist()
    if stored == "1PI(1)":
        values = [[value] for value in values]
    assert back == values


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([1, 70000], "I"),
        ([-1, 40000], "I"),
        ([1.5], "J"),
        ([1e300], "E"),
        ([2**53 + 1], "D"),
        ([1 + 2j], "D"),
        (["abc"], "2A"),
        (["abc"], "J"),
        ([1], "A"),
        ([[1], [1, 2]], "2J"),
        ([[1, 2]], "3J"),
        ([1], "PPJ"),
        ([1], "F8.3"),
        ([1], "2PJ"),
        ([True], "I"),
        ([1.0, np.nan], "J"),
    ],
)
def test_values_that_a_form_does_not_hold_are_refused(
    tmp_path: Path, values: list[Any], form: str
) -> None:
    with pytest.raises(tf.UsageError, match="column 'A'"):
        tf.write(tmp_path / "a.fits", {"A": values}, forms={"A": form})
    assert not (tmp_path / "a.fits").exists()


def test_forms_keep_undefined_values(tmp_path: Path) -> None:
    table = _written(tmp_path / "a.fits", [1, None, 3], "I")
    assert table["A"].tolist() == [1, None, 3]
    assert table.header["TNULL1"] == -32768
    table = _written(tmp_path / "a.fits", [1, None, 3], "I", nulls={"A": -1})
    assert (table["A"].tolist(), table.header["TNULL1"]) == ([1, None, 3], -1)
    table = _written(tmp_path / "a.fits", [1, None, 3], "E")
    np.testing.assert_array_equal(table["A"], np.array([1, np.nan, 3], "f4"))
    table = _written(tmp_path / "a.fits", [[1, None], [3]], "PI")
    assert table["A"].to_list() == [[1, None], [3]]
    assert _written(tmp_path / "a.fits", [None, None], "J")["A"].tolist() == [None, None]
    table = _written(tmp_path / "a.fits", [1.5, None], "E")
    np.testing.assert_array_equal(table["A"], np.array([1.5, np.nan], "f4"))


def test_columns_of_lists_without_elements_are_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    for values in ([[], []], [[]], [(), ()], [[], None], [np.zeros(0), np.zeros(0)]):
        tf.write(path, {"A": values, "N": range(len(values))}, overwrite=True)
        table = tf.open(path)[1]
        assert table.header["TFORM1"] == "1PD(0)"
        assert table["A"].to_list() == [[]] * len(values)
    tf.write(path, {"A": [np.zeros(0, "i2")] * 2}, overwrite=True)
    assert tf.open(path)[1].header["TFORM1"] == "1PI(0)"
    with tf.edit(path) as editor:
        editor[1].append({"A": [[1, 2, 3]]})
    assert tf.open(path)[1]["A"].to_list() == [[], [], [1, 2, 3]]
    tf.write(path, {"A": np.zeros((2, 0))}, overwrite=True)
    assert tf.open(path)[1].header["TFORM1"] == "0D"


STRINGS = [["ab", "c"], [], ["d", "efg", "h"]]


@fitsverify
def test_lists_of_strings_are_plain_text_to_others(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    tf.write(path, {"S": STRINGS, "N": [1, 2, 3]}, checksum=True)
    _checked(path)
    assert fits.getheader(path, 1)["TFORM1"] == "8A"
    assert fits.getdata(path)["S"].tolist() == ["ab|c", "", "d|efg|h"]
    assert AstropyTable.read(path)["S"].tolist() == ["ab|c", "", "d|efg|h"]
    with tf.open(path) as file:
        assert file[1]["S"].to_list() == STRINGS
        file[1].write(tmp_path / "b.fits", ["N", "S"])
        tf.write(tmp_path / "c.fits", file[1].to_arrow())
    for name in ("b.fits", "c.fits"):
        _checked(tmp_path / name)
        assert tf.open(tmp_path / name)[1]["S"].to_list() == STRINGS
    with tf.edit(path) as editor:
        editor[1].delete_column("N")
        editor[1].add_column("M", [1, 2, 3], before="S")
        editor[1].append({"M": [4], "S": [["x", "y"]]})
    _checked(path)
    assert tf.open(path)[1]["S"].to_list() == [*STRINGS, ["x", "y"]]


@fitsverify
def test_old_forms_of_divided_strings_are_read_and_copied(tmp_path: Path) -> None:
    column = fits.Column("S", "8A", array=np.array(["ab|c", "", "d|efg|h"]))
    fits.BinTableHDU.from_columns([column]).writeto(tmp_path / "a.fits")
    content = (tmp_path / "a.fits").read_bytes()
    content = content.replace(b"'8A      '    ", b"'8A:SSTR3/124'")
    (tmp_path / "a.fits").write_bytes(content)
    with tf.open(tmp_path / "a.fits") as file:
        assert file[1]["S"].to_list() == STRINGS
        file[1].write(tmp_path / "b.fits")
    # Some versions of fitsverify refuse the form, in the original too.
    assert _complaints(tmp_path / "b.fits") == _complaints(tmp_path / "a.fits")
    assert tf.open(tmp_path / "b.fits")[1]["S"].to_list() == STRINGS


@fitsverify
@pytest.mark.parametrize("size", [3, 12, 300])
def test_undefined_numbers_of_text_tables_are_numbers(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.fits"
    numbers = np.ma.MaskedArray(np.arange(size), mask=np.arange(size) % 3 == 1)
    floats = np.ma.MaskedArray(np.arange(size) / 2, mask=np.arange(size) % 3 == 1)
    tf.write(path, {"N": numbers, "X": floats}, kind="ascii")
    _checked(path)
    header = fits.getheader(path, 1)
    float(header["TNULL1"]), float(header["TNULL2"])
    assert int(header["TNULL1"]) not in numbers.compressed().tolist()
    with tf.open(path) as file:
        assert file[1]["N"].tolist() == numbers.tolist()
        np.testing.assert_array_equal(file[1]["X"], floats.filled(np.nan))
    if shutil.which("asttable"):
        said = subprocess.run(["asttable", str(path), "-h1"], capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        assert len(said.stdout.strip().splitlines()) == size


@pytest.mark.parametrize(
    ("values", "forms", "nulls", "text"),
    [
        ([1, None, 9], {"N": "I1"}, None, "8"),
        ([1, None, 9], {"N": "I4"}, None, "-999"),
        ([1, None, 9], {"N": "I4"}, {"N": -1}, "-1"),
        ([-99, None, 9], {"N": "I3"}, None, "999"),
        ([*range(10), None], None, None, "-9"),
    ],
)
def test_the_number_for_undefined_ones_is_free(
    tmp_path: Path, values: list[Any], forms: Any, nulls: Any, text: str
) -> None:
    tf.write(tmp_path / "a.fits", {"N": values}, kind="ascii", forms=forms, nulls=nulls)
    table = tf.open(tmp_path / "a.fits")[1]
    assert (table.header["TNULL1"], table["N"].tolist()) == (text, values)


def test_no_free_number_is_refused_with_the_way_out(tmp_path: Path) -> None:
    values = [*range(10), None]
    with pytest.raises(tf.UsageError, match=r"forms=.'N': .I2"):
        tf.write(tmp_path / "a.fits", {"N": values}, kind="ascii", forms={"N": "I1"})


def test_columns_that_rows_lack_can_be_undefined(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    data = {
        "N": [1, None], "X": [1.5, 2.5], "S": ["a", "b"], "L": [True, None], "V": [[1], [2, 3]],
        "W": [[1.0, 2.0]] * 2, "T": [["a", "b"], []],
    }  # fmt: skip
    tf.write(path, data)
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageKeyError, match="fill_missing=True"):
            editor[1].append({"X": [3.5]})
        editor[1].append({"X": [3.5, 4.5]}, fill_missing=True)
        editor[1].insert(0, {"S": ["first"[:1]], "N": [7]}, fill_missing=True)
        with pytest.raises(tf.UsageKeyError, match="have unknown columns: Q"):
            editor[1].append({"Q": [1]}, fill_missing=True)
    table = tf.open(path)[1]
    assert table["N"].tolist() == [7, 1, None, None, None]
    np.testing.assert_array_equal(table["X"], [np.nan, 1.5, 2.5, 3.5, 4.5])
    assert table["S"].tolist() == ["f", "a", "b", "", ""]
    assert table["L"].tolist() == [None, True, None, None, None]
    assert table["V"].to_list() == [[], [1], [2, 3], [], []]
    assert np.isnan(table["W"][[0, 3, 4]]).all()
    assert table["T"].to_list() == [[], ["a", "b"], [], [], []]


def test_integers_without_null_cannot_be_filled(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", {"N": [1], "X": [1.5]})
    with tf.edit(tmp_path / "a.fits") as editor:
        with pytest.raises(tf.UsageError, match="TNULL"):
            editor[1].append({"X": [3.5]}, fill_missing=True)
        editor[1].header["TNULL1"] = -1
        editor[1].append({"X": [3.5]}, fill_missing=True)
    assert tf.open(tmp_path / "a.fits")[1]["N"].tolist() == [1, None]


def test_longer_text_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    tf.write(path, {"S": ["abc"]})
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match=r"forms=.'S': '6A'"):
        editor[1].append({"S": ["longer"]})
    tf.write(tmp_path / "b.fits", tf.open(path)[1].read(), forms={"S": "6A"})
    with tf.edit(tmp_path / "b.fits") as editor:
        editor[1].append({"S": ["longer"]})
    assert tf.open(tmp_path / "b.fits")[1]["S"].tolist() == ["abc", "longer"]


def _columns() -> st.SearchStrategy[Any]:
    """Give (values, form or None), all that a round trip must keep."""
    rows = 4

    def integers(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
        least = -(2 ** (bits - 1)) if signed else 0
        return st.integers(least, least + 2**bits - 1)

    def lists(element: Any) -> Any:
        return st.lists(element, min_size=rows, max_size=rows)

    number = st.sampled_from([("B", 8, False), ("I", 16, True), ("J", 32, True), ("K", 64, True)])
    text = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=5)
    plain = number.flatmap(
        lambda kind: st.tuples(
            lists(integers(kind[1], signed=kind[2])), st.sampled_from([None, kind[0], "K", "QK"])
        )
    )
    ragged = number.flatmap(
        lambda kind: st.tuples(
            lists(st.lists(integers(kind[1], signed=kind[2]), max_size=3)),
            st.sampled_from(["P" + kind[0], "Q" + kind[0]]),
        )
    )
    missing = st.tuples(
        lists(st.none() | st.integers(0, 200)).filter(any), st.sampled_from([None, "I", "J"])
    )
    floats = st.tuples(lists(st.floats(width=32, allow_nan=False)), st.sampled_from(["E", "D"]))
    texts = st.tuples(lists(text), st.sampled_from([None, "9A", "PA", "QA"]))
    strings = st.tuples(lists(st.lists(text, max_size=3)), st.none())
    return st.one_of(plain, ragged, missing, floats, texts, strings)


@given(st.lists(_columns(), min_size=1, max_size=4))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_tables_come_back(tmp_path: Path, columns: list[Any]) -> None:
    data = {f"C{n}": values for n, (values, _) in enumerate(columns)}
    forms = {f"C{n}": form for n, (_, form) in enumerate(columns) if form}
    path = tmp_path / "a.fits"
    tf.write(path, data, forms=forms, overwrite=True, checksum=True)
    assert tf.verify(path).ok
    with tf.open(path) as file:
        file[1].write(tmp_path / "b.fits", list(data)[::-1], overwrite=True)
        tf.write(tmp_path / "c.fits", file[1].read(), overwrite=True)
    for name in ("a.fits", "b.fits", "c.fits"):
        with tf.open(tmp_path / name) as file:
            for key, values in data.items():
                found = file[1][key]
                back = found.to_list() if isinstance(found, tf.Ragged) else found.tolist()
                if forms.get(key) == "QK" and not isinstance(values[0], list):
                    back = [cell[0] for cell in back]
                assert back == values, (name, key)
    with fits.open(path) as opened:
        for key, values in data.items():
            plain = all(isinstance(value, (int, float)) for value in values)
            if plain and forms.get(key, "")[:1] not in ("P", "Q"):
                assert opened[1].data[key].tolist() == values, key
