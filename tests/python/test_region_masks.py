"""Regions on the sky have the masks of astropy-regions: 10 000 random shapes, frames and images.

Spherical shapes on images of every projection; ellipses and boxes, which astropy-regions has in
pixels alone, on images where the plane is the sky. Pixels whose centre is within 1e-9 degrees of a
border are left to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import astropy.units as u
import numpy as np
import pytest
import regions
from astropy.coordinates import SkyCoord, position_angle

import tachyfits as tf
from skyimages import FRAMES, sky_image

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")]

#: Degrees near 360 are rounded by 6e-14, two routes between frames differ by 1.2e-13, and a plane
#: of 50 arcsec is the sky to 6e-11: a border is where it is to 1e-10 degrees, and ten times that is
#: left out (docs/guides/regions.md).
TOLERANCE = 1e-9

#: Images of much of the sky, of few pixels: CTYPE code, position, size, degrees of a pixel.
SKIES: dict[str, tuple[str, tuple[float, float], tuple[int, int], float]] = {
    "CAR": ("CAR", (0.0, 0.0), (36, 18), 10.0),
    "CAR from 180": ("CAR", (180.0, 0.0), (37, 18), 10.0),
    "AIT": ("AIT", (10.0, 0.0), (34, 18), 10.0),
    "MOL": ("MOL", (200.0, 0.0), (34, 18), 10.0),
    "HPX": ("HPX", (0.0, 0.0), (38, 20), 10.0),
    "TSC": ("TSC", (0.0, 0.0), (37, 28), 10.0),
    "north": ("ZEA", (30.0, 90.0), (24, 24), 10.0),
    "south": ("STG", (0.0, -90.0), (22, 22), 6.0),
    "RA 0": ("TAN", (0.0, 5.0), (24, 20), 3.0),
    "RA 360": ("SIN", (359.9, -60.0), (24, 20), 4.0),
}
#: How many shapes of each kind lie on each of these images; polygons of the package are slow.
SHAPES = {"circle": 240, "annulus": 80, "range": 180, "polygon": 12}
#: Images where the plane is the sky, and shapes on each.
FIELDS, ON_FIELD = 24, 210


def angles(vectors: Any, towards: Any) -> Any:
    """Return the angles of unit vectors from a direction, degrees."""
    across = np.linalg.norm(np.cross(vectors, towards), axis=-1)
    return np.degrees(np.arctan2(across, vectors @ towards))


class Centres:
    """The directions of all pixels of an image, by astropy, in some frames."""

    def __init__(self, image: tf.Image, frames: list[str]) -> None:
        y, x = np.indices(image.shape)
        longitude, latitude = image.wcs.wcs_pix2world(x.ravel(), y.ravel(), 0)
        self.known = np.isfinite(longitude + latitude)
        own = image.coordinates.sky.astropy_frame
        there = SkyCoord(longitude[self.known], latitude[self.known], unit="deg", frame=own)
        self.places = {frame: there.transform_to(frame) for frame in frames}
        self.vectors = {name: at.cartesian.xyz.value.T for name, at in self.places.items()}


def spherical_shape(rng: np.random.Generator, kind: str, frame: str) -> tuple[Any, Any]:
    """Return a shape of astropy-regions, and the distance of directions from its borders."""
    at = SkyCoord(rng.uniform(0, 360), math.degrees(math.asin(rng.uniform(-1, 1))), unit="deg",
                  frame=frame)  # fmt: skip
    if rng.random() < 0.2:
        # Poles, and the meridian where longitudes begin.
        at = SkyCoord(*rng.choice([(0.0, 90.0), (40.0, -90.0), (0.0, 20.0), (360.0, -30.0)]),
                      unit="deg", frame=frame)  # fmt: skip
    centre = at.cartesian.xyz.value
    if kind == "circle":
        radius = rng.uniform(1, 150)
        shape = regions.CircleSphericalSkyRegion(at, radius * u.deg)
        return shape, lambda places: np.abs(angles(places, centre) - radius)
    if kind == "annulus":
        radii = np.sort(rng.uniform(1, 120, 2))
        shape = regions.CircleAnnulusSphericalSkyRegion(at, *(radii * u.deg))
        return shape, lambda places: np.abs(angles(places, centre)[:, None] - radii).min(axis=1)
    if kind == "range":
        west, east = rng.uniform(0, 360, 2)
        south, north = np.sort(rng.uniform(-90, 90, 2))
        shape = regions.RangeSphericalSkyRegion(frame, [west, east] * u.deg, [south, north] * u.deg)

        def distance(places: Any) -> Any:
            latitudes = np.degrees(np.arcsin(np.clip(places[:, 2], -1, 1)))
            found = [np.abs(latitudes - border) for border in (south, north)]
            for border in np.radians([west, east]):
                # From the plane of a meridian.
                found.append(np.degrees(np.abs(places @ [-np.sin(border), np.cos(border), 0.0])))
            return np.min(found, axis=0)

        return shape, distance
    # Polygons of the package are convex, and turn clockwise.
    turns = np.arange(0, 360, 72)[::-1] + rng.uniform(0, 50, 5)
    corners = at.directional_offset_by(turns * u.deg, rng.uniform(2, 70) * u.deg)
    vertices = corners.cartesian.xyz.value.T
    normals = np.cross(vertices, np.roll(vertices, -1, axis=0))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    shape = regions.PolygonSphericalSkyRegion(corners)
    return shape, lambda places: np.degrees(np.abs(places @ normals.T)).min(axis=1)


@pytest.mark.parametrize("sky", SKIES)
@pytest.mark.parametrize("kind", SHAPES)
def test_spherical_shapes_have_their_masks(sky: str, kind: str) -> None:
    projection, position, size, pixel = SKIES[sky]
    rng = np.random.default_rng([list(SKIES).index(sky), list(SHAPES).index(kind)])
    sure_pixels = 0
    for own in FRAMES:
        turn = float(rng.uniform(-180, 180)) if projection in ("TAN", "SIN", "ZEA") else 0.0
        image = sky_image(projection, own, position, size, pixel, turn)
        frames = [str(rng.choice(list(FRAMES))) for _ in range(2)]
        centres = Centres(image, frames)
        for number in range(SHAPES[kind] // len(FRAMES)):
            frame = frames[number % 2]
            shape, distance = spherical_shape(rng, kind, frame)
            sure = distance(centres.vectors[frame]) > TOLERANCE
            theirs = shape.contains(centres.places[frame])
            mask = image.region_mask(shape).ravel()
            ours = mask[centres.known]
            np.testing.assert_array_equal(ours[sure], theirs[sure], err_msg=str(shape))
            assert not mask[~centres.known].any()
            sure_pixels += int(sure.sum())
    assert sure_pixels > SHAPES[kind] * 0.4 * size[0] * size[1]


class Field:
    """An image of pixels of an arcsecond somewhere on the sky, and random shapes in its pixels."""

    WIDTH, HEIGHT, PIXEL = 25, 21, 1 / 3600

    def __init__(self, rng: np.random.Generator, own: str) -> None:
        longitude = float(rng.choice([0.0, 180.0, rng.uniform(0, 360)]))
        latitude = float(rng.choice([90.0, -89.999, rng.uniform(-89, 89), 0.0]))
        turn = float(rng.uniform(0, 360))
        size = (self.WIDTH, self.HEIGHT)
        self.image = sky_image("TAN", own, (longitude, latitude), size, self.PIXEL, turn)
        self.x, self.y = rng.uniform((-4, -4), (29, 25), (ON_FIELD, 2)).T
        self.angle = np.where(rng.random(ON_FIELD) < 0.3, 0.0, rng.uniform(-180, 180, ON_FIELD))
        self.sizes = rng.uniform(0.3, 12, (ON_FIELD, 4))
        # A direction of the plane, as a position angle in each frame.
        cosine, sine = np.cos(np.radians(self.angle)), np.sin(np.radians(self.angle))
        at = self.image.wcs.pixel_to_world(self.x, self.y)
        tip = self.image.wcs.pixel_to_world(self.x + 10 * cosine, self.y + 10 * sine)
        turns = rng.uniform(0, 2 * np.pi, (ON_FIELD, 6))
        away = rng.uniform(2, 14, (ON_FIELD, 6))
        middle = np.stack([self.x, self.y])[:, :, None]
        self.corners = middle + away * np.stack([np.cos(turns), np.sin(turns)])
        corners = self.image.wcs.pixel_to_world(*self.corners.reshape(2, -1))
        self.there: dict[str, tuple[Any, Any, Any]] = {}
        for frame in FRAMES:
            centre, end, vertices = (place.transform_to(frame) for place in (at, tip, corners))
            lon, lat = centre.spherical.lon.deg, centre.spherical.lat.deg
            sides = (place.spherical for place in (centre, end))
            (a, b), (c, d) = ((place.lon.rad, place.lat.rad) for place in sides)
            angle = 90.0 + position_angle(a, b, c, d).to_value("deg")
            places = np.stack([vertices.spherical.lon.deg, vertices.spherical.lat.deg], axis=-1)
            self.there[frame] = np.stack([lon, lat], -1), angle, places.reshape(ON_FIELD, 6, 2)

    def shape(self, number: int, frame: str) -> tuple[Any, Any, Any]:
        """Return a shape on the sky, the same in pixels, and how far pixels are from borders."""
        centres, turns, places = self.there[frame]
        at, angle = centres[number], float(turns[number])
        a, b, more, wide = self.sizes[number]
        pixel, turn = self.PIXEL, self.angle[number] * u.deg
        middle = regions.PixCoord(self.x[number], self.y[number])
        kind = number % 6
        if kind == 0:
            ours = tf.SkyRegion.circle(at, a * pixel, frame=frame)
            flat = regions.CirclePixelRegion(middle, a)
            return ours, flat, [self.ellipse(number, a, a)]
        if kind == 1:
            ours = tf.SkyRegion.ellipse(at, a * pixel, b * pixel, angle, frame=frame)
            flat = regions.EllipsePixelRegion(middle, 2 * a, 2 * b, turn)
            return ours, flat, [self.ellipse(number, a, b)]
        if kind == 2:
            ours = tf.SkyRegion.box(at, 2 * a * pixel, 2 * b * pixel, angle, frame=frame)
            flat = regions.RectanglePixelRegion(middle, 2 * a, 2 * b, turn)
            return ours, flat, [self.box(number, a, b)]
        if kind == 3:
            # An object of the package, with a ring's two borders.
            place = SkyCoord(*at, unit="deg", frame=frame)
            sizes = (2 * a, 2 * (a + more), 2 * b, 2 * (b + wide))
            ours = regions.EllipseAnnulusSkyRegion(
                place, *(size * pixel * u.deg for size in sizes), angle=angle * u.deg
            )
            flat = regions.EllipseAnnulusPixelRegion(middle, *sizes, turn)
            borders = [(a, b), (a + more, b + wide)]
            return ours, flat, [self.ellipse(number, *border) for border in borders]
        if kind == 4:
            numbers = [repr(float(value)) for value in (*at, a, a + more)]
            text = f'{frame}; annulus({numbers[0]}, {numbers[1]}, {numbers[2]}", {numbers[3]}")'
            flat = regions.CircleAnnulusPixelRegion(middle, a, a + more)
            borders = [self.ellipse(number, size, size) for size in (a, a + more)]
            return text, flat, borders
        ours = tf.SkyRegion.polygon([tuple(place) for place in places[number]], frame=frame)
        x, y = self.corners[:, number]
        return ours, regions.PolygonPixelRegion(regions.PixCoord(x, y)), [self.polygon(x, y)]

    def local(self, number: int) -> tuple[Any, Any]:
        """Return offsets of all pixels along the first and the second size of a shape."""
        y, x = np.indices(self.image.shape)
        turn = np.radians(self.angle[number])
        dx, dy = x - self.x[number], y - self.y[number]
        return dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)

    def ellipse(self, number: int, a: float, b: float) -> Any:
        """Return how far pixels are from an ellipse, in pixels, to first order."""
        across, up = self.local(number)
        radius = np.hypot(across / a, up / b)
        slope = np.hypot(across / a**2, up / b**2) / np.maximum(radius, 1e-9)
        return np.abs(radius - 1) / np.maximum(slope, 1e-9)

    def box(self, number: int, a: float, b: float) -> Any:
        """Return how far pixels are from the lines of a box, in pixels."""
        across, up = self.local(number)
        return np.minimum(np.abs(np.abs(across) - a), np.abs(np.abs(up) - b))

    def polygon(self, x: Any, y: Any) -> Any:
        """Return how far pixels are from the lines of a polygon, in pixels."""
        at_y, at_x = np.indices(self.image.shape)
        found = []
        for (x0, y0), (x1, y1) in zip(
            np.stack([x, y], -1), np.roll(np.stack([x, y], -1), -1, axis=0), strict=True
        ):
            area = (x1 - x0) * (at_y - y0) - (y1 - y0) * (at_x - x0)
            found.append(np.abs(area) / np.hypot(x1 - x0, y1 - y0))
        return np.min(found, axis=0)


@pytest.mark.parametrize("number", range(FIELDS))
def test_shapes_on_a_small_field_have_the_masks_of_their_pixel_shapes(number: int) -> None:
    rng = np.random.default_rng([9, number])
    field = Field(rng, list(FRAMES)[number % len(FRAMES)])
    y, x = np.indices(field.image.shape)
    left_out = 0
    for shape in range(ON_FIELD):
        ours, flat, borders = field.shape(shape, str(rng.choice(list(FRAMES))))
        sure = np.min(borders, axis=0) * field.PIXEL > TOLERANCE
        theirs = flat.contains(regions.PixCoord(x, y))
        mask = field.image.region_mask(ours)
        np.testing.assert_array_equal(mask[sure], theirs[sure], err_msg=str(ours))
        left_out += int((~sure).sum())
    assert left_out < 20


@pytest.mark.parametrize("sky", SKIES)
def test_ellipses_and_boxes_go_by_separation_and_position_angle(sky: str) -> None:
    projection, position, size, pixel = SKIES[sky]
    rng = np.random.default_rng([7, list(SKIES).index(sky)])
    image = sky_image(projection, "icrs", position, size, pixel)
    frames = list(FRAMES)
    centres = Centres(image, frames)
    for _ in range(30):
        frame = str(rng.choice(frames))
        at = SkyCoord(rng.uniform(0, 360), rng.uniform(-90, 90), unit="deg", frame=frame)
        (a, b), angle = rng.uniform(1, 80, 2), rng.uniform(-180, 180)
        away = at.separation(centres.places[frame]).deg
        turn = np.radians(angle - 90) - at.position_angle(centres.places[frame]).rad
        across, up = away * np.cos(turn), away * np.sin(turn)
        for make, distance in (
            (tf.SkyRegion.ellipse, np.hypot(across / a, up / b) - 1),
            (tf.SkyRegion.box, np.maximum(np.abs(across) - a / 2, np.abs(up) - b / 2)),
        ):
            mask = image.region_mask(make(at, a, b, angle)).ravel()[centres.known]
            sure = np.abs(distance) > TOLERANCE
            np.testing.assert_array_equal(mask[sure], (distance < 0)[sure])


def test_there_are_ten_thousand_of_them() -> None:
    spherical = sum(count // len(FRAMES) * len(FRAMES) for count in SHAPES.values()) * len(SKIES)
    assert spherical + FIELDS * ON_FIELD >= 10_000
