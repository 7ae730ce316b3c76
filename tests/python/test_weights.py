"""Exact weights: the share of each pixel inside a region, and what is summed with it."""

from __future__ import annotations

from typing import Any

import astropy.units as u
import numpy as np
import pytest
import regions
from hypothesis import example, given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import cube_cards, primary
from naiveshares import overlap
from skyimages import sky_image
from tachyfits.image.weights import core_with_shares

HEIGHT, WIDTH = 23, 27
places = st.floats(-3, 29)
sizes = st.floats(0.05, 14)


def spread(shape: tf.PixelRegion, height: int = HEIGHT, width: int = WIDTH) -> Any:
    """Return the shares of every pixel of a plane."""
    shares, (y, x) = shape.to_core().shares(height, width)
    plane = np.zeros((height, width))
    plane[y : y + shares.shape[0], x : x + shares.shape[1]] = shares
    return plane


@given(x=places, y=places, a=sizes, b=sizes, angle=st.floats(-180, 180))
def test_shares_are_those_of_their_naive_twin(
    x: float, y: float, a: float, b: float, angle: float
) -> None:
    shapes: list[tf.PixelRegion] = [
        tf.Circle(x, y, a), tf.Ellipse(x, y, a, b, angle), tf.Box(x, y, a, b, angle),
        tf.Polygon([(x, y), (x + a, y + b / 3), (x - b / 4, y + a)]),
    ]  # fmt: skip
    for shape in shapes:
        shares, corner = overlap(shape, HEIGHT, WIDTH)
        expected = np.zeros((HEIGHT, WIDTH))
        y0, x0 = corner
        expected[y0 : y0 + shares.shape[0], x0 : x0 + shares.shape[1]] = shares
        np.testing.assert_allclose(spread(shape), expected, atol=1e-9)


@given(x=places, y=places, a=sizes, b=sizes, angle=st.floats(-180, 180))
def test_shares_of_ellipses_are_those_of_astropy_regions(
    x: float, y: float, a: float, b: float, angle: float
) -> None:
    for shape, theirs in (
        (tf.Circle(x, y, a), regions.CirclePixelRegion(regions.PixCoord(x, y), a)),
        (
            tf.Ellipse(x, y, a, b, angle),
            regions.EllipsePixelRegion(regions.PixCoord(x, y), 2 * a, 2 * b, angle * u.deg),
        ),
    ):
        mask = theirs.to_mask(mode="exact").to_image((HEIGHT, WIDTH))
        expected = np.zeros((HEIGHT, WIDTH)) if mask is None else mask
        np.testing.assert_allclose(spread(shape), expected, atol=1e-7)


@given(x=places, y=places, width=sizes, height=sizes)
def test_shares_of_upright_boxes_are_products(
    x: float, y: float, width: float, height: float
) -> None:
    def along(centre: float, size: float, count: int) -> Any:
        at = np.arange(count)
        low = np.maximum(at - 0.5, centre - size / 2)
        return np.maximum(np.minimum(at + 0.5, centre + size / 2) - low, 0.0)

    expected = np.outer(along(y, height, HEIGHT), along(x, width, WIDTH))
    np.testing.assert_allclose(spread(tf.Box(x, y, width, height)), expected, atol=1e-12)


@given(
    x=st.floats(8, 18), y=st.floats(8, 14), width=st.floats(0.1, 9), height=st.floats(0.1, 9),
    angle=st.floats(-180, 180),
)  # fmt: skip
@example(x=8.0, y=8.0, width=2.0, height=1.65625, angle=2.5e-10)  # nearly level sides
@example(x=13.5 + 4e-15, y=9.5, width=3.5, height=3.5, angle=30.0)  # a corner beside the centre
@example(x=17.5, y=8.5 + 2e-15, width=8.5, height=8.0221276993457, angle=135.00001845197409)
@example(x=13.0, y=12.5, width=7.0, height=9.0, angle=-0.9286632633718434)  # a sliver of a column
@example(x=18.0, y=8.0, width=9.0, height=1.0, angle=0.0)
def test_shares_add_up_to_the_area(
    x: float, y: float, width: float, height: float, angle: float
) -> None:
    shapes: list[tuple[tf.PixelRegion, float]] = [
        (tf.Box(x, y, width, height, angle), width * height),
        (tf.Ellipse(x, y, width / 2, height / 2, angle), np.pi * width * height / 4),
        (tf.Polygon([(x, y), (x + width, y), (x, y + height)]), width * height / 2),
        (tf.Polygon([(x, y), (x, y + height), (x + width, y)]), width * height / 2),
    ]
    for shape, area in shapes:
        shares = spread(shape, 40, 40)
        assert 0 <= shares.min() <= shares.max() <= 1
        assert shares.sum() == pytest.approx(area, rel=1e-9, abs=1e-9)


