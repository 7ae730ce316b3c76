"""Raw-byte edge cases of tables: each rule of the Standard and of files in the wild."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from realfiles import trap

pytestmark = pytest.mark.once

NAN = math.nan
T, F = True, False

#: File, column, type, values (None: undefined), as the Standard means them.
VALUES: list[tuple[str, str, str, Any]] = [
    ("bt_unsigned_null", "U16", "u2", [None, 32768, 65535]),
    ("bt_unsigned_null", "J", "i4", [None, 5, 6]),
    ("bt_logical", "L", "?", [T, F, None, T]),
    ("bt_bits", "X", "?", [[T] + [F] * 9 + [T], [T] * 11]),
    ("bt_str", "S", "U8", ["abc", "abc", ""]),
    ("bt_str_tdim", "S", "U5", [[[f"{4 * j + i:05}" for i in range(4)] for j in range(3)]]),
    ("bt_zero_width", "Z", "f8", [[], []]),
    ("bt_zero_width", "I", "i4", [1, 2]),
    ("bt_tdim_short", "A", "i2", [[[1, 2], [3, 4]]]),
    ("bt_lower_tform", "A", "i4", [9]),
    ("bt_tform_suffix", "A", "f4", [1.5]),
    ("bt_tform_suffix", "B", "i2", [9]),
    ("bt_dup_names", "Time", "i2", [1]),
    ("bt_dup_names", "TIME_2", "i2", [2]),
    ("bt_naxis1_mismatch", "A", "i4", [1, 2]),
    ("bt_norows", "A", "i4", []),
    ("bt_scaled_byte", "B", "i1", [-128, 0, 127]),
    ("bt_no_ttype", "col1", "i4", [1, 3]),
    ("bt_no_ttype", "col2", "i2", [2, 4]),
    ("bt_blank_ttype", "col1", "i4", [1, 3]),
    ("at_mix", "I", "i8", [12, 0, -3]),
    ("at_mix", "D", "f8", [150.0, 1500.0, -0.15]),
    ("at_mix", "F", "f8", [12.345, -0.0, 1.25]),
    ("at_mix", "A", "U3", ["bc", "d", "yz"]),
    ("at_mix", "N", "i8", [None, -7, 4]),
    ("at_overlap", "ALL", "U6", ["x123yz"]),
    ("at_overlap", "P", "i8", [123]),
    ("at_scaled", "I", "f8", [20.0, 8.0]),
]


def opened(name: str, **options: Any) -> tf.Table:
    table = tf.open(trap(name), **options)[1]
    assert isinstance(table, tf.Table)
    return table


@pytest.mark.parametrize(
    ("name", "column", "kind", "values"), VALUES, ids=[f"{v[0]}-{v[1]}" for v in VALUES]
)
def test_values(name: str, column: str, kind: str, values: Any) -> None:
    found = opened(name)[column]
    assert found.dtype == np.dtype(kind)
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(found, values)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(values))
    else:
        assert found.tolist() == values


def test_complex_scaling_moves_the_real_part_alone() -> None:
    found = opened("bt_complex")["C"]
    assert found.dtype == np.complex128
    assert found[0] == 12 + 4j
    assert np.isnan(found[1])


#: File, type of the elements, cells.
ARRAYS: list[tuple[str, str, Any]] = [
    ("bt_vla_gap", "i2", [[1, 2, 3], [4, 5], []]),
    ("bt_vla_alias", "i2", [[2, 3, 4], [1, 2, 3, 4, 5]]),
    ("bt_vla_q_unsigned", "u2", [[0, 32768, 65535]]),
    ("bt_vla_px", "?", [[T] + [F] * 9 + [T]]),
]


@pytest.mark.parametrize(("name", "kind", "cells"), ARRAYS, ids=[a[0] for a in ARRAYS])
def test_arrays_in_the_heap(name: str, kind: str, cells: list[Any]) -> None:
    found = opened(name)[0]
    assert isinstance(found, tf.Ragged)
    assert found.dtype == np.dtype(kind)
    assert found.to_list() == cells


#: File and what the error must name.
ERRORS = [("bt_vla_bad", "row"), ("bt_vla_theap_low", "THEAP")]


@pytest.mark.parametrize(("name", "word"), ERRORS)
def test_descriptors_that_point_nowhere_are_errors(name: str, word: str) -> None:
    table = opened(name)
    with pytest.raises(tf.FormatError, match=word) as caught:
        table[0]
    assert name in str(caught.value)
    assert "\nhint: " in str(caught.value)
    assert name in repr(table)


#: File and what its warning must name.
WARNED = [
    ("bt_naxis1_mismatch", "NAXIS1"),
    ("bt_lower_tform", "TFORM1"),
    ("bt_logical", "'L'"),
]


@pytest.mark.parametrize(("name", "word"), WARNED)
def test_departures_are_warned_of(name: str, word: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opened(name)[0]
    assert any(word in str(warning.message) for warning in caught)
    assert all(issubclass(warning.category, tf.TachyfitsWarning) for warning in caught)


@pytest.mark.parametrize(("name", "word"), WARNED[:2])
def test_strict_refuses_headers_that_are_warned_of(name: str, word: str) -> None:
    with pytest.raises(tf.FormatError, match=word):
        opened(name, strict=True)
    for allowed in ("bt_unsigned_null", "bt_dup_names"):
        assert len(opened(allowed, strict=True)) == len(opened(allowed))
