"""Programs in C and C++ that use the library as users do: build it, compile them, run them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from nativeprograms import ROOT, environment, require, run

CRATE = ROOT / "crates" / "tachyfits-capi"
INCLUDE = CRATE / "include"
PROGRAMS = ROOT / "tests" / "capi"
EXAMPLES = ROOT / "examples" / "cpp"

#: Warnings that headers of a library must not give.
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


@functools.cache
def library() -> Path:
    """Build the library with the function that panics; return its folder."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "tachyfits-capi"]
    subprocess.run(
        [*command, "--features", "remote,test-panic"], cwd=ROOT, env=environment(), check=True
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = Path(tempfile.mkdtemp(prefix="tachyfits-capi-"))
    shutil.copy(target / "release" / "libtachyfits_c.so", folder)
    return folder


def compiled(source: Path, folder: Path, compiler: str, *flags: str) -> Path:
    """Compile a program against the library without a warning; return its path."""
    require(compiler)
    program = folder / source.stem
    linked = [f"-L{library()}", f"-Wl,-rpath,{library()}", "-ltachyfits_c", "-pthread"]
    words = [compiler, *flags, *STRICT, f"-I{INCLUDE}", source, "-o", program, *linked]
    run(*words)
    return program
