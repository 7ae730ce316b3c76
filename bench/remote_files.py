"""Makers of the files that a server gives: a cutout of each is what the definitions ask for.

Their pixels are integers, and the answer is the sum of those of the cutout.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np


def write(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write `count` images of noise by astropy: compressed ones, or a single plain one."""
    from astropy.io import fits

    random = np.random.Generator(np.random.PCG64(recipe["seed"]))
    hdus = [fits.PrimaryHDU()] if recipe["codec"] else []
    answer = 0.0
    for number in range(recipe["count"]):
        values = (random.normal(size=recipe["shape"]) * recipe["deviation"]).round()
        pixels = values.astype(recipe["type"])
        if not recipe["codec"]:
            hdus.append(fits.PrimaryHDU(pixels))
        else:
            tile = (1, recipe["shape"][-1])
            hdus.append(
                fits.CompImageHDU(
                    pixels, name=f"CHIP{number}", compression_type=recipe["codec"], tile_shape=tile
                )
            )
        if len(hdus) == recipe["hdu"] + 1:
            answer = float(pixels[cutout(recipe)].sum(dtype=np.float64))
    part_path = path.with_suffix(".part")
    fits.HDUList(hdus).writeto(part_path, overwrite=True)
    with part_path.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(part_path, path)
    return {"sum": answer}


def cutout(recipe: dict[str, Any]) -> tuple[slice, ...]:
    """Give the requested pixels, in NumPy order."""
    return tuple(slice(*pair) for pair in recipe["cutout"])


def layout(recipe: dict[str, Any]) -> dict[str, Any]:
    """Say where the cutout is, for peers."""
    return {"hdu": recipe["hdu"], "cutout": recipe["cutout"]}


MAKERS = {"remote": write}
