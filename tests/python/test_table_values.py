"""How values of NumPy, lists and other libraries become columns of FITS; nothing is read here."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tachyfits as tf
from tachyfits.interop.to_columns import to_columns
from tachyfits.table.values import column_data

pytestmark = pytest.mark.once

TEXT = getattr(np.dtypes, "StringDType", lambda **_: object)

LEAST = {np.dtype(f"i{n}"): np.iinfo(f"i{n}").min for n in (1, 2, 4, 8)}


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_keep_their_type(kind: str, order: str) -> None:
    values = np.array([0, 1, 100], order + kind)
    made = column_data("A", values)
    assert made.values.dtype == np.dtype(kind)
    assert made.values.dtype.isnative
    np.testing.assert_array_equal(made.values, values)
    assert made.null is None


@given(hnp.arrays(st.sampled_from(["i1", "u1", "i2", "u4", "i8", "u8"]), 20), st.data())
def test_the_null_of_masked_integers_is_undefined(values: np.ndarray, data: st.DataObject) -> None:
    mask = data.draw(hnp.arrays(np.bool_, 20))
    made = column_data("A", np.ma.MaskedArray(values, mask=mask))
    if not mask.any():
        assert made.null is None
        return
    assert made.null not in values[~mask].tolist()
    np.testing.assert_array_equal(np.asarray(made.values) == made.null, mask)
    np.testing.assert_array_equal(np.asarray(made.values)[~mask], values[~mask])
    np.testing.assert_array_equal(made.undefined, mask)


def test_a_null_is_found_among_almost_all_bytes_and_refused_among_all() -> None:
    every = np.arange(256).astype("u1")
    values = np.ma.MaskedArray(every, mask=every == 77)
    assert column_data("A", values).null == 77
    with pytest.raises(tf.UsageError, match="wider type"):
        column_data(
            "A", np.ma.MaskedArray(np.append(every, [0]).astype("u1"), mask=[0] * 256 + [1])
        )


@pytest.mark.parametrize("kind", ["i4", "u4", "i8", "u8"])
def test_a_null_is_found_below_any_number_of_the_greatest(kind: str) -> None:
    limits = np.iinfo(kind)
    great = [limits.max - n for n in range(100)]
    values = np.ma.MaskedArray(np.array([0, limits.min, *great], kind), mask=[1] + [0] * 101)
    assert column_data("A", values).null == limits.max - 100


def test_a_null_that_is_given_must_fit_and_be_free() -> None:
    masked = np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0], dtype="i2")
    assert column_data("A", masked, null=-99).values.tolist() == [1, -99, 3]
    with pytest.raises(tf.UsageError, match="occurs"):
        column_data("A", masked, null=3)
    with pytest.raises(tf.UsageError, match="expected int16"):
        column_data("A", masked, null=40000)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.ma.MaskedArray([1.0, 2.0], mask=[0, 1]), [1.0, np.nan]),
        (np.ma.MaskedArray([1j, 2j], mask=[0, 1]), [1j, complex(np.nan, 0)]),
        ([1.5, None], [1.5, np.nan]),
    ],
)
def test_undefined_floats_are_nan(values: Any, expected: list[complex]) -> None:
    made = column_data("A", values).values
    np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
    assert made[0] == expected[0]


def test_undefined_truth_values_are_kept_beside() -> None:
    made = column_data("A", [True, None, False])
    assert made.undefined is not None
    assert made.undefined.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "bcd", ""], [b"a", b"bcd", b""]),
        ([b"a", b"bcd"], [b"a", b"bcd"]),
        (["a", None], [b"a", b""]),
        (np.array(["x", "yy"], object), [b"x", b"yy"]),
        (np.array([["a", "b"], ["c", "d"]]), [[b"a", b"b"], [b"c", b"d"]]),
        (np.array(["2026-11-21", "NaT"], "M8[D]"), [b"2026-11-21", b""]),
        (np.array(["a", None], TEXT(na_object=None)), [b"a", b""]),
        (np.array([["a", np.nan]], TEXT(na_object=np.nan)), [[b"a", b""]]),
        (np.ma.MaskedArray(np.array(["a", "bcd"], TEXT()), mask=[0, 1]), [b"a", b""]),
        ([datetime.datetime(2026, 1, 2, 3, 4, 5)], [b"2026-01-02T03:04:05.000000"]),
    ],
)
def test_text_and_dates(values: Any, expected: list[bytes]) -> None:
    made = column_data("A", values).values
    assert made.dtype.kind == "S"
    assert made.tolist() == expected


def test_durations_are_seconds() -> None:
    made = column_data("A", np.array([1500, "NaT"], "m8[ms]"))
    assert made.unit == "s"
    np.testing.assert_array_equal(made.values, [1.5, np.nan])


def test_half_precision_is_widened() -> None:
    assert column_data("A", np.array([0.5], "f2")).values.dtype == np.float32


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (["caf\xe9"], "row 0"),
        (["ok", "tab\t"], "row 1"),
        ([b"a\xff"], "row 0"),
        (np.array([1, 2], "g"), "float64"),
        ([1, "a", object()], "FITS columns cannot store"),
        ([2**70, 1], "64 bits|FITS columns cannot store"),
        (5, "single value"),
        ([["a"], [["b"], ["c"]]], "one axis"),
        ([True, 3.5, None, "x"], "FITS columns cannot store"),
    ],
)
def test_types_that_fits_lacks_are_refused(values: Any, word: str) -> None:
    with pytest.raises(tf.UsageError, match=word) as caught:
        column_data("STAR", values)
    assert "'STAR'" in str(caught.value)
    assert "\nhint: " in str(caught.value)


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([BIG, 2**63], "u8"),
        ([1, 2**63, None], "u8"),
        ([[1, 2], [2**63, BIG]], "u8"),
        ([[1, 2**63], [None, BIG]], "u8"),
        (np.array([2**63, BIG], object), "u8"),
        ([np.int64(-1), np.uint64(BIG)], "i8"),
        ([np.int64(1), np.uint64(2)], "i8"),
        ([BIG, np.ma.masked], "i8"),
        ([np.ma.MaskedArray([BIG, 1], mask=[0, 1]), np.array([1, 2])], "i8"),
        ([[BIG], [2**63, 1]], "u8"),
        ([[BIG, None], [-1]], "i8"),
        ([np.array([-1]), np.array([5, BIG], "u8")], "i8"),
        ([2**53, 0.5], "f8"),
        ([[2**60], [1.5, 2]], "f8"),
        ([np.array([2**60, -(2**63)]), np.array([1.5])], "f8"),
        ([1e300, 1], "f8"),
    ],
    ids=str,
)
def test_integers_stay_exact_beside_other_values(values: Any, kind: str) -> None:
    made = column_data("A", values)
    assert made.values.dtype == kind
    whole = isinstance(made.values, tf.Ragged)
    found = np.ma.MaskedArray(made.values.values if whole else made.values, mask=made.undefined)
    expected = np.concatenate([np.atleast_1d(objects(cells)) for cells in values])
    assert found.reshape(-1).tolist() == expected.tolist()


def objects(cells: Any) -> Any:
    """The same without a type of NumPy's, undefined ones as None."""
    if cells is np.ma.masked:
        return None
    return np.array(cells.tolist() if isinstance(cells, np.ndarray) else cells, object)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([-1, 2**63], "-1 and 9223372036854775808"),
        ([-1, None, 2**63], "-1 and 9223372036854775808"),
        ([2**64], "18446744073709551616 needs more than 64 bits"),
        ([-(2**63) - 1, 1.5], "64 bits"),
        ([BIG, 0.5], f"{BIG} is among floats"),
        ([BIG, float("nan")], "None where undefined"),
        ([1j, BIG], f"{BIG} is among floats"),
        ([[BIG], [0.5, 1.0]], f"{BIG} is among floats"),
        ([np.array([BIG]), np.array([0.5, 1.0])], f"{BIG} is among floats"),
        ([np.array([-1]), np.array([1, 2**63], "u8")], "-1 and 9223372036854775808"),
        ([1, "x"], "int, str"),
        ([[True, "x"]], "bool, str"),
    ],
    ids=str,
)
def test_values_that_numpy_would_change_are_refused(values: Any, word: str) -> None:
    with pytest.raises(tf.UsageError, match=word) as caught:
        column_data("STAR", values)
    assert "'STAR'" in str(caught.value)