def test_shares_are_the_limit_of_finer_pixels() -> None:
    factor = 40
    shapes: list[tf.PixelRegion] = [
        tf.Polygon([(3.2, 2.1), (20.7, 6.4), (11.3, 18.9), (9.9, 9.8)]),
        tf.Box(12.1, 10.3, 13.2, 5.1, 33.0),
        tf.Ellipse(11.7, 9.9, 8.1, 3.3, -21.0),
    ]
    for shape in shapes:
        finer = shape.moved((factor, factor), (factor / 2 - 0.5, factor / 2 - 0.5))
        mask = finer.mask(HEIGHT * factor, WIDTH * factor)
        means = mask.reshape(HEIGHT, factor, WIDTH, factor).mean(axis=(1, 3))
        np.testing.assert_allclose(spread(shape), means, atol=0.02)


def cube() -> tuple[tf.Image, Any]:
    stored = np.random.default_rng(3).normal(1, 2, (4, HEIGHT, WIDTH)).astype("f4")
    stored[:, 5, 6] = np.nan
    stored[2, 10:12, 11:14] = np.nan
    image: tf.Image = tf.open(primary(stored, cube_cards()))[0]
    return image, stored.astype("f8")


SHAPES = [
    tf.Circle(12.3, 9.8, 6.4),
    tf.Ellipse(11.0, 9.0, 8.3, 3.2, 25.0),
    tf.Box(9.1, 8.2, 7.7, 5.5, 12.0),
    tf.Circle(1.0, 2.0, 4.5),
    tf.Polygon([(2.2, 3.1), (20.2, 6.6), (9.3, 19.4)]),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_sums_and_means_are_those_of_their_naive_twin(shape: Any) -> None:
    image, stored = cube()
    shares = spread(shape)
    known = ~np.isnan(stored)
    total = np.nansum(np.where(known, stored * shares, 0.0), axis=(1, 2))
    mean = total / (known * shares).sum(axis=(1, 2))
    found = image.spectrum(shape, statistic="sum", weights="exact")
    np.testing.assert_allclose(found.values, total, rtol=1e-12)
    np.testing.assert_allclose(image.spectrum(shape, weights="exact").values, mean, rtol=1e-12)
    np.testing.assert_allclose(image.select(shape).sum("xy", weights="exact"), total, rtol=1e-12)
    assert image.select(shape).sum(weights="exact") == pytest.approx(total.sum(), rel=1e-12)
    several = image.select([shape, SHAPES[0]]).mean("xy", weights="exact")
    np.testing.assert_allclose(several[0], mean, rtol=1e-12)
    part = image.select(shape, channels=slice(1, 3)).spectrum(weights="exact", unit="km/s")
    np.testing.assert_allclose(part.values, mean[1:3], rtol=1e-12)


def _product_with_shares(image: Any, shape: Any, axes: tuple[int, ...]) -> Any:
    """Return weighted sums by an expression over the box around a shape: the slow twin."""
    shares, (y, x) = shape.to_core().shares(*image.shape[-2:])
    plane = spread(shape, *image.shape[-2:])
    product = tf.evaluate("where(w > 0, a * w, nan)", dtype="float64", a=image, w=plane)
    box = (..., slice(y, y + shares.shape[0]), slice(x, x + shares.shape[1]))
    return product.select(section=box).reduce("sum", axis=axes)


@pytest.mark.parametrize("dtype", ["f4", "i2"])
def test_regions_together_have_the_bits_of_each_alone(dtype: str) -> None:
    random = np.random.default_rng(8)
    stored = (random.normal(0, 500, (3, 210, 190))).astype(dtype)
    image = tf.open(primary(stored, cube_cards()))[0]
    shapes: list[Any] = [
        tf.Circle(x, y, radius)
        for x, y, radius in random.uniform((0, 0, 0.3), (190, 210, 70), (40, 3)).tolist()
    ]
    shapes += [tf.Box(95, 100, 300, 90), tf.Ellipse(40, 80, 90, 3, 30)]
    for axis, axes in (("xy", (1, 2)), (None, (0, 1, 2))):
        together = image.select(shapes).sum(axis, weights="exact")
        means = image.select(shapes).mean(axis, weights="exact")
        for number, shape in enumerate(shapes):
            alone = image.select(shape)
            np.testing.assert_array_equal(together[number], alone.sum(axis, weights="exact"))
            np.testing.assert_array_equal(means[number], alone.mean(axis, weights="exact"))
            twin = _product_with_shares(image, shape, axes)
            np.testing.assert_array_equal(together[number], twin)
        for threads in (1, 3):
            again = image.select(shapes).sum(axis, weights="exact", threads=threads)
            np.testing.assert_array_equal(again, together)


def test_rings_are_the_outer_shape_less_the_inner_one() -> None:
    image, stored = cube()
    text = "annulus(13,11,3.3,7.7)"
    shares = spread(tf.Circle(12, 10, 7.7)) - spread(tf.Circle(12, 10, 3.3))
    total = np.nansum(stored * shares, axis=(1, 2))
    np.testing.assert_allclose(image.select(text).sum("xy", weights="exact"), total, rtol=1e-12)
    # A shape beyond the image excludes nothing.
    alone = image.select("circle(9,9,3)").sum("xy", weights="exact")
    for hole in ("circle(12,-40,3)", "circle(100,9,3)", "box(-40,9,3,90)"):
        both = image.select(f"circle(9,9,3); -{hole}").sum("xy", weights="exact")
        np.testing.assert_array_equal(both, alone)
    for text in (
        "circle(9,9,3); circle(12,12,3)", "circle(9,9,3); -circle(12,12,5)",
        "circle(9,9,5); -circle(12.5,12.5,1)",
    ):  # fmt: skip
        with pytest.raises(tf.UsageError, match="ring"):
            image.select(text).sum("xy", weights="exact")


@pytest.mark.parametrize("frame", ["icrs", "galactic"])
def test_shapes_on_the_sky_are_those_of_astropy_regions(frame: str) -> None:
    image = sky_image("TAN", "icrs", size=(41, 33), pixel=1 / 3600, angle=40.0)
    centre = image.coordinates.pixel_to_world(19.7, 15.2).transform_to(frame)
    circle = regions.CircleSkyRegion(centre, 9.3 * u.arcsec)
    shapes = [circle]
    if frame == "icrs":
        shapes.append(regions.EllipseSkyRegion(centre, 18 * u.arcsec, 9 * u.arcsec, 25 * u.deg))
    for shape in shapes:
        theirs = shape.to_pixel(image.wcs).to_mask(mode="exact").to_image(image.shape)
        shares, (y, x) = core_with_shares(image, tf.region(shape)).shares(*image.shape)
        ours = np.zeros(image.shape)
        ours[y : y + shares.shape[0], x : x + shares.shape[1]] = shares
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    box = tf.SkyRegion.box(centre, 12 / 3600, 7 / 3600, 20)
    polygon = tf.SkyRegion.polygon(
        centre.directional_offset_by([0, 120, 240] * u.deg, 8 * u.arcsec)
    )
    for shape, area in ((box, 12 * 7), (polygon, 3 * 64 * np.sqrt(3) / 4)):
        shares, _ = core_with_shares(image, shape).shares(*image.shape)
        assert shares.sum() == pytest.approx(area, rel=1e-6)


@pytest.mark.parametrize("projection", ["AIT", "CAR", "SIN"])
def test_shapes_at_the_edge_of_the_sky_have_no_exact_weights(projection: str) -> None:
    cards = [
        ("CTYPE1", f"RA---{projection}"), ("CTYPE2", f"DEC--{projection}"), ("CRVAL1", 0.0),
        ("CRVAL2", 0.0), ("CRPIX1", 90.5), ("CRPIX2", 45.5), ("CDELT1", -2.0), ("CDELT2", 2.0),
    ]  # fmt: skip
    image = tf.open(primary(np.ones((90, 180), "f4"), cards))[0]
    area = image.select(tf.SkyRegion.circle((10.0, 0.0), 5.0)).sum(weights="exact")
    assert area == pytest.approx(np.pi * 2.5**2, rel=0.02)
    regions = [
        tf.SkyRegion.circle((180.0, 0.0), 5.0),
        tf.SkyRegion.ellipse((180.0, 0.0), 5.0, 3.0, 20.0),
        tf.SkyRegion.box((0.0, 90.0), 5.0, 5.0),
    ]
    if projection == "SIN":
        regions.append(tf.SkyRegion.polygon([(170.0, 0.0), (175.0, 0.0), (170.0, 5.0)]))
    for region in regions:
        with pytest.raises(tf.UsageError, match="not on the sky of the image, or at its edge"):
            image.select(region).sum(weights="exact")


def test_weights_that_make_no_sense_are_refused() -> None:
    image, _ = cube()
    circle = tf.Circle(9, 9, 3)
    for call, words in (
        (lambda: image.spectrum(circle, weights="some"), "invalid weights"),
        (lambda: image.spectrum(circle, statistic="max", weights="exact"), "has no weights"),
        (lambda: image.spectrum(weights="exact"), "need a region"),
        (lambda: image.spectrum(tf.Point(3, 3), weights="exact"), "a point has no exact weights"),
        (lambda: image.select(circle).mean("z", weights="exact"), "both of its axes"),
        (lambda: image.select(circle, section=np.s_[:, 3:]).sum(weights="exact"), "both weights="),
    ):
        with pytest.raises(tf.UsageError, match=words) as caught:
            call()
        assert "\nhint: " in str(caught.value)
    outside = tf.Circle(200, 200, 3)
    assert np.isnan(image.select(outside).sum(weights="exact"))
    spectrum = image.spectrum([outside, circle], weights="exact")[0]
    assert np.isnan(spectrum.values).all()
    report = image.spectrum(outside, statistic="sum", weights="exact").report
    assert report is not None
    assert report.bytes == 0


def test_the_command_line_weights_pixels(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from tachyfits.cli import run

    image, _ = cube()
    image.write(tmp_path / "cube.fits")
    words = ["spectrum", str(tmp_path / "cube.fits"), "--region", "circle(13,11,5.5)", "--csv"]
    assert run([*words, "--weights", "exact"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    expected = image.spectrum(tf.Circle(12, 10, 5.5), weights="exact").values
    np.testing.assert_allclose([float(row[-1]) for row in rows], expected, rtol=1e-15)
