"""Cubes whose channels have beams of their own: CASAMBM = T, and a table BEAMS beside them.

An operation that keeps channels keeps their rows, renumbered; one that combines channels leaves out
the table and CASAMBM, and HISTORY records it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run

MAJOR = np.linspace(10, 15, 6).astype("f4")


def beams_table(channels: int = 6, polarisations: int = 1) -> fits.BinTableHDU:
    rows = channels * polarisations
    column = fits.Column
    chan = np.tile(np.arange(channels), polarisations)
    pol = np.repeat(np.arange(polarisations), channels)
    table = fits.BinTableHDU.from_columns(
        [
            column("BMAJ", "E", unit="arcsec", array=np.tile(MAJOR[:channels], polarisations)),
            column("BMIN", "E", unit="arcsec", array=np.full(rows, 9.0)),
            column("BPA", "E", unit="deg", array=np.full(rows, 20.0)),
            column("CHAN", "J", array=chan),
            column("POL", "J", array=pol),
        ],
        name="BEAMS",
    )
    table.header["NCHAN"], table.header["NPOL"] = channels, polarisations
    return table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_cube(tmp_path / "beams.fits", {"CASAMBM": True}, extra=[beams_table()])


def beams(path: Path) -> tuple[list[int], list[float]]:
    """Return CHAN and BMAJ of the table, after checking that it goes with the image."""
    with fits.open(path) as hdus:
        assert hdus[0].header["CASAMBM"] is True
        assert [hdu.name for hdu in hdus] == ["PRIMARY", "BEAMS"]
        table = hdus["BEAMS"]
        assert table.header["NCHAN"] == len(table.data)
        assert (table.data["BMIN"] == 9.0).all()
        return table.data["CHAN"].tolist(), table.data["BMAJ"].tolist()


def history(header: Any) -> str:
    return " ".join(str(card.value) for card in header.cards if card.keyword == "HISTORY")


KEEPING = {
    "copy": lambda image: image,
    "math": lambda image: image * 2,
    "evaluate": lambda image: tf.evaluate("a + 1", a=image),
    "reorder": lambda image: image.reorder("zxy"),
    "rebin": lambda image: image.rebin(x=2, y=2),
    "smooth x": lambda image: image.smooth("hanning", axis="x"),
    "smooth z": lambda image: image.smooth("hanning", axis="z"),
    "smooth sky": lambda image: image.smooth_sky(2.0, update_beam=False),
    "pv": lambda image: image.pv([(0, 0), (3, 4)]),
    "chain": lambda image: (image.reorder("yxz") * 2).rebin(x=2).smooth("hanning", axis="z"),
}


@pytest.mark.parametrize("name", KEEPING)
def test_operations_that_keep_channels_keep_their_rows(
    path: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out.fits"
    KEEPING[name](tf.open(path)[0]).write(out, checksum=True)
    assert beams(out) == (list(range(6)), MAJOR.tolist())
    for hdu in tf.open(out):
        assert hdu.checksum().ok


@pytest.mark.parametrize(
    ("section", "channels"),
    [
        (np.s_[2:5], [2, 3, 4]),
        (np.s_[::2, 1:3], [0, 2, 4]),
        (np.s_[3], [3]),
        (np.s_[::-1], [5, 4, 3, 2, 1, 0]),
        (np.s_[:, 1:], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_part_has_the_rows_of_its_channels(
    path: Path, tmp_path: Path, section: Any, channels: list[int]
) -> None:
    out = tmp_path / "out.fits"
    tf.open(path)[0].cutout(section=section).write(out)
    assert beams(out) == (list(range(len(channels))), MAJOR[channels].tolist())
    assert tf.verify(out).errors == 0


def test_every_second_channel_keeps_its_rows(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.fits"
    tf.open(path)[0].smooth("hanning", axis="z", every=2).write(out)
    assert beams(out) == ([0, 1, 2], MAJOR[::2].tolist())


def test_a_part_of_a_part_is_numbered_again(path: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.fits", tmp_path / "second.fits"
    tf.open(path)[0].cutout(section=np.s_[1:]).write(first)
    (tf.open(first)[0] * 2).cutout(section=np.s_[2:4]).write(second)
    assert beams(second) == ([0, 1], MAJOR[[3, 4]].tolist())


def test_polarisations_are_renumbered_too(tmp_path: Path) -> None:
    cards = {"CASAMBM": True, "CTYPE4": "STOKES", "CRVAL4": 1.0, "CRPIX4": 1.0, "CDELT4": 1.0}
    data = np.ones((2, 6, 5, 4), "f4")
    path = write_cube(tmp_path / "iquv.fits", cards, data=data, extra=[beams_table(6, 2)])
    out = tmp_path / "out.fits"
    tf.open(path)[0].cutout(section=np.s_[1:, 4:]).write(out)
    table = fits.getdata(out, "BEAMS")
    assert (table["CHAN"].tolist(), table["POL"].tolist()) == ([0, 1], [0, 0])
    assert fits.getheader(out, "BEAMS")["NPOL"] == 1
    assert table["BMAJ"].tolist() == MAJOR[4:].tolist()


def test_rebinned_channels_have_no_beams(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.fits"
    tf.open(path)[0].rebin(z=2).write(out)
    with fits.open(out) as hdus:
        assert len(hdus) == 1
        assert "CASAMBM" not in hdus[0].header
        assert "left out" in " ".join(hdus[0].header["HISTORY"])


@pytest.mark.parametrize("name", ["moment", "collapse", "spectrum"])
def test_results_name_no_table(path: Path, name: str) -> None:
    image = tf.open(path)[0]
    result = {
        "moment": lambda: image.moments([0])[0],
        "collapse": image.collapse,
        "spectrum": image.spectrum,
    }
    header = result[name]().header
    assert "CASAMBM" not in header
    assert "BEAMS is left out" in history(header)


def test_the_plane_of_a_channel_has_its_beam(path: Path) -> None:
    for header in (
        tf.open(path)[0].plane(np.s_[3]).header,
        tf.open(path)[0].select(channels=slice(3, 4)).collapse("max").header,
    ):
        assert "CASAMBM" not in header
        assert header["BMAJ"] == pytest.approx(MAJOR[3] / 3600, rel=1e-6)
        assert header["BMIN"] == pytest.approx(9 / 3600)
        assert header["BPA"] == 20.0


def test_one_beam_for_all_channels_replaces_the_table(tmp_path: Path) -> None:
    cards = {"BMAJ": 3e-3, "BMIN": 3e-3, "BPA": 0.0}
    path = write_cube(tmp_path / "common.fits", cards, extra=[beams_table()])
    out = tmp_path / "out.fits"
    tf.open(path)[0].smooth_sky(2.0).write(out)
    with fits.open(out) as hdus:
        assert len(hdus) == 1
        assert hdus[0].header["BMAJ"] > 3e-3
        assert "left out" in " ".join(hdus[0].header["HISTORY"])


def test_the_command_line_keeps_them(path: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out.fits")
    for arguments, channels in [
        (["cutout", str(path), "--channels", "3:5"], [2, 3, 4]),
        (["math", "a * 2", f"a={path}"], list(range(6))),
        (["smooth", str(path)], list(range(6))),
        (["reorder", str(path), "213"], list(range(6))),
    ]:
        assert run([*arguments, "-o", out, "--overwrite"]) == 0, arguments
        assert beams(Path(out)) == (list(range(len(channels))), MAJOR[channels].tolist())


def test_a_table_of_another_image_stays_where_it_is(tmp_path: Path) -> None:
    other = fits.ImageHDU(np.zeros((6, 5, 4), "f4"), name="OTHER")
    path = write_cube(tmp_path / "two.fits", {"CASAMBM": True}, extra=[other, beams_table()])
    out = tmp_path / "out.fits"
    tf.open(path)[1].cutout(section=np.s_[1:3]).write(out)
    with fits.open(out) as hdus:
        assert [hdu.name for hdu in hdus] == ["OTHER"]


def test_a_list_of_parts_keeps_their_tables(path: Path, tmp_path: Path) -> None:
    image = tf.open(path)[0]
    out = tmp_path / "out.fits"
    tf.write(out, [image.cutout(channels=slice(2, 5)), (np.zeros((2, 2)), None)])
    with fits.open(out) as hdus:
        assert [hdu.name for hdu in hdus] == ["PRIMARY", "", "BEAMS"]
        assert hdus["BEAMS"].data["CHAN"].tolist() == [0, 1, 2]
        assert hdus["BEAMS"].data["BMAJ"].tolist() == MAJOR[2:5].tolist()
    # Parts with the same channels share their table; a whole file has it already.
    tf.write(out, [image.cutout(section=np.s_[:, :2]), image * 2], overwrite=True)
    assert [hdu.name for hdu in tf.open(out)] == ["PRIMARY", "", "BEAMS"]
    tf.write(out, list(tf.open(path)), overwrite=True)
    assert beams(out) == (list(range(6)), MAJOR.tolist())


def test_a_list_of_parts_with_different_tables_is_refused(path: Path, tmp_path: Path) -> None:
    image = tf.open(path)[0]
    out = tmp_path / "out.fits"
    for parts in (
        [image.cutout(channels=slice(0, 2)), image.cutout(channels=slice(2, 4))],
        [image.cutout(channels=slice(0, 2)), tf.open(path)["BEAMS"]],
    ):
        with pytest.raises(tf.UsageError, match="different tables 'BEAMS'"):
            tf.write(out, parts)
        assert not out.exists()
