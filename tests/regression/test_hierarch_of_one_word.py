"""HIERARCH keywords of one short word are found by that word, where no other card has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from astropy.io import fits

import tachyfits as tf
from fitsbytes import BLOCK

CARDS = [
    "SIMPLE  =                    T", "BITPIX  =                    8",
    "NAXIS   =                    0",
    "HIERARCH a.b = 1.5 / c", "HIERARCH key = 2", "HIERARCH a/b = 3", "HIERARCH f(x) = 4",
    "HIERARCH it's = 'five'", "HIERARCH longer.name = 6", "HIERARCH ESO a/b = 7",
    "HIERARCH note / x = 8", "HIERARCH OBJECT = 'no'", "OBJECT  = 'yes'", "HIERARCH BITPIX = 16",
    "END",
]  # fmt: skip

VALUES = [
    ("a.b", 1.5), ("A.B", 1.5), ("HIERARCH a.b", 1.5), ("key", 2), ("KEY", 2), ("a/b", 3),
    ("f(x)", 4), ("it's", "five"), ("longer.name", 6), ("ESO a/b", 7), ("OBJECT", "yes"),
    ("HIERARCH OBJECT", "no"), ("BITPIX", 8),
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.fits"
    path.write_text("".join(card.ljust(80) for card in CARDS).ljust(BLOCK))
    return path


@pytest.mark.parametrize(("keyword", "value"), VALUES)
def test_short_words_are_found(path: Path, keyword: str, value: Any) -> None:
    header = tf.open(path)[0].header
    assert header[keyword] == value
    assert keyword in header
    assert header.get(keyword) == value
    # The header as a mapping without a file.
    assert tf.open(path)[0].header.replaced({"NEW": 1})[keyword] == value


def test_commentary_has_no_value(path: Path) -> None:
    header = tf.open(path)[0].header
    assert "note" not in header
    assert "note / x" not in header
    assert [card.value for card in header["a*"].cards] == [1.5, 3]


def test_cards_are_edited_in_their_place(path: Path) -> None:
    with tf.edit(path) as editor:
        header = editor[0].header
        header["a.b"] = 2.5
        header["KEY"] = (3, "new")
        header["a/b"] = 4
        header.comments["f(x)"] = "function"
        header["OBJECT"] = "M 31"
        del header["it's"]
        header.rename("longer.name", "ESO other")
    theirs = fits.getheader(path)
    assert (theirs["a.b"], theirs["key"], theirs["OBJECT"]) == (2.5, 3, "no")
    cards = [card.keyword for card in tf.open(path)[0].header.cards]
    assert cards[3:6] == ["HIERARCH a.b", "HIERARCH key", "HIERARCH a/b"]
    header = tf.open(path)[0].header
    assert header["a/b"] == 4
    assert header.comments["f(x)"] == "function"
    assert header["OBJECT"] == "M 31"
    assert header["HIERARCH OBJECT"] == "no"
    assert "it's" not in header
    assert header["ESO other"] == 6


def test_astropys_cards_come_back(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    header = fits.Header()
    header["HIERARCH a.b"], header["HIERARCH low er"] = 1.5, "x"
    fits.PrimaryHDU(header=header).writeto(path)
    ours = tf.open(path)[0].header
    assert ours["a.b"] == fits.getheader(path)["a.b"] == 1.5
    assert ours["low er"] == "x"


def test_the_command_line_knows_short_words(path: Path, capsys: Any) -> None:
    from tachyfits.cli import run

    assert run(["header", str(path), "--keyword", "a.b"]) == 0
    assert "1.5" in capsys.readouterr().out
    changes = ["--set", "a.b=3", "--rename", "KEY=ESO key", "--delete", "a/b"]
    assert run(["header", str(path), *changes, "--comment", "f(x)=function"]) == 0
    header = tf.open(path)[0].header
    assert (header["a.b"], header["ESO key"], header.comments["f(x)"]) == (3, 2, "function")
    assert "a/b" not in header
    made = header.replaced({}).to_astropy()
    assert made["a.b"] == 3
