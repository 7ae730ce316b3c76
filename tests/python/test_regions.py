"""Regions: which pixels, and that reductions take those and no others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import primary
from tachyfits.text.regions import ends_of

HEIGHT, WIDTH = 11, 13

places = st.floats(-4, 17).map(lambda v: round(v, 2))
sizes = st.floats(0.1, 12).map(lambda v: round(v, 2))


@given(x=places, y=places, width=sizes, height=sizes)
def test_boxes_hold_the_centres_inside_or_on_the_lower_border(
    x: float, y: float, width: float, height: float
) -> None:
    mask = tf.Box(x, y, width, height).mask(HEIGHT, WIDTH)
    half_x, half_y = Fraction(width) / 2, Fraction(height) / 2
    for row, column in np.ndindex(HEIGHT, WIDTH):
        dx, dy = abs(column - Fraction(x)), abs(row - Fraction(y))
        # Rounding may decide only for centres that lie on the border to the last digits.
        if min(abs(dx - half_x), abs(dy - half_y)) > Fraction(1, 10**12):
            assert mask[row, column] == (dx <= half_x and dy <= half_y)


@given(x=places, y=places, radius=sizes)
def test_circles_hold_the_centres_within_the_radius(x: float, y: float, radius: float) -> None:
    mask = tf.Circle(x, y, radius).mask(HEIGHT, WIDTH)
    for row, column in np.ndindex(HEIGHT, WIDTH):
        squared = (column - Fraction(x)) ** 2 + (row - Fraction(y)) ** 2
        if abs(squared - Fraction(radius) ** 2) > Fraction(1, 10**10):
            assert mask[row, column] == (squared <= Fraction(radius) ** 2)


def test_borders_that_are_exact_numbers_belong() -> None:
    assert tf.Circle(5, 5, 2).mask(11, 11).sum() == 13
    assert tf.Circle(5, 5, 5).mask(11, 11)[[0, 2, 5, 10], [5, 1, 0, 5]].all()
    assert tf.Box(5, 5, 2, 4).mask(11, 11).sum() == 8
    assert tf.Box(5, 5, 2, 4).mask(11, 11)[[3, 6], [4, 5]].all()
    assert tf.Box(19, 19, 10, 10).mask(40, 40).sum() == 100
    assert tf.Ellipse(5, 5, 4, 2).mask(11, 11)[[5, 5, 3, 7], [1, 9, 5, 5]].all()


@given(x=places, y=places, a=sizes, b=sizes, angle=st.integers(-180, 360))
def test_ellipses_rotate_from_x_towards_y(
    x: float, y: float, a: float, b: float, angle: int
) -> None:
    mask = tf.Ellipse(x, y, a, b, angle).mask(HEIGHT, WIDTH)
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    for row, column in np.ndindex(HEIGHT, WIDTH):
        u = (column - x) * cosine + (row - y) * sine
        v = -(column - x) * sine + (row - y) * cosine
        inside = (u / a) ** 2 + (v / b) ** 2
        if abs(inside - 1) > 1e-9:
            assert mask[row, column] == (inside < 1)


@given(*[st.floats(-50, 50)] * 2, *[st.floats(0.1, 30)] * 2, st.floats(-400, 400))
def test_ends_are_those_of_the_border(
    x: float, y: float, width: float, height: float, angle: float
) -> None:
    # The line of a round border has a corner at every second degree.
    missed = 30 * (1 - math.cos(math.radians(1)))
    for shape, error in (
        (tf.Box(x, y, width, height, angle), 1e-9),
        (tf.Ellipse(x, y, width, height, angle), missed + 1e-9),
        (tf.Circle(x, y, width), 1e-9),
    ):
        assert shape.ends() == pytest.approx(ends_of(shape.outline()), rel=0, abs=error)


@given(st.lists(st.tuples(places, places), min_size=3, max_size=7, unique=True))
def test_polygons_use_the_even_odd_rule(
    vertices: list[tuple[float, float]],
) -> None:
    mask = tf.Polygon(vertices).mask(HEIGHT, WIDTH)
    edges = list(zip(vertices, vertices[1:] + vertices[:1], strict=True))
    for row, column in np.ndindex(HEIGHT, WIDTH):
        if min(_distance(edge, column, row) for edge in edges) < 1e-9:
            continue
        crossings = sum(_crosses(edge, column, row) for edge in edges)
        assert mask[row, column] == (crossings % 2 == 1)


def _crosses(edge: tuple[tuple[float, float], tuple[float, float]], x: float, y: float) -> bool:
    (x1, y1), (x2, y2) = edge
    if (y1 > y) == (y2 > y):
        return False
    return x < x1 + (y - y1) * (x2 - x1) / (y2 - y1)


def _distance(edge: tuple[tuple[float, float], tuple[float, float]], x: float, y: float) -> float:
    (x1, y1), (x2, y2) = edge
    length = (x2 - x1) ** 2 + (y2 - y1) ** 2
    t = max(0.0, min(1.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length))
    return math.hypot(x - x1 - t * (x2 - x1), y - y1 - t * (y2 - y1))


def test_a_polygons_vertices_and_edges_belong() -> None:
    mask = tf.Polygon([(1, 1), (5, 1), (5, 5), (1, 5)]).mask(8, 8)
    expected = np.zeros((8, 8), bool)
    expected[1:6, 1:6] = True
    np.testing.assert_array_equal(mask, expected)


REGIONS = [
    tf.Circle(6, 5, 3.3),
    tf.Box(2, 2, 9, 3),
    tf.Ellipse(8, 6, 5, 1.5, 40),
    tf.Polygon([(0, 0), (12, 3), (5, 10)]),
    tf.Circle(0, 0, 4),
    tf.Box(-50, -50, 3, 3),
]


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_reductions_use_the_mask(region: tf.Region) -> None:
    random = np.random.default_rng(2)
    stored = random.normal(0, 1, (4, HEIGHT, WIDTH)).astype("f4")
    stored[:, 5, 6] = np.nan
    image = tf.open(primary(stored))[0]
    mask = region.mask(HEIGHT, WIDTH)
    chosen = stored[:, mask].astype("f8")
    stats = image.stats(region)
    assert stats.count == (~np.isnan(chosen)).sum()
    assert stats.nan == np.isnan(chosen).sum()
    if not stats.count:
        assert np.isnan(stats.sum)
    else:
        assert stats.sum == pytest.approx(np.nansum(chosen), rel=1e-13, abs=1e-13)
        assert stats.max == np.nanmax(chosen)
        assert stats.max_position is not None
        assert stored[stats.max_position] == stats.max
        assert mask[stats.max_position[1:]]
        np.testing.assert_allclose(
            image.select(region).mean("xy"), np.nanmean(chosen, axis=1), rtol=1e-12
        )
        np.testing.assert_array_equal(image.select(region).max("xy"), np.nanmax(chosen, axis=1))
    histogram = image.select(region).histogram(9, (-2.0, 2.0))
    assert histogram.counts.sum() + histogram.below + histogram.above == stats.count


def test_coordinates_are_the_images_own_whatever_the_section() -> None:
    stored = np.arange(3 * HEIGHT * WIDTH, dtype="i4").reshape(3, HEIGHT, WIDTH)
    image = tf.open(primary(stored))[0]
    region = tf.Circle(6, 5, 3.3)
    mask = region.mask(HEIGHT, WIDTH)
    for index in (np.s_[1:], np.s_[:, 4:9, 3:10], np.s_[::2, ::-1, ::2], np.s_[0, 5, 6]):
        inside = np.broadcast_to(mask, stored.shape)[index]
        values = np.asarray(stored[index])[inside]
        stats = image.select(region, section=index).stats()
        assert (stats.count, stats.sum) == (values.size, float(values.sum()))


def test_several_regions_at_once_are_each_on_their_own() -> None:
    stored = np.random.default_rng(4).normal(0, 1, (4, HEIGHT, WIDTH))
    image = tf.open(primary(stored))[0]
    together = image.stats(REGIONS)
    rows = image.select(REGIONS).sum("xy")
    assert rows.shape == (len(REGIONS), 4)
    for region, found, row in zip(REGIONS, together, rows, strict=True):
        alone = image.stats(region)
        assert (alone.count, alone.sum, alone.std) == pytest.approx(
            (found.count, found.sum, found.std), nan_ok=True, rel=0, abs=0
        )
        np.testing.assert_array_equal(image.select(region).sum("xy"), row)


def test_invalid_regions_are_refused() -> None:
    image = tf.open(primary(np.zeros((3, 4), "i2")))[0]
    for make in (
        lambda: tf.Circle(1, 1, -1).mask(3, 3),
        lambda: tf.Circle(math.nan, 1, 1).mask(3, 3),
        lambda: tf.Box(1, 1, 0, math.inf).mask(3, 3),
        lambda: tf.Polygon([(0, 0), (1, 1)]),
        lambda: image.stats([]),
        lambda: image.stats("circle"),
        lambda: image.select(tf.Circle(1, 1, 1)).mean("x"),
    ):
        with pytest.raises(tf.UsageError) as caught:
            make()
        assert "hint: " in str(caught.value)
