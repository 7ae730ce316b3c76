"""A cache of answers, weighed in bytes, in which each answer is computed once at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from tachyfits.server.errors import Superseded

_T = TypeVar("_T")

#: Bytes that an entry costs beside its value: keys and lists.
_OVERHEAD = 512

#: Seconds between two looks whether a thread that waits is still needed.
_PATIENCE = 0.05


class ByteCache:
    """Values by key; the least recently used go when they weigh more than the budget.

    Several threads may ask for the same key: one computes, the others wait for it.

    >>> cache = ByteCache(4096)
    >>> cache.get("a", lambda: bytes(1000), len), cache.bytes < 2000
    (b'...', True)
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._bytes = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._under_way: dict[Hashable, Future[Any]] = {}

    @property
    def bytes(self) -> int:
        """Bytes of all values."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable) -> Any:
        """Return the value of a key; None where it is not kept."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def get(
        self,
        key: Hashable,
        make: Callable[[], _T],
        weigh: Callable[[_T], int],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> _T:
        """Return the value of a key, computed by ``make`` where it is not kept.

        An error of ``make`` is raised in the thread that called it. Threads that waited for it
        try in turn: their requests may have more time, or may not be cancelled. ``cancelled``
        tells a thread that waits whether its own request has ended.
        """
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    value: _T = self._kept[key][0]
                    return value
                waiting = self._under_way.get(key)
                if waiting is None:
                    mine: Future[Any] = Future()
                    self._under_way[key] = mine
                    break
            while not waiting.done():
                if cancelled():
                    raise Superseded("cancelled while another request computed the same")
                wait((waiting,), timeout=_PATIENCE)
        try:
            made = make()
        except BaseException:
            with self._lock:
                del self._under_way[key]
            mine.set_result(None)
            raise
        with self._lock:
            del self._under_way[key]
            self._keep(key, made, weigh(made) + _OVERHEAD)
        mine.set_result(None)
        return made

    def _keep(self, key: Hashable, value: Any, weight: int) -> None:
        if weight > self._budget:
            return
        self._kept[key] = (value, weight)
        self._bytes += weight
        while self._bytes > self._budget:
            _, (_, gone) = self._kept.popitem(last=False)
            self._bytes -= gone
