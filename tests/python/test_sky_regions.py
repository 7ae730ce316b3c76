"""Regions on the sky: their pixels are those whose centres are inside on the sphere."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from astropy import units as u
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import primary
from skyimages import ALL_SKY, sky_image
from tachyfits.header import region_rasters, sky_patches
from tachyfits.header.region_rasters import directions, place, spans_on_sky, spans_pixel_by_pixel
from tachyfits.header.sky_patches import INTERPOLATION_ERROR, Patches, are_smooth
from tachyfits.text.regions import spans_of

WIDE = settings(max_examples=12)


def centres(image: tf.Image) -> Any:
    """Return the places of all pixels, shape (height, width), and which of them have one."""
    from astropy.coordinates import SkyCoord

    y, x = np.indices(image.shape)
    longitude, latitude = image.wcs.wcs_pix2world(x.ravel(), y.ravel(), 0)
    known = np.isfinite(longitude + latitude)
    frame = image.coordinates.sky.astropy_frame
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
    sky = image.coordinates.sky
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
    sky = image.coordinates.sky
    placed = place(region, sky)
    height, width = image.shape
    np.testing.assert_array_equal(
        spans_on_sky(placed, sky, height, width), spans_pixel_by_pixel(placed, sky, height, width)
    )


#: Fine pixels, with the edge of a facet, a pole or the end of the longitudes in the field:
#: projection, and how many degrees to the right and above the reference pixel it is.
FINE = {
    "TAN": ("TAN", 0.0, 0.0), "pole": ("ZEA", 0.0, 0.0), "SIN": ("SIN", 0.0, 0.0),
    "edge of a cube": ("TSC", 45.0, 10.0), "facets": ("HPX", -45.0, 41.8103148958),
    "end of a map": ("AIT", 180.0, 0.0), "last longitude": ("CAR", 180.0, 0.0),
    "pole of a map": ("CAR", 0.0, 90.0),
}  # fmt: skip


@functools.cache
def fine_image(kind: str, pixel: float) -> tuple[tf.Image, Any]:
    """Return an image of 1040 x 1030 such pixels, and the directions of them all."""
    projection, right, above = FINE[kind]
    position = {"TAN": (359.99, 89.99), "SIN": (83.6, -60.0), "pole": (30.0, 90.0)}
    size = (1040, 1030)
    middle = [("CRPIX1", 520.3 + right / pixel), ("CRPIX2", 510.7 - above / pixel)]
    at = position.get(kind, (0.0, 0.0))
    image = sky_image(projection, "icrs", at, size, pixel, more=middle)
    y, x = np.mgrid[: size[1], : size[0]]
    return image, directions(image.coordinates.sky, x.ravel(), y.ravel())


@pytest.mark.once
@pytest.mark.parametrize("kind", FINE)
@pytest.mark.parametrize("pixel", [3e-5, 1e-3])
@settings(max_examples=6)
@given(data=st.data())
def test_interpolated_pixels_are_those_of_wcslib(kind: str, pixel: float, data: Any) -> None:
    image, vectors = fine_image(kind, pixel)
    sky = image.coordinates.sky
    height, width = image.shape
    # Around a place in the field, on the sky.
    vector = vectors[data.draw(st.integers(0, len(vectors) - 1))]
    if not np.isfinite(vector).all():
        return
    at = np.degrees([np.arctan2(vector[1], vector[0]), np.arcsin(np.clip(vector[2], -1, 1))])
    sizes = [data.draw(st.floats(1, 700)) * pixel for _ in range(2)]
    angle = data.draw(st.floats(-180, 180))
    shape = data.draw(shapes)
    if shape == "circle":
        region = tf.SkyRegion.circle(at, sizes[0])
    elif shape == "range":
        low, high = np.clip([at[1] - sizes[0], at[1] + sizes[1]], -90, 90)
        region = tf.SkyRegion.range((at[0] - sizes[0], at[0] + sizes[0]), (low, high))
    elif shape == "polygon":
        turns = np.radians([angle, angle + 100, angle + 200])
        shrink = max(np.cos(np.radians(at[1])), 0.01)
        corners = at + np.column_stack([np.cos(turns) / shrink, np.sin(turns)]) * sizes[0]
        corners = np.clip(corners, [-720, -89.999], [720, 89.999])
        region = tf.SkyRegion.polygon(corners.tolist())
    else:
        make = tf.SkyRegion.ellipse if shape == "ellipse" else tf.SkyRegion.box
        region = make(at, *sizes, angle)
    placed = place(region, sky)
    ours = spans_on_sky(placed, sky, height, width)
    right = spans_of(placed.contains(vectors).reshape(height, width))
    np.testing.assert_array_equal(ours, right)


@pytest.mark.parametrize("size", [20.0, 65.0, 80.0])
def test_corners_along_a_side_of_a_polygon_change_nothing(size: float) -> None:
    from astropy.coordinates import SkyCoord

    image = sky_image("AIT", **ALL_SKY["AIT"])
    at = SkyCoord(40.0, 10.0, unit="deg")
    corners = at.directional_offset_by([0.0, 120.0, 240.0] * u.deg, size * u.deg)
    first, second, _ = corners.cartesian.xyz.value.T
    between = first + np.linspace(0.0, 1.0, 50)[1:-1, None] * (second - first)
    longitude = np.degrees(np.arctan2(between[:, 1], between[:, 0]))
    latitude = np.degrees(np.arcsin(between[:, 2] / np.linalg.norm(between, axis=1)))
    places = [(float(corner.ra.deg), float(corner.dec.deg)) for corner in corners]
    more = [places[0], *zip(longitude.tolist(), latitude.tolist(), strict=True), *places[1:]]
    mask = mask_of(image, tf.SkyRegion.polygon(more))
    np.testing.assert_array_equal(mask, mask_of(image, tf.SkyRegion.polygon(places)))
    assert mask.any()


@pytest.mark.once
def test_a_polygon_of_many_corners_has_the_pixels_that_rays_find() -> None:
    image, vectors = fine_image("TAN", 1e-3)
    sky = image.coordinates.sky
    height, width = image.shape
    rng = np.random.default_rng(1)
    # In the tangent plane at the middle of the image, a star whose sides are of any length.
    middle = vectors[height // 2 * width + width // 2]
    east = np.cross([0.0, 0.0, 1.0], middle)
    east /= np.linalg.norm(east)
    turns = np.linspace(0.0, 2.0 * np.pi, 20_000, endpoint=False)
    away = rng.uniform(0.007, 0.008, (20_000, 1))
    plane = np.stack([np.cos(turns), np.sin(turns)], axis=1) * away
    corners = middle + plane @ np.array([east, np.cross(middle, east)])
    longitude = np.arctan2(corners[:, 1], corners[:, 0])
    latitude = np.arctan2(corners[:, 2], np.hypot(corners[:, 0], corners[:, 1]))
    region = tf.SkyRegion.polygon(np.degrees([longitude, latitude]).T.tolist())
    mask = image.region_mask(region).ravel()
    placed = place(region, sky)
    assert placed.vertices is not None
    (x0, y0), (x1, y1) = placed.vertices.T, np.roll(placed.vertices, -1, axis=0).T
    for number in rng.choice(len(vectors), 3000, replace=False):
        x, y, towards = placed.axes @ vectors[number]
        crosses = (y0 <= y / towards) != (y1 <= y / towards)
        place_of = x0 + (y / towards - y0) * (x1 - x0) / np.where(y1 == y0, 1.0, y1 - y0)
        odd = np.count_nonzero(crosses & (place_of > x / towards)) % 2 == 1
        assert mask[number] == odd, number


@pytest.mark.once
def test_pixels_close_to_a_border_are_not_interpolated(monkeypatch: pytest.MonkeyPatch) -> None:
    image, vectors = fine_image("edge of a cube", 1e-3)
    sky = image.coordinates.sky
    height, width = image.shape
    middle = vectors[height // 2 * width + width // 2]
    at = np.degrees([np.arctan2(middle[1], middle[0]), np.arcsin(middle[2])])
    placed = place(tf.SkyRegion.circle(at, 0.2), sky)
    right = spans_of(placed.contains(vectors).reshape(height, width))
    # So much that folds count as smooth, and move pixels.
    monkeypatch.setattr(sky_patches, "_MOST_DIFFERENCE", 0.01)
    monkeypatch.setattr(region_rasters, "_NEAR", 0.0)
    ours = spans_on_sky(placed, sky, height, width)
    assert ours.shape != right.shape or (ours != right).any()
    monkeypatch.setattr(region_rasters, "_NEAR", 0.01)
    np.testing.assert_array_equal(spans_on_sky(placed, sky, height, width), right)


@pytest.mark.parametrize("count", [5, 9])
@pytest.mark.parametrize("shape", ["fold", "jump"])
def test_folds_that_are_not_seen_move_no_pixel(count: int, shape: str) -> None:
    size = 32
    at = np.linspace(-0.5, 1.5, count) * size
    pixels = np.arange(size) + 0.5
    places = np.random.default_rng(count).uniform(-16, 48, 200)
    for place_of_fold in places:

        def values(x: Any, at: float = place_of_fold) -> Any:
            return np.maximum(x - at, 0.0) / 16 if shape == "fold" else np.heaviside(x - at, 1.0)

        # The largest that still counts as smooth.
        for scale in 10.0 ** np.arange(-9, -14, -0.05):
            samples = np.broadcast_to(values(at) * scale, (1, 3, count, count))
            if are_smooth(samples)[0]:
                break
        zero = np.zeros(16, np.intp)
        y, x = (grid.ravel() for grid in np.mgrid[:4, :4])
        patches = Patches(np.zeros((1, 2), np.int64), size, samples)
        found = patches.pixels(zero, x, y, 8).reshape(4, 4, 8, 8, 3).swapaxes(1, 2)
        right = np.broadcast_to((values(pixels) * scale)[:, None], (32, 32, 3))
        assert np.abs(found.reshape(32, 32, 3) - right).max() < INTERPOLATION_ERROR


def test_pixels_without_sky_are_in_no_region() -> None:
    image = sky_image("AIT", **ALL_SKY["AIT"])
    everything = tf.SkyRegion.circle((0, 0), 180)
    sky = image.coordinates.sky
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
        image.stats(text)
    assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize(
    ("name", "more", "frame"),
    [
        ("ELON", [], "barycentricmeanecliptic"),
        ("ELON", [("RADESYS", "FK5"), ("EQUINOX", 1950.0)], "barycentricmeanecliptic"),
        ("SLON", [], "supergalactic"),
        ("GLON", [("RADESYS", "FK5")], "galactic"),
    ],
)
def test_skies_have_the_frame_that_their_axes_name(
    name: str, more: list[tuple[str, Any]], frame: str
) -> None:
    from astropy.coordinates import SkyCoord

    cards = [("CTYPE1", f"{name}-TAN"), ("CTYPE2", f"{name[0]}LAT-TAN"), *more]
    image = sky_image("TAN", more=cards)
    y, x = np.indices(image.shape)
    there = image.coordinates.pixel_to_world(x, y)
    assert there.frame.name == frame
    longitude, latitude = image.wcs.wcs_pix2world(x.ravel(), y.ravel(), 0)
    np.testing.assert_allclose(there.spherical.lon.deg.ravel(), longitude, atol=1e-12)
    np.testing.assert_allclose(there.spherical.lat.deg.ravel(), latitude, atol=1e-12)
    if "EQUINOX" in image.header:
        assert there.equinox.jyear == 1950.0
    # A position in another frame is at its pixel, and in its regions.
    at = there[20, 30].icrs
    np.testing.assert_allclose(image.coordinates.world_to_pixel(at), [30, 20], atol=1e-8)
    expected = there.icrs.separation(at).deg < 0.0834
    np.testing.assert_array_equal(image.region_mask(tf.SkyRegion.circle(at, 0.0834)), expected)
    assert 150 < expected.sum() < 300
    text = f"icrs; circle({float(at.ra.deg)!r},{float(at.dec.deg)!r},0.0834)"
    np.testing.assert_array_equal(image.region_mask(text), expected)
    # By astropy as well, from the coordinates that it gets.
    assert image.wcs.pixel_to_world(30, 20).separation(at).deg < 1e-9
    np.testing.assert_allclose(image.wcs.world_to_pixel(SkyCoord(at)), [30, 20], atol=1e-8)


@pytest.mark.parametrize(
    "more", [[("CTYPE1", "HLON-TAN"), ("CTYPE2", "HLAT-TAN")],
             [("CTYPE1", "ELON-TAN"), ("CTYPE2", "ELAT-TAN"), ("RADESYS", "FK4")]],
)  # fmt: skip
def test_skies_without_a_frame_in_astropy_are_no_other_sky(more: list[tuple[str, Any]]) -> None:
    image = sky_image("TAN", more=more)
    with pytest.raises(tf.UsageError, match="frame of its sky"):
        image.region_mask("icrs; circle(83.6,22,1)")
    # Positions keep a frame of their own, which pixel() takes back.
    at = image.coordinates.pixel_to_world(3, 4)
    assert isinstance(at.frame, tf.HeaderFrame)
    np.testing.assert_allclose(image.coordinates.world_to_pixel(at), [3, 4], atol=1e-8)
    # Pixels do not depend on it.
    assert image.region_mask("circle(10,10,2)").sum() == 13


def test_images_without_a_sky_say_so() -> None:
    image = tf.open(primary(np.zeros((3, 4), "f4")))[0]
    with pytest.raises(tf.UsageError, match="needs sky coordinates") as caught:
        image.stats("icrs; circle(83.6,22,1)")
    assert "give the region in pixels" in str(caught.value)
    unknown = sky_image("TAN", more=[("CTYPE1", "XXLN-TAN"), ("CTYPE2", "XXLT-TAN")])
    with pytest.raises(tf.UsageError, match="frame") as caught:
        unknown.stats("icrs; circle(83.6,22,1)")
    assert "use pixels" in str(caught.value)
    with pytest.warns(tf.TachyfitsWarning, match="lies outside the image"):
        assert sky_image("TAN").stats("icrs; circle(10,22,0.1)").count == 0
    # On the other half of the sky, where a border has no pixels; not so all around the image.
    with pytest.warns(tf.TachyfitsWarning, match=r"lies outside .*check its frame and its place"):
        assert sky_image("TAN").stats("icrs; circle(263.6,-22,1)").count == 0
    assert sky_image("TAN").stats("icrs; circle(83.6,22,179.9)").count == 90 * 70


def test_positions_of_soda_are_regions() -> None:
    image = sky_image("TAN")
    for text, same in (
        ("CIRCLE 83.6 22.0 0.1", "icrs; circle(83.6,22,0.1)"),
        ("POLYGON 83.5 21.9 83.7 21.9 83.6 22.2", "icrs; polygon(83.5,21.9,83.7,21.9,83.6,22.2)"),
    ):
        np.testing.assert_array_equal(image.region_mask(text), image.region_mask(same))
    mask = image.region_mask("RANGE 83.5 83.7 21.9 22.1")
    y, x = np.indices(image.shape)
    at = image.coordinates.pixel_to_world(x, y)
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
    sky = image.coordinates.sky
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
    sky = image.coordinates.sky
    # A ring that crosses the edges of the field.
    placed = place(tf.SkyRegion.circle((150.5, 31.0), 6.0), sky)
    tracemalloc.start()
    spans = spans_on_sky(placed, sky, 100_000, 100_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A mask would have 1e10 bytes.
    assert most < 400e6
    y, first, last = spans[:: len(spans) // 50].T.astype(np.int64)
    within = image.coordinates.pixel_to_world(first, y).separation(
        image.coordinates.pixel_to_world(last, y)
    )
    assert within.deg.max() <= 12.0
    for x in (first, last):
        away = (
            image.coordinates.pixel_to_world(x, y).separation(SkyCoord(150.5, 31.0, unit="deg")).deg
        )
        on_edge = (x == 0) | (x == 99_999)
        assert (away <= 6.0).all()
        assert (away[~on_edge] > 6.0 - 1e-3).all()
