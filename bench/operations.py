"""Operations: their expected results, computed by NumPy in the plainest way.

The pixels of the inputs are small integers times a power of two. Sums of a few of them, and their
quarters, are then exact in single precision, in any order: every right program writes the same
bits. The name states the edges, as programs differ there:

    repeat   the first sample repeated before it: 3/4 a + 1/4 b (MIRIAD, scipy's "nearest")
    pair     the mean of the two (CASA)
    zero     zero beyond the end: 1/2 a + 1/4 b (spectral-cube, NEMO)

worker.py runs this in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import BenchError
from bench.makers import SPECTRAL
from bench.outputs import fingerprint_of_blocks

Blocks = Iterator[np.ndarray]
#: Pixels that are worked on at a time.
PIXELS = 1 << 22
#: Weights of (the edge, its neighbour).
EDGES = {"repeat": (0.75, 0.25), "pair": (0.5, 0.5), "zero": (0.5, 0.25)}
AXES = {"x": 2, "y": 1, "z": 0}


class Cube:
    """An input: its pixels as a map of the file, and the recipe that it was made from."""

    def __init__(self, path: str, pixels: dict[str, Any], recipe: dict[str, Any]) -> None:
        stored = np.dtype(pixels["type"]).newbyteorder(">")
        shape = tuple(pixels["shape"])
        self.pixels = np.memmap(path, stored, "r", pixels["offset"], shape)
        self.type: str = pixels["type"]
        self.shape: tuple[int, ...] = shape
        self.recipe = recipe

    def slabs(self, axis: int = 0) -> Iterator[tuple[int, int]]:
        """Cut an axis into ranges of about PIXELS pixels."""
        step = max(1, PIXELS * self.shape[axis] // self.pixels.size)
        for first in range(0, self.shape[axis], step):
            yield first, min(first + step, self.shape[axis])


def hanning(values: np.ndarray, axis: int, edges: str) -> np.ndarray:
    """Smooth by 1/4, 1/2, 1/4 along an axis of at least two pixels."""
    v = np.moveaxis(values, axis, 0)
    smooth = np.empty_like(v)
    smooth[1:-1] = 0.25 * v[:-2] + 0.5 * v[1:-1] + 0.25 * v[2:]
    own, neighbour = EDGES[edges]
    smooth[0] = own * v[0] + neighbour * v[1]
    smooth[-1] = own * v[-1] + neighbour * v[-2]
    return np.moveaxis(smooth, 0, axis)


def hanning_blocks(cube: Cube, axis: str, edges: str) -> Blocks:
    """Smooth a cube; along z every slab is taken with the plane on either side of it."""
    for first, last in cube.slabs():
        low, high = first, last
        if axis == "z":
            low, high = max(first - 1, 0), min(last + 1, cube.shape[0])
        smooth = hanning(cube.pixels[low:high].astype("f8"), AXES[axis], edges)
        yield smooth[first - low : smooth.shape[0] - (high - last)]


def sum_blocks(cube: Cube, other: Cube) -> Blocks:
    """Add two cubes."""
    for first, last in cube.slabs():
        yield cube.pixels[first:last].astype("f8") + other.pixels[first:last].astype("f8")


def reorder(cube: Cube, order: str) -> tuple[tuple[int, ...], Blocks]:
    """Transpose a cube: shape and pixels. `order` names the axes as FITS does, fastest first."""
    axes = [AXES[letter] for letter in reversed(order)]

    def blocks() -> Blocks:
        for first, last in cube.slabs(axes[0]):
            part = [slice(None)] * 3
            part[axes[0]] = slice(first, last)
            yield cube.pixels[tuple(part)].transpose(axes)

    return tuple(cube.shape[axis] for axis in axes), blocks()


def integers(cube: Cube, pixels: np.ndarray) -> np.ndarray:
    """Give back the integers that the good ones of some pixels were made from."""
    flat = pixels.reshape(-1)
    k: np.ndarray
    if cube.type[0] == "i":
        k = flat[flat != cube.recipe["blank"]].astype(np.int64)
        return k
    zero, scale = cube.recipe["zero"], cube.recipe["scale"]
    values = flat.astype("f8")
    values = values[~np.isnan(values)]
    k = np.rint((values - zero) / scale).astype(np.int64)
    if not np.array_equal(zero + scale * k, values):
        raise BenchError("a pixel is none of those that its recipe makes")
    return k


def median(cube: Cube) -> float:
    """Count how often each integer occurs; the one in the middle, or the mean of the two there."""
    counts = np.zeros(1 << 18, np.int64)
    lowest = -1  # the pixel that the maker put below all others
    for first, last in cube.slabs():
        k = integers(cube, cube.pixels[first:last])
        counts += np.bincount(k - lowest, minlength=counts.size)
    total = int(counts.sum())
    ranks = [(total - 1) // 2, total // 2]
    low, high = np.searchsorted(counts.cumsum(), ranks, side="right") + lowest
    return float(cube.recipe["zero"] + cube.recipe["scale"] * (int(low) + int(high)) / 2)


def moments(cube: Cube) -> np.ndarray:
    """Compute moments 0, 1, 2 along z over the header's linear axis, about the mean channel.

    The maps come after a plane with their origins, in the shape that `worst_difference` wants.
    """
    depth = cube.shape[0]
    first, second, total = (np.zeros(cube.shape[1:]) for _ in range(3))
    for low, high in cube.slabs():
        values = cube.pixels[low:high].astype("f8")
        channel = (np.arange(low, high) - depth / 2)[:, None, None]
        total += values.sum(axis=0)
        first += (values * channel).sum(axis=0)
        second += (values * channel**2).sum(axis=0)
    mean = first / total
    start, step = SPECTRAL
    origin = np.zeros(cube.shape[1:])
    origin.reshape(-1)[1] = start
    deviation = np.sqrt(second / total - mean**2)
    return np.stack([origin, total * step, start + step * (mean + depth / 2), deviation * step])


def robust_rms(cube: Cube) -> list[float]:
    """Find the robust rms of every plane, from how often each value occurs.

    The rms is the standard deviation about the peak of a histogram of 1 cell for 30 pixels, out to
    three of the peak's half widths at half its height on either side; the histogram is rebuilt,
    narrower or wider, until that peak is 10 to 50 cells wide (25 are the goal). The first and the
    last cell collect the pixels outside, and do not count. Obit's ObitFArrayRMS does the same.
    """
    found = []
    for plane in cube.pixels:
        k = integers(cube, plane)
        lowest = int(k.min())
        often = np.bincount(k - lowest)
        there = np.flatnonzero(often)
        values = cube.recipe["zero"] + cube.recipe["scale"] * (there + lowest)
        found.append(_robust_rms(values, often[there]))
    return found


def _robust_rms(values: np.ndarray, often: np.ndarray) -> float:
    total = int(often.sum())
    mean = float((values * often).sum() / total)
    raw = float(np.sqrt((often * (values - mean) ** 2).sum() / total))
    low, high = float(values.min()), float(values.max())
    cells = max(100, total // 30)
    for _ in range(20):
        density = cells / (high - low)
        cell = np.rint(np.clip((values - low) * density, 0, cells - 1)).astype(np.int64)
        counts = np.bincount(cell, weights=often, minlength=cells)
        mode = 1 + int(counts[1:-1].argmax())
        above = 1 + np.flatnonzero(2 * counts[1:-1] > counts[mode])
        left, right = min(int(above[0]), mode), max(int(above[-1]), mode)
        if 10 <= right - left <= 50:
            near = np.arange(
                max(mode - 3 * (mode - left), 1), min(mode + 3 * (right - mode), cells - 2) + 1
            )
            weights = counts[near]
            about = (weights * (near - mode)).sum() / weights.sum()
            square = (weights * (near - mode) ** 2).sum() / weights.sum()
            return min(raw, float(np.sqrt(square - about**2)) / density)
        half = 0.5 * max(right - left, 1) / density * cells / 25
        middle = low + mode / density
        low, high = middle - half, middle + half
    return raw


def extracted(cube: Cube, what: str) -> list[float]:
    """Integrate along the spectral axis (image) or over the sky (spectrum).

    Two sums of the result say that it is right: of its pixels, and of each times its position.
    """
    axes = {"image": (0,), "spectrum": (1, 2)}[what]
    found: np.ndarray | None = None
    for first, last in cube.slabs(1):  # rows of all channels
        part = cube.pixels[:, first:last].astype("f8").sum(axis=axes)
        if what == "image":
            found = part if found is None else np.concatenate([found, part])
        else:
            found = part if found is None else found + part
    assert found is not None, "a cube has rows"
    flat = found.reshape(-1)
    return [float(flat.sum()), float((flat * np.arange(1, flat.size + 1)).sum())]


def answers(name: str, cubes: list[Cube], arrays: Path) -> dict[str, Any]:
    """Work out an operation by its name; `arrays` is where maps to compare with are put."""
    kind, *words = name.split("-")
    cube = cubes[0]
    if kind == "copy":
        blocks: Blocks = (cube.pixels[a:b] for a, b in cube.slabs())
        return {name: fingerprint_of_blocks(cube.type, cube.shape, blocks)}
    if kind == "hanning":
        return {name: fingerprint_of_blocks(cube.type, cube.shape, hanning_blocks(cube, *words))}
    if kind == "sum":
        return {name: fingerprint_of_blocks(cube.type, cube.shape, sum_blocks(*cubes))}
    if kind == "reorder":
        return {name: fingerprint_of_blocks(cube.type, *reorder(cube, *words))}
    if kind == "median":
        return {name: median(cube)}
    if kind == "extracted":
        return {name: extracted(cube, words[0])}
    if name == "robust-rms":
        return {name: robust_rms(cube)}
    if kind == "moments":
        np.save(arrays, moments(cube))
        return {name: 0.0}  # no difference
    raise BenchError(f"no operation is named {name!r}")


def answer(name: str, cubes: list[dict[str, Any]], arrays: str) -> dict[str, Any]:
    """Work out an operation on cubes; see data.operation."""
    return answers(name, [Cube(**cube) for cube in cubes], Path(arrays))
