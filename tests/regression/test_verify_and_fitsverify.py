"""Verdicts on which fitsverify 4.20 and the Standard agree, and which used to differ here."""

from __future__ import annotations

import numpy as np
import pytest

import tachyfits as tf


def _number(keyword: str, value: object) -> str:
    return f"{keyword:<8}= {value:>20}".ljust(80)


def _text(keyword: str, value: str) -> str:
    return f"{keyword:<8}= '{value}'".ljust(80)


def _block(cards: list[str]) -> bytes:
    text = "".join(card.ljust(80) for card in [*cards, "END"])
    return text.ljust(-(-len(text) // 2880) * 2880).encode()


def _image(*cards: str) -> bytes:
    head = [_number("SIMPLE", "T"), _number("BITPIX", 8), _number("NAXIS", 2)]
    return _block([*head, _number("NAXIS1", 1), _number("NAXIS2", 1), *cards]) + bytes(2880)


def _table(form: str, rows: list[bytes], heap: bytes = b"", kind: str = "BINTABLE") -> bytes:
    primary = [_number("SIMPLE", "T"), _number("BITPIX", 8), _number("NAXIS", 0)]
    place = [_number("TBCOL1", 1)] if kind == "TABLE" else []
    cards = [
        _text("XTENSION", kind.ljust(8)), _number("BITPIX", 8), _number("NAXIS", 2),
        _number("NAXIS1", len(rows[0])), _number("NAXIS2", len(rows)), _number("PCOUNT", len(heap)),
        _number("GCOUNT", 1), _number("TFIELDS", 1), _text("TFORM1", form), _text("TTYPE1", "A"),
        *place,
    ]  # fmt: skip
    data = b"".join(rows) + heap
    fill = b" " if kind == "TABLE" else b"\0"
    return _block([*primary, _number("EXTEND", "T")]) + _block(cards) + data.ljust(2880, fill)


def _errors(content: bytes) -> list[str]:
    return [found.code for found in tf.verify(content) if found.severity == "error"]


@pytest.mark.parametrize("parameter", [_number("PV2_1", "0.0"), _text("PS2_1", "x")])
def test_rotation_beside_parameters_is_legal(parameter: str) -> None:
    assert _errors(_image(_number("CROTA2", "0.0"), parameter)) == []


def test_rotation_beside_a_matrix_is_not() -> None:
    assert _errors(_image(_number("CROTA2", "0.0"), _number("PC1_1", "1.0"))) == ["wcs-matrices"]


@pytest.mark.parametrize("code", ["TAN", "TPV", "TNX", "ZPX", "HPX"])
def test_registered_projections_are_known(code: str) -> None:
    found = tf.verify(_image(_text("CTYPE1", f"RA---{code}"), _text("CTYPE2", f"DEC--{code}")))
    assert not [one for one in found if one.code == "wcs-type"]


def test_an_unknown_projection_gives_a_warning() -> None:
    found = tf.verify(_image(_text("CTYPE1", "RA---XXX"), _text("CTYPE2", "DEC--XXX")))
    assert {(one.code, one.severity) for one in found} == {("wcs-type", "warning")}


@pytest.mark.parametrize(
    ("most", "errors"), [(0, ["descriptor-length"]), (4, ["descriptor-length"]), (5, [])]
)
def test_an_array_longer_than_its_form_says(most: int, errors: list[str]) -> None:
    descriptor = np.array([5, 0], ">i4").tobytes()
    assert _errors(_table(f"PE({most})", [descriptor], bytes(20))) == errors


@pytest.mark.parametrize(
    ("form", "row", "errors"),
    [
        ("4X", b"\xf0", []),
        ("4X", b"\xf8", ["bit-fill"]),
        ("12X", b"\xff\xf0", []),
        ("12X", b"\xff\xf1", ["bit-fill"]),
        ("8X", b"\xff", []),
    ],
)
def test_unused_bits_are_0(form: str, row: bytes, errors: list[str]) -> None:
    assert _errors(_table(form, [row])) == errors


@pytest.mark.parametrize(
    ("form", "right"),
    [
        ("1J", True),
        ("J", True),
        ("1J  ", True),
        ("1J  x", True),
        (" 1J", False),
        ("   J", False),
        ("j", False),
    ],
)
def test_blanks_in_forms(form: str, right: bool) -> None:
    content = _table(form, [b"\0\0\0\7"])
    assert _errors(content) == ([] if right else ["column-form-irregular"])
    assert tf.open(content)[1]["A"].tolist() == [7]


@pytest.mark.parametrize(("form", "right"), [("PJ(1)", True), ("PJ( 1)", False), ("PJ(1 )", False)])
def test_blanks_in_the_length_of_arrays(form: str, right: bool) -> None:
    descriptor = np.array([1, 0], ">i4").tobytes()
    content = _table(form, [descriptor], b"\0\0\0\7")
    assert _errors(content) == ([] if right else ["column-form-irregular"])
    assert tf.open(content)[1]["A"].to_list() == [[7]]


@pytest.mark.parametrize(("form", "right"), [("I4", True), (" I4", False), ("I 4", False)])
def test_blanks_in_forms_of_ascii_tables(form: str, right: bool) -> None:
    content = _table(form, [b"   7"], kind="TABLE")
    assert _errors(content) == ([] if right else ["column-form-irregular"])
    assert tf.open(content)[1]["A"].tolist() == [7]
