"""Helpers of tests of programs in C, C++ and Fortran: the installed library, compilers, runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "fortran" / "src" / "tachyfits.f90"


def environment() -> dict[str, str]:
    """Return the environment with cargo in the path."""
    path = os.pathsep.join([os.environ["PATH"], str(Path.home() / ".cargo" / "bin")])
    return {**os.environ, "PATH": path}


def install(prefix: Path) -> Path:
    """Build the library and install it, as `make capi PREFIX=…` does."""
    command = [sys.executable, str(ROOT / "tools" / "install_capi.py"), str(prefix)]
    subprocess.run(command, env=environment(), check=True, stdout=subprocess.DEVNULL)
    return prefix


def run(*command: object, cwd: Path | None = None, environ: Mapping[str, str] | None = None) -> str:
    """Run a command; return what it prints. A failure shows its output."""
    words = [str(word) for word in command]
    variables = {**environment(), **(environ or {})}
    result = subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True)
    assert result.returncode == 0, f"{words}\n{result.stdout}{result.stderr}"
    return result.stdout


def require(*programs: str) -> str:
    """Return the first of these programs that is installed; skip the test by name without any."""
    for program in programs:
        if shutil.which(program):
            return program
    pytest.skip(f"COMPARISONS LEFT OUT: {programs[0]}")


def fortran_compilers() -> dict[str, tuple[str, ...]]:
    """Name the Fortran compilers of the tests, each with the programs that are tried."""
    flang = ("flang", "flang-new", *(f"flang-new-{version}" for version in range(22, 17, -1)))
    return {"gfortran": ("gfortran",), "flang": flang}


def link(prefix: Path) -> list[str]:
    """Return the words that link a program with an installed library."""
    return [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-ltachyfits"]


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the blocks of code of a page: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def run_guide(page: Path, prefix: Path, folder: Path) -> dict[str, str]:
    """Compile and run the programs of a guide by its own command lines; return what each prints.

    The commands after a program name its file. `make capi` ran before: target/capi is the prefix.
    """
    (folder / "target").mkdir()
    (folder / "target" / "capi").symlink_to(prefix)
    endings = {"c": "c", "cpp": "cpp", "fortran": "f90"}
    program, script, output = None, "set -e\n", {}
    for language, text in blocks(page.read_text(encoding="utf-8")):
        if language in endings:
            program = (language, text)
        elif language == "sh" and program is not None:
            language, source = program
            names = re.findall(rf"(?<![\w/])[\w-]+\.{endings[language]}\b", text)
            (folder / names[-1]).write_text(source)
            script += text
            shell = ["sh", "-c", script]
            result = subprocess.run(shell, cwd=folder, capture_output=True, text=True)
            assert result.returncode == 0, script + result.stdout + result.stderr
            output[names[-1]] = result.stdout
            program = None
    return output
