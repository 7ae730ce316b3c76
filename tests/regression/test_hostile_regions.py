"""Regions of any content give errors of this package, before memory or time is spent on them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
import regions
from astropy.coordinates import SkyCoord
from astropy.io import fits

import tachyfits as tf

SKY: dict[str, Any] = {
    "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 10.0, "CRVAL2": 20.0, "CRPIX1": 5.0,
    "CRPIX2": 6.0, "CDELT1": -0.01, "CDELT2": 0.01, "CUNIT1": "deg", "CUNIT2": "deg",
}  # fmt: skip


def claim(axes: tuple[int, ...], **cards: Any) -> bytes:
    """Return a file whose header claims more pixels than its 2880 bytes of data have."""
    numbers = {f"NAXIS{number}": length for number, length in enumerate(axes, 1)}
    mandatory = {"BITPIX": 8, "NAXIS": len(axes), **numbers}
    lines = [f"{'SIMPLE':<8}= {'T':>20}"]
    lines += [f"{key:<8}= {value:>20}" for key, value in mandatory.items()]
    lines += [f"{key:<8}= {value!r:>20}" for key, value in cards.items()]
    return "".join(line.ljust(80) for line in (*lines, "END")).ljust(2880).encode() + bytes(2880)


def nested(count: int) -> tf.Region:
    found: tf.Region = tf.Circle(2, 2, 1)
    for _ in range(count):
        found = tf.CompoundRegion(((True, found), (True, tf.Circle(3, 3, 1))))
    return found


def united(count: int) -> Any:
    found: Any = regions.CirclePixelRegion(regions.PixCoord(2, 2), 1)
    for _ in range(count):
        found = found | regions.CirclePixelRegion(regions.PixCoord(2, 2), 1)
    return found


class Unknown(tf.Region):
    """A region that nothing is known of."""


_LOOP: list[Any] = []
_LOOP.append(_LOOP)

GIVEN: list[Any] = [
    5, -1.5, True, "", " ", "x", "circle", "circle()", "circle(1,1,1", "circle(1e400,1,1)",
    "circle(nan,nan,nan)", "circle(1,1,-1)", "circle(0,0,0)", "box(1,1,1e308,1e308,45)",
    "ellipse(1,1,0,0)", "annulus(1,1,2,1)", "line(1,1,2,2)", "point(nan,1)", "icrs; circle(1,95,1)",
    "icrs; circle(10,20,0)", "icrs; circle(10,20,1e7)", "icrs; polygon(10,20,10,20,10,20)",
    "icrs; polygon(0,0,120,0,240,0)", "icrs; point(190,-20)", "wcs; circle(1:2:3,4:5:6,1)",
    "physical; ellipse(1,1,2,3,30)", "CIRCLE a b c", "POLYGON 1 2 3", "RANGE -inf inf -inf inf",
    "[[", "[[[[]]]]", "circle[[]]", "#CRTF", "# Region file format", "global ",
    f"icrs; circle({'9' * 5000}:00:00,1,1)", f"A{' ' * 200000}(", f"circle({'1' * 200000}x,1,1)",
    f"# Region file\n#{' ' * 200000}1", f"#CRTF\ncircle[[{'1' * 200000}x,1],1deg]",
    "\x00", "a\nb", ";" * 1000, "-", "absent.reg", "absent.fits", ".", "/dev/null", b"circle",
    bytearray(b"x"), [], (), {}, {1: 2}, set(), [None], [5], ["circle(1,1,1)", None], [[]], _LOOP,
    object(), iter([]), range(3), np.nan, np.array(5), np.zeros(3), np.ones((3, 3)),
    np.zeros((0, 0)), np.full((8, 10), None), np.full((8, 10), "a"), np.ones((8, 10), "M8[s]"),
    np.ones((8, 10), [("a", "f4")]), np.ones((2, 8, 10)), np.ma.masked_all((8, 10)),
    tf.Region(), tf.PixelRegion(), Unknown(), tf.Circle(np.nan, 1, 1), tf.Circle(1e300, 1, 1e300),
    tf.Circle(1, 1, np.inf), tf.Box(1, 1, -1, 1), tf.Polygon([(np.nan, 1)] * 3),
    tf.CompoundRegion(()), nested(1000), united(1000), SkyCoord([], [], unit="deg"),
    SkyCoord(np.nan, 20, unit="deg"), SkyCoord(10, 20, unit="deg", frame="altaz"), 5 * u.deg,
    regions.Regions([]), regions.TextPixelRegion(regions.PixCoord(1, 1), "a"),
    regions.PixCoord(1, 1), regions,
]  # fmt: skip

FILES = {
    "empty.reg": "", "bytes.reg": "\x00\x01\xff" * 50, "open.reg": "image\ncircle(1,2\n",
    "open.crtf": "#CRTF\ncircle[[1,2],3]\n", "brackets.crtf": "#CRTFv0\nglobal\n[[[[\n",
    "pole.crtf": "#CRTF\nellipse[[1deg,95deg],[1deg,2deg],3deg]", "words.reg": "image\ncircle(a,b)",
    "frame.crtf": "#CRTF\ncircle[[1deg,2deg],3deg], coord=AZEL", "nan.reg": "fk5\ncircle(nan,1,1)",
    "sizes.reg": "physical\nbox(1,1,0,0)\nellipse(1,2,3,4,5)", "vector.reg": "fk5\nvector(1,1,2,2)",
    "digits.reg": f"image; box(1,1,2,2,{'9' * 5000})",
}  # fmt: skip


def uses(image: tf.Image, given: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: tf.region(given)
    yield lambda: tf.regions(given)
    yield lambda: image.region_mask(given)
    yield lambda: image.stats(given)
    yield lambda: image.cutout(given)
    yield lambda: image.cutout(given, mode="partial")
    yield lambda: image.select(given).sum(weights="exact")
    yield lambda: image.flux(given)
    yield lambda: image.spectrum(given)
    yield lambda: image.select(given).collapse("max")
    yield lambda: image.select(given).histogram()
    yield lambda: image.select(given).median()
    yield lambda: image.pv(given)


def check(call: Callable[[], Any]) -> None:
    """Call; any exception but those of this package fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(tf.TachyfitsError):
            call()