@pytest.mark.parametrize(
    "values", [[1e18, 2e18, np.inf], [[1e18], [np.float32(2)]], [1e18 + 1j, 0.5]], ids=str
)
def test_large_floats_are_checked_quickly(values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("tachyfits.table.cells._of_objects")
    np.testing.assert_array_equal(column_data("A", values).values, np.array(values))


def test_undefined_integers_are_not_rounded() -> None:
    cells = [np.ma.MaskedArray([2**60, BIG], mask=[0, 1]), np.array([1.5])]
    np.testing.assert_array_equal(column_data("A", cells).values.values, [2**60, np.nan, 1.5])


def test_undefined_cells_of_a_list_are_not_text() -> None:
    assert column_data("A", ["a", np.ma.masked]).values.tolist() == [b"a", b""]


def test_lists_of_numbers_are_taken_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("tachyfits.table.cells.joined")
    for cells, expected in (
        ([[1, 2], None, (3,), []], [[1, 2], [], [3], []]),
        ([[1, None], [2.5]], [[1.0, None], [2.5]]),
        ([[1j], [2, 3]], [[1j], [2, 3]]),
        ([[], [None]], [[], [None]]),
    ):
        made = column_data("A", cells).values
        found = [[None if n != n else n for n in cell] for cell in made.to_list()]
        assert found == expected


def test_lists_of_different_lengths_are_ragged() -> None:
    made = column_data("A", [[1, 2], [], [3]])
    assert isinstance(made.values, tf.Ragged)
    assert made.values.to_list() == [[1, 2], [], [3]]
    assert made.values.dtype.kind == "i"


def test_cells_of_several_axes_keep_their_shape_or_are_refused() -> None:
    some = [[[1, 2], [3, 4]], None, np.zeros((0, 2))]
    made = column_data("A", some).values
    assert isinstance(made, tf.Ragged)
    assert [cell.shape for cell in made] == [(2, 2), (0,), (0,)]
    for cells in ([*some[:1], [[1, 2]]], [np.ones((2, 2)), np.ones(4)]):
        with pytest.raises(tf.UsageError, match=r"'A'.*\(2, 2\)"):
            column_data("A", cells)
        with pytest.raises(tf.UsageError, match="one shape"):
            tf.Ragged.from_cells(cells)


def test_lists_of_one_length_are_an_axis_more() -> None:
    assert column_data("A", [[1, 2], [3, 4]]).values.shape == (2, 2)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=8), st.data())
