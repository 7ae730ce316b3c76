"""Makers: write the input files block by block, and compute their exact answers on the way.

In an "image" every pixel is `zero + scale * k` with an integer k and a scale that is a power of
two, so that sums and sums of squares are added up as integers and the expected answers are exact,
whatever the number of pixels. The pixels of a "rounded" image are any doubles, and `math.fsum` adds
them. The integers come from the raw output of a seeded PCG64, which NumPy keeps the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from bench import remote_files, tables

BLOCK = 2880
#: Pixels per written block.
PIXELS = 1 << 22
#: Frequency of the first channel, and from one to the next, Hz.
SPECTRAL = (1.0e11, 1.0e6)
BITPIX = {"i2": 16, "i4": 32, "f4": -32, "f8": -64}


def header(cards: list[tuple[str, Any]]) -> bytes:
    """Make a primary header of these cards, padded to whole blocks."""
    lines = []
    for keyword, value in [("SIMPLE", True), *cards]:
        if isinstance(value, bool):
            text = f"{'T' if value else 'F':>20}"
        elif isinstance(value, str):
            text = f"'{value:<8}'"
        else:
            text = f"{value!r:>20}".replace("e", "E")
        lines.append(f"{keyword:<8}= {text}".ljust(80))
    raw = "".join([*lines, "END".ljust(80)]).encode()
    return raw.ljust(-(-len(raw) // BLOCK) * BLOCK)


def cards(recipe: dict[str, Any]) -> list[tuple[str, Any]]:
    """Make the cards of a recipe: size, scaling and a plain linear coordinate system."""
    shape = recipe["shape"]
    result: list[tuple[str, Any]] = [("BITPIX", BITPIX[recipe["type"]]), ("NAXIS", len(shape))]
    result += [(f"NAXIS{n}", size) for n, size in enumerate(reversed(shape), 1)]
    if "blank" in recipe or recipe.get("scaled"):
        result += [("BSCALE", recipe["scale"]), ("BZERO", recipe["zero"])]
    if "blank" in recipe:
        result += [("BLANK", recipe["blank"])]
    kinds = [("RA---TAN", "deg", 1e-4), ("DEC--TAN", "deg", 1e-4), ("FREQ", "Hz", SPECTRAL[1])]
    if "beams" in recipe:
        # Peers take angles of beams from the north of the image to its left.
        kinds[0] = ("RA---TAN", "deg", -1e-4)
    for n, (kind, unit, step) in enumerate(kinds[: len(shape)], 1):
        result += [
            (f"CTYPE{n}", kind),
            (f"CUNIT{n}", unit),
            (f"CRPIX{n}", 1.0),
            (f"CDELT{n}", step),
        ]
        result += [(f"CRVAL{n}", SPECTRAL[0] if kind == "FREQ" else 30.0)]
    if "beam" in recipe:
        result += [("BMAJ", recipe["beam"]), ("BMIN", recipe["beam"]), ("BPA", 0.0)]
    if "beams" in recipe:
        result += [("CASAMBM", True)]
    return [*result, ("BUNIT", "Jy/beam")]


def beams_table(recipe: dict[str, Any]) -> bytes:
    """Make the table BEAMS: from the first of two beams (arcsec, deg) to the second, by channel."""
    from astropy.io import fits

    channels = recipe["shape"][0]
    rows = np.linspace(*recipe["beams"], channels)
    beams = zip(("BMAJ", "BMIN", "BPA"), ("arcsec", "arcsec", "deg"), rows.T, strict=True)
    columns = [fits.Column(name, "1D", unit=unit, array=values) for name, unit, values in beams]
    numbers = (("CHAN", np.arange(channels)), ("POL", np.zeros(channels)))
    columns += [fits.Column(name, "1J", array=values) for name, values in numbers]
    table = fits.BinTableHDU.from_columns(columns, name="BEAMS")
    table.header["NCHAN"], table.header["NPOL"] = channels, 1
    buffer = BytesIO()
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(buffer)
    return buffer.getvalue()[BLOCK:]


def integers(recipe: dict[str, Any]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (index of the first pixel, integers k, which are blank), block by block."""
    generator = np.random.PCG64(recipe["seed"])
    total = math.prod(recipe["shape"])
    low_at, high_at = total // 3, (2 * total) // 3
    for start in range(0, total, PIXELS):
        count = min(PIXELS, total - start)
        raw = generator.random_raw((count + 1) // 2).view(np.uint32)[:count]
        k = ((raw & 0xFFFF) + (raw >> 16)).astype(np.int64) >> recipe.get("shift", 0)
        k += recipe.get("offset", 0)
        blank = (raw & 0x7F) == 77 if recipe.get("blanks") else np.zeros(count, bool)
        # One lowest and one highest pixel, so that their positions have one right answer.
        for at, step in ((low_at, -1), (high_at, 1)):
            if start <= at < start + count:
                extreme = 0 if step < 0 else (2**17 - 2) >> recipe.get("shift", 0)
                k[at - start] = extreme + recipe.get("offset", 0) + step
                blank[at - start] = False
        yield start, k, blank


class Exact:
    """Sums of the integers so far; `answers` makes the statistics of the pixels from them."""

    def __init__(self) -> None:
        self.count = self.nan = self.first = self.second = self.bits = 0
        self.low: tuple[int, int] | None = None
        self.high: tuple[int, int] | None = None

    def add(self, start: int, k: np.ndarray, blank: np.ndarray) -> None:
        """Add a block whose first pixel has the index `start`."""
        defined = k[~blank]
        self.count += defined.size
        self.nan += int(blank.sum())
        middle = int(defined[0]) if defined.size else 0
        centred = defined - middle  # squares of large offsets would not fit in 64 bits
        first, second = int(centred.sum()), int(np.dot(centred, centred))
        self.first += first + defined.size * middle
        self.second += second + 2 * middle * first + defined.size * middle * middle
        comparable = np.where(blank, k.max() + 1, k)
        at = int(comparable.argmin())
        if not blank[at] and (self.low is None or int(k[at]) < self.low[0]):
            self.low = (int(k[at]), start + at)
        comparable = np.where(blank, k.min() - 1, k)
        at = int(comparable.argmax())
        if not blank[at] and (self.high is None or int(k[at]) > self.high[0]):
            self.high = (int(k[at]), start + at)

    def add_bits(self, native: np.ndarray) -> None:
        """Add the pixels' bit patterns up: what a reader must reproduce."""
        unsigned = native.view(f"u{native.itemsize}")
        self.bits = (self.bits + int(unsigned.sum(dtype=np.uint64))) % 2**64

    def answers(self, zero: float, scale: float, shape: list[int]) -> dict[str, Any]:
        """Compute the statistics of all pixels, each rounded once."""
        assert self.low is not None
        assert self.high is not None
        n, a, b = self.count, Fraction(zero), Fraction(scale)
        total = n * a + b * self.first
        squares = n * a * a + 2 * a * b * self.first + b * b * self.second
        spread = b * b * (n * self.second - self.first**2) / n**2

        def position(flat: int) -> list[int]:
            return [int(i) for i in np.unravel_index(flat, shape)]

        return {
            "count": n,
            "nan": self.nan,
            "sum": float(total),
            "mean": float(total / n),
            "rms": root(squares / n),
            "std": root(spread),
            "min": float(a + b * self.low[0]),
            "max": float(a + b * self.high[0]),
            "min_position": position(self.low[1]),
            "max_position": position(self.high[1]),
            "bits": self.bits,
        }


def root(value: Fraction) -> float:
    """Take the square root, rounded once."""
    with localcontext() as context:
        context.prec = 60
        return float((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def write(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write the image of a recipe, under its name once it is whole; give the exact answers."""
    dtype = np.dtype(recipe["type"])
    zero, scale = recipe["zero"], recipe["scale"]
    exact = Exact()
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(header(cards(recipe)))
        for start, k, blank in integers(recipe):
            exact.add(start, k, blank)
            if dtype.kind == "f":
                values = (zero + scale * k).astype(dtype)
                values[blank] = np.nan
            else:
                values = k.astype(dtype)
                values[blank] = recipe.get("blank", 0)
            exact.add_bits(values)
            stream.write(values.astype(dtype.newbyteorder(">")).tobytes())
        stream.write(bytes(-stream.tell() % BLOCK))
        if "beams" in recipe:
            stream.write(beams_table(recipe))
        stream.flush()
        os.fsync(stream.fileno())  # no writeback in the background of a measurement
    os.replace(part, path)
    return exact.answers(zero, scale, recipe["shape"])


def write_sparse(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write a cube of holes with one spectrum in it: channel c of the pixel holds c / 4."""
    depth, height, width = recipe["shape"]
    x, y, first, channels = (recipe[key] for key in ("x", "y", "first", "channels"))
    start = header(cards(recipe))
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(start)
        for channel in range(first, first + channels):
            stream.seek(len(start) + 4 * ((channel * height + y) * width + x))
            stream.write(np.array(channel / 4, ">f4").tobytes())
        size = len(start) + 4 * depth * height * width
        stream.truncate(size + -size % BLOCK)
        os.fsync(stream.fileno())
    os.replace(part, path)
    values = [channel / 4 for channel in range(first, first + channels)]
    return {"sum": math.fsum(values), "first": values[0], "last": values[-1], "channels": channels}


def write_rounded(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write an image of pixels rounded to their type, with sums that are not exact in double.

    `wide` multiplies them by 2^-20 ... 2^20, so that any other order of adding shows.
    """
    dtype = np.dtype(recipe["type"])
    values: list[np.ndarray] = []
    for _, k, blank in integers(recipe):
        block = recipe["zero"] + recipe["scale"] * k
        if recipe.get("wide"):
            block = np.ldexp(block, (k * 7919 % 41).astype(np.int32) - 20)
        block = block.astype(dtype)
        block[blank] = np.nan
        values.append(block)
    pixels = np.concatenate(values)
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(header(cards(recipe)))
        stream.write(pixels.astype(dtype.newbyteorder(">")).tobytes())
        stream.write(bytes(-stream.tell() % BLOCK))
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, path)
    return summed(pixels)


def summed(pixels: np.ndarray) -> dict[str, Any]:
    """Compute the statistics of any pixels with `math.fsum`, which rounds once.

    The deviations are from the mean as a double, which is not the mean; what that adds to the
    variance is the square of the difference, taken off as a fraction.
    """
    defined = pixels[~np.isnan(pixels)].astype(np.float64)
    mean = Fraction(math.fsum(defined)) / defined.size
    mean_double = float(mean)
    squares = Fraction(math.fsum((defined - mean_double) ** 2)) / defined.size
    return {
        "count": defined.size,
        "nan": pixels.size - defined.size,
        "sum": math.fsum(defined),
        "mean": mean_double,
        "std": root(squares - (mean - Fraction(mean_double)) ** 2),
        "min": float(defined.min()),
        "max": float(defined.max()),
    }


def write_tiled(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write an image in compressed tiles, by astropy; `run` repeats each integer, as in masks.

    The answers are those of the pixels. Of quantised floats they are the bits that astropy decodes.
    """
    from astropy.io import fits

    dtype, exact = np.dtype(recipe["type"]), Exact()
    pixels = np.empty(math.prod(recipe["shape"]), dtype)
    for start, k, blank in integers(recipe):
        run = recipe.get("run", 1)
        k = np.repeat(k[::run], run)[: k.size]
        part = pixels[start : start + k.size]
        part[:] = recipe["zero"] + recipe["scale"] * k if dtype.kind == "f" else k
        exact.add(start, k, blank)
        exact.add_bits(part)
    how = {"compression_type": recipe["codec"], "tile_shape": tuple(recipe["tile"])}
    if dtype.kind == "f":
        how |= {"quantize_level": recipe["level"], "quantize_method": 1, "dither_seed": 1}
    tiled = fits.CompImageHDU(pixels.reshape(recipe["shape"]), **how)
    for n, axis in enumerate(("FREQ",) if len(recipe["shape"]) == 3 else (), 3):
        tiled.header[f"CTYPE{n}"] = axis
        tiled.header[f"CRVAL{n}"], tiled.header[f"CDELT{n}"] = SPECTRAL
        tiled.header[f"CRPIX{n}"], tiled.header[f"CUNIT{n}"] = 1.0, "Hz"
    part_path = path.with_suffix(".part")
    tiled.writeto(part_path, overwrite=True)
    answers = exact.answers(recipe["zero"], recipe["scale"], recipe["shape"])
    if dtype.kind == "f" and recipe["level"]:
        with fits.open(part_path) as file:
            native = np.ascontiguousarray(file[1].data, dtype)
        again = Exact()
        again.add_bits(native)
        answers = {"bits": again.bits}
    with part_path.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(part_path, path)
    return answers


def write_lines(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write a cube with a Gaussian and noise in the spectrum of each pixel."""
    depth, height, width = recipe["shape"]
    random = np.random.Generator(np.random.PCG64(recipe["seed"]))
    plane = (height, width)
    amplitude, centre = random.uniform(1, 3, plane), random.uniform(0.3, 0.7, plane) * depth
    sigma = random.uniform(2, 6, plane)
    offset = (np.arange(depth)[:, None, None] - centre) / sigma
    values = amplitude * np.exp(-0.5 * offset**2)
    values += recipe["noise"] * random.standard_normal(values.shape)
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(header(cards(recipe)))
        stream.write(values.astype(">f4").tobytes())
        stream.write(bytes(-stream.tell() % BLOCK))
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, path)
    return {}


MAKERS = {
    "image": write,
    "lines": write_lines,
    "sparse": write_sparse,
    "rounded": write_rounded,
    "tiled": write_tiled,
    **tables.MAKERS,
    **remote_files.MAKERS,
}


def layout(recipe: dict[str, Any]) -> dict[str, Any]:
    """Say where the pixels lie, for peers that take them without reading the header.

    Of a table it says which columns and rows the definitions ask for.
    """
    if recipe["maker"] in tables.MAKERS:
        return tables.layout(recipe)
    if recipe["maker"] in remote_files.MAKERS:
        return remote_files.layout(recipe)
    if recipe["maker"] == "tiled":
        return {"type": recipe["type"], "shape": recipe["shape"], "tile": recipe["tile"]}
    offset = len(header(cards(recipe)))
    return {"type": recipe["type"], "offset": offset, "shape": recipe["shape"]}


def answer(path: str, recipe: dict[str, Any]) -> dict[str, Any]:
    """Make a file: the answers that are expected of it, and where its pixels lie."""
    answers = MAKERS[recipe["maker"]](Path(path), recipe)
    return {"expected": answers, "pixels": layout(recipe)}
