"""Progress on stderr for work that takes longer than a second: rate and remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tachyfits.cli._output import is_quiet

if TYPE_CHECKING:
    import rich.progress

    from tachyfits.base import Progress

#: Shorter work shows no bar, which would only flash up.
PATIENCE_SECONDS = 1.0


class _Meter:
    """Progress function, called with (bytes done, total bytes); shows the bar after a delay."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = time.monotonic()
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None

    def __call__(self, done: int, total: int) -> bool:
        if self._bar is None:
            if time.monotonic() - self._started < PATIENCE_SECONDS:
                return True
            self._bar = _bar()
            self._bar.start()
        if self._task is None:
            self._task = self._bar.add_task(self._label, total=total, completed=done)
        self._bar.update(self._task, total=total, completed=done)
        return True

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar() -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=sys.stderr.isatty(),
    )


@contextmanager
def progress(wanted: bool | None, label: str) -> Iterator[Progress]:
    """Yield a progress function for the engine.

    Parameters
    ----------
    wanted
        Whether to show progress; None: if stderr is a terminal. ``--quiet`` disables it.
    label
        Description beside the bar.
    """
    if is_quiet() or not (sys.stderr.isatty() if wanted is None else wanted):
        # The engine still calls a function, in which Python can handle Ctrl-C.
        yield lambda done, total: True
        return
    meter = _Meter(label)
    try:
        yield meter
    finally:
        meter.close()