@pytest.mark.parametrize("number", range(len(GIVEN)))
def test_no_region_raises_anything_else(tmp_path: Path, number: int) -> None:
    cards = fits.Header(SKY | {"BUNIT": "Jy/pixel"})
    fits.PrimaryHDU(np.ones((8, 10), "f4"), cards).writeto(tmp_path / "image.fits")
    fits.PrimaryHDU(np.ones(8, "f4")).writeto(tmp_path / "line.fits")
    for name in ("image.fits", "line.fits"):
        for call in uses(tf.open(tmp_path / name)[0], GIVEN[number]):
            check(call)


def test_no_file_of_regions_raises_anything_else(tmp_path: Path) -> None:
    fits.PrimaryHDU(np.ones((8, 10), "f4"), fits.Header(SKY)).writeto(tmp_path / "image.fits")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        for call in uses(tf.open(tmp_path / "image.fits")[0], tmp_path / name):
            check(call)


VALUES: list[Any] = [
    None, "a", "5", b"x", [], {}, object(), np.nan, np.inf, -1, 0, 10**400, True, 1j,
    np.array([1.0, 2.0]), 5 * u.deg, u.deg, [1, 2], [(1, 2, 3)], "12arcsec",
    SkyCoord([1, 2], [2, 3], unit="deg"), np.int8(3),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_no_argument_of_a_shape_raises_anything_else(value: Any) -> None:
    v: Any = value
    sky = tf.SkyRegion
    calls: list[Callable[[], Any]] = [
        lambda: tf.Circle(v, 1, 1).mask(3, 3), lambda: tf.Circle(1, 1, v).outline(),
        lambda: tf.Box(1, 1, v, 1).mask(4, 4), lambda: tf.Ellipse(1, 1, 2, 1, v).ends(),
        lambda: tf.Point(v, v).mask(3, 3), lambda: tf.Polygon(v).mask(3, 3),
        lambda: tf.Line(v).outline(), lambda: tf.CompoundRegion(v),
        lambda: tf.CompoundRegion(((True, v),)), lambda: tf.Circle(1, 1, 1).mask(v, 3),
        lambda: sky.circle(v, 1), lambda: sky.circle((1, 2), v), lambda: sky.circle((1, v), 1),
        lambda: sky.circle((1, 2), 1, frame=v), lambda: sky.ellipse((1, 2), 1, v, v),
        lambda: sky.box((1, 2), v, 1, v), lambda: sky.annulus((1, 1), 1, v),
        lambda: sky.polygon(v), lambda: sky.range(v, (1, 2)), lambda: sky.range((1, 2), (v, 2)),
        lambda: sky.line(v), lambda: sky.point(v), lambda: sky(v, v),
        lambda: str(sky("ellipse", v, (1, 2))), lambda: str(sky("ellipse", ((1, 2),), v)),
    ]  # fmt: skip
    for call in calls:
        check(call)


def test_an_image_of_one_axis_has_no_regions() -> None:
    image = tf.open(claim((5,)))[0]
    for call in (image.region_mask, image.cutout, lambda given: image.stats(given)):
        with pytest.raises(tf.UsageError, match="a region needs NAXIS1 and NAXIS2") as caught:
            call("circle(2,2,1)")
        assert caught.value.code == "region"


@pytest.mark.parametrize("axes", [(5, 2**31 - 1), (2**31 - 1, 2**20), (5, 2**31 - 1, 1)])
@pytest.mark.parametrize(
    "region", ["icrs; circle(10,20,0.05)", "box(1,1,1e9,1e9,45)", "circle(2,2,1)"]
)
def test_a_claim_is_compared_with_the_file_before_regions_are_placed(
    axes: tuple[int, ...], region: str
) -> None:
    image = tf.open(claim(axes, **SKY, BUNIT="Jy"))[0]
    for call in (*list(uses(image, region))[2:8], lambda: image.select(region).median()):
        with pytest.raises(tf.FormatError) as caught:
            call()
        assert caught.value.code == "data-missing"


def test_long_planes_are_not_searched_for_regions_on_the_sky(tmp_path: Path) -> None:
    path = tmp_path / "long.fits"
    with open(path, "wb") as file:
        file.write(claim((2, 2**28), **SKY)[:2880])
        # A sparse file, which takes no space.
        file.truncate(2880 + 2**29)
    image = tf.open(path)[0]
    with pytest.raises(tf.LimitError, match="too long for its width") as caught:
        image.stats("icrs; circle(10,20,0.05)")
    assert caught.value.code == "memory"
    with pytest.raises(tf.LimitError, match="expected a region of at most 16777216 rows"):
        image.cutout("box(1,1,1e9,1e9,45)")
    assert image.cutout("circle(1,5,1)").shape == (3, 2)
    assert image.stats("circle(1,5,1)").count == 4
