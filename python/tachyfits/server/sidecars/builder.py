"""Builder: build sidecars in the background, one at a time, while the server is idle.

A build that is cancelled, or whose server stops, resumes later: a file beside the arrays counts the
finished units of work.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.server.datasets import OpenFile
from tachyfits.server.errors import Changed
from tachyfits.server.sidecars.copies import FIRST_LEVEL, KINDS, Copy, Pyramid, Spectral, pixels_of
from tachyfits.server.sidecars.folder import Folder
from tachyfits.server.view import TILE, View

log = logging.getLogger("tachyfits.server")

_T = TypeVar("_T")

#: Units of work between two updates of this count, and maximum number of waiting sidecars.
_NOTED, _WAITING = 8, 64

#: Name of the file with the count of finished units of work.
_DONE = "done"

#: Maximum number of open spectral copies.
_OPEN = 8

#: Errors due to a lack of files or memory, which do not mean that the sidecar is damaged.
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

#: Bytes of disk space to leave free.
_FREE = 1 << 30


@dataclass
class Task:
    """A sidecar that is being built or waiting."""

    file: OpenFile
    hdu: int
    copy: Copy
    name: str
    token: tf.CancelToken = field(default_factory=tf.CancelToken)
    done: int = 0
    total: int = 0
    problem: str = ""

    @property
    def fraction(self) -> float:
        """Finished fraction of the work."""
        return self.done / self.total if self.total else 0.0


class Sidecars:
    """The sidecars of a server; disabled without a budget.

    Parameters
    ----------
    executor
        Executor of the server: builds have a lower priority than requests.
    """

    def __init__(self, path: Path, budget: int, executor: tf.Executor) -> None:
        self._folder = Folder(path, budget)
        self._executor = executor
        self._lock = threading.Condition()
        self._tasks: OrderedDict[str, Task] = OrderedDict()
        self._failed: dict[str, str] = {}
        self._images: OrderedDict[Path, tf.Image] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def enabled(self) -> bool:
        """Whether sidecars are enabled."""
        return self._folder.budget > 0

    # Reading

    def tile(
        self, file: OpenFile, view: View, channel: int, others: tuple[int, ...], tile_index: Any
    ) -> NDArray[np.float32] | None:
        """Return a tile of a channel from the pyramid; None if it has to be computed.

        Parameters
        ----------
        tile_index
            Level, column and row of the tile.
        """
        level, column, row = tile_index
        if not self.enabled or level < FIRST_LEVEL:
            return None
        name = Folder.name(file, view.image.index, Pyramid.kind)
        path = self._folder.complete(name)
        if path is None:
            return None
        index = tuple(part.start for part in view.section(channel, others))
        window = (
            *index, slice(row * TILE, (row + 1) * TILE), slice(column * TILE, (column + 1) * TILE),
        )  # fmt: skip
        result: NDArray[np.float32] | None
        result = self._read(name, lambda: pixels_of(path / f"level{level}", window))
        return result

    def spectra(self, file: OpenFile, view: View, compute: Callable[[tf.Image], _T]) -> _T | None:
        """Call a function with the cube backed by its spectral copy; None if there is no copy."""
        if not self.enabled:
            return None
        name = Folder.name(file, view.image.index, Spectral.kind)
        path = self._folder.complete(name)
        if path is None:
            return None
        result: _T | None = self._read(name, lambda: compute(self._image(path, view)))
        return result

    def _image(self, path: Path, view: View) -> tf.Image:
        """Return the image of a spectral copy; it stays open for later requests."""
        with self._lock:
            if path not in self._images:
                self._images[path] = Spectral.image(path, view)
            self._images.move_to_end(path)
            while len(self._images) > _OPEN:
                self._images.popitem(last=False)
            return self._images[path]

    def _read(self, name: str, reader: Any) -> Any:
        """Call a function that reads a sidecar; None if the sidecar is damaged or was removed."""
        try:
            result = reader()
        except tf.UsageError:
            return None  # reading the file itself raises the error
        except Exception as error:  # zarr raises many types; fall back to the file itself
            if _is_of_the_request(error):
                raise
            if isinstance(error, OSError) and error.errno in _SHORT:
                log.warning("sidecar %s is not read: %s", name, error)
                return None
            log.warning("sidecar %s cannot be read and is removed: %s", name, error)
            self._folder.remove(name)
            result = None
        path = self._folder.complete(name)
        if path is None:
            with self._lock:
                for closed in [at for at in self._images if at.stem == name]:
                    del self._images[closed]
            return None
        self._folder.used(name)
        return result

    # Building

    def want(self, file: OpenFile, view: View) -> None:
        """Schedule the build of the useful and missing sidecars of an image."""
        if not self.enabled:
            return
        for copy_type in KINDS:
            copy = copy_type(view)
            name = Folder.name(file, view.image.index, copy_type.kind)
            with self._lock:
                is_known = name in self._tasks or name in self._failed or self._closed
            if is_known or not copy.is_useful or self._folder.complete(name) is not None:
                continue
            with self._lock:
                if len(self._tasks) >= _WAITING:
                    return
                self._tasks[name] = Task(file, view.image.index, copy, name)
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._work, name="tachyfits-sidecars", daemon=True
                    )
                    self._thread.start()
                self._lock.notify_all()

    def cancel(self, file: OpenFile, view: View) -> None:
        """Stop building the sidecars of an image; keep the finished work."""
        for copy_type in KINDS:
            name = Folder.name(file, view.image.index, copy_type.kind)
            with self._lock:
                task = self._tasks.get(name)
                if task is None:
                    continue
                # The thread removes a running task from the list.
                task.token.cancel()
                if not task.total:
                    del self._tasks[name]

    def described(self, file: OpenFile, view: View) -> dict[str, dict[str, Any]]:
        """Return the state of each kind: absent, waiting, building, complete or failed."""
        states: dict[str, dict[str, Any]] = {}
        for copy_type in KINDS:
            name = Folder.name(file, view.image.index, copy_type.kind)
            with self._lock:
                task, problem = self._tasks.get(name), self._failed.get(name)
            if self._folder.complete(name) is not None:
                states[copy_type.kind] = {"state": "complete", "fraction": 1.0}
            elif task is not None:
                state = "building" if task.total else "waiting"
                states[copy_type.kind] = {"state": state, "fraction": round(task.fraction, 3)}
            elif self._folder.is_locked(name):
                # Another server with the same folder is building it.
                share = (_noted(self._folder.building(name)) or 0) / len(copy_type(view).units())
                states[copy_type.kind] = {"state": "building", "fraction": round(share, 3)}
            elif problem is not None:
                states[copy_type.kind] = {"state": "failed", "fraction": 0.0, "problem": problem}
            else:
                states[copy_type.kind] = {"state": "absent", "fraction": 0.0}
            states[copy_type.kind]["useful"] = copy_type(view).is_useful
        return states

    def __len__(self) -> int:
        return len(self._tasks)

    def wait(self, seconds: float) -> bool:
        """Wait until all sidecars are built; return False after ``seconds``."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._tasks, seconds)

    def close(self) -> None:
        """Stop building; the next server resumes the work."""
        with self._lock:
            self._closed = True
            for task in self._tasks.values():
                task.token.cancel()
            self._lock.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout=10)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or self._tasks)
                if self._closed:
                    return
                task = next(iter(self._tasks.values()))
            try:
                self._build(task)
            except Exception as error:  # zarr raises many types; the thread must survive
                if not task.token.cancelled:
                    log.warning("sidecar %s of %s failed: %s", task.name, task.file.name, error)
                    # Do not try this version again, after a full disk or a replaced file.
                    self._failed[task.name] = type(error).__name__
                    if isinstance(error, (OSError, Changed)):
                        self._folder.remove(task.name)
            with self._lock:
                if self._tasks.get(task.name) is task:
                    del self._tasks[task.name]
                self._lock.notify_all()

    def _build(self, task: Task) -> None:
        folder, copy = self._folder, task.copy
        with folder.lock(task.name) as is_ours:
            if not is_ours or folder.complete(task.name) is not None:
                return
            if not folder.make_room(copy.bytes, keep=task.name):
                raise OSError("it would exceed the budget of sidecars")
            path = folder.under_way(task.name)
            if shutil.disk_usage(path).free < copy.bytes + _FREE:
                raise OSError("the disk of the cache is full")
            units = copy.units()
            done = _noted(path)
            if done is None:
                copy.create(path)
                done = 0
            task.done, task.total = done, len(units)
            for unit in units[done:]:
                limits = self._executor.request(priority="background", token=task.token)
                with limits:
                    copy.build(path, unit)
                if task.token.cancelled:
                    return
                task.file.check()
                task.done += 1
                if task.done % _NOTED == 0:
                    (path / _DONE).write_text(str(task.done), encoding="ascii")
            (path / _DONE).unlink(missing_ok=True)
            folder.publish(task.name)


def _is_of_the_request(error: Exception) -> bool:
    """Return whether an error means that the request was cancelled or exceeded its limits."""
    is_cancelled = isinstance(error, tf.IoError) and error.code == "io-cancelled"
    return is_cancelled or isinstance(error, tf.LimitError)


def _noted(path: Path) -> int | None:
    """Return the number of finished units; None before the first one."""
    with contextlib.suppress(OSError, ValueError):
        return int((path / _DONE).read_text(encoding="ascii"))
    return None
