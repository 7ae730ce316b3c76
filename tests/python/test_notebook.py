"""The viewer in notebooks: a widget whose server serves what was viewed, and nothing else."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

pytestmark = pytest.mark.once


def fetched(link: str, token: str = "") -> bytes:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(
        urllib.request.Request(link, headers=headers), timeout=30
    ) as answer:
        found: bytes = answer.read()
    return found


def test_view_serves_the_image_and_its_page(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "cube.fits" for folder in ("a", "b")]
    for value, path in enumerate(paths):
        path.parent.mkdir()
        tf.write(path, np.full((2, 3, 4), value, dtype=np.float32))
    frames = [tf.open(path)[0].view(height=500) for path in paths]
    for value, frame in enumerate(frames):
        assert frame.height == 500
        base, _, view = frame.link.partition("#")
        asked = dict(part.split("=", 1) for part in view.split("&"))
        assert b"<canvas" in fetched(base)
        link = f"{base}api/v1/pixel?id={asked['id']}&x=1&y=1"
        assert json.loads(fetched(link, asked["token"]))["value"] == value
        # The page is for all users of this machine, the pixels are not.
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetched(link)
    # The same file has the same address, and what was not viewed is not served.
    assert tf.open(paths[0])[0].view().link == frames[0].link
    for hidden in ("a", "..", "cube.fits/../b"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(f"{base}api/v1/dataset?id={hidden}", asked["token"])


def test_view_names_the_address_of_a_proxy(tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    tf.write(path, np.zeros((3, 4), dtype=np.float32))
    link = tf.open(path)[0].view(address="/user/me/proxy/{port}/").link
    assert re.fullmatch(r"/user/me/proxy/\d+/#token=[\w-]+&id=image\.fits&hdu=0", link)


def test_view_of_a_computed_image_says_how_to_see_it(tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    tf.write(path, np.zeros((3, 4), dtype=np.float32))
    with pytest.raises(tf.UsageError, match=r"write it to a file first: image\.write\(path\)"):
        (tf.open(path)[0] + 1).view()


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    """A cube with a sky, whose pixels are numbers of their own."""
    cards = {
        "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CTYPE3": "FREQ", "CRPIX1": 10.0,
        "CRPIX2": 8.0, "CRVAL1": 187.7, "CRVAL2": 12.4, "CRVAL3": 1e11, "CDELT1": -1e-3,
        "CDELT2": 1e-3, "CDELT3": 1e6, "CUNIT3": "Hz", "RADESYS": "ICRS",
    }  # fmt: skip
    path = tmp_path / "cube.fits"
    fits.writeto(path, np.arange(4 * 16 * 20.0).reshape(4, 16, 20), fits.Header(cards))
    image = tf.open(path)[0]
    assert isinstance(image, tf.Image)
    return image


def said(viewer: Any, **shown: Any) -> None:
    """Set what the page tells by the model of the front end."""
    known = {"id": "cube.fits", "hdu": 0, "channel": 2, "others": None, "statistic": "mean",
             "regions": [], "clicked": None, "number": 0}  # fmt: skip
    name = viewer.link.partition("&id=")[2].partition("&")[0]
    viewer.set_state({"_shown": known | {"id": name} | shown})


def test_regions_and_spectra_of_the_page_are_objects(cube: tf.Image) -> None:
    viewer = cube.view()
    assert (viewer.regions, viewer.spectra, viewer.pixel, viewer.position) == ([], [], None, None)
    regions = [
        {"text": "circle(10,8,3.5)", "name": "core", "color": "#58a6ff"},
        {"text": "ellipse(9,8,2,1,4,3,30)", "name": "", "color": ""},
        {"text": "line(1,1,5,5)", "name": "", "color": ""},
    ]
    said(viewer, regions=regions, statistic="sum", clicked=[10.0, 8.0])
    circle, ring, line = viewer.regions
    assert (circle, circle.label, circle.color) == (tf.Circle(9, 7, 3.5), "core", "#58a6ff")
    assert ring == tf.region("ellipse(9,8,2,1,4,3,30)")
    assert isinstance(line, tf.Line)
    for found, region in zip(viewer.spectra, (circle, ring), strict=True):
        expected = cube.spectrum(region, statistic="sum")
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.axis.values, expected.axis.values)
    assert viewer.pixel == (9.0, 7.0)
    assert (viewer.position.ra.deg, viewer.position.dec.deg) == pytest.approx((187.7, 12.4))
    assert viewer.position.frame.name == "icrs"


def test_regions_that_are_set_are_those_until_the_page_has_others(cube: tf.Image) -> None:
    viewer = cube.view()
    said(viewer, regions=[{"text": "point(1,1)", "name": "", "color": ""}])
    named = tf.regions('# Region file\nicrs\ncircle(187.7,12.4,3.6") # text={sky} color=red')
    viewer.regions = [tf.Box(4, 5, 3, 2), "circle(3,4,2)", *named]
    box, circle, sky = viewer.regions
    assert (box, circle) == (tf.Box(4, 5, 3, 2), tf.Circle(2, 3, 2))
    assert (sky.label, sky.color) == ("sky", "red")
    assert (sky.x, sky.y, sky.radius) == pytest.approx((9, 7, 1), abs=1e-3)
    # The message was on its way when Python set regions.
    said(viewer, regions=[{"text": "point(1,1)", "name": "", "color": ""}])
    assert len(viewer.regions) == 3
    said(viewer, regions=[{"text": "point(2,2)", "name": "", "color": ""}], number=1)
    assert viewer.regions == [tf.Point(1, 1)]
    with pytest.raises(tf.UsageError, match="excluded"):
        viewer.regions = ["circle(5,5,4); -box(5,5,2,1)"]
    with pytest.raises(tf.UsageError, match="blob"):
        viewer.regions = ["blob(1,2,3)"]


def test_plane_has_regions_and_no_spectra(tmp_path: Path) -> None:
    tf.write(tmp_path / "plane.fits", np.zeros((3, 4), dtype=np.float32))
    viewer = tf.open(tmp_path / "plane.fits")[0].view()
    viewer.regions = ["circle(2,2,1)"]
    assert viewer.regions == [tf.Circle(1, 1, 1)]
    assert viewer.spectra == []
