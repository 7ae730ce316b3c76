"""Smoothing beside SciPy and astropy, each asked to do the same at edges and undefined pixels."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.convolution import convolve
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import convolve1d

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import run

#: SciPy's names of the edges.
SCIPY_EDGES = {"repeat": "nearest", "pair": "mirror", "zero": "constant"}

shapes = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
weight_lists = st.integers(0, 3).flatmap(
    lambda half: st.lists(st.floats(-2, 2, width=16), min_size=2 * half + 1, max_size=2 * half + 1)
)


def pixels(shape: tuple[int, ...], seed: int, dtype: str = "f4", nan: float = 0.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(size=shape).astype(dtype)
    values[random.random(shape) < nan] = np.nan
    return values


@given(shape=shapes, weights=weight_lists, seed=st.integers(0, 99), data=st.data())
@pytest.mark.parametrize("edge", SCIPY_EDGES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_good_pixels_are_smoothed_as_by_scipy(
    dtype: str, edge: str, shape: tuple[int, ...], weights: list[float], seed: int,
    data: st.DataObject,
) -> None:  # fmt: skip
    axis = data.draw(st.integers(0, len(shape) - 1))
    values = pixels(shape, seed, dtype)
    smooth = tf.open(primary(values))[0].smooth(weights, axis=axis, edge=edge)
    # A convolution turns the kernel around.
    expected = convolve1d(
        values.astype("f8"), weights[::-1], axis=axis, mode=SCIPY_EDGES[edge], cval=0.0
    )
    assert smooth.dtype == np.dtype(dtype)
    np.testing.assert_allclose(smooth[...], expected, rtol=1e-6 if dtype == "f4" else 1e-12,
                               atol=1e-6 if dtype == "f4" else 1e-12)  # fmt: skip


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("edge", SCIPY_EDGES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3, 700, 7), (2, 41, 1500), (5, 9, 5000)])
def test_rows_of_any_length_are_smoothed_as_by_scipy(
    dtype: str, edge: str, shape: tuple[int, ...], every: int
) -> None:
    values = pixels(shape, 3, dtype)
    weights = [0.5, -1.0, 2.0, 0.25, 0.125]
    for axis in (0, 1):
        smooth = tf.open(primary(values))[0].smooth(weights, axis=axis, edge=edge, every=every)
        expected = convolve1d(
            values.astype("f8"), weights[::-1], axis=axis, mode=SCIPY_EDGES[edge], cval=0.0
        )
        kept = tuple(slice(None, None, every if axis == at else 1) for at in range(3))
        np.testing.assert_allclose(smooth[...], expected[kept], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("edge", SCIPY_EDGES)
def test_planes_that_are_far_apart_are_smoothed_as_by_scipy(tmp_path: Path, edge: str) -> None:
    # Two cubes of 70 planes, each wider than a run: boxes follow each other along NAXIS3.
    values = pixels((2, 70, 230, 300), 5)
    expected = convolve1d(
        values.astype("f8"), [0.25, 0.5, 0.25], axis=1, mode=SCIPY_EDGES[edge], cval=0.0
    )
    smooth = tf.open(primary(values))[0].smooth("hanning", axis=1, edge=edge)
    for threads in (1, 3):
        path = tmp_path / f"{threads}.fits"
        smooth.write(path, threads=threads)
        np.testing.assert_array_equal(tf.open(path)[0][...], expected.astype("f4"))


@given(shape=shapes, seed=st.integers(0, 99), data=st.data())
@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("edge", ["repeat", "zero"])
def test_blank_pixels_are_renormalised_as_by_astropy(
    edge: str, fill: bool, shape: tuple[int, ...], seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    values = pixels(shape, seed, "f8", nan=0.3)
    image = tf.open(primary(values))[0]
    smooth = image.smooth("hanning", axis=axis, edge=edge, fill=fill)
    kernel = np.array([0.25, 0.5, 0.25])

    def by_astropy(line: np.ndarray) -> np.ndarray:
        boundary = {"repeat": "extend", "zero": "fill"}[edge]
        return np.asarray(
            convolve(line, kernel, boundary=boundary, fill_value=0.0, preserve_nan=not fill)
        )

    with np.errstate(all="ignore"):
        expected = np.apply_along_axis(by_astropy, axis, values)
    np.testing.assert_allclose(smooth[...], expected, rtol=1e-12, atol=1e-12)


@given(shape=shapes.filter(lambda shape: len(shape) > 1), seed=st.integers(0, 99))
@pytest.mark.parametrize("edge", ["repeat", "zero"])
def test_planes_are_smoothed_as_by_astropy(edge: str, shape: tuple[int, ...], seed: int) -> None:
    values = pixels(shape, seed, "f8", nan=0.2)
    widths = (1.1, 1.7)
    smooth = tf.open(primary(values))[0].smooth_sky(widths, edge=edge)
    x, y = (tf._core.smoothing_weights("gaussian", width) for width in widths)
    boundary = {"repeat": "extend", "zero": "fill"}[edge]
    planes = values.reshape(-1, *shape[-2:])
    with np.errstate(all="ignore"):
        expected = [
            convolve(plane, np.outer(y, x), boundary=boundary, fill_value=0.0, preserve_nan=True)
            for plane in planes
        ]
    np.testing.assert_allclose(smooth[...], np.reshape(expected, shape), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("blanks", ["propagate", "zero"])
def test_other_policies_for_blank_pixels_in_planes(blanks: str) -> None:
    values = pixels((9, 8), 1, "f8", nan=0.1)
    smooth = tf.open(primary(values))[0].smooth_sky(1.3, blanks=blanks)[...]
    weights = tf._core.smoothing_weights("gaussian", 1.3)
    treated = np.nan_to_num(values) if blanks == "zero" else values
    expected = convolve1d(convolve1d(treated, weights, axis=1, mode="nearest"), weights, axis=0,
                          mode="nearest")  # fmt: skip
    expected[np.isnan(values)] = np.nan
    np.testing.assert_allclose(smooth, expected, rtol=1e-12)


def test_pixels_near_the_edge_of_a_plane_may_stay() -> None:
    values = pixels((12, 11), 2, "f8")
    smooth = tf.open(primary(values))[0].smooth_sky((1.0, 2.0), edge="keep")[...]
    x, y = (len(tf._core.smoothing_weights("gaussian", width)) // 2 for width in (1.0, 2.0))
    inside = np.zeros(values.shape, dtype=bool)
    inside[y:-y, x:-x] = True
    assert (smooth[~inside] == values[~inside]).all()
    assert (smooth[inside] != values[inside]).all()


def test_hanning_at_the_ends_agrees_with_each_system() -> None:
    a0, a1 = 3.0, 7.0
    image = tf.open(primary(np.array([a0, a1, 20.0, -4.0])))[0]
    first = {edge: image.smooth("hanning", axis=0, edge=edge)[0] for edge in
             ("pair", "repeat", "zero", "blank", "keep")}  # fmt: skip
    assert first == {
        "pair": (a0 + a1) / 2,  # CASA
        "repeat": 0.75 * a0 + 0.25 * a1,  # MIRIAD
        "zero": 0.5 * a0 + 0.25 * a1,  # NEMO
        "blank": (0.5 * a0 + 0.25 * a1) / 0.75,  # renormalised
        "keep": a0,
    }


def test_every_nth_result_has_its_place_in_the_world() -> None:
    values = pixels((9, 4, 5), 3)
    image = tf.open(primary(values, cube_cards()))[0]
    thinned = image.smooth("boxcar", 3, axis="z", every=2)
    assert thinned.shape == (5, 4, 5)
    np.testing.assert_array_equal(thinned[...], image.smooth("boxcar", 3, axis="z")[::2])
    here = thinned.wcs.pixel_to_world_values(1, 2, 3)
    np.testing.assert_allclose(here, image.wcs.pixel_to_world_values(1, 2, 6), rtol=1e-12)


def test_history_records_the_operation() -> None:
    image = tf.open(primary(np.ones((6, 5, 4), "f4"), cube_cards()))[0]

    def told(smoothed: tf.Image) -> str:
        return " ".join(smoothed.header.history())

    hanning = told(image.smooth("hanning", axis="z", edge="pair", blanks="zero", every=2))
    parts = ["NAXIS3", "weights 0.25 0.5 0.25", "edges: pair", "blanks: zero", "one pixel of 2"]
    for part in parts:
        assert part in hanning
    widths = [told(image.smooth("gaussian", width, axis="x")) for width in (3, 4)]
    assert "15 weights" in widths[1]
    assert "dispersion 1.699 pixels" in widths[1]
    assert widths[0] != widths[1]
    assert told(image.smooth([1, 2, 1], axis="x", fill=True)).endswith("renormalise, filled")
    # Weights that add up to 0 have no dispersion.
    assert "NaN" not in told(image.smooth([-3, -2, -1, 0, 1, 2, 3], axis="x"))
    kinds = {told(image.rebin((2, 1, 1), statistic=name)) for name in ("sum", "mean", "median")}
    assert len(kinds) == 3
    with pytest.raises(tf.UsageError, match='"hanning" with width 5'):
        image.smooth("hanning", 5)


BEAM = [("BMAJ", 0.04), ("BMIN", 0.02), ("BPA", 0.0), ("BUNIT", "Jy/beam")]
SKY = [("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("CRPIX1", 21.0), ("CRPIX2", 21.0),
       ("CRVAL1", 10.0), ("CRVAL2", 0.0), ("CDELT1", -0.01), ("CDELT2", 0.01),
       ("CUNIT1", "deg"), ("CUNIT2", "deg")]  # fmt: skip


def test_an_unchanged_beam_gives_a_warning(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "image.fits"
    path.write_bytes(primary(np.ones((3, 4, 5)), [*SKY, *BEAM]))
    image = tf.open(path)[0]
    with pytest.warns(tf.TachyfitsWarning, match="leaves the beam"):
        assert image.smooth(axis="x").header["BMAJ"] == 0.04
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image.smooth(axis="z")
        tf.open(primary(np.ones((4, 5)), SKY))[0].smooth(axis="y")
        # Coordinates that astropy cannot read do not keep anyone from smoothing.
        tf.open(primary(np.ones((4, 5)), [*SKY[1:], *BEAM]))[0].smooth(axis="x")
    out = str(tmp_path / "out.fits")
    for axis, said in {"z": "", "y": f"warning: {path}: smoothing along one axis"}.items():
        assert run(["smooth", str(path), "--axis", axis, "-o", out, "--overwrite"]) == 0
        assert capsys.readouterr().err.startswith(said)


def test_the_beam_follows_the_kernel() -> None:
    values = np.zeros((41, 41))
    values[20, 20] = 1.0
    image = tf.open(primary(values, [*SKY, *BEAM]))[0]
    smooth = image.smooth_sky("108arcsec")
    header = smooth.header
    np.testing.assert_allclose(header["BMAJ"], np.hypot(0.04, 0.03), rtol=1e-12)
    np.testing.assert_allclose(header["BMIN"], np.hypot(0.02, 0.03), rtol=1e-12)
    # The sum of a source in Jy/beam grows as the beam does.
    ratio = header["BMAJ"] * header["BMIN"] / (0.04 * 0.02)
    np.testing.assert_allclose(smooth.sum(), ratio, rtol=1e-9)
    # Numbers of NumPy are pixels, too.
    assert image.smooth_sky(np.int64(3)).header["BMAJ"] == image.smooth_sky(3).header["BMAJ"]
    same = image.smooth_sky("108arcsec", update_beam=False)
    assert same.header["BMAJ"] == 0.04
    np.testing.assert_allclose(same.sum(), 1.0, rtol=1e-9)
    # An angle is 3 pixels here; along x only, the ellipse turns towards east.
    turned = image.smooth_sky((9.0, 0.1)).header
    np.testing.assert_allclose(turned["BMAJ"], np.hypot(0.02, 0.09), rtol=1e-9)
    np.testing.assert_allclose(turned["BPA"], 90.0, rtol=1e-9)


def test_a_sky_on_other_axes_is_refused() -> None:
    cards = [("CTYPE1", "FREQ"), ("CTYPE2", "RA---TAN"), ("CTYPE3", "DEC--TAN"), ("CDELT2", -0.01),
             ("CDELT3", 0.01), ("BMAJ", 0.03)]  # fmt: skip
    image = tf.open(primary(pixels((3, 4, 5), 4), cards))[0]
    for call in (
        lambda: image.smooth_sky(2.0, update_beam=False), lambda: image.smooth_sky("108arcsec"),
        lambda: image.smooth(beam="200arcsec"),
    ):  # fmt: skip
        with pytest.raises(tf.UsageError, match="the sky is on NAXIS2 and NAXIS3") as caught:
            call()
        assert "reorder" in str(caught.value)
    assert image.reorder("yzx").smooth_sky(2.0).shape == (5, 3, 4)


def test_any_axis_may_be_smoothed_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    path.write_bytes(primary(np.random.default_rng(1).normal(size=(7, 1, 4, 3)), []))
    image = tf.open(path)[0]
    for name, axis in {"4": 0, "3": 1, "z": 1, "1": 3}.items():
        out = tmp_path / f"{name}.fits"
        assert run(["smooth", str(path), "--axis", name, "-o", str(out)]) == 0
        np.testing.assert_array_equal(tf.open(out)[0][...], image.smooth(axis=axis)[...])
    assert run(["smooth", str(path), "--axis", "5", "-o", str(tmp_path / "x.fits")]) == 2


def test_smoothing_names_axes_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "line.fits"
    path.write_bytes(primary(np.arange(9.0)))
    with pytest.raises(tf.UsageError, match="an image of one axis has no planes to smooth"):
        tf.open(path)[0].smooth_sky(3)
    for words, said in (
        (["--axis", "2"], "invalid axis '2': the image has 1 axis\n"),
        ([], "the image has 1 axis and no spectral one\nhint: "),
        (["--sky", "3"], "an image of one axis has no planes to smooth\nhint: leave out --sky"),
    ):
        assert run(["smooth", str(path), *words, "-o", str(tmp_path / "x.fits")]) == 2
        assert said in capsys.readouterr().err


def test_a_beam_that_cannot_follow_may_stay(tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    path.write_bytes(primary(np.eye(9), [("BMAJ", 0.04), ("BMIN", 0.02), ("BUNIT", "Jy/beam")]))
    image = tf.open(path)[0]
    with pytest.raises(tf.UsageError, match="update_beam=False"):
        image.smooth_sky((3, 2))
    kept = image.smooth_sky((3, 2), update_beam=False)
    out = str(tmp_path / "smooth.fits")
    assert run(["smooth", str(path), "--sky", "3,2", "-o", out]) == 2
    assert run(["smooth", str(path), "--sky", "3,2", "--keep-beam", "-o", out]) == 0
    smooth = tf.open(out)[0]
    np.testing.assert_array_equal(smooth[...], kept[...])
    assert (smooth.header["BMAJ"], smooth.unit) == (0.04, "Jy/beam")
    # Nothing is left out in silence.
    for words in (["--sky", "3", "--axis", "x"], ["--weights", "1,2,1", "--kernel", "boxcar"]):
        assert run(["smooth", str(path), *words, "-o", out, "--overwrite"]) == 2
    assert run(["smooth", str(path), "--sky", "3,2,1", "--keep-beam", "-o", out]) == 2


def test_invalid_smoothing_is_refused() -> None:
    image = tf.open(primary(pixels((3, 4), 4)))[0]
    for call in (
        lambda: image.smooth([0.5, 0.5], axis=0),
        lambda: image.smooth([np.nan], axis=0),
        lambda: image.smooth("boxcar", 4, axis=0),
        lambda: image.smooth("gaussian", 0.0, axis=0),
        lambda: image.smooth("gaussian", np.inf, axis=0),
        lambda: image.smooth("hanning", 3, axis=0),
        lambda: image.smooth("triangle", axis=0),
        lambda: image.smooth(axis="z"),
        lambda: image.smooth(axis=0, edge="wrap"),
        lambda: image.smooth(axis=0, blanks="skip"),
        lambda: image.smooth("hanning", width="3 km/s"),
        lambda: image.smooth("hanning", every=2.5),
        lambda: image.smooth_sky("3arcsec"),
        lambda: image.smooth_sky("3 parsec"),
        lambda: image.smooth_sky((3, 2, 1)),
    ):
        with pytest.raises(tf.UsageError, match="hint"):
            call()


def test_the_spectral_axis_is_smoothed_wherever_it_is(tmp_path: Path) -> None:
    path, out = tmp_path / "casa.fits", tmp_path / "smooth.fits"
    # CASA writes the polarisations before the channels.
    path.write_bytes(primary(pixels((6, 1, 4, 5), 5), [("CTYPE3", "STOKES"), ("CTYPE4", "FREQ")]))
    image = tf.open(path)[0]
    assert run(["smooth", str(path), "-o", str(out)]) == 0
    for smooth in (tf.open(out)[0], image.smooth()):
        np.testing.assert_array_equal(smooth[...], image.smooth(axis=0)[...])
    assert not np.array_equal(image.smooth()[...], image[...])


def test_hints_about_widths_and_paths_fit_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "line.fits", str(tmp_path / "x.fits")
    path.write_bytes(primary(np.arange(9.0)))
    words = ["smooth", str(path), "--axis", "x", "--kernel", "gaussian", "--width", "0", "-o", out]
    assert run(words) == 2
    assert "hint: give a width within these limits" in capsys.readouterr().err
    assert run(["pv", str(path), "--path", "1,1 2,2", "-o", out]) == 2
    assert "points in pixels, counted from 1, within" in capsys.readouterr().err


def test_a_computed_image_is_an_image(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    path.write_bytes(primary(pixels((6, 7, 8), 5, nan=0.1), cube_cards()))
    with tf.open(path) as file:
        smooth = file[0].smooth("hanning", axis="y")
    # The file that it was made of is closed; its bytes are still there to be had.
    smooth.write(tmp_path / "smooth.fits")
    written = tf.open(tmp_path / "smooth.fits", strict=True)[0]
    for index in (np.s_[...], np.s_[2], np.s_[::-2, 1:6:2, ::3], np.s_[0:0]):
        np.testing.assert_array_equal(smooth[index], written[index])
    assert smooth.stats().mean == written.stats().mean
    assert (smooth.max(axis="z") == written.max(axis="z")).all()
    circle = tf.Circle(3, 3, 2)
    assert (smooth.spectrum(circle).values == written.spectrum(circle).values).all()
    assert smooth.smooth().sum() == written.smooth().sum()
    assert "smoothed" in repr(smooth)
    smooth.cutout(section=np.s_[1:3]).write(tmp_path / "cut.fits")
    np.testing.assert_array_equal(tf.open(tmp_path / "cut.fits")[0][...], written[1:3])


def test_a_computed_image_pickles_as_its_expression(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    path.write_bytes(primary(pixels((3, 4, 5), 6)))
    smooth = tf.open(path)[0].smooth("boxcar", 3, axis="x").smooth([0.2, 0.6, 0.2], axis="y")
    again = pickle.loads(pickle.dumps(smooth))
    np.testing.assert_array_equal(again[...], smooth[...])


def test_the_file_of_a_computed_image_may_be_replaced_by_it(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    values = pixels((5, 6, 7), 7)
    path.write_bytes(primary(values))
    image = tf.open(path)[0]
    expected = image.smooth(axis="x")[...]
    image.smooth(axis="x").write(path, overwrite=True)
    np.testing.assert_array_equal(tf.open(path)[0][...], expected)
