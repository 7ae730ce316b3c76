"""Writing results: a file appears under its name only when it is complete.

The bytes go to a temporary file beside the target, are flushed to disk, and are renamed. A full
disk, an error or a kill leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._header import Header

#: FITS files are made of blocks of this many bytes.
BLOCK = 2880


def write_atomically(
    path: str | os.PathLike[str], produce: Callable[[BinaryIO], object], *, overwrite: bool
) -> None:
    """Let ``produce`` write a file, and give it its name when it is whole.

    Raises
    ------
    FitsIoError
        The file exists and ``overwrite`` is false, or it cannot be written.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise _exists(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as stream:
            produce(stream)
            stream.flush()
            os.fsync(stream.fileno())
        if overwrite:
            temporary.replace(target)
        else:
            _rename_new(temporary, target)
    except FileExistsError as error:
        raise _exists(target) from error
    except OSError as error:
        raise _io_error(target, error) from error
    finally:
        # After a rename there is nothing left of that name.
        with contextlib.suppress(OSError):
            temporary.unlink()


def _rename_new(source: Path, target: Path) -> None:
    """Rename without replacing a file that appeared meanwhile; needs hard links to be sure."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        source.replace(target)


def _exists(target: Path) -> _core.FitsIoError:
    return _core.FitsIoError(
        f"{target}: the file exists already\n"
        "hint: choose another name or ask for overwriting (overwrite=True, --overwrite)"
    )


def _io_error(target: Path, error: OSError) -> _core.FitsIoError:
    reason = error.strerror or str(error)
    return _core.FitsIoError(
        f"{target}: cannot be written: {reason}\n"
        "hint: check the folder, its permissions and the space on the disk"
    )


def header_block(header: Header, bitpix: int, shape: Sequence[int]) -> bytes:
    """Return the header of a primary image, mandatory cards first, padded to whole blocks.

    Parameters
    ----------
    header
        The other cards.
    bitpix
        Type of the pixels.
    shape
        In NumPy order.
    """
    from astropy.io import fits

    cards = fits.Header()
    cards.append(("SIMPLE", True, "FITS Standard 4.0"))
    cards.append(("BITPIX", bitpix, "bits per pixel; negative: floating point"))
    cards.append(("NAXIS", len(shape), "number of axes"))
    for number, length in enumerate(reversed(shape), 1):
        cards.append((f"NAXIS{number}", length))
    cards.extend(header.to_astropy(), unique=False, update=False)
    return bytes(cards.tostring(sep="", endcard=True, padding=True).encode("ascii"))


def padding(data_bytes: int) -> bytes:
    """Return the zeros that fill the last block of data."""
    return bytes(-data_bytes % BLOCK)


def write_image(
    path: str | os.PathLike[str], values: NDArray[np.float64], header: Header, *, overwrite: bool
) -> None:
    """Write float64 values as the primary image of a new FITS file."""

    def produce(stream: BinaryIO) -> None:
        stream.write(header_block(header, -64, values.shape))
        for row in values.reshape(-1, values.shape[-1]):
            stream.write(row.astype(">f8").tobytes())
        stream.write(padding(values.nbytes))

    write_atomically(path, produce, overwrite=overwrite)
