"""Cutouts: a part of an image as a FITS file that is sent while it is read.

Its length is known before its pixels are read: a header, and pixels as they are stored. The few
cutouts with a second HDU, a table of beams by channel, are written to a temporary file first.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from fastapi import Request

import tachyfits as tf
from tachyfits.server.datasets import OpenFile
from tachyfits.server.work import Workers

#: Type of a FITS file in HTTP (RFC 4047).
FITS_TYPE = "application/fits"

#: Bytes of pixels that are read at a time.
_CHUNK = 8 << 20

_BLOCK = 2880


class Cutout:
    """A part of an image as the bytes of a FITS file.

    Parameters
    ----------
    file
        The file that ``image`` is from.
    section
        NumPy's index of the part, slices along each axis.
    notes
        Lines for HISTORY: what was assumed about the request.
    folder
        Where a cutout of several HDUs is written before it is sent.

    Attributes
    ----------
    bytes
        Length of the file.
    """

    def __init__(
        self,
        file: OpenFile,
        image: tf.Image,
        section: Sequence[slice],
        notes: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        self.file = file
        self.image = image.cut(section=tuple(section))
        if notes:
            cards = [("HISTORY", f"tachyfits: {note}", "") for note in notes]
            core = self.image._core_image().with_cards(cards)
            self.image = self.image._computed(core, "with_cards", cards)
        self._folder = folder
        self._header = self.image._hdu().header().raw()
        self._spool: Path | None = None
        if _has_companion(self.image):
            self._write()
        else:
            self.bytes = len(self._header) + math.ceil(self.image.data_bytes / _BLOCK) * _BLOCK

    def parts(self) -> Iterator[Callable[[], bytes]]:
        """Return calls that give the bytes of the file, one after the other."""
        if self._spool is not None:
            for start in range(0, self.bytes, _CHUNK):
                yield lambda start=start: self._spooled(start)  # type: ignore[misc]
            return
        yield lambda: self._header
        for piece in pieces(self.image.shape, _CHUNK // max(1, abs(self.image.bitpix) // 8)):
            yield lambda piece=piece: self._pixels(piece)  # type: ignore[misc]
        yield lambda: bytes(self.bytes - len(self._header) - self.image.data_bytes)

    def write(self, path: Path) -> None:
        """Write the file; it appears when it is complete."""
        self.image.write(path, overwrite=True)
        self.file.check()

    def _pixels(self, piece: tuple[slice, ...]) -> bytes:
        stored = self.image.read(piece, dtype="raw")
        self.file.check()
        swapped: bytes = stored.astype(stored.dtype.newbyteorder(">"), copy=False).tobytes()
        return swapped

    def _write(self) -> None:
        """Write the file where it is sent from; it has no name afterwards."""
        # A folder of its own goes with the object.
        self._kept = tempfile.TemporaryDirectory(dir=self._folder, prefix="cutout-")
        self._spool = Path(self._kept.name) / "cutout.fits"
        self.write(self._spool)
        self.bytes = self._spool.stat().st_size

    def _spooled(self, start: int) -> bytes:
        assert self._spool is not None
        with self._spool.open("rb") as stream:
            stream.seek(start)
            return stream.read(_CHUNK)


def _has_companion(image: tf.Image) -> bool:
    """Say whether a file of this image has a second HDU: beams by channel, or coordinates."""
    header = image.header
    return header.get("CASAMBM") is True or any(
        f"PS{number}_0" in header for number in range(1, image.ndim + 1)
    )


def pieces(shape: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Return the sections of an array, in order, that have at most ``most`` elements each.

    >>> list(pieces((2, 3), 3))
    [(slice(0, 1, None), slice(0, 3, None)), (slice(1, 2, None), slice(0, 3, None))]
    >>> len(list(pieces((2, 10), 4)))
    6
    """
    # Axes before the split one are taken pixel by pixel, those after it whole.
    split, inner = 0, math.prod(shape[1:])
    while inner > most and split < len(shape) - 1:
        split += 1
        inner = math.prod(shape[split + 1 :])
    step = max(1, most // max(1, inner))
    whole = tuple(slice(0, length) for length in shape[split + 1 :])
    for outer in itertools.product(*(range(length) for length in shape[:split])):
        before = tuple(slice(at, at + 1) for at in outer)
        for start in range(0, shape[split], step):
            yield (*before, slice(start, min(start + step, shape[split])), *whole)


async def sent(workers: Workers, request: Request, cutout: Cutout) -> AsyncIterator[bytes]:
    """Return the bytes of a cutout as they are computed, each part on a thread of the workers."""
    for part in cutout.parts():
        if body := await workers.run(request, part):
            yield body


def cutout_headers(cutout: Cutout, name: str) -> dict[str, str]:
    """Return the headers of a cutout that is sent: its length, and a name for the file.

    >>> from types import SimpleNamespace
    >>> cutout_headers(SimpleNamespace(bytes=5760), 'a"b.fits')["Content-Disposition"]
    'attachment; filename="a_b.fits"'
    """
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.+") else "_" for c in name)
    return {
        "Content-Length": str(cutout.bytes),
        "Content-Disposition": f'attachment; filename="{safe}"',
    }
