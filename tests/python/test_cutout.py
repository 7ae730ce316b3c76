"""Cutouts: the same pixels, the same places on the sky, and never half a file."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import astropy.wcs
import numpy as np
import pytest
from astropy.io import fits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import cube_cards, primary, stored_arrays

FUNCTION_SCOPED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

#: Ways of writing the same kind of coordinates.
MATRICES = {
    "cdelt": [],
    "pc": [("PC1_1", 0.8), ("PC1_2", -0.6), ("PC2_1", 0.6), ("PC2_2", 0.8)],
    "pc in part": [("PC1_2", 0.1)],
    "cd": [("CD1_1", -0.008), ("CD1_2", 0.006), ("CD2_1", 0.006), ("CD2_2", 0.008),
           ("CD3_3", 250.0)],
    "crota": [("CROTA2", 25.0)],
    "alternate": [("CTYPE1A", "GLON-TAN"), ("CTYPE2A", "GLAT-TAN"), ("CRPIX1A", 3.0),
                  ("CRPIX2A", 2.0), ("CDELT1A", -0.01), ("CDELT2A", 0.01), ("CRVAL1A", 30.0),
                  ("CRVAL2A", 1.0)],
}  # fmt: skip


def coordinates(kind: str) -> list[tuple[str, object]]:
    cards = cube_cards() + MATRICES[kind]
    return [c for c in cards if kind != "cd" or not c[0].startswith("CDELT")]


@FUNCTION_SCOPED
@given(data=st.data())
@pytest.mark.parametrize("kind", MATRICES)
def test_every_pixel_keeps_its_place_in_the_world(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    stored = np.arange(6 * 7 * 8, dtype="f4").reshape(6, 7, 8)
    image = tf.open(primary(stored, coordinates(kind)))[0]
    index = tuple(data.draw(st.slices(n).filter(lambda s, n=n: range(n)[s])) for n in stored.shape)
    image.cutout(section=index).write(tmp_path / "cut.fits", overwrite=True)
    with tf.open(tmp_path / "cut.fits", strict=True) as file:
        cut = file[0]
        np.testing.assert_array_equal(cut[...], stored[index])
        here = np.indices(cut.shape).reshape(3, -1)[::-1]
        places = np.meshgrid(*(np.arange(n)[s] for n, s in zip(stored.shape, index, strict=True)),
                             indexing="ij")  # fmt: skip
        there = [place.ravel() for place in reversed(places)]
        np.testing.assert_allclose(
            cut.wcs.pixel_to_world_values(*here),
            image.wcs.pixel_to_world_values(*there),
            rtol=1e-12,
            atol=1e-9,
        )


@FUNCTION_SCOPED
@given(data=st.data(), stored=stored_arrays())
def test_pixels_keep_their_stored_bits_and_their_scaling(
    data: st.DataObject, stored: np.ndarray, tmp_path: Path
) -> None:
    cards = [("BSCALE", 0.5), ("BZERO", 3.0)]
    if stored.dtype.kind in "iu":
        cards.append(("BLANK", 1))
    image = tf.open(primary(stored, cards))[0]
    index = tuple(data.draw(st.slices(n).filter(lambda s, n=n: range(n)[s])) for n in stored.shape)
    image.cutout(section=index).write(tmp_path / "cut.fits", overwrite=True)
    with tf.open(tmp_path / "cut.fits", strict=True) as file:
        assert file[0].read(dtype="raw").tobytes() == np.ascontiguousarray(stored[index]).tobytes()
        assert file[0].scaling == image.scaling


def test_physical_pixels_are_found_again_by_ltv_and_ltm(tmp_path: Path) -> None:
    stored = np.arange(80, dtype="i2").reshape(8, 10)
    cards = [("LTV1", 0.0), ("LTV2", 0.0), ("LTM1_1", 1.0), ("LTM2_2", 1.0)]
    path = tmp_path / "cut.fits"
    tf.open(primary(stored, cards))[0].cutout(section=np.s_[1:8:3, 2:10:2]).write(path)
    header = tf.open(path)[0].header
    for axis, (start, step) in ((1, (2, 2)), (2, (1, 3))):
        gain, offset = header[f"LTM{axis}_{axis}"], header[f"LTV{axis}"]
        for pixel in range(3):
            physical = start + pixel * step + 1
            assert gain * physical + offset == pytest.approx(pixel + 1, abs=1e-12)
    # The HISTORY of a cutout of a cutout refers to the first image's pixels.
    tf.open(path)[0].cutout(section=np.s_[1:, 1:4]).write(tmp_path / "again.fits")
    header = tf.open(tmp_path / "again.fits")[0].header
    assert header["LTM1_1"] * 5 + header["LTV1"] == pytest.approx(1.0, abs=1e-12)


def test_degenerate_axes_stay_unless_dropped(tmp_path: Path) -> None:
    stored = np.arange(6 * 7 * 8, dtype="f4").reshape(6, 7, 8)
    image = tf.open(primary(stored, cube_cards()))[0]
    image.cutout(section=np.s_[2]).write(tmp_path / "kept.fits")
    image.cutout(section=np.s_[2], drop_degenerate=True).write(tmp_path / "dropped.fits")
    with tf.open(tmp_path / "kept.fits") as kept, tf.open(tmp_path / "dropped.fits") as dropped:
        assert kept[0].shape == (1, 7, 8)
        assert kept[0].world_axis("z").values.tolist() == [1500.0]
        assert dropped[0].shape == (7, 8)
        np.testing.assert_array_equal(dropped[0][...], stored[2])
        # The dropped axis stays in the coordinates: the plane still has its velocity.
        here = dropped[0].wcs.pixel_to_world_values(3, 4, *[0] * (dropped[0].wcs.naxis - 2))
        np.testing.assert_allclose(here[:2], image.wcs.pixel_to_world_values(3, 4, 2)[:2])
        if len(here) > 2:
            assert here[2] == 1500.0


def test_an_old_file_is_not_replaced_by_accident(tmp_path: Path) -> None:
    image = tf.open(primary(np.arange(4, dtype="i2")))[0]
    path = tmp_path / "cut.fits"
    path.write_bytes(b"precious")
    with pytest.raises(tf.IoError, match=r"cut\.fits") as caught:
        image.cutout(section=np.s_[:2]).write(path)
    assert "hint: " in str(caught.value)
    assert path.read_bytes() == b"precious"
    image.cutout(section=np.s_[:2]).write(path, overwrite=True)
    assert tf.open(path)[0][...].tolist() == [0, 1]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    stored = np.arange(200_000, dtype="i4")
    image = tf.open(primary(stored)[:-300_000])[0]
    path = tmp_path / "cut.fits"
    path.write_bytes(b"precious")
    with pytest.raises(tf.FormatError):
        image.cutout(section=np.s_[:]).write(path, overwrite=True)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["cut.fits"]
    with pytest.raises(tf.IoError, match="nowhere"):
        image.cutout(section=np.s_[:10]).write(tmp_path / "nowhere" / "cut.fits")


@pytest.mark.skipif(shutil.which("fitsverify") is None, reason="fitsverify is not installed")
@pytest.mark.once
def test_cutouts_pass_fitsverify(tmp_path: Path) -> None:
    stored = np.arange(6 * 7 * 8, dtype="i2").reshape(6, 7, 8)
    image = tf.open(primary(stored, [*cube_cards(), ("BLANK", 5), ("BSCALE", 0.1)]))[0]
    image.cutout(section=np.s_[1:, ::2, ::-1]).write(tmp_path / "cut.fits")
    image.moment(1).write(tmp_path / "moment.fits")
    image.spectrum().write(tmp_path / "spectrum.fits")
    for name in ("cut", "moment", "spectrum"):
        command = ["fitsverify", "-e", str(tmp_path / f"{name}.fits")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_cutouts_read_the_same_in_astropy(tmp_path: Path) -> None:
    stored = np.arange(6 * 7 * 8, dtype="i4").reshape(6, 7, 8)
    image = tf.open(primary(stored, [*cube_cards(), ("BLANK", 5), ("BSCALE", 0.1)]))[0]
    image.cutout(section=np.s_[1:, ::2, ::-1]).write(tmp_path / "cut.fits")
    with fits.open(tmp_path / "cut.fits") as theirs, tf.open(tmp_path / "cut.fits") as ours:
        theirs.verify("exception")
        np.testing.assert_array_equal(theirs[0].data, ours[0][...])
        assert theirs[0].header["OBJECT"] == "test"


@pytest.fixture
def polarised() -> tf.Image:
    """Return a cube of 2 polarisations, 5 channels, 6 x 7 pixels."""
    stored = np.random.default_rng(51).normal(size=(2, 5, 6, 7)).astype("f4")
    stokes = [("CTYPE4", "STOKES"), ("CRPIX4", 1.0), ("CRVAL4", 1.0), ("CDELT4", 3.0)]
    image: tf.Image = tf.open(primary(stored, [*cube_cards(), *stokes]))[0]
    return image


def test_a_selected_polarisation_is_a_cube_of_three_axes(
    polarised: tf.Image, tmp_path: Path
) -> None:
    stored = polarised.read()
    for name, number in (("I", 0), ("V", 1)):
        cube = polarised.select(pol=name, drop_degenerate=True)
        assert cube.shape == (5, 6, 7)
        np.testing.assert_array_equal(cube.read(), stored[number])
        kept = polarised.select(pol=name)
        np.testing.assert_array_equal(cube.moment(1).values, kept.moment(1).values)
        assert cube.stats().sum == kept.stats().sum
        assert pickle.loads(pickle.dumps(cube.file))[0].shape == (5, 6, 7)
    cube.write(tmp_path / "v.fits")
    # The world of the three axes that are left is the same in astropy.
    written = astropy.wcs.WCS(fits.getheader(tmp_path / "v.fits"))
    whole = polarised.wcs
    here = written.pixel_to_world_values(3, 4, 2, *[0] * (written.naxis - 3))
    np.testing.assert_allclose(here[:3], whole.pixel_to_world_values(3, 4, 2, 1)[:3])


def test_selections_without_single_axes_keep_their_conditions(polarised: tf.Image) -> None:
    chosen = {"region": "circle(3,3,2)", "where": "> 0.5", "pol": "I", "channels": slice(1, 4)}
    kept = polarised.select(**chosen)
    dropped = polarised.select(**chosen, drop_degenerate=True)
    assert (kept.shape, dropped.shape) == ((1, 3, 6, 7), (3, 6, 7))
    np.testing.assert_array_equal(dropped.read(), kept.read()[0])
    np.testing.assert_array_equal(dropped.spectrum().values, kept.spectrum().values)
    # A selection of a selection, and nothing to drop.
    again = polarised.select(pol="I").select(where="> 0.5", drop_degenerate=True)
    np.testing.assert_array_equal(again.read(), polarised.select(pol="I", where="> 0.5").read()[0])
    assert polarised.select(channels=slice(0, 2), drop_degenerate=True).shape == (2, 2, 6, 7)
    assert polarised.select(pol="I", channels=2, drop_degenerate=True).shape == (6, 7)


def test_several_regions_need_every_axis(polarised: tf.Image) -> None:
    regions = ["circle(2,2,1)", "circle(5,5,1)"]
    with pytest.raises(tf.UsageError, match="several regions") as caught:
        polarised.select(regions, pol="I", drop_degenerate=True)
    assert "select them in the result" in str(caught.value)
    cube = polarised.select(pol="I", drop_degenerate=True)
    alone = [cube.select(each).stats().sum for each in regions]
    assert [one.sum for one in cube.select(regions).stats()] == alone


def test_axes_of_length_1_are_left_out_of_written_files(
    polarised: tf.Image, tmp_path: Path
) -> None:
    part = polarised.select(pol="V")
    part.write(tmp_path / "three.fits", drop_degenerate=True)
    tf.write(tmp_path / "short.fits", part, dtype="i2", scaling=(0.01, 0.0), drop_degenerate=True)
    part.write(tmp_path / "four.fits", drop_degenerate=False)
    assert [tf.open(tmp_path / f"{name}.fits")[0].shape for name in ("three", "short", "four")] == [
        (5, 6, 7), (5, 6, 7), (1, 5, 6, 7),
    ]  # fmt: skip
    stored = polarised.read()[1]
    np.testing.assert_array_equal(tf.open(tmp_path / "three.fits")[0].read(), stored)
    np.testing.assert_allclose(tf.open(tmp_path / "short.fits")[0].read(), stored, atol=0.006)
    pixel = polarised.cutout(section=np.s_[0, 1, 2, 3])
    with pytest.raises(tf.UsageError, match="drop_degenerate"):
        tf.write(tmp_path / "new.fits", np.ones((1, 2, 3)), drop_degenerate=True)
    assert not (tmp_path / "new.fits").exists()
    # FITS has no image without axes.
    pixel.write(tmp_path / "pixel.fits", drop_degenerate=True)
    assert tf.open(tmp_path / "pixel.fits")[0].shape == (1,)
    assert tf.open(tmp_path / "pixel.fits")[0].read().ravel().tolist() == [polarised[0, 1, 2, 3]]


def test_header_without_single_axes_describes_the_axes_that_are_left(polarised: tf.Image) -> None:
    cube = polarised.select(pol="V").cutout(drop_degenerate=True)
    assert cube.header["NAXIS"] == 3
    assert cube.coordinates.channel_axis == 0
