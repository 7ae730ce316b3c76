"""The project through its public Python package: what a user types."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import at_once
import bits_of_cubes
import cluster
import cubes
import days
import numpy as np
import records
import remote
import small_requests as small_requests_of
import table_models
import tiles
from opened import opened, right_tier
from python_runner import Model, Request, checksum, serve

import tachyfits as tf

STATISTICS = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")
POSITIONS = ("min_position", "max_position")


def total(request: Request) -> dict[str, Any]:
    """Sum the pixels."""
    with opened(request) as file:
        return {"sum": float(file[0].sum(threads=request["threads"]))}


def stats(request: Request) -> dict[str, Any]:
    """Take all statistics in one pass."""
    with opened(request) as file:
        found = file[request.get("hdu", 0)].stats(threads=request["threads"])
        return {name: getattr(found, name) for name in STATISTICS + POSITIONS}


def read(request: Request) -> Any:
    """Read the image whole."""
    with opened(request) as file:
        return file[request.get("hdu", 0)].read(threads=request["threads"])


def spectrum(request: Request) -> dict[str, Any]:
    """Open, header, and the channels of one pixel."""
    with opened(request) as file:
        cards = len(file[0].header)
        first, channels = request["first"], request["channels"]
        values = file[0][first : first + channels, request["y"], request["x"]]
    return {
        "sum": float(values.sum(dtype="f8")),
        "first": float(values[0]),
        "last": float(values[-1]),
        "channels": len(values) if cards else 0,
    }


def extract(request: Request) -> Any:
    """Integrate a cube along the spectral axis, or over the sky."""
    with opened(request) as file:
        cube, threads = file[0], request["threads"]
        if request["extract"] == "image":
            return np.asarray(cube.collapse("sum", threads=threads))
        return cube.spectrum(statistic="sum", threads=threads).values


def extracted(result: Any, request: Request) -> dict[str, Any]:
    """Give the sum of the numbers, and of each times its position."""
    flat = np.asarray(result, float).reshape(-1)
    sums = [float(flat.sum()), float((flat * np.arange(1, flat.size + 1)).sum())]
    return {f"extracted-{request['extract']}": sums}


def small_requests(request: Request) -> small_requests_of.Ask:
    """Ask for pixels by an index, or for the spectrum of a circle."""
    image = tf.open(request["path"], threads=1)[0]
    radius = request.get("radius", 0)
    asks: dict[str, small_requests_of.Ask] = {
        "cutout": lambda _, y, x: image[y : y + 64, x : x + 64],
        "spectrum": lambda _, y, x: image[:, y, x],
        "row": lambda number, y, _: image[number, y],
        "pixel": lambda number, y, x: image[number, y, x],
        "circle": lambda _, y, x: image.spectrum(tf.Circle(x, y, radius), statistic="sum").values,
    }
    return asks[request["of"]]


def bits(request: Request) -> dict[str, Any]:
    """Give every result as the text of its bits: of the whole image, per plane, pixel, row."""
    right_tier(request)
    threads = request["threads"]
    with opened(request) as file:
        image = file[0]
        whole = image.stats(threads=threads)
        answer = {name: exact(getattr(whole, name)) for name in STATISTICS + POSITIONS}
        answer["total"] = exact(image.sum(threads=threads))
        answer["planes_mean"] = digest(image.mean(axis=(1, 2), threads=threads))
        answer["planes_std"] = digest(image.std(axis=(1, 2), threads=threads))
        answer["pixels_sum"] = digest(image.sum(axis=0, threads=threads))
        answer["rows_rms"] = digest(image.rms(axis=2, threads=threads))
        answer["read"] = digest(image.read(threads=threads))
        answer |= cube_bits(image, (whole.min, whole.max), threads)
    return answer


def cube_bits(image: Any, limits: tuple[float, float], threads: int) -> dict[str, str]:
    """Do the same for a histogram, the spectrum of a circle, moments and a strided section."""
    height, width = image.shape[-2:]
    circle = tf.Circle(width / 2, height / 2, height / 3)
    spectrum = image.spectrum(circle, statistic="mean", threads=threads)
    answer = {
        "histogram": digest(image.histogram(100, limits, threads=threads).counts),
        "spectrum": digest(spectrum.values),
        "section": digest(image.read(np.s_[::-2, 1:-1, ::3], threads=threads)),
    }
    for order in (0, 1, 2):
        answer[f"moment_{order}"] = digest(image.moment(order, threads=threads).values)
    return answer


def exact(value: Any) -> Any:
    """Write a float as hexadecimal text, which loses nothing."""
    return float(value).hex() if isinstance(value, (float, np.ndarray)) else value


def digest(array: Any) -> str:
    """Hash an array's type, shape and bytes."""
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


def version() -> str:
    """Name the version, the vector tier and the build profile."""
    info = tf.info.build()
    how = f"{info['profile']} build, {info['rustc']}"
    return f"tachyfits {info['version']}, tier {info['tier']}, {how}"


MODELS = {
    "small-requests": small_requests_of.model(small_requests),
    "sum": Model(total),
    "stats": Model(stats),
    "read": Model(read, checksum),
    "spectrum": Model(spectrum),
    "extract": Model(extract, extracted),
    "bits": Model(bits),
    **at_once.MODELS,
    **cluster.MODELS,
    **cubes.MODELS,
    **days.MODELS,
    **bits_of_cubes.MODELS,
    **table_models.MODELS,
    **records.MODELS,
    **remote.MODELS,
    **tiles.MODELS,
}

if __name__ == "__main__":
    serve(MODELS, version)
