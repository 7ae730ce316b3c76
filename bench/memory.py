"""Memory that is there when a run begins.

What a virtual machine does not use, its host may take back ("free page reporting" of the balloon
driver, some seconds after it became free), and gives out again when it is touched: in 0.3 s or in
7 s for 4 GB. Whoever came next would pay for that, and by how much depends on who came before. So
the bench takes as much as a run may need, keeps it until nothing is given back any more, and
lets go of it just before the run.
"""

from __future__ import annotations

import mmap
import time
from contextlib import suppress

from bench import host

#: Bytes that are left alone: with less the system would take pages from the page cache.
SPARE = 512 << 20

#: Bytes besides those of the inputs, for what a run keeps in memory.
BESIDES = 256 << 20

#: Seconds for which much memory is kept: the system looks for free pages 2 s after there are some.
KEPT_SECONDS = 2.5

#: Less than this, in bytes, is not waited for: some is always free.
MUCH = 1 << 30

_HUGE_PAGE = 2 << 20


def provide(inputs: int) -> int:
    """Have memory for a run with inputs of so many bytes; return how many bytes were provided."""
    free = int(host.memory("MemFree") * 1e9) - SPARE
    size = min(inputs + inputs // 4 + BESIDES, free) // _HUGE_PAGE * _HUGE_PAGE
    if size <= 0:
        return 0
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory[:: mmap.PAGESIZE] = bytes(size // mmap.PAGESIZE)
        if size >= MUCH:
            time.sleep(KEPT_SECONDS)
    return size
