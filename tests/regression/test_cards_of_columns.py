"""Cards that belong to a column go where the column goes, in every way of copying and editing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run

NAMES = ("TIME", "PHA", "X", "Y")

#: Keywords with "#" for the number of a column: limits, archives', Tables 22, 23 and 35.
LIMITS = ("TDMIN#", "TDMAX#")
PLAIN = ("TLMIN#", "TLMAX#", "TDBIN#", "TUCD#", "TUTYP#", "TRDIR#", "TDESC#", "TDOC#")
PIXEL_LISTS = (
    "TCTYP#", "TCTY#A", "TCUNI#", "TCUN#A", "TCRVL#", "TCRV#A", "TCDLT#", "TCDE#A", "TCRPX#",
    "TCRP#A", "TCROT#", "TCNA#", "TCRD#", "TCSY#B", "TWCS#A", "WCS#B", "TV#_1", "TPV#_12A",
    "TS#_0", "TPS#_1Z", "TCZPH#", "TCZP#A", "TCPER#", "TCPR#A",
)  # fmt: skip
VECTORS = (
    "1CTYP#", "2CTY#A", "1CUNI#", "2CUN#A", "1CRVL#", "1CRV#P", "1CDLT#", "1CDE#A", "1CDL#P",
    "1CRPX#", "1CRP#P", "1CROT#", "12PC#", "21CD#A", "1V#_3", "2PV#_3A", "1V#_X", "1S#_0",
    "1PS#_1A", "WCSN#A", "WCAX#", "WCST#A", "WCSX#", "1CNA#", "1CRD#", "1CSY#A", "RADE#A",
    "EQUI#", "LONP#", "LATP#A", "1CZPH#", "1CPR#A",
)  # fmt: skip
SPECTRAL = ("SPEC#", "SOBS#A", "SSRC#", "VSYS#", "ZSOU#", "VANG#", "RFRQ#A", "RWAV#")
OBSERVED = ("DOBS#", "MJDOB#", "DAVG#", "MJDA#", "OBSGX#", "OBSGY#", "OBSGZ#")
CARRIED = PLAIN + PIXEL_LISTS + VECTORS + SPECTRAL + OBSERVED

#: The same with a second column after the underscore.
PAIRS = ("TP#_&", "TPC#_&A", "TC#_&", "TCD#_&Z")


def _value(keyword: str, *names: str) -> str:
    return f"{keyword} of {' and '.join(names)}"[:60]


def _header() -> dict[str, str]:
    cards = {}
    for number, name in enumerate(NAMES, 1):
        for keyword in (*CARRIED, *LIMITS):
            cards[keyword.replace("#", str(number))] = _value(keyword, name)
    for keyword in PAIRS:
        cards[keyword.replace("#", "2").replace("&", "4")] = _value(keyword, "PHA", "Y")
        cards[keyword.replace("#", "3").replace("&", "3")] = _value(keyword, "X", "X")
    return cards


def _expected(names: list[str], keywords: tuple[str, ...], pairs: bool) -> dict[str, str]:
    cards = {}
    for number, name in enumerate(names, 1):
        if name in NAMES:
            for keyword in keywords:
                cards[keyword.replace("#", str(number))] = _value(keyword, name)
    for keyword in PAIRS if pairs else ():
        for one, other in (("PHA", "Y"), ("X", "X")):
            if one in names and other in names:
                numbered = keyword.replace("#", str(names.index(one) + 1))
                there = numbered.replace("&", str(names.index(other) + 1))
                cards[there] = _value(keyword, one, other)
    return cards


def _found(path: Path) -> dict[str, str]:
    header = fits.getheader(path, 1)
    return {
        keyword: value
        for keyword, value in header.items()
        if isinstance(value, str) and " of " in value and keyword != "COMMENT"
    }


@pytest.fixture
def events(tmp_path: Path) -> Path:
    columns = [fits.Column(name, "E", array=np.arange(3) + 0.5) for name in NAMES]
    hdu = fits.BinTableHDU.from_columns(columns, name="EVENTS")
    for keyword, value in _header().items():
        hdu.header[keyword] = value
    hdu.header["SPECIES"] = "unlike SPEC of a column"
    hdu.writeto(tmp_path / "events.fits")
    return tmp_path / "events.fits"


def _select(path: Path, out: Path, names: list[str]) -> None:
    with tf.open(path) as file:
        file[1].write(out, names)


def _rows(path: Path, out: Path, names: list[str]) -> None:
    with tf.open(path) as file:
        file[1].write(out, names, where="PHA > 1")


def _table(path: Path, out: Path, names: list[str]) -> None:
    with tf.open(path) as file:
        tf.write(out, file[1], columns=names)


def _command(path: Path, out: Path, names: list[str]) -> None:
    assert run(["table", str(path), "--columns", ",".join(names), "-o", str(out)]) == 0


def _delete(path: Path, out: Path, names: list[str]) -> None:
    out.write_bytes(path.read_bytes())
    for name in NAMES:
        if name not in names:
            with tf.edit(out) as editor:
                editor[1].delete_column(name)


@pytest.mark.parametrize("way", [_select, _rows, _table, _command, _delete])
@pytest.mark.parametrize(
    "names", [["PHA", "X"], ["X", "Y"], ["PHA", "Y"], ["Y"], ["TIME", "X"], list(NAMES)]
)
def test_columns_that_are_chosen_keep_their_cards(
    events: Path, tmp_path: Path, way: Callable[..., None], names: list[str]
) -> None:
    way(events, tmp_path / "out.fits", names)
    expected = _expected(names, CARRIED + LIMITS, pairs=True)
    found = _found(tmp_path / "out.fits")
    found.pop("SPECIES")
    assert found == expected


@pytest.mark.parametrize("way", [_select, _table, _command])
def test_cards_follow_columns_in_another_order(
    events: Path, tmp_path: Path, way: Callable[..., None]
) -> None:
    names = ["Y", "X", "TIME", "PHA"]
    way(events, tmp_path / "out.fits", names)
    found = _found(tmp_path / "out.fits")
    found.pop("SPECIES")
    assert found == _expected(names, CARRIED + LIMITS, pairs=True)


def test_cards_follow_columns_that_are_inserted_and_renamed(events: Path) -> None:
    with tf.edit(events) as editor:
        editor[1].add_column("NEW", [1, 2, 3], before="PHA")
        editor[1].rename_column("X", "XX")
        editor[1].append({"TIME": [1], "NEW": [4], "PHA": [1], "XX": [1], "Y": [1]})
    found = _found(events)
    found.pop("SPECIES")
    assert found == _expected(["TIME", "NEW", "PHA", "X", "Y"], CARRIED + LIMITS, pairs=True)


def test_whole_copies_keep_every_card(events: Path, tmp_path: Path) -> None:
    with tf.open(events) as file:
        tf.write(tmp_path / "several.fits", [(None, None), file[1]])
        with tf.edit(tmp_path / "several.fits") as editor:
            editor.append(file[1])
            editor[2].delete_column("TIME")
    for hdu, names in ((1, list(NAMES)), (2, list(NAMES[1:]))):
        header = fits.getheader(tmp_path / "several.fits", hdu)
        for keyword, value in _expected(names, CARRIED + LIMITS, pairs=True).items():
            assert header[keyword] == value


@pytest.mark.parametrize("names", [["X"], ["Y", "TIME"], list(NAMES)])
@pytest.mark.parametrize(
    "through",
    [
        lambda table, names: table.read(names),
        lambda table, names: table.to_astropy(names),
        lambda table, names: table.to_arrow(names),
        lambda table, names: table.arrow_reader(names, rows=2),
    ],
    ids=["read", "astropy", "arrow", "stream"],
)
def test_cards_survive_other_libraries(
    events: Path, tmp_path: Path, names: list[str], through: Callable[..., Any]
) -> None:
    with tf.open(events) as file:
        tf.write(tmp_path / "out.fits", through(file[1], names))
    found = _found(tmp_path / "out.fits")
    found.pop("SPECIES")
    assert found == _expected(names, CARRIED, pairs=False)


def test_tables_of_astropy_keep_the_cards_of_chosen_columns(events: Path, tmp_path: Path) -> None:
    with fits.open(events) as opened:
        tf.write(tmp_path / "out.fits", opened[1], columns=["X", "PHA"])
    found = _found(tmp_path / "out.fits")
    assert found["TDBIN1"] == _value("TDBIN#", "X")
    assert found["1CDL2P"] == _value("1CDL#P", "PHA")
    assert not [keyword for keyword in found if "3" in keyword and "_3" not in keyword]


def test_cards_that_no_longer_fit_eight_characters_are_refused(tmp_path: Path) -> None:
    columns = [fits.Column(f"C{n}", "B", array=np.zeros(1, "u1")) for n in range(1, 121)]
    hdu = fits.BinTableHDU.from_columns(columns)
    hdu.header["TPC98_99"] = 0.5
    hdu.writeto(tmp_path / "wide.fits")
    names = [f"C{n}" for n in range(1, 121) if n not in (98, 99)] + ["C98", "C99"]
    with tf.open(tmp_path / "wide.fits") as file:
        with pytest.raises(tf.UsageError, match="TPC119_120"):
            file[1].write(tmp_path / "out.fits", names)
        file[1].write(tmp_path / "out.fits", names[::-1])
    assert fits.getheader(tmp_path / "out.fits", 1)["TPC2_1"] == 0.5
