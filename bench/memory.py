"""Memory that is there when a run begins.

A virtual machine may return memory that is free for two seconds to its host (free page reporting),
and gets it back on use: 4 GB in 0.3 s, or in 7, and in slower pages. The next program pays for
that. So the bench itself reserves, between runs, as much of the free memory as a run may need, and
releases it when the run begins. Smaller inputs do without it: their runs follow each other sooner.
"""

from __future__ import annotations

import mmap
from contextlib import suppress

from bench import host

#: Bytes that are left free: for what the bench does between runs, and so that the page cache stays.
SPARE = 1 << 30

#: Bytes besides those of the inputs, for what a run keeps in memory.
BESIDES = 256 << 20

_HUGE_PAGE = 2 << 20


class Reserve:
    """Memory that is held between runs."""

    def __init__(self) -> None:
        self._held: list[mmap.mmap] = []
        #: Bytes to hold.
        self.wanted = 0

    def want(self, inputs: int) -> None:
        """Reserve enough for runs with inputs of this size: another such file, and more."""
        self.wanted = inputs + inputs // 4 + BESIDES
        self.take()

    def take(self) -> None:
        """Hold what is wanted, as far as there is so much free memory."""
        free = int(host.memory("MemFree") * 1e9) - SPARE
        size = min(self.wanted - self.held, free) // _HUGE_PAGE * _HUGE_PAGE
        if size <= 0:
            return
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory[:: mmap.PAGESIZE] = bytes(size // mmap.PAGESIZE)
        self._held.append(memory)

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return sum(len(memory) for memory in self._held)

    def release(self) -> None:
        """Let go of all of it."""
        for memory in self._held:
            memory.close()
        self._held.clear()
