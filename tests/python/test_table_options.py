"""Every option of writing with every type and number of rows: what is written, others read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import fitsio
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

#: Per form the values of three rows.
BINARY: dict[str, Any] = {
    "L": np.array([True, False, True]),
    "3L": np.array([[True, False, True]] * 3),
    "11X": np.arange(33).reshape(3, 11) % 3 == 0,
    "B": np.array([0, 7, 255], "u1"),
    "I": np.array([-32768, 0, 5], "i2"),
    "J": np.array([-5, 0, 2**31 - 1], "i4"),
    "K": np.array([-(2**63), 0, 2**62]),
    "2J": np.arange(6, dtype="i4").reshape(3, 2),
    "6J": np.arange(18, dtype="i4").reshape(3, 2, 3),
    "E": np.array([0.5, -1.0, 3.0], "f4"),
    "D": np.array([0.1, -1.0, 1e300]),
    "3E": np.arange(9, dtype="f4").reshape(3, 3),
    "C": np.array([1 + 2j, 0, -1j], "c8"),
    "M": np.array([1 + 2j, 0, -1j], "c16"),
    "1A": np.array(["a", "", "z"]),
    "20A": np.array(["alpha", "", "x y"]),
    "12A": np.array([["a", "bcd"], ["", "e"], ["fgh", ""]]),
    "PB": [[1, 2], [], [255]],
    "PJ": [[1, 2], [], [3]],
    "QJ": [[1, 2], [], [3]],
    "PE": [[0.5], [], [1.5, -2.0]],
    "QD": [[0.5], [], [1.5, -2.0]],
    "PC": [[0.5 + 1j], [], [1.5, -2.0]],
    "PL": [[True], [], [False, True]],
    "PX": [[True], [], [False, True]],
    "PA": ["alpha", "", "x y"],
    "QA": ["alpha", "", "x y"],
}
ASCII: dict[str, Any] = {
    "A9": np.array(["alpha", "", "x y"]),
    "I6": np.array([-5, 0, 99]),
    "F4.0": np.array([1.0, -2.0, 25.0]),
    "F9.3": np.array([1.5, -2.125, 25.0]),
    "E16.8": np.array([0.5, -1.0, 3.0], "f4"),
    "D25.16": np.array([0.1, -1.0, 1e300]),
    "E12.0": np.array([1.0, -2.0, 30.0]),
}
FORMS = [("binary", form) for form in BINARY] + [("ascii", form) for form in ASCII]

#: Options of columns, by name.
OPTIONS: list[dict[str, Any]] = [
    {},
    {"units": {"N": "km s-1"}, "descriptions": {"N": "what it is " * 12}},
    {"nulls": {"N": 77}},
    {"checksum": True, "name": "STARS", "header": {"OBJECT": "M 31"}},
]


def _values(kind: str, form: str, rows: int, is_list: bool) -> Any:
    whole = (BINARY if kind == "binary" else ASCII)[form]
    some = whole[:rows]
    return some if not is_list or rows else []


def _cases(kind: str, form: str) -> Iterator[tuple[int, bool, dict[str, Any], bool]]:
    integer = form[-1] in "BIJK" or form[0] == "I"
    for rows, is_list, options in product((0, 1, 3), (False, True), OPTIONS):
        if "nulls" in options and not integer:
            continue
        for compress in (False, True) if kind == "binary" else (False,):
            yield rows, is_list, options, compress


def _plain(values: Any) -> list[Any]:
    def of(cell: Any) -> Any:
        if isinstance(cell, np.ma.core.MaskedConstant):
            return None
        if isinstance(cell, (bytes, str)):
            text = cell.decode() if isinstance(cell, bytes) else cell
            return text.rstrip()
        if isinstance(cell, (np.ndarray, list, tuple)):
            return [of(each) for each in cell]
        return cell.item() if hasattr(cell, "item") else cell

    return [of(cell) for cell in values]


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_every_option_with_every_form_is_read_back(tmp_path: Path, kind: str, form: str) -> None:
    path = tmp_path / "t.fits"
    for rows, is_list, options, compress in _cases(kind, form):
        values = _values(kind, form, rows, is_list)
        given = dict(options) | ({"compress": tf.Compression()} if compress else {})
        case = (rows, is_list, given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tf.write(
                path, {"N": values, "END": np.zeros(rows, "i2")}, kind=kind, forms={"N": form},
                overwrite=True, **given,
            )  # fmt: skip
            table = tf.open(path)[1]
            assert table.columns[0].form.lstrip("1").partition("(")[0] == form.lstrip("1"), case
            assert len(table) == rows, case
            read = table["N"]
        found = read.to_list() if hasattr(read, "to_list") else read
        assert _plain(found) == _plain(values), case
        assert table["END"].tolist() == [0] * rows
        assert {each.severity for each in tf.verify(path)} <= {"advice"}, case
        column = table.columns[0]
        assert column.unit == options.get("units", {}).get("N"), case
        assert column.description == options.get("descriptions", {}).get("N", "").strip(), case
        null = options.get("nulls", {}).get("N")
        assert column.null == (null if kind == "binary" or null is None else str(null)), case
        if not compress:
            _read_by_others(path, form, rows, values, case)


def _read_by_others(path: Path, form: str, rows: int, values: Any, case: Any) -> None:
    # astropy has no bits in the heap.
    if form != "PX":
        with fits.open(path, checksum=True) as theirs:
            data = theirs[1].data
            assert len(data) == rows, case
            if rows:
                cells = _plain(data["N"])
                text = form in ("PA", "QA")
                # astropy takes a blank for a character without text.
                right = [cell.replace(" ", "") if text else cell for cell in _plain(values)]
                assert (["".join(cell) for cell in cells] if text else cells) == right, case
    # fitsio gives the bits of a cell as numbers, and reads no arrays of truth values.
    if rows and form[-1] not in "XL" and form != "PC":
        with fitsio.FITS(str(path)) as file:
            read = file[1].read(columns=["N"], vstorage="object")["N"]
            assert _plain(read) == _plain(values), case


@pytest.mark.parametrize("form", [form for form in BINARY if form not in ("6J", "12A")])
def test_a_column_without_rows_is_added_to_a_table(tmp_path: Path, form: str) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": np.zeros(0, "i4")})
    with tf.edit(path) as editor:
        editor[1].add_column("N", [], form=form)
        values = BINARY[form]
        editor[1].append({"A": [1, 2, 3], "N": values})
    read = tf.open(path)[1]["N"]
    found = read.to_list() if hasattr(read, "to_list") else read
    assert _plain(found) == _plain(values)


def test_masked_values_of_every_type_are_undefined_again(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    for form, values in BINARY.items():
        if isinstance(values, list) or form == "11X":
            continue
        mask = np.zeros(values.shape, bool)
        mask[1] = True
        for given in ({}, {"forms": {"N": form}}):
            tf.write(path, {"N": np.ma.array(values, mask=mask)}, overwrite=True, **given)
            read = np.ma.asarray(tf.open(path)[1]["N"])
            if read.dtype.kind == "U":
                assert not any(np.ravel(read[1]).tolist()), form
            else:
                numbers = read.dtype.kind in "fc"
                undefined = np.isnan(read.data) if numbers else np.ma.getmaskarray(read)
                assert np.array_equal(undefined, mask), form


def test_the_null_of_a_column_without_rows_needs_integers(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    for kind, form in (("binary", "J"), ("ascii", "I6")):
        tf.write(path, {"N": []}, kind=kind, forms={"N": form}, nulls={"N": -9}, overwrite=True)
        assert fits.getheader(path, 1)["TNULL1"] in (-9, "-9")
    with pytest.raises(tf.UsageError, match="no null of its own"):
        tf.write(path, {"N": []}, nulls={"N": -9}, overwrite=True)
    with pytest.raises(tf.UsageError, match="column 'N'"):
        tf.write(path, {"N": []}, forms={"N": "B"}, nulls={"N": -900}, overwrite=True)
    with pytest.raises(tf.UsageError, match="column 'N'"):
        tf.write(path, {"N": []}, forms={"N": "E"}, nulls={"N": -9}, overwrite=True)
