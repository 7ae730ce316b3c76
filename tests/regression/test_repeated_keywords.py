"""Records of WCS Paper IV share a keyword by design; equal values are not a conflict."""

from __future__ import annotations

import tachyfits as tf


def _warnings(*cards: str) -> list[str]:
    head = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
    ]
    text = "".join(card.ljust(80) for card in [*head, *cards, "END"])
    return [*tf.open(text.ljust(2880).encode()).warnings]


def test_record_valued_cards_are_not_duplicates() -> None:
    assert not _warnings(
        "DP1     = 'EXTVER: 1.0'",
        "DP1     = 'NAXES: 2.0'",
        "DP1     = 'AXIS.1: 1.0'",
        "DP1     = 'AXIS.2: 2'",
        "DQ1A    = 'NAXES: 2'",
        "DQ1A    = 'TPD.FWD.0: -1.5E-3'",
        "D2IM1   = 'EXTVER: 1.0'",
        "D2IM1   = 'NAXES: 2.0'",
        "DP1     = 'NAXES: 2'",
    )


def test_a_record_with_two_numbers_is_a_duplicate() -> None:
    (warning,) = _warnings("DP1     = 'NAXES: 2'", "DP1     = 'AXIS.1: 1'", "DP1     = 'NAXES: 3'")
    assert "duplicate-keyword" in warning
    assert "\"'NAXES: 3'\" after \"'NAXES: 2'\"" in warning


def test_equal_values_in_any_notation_are_not_a_conflict() -> None:
    assert not _warnings(
        "MJDREFF =        0.00076601852",
        "MJDREFF =  7.6601852000000E-04",
        "EQUINOX =          2000.000000",
        "EQUINOX =                 2000",
        "OBJECT  = 'M 31'",
        "OBJECT  = 'M 31    '",
        "GAIN    = (1.0, 2.5)",
        "GAIN    = (1, 25.0E-1)",
    )


def test_other_values_are_a_conflict() -> None:
    cards = [
        ("EXPTIME =  1.0", "EXPTIME =  2.0"),
        ("BIGINT  = 12345678901234567890", "BIGINT  = 12345678901234567891"),
        ("NOTE    = 'gain: 1.0'", "NOTE    = 'gain: high'"),
        ("NOTE    = 'a'", "NOTE    = 'b'"),
        ("GAIN    = (1.0, 2.5)", "GAIN    = (1.0, 2.0)"),
        ("GAIN    = (1.0, 0.0)", "GAIN    = 1.0"),
        ("FLAG    = T", "FLAG    = F"),
    ]
    for pair in cards:
        (warning,) = _warnings(*pair)
        assert "duplicate-keyword" in warning


def test_a_mandatory_keyword_must_not_come_twice() -> None:
    (warning,) = _warnings("BITPIX  =                    8")
    assert "duplicate-keyword" in warning
