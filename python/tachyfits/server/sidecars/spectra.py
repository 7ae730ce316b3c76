"""Spectra from a spectral copy: an image backed by its chunks, with the pixels of the cube.

The engine reads it like any image, so sums equal those from the file bit for bit.
"""

from __future__ import annotations

import json
from pathlib import Path

import tachyfits as tf
from tachyfits import Region
from tachyfits.image import extent_on_image, image_of_zarr_chunks
from tachyfits.server.view import View

#: The encoding of chunks supported by the engine.
_CODECS = [("bytes", {"endian": "big"}), ("crc32c", {})]

#: Maximum bytes of the box around a region read from a copy, whose chunks stay open.
_MOST_BYTES = 1 << 27


def suits_copy(view: View, region: Region) -> bool:
    """Return whether the copy of a cube is suitable for the spectrum of a region."""
    cube = view.cube
    if "CASAMBM" in cube.header:  # the copy lacks the table of beams
        return False
    (first, left), (last, right) = extent_on_image(cube, region)
    pixels = (last + 1 - first) * (right + 1 - left) * view.channels
    return pixels * cube.dtype.itemsize <= _MOST_BYTES


def image_of_chunks(path: Path, cube: tf.Image) -> tf.Image:
    """Return a cube whose pixels are read from a Zarr array.

    Raises
    ------
    OSError
        The array does not match the cube, or has another encoding.
    """
    try:
        metadata = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
        codecs = [(codec["name"], codec.get("configuration", {})) for codec in metadata["codecs"]]
        chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
        shape, pixel = metadata["shape"], metadata["data_type"]
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{path.name}: its description is damaged") from error
    if codecs != _CODECS or (tuple(shape), pixel) != (cube.shape, cube.dtype.name):
        raise OSError(f"{path.name}: it is not a copy of this cube")
    return image_of_zarr_chunks(path / "c", shape, chunk, pixel, cube)
