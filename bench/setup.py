"""Setting up the peers: a virtual environment for the Python ones, compilers for the others.

Everything lands in bench/build, which git ignores. What cannot be set up is said with its remedy;
the rest is set up all the same.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from bench.peers import BUILD, VENV, Peer, load


def setup(say: Callable[[str], None] = print) -> int:
    """Prepare every peer; give the number of those that can run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    _python_peers(sorted({name for peer in load().values() for name in peer.requirements}), say)
    peers = load()  # again: the commands name the environment that is there now
    ready = 0
    for peer in peers.values():
        build(peer, say)
        reason = peer.missing()
        ready += reason is None
        say(f"{peer.name}: MISSING: {reason}" if reason else f"{peer.name}: {peer.version_text()}")
    say(f"{ready} of {len(peers)} peers are ready")
    return ready


def build(peer: Peer, say: Callable[[str], None] = print) -> bool:
    """Run the build commands of one peer; tell whether all succeeded."""
    for unmet in peer.unmet_needs():
        say(f"{peer.name}: {unmet}")
    return all(_done(command, peer.folder, say) for command in peer.build)


def _python_peers(requirements: list[str], say: Callable[[str], None]) -> None:
    """Make the virtual environment; install one by one what cannot be installed together."""
    python = VENV / "bin" / "python"
    if not python.exists():
        say(f"making {VENV}")
        if not _done((sys.executable, "-m", "venv", str(VENV)), BUILD, say):
            return
    install = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if requirements and not _done((*install, *requirements), BUILD, lambda line: None):
        for name in requirements:
            _done((*install, name), BUILD, say)


def _done(command: tuple[str, ...], folder: object, say: Callable[[str], None]) -> bool:
    try:
        done = subprocess.run(command, cwd=str(folder), capture_output=True, text=True, check=False)
    except OSError as error:
        say(f"{command[0]}: {error.strerror}")
        return False
    if done.returncode != 0:
        say(f"{' '.join(command)}\n{(done.stderr or done.stdout).strip()}")
    return done.returncode == 0
