"""Spectra from a spectral copy: the image of its chunks is the cube again, in another layout.

The engine reads it as any image, so sums have the bits of those from the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import tachyfits as tf
from tachyfits import Region
from tachyfits.image import extent_on_image, image_of_zarr_chunks
from tachyfits.server.view import View

#: The encoding of chunks that the engine reads.
_CODECS = [("bytes", {"endian": "big"}), ("crc32c", {})]

#: Bytes of the largest box around a region that is read from a copy: its chunks stay open.
_MOST_BYTES = 1 << 27


def suits_copy(view: View, region: Region) -> bool:
    """Say whether the spectrum of a region is fast from the copy of a cube."""
    cube = view.cube
    if "CASAMBM" in cube.header:  # its table of beams is in the file alone
        return False
    (first, left), (last, right) = extent_on_image(cube, region)
    pixels = (last + 1 - first) * (right + 1 - left) * view.channels
    return pixels * cube.dtype.itemsize <= _MOST_BYTES


def image_of_chunks(path: Path, cube: tf.Image) -> tf.Image:
    """Return a cube whose pixels are read from a Zarr array.

    Raises
    ------
    OSError
        The array is not of the cube, or has another encoding.
    """
    try:
        found = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
        codecs = [(codec["name"], codec.get("configuration", {})) for codec in found["codecs"]]
        chunk = found["chunk_grid"]["configuration"]["chunk_shape"]
        shape, pixel = found["shape"], found["data_type"]
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{path.name}: its description is damaged") from error
    if codecs != _CODECS or (tuple(shape), pixel) != (cube.shape, cube.dtype.name):
        raise OSError(f"{path.name}: it is not a copy of this cube")
    return image_of_zarr_chunks(path / "c", shape, chunk, pixel, cube)
