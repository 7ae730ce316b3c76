"""Cards of real headers survive every operation: long HIERARCH, comments, bytes outside ASCII."""

from __future__ import annotations

import copy
import json
import operator
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

import tachyfits as tf
from smallcubes import write_cube

#: Cards that fill 80 columns, or continue, as astropy and ESO write them.
LONG = {
    "ESO INS SLIT2 Y1FRML": "ENC=OFFSET+RESOL*acos((WID-(MAX+MIN))/(MAX-MIN)",
    "ESO PRO REC1 PARAM LONGNAME": "x" * 100,
    "ESO QUOTED TEXT": "it's " * 30 + "end",
}

#: Numbers whose comment fills the card.
COMMENTS = {
    "ABC DEF GH IJKLMN": (0.009125, "[m] abcdef ghijklm nopqrstu vw xyzab"),
    "ESO TEL AIRM START": (1.234, "Airmass at start of the exposure, first"),
}

#: Functions that write a new file from an image with a header.
WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    "moment": lambda image, out: image.moment(0).write(out),
    "spectrum": lambda image, out: image.spectrum().write(out),
    "image": lambda image, out: image.collapse("max").write(out),
    "pv": lambda image, out: image.pv([(0, 0), (3, 3)]).write(out),
    "rebin": lambda image, out: image.rebin(x=2).write(out),
    "reorder": lambda image, out: image.reorder("zxy").write(out),
    "smooth": lambda image, out: image.smooth().write(out),
    "math": lambda image, out: (image * 2).write(out),
    "cutout": lambda image, out: image.cutout(section=np.s_[0:2]).write(out),
    "write": lambda image, out: tf.write(out, image[:], image.header),
    "write a list": lambda image, out: tf.write(out, [(image[:], image.header)]),
    "write astropy's": lambda image, out: tf.write(out, image[:], image.header.to_astropy()),
    "write a dict": lambda image, out: tf.write(out, image[:], dict(image.header)),
}


def _records(path: Path, start: bytes) -> list[bytes]:
    header = tf.open(path)[0].header.raw
    assert header is not None
    cards = [header[at : at + 80] for at in range(0, len(header), 80)]
    return [card for card in cards if card.startswith(start)]


@pytest.mark.parametrize("how", WRITERS)
def test_long_hierarch_cards_are_carried_into_new_files(how: str, tmp_path: Path) -> None:
    source = write_cube(
        tmp_path / "a.fits", {f"HIERARCH {name}": value for name, value in LONG.items()}
    )
    WRITERS[how](tf.open(source)[0], tmp_path / "o.fits")
    ours = tf.open(tmp_path / "o.fits")[0].header
    theirs = fits.getheader(tmp_path / "o.fits")
    for name, value in LONG.items():
        assert ours[name] == theirs[name] == value


@pytest.mark.parametrize("how", WRITERS)
def test_comments_of_hierarch_cards_stay_whole_where_they_fit(how: str, tmp_path: Path) -> None:
    source = write_cube(
        tmp_path / "a.fits", {f"HIERARCH {name}": value for name, value in COMMENTS.items()}
    )
    assert all(
        fits.getheader(source).comments[name] == text for name, (_, text) in COMMENTS.items()
    )
    WRITERS[how](tf.open(source)[0], tmp_path / "o.fits")
    written = fits.getheader(tmp_path / "o.fits")
    for name, (value, comment) in COMMENTS.items():
        assert written[name] == value
        if how != "write a dict":
            assert written.comments[name] == comment


@pytest.mark.parametrize("name", LONG)
def test_edits_write_long_hierarch_cards(name: str, tmp_path: Path) -> None:
    path = write_cube(tmp_path / "a.fits")
    with tf.edit(path) as editor:
        editor[0].header[name] = (
            LONG[name],
            "and a comment of some length, forty characters and more",
        )
    assert tf.open(path)[0].header[name] == fits.getheader(path)[name] == LONG[name]
    assert tf.open(path)[0].header.comments[name].startswith("and a comment of some length")
    with tf.edit(path) as editor:
        editor[0].header["OBJECT"] = "M 31"
        editor[0].header[name] = LONG[name][::-1]
    assert fits.getheader(path)[name] == LONG[name][::-1]


def test_long_meta_of_tables_is_written(tmp_path: Path) -> None:
    table = Table({"fake": [0]})
    table.meta["description"] = "a" * 100
    table.meta["short"] = "b" * 120
    table.write(tmp_path / "t.ecsv", format="ascii.ecsv")
    for data in (table, Table.read(tmp_path / "t.ecsv")):
        with warnings.catch_warnings():
            warnings.simplefilter("error", tf.TachyfitsWarning)
            tf.write(tmp_path / "o.fits", data, overwrite=True)
        written = fits.getheader(tmp_path / "o.fits", 1)
        assert written["DESCRIPTION"] == "a" * 100
        assert written["SHORT"] == "b" * 120