def test_ragged_is_a_sequence_of_arrays(cells: list[list[int]], data: st.DataObject) -> None:
    ragged = tf.Ragged.from_cells(cells, "i4")
    assert ragged.to_list() == cells
    assert [cell.tolist() for cell in ragged] == cells
    part = data.draw(st.slices(len(cells)))
    assert ragged[part].to_list() == cells[part]
    assert ragged[part].compact().to_list() == cells[part]
    if cells:
        rows = data.draw(st.lists(st.integers(0, len(cells) - 1)))
        assert ragged.take(np.array(rows, int)).to_list() == [cells[row] for row in rows]


def test_ragged_offsets_are_checked() -> None:
    for offsets in ([0, 3], [1, 0], [-1, 1], []):
        with pytest.raises(tf.UsageError):
            tf.Ragged(offsets, np.zeros(2))
    with pytest.raises(IndexError):
        tf.Ragged([0, 1], [5.0])[1]


@pytest.mark.parametrize("cell", ["A", None, 0.0, True, [0]])
def test_a_cell_is_chosen_by_an_integer(cell: Any) -> None:
    with pytest.raises(tf.UsageError, match=r"invalid cell .*: expected an integer"):
        tf.Ragged([0, 1, 1], [5.0])[cell]


def test_cells_are_chosen_by_numbers_or_a_mask() -> None:
    ragged = tf.Ragged([0, 1, 1, 3], [5, 6, 7])
    assert ragged.take([-1, 0]).to_list() == [[6, 7], [5]]
    assert ragged.take([True, False, True]).to_list() == [[5], [6, 7]]
    with pytest.raises(tf.UsageError, match="no row 3"):
        ragged.take([3])


def everything() -> tf.Columns:
    """Columns of every kind that goes through every library."""
    masked = np.ma.MaskedArray([1, 2**60 + 1, 3], mask=[0, 0, 1], dtype="i8")
    return tf.Columns(
        {
            "whole": np.arange(3, dtype="u2"),
            "masked": masked,
            "number": np.array([0.1, np.nan, -0.0], "f4"),
            "truth": np.array([True, False, True]),
            "maybe": np.ma.MaskedArray([True, False, True], mask=[1, 0, 0]),
            "text": np.array(["x", "", "yy"]),
            "cell": np.arange(12.0).reshape(3, 2, 2),
            "ragged": tf.Ragged.from_cells([[1, 2], [], [3]], "i2"),
        }
    )


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tf.Ragged):
        assert isinstance(found, tf.Ragged)
        assert found.dtype == expected.dtype
        assert found.to_list() == expected.to_list()
        return
    assert found.shape == expected.shape
    np.testing.assert_array_equal(
        np.ma.filled(found, 0), np.ma.filled(expected, 0).astype(found.dtype)
    )


