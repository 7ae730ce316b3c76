"""Peers: the programs that are measured, each in a folder of its own, spoken to over a pipe.

A peer is `peers/NAME/peer.toml` (how to build it, run it and ask its version) and a program that
answers one JSON line on stdout for every JSON line on stdin. The harness knows nothing else about
it. A peer that cannot run is reported with the reason and the remedy; it is never left out in
silence.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import HERE, ROOT, BenchError, toml

BUILD = HERE / "build"
VENV = BUILD / "venv-peers"


@dataclass(frozen=True)
class Need:
    """A program or library that a peer's build wants: a command that succeeds where it is there."""

    command: tuple[str, ...]
    hint: str


@dataclass(frozen=True)
class Peer:
    """One peer folder; the commands have `{python}`, `{build}`, `{here}` and `{root}` filled in."""

    name: str
    title: str
    folder: Path
    ours: bool  # this project itself, which must be there
    run: tuple[str, ...]
    version: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    needs: tuple[Need, ...]
    requirements: tuple[str, ...]
    venv: Path  # of the Python peers: one for all, but for those that say `venv`
    on_request: bool  # set up only on request by name
    left_out: str = ""  # why it takes no part in this run

    def missing(self) -> str | None:
        """Say why this peer cannot run here; None when it can."""
        if self.left_out:
            return self.left_out
        try:
            answer = _version(self)
        except OSError as error:
            program = os.path.relpath(self.version[0], ROOT)
            return f"{program}: {error.strerror}; {self.remedy()}"
        if answer.returncode != 0:
            message = _last_line(answer.stderr or answer.stdout)
            helps = self.requirements or self.build or self.ours
            return f"{message}; {self.remedy()}" if helps else message
        return None

    def unbuilt(self) -> bool:
        """Tell whether it is this project, which is not in this Python."""
        return self.ours and not self.build and not self.left_out and self.missing() is not None

    def remedy(self) -> str:
        """Say what to do when the peer is not there."""
        if self.ours and not self.build:
            return "build the project into this Python first"
        also = f" --with {self.name}" if self.on_request else ""
        return f"run: python -m bench setup{also}"

    def version_text(self) -> str:
        """Give the first line of what the version command says."""
        answer = _version(self)
        return answer.stdout.strip().splitlines()[0] if answer.stdout.strip() else "unknown"

    def unmet_needs(self) -> list[str]:
        """List the needs that are not met, each with its remedy."""
        unmet = []
        for need in self.needs:
            try:
                met = _command(need.command, self.folder).returncode == 0
            except OSError:
                met = False
            if not met:
                unmet.append(f"{' '.join(need.command)} failed: {need.hint}")
        return unmet


def _command(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@functools.cache
def _version(peer: Peer) -> subprocess.CompletedProcess[str]:
    """Ask a peer once: for some the question costs an import of a second."""
    return _command(peer.version, peer.folder)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"


def python_of_peers() -> str:
    """Name the Python of the peers: that of `setup`, and before it the one that runs this."""
    path = VENV / "bin" / "python"
    return str(path) if path.exists() else sys.executable


def load(folder: Path = HERE / "peers") -> dict[str, Peer]:
    """Load all peers of a folder, by name."""
    return {path.parent.name: _peer(path) for path in sorted(folder.glob("*/peer.toml"))}


def _peer(path: Path) -> Peer:
    table = toml.load(path)
    venv_name = table.get("venv")
    venv = BUILD / f"venv-{venv_name}" if venv_name else VENV
    if table.get("python") == "project":
        python = sys.executable
    else:
        python = str(venv / "bin" / "python") if venv_name else python_of_peers()
    names = {
        "python": python,
        "build": str(BUILD / path.parent.name),
        "here": str(path.parent),
        "root": str(ROOT),
    }

    def filled(words: list[str]) -> tuple[str, ...]:
        return tuple(word.format(**names) for word in words)

    try:
        return Peer(
            name=path.parent.name,
            title=table["title"],
            folder=path.parent,
            ours=table.get("ours", False),
            run=filled(table["run"]),
            version=filled(table["version"]),
            build=tuple(filled(words) for words in table.get("build", [])),
            needs=tuple(Need(filled(n["command"]), n["hint"]) for n in table.get("need", [])),
            requirements=tuple(table.get("requirements", [])),
            venv=venv,
            on_request=table.get("on_request", False),
        )
    except KeyError as error:
        raise BenchError(f"{path}: the key {error} is missing") from error


class RunnerError(Exception):
    """The runner failed, died, or did not answer in time."""


class Runner:
    """A running peer: one request line in, one reply line out."""

    def __init__(self, peer: Peer, environment: dict[str, str] | None = None) -> None:
        self.peer = peer
        self.started = time.perf_counter()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close())
        # Compiled modules are cached, as they are for a user from the second start on.
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            peer.run,
            cwd=peer.folder,
            env={**inherited, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._pending = b""

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send one request and wait for its reply. RunnerError when there is none."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise RunnerError(f"{self.peer.name} ended: {self._stderr()}") from None
        line = self._line(timeout)
        try:
            reply: dict[str, Any] = json.loads(line)
            return reply
        except ValueError:
            text = line.decode(errors="replace")[:200]
            raise RunnerError(f"{self.peer.name} answered no JSON line: {text!r}") from None

    def peak_rss_kb(self) -> int:
        """Read the peak resident memory of this process since it began (VmHWM).

        `ru_maxrss` would do on other systems; Linux carries the parent's peak over fork and exec
        into it.
        """
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line[:6] == "VmHWM:")

    def forget_peak(self) -> None:
        """Reset the peak memory (see clear_refs in proc(5))."""
        with contextlib.suppress(OSError):  # it ended; the next request says so
            Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def close(self) -> None:
        """End the process; a peer that does not end on end of input is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):  # it had ended already, with a request unread
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _line(self, timeout: float) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self._process.kill()
                    raise RunnerError(f"{self.peer.name} gave no answer in {timeout:.0f} s")
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    raise RunnerError(f"{self.peer.name} ended: {self._stderr()}")
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _stderr(self) -> str:
        self._process.wait(timeout=10)
        self._errors.seek(0)
        status = self._process.returncode
        return f"exit status {status}: {_last_line(self._errors.read().decode(errors='replace'))}"
