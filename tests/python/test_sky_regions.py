"""Regions on the sky: their pixels are those whose centres are inside on the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import primary
from skyimages import ALL_SKY, sky_image
from tachyfits.header.region_rasters import directions, place, spans_on_sky, spans_pixel_by_pixel

WIDE = settings(max_examples=12)


def centres(image: tf.Image) -> Any:
    """Return the places of all pixels, shape (height, width), and which of them have one."""
    from astropy.coordinates import SkyCoord

    y, x = np.indices(image.shape)
    longitude, latitude = image.wcs.wcs_pix2world(x.ravel(), y.ravel(), 0)
    known = np.isfinite(longitude + latitude)
    frame = image._coordinates.sky.astropy_frame
    there = SkyCoord(
        np.where(known, longitude, 0.0), np.where(known, latitude, 0.0), unit="deg", frame=frame
    )
    return there.reshape(image.shape), known.reshape(image.shape)


def mask_of(image: tf.Image, region: Any) -> Any:
    return image.region_mask(region)


@pytest.mark.parametrize("projection", ALL_SKY)
@WIDE
@given(
    longitude=st.floats(0, 360), latitude=st.floats(-90, 90), radius=st.floats(0.5, 120),
    frame=st.sampled_from(["icrs", "galactic", "fk5"]),
)  # fmt: skip
def test_a_circle_is_a_spherical_cap_in_every_projection(
    projection: str, longitude: float, latitude: float, radius: float, frame: str
) -> None:
    from astropy.coordinates import SkyCoord

    image = sky_image(projection, **ALL_SKY[projection])
    region = tf.SkyRegion.circle((longitude, latitude), radius, frame=frame)
    there, known = centres(image)
    away = there.separation(SkyCoord(longitude, latitude, unit="deg", frame=frame)).deg
    sure = np.abs(away - radius) > 1e-9
    mask = mask_of(image, region)
    np.testing.assert_array_equal(mask[sure], (known & (away < radius))[sure])


shapes = st.sampled_from(["circle", "ellipse", "box", "polygon", "range"])


@st.composite
def sky_regions(draw: Any, most: float = 60.0) -> tf.SkyRegion:
    """Any shape anywhere."""
    at = draw(st.floats(0, 360)), draw(st.floats(-90, 90))
    a, b = draw(st.floats(0.2, most)), draw(st.floats(0.2, most))
    angle, frame = draw(st.floats(-180, 180)), draw(st.sampled_from(["icrs", "galactic"]))
    shape = draw(shapes)
    if shape == "circle":
        return tf.SkyRegion.circle(at, a, frame=frame)
    if shape == "range":
        return tf.SkyRegion.range(
            (at[0], at[0] + a), (max(-90, at[1] - b), min(90, at[1] + b)), frame=frame
        )
    if shape == "polygon":
        # Around a point, the sides of different lengths.
        turns = np.radians(angle + np.array([0, 80, 170, 260]))
        offsets = np.column_stack([np.cos(turns), np.sin(turns)]) * np.array([[a], [b], [a], [b]])
        latitudes = np.clip(at[1] + offsets[:, 1] * 0.5, -89, 89)
        longitudes = at[0] + offsets[:, 0] * 0.5
        return tf.SkyRegion.polygon(list(zip(longitudes, latitudes, strict=True)), frame=frame)
    make = tf.SkyRegion.ellipse if shape == "ellipse" else tf.SkyRegion.box
    return make(at, a, b, angle, frame=frame)


@pytest.mark.parametrize("projection", ALL_SKY)
@WIDE
@given(region=sky_regions())
def test_cells_leave_no_pixel_out_and_add_none(projection: str, region: tf.SkyRegion) -> None:
    image = sky_image(projection, **ALL_SKY[projection])
    sky = image._coordinates.sky
    height, width = image.shape
    placed = place(region, sky)
    np.testing.assert_array_equal(
        spans_on_sky(placed, sky, height, width), spans_pixel_by_pixel(placed, sky, height, width)
    )


@pytest.mark.parametrize("projection", ["CAR", "AIT", "HPX", "TAN"])
@settings(max_examples=4)
@given(region=sky_regions(most=15.0))
def test_large_images_are_found_by_cells(projection: str, region: tf.SkyRegion) -> None:
    more = ALL_SKY.get(projection, {"position": (83.0, 22.0), "size": (90, 70), "pixel": 0.5})
    factor = 8
    finer = {
        "position": more["position"], "size": tuple(n * factor for n in more["size"]),
        "pixel": more["pixel"] / factor,
    }  # fmt: skip
    image = sky_image(projection, **finer)
    sky = image._coordinates.sky
    placed = place(region, sky)
    height, width = image.shape
    np.testing.assert_array_equal(
        spans_on_sky(placed, sky, height, width), spans_pixel_by_pixel(placed, sky, height, width)
    )


def test_pixels_without_sky_are_in_no_region() -> None:
    image = sky_image("AIT", **ALL_SKY["AIT"])
    everything = tf.SkyRegion.circle((0, 0), 180)
    sky = image._coordinates.sky
    y, x = np.indices(image.shape)
    known = np.isfinite(directions(sky, x.ravel(), y.ravel())[:, 0]).reshape(image.shape)
    assert 0.6 < known.mean() < 0.9
    np.testing.assert_array_equal(mask_of(image, everything), known)


@given(region=sky_regions())
def test_the_text_of_a_region_is_read_back(region: tf.SkyRegion) -> None:
    if region.shape == "range" and region.frame != "icrs":
        return
    found = tf.region(str(region))
    assert isinstance(found, tf.SkyRegion)
    assert (found.shape, found.frame) == (region.shape, region.frame)
    np.testing.assert_allclose(found.points, region.points, atol=1e-8)
    np.testing.assert_allclose(found.sizes, region.sizes, rtol=1e-8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("icrs; circle(83.6,22,3p)", "in pixels, and the shape is on the sky"),
        ("circle(100,100,3arcsec)", "is an angle, and the shape is in pixels"),
        ("icrs; circle(83.6,95,1)", "latitude"),
        ("icrs; circle(83.6,22)", "2 numbers instead of 3"),
        ("icrs; circle(83.6,22,-1)", "none below 0"),
        ("icrs; star(83.6,22,1)", "invalid shape"),
        ("icrs; circle(83.6,22,1furlong)", "is not an angle"),
        ("CIRCLE 83.6 22", "expected numbers of a circle"),
        ("CIRCLE 83.6 95 1", "latitude"),
        ("icrs; polygon(0,0,120,0,240,0)", "hemisphere"),
    ],
)
def test_invalid_regions_on_the_sky_say_what_to_do(text: str, words: str) -> None:
    image = sky_image("TAN")
    with pytest.raises(tf.UsageError, match=words) as caught:
        image.stats(region=text)
    assert "\nhint: " in str(caught.value)


def test_images_without_a_sky_say_so() -> None:
    image = tf.open(primary(np.zeros((3, 4), "f4")))[0]
    with pytest.raises(tf.UsageError, match="needs sky coordinates") as caught:
        image.stats(region="icrs; circle(83.6,22,1)")
    assert "give the region in pixels" in str(caught.value)
    unknown = sky_image("TAN", more=[("CTYPE1", "XXLN-TAN"), ("CTYPE2", "XXLT-TAN")])
    with pytest.raises(tf.UsageError, match="frame") as caught:
        unknown.stats(region="icrs; circle(83.6,22,1)")
    assert "use pixels" in str(caught.value)
    with pytest.warns(tf.TachyfitsWarning, match="lies outside the image"):
        assert sky_image("TAN").stats(region="icrs; circle(10,22,0.1)").count == 0
    # On the other half of the sky, where a border has no pixels; not so all around the image.
    with pytest.warns(tf.TachyfitsWarning, match=r"lies outside .*check its frame and its place"):
        assert sky_image("TAN").stats(region="icrs; circle(263.6,-22,1)").count == 0
    assert sky_image("TAN").stats(region="icrs; circle(83.6,22,179.9)").count == 90 * 70


def test_positions_of_soda_are_regions() -> None:
    image = sky_image("TAN")
    for text, same in (
        ("CIRCLE 83.6 22.0 0.1", "icrs; circle(83.6,22,0.1)"),
        ("POLYGON 83.5 21.9 83.7 21.9 83.6 22.2", "icrs; polygon(83.5,21.9,83.7,21.9,83.6,22.2)"),
    ):
        np.testing.assert_array_equal(image.region_mask(text), image.region_mask(same))
    mask = image.region_mask("RANGE 83.5 83.7 21.9 22.1")
    y, x = np.indices(image.shape)
    at = image.coordinates(x, y)
    inside = (at.ra.deg >= 83.5) & (at.ra.deg <= 83.7) & (at.dec.deg >= 21.9) & (at.dec.deg <= 22.1)
    np.testing.assert_array_equal(mask, inside)
    assert mask.sum() > 100
    # Across right ascension 0.
    image = sky_image("CAR", "icrs", (0.0, 0.0), (60, 40), 0.5)
    assert image.region_mask("RANGE 359 1 -1 1").sum() == 4 * 4
    assert image.region_mask("RANGE -Inf Inf -1 1").sum() == 4 * 60


def test_physical_pixels_are_those_of_the_first_image() -> None:
    image = sky_image(
        "TAN", more=[("LTV1", -10.0), ("LTV2", 4.0), ("LTM1_1", 0.5), ("LTM2_2", 0.5)]
    )
    # x = 0.5 * 60 - 10 = 20, counted from 1.
    expected = image.region_mask(tf.Circle(19.0, 43.0, 5.0))
    np.testing.assert_array_equal(image.region_mask("physical; circle(60,80,10)"), expected)
    ring = image.region_mask("physical; annulus(60,80,4,10)")
    assert 0 < ring.sum() < expected.sum()


def test_large_skies_need_little_memory() -> None:
    import tracemalloc

    image = sky_image("CAR", "icrs", (0.0, 0.0), (60, 40), 360 / 100_000)
    sky = image._coordinates.sky
    placed = place(tf.SkyRegion.circle((320.0, 10.0), 3.0), sky)
    tracemalloc.start()
    spans = spans_on_sky(placed, sky, 50_000, 100_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 400e6
    area = float((spans[:, 2] - spans[:, 1] + 1).sum()) * (360 / 100_000) ** 2
    assert area == pytest.approx(np.pi * 9 / np.cos(np.radians(10.0)), rel=0.01)


def test_a_field_of_100000_by_100000_pixels_needs_little_memory() -> None:
    import tracemalloc

    from astropy.coordinates import SkyCoord

    scale = 0.5 / 3600
    image = sky_image("SIN", "icrs", (150.0, 30.0), (60, 40), scale)
    sky = image._coordinates.sky
    # A ring that crosses the edges of the field.
    placed = place(tf.SkyRegion.circle((150.5, 31.0), 6.0), sky)
    tracemalloc.start()
    spans = spans_on_sky(placed, sky, 100_000, 100_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A mask would have 1e10 bytes.
    assert most < 400e6
    y, first, last = spans[:: len(spans) // 50].T.astype(np.int64)
    within = image.coordinates(first, y).separation(image.coordinates(last, y))
    assert within.deg.max() <= 12.0
    for x in (first, last):
        away = image.coordinates(x, y).separation(SkyCoord(150.5, 31.0, unit="deg")).deg
        on_edge = (x == 0) | (x == 99_999)
        assert (away <= 6.0).all()
        assert (away[~on_edge] > 6.0 - 1e-3).all()
