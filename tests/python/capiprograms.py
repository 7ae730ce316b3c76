"""Programs in C and C++ that use the library as users do: build it, compile them, run them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "crates" / "tachyfits-capi"
INCLUDE = CRATE / "include"
PROGRAMS = ROOT / "tests" / "capi"
EXAMPLES = ROOT / "examples" / "cpp"

#: Warnings that headers of a library must not give.
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def environment() -> dict[str, str]:
    """Return the environment with cargo, without what changes the build of the module."""
    path = os.pathsep.join([os.environ["PATH"], str(Path.home() / ".cargo" / "bin")])
    return {**os.environ, "PATH": path}


@functools.cache
def library() -> Path:
    """Build the library with the function that panics; return its folder."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "tachyfits-capi"]
    subprocess.run([*command, "--features", "test-panic"], cwd=ROOT, env=environment(), check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = Path(tempfile.mkdtemp(prefix="tachyfits-capi-"))
    shutil.copy(target / "release" / "libtachyfits_c.so", folder)
    return folder


def compiled(source: Path, folder: Path, compiler: str, *flags: str) -> Path:
    """Compile a program against the library without a warning; return its path."""
    if shutil.which(compiler) is None:
        pytest.skip(f"COMPARISONS LEFT OUT: {compiler}")
    program = folder / source.stem
    linked = [f"-L{library()}", f"-Wl,-rpath,{library()}", "-ltachyfits_c", "-pthread"]
    words = [compiler, *flags, *STRICT, f"-I{INCLUDE}", source, "-o", program, *linked]
    found = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return program


def run(*command: object, environ: dict[str, str] | None = None) -> str:
    """Run a program that must succeed; return what it prints."""
    words = [str(word) for word in command]
    variables = {**os.environ, **(environ or {})}
    found = subprocess.run(words, capture_output=True, text=True, env=variables)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout
