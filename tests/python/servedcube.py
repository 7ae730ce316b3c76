"""The real cube that tests of the server ask about, beside the engine's own image of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from realfiles import path_of

CUBE = path_of("data/cubes/ngc6946.fits")

#: Its ID where its folder is served.
NAME = f"cubes/{CUBE.name}"


def cube() -> tf.Image:
    """Return the image."""
    image = tf.open(CUBE)[0]
    assert isinstance(image, tf.Image)
    return image


def pixels_of(answer: Any) -> NDArray[np.float32]:
    """Return the pixels of a tile that was requested without error."""
    assert answer.status_code == 200, answer.text
    shape = int(answer.headers["Tile-Height"]), int(answer.headers["Tile-Width"])
    assert float(answer.headers["Tile-Step"]) == 0
    planes = np.frombuffer(answer.content, dtype=np.uint8).reshape(4, -1).T
    return np.ascontiguousarray(planes).view("<f4").reshape(shape)
