"""Verdicts of `verify` on headers in which one card was changed, decided by the Standard 4.0.

Where fitsverify 4.20 says otherwise, docs/guides/checking.md has the difference.
"""

from __future__ import annotations

import numpy as np
import pytest

import tachyfits as tf


def n(keyword: str, value: object) -> str:
    return f"{keyword:<8}= {value:>20}"


def t(keyword: str, value: str) -> str:
    return f"{keyword:<8}= '{value:<8}'"


def _blocks(cards: list[str]) -> bytes:
    content = "".join(card.ljust(80) for card in [*cards, "END"]).encode("latin-1")
    return content.ljust(-(-len(content) // 2880) * 2880)


_PRIMARY = [n("SIMPLE", "T"), n("BITPIX", 8), n("NAXIS", 0), n("EXTEND", "T")]
_SHORTS = np.arange(6, dtype=">i2").tobytes()
_ROW = b"\0\7" + np.arange(3, dtype=">f4").tobytes() + b"abc\0\0\0" + b"T"
_CARDS = {
    "image": [n("SIMPLE", "T"), n("BITPIX", 16), n("NAXIS", 2), n("NAXIS1", 3), n("NAXIS2", 2)],
    "extension": [
        t("XTENSION", "IMAGE"), n("BITPIX", 16), n("NAXIS", 2), n("NAXIS1", 3), n("NAXIS2", 2),
        n("PCOUNT", 0), n("GCOUNT", 1),
    ],
    "table": [
        t("XTENSION", "BINTABLE"), n("BITPIX", 8), n("NAXIS", 2), n("NAXIS1", 29),
        n("NAXIS2", 2), n("PCOUNT", 8), n("GCOUNT", 1), n("TFIELDS", 5), t("TTYPE1", "I"),
        t("TFORM1", "1I"), t("TTYPE2", "E"), t("TFORM2", "3E"), t("TTYPE3", "S"),
        t("TFORM3", "6A"), t("TTYPE4", "L"), t("TFORM4", "1L"), t("TTYPE5", "V"),
        t("TFORM5", "1PI(2)"),
    ],
    "ascii": [
        t("XTENSION", "TABLE"), n("BITPIX", 8), n("NAXIS", 2), n("NAXIS1", 19), n("NAXIS2", 1),
        n("PCOUNT", 0), n("GCOUNT", 1), n("TFIELDS", 3), t("TTYPE1", "I"), t("TFORM1", "I4"),
        n("TBCOL1", 1), t("TTYPE2", "F"), t("TFORM2", "F8.3"), n("TBCOL2", 6), t("TTYPE3", "S"),
        t("TFORM3", "A5"), n("TBCOL3", 15),
    ],
    "groups": [
        n("SIMPLE", "T"), n("BITPIX", -32), n("NAXIS", 2), n("NAXIS1", 0), n("NAXIS2", 3),
        n("GROUPS", "T"), n("PCOUNT", 1), n("GCOUNT", 2), t("PTYPE1", "UU"),
    ],
}  # fmt: skip
_DATA = {
    "image": _SHORTS,
    "extension": _SHORTS,
    "table": b"".join(
        _ROW + np.array([2, at], ">i4").tobytes() for at in (0, 4)
    ) + np.arange(4, dtype=">i2").tobytes(),
    "ascii": b"  12    1.500 hello",
    "groups": np.arange(8, dtype=">f4").tobytes(),
}  # fmt: skip


def _file(kind: str, changes: list[str], data: bytes | None = None) -> bytes:
    """Return a sound file in which cards are replaced, or added where the keyword is new.

    A change that begins with `-` removes a keyword; with `+` it always adds its card.
    """
    cards = list(_CARDS[kind])
    for change in changes:
        keyword = change[:8].strip("+- ")
        places = [at for at, card in enumerate(cards) if card[:8].rstrip() == keyword]
        if change[0] == "-":
            del cards[places[0]]
        elif change[0] == "+" or not places:
            cards.append(change.removeprefix("+"))
        else:
            cards[places[0]] = change
    fill = b" " if kind == "ascii" else b"\0"
    bytes_of_data = _DATA[kind] if data is None else data
    head = b"" if kind in ("image", "groups") else _blocks(_PRIMARY)
    return head + _blocks(cards) + bytes_of_data.ljust(2880, fill)


def _verdict(content: bytes) -> tuple[str, set[str]]:
    found = list(tf.verify(content))
    worst = "error" if any(one.severity == "error" for one in found) else "warning"
    return (worst if found else "right"), {one.code for one in found if one.severity == worst}


@pytest.mark.parametrize("kind", list(_CARDS))
def test_the_unchanged_files_are_right(kind: str) -> None:
    assert _verdict(_file(kind, [])) == ("right", set())


_CELESTIAL = [t("CTYPE1", "RA---TAN"), t("CTYPE2", "DEC--TAN")]

# Kind of HDU, changes, verdict, one of the codes that say so.
_DECIDED: list[tuple[str, list[str], str, str]] = [
    # Mandatory keywords.
    ("image", [n("SIMPLE", "F")], "warning", "simple-false"),
    ("image", ["SIMPLE  ="], "error", "simple-false"),
    ("image", ["SIMPLE  T"], "error", "simple-false"),
    ("image", [t("SIMPLE", "T")], "error", "simple-false"),
    ("image", ["BITPIX  = 16"], "error", "fixed-format"),
    ("image", [n("BITPIX", "+16")], "right", ""),
    ("image", [n("BITPIX", "0016")], "right", ""),
    ("extension", [n("NAXIS", "+2")], "right", ""),
    ("image", [n("BITPIX", "16.")], "error", "whole-real"),
    ("image", [n("BITPIX", 12)], "error", "keyword-range"),
    ("image", [n("BITPIX", 16) + " caf\xe9"], "error", "illegal-byte"),
    ("image", [n("BITPIX", 16) + " comment"], "error", "missing-slash"),
    ("image", ["-NAXIS2"], "error", "keyword-missing"),
    ("image", [n("NAXIS2", -2)], "error", "keyword-range"),
    ("image", [n("NAXIS0", 1)], "error", "index-range"),
    ("image", [n("NAXIS3", 1)], "error", "index-range"),
    ("image", ["+" + n("BITPIX", 16)], "error", "duplicate-keyword"),
    ("extension", ["+" + n("PCOUNT", 0)], "error", "duplicate-keyword"),
    ("table", ["+" + n("TFIELDS", 5)], "error", "duplicate-keyword"),
    ("extension", [t("XTENSION", "NOVEL")], "error", "unregistered-extension"),
    ("extension", [t("XTENSION", "image")], "error", "unregistered-extension"),
    ("extension", [t("XTENSION", "IUEIMAGE")], "right", ""),
    ("table", ["TFORM1  =    '1I'"], "error", "fixed-format"),
    ("image", [n("PCOUNT", 0), n("GCOUNT", 1)], "right", ""),
    ("image", [n("PCOUNT", 5)], "warning", "misplaced-keyword"),
    ("image", [n("GCOUNT", 2)], "warning", "misplaced-keyword"),
    ("image", ["END X"], "error", "illegal-keyword"),
    # Syntax of values.
    ("image", ["ABC     = (1.0 2.0)"], "error", "invalid-value"),
    ("image", [n("ABC", "1E")], "error", "invalid-value"),
    ("image", [n("ABC", ".")], "error", "invalid-value"),
    ("image", [n("ABC", "1.0e5")], "error", "lower-case-exponent"),
    ("image", ["ABC     = 'x"], "error", "unterminated-string"),
    ("image", ["HIERARCH ESO A B = 'x"], "warning", "unterminated-string"),
    ("image", ["HIERARCH ESO A B = 5 x"], "warning", "missing-slash"),
    ("image", [n("lower", 5)], "error", "illegal-keyword"),
    ("image", ["COMMENT a\tb"], "error", "illegal-byte"),
    ("image", ["CONTINUE  'x'"], "warning", "orphan-continue"),
    ("image", ["+OBJECT  = 'a&'", "+CONTINUE  'b'"], "error", "continue-forbidden"),
    ("image", ["+MYTEXT  = 'a&'", "+CONTINUE  'b'"], "right", ""),
    ("image", [n("ABC", 5), "+" + n("ABC", 5)], "warning", "repeated-keyword"),
    ("image", [n("ABC", 5), "+" + n("ABC", 6)], "warning", "duplicate-keyword"),
    # Types and values of reserved keywords.
    ("image", ["OBJECT    'M 31'"], "error", "reserved-type"),
    ("image", ["BSCALE    2.0"], "error", "reserved-type"),
    ("image", ["BSCALE  =2.0"], "error", "value-indicator"),
    ("table", ["TTYPE1    'I'"], "error", "reserved-type"),
    ("groups", ["PTYPE1    'UU'"], "error", "reserved-type"),
    ("image", ["OBJECT  ="], "warning", "undefined-value"),
    ("image", [n("OBJECT", 5)], "error", "reserved-type"),
    ("image", [t("EXTEND", "T")], "error", "reserved-type"),
    ("image", [n("WCSNAME", 5)], "error", "reserved-type"),
    ("image", [n("TIMESYS", 5)], "error", "reserved-type"),
    ("image", [n("VELREF", "257.0")], "warning", "whole-real"),
    ("image", [t("VELREF", "257")], "warning", "numeric-text"),
    ("image", [n("INHERIT", "T")], "error", "forbidden-keyword"),
    ("extension", [n("INHERIT", "T")], "right", ""),
    ("extension", [n("INHERIT", 1)], "error", "reserved-type"),
    ("extension", [t("OBJECT", "a"), n("INHERIT", "T")], "warning", "inherit-place"),
    ("image", [n("EXTLEVEL", 1)], "right", ""),
    ("extension", [n("EXTLEVEL", 0)], "error", "value-range-keyword"),
    ("image", [t("DATE", "2020-02-30")], "error", "date-form"),
    ("image", [t("DATE", "2020-02-20T10:00:00.5Z")], "error", "date-form"),
    ("image", [t("DATE", "01/02/99")], "warning", "old-date"),
    ("image", [t("DATE-XYZ", "2020-02-20")], "right", ""),
    ("image", [t("DATE-XYZ", "01/02/99")], "warning", "old-date"),
    ("image", [t("DATE-XYZ", "yesterday")], "warning", "date-form"),
    ("image", [n("BLANK", "-1.0")], "error", "whole-real"),
    # Keywords of other kinds of HDUs.
    ("table", [n("BSCALE", "1.0")], "warning", "misplaced-keyword"),
    ("image", [t("TTYPE1", "A")], "warning", "misplaced-keyword"),
    ("image", [n("ZIMAGE", "T")], "warning", "misplaced-keyword"),
    ("table", [n("ZIMAGE", "T")], "error", "compressed-keyword"),
    ("image", [t("PTYPE1", "A")], "warning", "misplaced-keyword"),
    ("groups", [t("PTYPE2", "A")], "error", "index-range"),
    ("groups", [n("PSCAL1", "2.0")], "right", ""),
    # Columns.
    ("table", [t("TFORM1", "1i")], "error", "column-form-irregular"),
    ("table", [t("TFORM1", "1Ix")], "right", ""),
    ("table", [t("TFORM1", "1U")], "error", "column-form"),
    ("table", [t("TTYPE9", "X")], "error", "index-range"),
    ("table", [t("TTYPE01", "X")], "error", "index-zeros"),
    ("table", [t("TDIM2", "(2)")], "right", ""),
    ("table", [t("TDIM2", "(3,1)")], "right", ""),
    ("table", [t("TDIM2", "(4)")], "error", "dimensions-ignored"),
    ("table", [t("TDIM2", "(3)(1)")], "error", "dimensions-ignored"),
    ("table", [t("TDIM2", " (3)")], "error", "dimensions-form"),
    ("table", [n("TNULL1", -1)], "right", ""),
    ("table", [n("TNULL1", 99999)], "warning", "null-ignored"),
    ("table", [n("TNULL2", -1)], "error", "null-ignored"),
    ("table", [n("TNULL3", -1)], "error", "null-ignored"),
    ("table", [t("TNULL1", "-1")], "error", "numeric-text"),
    ("table", [n("TSCAL3", "2.0")], "error", "scaling-ignored"),
    ("table", [n("TSCAL3", "1.0")], "error", "column-keyword"),
    ("table", [n("TZERO4", "0.0")], "error", "column-keyword"),
    ("table", [n("TSCAL5", "2.0")], "right", ""),
    ("table", [n("TSCAL1", "0.0")], "warning", "scale-zero"),
    ("table", [n("THEAP", 58)], "right", ""),
    ("table", [n("THEAP", 10)], "error", "heap-place"),
    ("table", [n("THEAP", 1000)], "error", "heap-place"),
    ("table", [t("TDISP1", "I5.5")], "right", ""),
    ("table", [t("TDISP1", "I5.6")], "error", "display-form"),
    ("table", [t("TDISP1", "F8.3")], "right", ""),
    ("table", [t("TDISP1", "i5")], "error", "display-form"),
    ("table", [t("TDISP1", "A5")], "error", "display-form"),
    ("table", [t("TDISP2", "I5")], "error", "display-form"),
    ("table", [t("TDISP2", "Z8")], "error", "display-form"),
    ("table", [t("TDISP2", "F3.2")], "right", ""),
    ("table", [t("TDISP2", "F3.3")], "error", "display-form"),
    ("table", [t("TDISP2", "E10.5")], "right", ""),
    ("table", [t("TDISP2", "E9.5")], "error", "display-form"),
    ("table", [t("TDISP2", "E12.5E4")], "right", ""),
    ("table", [t("TDISP2", "E12.5E5")], "error", "display-form"),
    ("table", [t("TDISP2", "G12.3")], "right", ""),
    ("table", [t("TDISP2", "F8.")], "error", "display-form"),
    ("table", [t("TDISP3", "A6.2")], "error", "display-form"),
    ("ascii", [t("TFORM2", "F8.7")], "right", ""),
    ("ascii", [t("TFORM2", "F8.8")], "error", "column-form-irregular"),
    ("ascii", [t("TFORM1", "I4 x")], "error", "column-form-irregular"),
    ("ascii", [t("TNULL1", "----")], "right", ""),
    ("ascii", [t("TNULL1", "-----")], "warning", "null-ignored"),
    ("ascii", [n("TZERO3", "0.0")], "error", "column-keyword"),
    ("ascii", [t("TDISP2", "I5")], "error", "display-form"),
    ("ascii", [n("TBCOL3", 16)], "error", "column-outside"),
    # Coordinates.
    ("image", [n("CRPIX0", "1.0")], "error", "index-range"),
    ("image", [n("WCSAXES", -1)], "error", "value-range-keyword"),
    ("image", [n("PV1_100", "1.0")], "error", "value-range-keyword"),
    ("image", [*_CELESTIAL, t("CUNIT1", "rad")], "error", "wcs-unit"),
    ("image", [*_CELESTIAL, t("CUNIT1", "deg")], "right", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "changes", "verdict", "code"),
    _DECIDED,
    ids=[f"{kind}: {' '.join(' '.join(changes).split())}" for kind, changes, _, _ in _DECIDED],
)
def test_a_changed_card_has_its_verdict(
    kind: str, changes: list[str], verdict: str, code: str
) -> None:
    found = _verdict(_file(kind, changes))
    assert found[0] == verdict
    assert code in found[1] or not code


@pytest.mark.parametrize(
    ("cards", "verdict"),
    [
        ([n("BITPIX", 8)], "error"),
        ([n("NAXIS", 0)], "error"),
        ([t("OBJECT", "a"), t("OBJECT", "b")], "warning"),
    ],
)
def test_a_mandatory_card_must_not_be_repeated_and_another_should_not(
    cards: list[str], verdict: str
) -> None:
    # Section 4.1.2.3 of the Standard.
    found = _verdict(_blocks([*_PRIMARY, *cards]))
    assert found[0] == verdict
    assert "duplicate-keyword" in found[1]


@pytest.mark.parametrize(
    ("cards", "verdict", "code"),
    [
        ([t("OBJECT", "a"), t("OBJECT", "a")], "warning", "repeated-keyword"),
        ([n("EXPTIME", "1.0"), n("EXPTIME", "1.00E0")], "warning", "repeated-keyword"),
        ([n("EXPTIME", "1.0"), n("EXPTIME", "1.5")], "warning", "duplicate-keyword"),
        ([t("DP1", "NAXES: 2"), t("DP1", "AXIS.1: 1")], "right", ""),
        (["FOO", "FOO", "COMMENT a", "COMMENT a", "", ""], "right", ""),
        (["HIERARCH ESO A = 1", "HIERARCH ESO A = 1"], "right", ""),
    ],
)
def test_a_keyword_repeated_with_the_same_value_is_against_the_advice(
    cards: list[str], verdict: str, code: str
) -> None:
    # "All other keywords that have a value should not appear more than once" (4.1.2.3).
    found = _verdict(_blocks([*_PRIMARY, *cards]))
    assert found[0] == verdict
    assert code in found[1] or not code


@pytest.mark.parametrize(
    ("field", "verdict", "code"),
    [
        (b"   1.500", "right", ""),
        (b"   1.5+2", "right", ""),
        (b"        ", "right", ""),
        (b"    1500", "warning", "ascii-point"),
        (b"   15E+2", "warning", "ascii-point"),
        (b"   1.5E ", "error", "ascii-entry"),
        (b"   1. 50", "error", "ascii-entry"),
        (b"   1.5e2", "error", "ascii-entry"),
        (b"     NaN", "error", "ascii-entry"),
    ],
)
def test_numbers_of_ascii_tables_have_their_verdict(field: bytes, verdict: str, code: str) -> None:
    found = _verdict(_file("ascii", [], b"  12 " + field + b" hello"))
    assert found[0] == verdict
    assert code in found[1] or not code
