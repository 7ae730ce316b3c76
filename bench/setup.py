"""Setting up the peers: a virtual environment for the Python ones, compilers for the others.

A peer that would change the versions of the others has an environment of its own; one that takes
much disk space is set up only on request. Everything goes into bench/build, which git ignores. A
failed setup is reported with its remedy; the others continue.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import BenchError
from bench.peers import BUILD, Peer, load


def setup(say: Callable[[str], None] = print, also: Sequence[str] = ()) -> int:
    """Prepare every peer, those on request if they are in `also`; give how many can run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    peer_table = load()
    if strange := sorted(set(also) - set(peer_table)):
        raise BenchError(f"--with {strange[0]!r} names no peer; there are {', '.join(peer_table)}")
    selected = [p for p in peer_table.values() if not p.on_request or p.name in also]
    for venv in sorted({peer.venv for peer in selected if peer.requirements}):
        names = sorted({name for p in selected if p.venv == venv for name in p.requirements})
        _python_peers(venv, names, say)
    peers = load()  # again: the commands name the environment that is there now
    ready_count = 0
    for peer in peers.values():
        if peer.name in {p.name for p in selected}:
            build(peer, say)
        reason = peer.missing()
        ready_count += reason is None
        say(f"{peer.name}: MISSING: {reason}" if reason else f"{peer.name}: {peer.version_text()}")
    say(f"{ready_count} of {len(peers)} peers are ready")
    return ready_count


def build(peer: Peer, say: Callable[[str], None] = print) -> bool:
    """Run the build commands of one peer; tell whether all succeeded."""
    for unmet in peer.unmet_needs():
        say(f"{peer.name}: {unmet}")
    return all(_done(command, peer.folder, say) for command in peer.build)


def _python_peers(venv: Path, requirements: list[str], say: Callable[[str], None]) -> None:
    """Make a virtual environment; install one by one what cannot be installed together."""
    python = venv / "bin" / "python"
    if not python.exists():
        say(f"making {venv}")
        if not _done((sys.executable, "-m", "venv", str(venv)), BUILD, say):
            return
    install = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if requirements and not _done((*install, *requirements), BUILD, lambda line: None):
        for name in requirements:
            _done((*install, name), BUILD, say)


def _done(command: tuple[str, ...], folder: object, say: Callable[[str], None]) -> bool:
    try:
        process = subprocess.run(
            command, cwd=str(folder), capture_output=True, text=True, check=False
        )
    except OSError as error:
        say(f"{command[0]}: {error.strerror}")
        return False
    if process.returncode != 0:
        say(f"{' '.join(command)}\n{(process.stderr or process.stdout).strip()}")
    return process.returncode == 0
