"""Images in another shape, as people ask for them: names of axes, sky coordinates, files."""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS
from hypothesis import example, given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import cube_cards, physical, primary, stored_arrays
from realfiles import files_under
from tachyfits.cli import run


def opened(array: np.ndarray, cards: list[tuple[str, object]] | None = None) -> tf.Image:
    image = tf.open(primary(array, cards or []))[0]
    assert isinstance(image, tf.Image)
    return image


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(6, 9, 11)).astype("f4")
    values[2, 3, 4] = np.nan
    path = tmp_path / "cube.fits"
    path.write_bytes(primary(values, cube_cards()))
    image = tf.open(path)[0]
    assert isinstance(image, tf.Image)
    return image


# Reordering.


@given(stored_arrays(), st.randoms())
def test_reordering_is_numpy_s_transpose(array: np.ndarray, random) -> None:
    axes = list(range(array.ndim))
    random.shuffle(axes)
    reordered = opened(array).reorder(axes=axes)
    expected = array.transpose(axes)
    np.testing.assert_array_equal(reordered.read(dtype="raw"), expected)
    digits = "".join(str(array.ndim - axis) for axis in reversed(axes))
    np.testing.assert_array_equal(opened(array).reorder(digits).read(dtype="raw"), expected)


def test_an_axis_without_pixels_is_one_all_the_same(tmp_path: Path) -> None:
    empty = opened(np.zeros((0, 3, 4), "f4"), cube_cards())
    empty.reorder("zxy").write(tmp_path / "turned.fits")
    with tf.open(tmp_path / "turned.fits", strict=True) as file:
        assert file[0].shape == (3, 4, 0)
        assert file[0].header["CTYPE1"] == "VRAD"
    assert empty[...].shape == (0, 3, 4)
    assert empty.stats().count == 0
    assert np.isnan(empty.sum())


def test_letters_are_in_fits_order(cube: tf.Image) -> None:
    reordered = cube.reorder("zxy")
    np.testing.assert_array_equal(reordered[...], cube[...].transpose(1, 2, 0))
    assert [reordered.header[f"CTYPE{n}"] for n in (1, 2, 3)] == ["VRAD", "RA---TAN", "DEC--TAN"]
    np.testing.assert_array_equal(cube.reorder("312")[...], reordered[...])
    np.testing.assert_array_equal(cube.reorder((3, 1, 2))[...], reordered[...])
    with pytest.raises(tf.UsageError):
        cube.reorder((1, 2, 0))
    np.testing.assert_array_equal(reordered.spectrum().values, cube.spectrum().values)


def test_a_reordered_file_is_read_alike_by_astropy(cube: tf.Image, tmp_path: Path) -> None:
    path = tmp_path / "out.fits"
    scaled = np.arange(-10, 14, dtype="i2").reshape(2, 3, 4)
    cards = [("BSCALE", 0.5), ("BZERO", 3.0), ("BLANK", -7), *cube_cards()]
    opened(scaled, cards).reorder("yzx").write(path, checksum=True)
    with fits.open(path, checksum=True, do_not_scale_image_data=True) as file:
        np.testing.assert_array_equal(file[0].data, scaled.transpose(2, 0, 1))
        assert file[0].header["BLANK"] == -7
        wcs = WCS(file[0].header)
    world = wcs.pixel_to_world_values(1, 0, 2)
    original = WCS(fits.Header.fromstring(b"".join(_cards(scaled, cards)))).pixel_to_world_values
    np.testing.assert_allclose(world, np.array(original(2, 1, 0))[[1, 2, 0]])


def _cards(array: np.ndarray, cards: list[tuple[str, object]]) -> list[bytes]:
    content = primary(array, cards)
    return [content[:2880]]


def test_wrong_orders_are_refused(cube: tf.Image) -> None:
    for order in ("zx", "zxx", "zxw", "31", "410", ""):
        with pytest.raises((tf.UsageError, IndexError, KeyError)):
            cube.reorder(order)
    for arguments in ({}, {"order": "zxy", "axes": (0, 1, 2)}, {"axes": (0, 1)}):
        with pytest.raises(tf.UsageError):
            cube.reorder(**arguments)


