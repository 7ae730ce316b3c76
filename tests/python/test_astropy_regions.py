"""Shapes of astropy-regions and region files: the same pixels as theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
import regions
from astropy.coordinates import SkyCoord

import tachyfits as tf
from realfiles import parameters, path_of
from skyimages import sky_image
from tachyfits.text.regions import CompoundRegion

WIDTH, HEIGHT = 41, 33
RANDOM = 10_000


def pixel_shape(rng: np.random.Generator, kind: int) -> Any:
    """Return a random shape in pixels of one of seven kinds."""
    at = regions.PixCoord(*(rng.uniform(-6, size + 6) for size in (WIDTH, HEIGHT)))
    a, b = rng.uniform(0.3, 25, 2)
    angle = rng.choice([0.0, 90.0, rng.uniform(-360, 360)]) * u.deg
    if rng.random() < 0.3:
        at = regions.PixCoord(round(at.x * 2) / 2, round(at.y * 2) / 2)
        a, b = max(0.5, round(a)), max(0.5, round(b))
    if kind == 0:
        return regions.CirclePixelRegion(at, a)
    if kind == 1:
        return regions.EllipsePixelRegion(at, a, b, angle)
    if kind == 2:
        return regions.RectanglePixelRegion(at, a, b, angle)
    if kind == 3:
        return regions.CircleAnnulusPixelRegion(at, a, a + b)
    if kind == 4:
        return regions.EllipseAnnulusPixelRegion(at, a, a + b, b, b + a, angle)
    if kind == 5:
        return regions.RectangleAnnulusPixelRegion(at, a, a + b, b, b + a, angle)
    corners = rng.integers(3, 9)
    x, y = at.x + rng.uniform(-20, 20, corners), at.y + rng.uniform(-20, 20, corners)
    return regions.PolygonPixelRegion(regions.PixCoord(x, y))


def on_border(shape: Any, x: Any, y: Any, tolerance: float) -> Any:
    """Return which pixels are inside some shapes next to this one, and outside others."""
    verdicts = []
    for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        near = regions.PixCoord(x + tolerance * dx, y + tolerance * dy)
        verdicts.append(shape.contains(near))
    return np.any(verdicts, axis=0) != np.all(verdicts, axis=0)


def test_random_shapes_in_pixels_have_their_masks() -> None:
    image = sky_image("TAN", size=(WIDTH, HEIGHT))
    y, x = np.indices((HEIGHT, WIDTH))
    rng = np.random.default_rng(1)
    for number in range(RANDOM):
        shape = pixel_shape(rng, number % 7)
        sure = ~on_border(shape, x, y, 1e-9)
        theirs = shape.contains(regions.PixCoord(x, y))
        ours = image.region_mask(shape)
        np.testing.assert_array_equal(ours[sure], theirs[sure], err_msg=str(shape))


@pytest.mark.parametrize("projection", ["TAN", "SIN", "CAR", "ZEA", "STG", "AIT"])
def test_spherical_circles_and_polygons_are_theirs(projection: str) -> None:
    rng = np.random.default_rng(3)
    image = sky_image(projection, "galactic", (0.5, 0.0), (60, 40), 0.7)
    y, x = np.indices(image.shape)
    longitude, latitude = image.wcs.wcs_pix2world(x.ravel(), y.ravel(), 0)
    known = np.isfinite(longitude)
    there = SkyCoord(longitude[known], latitude[known], unit="deg", frame="galactic")
    for _ in range(30):
        at = SkyCoord(rng.uniform(-20, 20), rng.uniform(-14, 14), unit="deg", frame="galactic")
        radius = rng.uniform(1, 20) * u.deg
        circle = regions.CircleSphericalSkyRegion(at, radius)
        mask = image.region_mask(circle).ravel()
        sure = np.abs((there.separation(at) - radius).deg) > 1e-9
        np.testing.assert_array_equal(mask[known][sure], circle.contains(there)[sure])
        assert not mask[~known].any()
        turns = np.sort(rng.uniform(0, 360, 4)) * u.deg
        if np.diff(np.append(turns, turns[0] + 360 * u.deg)).max() >= 170 * u.deg:
            continue
        # Polygons of astropy-regions are convex.
        corners = at.directional_offset_by(turns[::-1], radius)
        polygon = regions.PolygonSphericalSkyRegion(corners)
        theirs = polygon.contains(there)
        mask = image.region_mask(polygon).ravel()[known]
        np.testing.assert_array_equal(mask, theirs)


def test_combinations_are_those_of_their_operators() -> None:
    image = sky_image("TAN", size=(WIDTH, HEIGHT))
    y, x = np.indices((HEIGHT, WIDTH))
    one = regions.CirclePixelRegion(regions.PixCoord(15.2, 16.1), 9.3)
    other = regions.RectanglePixelRegion(regions.PixCoord(21.3, 14.2), 17.1, 9.2, 30 * u.deg)
    for both in (one | other, one & other, one ^ other):
        theirs = both.contains(regions.PixCoord(x, y))
        np.testing.assert_array_equal(image.region_mask(both), theirs)
    listed = regions.Regions([one, other])
    np.testing.assert_array_equal(
        image.region_mask(listed), (one | other).contains(regions.PixCoord(x, y))
    )
    assert len(image.stats([one, other])) == 2


DS9 = """# Region file format: DS9 version 4.1
global color=green dashlist=8 3 width=1
fk5
circle(83.6,22.0,60")
-circle(83.6,22.0,20")
box(5:34:24.0,+22:00:36,80",40",30)
galactic
circle(184.55,-5.80,30") # color=red
image
polygon(10.3,10.2,30.1,12.4,25.2,30.3)
point(3,4) # point=x
"""

CRTF = """#CRTFv0
circle[[83.6deg, 22.0deg], 60arcsec], coord=fk5
-circle[[83.6deg, 22.0deg], 20arcsec], coord=fk5
box[[10pix, 10pix], [20pix, 14pix]]
"""


def test_files_of_ds9_are_read(tmp_path: Path) -> None:
    image = sky_image("TAN", "fk5", size=(WIDTH, HEIGHT), pixel=10 / 3600)
    path = tmp_path / "shapes.reg"
    path.write_text(DS9)
    y, x = np.indices((HEIGHT, WIDTH))
    expected = np.zeros((HEIGHT, WIDTH), bool)
    holes = np.zeros((HEIGHT, WIDTH), bool)
    for shape in regions.Regions.read(path, format="ds9"):
        flat = shape if hasattr(shape, "to_mask") else shape.to_pixel(image.wcs)
        inside = flat.contains(regions.PixCoord(x, y))
        if isinstance(flat, regions.PointPixelRegion):
            inside = (x == round(flat.center.x)) & (y == round(flat.center.y))
        if shape.meta.get("include", True):
            expected |= inside
        else:
            holes |= inside
    assert holes.any()
    assert expected.sum() > 200
    for given in (path, str(path), DS9):
        np.testing.assert_array_equal(image.region_mask(given), expected & ~holes)
    # Without global attributes, the parser of this package reads the same text.
    own = "\n".join(line for line in DS9.splitlines() if "global" not in line)
    np.testing.assert_array_equal(image.region_mask(own), expected & ~holes)


def test_files_of_casa_are_read(tmp_path: Path) -> None:
    image = sky_image("TAN", "fk5", size=(WIDTH, HEIGHT), pixel=10 / 3600)
    path = tmp_path / "shapes.crtf"
    path.write_text(CRTF)
    found = image.region_mask(path)
    ring = image.region_mask("fk5; annulus(83.6, 22.0, 20arcsec, 60arcsec)")
    # CASA counts pixels from 0.
    box = image.region_mask(tf.Box(15, 12, 10, 4))
    assert ring.sum() > 80
    np.testing.assert_array_equal(found & ~box, ring & ~box)
    assert found[box].all()


def test_a_region_of_a_file_goes_with_every_operation(tmp_path: Path) -> None:
    image = sky_image("TAN", "fk5", size=(WIDTH, HEIGHT), pixel=10 / 3600)
    path = tmp_path / "shapes.reg"
    path.write_text(DS9)
    mask = image.region_mask(path)
    pixels = image.read(dtype="float64")
    # Where a list is taken, each shape is a region, without the pixels that are excluded.
    each = [image.region_mask(region) for region in tf.regions(path)]
    assert len(each) == 5
    np.testing.assert_array_equal(np.any(each, axis=0), mask)
    sums = [pixels[part].sum() for part in each]
    assert [stats.sum for stats in image.stats(path)] == sums
    medians = [np.median(pixels[part]) for part in each]
    np.testing.assert_array_equal(image.select(str(path)).median(), medians)
    rows, columns = np.nonzero(mask)
    with pytest.warns(tf.TachyfitsWarning, match="its 5 shapes are one region here"):
        part = image.cutout(path)
    assert part.shape == (int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1)
    with pytest.warns(tf.TachyfitsWarning, match="its 5 shapes are one region here"):
        assert isinstance(tf.region(path), CompoundRegion)


def test_masks_and_positions_are_regions(tmp_path: Path) -> None:
    image = sky_image("TAN", size=(WIDTH, HEIGHT))
    mask = np.zeros((HEIGHT, WIDTH), "f4")
    mask[3:9, 4:7] = 1
    mask[20, 30] = np.nan
    tf.write(tmp_path / "mask.fits", mask)
    pixels = image.read()
    for given in (mask, mask > 0, tmp_path / "mask.fits", str(tmp_path / "mask.fits")):
        assert image.stats(given).sum == pixels[3:9, 4:7].sum()
    with pytest.raises(tf.UsageError, match="shape"):
        image.stats(mask[1:])
    at = image.wcs.pixel_to_world([7.2, 11.9], [5.4, 3.6])
    stats = image.stats(at)
    assert [s.sum for s in stats] == [pixels[5, 7], pixels[4, 12]]
    assert image.stats(at[0].galactic).sum == pixels[5, 7]


def test_how_to_install_the_package_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    path = tmp_path / "shapes.reg"
    path.write_text(DS9)
    monkeypatch.setitem(sys.modules, "regions", None)
    with pytest.raises(tf.UsageError, match="regions") as caught:
        tf.region(path)
    assert "pip install 'tachyfits[regions]'" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    parameters(
        ["data/cubes/ngc6946.fits", "data/images/HorseHead.fits", "data/images/m101HI.fits",
         "data/images/gc_2mass_h.fits", "data/images/spitzer_example_image.fits"]
    ),
)  # fmt: skip
def test_shapes_on_real_images(name: str) -> None:
    with tf.open(path_of(name)) as file:
        image = next(hdu for hdu in file if getattr(hdu, "size", 0))
        sky = image.coordinates.sky
        height, width = image.shape[-2:]
        y, x = np.indices((height, width))
        rng = np.random.default_rng(5)
        for _ in range(6):
            at = sky.wcs.pixel_to_world(rng.uniform(0, width), rng.uniform(0, height))
            radius = rng.uniform(2, min(width, height) / 3) * sky.scales[0] * u.deg
            mask = image.region_mask(regions.CircleSkyRegion(at, radius))
            away = sky.wcs.pixel_to_world(x, y).separation(at)
            sure = np.abs((away - radius).deg) > 1e-9
            np.testing.assert_array_equal(mask[sure], (away < radius)[sure])


def test_texts_beside_the_shapes_of_a_file_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "shapes.reg"
    line = "circle(12,7,3) # text={a;b}"
    # Some editors begin a file with a byte order mark.
    path.write_text(f"\ufeffimage\n# text(3,4) text={{hello}}\n{line}\n", encoding="utf-8")
    with pytest.warns(tf.TachyfitsWarning, match="left out: 1 \\(text\\)"):
        assert tf.region(path) == tf.Circle(11, 6, 3)
