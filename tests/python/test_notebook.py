"""The viewer in notebooks: a frame whose server serves what was viewed, and nothing else."""

from __future__ import annotations

import html
import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

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
        shown = re.search(r'<iframe src="([^"]*)".* height="500"', frame._repr_html_())
        assert shown is not None
        assert html.unescape(shown[1]) == frame.link
        base, _, view = frame.link.partition("#")
        asked = dict(part.split("=", 1) for part in view.split("&"))
        assert b"<canvas" in fetched(base)
        link = f"{base}api/v1/pixel?id={asked['id']}&x=1&y=1"
        assert json.loads(fetched(link, asked["token"]))["value"] == value
        # The page is for all users of this machine, the pixels are not.
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetched(link)
    # The same file has the same address, and what was not viewed is not served.
    assert tf.open(paths[0])[0].view(height=500) == frames[0]
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
