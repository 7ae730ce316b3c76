"""Regions on the sky: their pixels are those whose centres are inside on the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
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
