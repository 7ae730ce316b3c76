"""Beams: read, kept, and smoothed to; compared with radio_beam and with sources of known size."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.cli import run
from tachyfits.header.convolution import convolution
from test_units import PIXEL, beams_cube, cube, header

radio_beam = pytest.importorskip("radio_beam", reason="COMPARISONS LEFT OUT: radio_beam")


def sources(
    path: Path,
    beams: list[tuple[float, float, float]],
    unit: str = "Jy/beam",
    dtype: str = "f8",
) -> tf.Image:
    """Return a cube whose channels hold a point source of 2 Jy, seen with these beams (arcsec)."""
    x, y = np.meshgrid(np.arange(91) - 45.0, np.arange(91) - 45.0)
    # RA grows to the left.
    east, north = -x * PIXEL, y * PIXEL
    planes = []
    for major, minor, angle in beams:
        turn = math.radians(angle)
        along = east * math.sin(turn) + north * math.cos(turn)
        across = east * math.cos(turn) - north * math.sin(turn)
        planes.append(2 * np.exp(-4 * math.log(2) * ((along / major) ** 2 + (across / minor) ** 2)))
    made = header(unit, beam=len(beams) == 1)
    if len(beams) == 1:
        made["BMAJ"], made["BMIN"], made["BPA"] = (
            beams[0][0] / 3600,
            beams[0][1] / 3600,
            beams[0][2],
        )
    else:
        made["CASAMBM"] = True
    hdus = fits.HDUList([fits.PrimaryHDU(np.array(planes, dtype=dtype), made)])
    if len(beams) > 1:
        columns = [
            fits.Column(name, "1D", unit=of, array=[beam[place] for beam in beams])
            for place, (name, of) in enumerate(
                (("BMAJ", "arcsec"), ("BMIN", "arcsec"), ("BPA", "deg"))
            )
        ]
        columns.append(fits.Column("CHAN", "1J", array=np.arange(len(beams))))
        hdus.append(fits.BinTableHDU.from_columns(columns, name="BEAMS"))
    hdus.writeto(path, overwrite=True)
    return tf.open(path)[0]


def size_of(plane: np.ndarray) -> np.ndarray:
    """Return the matrix of squared full widths (east, north) of a source, arcsec."""
    x, y = np.meshgrid(np.arange(91) - 45.0, np.arange(91) - 45.0)
    offsets = np.stack([-x * PIXEL, y * PIXEL])
    moments = np.einsum("ayx,byx,yx->ab", offsets, offsets, plane) / plane.sum()
    return np.asarray(moments * 8 * math.log(2))


@pytest.mark.parametrize(
    ("beams", "target"),
    [
        ([(9.0, 6.0, 30.0)], "15arcsec"),
        ([(9.0, 6.0, 30.0)], "15arcsec, 12arcsec, 80deg"),
        # Kernels that are lines, and none at all.
        ([(9.0, 6.0, 30.0)], "9arcsec"),
        ([(9.0, 9.0, 0.0)], "14arcsec"),
        ([(9.0, 6.0, 30.0)], "9arcsec, 6arcsec, 30deg"),
        ([(9.0, 6.0, 30.0), (7.0, 7.0, 0.0), (11.0, 5.0, 140.0)], "12arcsec"),
        ([(9.0, 6.0, 30.0), (7.0, 7.0, 0.0), (11.0, 5.0, 140.0)], "common"),
    ],
)
def test_a_source_gets_the_target_beam(tmp_path: Path, beams: Any, target: str) -> None:
    image = sources(tmp_path / "s.fits", beams)
    result = image.smooth(beam=target)
    assert result.beams is None
    assert "CASAMBM" not in result.header
    beam = result.beam
    expected = beam.covariance * 3600**2
    for plane in result.read():
        # Of a point source in Jy/beam the peak stays, and the size is the beam.
        assert plane.max() == pytest.approx(2.0, rel=2e-3)
        np.testing.assert_allclose(size_of(plane), expected, atol=1e-3 * expected.max())
    flux = result.spectrum(statistic="flux").values
    np.testing.assert_allclose(flux, 2.0, rtol=1e-4)
    if target != "common":
        given = tf.Image.with_beam(image, target).beam
        assert (beam.major, beam.minor, beam.angle) == (given.major, given.minor, given.angle)
    result.write(tmp_path / "w.fits")
    assert [hdu.name for hdu in tf.open(tmp_path / "w.fits")] == ["PRIMARY"]


def test_values_that_are_not_per_beam_keep_their_sum(tmp_path: Path) -> None:
    image = sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0)], "K")
    result = image.smooth(beam="15arcsec", edge="zero")
    np.testing.assert_allclose(result.sum(axis="xy"), image.sum(axis="xy"), rtol=1e-6)


@given(
    *(st.tuples(st.floats(1, 20), st.floats(0.1, 1), st.floats(0, 180)) for _ in range(2)),
)
def test_kernels_are_those_of_radio_beam(one: Any, other: Any) -> None:
    (major, ratio, angle), (kernel, thin, turn) = one, other
    own = radio_beam.Beam(major * u.arcsec, major * ratio * u.arcsec, angle * u.deg)
    more = radio_beam.Beam(kernel * u.arcsec, kernel * thin * u.arcsec, turn * u.deg)
    target = own.convolve(more)
    found = target.deconvolve(own)
    made = header(beam=False)
    made["BMAJ"], made["BMIN"], made["BPA"] = major / 3600, major * ratio / 3600, angle
    stream = io.BytesIO()
    fits.PrimaryHDU(np.zeros((1, 4, 4)), made).writeto(stream)
    image = tf.open(stream.getvalue())[0]
    # x is to the west.
    xx, xy, yy = convolution(image, target).widths[0] * PIXEL**2
    turn = found.pa.to_value("rad")
    a, b = found.major.to_value("arcsec") ** 2, found.minor.to_value("arcsec") ** 2
    expected = (
        a * math.sin(turn) ** 2 + b * math.cos(turn) ** 2,
        -(a - b) * math.sin(turn) * math.cos(turn),
        a * math.cos(turn) ** 2 + b * math.sin(turn) ** 2,
    )
    scale = target.major.to_value("arcsec") ** 2
    np.testing.assert_allclose((xx, xy, yy), expected, atol=1e-8 * scale)


def test_the_common_beam_is_that_of_radio_beam(tmp_path: Path) -> None:
    image = sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0), (7.0, 7.0, 0.0), (11.0, 5.0, 140.0)])
    beams = image.beams
    assert (len(beams), beams[2].minor) == (3, pytest.approx(5 / 3600))
    theirs = radio_beam.Beams(beams.major * u.deg, beams.minor * u.deg, beams.angle * u.deg)
    found, expected = image.common_beam(), theirs.common_beam()
    assert found.major == pytest.approx(expected.major.to_value(u.deg), rel=1e-12)
    one = cube(tmp_path / "a.fits")
    assert one.common_beam() == one.beam


def test_a_smaller_target_is_refused(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    for target in ("5arcsec", "8arcsec", "9arcsec, 6arcsec, 31deg"):
        with pytest.raises(tf.UsageError, match="smaller than the beam 9 x 6 arcsec at 30 deg"):
            image.smooth(beam=target)
    several = beams_cube(tmp_path / "b.fits", 2)
    with pytest.raises(tf.UsageError, match=r"of channel 1 \(from 0\)"):
        several.smooth(beam="9.5arcsec")
    with pytest.raises(tf.UsageError, match="no usable beam"):
        cube(tmp_path / "c.fits", beam=False).smooth(beam="9arcsec")
    with pytest.raises(tf.UsageError, match="takes no kernel"):
        image.smooth("boxcar", 3, beam="15arcsec")


def test_the_command_line_says_how_an_image_gets_a_beam(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tachyfits.cli import run

    path, out = str(tmp_path / "c.fits"), str(tmp_path / "o.fits")
    cube(tmp_path / "c.fits", beam=False)
    smooth = ["smooth", path, "--beam", "30arcsec", "-o", out]
    assert run(smooth) == 2
    said = capsys.readouterr().err
    assert "no usable beam" in said
    # --beam is the target here: the beam of the image is another.
    words = said.partition("tachyfits header FILE ")[2].partition(" (degrees)")[0].split()
    assert run(["header", path, *words]) == 0
    assert run(smooth) == 0


def test_each_channel_and_polarisation_has_its_kernel(tmp_path: Path) -> None:
    image = beams_cube(tmp_path / "b.fits", 2)
    result = image.smooth(beam="40arcsec", blanks="zero")
    for pol in range(2):
        for channel in range(4):
            beam = tf.Beam(*(float(part[pol, channel]) for part in (
                image.beams.major, image.beams.minor, image.beams.angle)))  # fmt: skip
            alone = image.with_beam(beam).smooth(beam="40arcsec", blanks="zero")
            np.testing.assert_allclose(
                result[pol, channel], alone[pol, channel], rtol=1e-5, atol=1e-5
            )


def test_channels_without_a_beam_become_undefined(tmp_path: Path) -> None:
    image = sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0), (0.0, 0.0, 0.0)])
    with pytest.warns(tf.TachyfitsWarning, match="without a usable beam become undefined: 1"):
        result = image.smooth(beam="12arcsec")
    assert np.isfinite(result[0]).all()
    assert np.isnan(result[1]).all()


def test_a_channel_without_a_beam_has_no_flux(tmp_path: Path) -> None:
    image = sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0), (0.0, 0.0, 0.0)])
    for statistic, unit in (("flux", "mJy"), ("sum", "K"), ("max", "K")):
        values = image.spectrum(statistic=statistic, unit=unit, rest="115 GHz").values
        assert values[0] > 0
        assert np.isnan(values[1])


def test_beams_are_shown(tmp_path: Path) -> None:
    summary = beams_cube(tmp_path / "b.fits").coordinates.summary
    assert summary.beams is not None
    assert "beams 9 x 6 arcsec at 0 deg to 12 x 9 arcsec at 15 deg" in str(summary)
    assert not summary.problems


def test_the_command_line_smooths_to_a_beam(tmp_path: Path, capsys: Any) -> None:
    image = sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0)])
    out = str(tmp_path / "o.fits")
    assert run(["smooth", str(tmp_path / "s.fits"), "--beam", "15arcsec", "-o", out]) == 0
    np.testing.assert_array_equal(tf.open(out)[0].read(), image.smooth(beam="15arcsec").read())
    assert run(["smooth", out, "--beam", "15arcsec", "--axis", "z", "-o", out]) == 2
    assert "--beam takes no --axis" in capsys.readouterr().err
    assert run(["smooth", out, "--beam", "5arcsec", "-o", out, "--overwrite"]) == 2
    assert "smaller than the beam" in capsys.readouterr().err


@pytest.mark.parametrize("polarisations", [1, 2])
@pytest.mark.parametrize("unit", ["Jy/beam", "K"])
def test_one_kernel_grows_the_beam_of_each_channel(
    tmp_path: Path, polarisations: int, unit: str
) -> None:
    image = beams_cube(tmp_path / "b.fits", polarisations, unit)
    result = image.smooth_sky("24arcsec")
    result.write(tmp_path / "w.fits")
    again = tf.open(tmp_path / "w.fits")[0]
    assert again.header["CASAMBM"] is True
    for pol in range(polarisations):
        for channel in range(4):
            place = (pol, channel) if polarisations > 1 else channel
            own = image.beams[place]
            alone = image.with_beam(own).smooth_sky("24arcsec")
            grown = again.beams[place]
            # The table has float32.
            for axis in ("major", "minor", "angle"):
                expected = getattr(alone.beam, axis)
                assert getattr(grown, axis) == pytest.approx(expected, rel=1e-6)
            np.testing.assert_allclose(
                again[pol, channel], alone[pol, channel], rtol=1e-12, atol=1e-12
            )
    same = image.smooth_sky("24arcsec", update_beam=False)
    np.testing.assert_array_equal(same.beams.major, image.beams.major)


def test_one_kernel_leaves_channels_without_a_beam_undefined(tmp_path: Path) -> None:
    image = sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0), (0.0, 0.0, 0.0)])
    with pytest.warns(tf.TachyfitsWarning, match="without a usable beam become undefined: 1"):
        result = image.smooth_sky("12arcsec")
    assert np.isfinite(result[0]).all()
    assert np.isnan(result[1]).all()
    # Values that are not per beam need none.
    kelvin = sources(tmp_path / "k.fits", [(9.0, 6.0, 30.0), (0.0, 0.0, 0.0)], "K")
    found = kelvin.smooth_sky("12arcsec").read()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(kelvin.read()))


@pytest.mark.parametrize(
    ("form", "zero"), [("1J", None), ("1B", None), ("1I", 32768), ("1E", None)]
)
def test_beams_follow_their_channels_whatever_the_type_of_the_column(
    tmp_path: Path, form: str, zero: int | None
) -> None:
    path = tmp_path / "cube.fits"
    sources(path, [(9.0, 6.0, 30.0), (8.0, 6.0, 30.0), (7.0, 6.0, 30.0)])
    with fits.open(path) as hdus:
        columns = [
            fits.Column("BMAJ", "1I", unit="arcsec", array=np.array([9000, 8000, 7000], "i2")),
            fits.Column("BMIN", "1D", unit="arcsec", array=[6.0] * 3),
            fits.Column("BPA", "1D", unit="deg", array=[30.0] * 3),
            fits.Column("CHAN", form, array=np.arange(3), bzero=zero),
        ]
        table = fits.BinTableHDU.from_columns(columns, name="BEAMS")
        table.header["NCHAN"], table.header["TSCAL1"] = 3, 0.001
        fits.HDUList([hdus[0].copy(), table]).writeto(path, overwrite=True)
    image = tf.open(path)[0]
    assert isinstance(image, tf.Image)
    image.cutout(channels=slice(1, 3)).write(tmp_path / "part.fits")
    with fits.open(tmp_path / "part.fits") as hdus:
        assert hdus["BEAMS"].data["CHAN"].tolist() == [0, 1]
        assert hdus["BEAMS"].data["BMAJ"] == pytest.approx([8, 7])
        assert hdus["BEAMS"].header["NCHAN"] == 2
    # With undefined channels around.
    whole = [(0, length, 1) for length in image.shape]
    core = image._core_image().cut(whole, margins=[(2, 1), (0, 0), (0, 0)])
    around = tf.File.computed(core, None)[0]
    assert isinstance(around, tf.Image)
    around.write(tmp_path / "around.fits")
    with fits.open(tmp_path / "around.fits") as hdus:
        assert hdus[0].header["NAXIS3"] == hdus["BEAMS"].header["NCHAN"] == 6
        assert hdus["BEAMS"].data["CHAN"].tolist() == [2, 3, 4]
