"""Problems of an image that its description names: what a page shows before a request fails."""

from __future__ import annotations

import math
import re

import tachyfits as tf
from tachyfits.file import stored_table
from tachyfits.server.datasets import OpenFile
from tachyfits.server.view import View

#: The HDU that a warning of a file is about, and the code of a file that ends too early.
_OF_HDU = re.compile(r"HDU (\d+) \(0-based\)")
_TRUNCATED = "[truncated-data]"


def problems_of(file: OpenFile, view: View) -> list[str]:
    """Return what is wrong with an image: missing pixels, cards that cannot be used, warnings."""
    image = view.image
    found = [_truncated(image)]
    for warning in image.file.warnings:
        about = _OF_HDU.search(warning)
        if about is not None and int(about[1]) != image.index:
            continue
        if found[0] is None or _TRUNCATED not in warning:
            found.append(warning)
    _ = view.sky  # what its cards lack becomes a problem of the view
    found += [*view.problems, *image.coordinates.summary.problems]
    texts = [text.partition("\nhint: ")[0].strip() for text in found if text]
    # The same card is a problem of the view and of the summary, whose texts name no file.
    alone = [
        text
        for place, text in enumerate(texts)
        if not any(
            text in other for other in (*texts[:place], *texts[place + 1 :]) if text != other
        )
    ]
    return list(dict.fromkeys(alone))


def readable_channels(view: View) -> int:
    """Return how many channels from the first on a file has whole."""
    hdu = view.image
    is_plain = stored_table(hdu) is None and view.axes == tuple(range(1, view.image.ndim + 1))
    if not is_plain or view.image.ndim < 3 or hdu.data_bytes_present >= hdu.data_bytes:
        return view.channels
    plane = math.prod(view.image.shape[-2:]) * abs(view.image.bitpix) // 8
    return min(view.channels, hdu.data_bytes_present // plane)


def _truncated(image: tf.Image) -> str | None:
    """Return what is missing of an image whose file ends too early; None if nothing is."""
    hdu = stored_table(image) or image
    present, expected = hdu.data_bytes_present, hdu.data_bytes
    if present >= expected:
        return None
    share = f"{present} of {expected} bytes of its data are there"
    if image.header.get("ZIMAGE") is not None or hdu.kind == "binary table":
        return f"the file is truncated: {share}; compressed tiles after them cannot be shown"
    pixels = present // (abs(image.bitpix) // 8)
    if image.ndim == 1:
        return f"the file is truncated: it ends after pixel {pixels} of {image.size} ({share})"
    if image.ndim < 3:
        rows = pixels // image.shape[-1]
        return f"the file is truncated: it ends after row {rows} of {image.shape[0]} ({share})"
    planes = pixels // math.prod(image.shape[-2:])
    last = math.prod(image.shape[:-2])
    what = "channel" if image.ndim == 3 else "plane"
    return f"the file is truncated: it ends after {what} {planes} of {last} ({share})"
