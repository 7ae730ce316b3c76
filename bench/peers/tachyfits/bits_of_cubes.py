"""The bits of what is written and computed from a cube: a hash of every file and every answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from opened import opened, right_tier
from python_runner import Model, Request

import tachyfits as tf
from tachyfits.writing.sinks import write_new

#: How an image is computed, to be written.
IMAGES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda cube: cube,
    "hanning_x": lambda cube: cube.smooth("hanning", axis="x"),
    "hanning_y": lambda cube: cube.smooth("hanning", axis="y", edge="pair", blanks="zero"),
    "hanning_z": lambda cube: cube.smooth("hanning", axis="z", edge="keep", blanks="propagate"),
    "gaussian_z": lambda cube: cube.smooth("gaussian", 5.5, axis="z", edge="zero", fill=True),
    "reorder": lambda cube: cube.reorder("zxy"),
    "expression": lambda cube: tf.evaluate("where(a > 1, sqrt(abs(a)) / 3, sin(a) + a)", a=cube),
    "boxcar_x": lambda cube: cube.smooth("boxcar", 7, axis="x", edge="blank", every=3),
}


#: Results computed from a cube: arrays, or lists of them.
ANSWERS: dict[str, Callable[..., Any]] = {
    "moments": lambda cube, threads: [
        plane.values for plane in cube.moments((0, 1, 2), threads=threads)
    ],
    "median": lambda cube, **options: cube.median(**options),
    "mad_z": lambda cube, **options: cube.mad(axis="z", **options),
    "percentiles_xy": lambda cube, **options: cube.percentile([1, 50, 99], axis="xy", **options),
    "robust_rms": lambda cube, **options: cube.robust_rms(per_plane=True, **options),
}


def files(cube: Any, request: Request) -> Iterator[tuple[str, str]]:
    """Write every image; name it, and hash the whole file."""
    path = Path(request["output"])
    threads = request["threads"]
    for name, image in IMAGES.items():
        write_new(path, image(cube), overwrite=True, checksum=True, threads=threads)
        yield name, hashlib.sha256(path.read_bytes()).hexdigest()
    path.unlink()


def answers(cube: Any, request: Request) -> Iterator[tuple[str, str]]:
    """Compute everything else; name it, and hash the arrays."""
    for name, compute in ANSWERS.items():
        found = compute(cube, threads=request["threads"])
        digest = hashlib.sha256()
        for array in found if isinstance(found, list) else [found]:
            whole = np.ascontiguousarray(array)
            digest.update(f"{whole.dtype.str}{whole.shape}".encode() + whole.tobytes())
        yield name, digest.hexdigest()


def bits(request: Request) -> dict[str, str]:
    """Do all of it."""
    right_tier(request)
    with opened(request) as file:
        return dict(files(file[0], request)) | dict(answers(file[0], request))


MODELS = {"cube-bits": Model(bits)}
