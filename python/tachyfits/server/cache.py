"""A cache of answers with a budget in bytes; concurrent requests for a key compute it once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from tachyfits.server.errors import Superseded

_T = TypeVar("_T")

#: Overhead of an entry in bytes: its key and containers.
_OVERHEAD = 512

#: Seconds between two checks whether a waiting thread is cancelled.
_PATIENCE = 0.05


class ByteCache:
    """Values by key; the least recently used values are evicted to stay within the budget.

    If several threads request the same key, one computes it and the others wait.

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
        """Total size of the values, in bytes."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable) -> Any:
        """Return the value of a key; None if it is not cached."""
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
        """Return the value of a key; compute it by ``make`` if it is not cached.

        An error of ``make`` is raised in the thread that called it. Waiting threads then try one
        after another: their requests may have more time, or may not be cancelled. ``cancelled``
        tells a waiting thread whether its own request was cancelled.
        """
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    value: _T = self._kept[key][0]
                    return value
                running = self._under_way.get(key)
                if running is None:
                    own_future: Future[Any] = Future()
                    self._under_way[key] = own_future
                    break
            while not running.done():
                if cancelled():
                    raise Superseded("cancelled while another request computed the same")
                wait((running,), timeout=_PATIENCE)
        try:
            result = make()
        except BaseException:
            with self._lock:
                del self._under_way[key]
            own_future.set_result(None)
            raise
        with self._lock:
            del self._under_way[key]
            self._keep(key, result, weigh(result) + _OVERHEAD)
        own_future.set_result(None)
        return result

    def _keep(self, key: Hashable, value: Any, weight: int) -> None:
        if weight > self._budget:
            return
        self._kept[key] = (value, weight)
        self._bytes += weight
        while self._bytes > self._budget:
            _, (_, evicted) = self._kept.popitem(last=False)
            self._bytes -= evicted
