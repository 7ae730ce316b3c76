"""Commentary keywords answer with all lines, and patterns with all cards that they match."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

LINES = ["cut out", "smoothed", "smoothed"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    header = fits.Header(
        {"OBJECT": "M 31", "HIERARCH ESO DET DIT": 1.5, "HIERARCH ESO TPL ID": "a"}
    )
    for line in LINES:
        header["HISTORY"] = line
    header["COMMENT"] = "one"
    fits.writeto(tmp_path / "a.fits", np.zeros((3, 4), "f4"), header)
    return tmp_path / "a.fits"


def _headers(path: Path) -> list[Any]:
    header = tf.open(path)[0].header
    return [header, tf.Header(header.cards), pickle.loads(pickle.dumps(header))]


def test_history_has_all_lines(path: Path) -> None:
    theirs = fits.getheader(path)
    for header in _headers(path):
        for history in (header["HISTORY"], header["history"], header.get("HISTORY")):
            assert history == LINES == list(theirs["HISTORY"])
            assert (len(history), history[0], history[-1]) == (3, "cut out", "smoothed")
            assert history[:2] == LINES[:2]
            assert str(history) == str(theirs["HISTORY"])
            assert "cut out" in history
        assert header["COMMENT"] == ["one"]
        assert header.history() == LINES


def test_commentary_that_is_not_there(path: Path) -> None:
    header = tf.open(path)[0].header.replaced({}, without=["COMMENT"])
    assert "COMMENT" not in header
    assert (header.get("COMMENT"), header.get("COMMENT", 7)) == (None, 7)
    with pytest.raises(KeyError):
        header["COMMENT"]


def test_patterns_give_a_header(path: Path) -> None:
    theirs = fits.getheader(path)
    for header in _headers(path):
        for pattern in ("NAXIS*", "naxis?", "NAXIS...", "*IS1", "OBJ*"):
            found = header[pattern]
            assert isinstance(found, tf.Header)
            assert dict(found) == dict(theirs[pattern]) == dict(header.get(pattern))
            assert pattern in header
        assert dict(header["ESO *"]) == {"ESO DET DIT": 1.5, "ESO TPL ID": "a"}
        assert dict(header["HIERARCH ESO DET*"]) == {"ESO DET DIT": 1.5}
        assert header["HIST*"]["HISTORY"] == LINES
        assert len(header["NOPE*"]) == 0
        assert "NOPE*" not in header
        assert header.comments["NAXIS?"] == {"NAXIS1": "", "NAXIS2": ""}


def test_mapping_methods_agree_on_a_keyword(path: Path) -> None:
    header = tf.open(path)[0].header
    for keyword, value in header.items():
        assert keyword in header
        if keyword not in ("", "COMMENT", "HISTORY"):
            assert header[keyword] == header.get(keyword) == value
    # As of astropy's headers, each line is an item.
    assert [value for keyword, value in header.items() if keyword == "HISTORY"] == LINES
    assert dict(header)["HISTORY"] == header.get("HISTORY") == LINES


def test_edited_headers_answer_alike(path: Path) -> None:
    with tf.edit(path) as editor:
        header = editor[0].header
        assert header["HISTORY"] == LINES
        header["HISTORY"] = "four"
        header["HISTORY"] = ["five", "six"]
        assert header["HISTORY"] == [*LINES, "four", "five", "six"]
        assert dict(header["NAXIS*"]) == {"NAXIS": 2, "NAXIS1": 4, "NAXIS2": 3}
        del header["ESO *"]
        assert "ESO *" not in header
        with pytest.raises(tf.UsageError, match="pattern"):
            header["X*"] = 3
    theirs = fits.getheader(path)
    assert list(theirs["HISTORY"]) == [*LINES, "four", "five", "six"]
    assert len(theirs["ESO*"]) == 0


def test_lines_are_written_again(path: Path, tmp_path: Path) -> None:
    header = tf.open(path)[0].header
    for given in (header, dict(header), header["*I*"]):
        tf.write(tmp_path / "o.fits", np.zeros(3), given, overwrite=True)
        assert list(fits.getheader(tmp_path / "o.fits")["HISTORY"]) == LINES