def through(library: str, columns: tf.Columns) -> Any:
    if library == "pyarrow":
        return columns.to_arrow()
    if library == "pandas":
        return columns.to_pandas()
    if library == "polars":
        return columns.to_polars()
    return columns.to_structured() if library == "numpy" else columns.to_astropy()


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars", "astropy", "numpy"])
def test_columns_survive_other_libraries(library: str) -> None:
    pytest.importorskip(library, reason=f"LEFT OUT: {library} is not installed")
    if library == "polars":
        pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    columns = everything()
    found = {made.name: made for made in to_columns(through(library, columns)).columns}
    assert list(found) == list(columns)
    for name, expected in columns.items():
        made = found[name]
        values = made.values
        if made.null is not None:
            values = np.ma.masked_equal(values, made.null)
        elif made.undefined is not None:
            values = np.ma.MaskedArray(values, mask=made.undefined)
        elif not isinstance(values, tf.Ragged) and values.dtype.kind == "S":
            values = values.astype("U")
        np.testing.assert_array_equal(
            np.ma.getmaskarray(values) if name in ("masked", "maybe") else 0,
            np.ma.getmaskarray(expected) if name in ("masked", "maybe") else 0,
        )
        same(values, expected)


@pytest.mark.parametrize(
    ("units", "expected"),
    [({"A": "deg"}, "deg"), ({"A": u.km / u.s}, "km s-1"), ({"B": "m"}, None), ("metric", None)],
)
def test_units_of_a_frame_are_those_of_its_columns(
    units: Any, expected: str | None, tmp_path: Path
) -> None:
    frame = pytest.importorskip("pandas").DataFrame({"A": [1.0]})
    frame.attrs["units"] = units
    tf.write(tmp_path / "frame.fits", frame)
    assert tf.open(tmp_path / "frame.fits")[1].column("A").unit == expected


def test_complex_numbers_survive_arrow() -> None:
    pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    values = np.array([[1 + 2j, 0], [np.nan, -1j]], "c8")
    (made,) = to_columns(tf.Columns({"Z": values}).to_arrow()).columns
    np.testing.assert_array_equal(made.values, values)
    assert made.values.dtype == np.complex64


def test_arrow_does_not_copy_numbers() -> None:
    pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    values = np.arange(1000.0)
    columns = {
        "A": values,
        "PAIRS": values.reshape(-1, 2),
        "MASKED": np.ma.MaskedArray(values, mask=values == 3),
        "CELLS": tf.Ragged(np.arange(0, 1001, 2), values),
        "C": values.view(np.complex128),
    }
    for name, column in columns.items():
        array = tf.Columns({name: column}).to_arrow()[name].chunk(0)
        addresses = [buffer.address for buffer in array.buffers() if buffer is not None]
        assert values.ctypes.data in addresses, name


def test_astropy_units_masks_and_times() -> None:
    from astropy import units as u
    from astropy.table import MaskedColumn, QTable
    from astropy.time import Time

    table = QTable(meta={"OBSERVER": "Hubble"})
    table["v"] = [1.0, 2.0] * u.km / u.s
    table["n"] = MaskedColumn([1, 2], mask=[False, True], description="a number")
    table["t"] = Time(["2026-11-21T00:00:00", "2026-11-22T12:00:00.5"])
    v, n, t = to_columns(table).columns
    assert (v.unit, v.values.tolist()) == ("km s-1", [1.0, 2.0])
    assert (n.description, n.null is not None) == ("a number", True)
    assert t.values[1] == b"2026-11-22T12:00:00.500"


def test_coordinates_in_one_column_are_refused_with_the_way_out() -> None:
    from astropy.coordinates import SkyCoord

    with pytest.raises(tf.UsageError, match="represent_mixins_as_columns"):
        to_columns({"where": SkyCoord([1, 2], [3, 4], unit="deg")})


def test_tables_of_no_known_kind_and_uneven_ones_are_refused() -> None:
    with pytest.raises(tf.UsageError, match="invalid table of type"):
        to_columns(42)
    with pytest.raises(tf.UsageError, match="different lengths"):
        to_columns({"a": [1, 2], "b": [1]})


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([["a", "bcd"], ["e"], None, []], [[b"a", b"bcd"], [b"e"], [], []]),
        ([["a", None], ["e"], [None]], [[b"a", b""], [b"e"], [b""]]),
        ([("a", "b"), ["c", None]], [[b"a", b"b"], [b"c", b""]]),
    ],
)
def test_lists_of_text_are_taken_all_at_once(
    cells: list[Any], expected: list[list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("tachyfits.table.cells.joined")
    values = column_data("S", cells).values
    found = values.to_list() if isinstance(values, tf.Ragged) else values.tolist()
    assert (found, values.dtype.kind) == (expected, "S")
