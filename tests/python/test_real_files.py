"""Real files: every value as astropy gives it in float64, every coordinate as astropy gives it."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.units import Unit

import tachyfits as tf
from fitsbytes import physical
from realfiles import ASTROPY_IMAGES, parameters, path_of
from tachyfits.cli import run

CUBES = (
    "NGC4047.co.smo7gain.fits.gz", "dec_pol_freq_ra.fits", "l1448_13co.fits", "manyaxes.fits",
    "minicube.fits", "ngc6946.fits", "ra_pol_freq_dec.fits",
)  # fmt: skip
IMAGES = (
    "HorseHead.fits", "M13_blue_0001.fits", "blankset16.fits", "blanksetmin32.fits",
    "gc_2mass_h.fits", "m101HI.fits", "spitzer_example_image.fits",
)  # fmt: skip
TABLES = (
    "hlsp_tess-data-alerts_tess_phot_00025155310-s01_tess_v1_lc.fits",
    "kplr010666592-2009131110544_slc.fits",
)
IMAGE_FILES = [*(f"data/cubes/{name}" for name in CUBES),
               *(f"data/images/{name}" for name in IMAGES), *ASTROPY_IMAGES]  # fmt: skip
FILES = [*IMAGE_FILES, *(f"data/tables/{name}" for name in TABLES)]

GOLDENS = Path(__file__).resolve().parents[1] / "goldens"


@pytest.fixture(autouse=True)
def _astropys_opinions() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def scaling(header: fits.Header) -> tuple[float, float, int | None]:
    blank = header.get("BLANK") if header["BITPIX"] > 0 else None
    return header.get("BSCALE", 1.0), header.get("BZERO", 0.0), blank


@pytest.mark.once
@pytest.mark.parametrize("name", parameters(FILES))
def test_every_value_is_astropys_in_float64(name: str) -> None:
    with (
        fits.open(path_of(name), do_not_scale_image_data=True) as theirs,
        tf.open(path_of(name)) as ours,
    ):
        assert len(theirs) == len(ours)
        images = 0
        for hdu, mine in zip(theirs, ours, strict=True):
            if not hdu.is_image or hdu.data is None:
                continue
            images += 1
            stored = np.asarray(hdu.data)
            native = stored.astype(stored.dtype.newbyteorder("="))
            assert isinstance(mine, tf.Image)
            assert mine.read(dtype="raw").tobytes() == native.tobytes()
            expected = physical(native, *scaling(fits.getheader(path_of(name), mine.index)))
            np.testing.assert_array_equal(mine.read(dtype="float64"), expected)
            np.testing.assert_array_equal(mine[...], expected)
            assert mine[...].dtype.isnative
        if name in IMAGE_FILES:
            assert images


@pytest.mark.once
@pytest.mark.parametrize("name", parameters(FILES))
def test_astropy_agrees_where_it_scales_in_float64(name: str) -> None:
    with fits.open(path_of(name)) as theirs, tf.open(path_of(name)) as ours:
        for hdu, mine in zip(theirs, ours, strict=True):
            if not hdu.is_image or hdu.data is None:
                continue
            bscale, bzero, _ = scaling(fits.getheader(path_of(name), mine.index))
            if mine.bitpix in (8, 16) and (bscale != 1.0 or bzero not in (0.0, 32768.0)):
                continue  # see the next test
            np.testing.assert_array_equal(
                mine.read(dtype="float64"), np.asarray(hdu.data).astype(np.float64)
            )


#: Files with scaled 16-bit pixels: how many pixels, and by how much relative to the spread.
IN_FLOAT32 = {"data/cubes/ngc6946.fits": 0.9, "data/images/gc_2mass_h.fits": 0.2}


@pytest.mark.once
@pytest.mark.parametrize("name", parameters(IN_FLOAT32))
def test_astropy_scales_16_bit_pixels_in_float32_and_that_is_the_whole_difference(
    name: str,
) -> None:
    with fits.open(path_of(name)) as theirs, tf.open(path_of(name)) as ours:
        mine = ours[0].read(dtype="float32")
        data = theirs[0].data
        stored = ours[0].read(dtype="raw")
        bscale, bzero, blank = ours[0].scaling
    assert data.dtype == np.float32
    # Their arithmetic: each operation is rounded to 24 bits.
    single = stored.astype(np.float32) * np.float32(bscale) + np.float32(bzero)
    if blank is not None:
        single[stored == blank] = np.nan
    np.testing.assert_array_equal(data, single)
    # Ours is the Standard's formula rounded once: the nearest float32 of the true value.
    np.testing.assert_array_equal(mine, physical(stored, bscale, bzero, blank).astype(np.float32))
    good = np.isfinite(mine)
    differing = (mine[good] != data[good]).mean()
    print(f"{name}: astropy differs in {differing:.1%} of the pixels")
    assert differing > IN_FLOAT32[name]


@pytest.mark.once
@pytest.mark.parametrize("name", parameters(FILES))
def test_headers_are_astropys(name: str) -> None:
    with fits.open(path_of(name)) as theirs, tf.open(path_of(name)) as ours:
        for mine in ours:
            header = fits.getheader(path_of(name), mine.index)
            for keyword in set(header) - {"COMMENT", "HISTORY", ""}:
                if header.cards[keyword].field_specifier is not None:
                    continue  # one of several record-valued cards of one keyword
                try:
                    value = header[keyword]
                except fits.VerifyError:
                    continue  # a card that astropy cannot read
                if isinstance(value, fits.card.Undefined):
                    value = None
                found = mine.header[keyword]
                if isinstance(value, str):
                    # Trailing blanks of a string are not significant.
                    assert (found or "").rstrip() == value.rstrip(), keyword
                else:
                    assert found == value, keyword
            assert len(mine.header.to_astropy()) == len(header)
        assert len(theirs) == len(ours)


@pytest.mark.parametrize("name", parameters(IMAGE_FILES))
def test_statistics_are_numpys(name: str) -> None:
    with tf.open(path_of(name)) as ours:
        for mine in ours:
            if not isinstance(mine, tf.Image) or not mine.size:
                continue
            values = mine.read(dtype="float64")
            stats = mine.stats()
            good = values[~np.isnan(values)]
            assert (stats.count, stats.nan) == (good.size, values.size - good.size)
            if not good.size:
                assert np.isnan(stats.mean)
                continue
            long = good.astype(np.longdouble)
            size = float(np.abs(long[np.isfinite(long)]).sum())
            np.testing.assert_allclose(stats.sum, float(long.sum()), rtol=1e-14, atol=1e-15 * size)
            np.testing.assert_allclose(stats.mean, float(long.mean()), rtol=1e-12)
            np.testing.assert_allclose(stats.rms, float(np.sqrt((long**2).mean())), rtol=1e-12)
            with np.errstate(invalid="ignore"):
                spread = float(np.sqrt(((long - long.mean()) ** 2).mean()))
            np.testing.assert_allclose(stats.std, spread, rtol=1e-12)
            assert (stats.min, stats.max) == (good.min(), good.max())
            assert stats.min_position == np.unravel_index(np.nanargmin(values), values.shape)
            assert stats.max_position == np.unravel_index(np.nanargmax(values), values.shape)


@pytest.mark.once
@pytest.mark.parametrize("name", parameters(IMAGE_FILES))
def test_cutouts_keep_the_world(name: str, tmp_path: Path) -> None:
    with tf.open(path_of(name)) as ours:
        for mine in ours:
            if not isinstance(mine, tf.Image) or not mine.size:
                continue
            sip = "A_ORDER" in mine.header
            index = tuple(slice(n // 3, None, 2 if n > 8 and not sip else 1) for n in mine.shape)
            path = tmp_path / f"{mine.index}.fits"
            mine.cutout(section=index).write(path)
            with tf.open(path) as again:
                cut = again[0]
                np.testing.assert_array_equal(cut[...], mine[index])
                if not any(k.startswith("CTYPE") for k in mine.header):
                    continue  # no coordinates to keep
                _compare_reference_pixels(mine, cut, index)
                if "FREQ-OHEL" in mine.header.values():
                    continue  # astropy refuses this old type
                here = np.tile([[0.0], [1.0]], mine.ndim)
                here = np.minimum(here, np.array(cut.shape[::-1]) - 1)
                there = [
                    column * (index[mine.ndim - 1 - a].step or 1) + index[mine.ndim - 1 - a].start
                    for a, column in enumerate(here.T)
                ]
                np.testing.assert_allclose(
                    cut.wcs.pixel_to_world_values(*here.T),
                    mine.wcs.pixel_to_world_values(*there),
                    rtol=1e-11,
                    atol=1e-9,
                )


def _compare_reference_pixels(image: tf.Image, cut: tf.Image, index: tuple[slice, ...]) -> None:
    for axis, piece in enumerate(reversed(index), 1):
        if f"CRPIX{axis}" in image.header:
            expected = (image.header[f"CRPIX{axis}"] - 1 - piece.start) / piece.step + 1
            assert cut.header[f"CRPIX{axis}"] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", parameters(f"data/cubes/{name}" for name in CUBES))
def test_statistics_of_the_command_line_are_the_golden_ones(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """TACHYFITS_BLESS=1 rewrites the tables; a person reads the difference."""
    path = path_of(name)
    monkeypatch.chdir(path.parent)
    assert run(["stats", "--json", "--hdu", "all", path.name]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    golden = GOLDENS / f"{path.name}.json"
    if os.environ.get("TACHYFITS_BLESS"):
        golden.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(golden.read_text()), f"{golden} says otherwise"


@pytest.mark.parametrize(
    "name",
    parameters(
        f"data/cubes/{name}"
        for name in ("ngc6946.fits", "l1448_13co.fits", "NGC4047.co.smo7gain.fits.gz")
    ),
)
def test_spectra_and_moments_of_real_cubes(name: str) -> None:
    with tf.open(path_of(name)) as ours:
        image = ours[0]
        values = image.read(dtype="float64").reshape(-1, *image.shape[-2:])
        spectrum = image.spectrum(tf.Circle(50, 52, 9.5))
        mask = tf.Circle(50, 52, 9.5).mask(*image.shape[-2:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = np.nanmean(values[:, mask], axis=1)
        np.testing.assert_allclose(spectrum.values, expected, rtol=1e-11, atol=1e-12)
        world = image.wcs.sub(["spectral"]).pixel_to_world_values(np.arange(len(spectrum)))
        # astropy gives SI units, the axis is in the header's own.
        si = Unit(spectrum.axis.unit).to("m/s")
        np.testing.assert_allclose(spectrum.axis.values * si, world, rtol=1e-9)
        total = np.nansum(values, axis=0)
        total[np.isnan(values).all(axis=0)] = np.nan
        width = abs(spectrum.axis.values[1] - spectrum.axis.values[0])
        np.testing.assert_allclose(image.moment(0).values, total * width, rtol=1e-9, atol=1e-6)
        with np.errstate(all="ignore"):
            along = np.nansum(values * spectrum.axis.values[:, None, None], axis=0) / total
        bright = total > np.nanpercentile(total, 90)
        np.testing.assert_allclose(image.moment(1).values[bright], along[bright], rtol=1e-9)
