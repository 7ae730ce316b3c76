"""Named bad inputs: the words of errors and warnings say what is wrong, and where."""

from __future__ import annotations

import bz2
import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

PRIMARY = (
    "SIMPLE  =                    T",
    "BITPIX  =                    8",
    "NAXIS   =                    0",
)
ROWS = (
    "XTENSION= 'BINTABLE'", "BITPIX  =                    8", "NAXIS   =                    2",
    "NAXIS1  =                    4", "NAXIS2  =           2147483648",
    "PCOUNT  =                    0",
    "GCOUNT  =                    1", "TFIELDS =                    1", "TFORM1  = 'J'",
)  # fmt: skip


def header(*cards: str) -> bytes:
    return "".join(card.ljust(80) for card in (*cards, "END")).ljust(2880).encode()


def real_bitpix(text: str) -> bytes:
    return header(PRIMARY[0], f"BITPIX  = {text:>20}", PRIMARY[2])


def repeated(first: str, second: str) -> bytes:
    return header(*PRIMARY, f"OBJECT  = '{first}'", f"OBJECT  = '{second}'")


def column(path: Path, form: str, values: Any, **cards: str) -> tf.Table:
    fits.BinTableHDU.from_columns([fits.Column("A", form, array=values)]).writeto(path)
    for keyword, value in cards.items():
        fits.setval(path, keyword, value=value, ext=1)
    return tf.open(path).table(1)


def ragged(path: Path) -> tf.Table:
    cells = np.array([np.arange(6.0), np.arange(4.0)], dtype=object)
    return column(path, "PE(6)", cells, TDIM1="(2,2)")


def long_comment(path: Path) -> None:
    cards = fits.Header([("OBJECT", "x" * 50, "a comment that is far too long for its card")])
    tf.write(path, np.zeros((2, 2)), header=cards)


ERRORS: list[tuple[str, Callable[[], Any], str]] = [
    ("a real BITPIX", lambda: tf.open(real_bitpix("16.5")), "BITPIX.* a real number 16.5"),
    (
        "a real BITPIX, strict",
        lambda: tf.open(real_bitpix("16."), strict=True),
        "BITPIX.* found 16.",
    ),
    (
        "bzip2 of half a header",
        lambda: tf.open(bz2.compress(header(*PRIMARY)[:30])),
        "END card.* 30 bytes",
    ),
    ("gzip of something else", lambda: tf.open(gzip.compress(b"nothing" * 800)), "SIMPLE.*nothing"),
    (
        "gzip cut short",
        lambda: tf.open(gzip.compress(bytes(range(256)) * 9)[:99]),
        "gzip.* cut short",
    ),
    (
        "rows beyond the file",
        lambda: tf.open(header(*PRIMARY) + header(*ROWS)).table(1).read(rows=slice(0, None, 2)),
        "expected 2147483647 rows.* found 0 whole rows",
    ),
]


@pytest.mark.parametrize(
    ("act", "words"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS]
)
@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_errors_name_the_card_or_place_and_what_is_there(
    act: Callable[[], Any], words: str
) -> None:
    with pytest.raises(tf.TachyfitsError, match=words):
        act()


def rounded(path: Path) -> None:
    tf.write(path, np.array([1.5, 2.7], "f4"), dtype="int16")


WARNINGS: list[tuple[str, Callable[[Path], Any], str]] = [
    (
        "a whole BITPIX",
        lambda path: tf.open(real_bitpix("8.")),
        "BITPIX.* found 8.*\\n.*without a point",
    ),
    (
        "one card twice",
        lambda path: tf.open(repeated("a", "b")),
        "OBJECT.* found \"'b'\" after \"'a'\"",
    ),
    (
        "TDISP of integers",
        lambda path: column(path, "1D", [8.5, 2.5], TDISP1="I12").to_astropy(),
        "TDISP does not fit.*\\n.*'I12'",
    ),
    (
        "a tab in a cell",
        lambda path: column(path, "9A", [b"MPA 1805\t", b"a"]).write(path.with_name("b.fits")),
        "outside printable ASCII.* copied as stored: A",
    ),
    ("TDIM below the cell", lambda path: ragged(path)["A"][0], "TDIM1 is for arrays of 4 elements"),
    ("a long comment", long_comment, "comment of OBJECT is cut.*far too long"),
    ("floats as integers", rounded, "rounded; the largest error is 0.5"),
]


@pytest.mark.parametrize(
    ("act", "words"), [row[1:] for row in WARNINGS], ids=[row[0] for row in WARNINGS]
)
def test_warnings_name_the_card_or_column(
    tmp_path: Path, act: Callable[[Path], Any], words: str
) -> None:
    with pytest.warns(tf.TachyfitsWarning, match=words):
        act(tmp_path / "a.fits")


def test_equal_cards_are_no_conflict() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.open(repeated("a", "a"))[0].header["OBJECT"] == "a"


def test_a_cube_without_channels_has_an_empty_spectrum() -> None:
    axes = ("BITPIX  =                  -32", "NAXIS   =                    3",
            "NAXIS1  =                    4", "NAXIS2  =                    2",
            "NAXIS3  =                    0")  # fmt: skip
    image = tf.open(header(PRIMARY[0], *axes)).image(0)
    assert len(image.spectrum().values) == 0
    assert len(image.spectrum(tf.Circle(1, 1, 0.5)).values) == 0


def test_the_only_number_is_named(tmp_path: Path) -> None:
    tf.write(tmp_path / "one.fits", np.ones(3))
    tf.write(tmp_path / "row.fits", {"N": [1]})
    with pytest.raises(KeyError, match="the only HDU is 0"):
        tf.open(tmp_path / "one.fits")[1]
    with pytest.raises(KeyError, match="the only row is 0"):
        tf.open(tmp_path / "row.fits")[1].read(rows=1)