def test_hierarch_cards_survive_tables_read_by_astropy(tmp_path: Path) -> None:
    header = fits.Header()
    for name, value in LONG.items():
        header[f"HIERARCH {name}"] = value
    columns = [fits.Column("a", "J", array=np.arange(5))]
    fits.BinTableHDU.from_columns(columns, header=header).writeto(tmp_path / "t.fits")
    table = tf.open(tmp_path / "t.fits")[1]
    for data in (table, table.read(), Table.read(tmp_path / "t.fits")):
        tf.write(tmp_path / "o.fits", data, overwrite=True)
        written = fits.getheader(tmp_path / "o.fits", 1)
        assert all(written[name] == value for name, value in LONG.items())


FREE = [
    b"EXPTIME = 5.0 / exposure time of one frame in seconds, dead time not included",
    b"SHORTSTR= 'a' / comment of a short string that is quite long and goes on to colu",
    b"COUNT   = 12/a comment that begins at once and leaves no room for fixed format..",
    b"FLAG    = T / a truth value with a comment that is longer than fixed format has",
]


@pytest.mark.parametrize("how", WRITERS)
def test_comments_of_free_format_cards_stay_whole(how: str, tmp_path: Path) -> None:
    source = _with_cards(tmp_path / "a.fits", FREE)
    WRITERS[how](tf.open(source)[0], tmp_path / "o.fits")
    before, after = fits.getheader(source), fits.getheader(tmp_path / "o.fits")
    for card in FREE:
        name = card[:8].decode().strip()
        assert after[name] == before[name]
        if how != "write a dict":
            assert after.comments[name] == before.comments[name]


def _with_cards(path: Path, cards: list[bytes]) -> Path:
    """Write a cube with cards unchanged, which astropy might refuse."""
    write_cube(path, {f"SPACE{number}": number for number in range(len(cards))})
    content = bytearray(path.read_bytes())
    for number, card in enumerate(cards):
        start = content.index(f"SPACE{number}".ljust(8).encode() + b"=")
        content[start : start + 80] = card.ljust(80)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("value", "comment"),
    [
        (5.0, "exposure time of one frame in seconds, dead time not included at all"),
        (12345678901234567890, "a large number"),
        (True, "a truth value with a comment that only fits without the blanks before"),
        ("text", "a comment of a string, long enough to go on in another card of the header"),
        ("t" * 67, "a comment"),
        ("t" * 68, "a comment beside a string that fills its card"),
    ],
)
def test_new_cards_keep_comments_that_fit(value: Any, comment: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.TachyfitsWarning)
        header = tf.Header([("MYKEY", value, comment[:66])])
        tf.write(tmp_path / "o.fits", np.zeros(3), header)
    written = tf.open(tmp_path / "o.fits")[0].header
    assert written["MYKEY"] == value
    assert written.comments["MYKEY"] == comment[:66]
    assert fits.getheader(tmp_path / "o.fits")["MYKEY"] == value


def test_comment_that_is_cut_gives_a_warning(tmp_path: Path) -> None:
    comment = "seconds of exposure, " * 4
    header = tf.Header([("EXPTIME", 5.0, comment), ("GAIN", 1.5, "fits")])
    with pytest.warns(tf.TachyfitsWarning, match="comment of EXPTIME is cut") as caught:
        tf.write(tmp_path / "o.fits", np.zeros(3), header)
    assert len(caught) == 1
    assert "GAIN" not in str(caught[0].message)
    left = tf.open(tmp_path / "o.fits")[0].header.comments["EXPTIME"]
    assert comment.startswith(left)
    assert len(left) == 80 - len("EXPTIME = 5.0 / ")


#: Cards that the Standard forbids and real files have; a new file has them as they were.
ODD = [
    b"OBSERVER= 'Jos\xe9'           / Latin-1",
    b"ORIGIN  = 'Observatoire'    / caf\xc3\xa9, UTF-8",
    b"HISTORY caf\xe9",
    b"foo     =                    3 / lower case",
    b"A.B     =                    3 / a point",
    b"CONTINUE  'orphan'",
    b"BADVAL  =                  NaN / no FITS value",
    b"NOVALUE ==5",
    b"HIERARCH some words without a value",
    b"BIGINT  = 00012345678901234567890123456789 / leading zeros",
    b"PRECISE = 1.23456789012345678901234567890E+01 / more digits than float64",
]


@pytest.mark.parametrize(
    "how", [name for name in WRITERS if name not in ("write astropy's", "write a dict")]
)
def test_odd_cards_are_copied_as_stored(how: str, tmp_path: Path) -> None:
    source = _with_cards(tmp_path / "a.fits", ODD)
    WRITERS[how](tf.open(source)[0], tmp_path / "o.fits")
    for card in ODD:
        assert _records(tmp_path / "o.fits", card[:12])[:1] == [card.ljust(80)]


def test_text_outside_ascii_gives_one_warning(tmp_path: Path) -> None:
    cards = [b"OBSERVER= 'Jos\xe9'", b"HISTORY caf\xe9", b"COMMENT na\xefve"]
    with pytest.warns(tf.TachyfitsWarning) as caught:
        file = tf.open(_with_cards(tmp_path / "a.fits", cards))
    assert len(caught) == 1
    (warning,) = [one for one in file.warnings if "illegal-byte" in one]
    assert "2 similar ones" in warning
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.TachyfitsWarning)
        file[0].moment(0).write(tmp_path / "o.fits")