# Rebinning.


def blocked(values: np.ndarray, block: tuple[int, ...], partial: str) -> np.ndarray:
    """The blocks of an array with their pixels along a last axis, NaN where there are none."""
    if partial == "keep":
        pad = [(0, -length % size) for length, size in zip(values.shape, block, strict=True)]
        values = np.pad(values, pad, constant_values=np.nan)
    counts = [length // size for length, size in zip(values.shape, block, strict=True)]
    inside = tuple(slice(0, n * size) for n, size in zip(counts, block, strict=True))
    pairs = [number for pair in zip(counts, block, strict=True) for number in pair]
    split = values[inside].reshape(pairs)
    order = [*range(0, 2 * values.ndim, 2), *range(1, 2 * values.ndim, 2)]
    return split.transpose(order).reshape(*counts, -1)


FUNCTIONS = {
    "mean": np.nanmean,
    "sum": lambda a, axis: np.where(np.isnan(a).all(axis), np.nan, np.nansum(a, axis)),
    "median": np.nanmedian,
    "min": np.nanmin,
    "max": np.nanmax,
}


@example(np.array([2**63 - 512]), [1, 1, 1, 1], "max", "drop", False)
@given(
    stored_arrays(finite=True),
    st.lists(st.integers(1, 4), min_size=4, max_size=4),
    st.sampled_from(sorted(FUNCTIONS)),
    st.sampled_from(["drop", "keep"]),
    st.booleans(),
)
def test_rebinning_is_numpy_s_reduction_of_blocks(
    array: np.ndarray, sizes: list[int], statistic: str, partial: str, scaled: bool
) -> None:
    block = tuple(min(n, size) for n, size in zip(array.shape, sizes, strict=False))
    cards: list[tuple[str, object]] = [("BSCALE", 0.25), ("BZERO", -1.0)] if scaled else []
    values = physical(array, 0.25, -1.0) if scaled else physical(array)
    found = opened(array, cards).rebin(block, statistic=statistic, partial=partial)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = FUNCTIONS[statistic](blocked(values, block, partial), axis=-1)
    small = np.dtype(array.dtype) in (np.dtype("u1"), np.dtype("i2"), np.dtype("f4"))
    # Sums of integers are exact, and extremes of those that float64 does not hold.
    exact = array.dtype.kind in "iu" and not scaled
    exact &= statistic == "sum" or (statistic in ("min", "max") and array.dtype.itemsize == 8)
    if exact:
        assert found.dtype == np.int64 or array.dtype.itemsize == 8
    else:
        assert found.dtype == np.dtype("f4" if small else "f8")
    # NumPy's float64 of a large integer may be 2^63, which is not an int64: compare both as floats.
    result = found[...].astype("f8") if exact else found[...]
    with np.errstate(over="ignore"):
        expected = expected.astype(result.dtype)
    scale = np.nanmax(np.abs(values), initial=0.0)
    np.testing.assert_allclose(
        result, expected, rtol=3e-7 if small else 1e-13, atol=1e-14 * scale * 300
    )


def test_blocks_by_letters_keep_the_sky(cube: tf.Image, tmp_path: Path) -> None:
    path = tmp_path / "out.fits"
    rebinned = cube.rebin(x=2, z=3, partial="keep")
    assert rebinned.shape == (2, 9, 6)
    rebinned.write(path)
    with fits.open(path) as file:
        np.testing.assert_array_equal(file[0].data, rebinned[...])
        new = WCS(file[0].header)
    # The outer corner of the first pixel, and one between blocks.
    for here, there in [((-0.5, -0.5, -0.5), (-0.5, -0.5, -0.5)), ((2.5, 4, 0.5), (5.5, 4, 2.5))]:
        np.testing.assert_allclose(
            new.pixel_to_world_values(*here), cube.wcs.pixel_to_world_values(*there), rtol=1e-12
        )
    assert cube.rebin((3, 1, 2), partial="keep").header["CRPIX1"] == rebinned.header["CRPIX1"]


def test_wrong_blocks_are_refused(cube: tf.Image) -> None:
    for arguments in (
        {"block": (1, 1)},
        {"block": (7, 1, 1)},
        {"x": 0},
        {"block": (1, 1, 2), "x": 2},
        {"y": 1.5},
        {"x": 2, "partial": "pad"},
        {"x": 2, "statistic": "mode"},
    ):
        with pytest.raises(tf.UsageError):
            cube.rebin(**arguments)


# Position-velocity cuts.


def test_planes_are_subtracted_on_the_sky_of_a_cube(cube: tf.Image) -> None:
    # With equal lengths, NumPy's rule would take the plane for one of other axes.
    part = cube.cutout(section=np.s_[:5, :5, :5])
    for order in ("xyz", "zxy", "xzy"):
        image = part.reorder(order)
        plane = image.collapse("mean")
        spectral = image.channel_axis
        expected = image.read(dtype="float64") - np.expand_dims(plane.values, spectral)
        np.testing.assert_allclose((image - plane).read(), expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose((plane - image).read(), -expected, rtol=1e-5, atol=1e-5)
        assert (image - plane).unit == image.unit
        bright = plane._changed((plane.values > 0).astype("f8"), None)
        np.testing.assert_array_equal(
            np.isnan(image.select(where=bright).collapse("max").values), ~(plane.values > 0)
        )


def test_blocks_and_orders_that_are_numbers_are_refused(cube: tf.Image) -> None:
    for call in (
        lambda: cube.rebin(2),  # type: ignore[arg-type]
        lambda: cube.rebin((1, None, 2)),  # type: ignore[arg-type]
        lambda: cube.rebin(x=2**70),
        lambda: cube.reorder(axes=3),  # type: ignore[arg-type]
        lambda: cube.reorder(312),  # type: ignore[arg-type]
    ):
        with pytest.raises(tf.UsageError, match=r"invalid (block|axes|order)") as caught:
            call()
        assert "\nhint: " in str(caught.value)


def test_a_cut_along_a_row_is_the_row(cube: tf.Image) -> None:
    np.testing.assert_array_equal(cube.pv([(0, 5), (10, 5)])[...], cube[:, 5, :])
    np.testing.assert_array_equal(cube.pv([(7, 8), (7, 0)])[...], cube[:, ::-1, 7])
    wide = cube.pv([(0, 3), (10, 3)], width=3)[...]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.nanmean(cube.read(dtype="float64")[:, 2:5, :], axis=1)
    np.testing.assert_allclose(wide, expected, rtol=1e-6)


def test_offsets_are_degrees_and_channels_stay(cube: tf.Image, tmp_path: Path) -> None:
    path = tmp_path / "pv.fits"
    diagram = cube.pv([(1, 1), (4, 5)], spacing=0.5)
    diagram.write(path)
    with fits.open(path) as file:
        header = file[0].header
        np.testing.assert_array_equal(file[0].data, diagram[...])
    assert (header["CTYPE1"], header["CUNIT1"], header["CTYPE2"]) == ("OFFSET", "deg", "VRAD")
    assert header["CDELT1"] == pytest.approx(0.005, rel=1e-4)
    assert header["NAXIS1"] == 11
    np.testing.assert_allclose(
        diagram.world_axis("y").values, cube.world_axis("z").values, rtol=1e-12
    )
    bare = opened(np.zeros((3, 4, 5), "f4")).pv([(0, 0), (2, 2)])
    assert "CUNIT1" not in bare.header
    assert bare.header["CDELT1"] == 1.0


def test_a_path_may_be_on_the_sky(cube: tf.Image) -> None:
    corners = [(1.25, 2.0), (8.0, 6.5), (3.0, 7.0)]
    longitudes, latitudes = cube.wcs.sub([1, 2]).wcs_pix2world(np.array(corners), 0).T
    sky = SkyCoord(longitudes, latitudes, unit="deg")
    on_sky, in_pixels = cube.pv(sky, width=2), cube.pv(corners, width=2)
    assert on_sky.shape == in_pixels.shape
    np.testing.assert_allclose(on_sky[...], in_pixels[...], rtol=1e-4, atol=1e-6)
    galactic = cube.pv(sky.galactic, width=2)
    np.testing.assert_allclose(galactic[...], in_pixels[...], rtol=1e-4, atol=1e-6)
    with pytest.raises(tf.UsageError, match="no sky coordinates"):
        opened(np.zeros((3, 4, 5), "f4")).pv(sky)


def test_wrong_paths_are_refused(cube: tf.Image) -> None:
    good = [(0, 0), (3, 3)]
    for path, options in (
        ([(1, 1)], {}),
        ([(1, 1), (1, 1)], {}),
        ([1, 2, 3], {}),
        ([(1, 1), (np.nan, 2)], {}),
        ([(100, 1), (120, 1)], {"width": 3}),
        (good, {"width": 0}),
        (good, {"spacing": 0.0}),
        (good, {"spacing": 1e-12}),
    ):
        with pytest.raises((tf.UsageError, OverflowError)):
            cube.pv(path, **options)


@pytest.mark.parametrize(
    ("path", "width", "words"),
    [
        ([(100, 1), (120, 1)], 3, r"from \(100, 1\) to \(120, 1\), pixels from 0, does not cross"),
        ([(-9, 20), (-2.5, -3), (20, -9)], 1, "does not cross the image of 11 x 9 pixels"),
        ([(1, 1), (np.nan, 2)], 1, r"point 2 \(from 1\) is not on the sky of the image"),
        ([(1, 1)], 1, "expected two different points or more"),
    ],
)
def test_a_path_that_leaves_the_image_says_where_it_is(
    cube: tf.Image, tmp_path: Path, capsys: Any, path: Any, width: int, words: str
) -> None:
    with pytest.raises(tf.UsageError, match=words) as failure:
        cube.pv(path, width=width)
    assert "NAXIS" not in str(failure.value)
    # A path may end beyond the image, and cross a corner.
    assert np.isfinite(cube.pv([(-5, 4), (20, 4)])[...]).any()
    assert np.isfinite(cube.pv([(-2, 2), (2, -2)])[...]).any()


needs_pvextractor = pytest.mark.skipif(
    importlib.util.find_spec("pvextractor") is None,
    reason="NOT COMPARED WITH PVEXTRACTOR: install it to (pip install pvextractor)",
)


@needs_pvextractor
@pytest.mark.parametrize("spacing", [1.0, 0.5])
def test_lines_are_those_of_pvextractor(spacing: float) -> None:
    from pvextractor import Path as Line
    from pvextractor import extract_pv_slice

    values = np.random.default_rng(5).normal(size=(5, 40, 30))
    image = opened(values, cube_cards())
    for begin, end in [((2.25, 3.5), (25.0, 30.75)), ((20.0, 38.0), (21.0, 2.0))]:
        theirs = extract_pv_slice(values, Line([begin, end]), spacing=spacing, order=1).data
        # Its samples are at the centres of intervals, ours begin at the first point.
        along = np.subtract(end, begin) / np.hypot(*np.subtract(end, begin))
        ours = image.pv([tuple(begin + along * spacing / 2), end], spacing=spacing)[...]
        count = min(ours.shape[1], theirs.shape[1])
        assert abs(ours.shape[1] - theirs.shape[1]) <= 1
        np.testing.assert_allclose(ours[:, :count], theirs[:, :count], rtol=1e-9, atol=1e-9)


@needs_pvextractor
def test_wide_cuts_are_close_to_the_areas_of_pvextractor() -> None:
    from pvextractor import Path as Line
    from pvextractor import extract_pv_slice

    rows, columns = np.indices((40, 30))
    values = np.stack([np.hypot(rows - 15 - n, columns - 12) for n in range(3)])
    begin, end = (4.0, 5.0), (24.0, 33.0)
    theirs = extract_pv_slice(values, Line([begin, end], width=3), spacing=1.0).data
    along = np.subtract(end, begin) / np.hypot(*np.subtract(end, begin))
    ours = opened(values, cube_cards()).pv([tuple(begin + along / 2), end], width=3)[...]
    count = min(ours.shape[1], theirs.shape[1])
    # It weighs pixels by the area that they share with each cell; near the tip they differ most.
    np.testing.assert_allclose(ours[:, :count], theirs[:, :count], rtol=0.02, atol=0.25)


def test_real_cubes_keep_their_pixels_and_coordinates() -> None:
    for path in files_under("data/cubes"):
        image = next(hdu for hdu in tf.open(path) if isinstance(hdu, tf.Image) and hdu.ndim >= 3)
        if image.size > 40_000_000:
            continue
        ndim = image.ndim
        digits = "312" + "".join(str(n) for n in range(4, ndim + 1))
        reordered = image.reorder(digits)
        axes = [ndim - int(digit) for digit in reversed(digits)]
        np.testing.assert_array_equal(
            reordered.read(dtype="raw"), image.read(dtype="raw").transpose(axes), err_msg=path.name
        )
        assert reordered.world_axis("x").name in (image.world_axis("z").name, "pixel")
        ny, nx = image.shape[-2:]
        row = image.pv([(0, ny // 2), (nx - 1, ny // 2)])
        np.testing.assert_array_equal(row[...], image.read(dtype=row.dtype.name)[..., ny // 2, :])


# On the command line.


def test_commands_write_the_results_of_the_methods(
    cube: tf.Image, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = str(tmp_path / "cube.fits"), str(tmp_path / "out.fits")
    assert run(["reorder", source, "zxy", "-o", out, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["output"] == out
    np.testing.assert_array_equal(tf.open(out)[0][...], cube.reorder("zxy")[...])
    assert run(["rebin", source, "2", "3", "-o", out, "--overwrite", "--statistic", "max"]) == 0
    np.testing.assert_array_equal(tf.open(out)[0][...], cube.rebin(x=2, y=3, statistic="max")[...])
    picture = tmp_path / "pv.png"
    options = ["--width", "2", "-o", out, "--overwrite", "--png", str(picture)]
    assert run(["pv", source, "--path", "2,3 9,7", *options]) == 0
    expected = cube.pv([(1, 2), (8, 6)], width=2)[...]
    np.testing.assert_array_equal(tf.open(out)[0][...], expected)
    assert picture.read_bytes().startswith(b"\x89PNG")
    points = cube.wcs.sub([1, 2]).wcs_pix2world([(1, 2), (8, 6)], 0)
    text = " ".join(f"{x:.12f},{y:.12f}" for x, y in points)
    assert (
        run(["pv", source, "--sky", "--path", text, "--width", "2", "-o", out, "--overwrite"]) == 0
    )
    np.testing.assert_allclose(tf.open(out)[0][...], expected, rtol=1e-4, atol=1e-6)


def test_commands_refuse_invalid_options(cube: tf.Image, tmp_path: Path) -> None:
    source, out = str(tmp_path / "cube.fits"), str(tmp_path / "out.fits")
    for words in (
        ["reorder", source, "zz", "-o", out],
        ["rebin", source, "0", "-o", out],
        ["rebin", source, "1", "1", "1", "1", "-o", out],
        ["pv", source, "--path", "1,2", "-o", out],
        ["pv", source, "--path", "1,2 1,2", "-o", out],
        ["pv", source, "--path", "100,2 120,2", "-o", out],
        ["pv", source, "--path", "1,2 3,4", "-o", out, "--png", "pv.txt"],
    ):
        assert run(words) == 2, words
    assert not Path(out).exists()
