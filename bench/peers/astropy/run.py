"""astropy: what an astronomer types first, with its defaults.

That is a memory map: `.data` of an unscaled image is a view of it in the file's byte order, and
NumPy converts block by block. A scaled image cannot be mapped; astropy reads and scales it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import astropy
import columns
import numpy as np
import served
import small_requests as small_requests_of
from astropy.io import fits
from compressed import compressed_answer
from python_runner import Model, Request, Unsupported, checksum, serve


def total(request: Request) -> dict[str, Any]:
    """Sum of the map."""
    with fits.open(request["path"]) as hdus:
        return {"sum": float(hdus[0].data.sum())}


def remote_cutout(request: Request) -> Any:
    """Pixels of a file of a server, by fsspec in blocks of 64 KiB."""
    try:
        import aiohttp  # noqa: F401 # what fsspec speaks HTTP with
    except ImportError as error:
        raise Unsupported(str(error)) from error
    hdu, section = served.place(request)
    options = {"block_size": 1 << 16, "cache_type": "bytes"}
    with fits.open(served.url(request), use_fsspec=True, fsspec_kwargs=options) as hdus:
        return hdus[hdu].section[section]


def nanmean(request: Request) -> dict[str, Any]:
    """Mean without NaN."""
    with fits.open(request["path"]) as hdus:
        return {"mean": float(np.nanmean(hdus[0].data))}


def nanmedian(request: Request) -> dict[str, Any]:
    """Median without NaN."""
    with fits.open(request["path"]) as hdus:
        return {"median": float(np.nanmedian(hdus[0].data))}


def nan_statistics(request: Request) -> dict[str, Any]:
    """Count, mean, standard deviation and extremes by NumPy's nan-functions over the whole."""
    with fits.open(request["path"]) as hdus:
        data = hdus[0].data
        return {
            "count": int(np.count_nonzero(~np.isnan(data))),
            "mean": float(np.nanmean(data)),
            "std": float(np.nanstd(data)),
            "min": float(np.nanmin(data)),
            "max": float(np.nanmax(data)),
        }


def merge(parts: list[tuple[int, float, float, float, float]]) -> dict[str, Any]:
    """Make statistics of the whole from (count, mean, variance, min, max) of its planes."""
    counts, means, variances, lows, highs = (
        np.array(column) for column in zip(*parts, strict=True)
    )
    mean = float(np.average(means, weights=counts))
    variance = float(np.average(variances + (means - mean) ** 2, weights=counts))
    return {
        "count": int(counts.sum()),
        "mean": mean,
        "std": variance**0.5,
        "min": float(lows.min()),
        "max": float(highs.max()),
    }


def planes_nan(request: Request) -> dict[str, Any]:
    """Go plane by plane through `.section`, which scales and puts NaN for BLANK."""
    parts = []
    with fits.open(request["path"]) as hdus:
        for z in range(hdus[0].shape[0]):
            plane = hdus[0].section[z]
            count = int(np.count_nonzero(~np.isnan(plane)))
            mean, variance = np.nanmean(plane, dtype="f8"), np.nanvar(plane, dtype="f8")
            parts.append((count, mean, variance, np.nanmin(plane), np.nanmax(plane)))
    return merge(parts)


def planes_lean(request: Request) -> dict[str, Any]:
    """Do the same knowing what the nan-functions cost: one mask and one compacted copy a plane."""
    parts = []
    with fits.open(request["path"]) as hdus:
        for z in range(hdus[0].shape[0]):
            plane = hdus[0].section[z]
            good = plane[~np.isnan(plane)]
            mean, variance = good.mean(dtype="f8"), good.var(dtype="f8")
            parts.append((good.size, mean, variance, good.min(), good.max()))
    return merge(parts)


def read(request: Request) -> Any:
    """Read the image as a native array: the map, and `astype` to the machine's byte order."""
    with fits.open(request["path"]) as hdus:
        data = hdus[request.get("hdu", 0)].data
        return data.astype(data.dtype.newbyteorder("="), copy=False)


def compress(request: Request) -> None:
    """Compress an image as fpack does: RICE_1, a quarter of the noise as step, dither."""
    with fits.open(request["path"]) as hdus:
        tiled = fits.CompImageHDU(
            hdus[0].data, hdus[0].header, quantize_level=4, quantize_method=1, dither_seed=1
        )
        tiled.writeto(request["output"], overwrite=True)


def spectrum(request: Request) -> dict[str, Any]:
    """Open, header, and the channels of one pixel."""
    with fits.open(request["path"]) as hdus:
        first, channels = request["first"], request["channels"]
        values = hdus[0].section[first : first + channels, request["y"], request["x"]]
        cards = len(hdus[0].header)
    return {
        "sum": float(values.sum(dtype="f8")),
        "first": float(values[0]),
        "last": float(values[-1]),
        "channels": len(values) if cards else 0,
    }


def small_requests(request: Request) -> small_requests_of.Ask:
    """Index the map, native; of a circle, sum the box around it in each channel, masked."""
    data = fits.open(request["path"], memmap=True)[0].data
    native = data.dtype.newbyteorder("=")
    radius = request.get("radius", 0)
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    mask = y**2 + x**2 <= radius**2
    asks: dict[str, small_requests_of.Ask] = {
        "cutout": lambda _, y, x: data[y : y + 64, x : x + 64].astype(native),
        "spectrum": lambda _, y, x: data[:, y, x].astype(native),
        "row": lambda number, y, _: data[number, y].astype(native),
        "pixel": lambda number, y, x: data[number, y, x].astype(native),
        "circle": lambda _, y, x: (
            data[:, y - radius : y + radius + 1, x - radius : x + radius + 1] * mask
        ).sum(axis=(1, 2), dtype="f8"),
    }
    return asks[request["of"]]


MODELS = {
    "small-requests": small_requests_of.model(small_requests),
    "sum": Model(total),
    "nanmean": Model(nanmean),
    "nanmedian": Model(nanmedian),
    "nan-statistics": Model(nan_statistics),
    "planes-nan": Model(planes_nan),
    "planes-lean": Model(planes_lean),
    "read": Model(read, checksum),
    "compress": Model(compress, compressed_answer),
    "remote-cutout": served.model(remote_cutout),
    "spectrum": Model(spectrum),
    **columns.MODELS,
}

if __name__ == "__main__":
    serve(MODELS, lambda: f"astropy {astropy.__version__}, NumPy {np.__version__}")
