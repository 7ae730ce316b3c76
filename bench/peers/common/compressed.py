"""Compressed files, however they were written: pixels within half a step, and their size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from python_runner import Request


def compressed_answer(result: Any, request: Request) -> dict[str, Any]:
    """Compare each pixel with the input's, and give the bytes of the file."""
    with fits.open(request["path"]) as plain, fits.open(request["output"]) as decoded:
        image = next(hdu for hdu in decoded if isinstance(hdu, fits.CompImageHDU))
        pixels, again = plain[0].data.astype("f8"), image.data.astype("f8")
    with fits.open(request["output"], disable_image_compression=True) as table:
        header, steps = table[1].header, table[1].data["ZSCALE"].astype("f8")
    across = -(-header["ZNAXIS1"] // header["ZTILE1"])
    steps = np.repeat(steps.reshape(-1, across), header["ZTILE1"], axis=1)[:, : header["ZNAXIS1"]]
    steps = np.repeat(steps, header.get("ZTILE2", 1), axis=0)[: header["ZNAXIS2"]]
    # A pixel is rounded to float32 once more.
    most = steps / 2 + np.abs(pixels) * 2.0**-23
    within = bool((np.abs(pixels - again) <= most).all())
    written = Path(request["output"])
    size = written.stat().st_size
    written.unlink()
    return {"within_half_a_step": within, "file_bytes": float(size)}