def test_edits_keep_the_bytes_of_comments_outside_ascii(tmp_path: Path) -> None:
    cards = [
        b"OBSERVER= 'Jos\xe9'           / caf\xe9",
        b"EXPTIME =                  1.0 / \xc3\xa9t\xc3\xa9",
    ]
    path = _with_cards(tmp_path / "a.fits", cards)
    with tf.edit(path) as editor:
        editor[0].header["OBSERVER"] = "Marie"
        editor[0].header["EXPTIME"] = 2.5
        editor[0].header["OBJECT"] = "M 31"
    assert _records(path, b"OBSERVER") == [b"OBSERVER= 'Marie   '           / caf\xe9".ljust(80)]
    assert _records(path, b"EXPTIME") == [
        b"EXPTIME =                  2.5 / \xc3\xa9t\xc3\xa9".ljust(80)
    ]
    header = tf.open(path)[0].header.replaced({"OBSERVER": "Anne"})
    tf.write(tmp_path / "o.fits", np.zeros(3), header)
    assert _records(tmp_path / "o.fits", b"OBSERVER") == [
        b"OBSERVER= 'Anne    '           / caf\xe9".ljust(80)
    ]


def test_column_cards_outside_ascii_move_with_their_column(tmp_path: Path) -> None:
    columns = [fits.Column("a", "J", array=[1, 2]), fits.Column("b", "J", array=[3, 4])]
    hdu = fits.BinTableHDU.from_columns(columns)
    hdu.header["TUCD2"] = ("phot.mag", "plain")
    hdu.writeto(tmp_path / "t.fits")
    content = (tmp_path / "t.fits").read_bytes()
    (tmp_path / "t.fits").write_bytes(content.replace(b"/ plain", b"/ caf\xe9 "))
    tf.open(tmp_path / "t.fits")[1].write(tmp_path / "o.fits", columns=["b"])
    assert b"TUCD1   = 'phot.mag'           / caf\xe9 " in (tmp_path / "o.fits").read_bytes()


def test_astropy_takes_the_values_of_a_header() -> None:
    cards = [
        ("BMAJ", 0.004, "beam"), ("CTYPE1", "RA---TAN", ""), ("LONG", "x" * 150, ""),
        ("HISTORY", "first", ""), ("HISTORY", "second", ""), ("UNDEF", None, ""), ("T", True, ""),
        ("COMMENT", "text", ""), ("CPLX", 1 + 2j, ""),
    ]  # fmt: skip
    header = tf.Header(cards)
    copied = fits.Header(header)
    assert (copied["BMAJ"], copied["CTYPE1"], copied["LONG"]) == (0.004, "RA---TAN", "x" * 150)
    assert list(copied["HISTORY"]) == ["first", "second"]
    assert (copied["UNDEF"], copied["T"], copied["CPLX"]) == (None, True, 1 + 2j)
    assert fits.Header(tf.Header([])) == fits.Header()


def test_a_header_is_a_dict_that_cannot_be_changed() -> None:
    header = tf.Header([("BMAJ", 0.004, "beam"), ("HISTORY", "first", ""), ("NAXIS", 2, "")])
    values = {"BMAJ": 0.004, "HISTORY": ["first"], "NAXIS": 2}
    for same in (dict(header), {**header}, header | {}, {} | header, header.copy()):
        assert same == values
        assert type(same) is dict
    assert list(header.keys()) == list(header) == list(values)
    assert [*reversed(header)] == list(values)[::-1]
    assert ("HISTORY", "first") in list(header.items())
    assert json.loads(json.dumps(header["N*"])) == {"NAXIS": 2}
    assert not tf.Header([])
    for same in (copy.copy(header), copy.deepcopy(header), pickle.loads(pickle.dumps(header))):
        assert same == header
    changes: list[Callable[[Any], Any]] = [
        lambda h: h.update(A=1), lambda h: h.pop("BMAJ"), lambda h: h.clear(),
        lambda h: operator.setitem(h, "A", 1), lambda h: operator.delitem(h, "BMAJ"),
        lambda h: h.setdefault("A", 1), lambda h: operator.ior(h, {"A": 1}),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(tf.UsageError, match="a header cannot be changed"):
            change(header)
    assert dict(header) == values


def test_a_header_open_for_editing_is_a_dict_too(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", np.zeros((2, 2)), {"BMAJ": 0.004})
    with tf.edit(tmp_path / "a.fits") as editor:
        header = editor[0].header
        header["HISTORY"] = ["first", "second"]
        header.update(OBJECT="star")
        header |= {"BPA": 20.0}
        assert header.pop("OBJECT") == "star"
        copied = fits.Header(header)
        assert (copied["BMAJ"], copied["BPA"], "OBJECT" in copied) == (0.004, 20.0, False)
        assert list(copied["HISTORY"]) == ["first", "second"]
        assert len({**header}) == len(header) == len(list(header.keys()))
    assert fits.getheader(tmp_path / "a.fits")["BPA"] == 20.0
