"""The page cache: is a file in it, and putting it there.

Every row is measured with a warm page cache, and that is made sure of before every run rather than
assumed: a peer that needs much memory can push the input out, and the next one would pay for it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

#: A file counts as warm with this share of its pages in the cache.
WARM = 0.999

_MAP_FAILED = ctypes.c_void_p(-1).value
#: mincore(2) defines only the lowest bit of each byte.
_LOW_BIT = bytes(byte & 1 for byte in range(256))


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    size, address, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    libc.mmap.restype = address
    libc.mmap.argtypes = [address, size, number, number, number, ctypes.c_long]
    libc.munmap.argtypes = [address, size]
    libc.mincore.argtypes = [address, size, ctypes.c_char_p]
    return libc


def resident_share(path: Path) -> float:
    """Tell which share of the file's pages is in the page cache, by mincore(2)."""
    size = path.stat().st_size
    if size == 0:
        return 1.0
    libc = _libc()
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    vector = ctypes.create_string_buffer(pages)
    with path.open("rb") as stream:
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, stream.fileno(), 0)
    if address == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), "mmap failed", str(path))
    failed = libc.mincore(address, size, vector)
    errno = ctypes.get_errno()
    libc.munmap(address, size)
    if failed:
        raise OSError(errno, "mincore failed", str(path))
    return vector.raw.translate(_LOW_BIT).count(1) / pages


def drop(path: Path) -> None:
    """Let the file go from the page cache, so that there is room for the one that is measured."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())  # a page that is not written yet would stay
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def make_warm(path: Path) -> bool:
    """Read the file into the page cache unless it is there; tell whether it was."""
    if resident_share(path) >= WARM:
        return True
    block = bytearray(1 << 22)
    with path.open("rb", buffering=0) as stream:
        while stream.readinto(block):
            pass
    return False
