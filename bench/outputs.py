"""Outputs: whether the file that a contestant wrote is the right one, to the last pixel.

The inputs make the right answers exact (see operations.py), so a file is right when the fingerprint
of its pixels is the expected one. Results with a tolerance are compared with a NumPy file (.npy)
instead. worker.py runs this, because NumPy and its memory are not part of the harness.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import BenchError

BLOCK = 2880
TYPES = {8: "u1", 16: "i2", 32: "i4", 64: "i8", -32: "f4", -64: "f8"}
#: Pixels per piece of a fingerprint; the pieces are hashed in threads.
PIECE = 1 << 20


@dataclass(frozen=True)
class Primary:
    """The primary image of a FITS file: type and shape (NumPy order), and where its pixels are."""

    type: str
    shape: tuple[int, ...]
    offset: int


def primary(path: Path) -> Primary:
    """Read the primary header, by the rules for these keywords alone."""
    values: dict[str, str] = {}
    with path.open("rb") as stream:
        while "END" not in values:
            block = stream.read(BLOCK)
            if len(block) < BLOCK:
                raise BenchError(f"{path.name}: it ends after {stream.tell()} bytes, in its header")
            for at in range(0, BLOCK, 80):
                card = block[at : at + 80].decode("latin-1")
                values.setdefault(card[:8].rstrip(), card[10:].partition("/")[0].strip())
                if "END" in values:
                    break
        offset = stream.tell()
    if values.get("SIMPLE") != "T":
        raise BenchError(f"{path.name}: it does not begin with SIMPLE = T")
    if float(values.get("BSCALE", 1)) != 1 or float(values.get("BZERO", 0)) != 0:
        raise BenchError(f"{path.name}: its pixels are scaled")
    shape = [int(values[f"NAXIS{n}"]) for n in range(int(values["NAXIS"]), 0, -1)]
    while len(shape) > 3 and shape[0] == 1:  # an axis of one pixel more is the same cube
        shape.pop(0)
    found = Primary(TYPES[int(values["BITPIX"])], tuple(shape), offset)
    length = offset + int(np.prod(shape)) * np.dtype(found.type).itemsize
    wanted, size = length + -length % BLOCK, path.stat().st_size
    if size != wanted:
        raise BenchError(f"{path.name}: it has {size} bytes, its header asks for {wanted}")
    return found


def canonical(pixels: np.ndarray) -> np.ndarray:
    """Give big-endian pixels one pattern for every NaN: which one it is has no meaning in FITS."""
    if pixels.dtype.kind == "f":
        missing = np.isnan(pixels)
        if missing.any():
            pixels = pixels.copy()
            pixels[missing] = np.nan
    return pixels


def _hash(pixels: np.ndarray) -> bytes:
    return hashlib.sha256(canonical(pixels).tobytes()).digest()


def _described(type_: str, shape: tuple[int, ...], pieces: Iterator[bytes]) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return f"{type_} {' x '.join(map(str, shape))} {whole.hexdigest()[:32]}"


def fingerprint(path: Path) -> str:
    """Describe the pixels of a file: type, shape in NumPy order, hash."""
    image = primary(path)
    pixels = np.memmap(
        path, np.dtype(image.type).newbyteorder(">"), "r", image.offset, image.shape
    ).reshape(-1)
    starts = range(0, pixels.size, PIECE)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        pieces = pool.map(lambda start: _hash(pixels[start : start + PIECE]), starts)
        return _described(image.type, image.shape, pieces)


def fingerprint_of_blocks(type_: str, shape: tuple[int, ...], blocks: Iterator[np.ndarray]) -> str:
    """Describe pixels that come block by block in the order of the file, as `fingerprint` does."""
    stored = np.dtype(type_).newbyteorder(">")

    def pieces() -> Iterator[bytes]:
        rest, total = np.empty(0, stored), 0
        for block in blocks:
            total += block.size
            rest = np.concatenate([rest, block.reshape(-1)], dtype=stored, casting="same_kind")
            whole = rest.size // PIECE * PIECE
            for start in range(0, whole, PIECE):
                yield _hash(rest[start : start + PIECE])
            rest = rest[whole:]
        if rest.size:
            yield _hash(rest)
        if total != int(np.prod(shape)):
            raise BenchError(f"{total} pixels came for an image of {shape}")

    return _described(type_, shape, pieces())


def worst_difference(path: Path, expected: Path) -> float:
    """Compare maps in two .npy files: the worst |got - expected| in units of each map's extent.

    The extent of a map is its greatest absolute value less `origin`, a value per map that the
    expected file has as its first plane: frequencies lie at 1e11 Hz and differ by less than 1e9.
    """
    got, (origin, *maps) = np.load(path), np.load(expected)
    if got.shape != np.shape(maps):
        raise BenchError(f"the maps have shape {got.shape}, expected {np.shape(maps)}")
    worst = 0.0
    for number, (mine, right) in enumerate(zip(got, maps, strict=True)):
        base = origin.reshape(-1)[number]
        worst = max(worst, float(np.abs(mine - right).max() / np.abs(right - base).max()))
    return worst if np.isfinite(got).all() else float("inf")


def answer(path: str, *expected: str) -> dict[str, Any]:
    """Answer for a file, with the fault of a wrong one; `expected` has maps to compare with."""
    try:
        if expected:
            return {"answer": worst_difference(Path(path), Path(expected[0]))}
        return {"answer": fingerprint(Path(path))}
    except (BenchError, OSError, ValueError, KeyError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
