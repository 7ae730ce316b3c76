"""Defaults of this process: number of threads, progress function, memory maps and index cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.base.sources import path_text
from tachyfits.base.whole_numbers import check_threads

__all__ = ["Options", "options"]

#: Function called with the bytes done and all bytes; returning False stops the work.
Progress = Callable[[int, int], Any]


class Options:
    """Defaults of this process: threads, progress function, memory maps, index cache.

    An operation uses them unless the call or the file has its own ``threads`` or ``progress``.

    Examples
    --------
    >>> import tachyfits as tf
    >>> tf.options.threads = 2
    >>> told = []
    >>> with tf.options(progress=lambda done, total: told.append(done == total)):
    ...     mean = tf.open("cube.fits")[0].mean()
    >>> told[-1], tf.options.progress
    (True, None)
    >>> tf.options.threads = 0
    """

    def __init__(self) -> None:
        self._threads = 0
        self._progress: Progress | None = None
        self._maps = True

    @property
    def threads(self) -> int:
        """Number of threads; 0 means one per core. Results do not depend on it."""
        return self._threads

    @threads.setter
    def threads(self, number: int) -> None:
        self._set(number, self._progress)

    @property
    def progress(self) -> Progress | None:
        """Function called with the bytes done and all bytes, at most 20 times a second.

        An exception that it raises, or a return value of False, stops the work. The last call
        follows the end of the work: an output file then stays, whatever this call does.
        """
        return self._progress

    @progress.setter
    def progress(self, function: Progress | None) -> None:
        self._set(self._threads, function)

    @property
    def maps(self) -> bool:
        """Whether files in the page cache are mapped into memory; True by default.

        A memory map needs a handler of the signal SIGBUS, of which a process has only one. False,
        set before the first file is opened, leaves the signals of the process alone; files are
        copied then, with the same results.
        """
        return self._maps

    @maps.setter
    def maps(self, allowed: bool) -> None:
        _core.allow_maps(allowed)
        self._maps = allowed

    @property
    def index_cache(self) -> str | None:
        """Folder in which the headers of remote files are cached, so that they open faster again.

        The default is ``tachyfits/index`` in the user's cache folder, or the folder in the variable
        ``TACHYFITS_INDEX_CACHE`` ("off": no cache). None disables the cache. It has at most 256
        MiB; a file that has changed on its server is read again.
        """
        return _core.index_cache()

    @index_cache.setter
    def index_cache(self, folder: str | os.PathLike[str] | None) -> None:
        _core.set_index_cache(None if folder is None else path_text(folder))

    def _set(self, threads: int, progress: Progress | None) -> None:
        threads = check_threads(threads)
        if progress is not None and not callable(progress):
            raise usage(
                f"invalid progress {progress!r}: expected a function",
                "give a function, or None to show nothing",
            )
        _core.set_defaults(threads, progress)
        self._threads, self._progress = threads, progress

    @contextmanager
    def __call__(
        self, *, threads: int | None = None, progress: Progress | None = None
    ) -> Iterator[None]:
        """Set options for a block; None keeps an option."""
        before = self._threads, self._progress
        self._set(
            self._threads if threads is None else threads,
            self._progress if progress is None else progress,
        )
        try:
            yield
        finally:
            self._set(*before)

    def __repr__(self) -> str:
        values = f"threads={self._threads}, progress={self._progress}, maps={self._maps}"
        return f"<tachyfits options: {values}>"


#: The options of this process.
options = Options()
