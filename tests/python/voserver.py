"""A server in a process of its own, as the command line starts it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


class Server:
    """A running `tachyfits serve`."""

    def __init__(self, cache: Path, *paths: Path) -> None:
        command = [sys.executable, "-u", "-m", "tachyfits", "serve", *map(str, paths)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("http://"), line + (self.process.communicate()[0] or "")
        self.url = line.split()[0].rstrip("/")

    def kill(self) -> None:
        """End it as the kernel does when memory is short."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def serving(cache: Path, *paths: Path) -> Iterator[Server]:
    """Run a server for some paths."""
    server = Server(cache, *paths)
    try:
        yield server
    finally:
        server.stop()
