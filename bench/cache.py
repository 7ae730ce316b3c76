"""The page cache: is a file in it, putting it there, taking it out, and waiting for the disk.

Rows are measured with a warm page cache, but for those that say "cold", and that is made sure of
before every run rather than assumed: a peer that needs much memory can push the input out, and the
next one would pay for it. Nor may one pay for what another wrote.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from pathlib import Path

#: A file counts as warm with this share of its pages in the cache.
WARM = 0.999

#: A file counts as cold with this share of its pages in the cache.
COLD = 0.01
#: Written pages that may wait for the disk when a run starts, kB; the system always has a few.
SETTLED_KB = 32 << 10

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


def make_cold(path: Path) -> bool:
    """Take the file out of the page cache; tell whether that was to be had."""
    drop(path)
    return resident_share(path) <= COLD


def settle(patience: float = 20.0) -> bool:
    """Write out what waits for the disk, of everybody; tell whether nearly nothing was left."""
    os.sync()
    deadline = time.monotonic() + patience
    while _unwritten_kb() > SETTLED_KB:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _unwritten_kb() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Dirty:", "Writeback:")))
