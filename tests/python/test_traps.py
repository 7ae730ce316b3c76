"""Raw-byte edge cases: each rule of the Standard and of files in the wild, on a file of its own."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from realfiles import trap, traps

pytestmark = pytest.mark.once


def open_trap(name: str, **options: Any) -> tf.File:
    return tf.open(trap(name), **options)


NAN = math.nan

#: File, HDU, type, values, as the Standard means them.
PIXELS = [
    ("u16_blank", 0, "f8", [NAN, 1, 32768, 65535]),
    ("i16_scaled_blank", 0, "f8", [NAN, 98, 100, 110]),
    ("i8_bzero", 0, "i1", [-128, -127, 0, 127]),
    ("u32", 0, "u4", [0, 2**31, 2**32 - 1]),
    ("u64", 0, "u8", [0, 2**63, 2**64 - 1]),
    ("u64_float_bzero", 0, "u8", [0, 2**63, 2**64 - 1]),
    ("i64_big", 0, "i8", [2**53 + 1, -(2**63), 2**63 - 1]),
    ("i64_scaled", 0, "f8", [(2**53 + 1) * 0.5, 1.5]),
    ("f32_blank_kw", 0, "f4", [-1, 0, 1, NAN]),
    ("f32_scaled", 0, "f8", [8, 10, 12, NAN]),
    ("naxis2_zero", 1, "i2", [7, 8]),
    ("naxis0_ext", 1, "i2", [7, 8]),
    ("extend_F", 1, "i2", [7, 8]),
    ("no_extend", 1, "i2", [7, 8]),
    ("simple_F", 0, "i2", [7, 8]),
    ("no_pad", 0, "i2", [1, 2, 3, 4]),
    ("trail_junk", 0, "i2", [1, 2, 3, 4]),
    ("trail_block", 0, "i2", [1, 2, 3, 4]),
    ("trail_zero", 0, "i2", [1, 2, 3, 4]),
    ("nonascii", 0, "i2", [1, 2]),
    ("nul_header", 0, "i2", [1, 2]),
    ("header_zero_fill", 0, "i2", [1, 2]),
    ("unknown_ext", 2, "i2", [7, 8]),
]


@pytest.mark.parametrize(("name", "hdu", "kind", "values"), PIXELS, ids=[p[0] for p in PIXELS])
def test_pixels(name: str, hdu: int, kind: str, values: list[float]) -> None:
    pixels = open_trap(name)[hdu][...]
    expected = np.array(values, kind)
    assert pixels.dtype == expected.dtype
    np.testing.assert_array_equal(pixels, expected)


def test_special_floats_keep_their_bits() -> None:
    words = [0x80000000, 0x7FC00001, 0x7F800001, 0x00000001, 0x7F800000, 0xFFC12345]
    assert open_trap("f32_special")[0][...].view("u4").tolist() == words


#: File, keyword, value.
CARDS = [
    ("continue", "LONGS", "It's a long 'quoted' end"),
    ("continue", "AMP", "ends with &"),
    ("continue", "NEXT", 5),
    ("continue", "EMPT", "abc"),
    ("strings", "NULLS", ""),
    ("strings", "LEAD", "  x"),
    ("strings", "UNDEF", None),
    ("strings", "SLASH", "a/b"),
    ("strings", "NOCMT", 5),
    ("numbers", "DEXP", 1500.0),
    ("numbers", "LOWE", 1500.0),
    ("numbers", "BIGI", 123456789012345678901234567890),
    ("numbers", "DOT", 1.0),
    ("numbers", "PDOT", 0.5),
    ("numbers", "LZ", 12),
    ("numbers", "CPLX", 1.5 - 2j),
    ("numbers", "FREEI", 7),
    ("numbers", "MZERO", -0.0),
    ("numbers", "TR", True),
    ("dup_kw", "FOO", 1),
    ("hierarch", "ESO DET CHIP1 ID", "abc"),
    ("hierarch", "ESO TEL X", 3.5),
    ("nonascii", "OK", 1),
    ("nul_header", "OK", 1),
    ("lower_kw", "foo", 3),
    ("lower_kw", "A.B", 4),
]


@pytest.mark.parametrize(("name", "keyword", "value"), CARDS)
def test_cards(name: str, keyword: str, value: object) -> None:
    found = open_trap(name)[0].header[keyword]
    assert found == value
    assert type(found) is type(value)
    if isinstance(value, float):
        assert math.copysign(1.0, found) == math.copysign(1.0, value)


def test_an_empty_string_is_one_blank_and_no_null_string() -> None:
    header = open_trap("strings")[0].header
    # The Standard tells them apart (section 4.2.1.1); trailing blanks mean nothing otherwise.
    assert header["NULLS"] == ""
    assert header["EMPTYS"] in (" ", "")
    assert header["UNDEF"] is None


def test_comments_of_continued_strings() -> None:
    header = open_trap("continue")[0].header
    assert header.comments["LONGS"] == "cmt"
    assert header.comments["EMPT"] == "only comment"


def test_cards_without_a_value_indicator_have_no_value() -> None:
    header = open_trap("noval_ind")[0].header
    for keyword in ("FOO", "BAR"):
        assert header.get(keyword) not in (5, 6, "5", "6")
    assert header.history() == ["= 'x'"]


def test_duplicates_are_all_kept() -> None:
    cards = open_trap("dup_kw")[0].header.cards
    assert [card.value for card in cards if card.keyword == "FOO"] == [1, 2]


def test_bytes_that_are_not_ascii_are_kept_as_they_are() -> None:
    raw = open_trap("nonascii")[0].header.raw
    assert raw is not None
    assert b"'caf\xe9'" in raw
    assert b"na\xefve" in raw


def test_parameters_of_random_groups_of_one_name_are_summed() -> None:
    parameters = open_trap("rgroups")[0].group_parameters()
    np.testing.assert_array_equal(parameters["DATE"], [101.5, 102.25])


def test_an_axis_of_length_zero_is_kept_in_the_shape() -> None:
    file = open_trap("naxis2_zero")
    assert file[0].shape == (0, 5)
    assert file[0].data_bytes == 0


def test_unknown_extensions_are_passed_over_with_their_size() -> None:
    file = open_trap("unknown_ext")
    assert (len(file), file[1].kind, file[1].data_bytes) == (3, "FOREIGN", 20)


#: Files that are a clear error, and what it must name.
ERRORS = [
    ("overflow_axes", tf.TachyfitsError, "NAXIS"),
    ("neg_axis", tf.FormatError, "NAXIS1"),
    ("naxis_1000", tf.FormatError, "NAXIS"),
    ("bzero_string", tf.FormatError, "BSCALE|BZERO"),
    ("no_end", tf.FormatError, "END"),
]


@pytest.mark.parametrize(("name", "kind", "word"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(name: str, kind: type[Exception], word: str) -> None:
    with pytest.raises(kind, match=word) as caught:
        open_trap(name)[0].read()
    assert name in str(caught.value)
    assert "hint: " in str(caught.value)


def test_truncated_data_are_readable_as_far_as_they_go() -> None:
    with pytest.warns(tf.TachyfitsWarning, match="4000"):
        image = open_trap("trunc_data")[0]
    np.testing.assert_array_equal(image[:500], np.arange(500))
    with pytest.raises(tf.FormatError, match=r"(?s)4000.*1000|1000.*4000"):
        image.read()
    assert (image.data_bytes, image.data_bytes_present) == (4000, 1000)


#: Files that are read with a warning and refused when strict.
LENIENT = (
    "header_zero_fill", "nul_header", "nonascii", "no_pad", "trunc_data", "trail_junk",
    "trail_block", "simple_F", "dup_kw", "lower_kw",
)  # fmt: skip


@pytest.mark.parametrize("name", LENIENT)
def test_departures_warn_and_are_refused_when_strict(name: str) -> None:
    with pytest.warns(tf.TachyfitsWarning):
        open_trap(name)
    with pytest.raises(tf.TachyfitsError):
        open_trap(name, strict=True)


@pytest.mark.parametrize("name", ["u16_blank", "u32", "i64_big", "f32_special", "naxis2_zero"])
def test_legal_files_give_no_warning_and_pass_strict(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_trap(name, strict=True)


def test_the_command_line_shows_every_trap_or_names_its_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tachyfits.cli import run

    for path in traps():
        for command in ("info", "header", "stats"):
            status = run([command, str(path), "--json"])
            said = capsys.readouterr()
            assert status in (0, 1, 2)
            assert (status == 0) == bool(said.out.strip()), (path.name, command, said)
            if status:
                assert "hint: " in said.err
                assert "Traceback" not in said.err
