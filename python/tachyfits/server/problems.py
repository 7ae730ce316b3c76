"""Problems of an image in its description: the page shows them before a request fails."""

from __future__ import annotations

import math
import re

import tachyfits as tf
from tachyfits.file import stored_table
from tachyfits.server.datasets import OpenFile
from tachyfits.server.view import View

#: The HDU number in a warning of a file, and the code of the warning about a truncated file.
_OF_HDU = re.compile(r"HDU (\d+) \(0-based\)")
_TRUNCATED = "[truncated-data]"


def problems_of(file: OpenFile, view: View) -> list[str]:
    """Return the problems of an image: missing pixels, unusable cards, warnings."""
    image = view.image
    problems = [_truncated(image)]
    for warning in image.file.warnings:
        about = _OF_HDU.search(warning)
        if about is not None and int(about[1]) != image.index:
            continue
        if problems[0] is None or _TRUNCATED not in warning:
            problems.append(warning)
    _ = view.sky  # adds problems of its cards to view.problems
    problems += [*view.problems, *image.coordinates.summary.problems]
    texts = [text.partition("\nhint: ")[0].strip() for text in problems if text]
    # The view and the summary report the same card; the summary's text lacks the name of the file.
    alone = [
        text
        for index, text in enumerate(texts)
        if not any(
            text in other for other in (*texts[:index], *texts[index + 1 :]) if text != other
        )
    ]
    return list(dict.fromkeys(alone))


def readable_channels(view: View) -> int:
    """Return the number of complete channels, from the first one."""
    hdu = view.image
    is_plain = stored_table(hdu) is None and view.axes == tuple(range(1, view.image.ndim + 1))
    if not is_plain or view.image.ndim < 3 or hdu.data_bytes_present >= hdu.data_bytes:
        return view.channels
    plane = math.prod(view.image.shape[-2:]) * abs(view.image.bitpix) // 8
    return min(view.channels, hdu.data_bytes_present // plane)


def _truncated(image: tf.Image) -> str | None:
    """Describe the missing part of an image of a truncated file; None if nothing is missing."""
    hdu = stored_table(image) or image
    available, expected = hdu.data_bytes_present, hdu.data_bytes
    if available >= expected:
        return None
    share = f"{available} of {expected} bytes of its data are there"
    if image.header.get("ZIMAGE") is not None or hdu.kind == "binary table":
        return f"the file is truncated: {share}; compressed tiles after them cannot be shown"
    pixels = available // (abs(image.bitpix) // 8)
    if image.ndim == 1:
        return f"the file is truncated: it ends after pixel {pixels} of {image.size} ({share})"
    if image.ndim < 3:
        rows = pixels // image.shape[-1]
        return f"the file is truncated: it ends after row {rows} of {image.shape[0]} ({share})"
    planes = pixels // math.prod(image.shape[-2:])
    last = math.prod(image.shape[:-2])
    plane_name = "channel" if image.ndim == 3 else "plane"
    return f"the file is truncated: it ends after {plane_name} {planes} of {last} ({share})"
