"""Run programs that use CFITSIO, with and without the library that interposes it.

`TACHYFITS_CFITSIO_LIBRARY` names another build of the library. The summary of a test run names
programs and sources that are missing, as other comparisons that were left out.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "cfitsio"

#: Everything: all budgets, all files, valgrind. Without it, what a test run has time for.
FULL = bool(os.environ.get("TACHYFITS_CFITSIO_FULL"))

#: Environments: without the library, as users have it, for reads of every size, and compared by it.
MODES: dict[str, dict[str, str] | None] = {
    "plain": None,
    "on": {"TACHYFITS_CFITSIO": "on"},
    "everything": {"TACHYFITS_CFITSIO": "on", "TACHYFITS_CFITSIO_LEAST": "0"},
    "check": {"TACHYFITS_CFITSIO": "check", "TACHYFITS_CFITSIO_LEAST": "0"},
}

#: Modes that are compared with "plain".
PRELOADED = [mode for mode in MODES if mode != "plain"]


def left_out(what: str) -> None:
    """Skip a test; the summary of the run names what is missing."""
    pytest.skip(f"COMPARISONS LEFT OUT: {what}")


def need(*programs: str) -> None:
    """Skip a test without these programs."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        left_out(", ".join(missing))


@functools.cache
def library() -> Path:
    """Return the library, built if needed."""
    named = os.environ.get("TACHYFITS_CFITSIO_LIBRARY")
    if named:
        assert Path(named).is_file(), f"TACHYFITS_CFITSIO_LIBRARY: {named} is missing"
        return Path(named).resolve()
    if not (ROOT / "crates" / "tachyfits-cfitsio").is_dir():
        left_out("libtachyfits_cfitsio.so (set TACHYFITS_CFITSIO_LIBRARY)")
    command = ["cargo", "build", "--release", "--quiet", "-p", "tachyfits-cfitsio"]
    command += ["--features", "tachyfits/remote"]  # the engine that Python has, compiled once
    path = os.pathsep.join([os.environ["PATH"], str(Path.home() / ".cargo" / "bin")])
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "libtachyfits_cfitsio.so"


@functools.cache
def flags_of_cfitsio() -> list[str]:
    """Return the compiler's flags for CFITSIO; skip the test without its headers."""
    need("pkg-config", "cc")
    command = ["pkg-config", "--cflags", "--libs", "cfitsio"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        left_out("CFITSIO's headers (libcfitsio-dev)")
    return answer.stdout.split()


def compiled(source: Path, folder: Path, *flags: str, compiler: str = "cc") -> Path:
    """Compile a program with CFITSIO; return its path."""
    need(compiler)
    program = folder / source.stem
    command = [compiler, "-O1", "-g", str(source), "-o", str(program), *flags, *flags_of_cfitsio()]
    subprocess.run([*command, "-lm"], check=True, cwd=folder)
    return program


def environment(mode: str, report: Path | None = None, **more: str) -> dict[str, str]:
    """Return the environment of a mode; programs find no settings of the user's."""
    values = {**os.environ, "LC_ALL": "C", "TZ": "UTC", **more}
    for name in [name for name in values if name.startswith(("TACHYFITS_CFITSIO", "LD_PRELOAD"))]:
        del values[name]
    settings = MODES[mode]
    if settings is not None:
        values |= {**settings, "LD_PRELOAD": str(library())}
        if report is not None:
            values["TACHYFITS_CFITSIO_REPORT"] = str(report)
    return values


@dataclass
class Result:
    """Output, status, files and report of a command."""

    command: str
    code: int
    output: list[bytes]
    files: dict[str, str]
    report: str = ""
    names: dict[str, bytes] = field(default_factory=dict, repr=False)
    raw: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def served(self) -> int:
        """Number of calls that the library served."""
        return sum(int(number) for number in re.findall(r": (\d+) calls served", self.report))

    @property
    def reported(self) -> list[str]:
        """Lines about differences that the library found itself."""
        return re.findall(r"^.*(?:DIFFER|a fault of tachyfits).*$", self.report, re.MULTILINE)


#: Cards with dates, sums over dates, and versions of the program.
CHANGING = re.compile(rb"(?:DATE[-\w ]{4}|CHECKSUM|DATASUM |ZHECKSUM|ZDATASUM|COMMIT  )[^\0]{72}")
DATES = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?|\b\d\d:\d\d:\d\d\b|\d{4}-\d\d-\d\d"
    rb"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d (?:\d{4})?"
)
#: Times that programs print.
TIMES = re.compile(
    rb"(?i)[\d.]+ ?(?:m?s\b|sec(?:onds?)?\b|min\b)|time=[\d.]+|[\d.]+ (?:M[bB]/s|Kpix/s)"
)


def without_dates(content: bytes) -> bytes:
    """Remove what differs between two runs of one program."""
    if content.startswith((b"SIMPLE  =", b"XTENSION=")):
        content = CHANGING.sub(b" ", content)
    return DATES.sub(b"DATE", content)


def plain_lines(output: bytes, folder: Path) -> list[bytes]:
    """Return the lines of an output without dates, times, process numbers and the folder's name."""
    output = output.replace(str(folder).encode(), b"FOLDER")
    return TIMES.sub(b"TIME", DATES.sub(b"DATE", output)).splitlines()


def run(command: str, inputs: Path, folder: Path, mode: str, timeout: float = 300) -> Result:
    """Run a shell command in a copy of a folder; return its output and the files that it wrote."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(inputs, folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    report = folder.with_name(folder.name + ".report")
    report.unlink(missing_ok=True)
    answer = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment(mode, report),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
    )
    files, contents, raw = {}, {}, {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and before.get(path) != path.stat().st_mtime_ns:
            name = path.relative_to(folder).as_posix()
            raw[name] = path.read_bytes()
            content = without_dates(raw[name].replace(str(folder).encode(), b"FOLDER"))
            contents[name] = content
            files[name] = hashlib.sha256(content).hexdigest()
    text = report.read_text(errors="replace") if report.exists() else ""
    shutil.rmtree(folder)
    return Result(
        command, answer.returncode, plain_lines(answer.stdout, folder), files, text, contents, raw
    )


def first_difference(a: bytes, b: bytes) -> str:
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} bytes"
    at = next(i for i, (one, other) in enumerate(zip(a, b, strict=True)) if one != other)
    return f"byte {at}: {a[at : at + 24]!r} and {b[at : at + 24]!r}"


def difference(expected: Result, observed: Result, mode: str) -> list[str]:
    """Describe how two runs of a command differ."""
    where = f"{mode}: {expected.command}"
    lines = []
    if expected.code != observed.code:
        lines.append(f"{where}: exit status {expected.code} and {observed.code}")
    if expected.output != observed.output:
        pairs = zip(expected.output, observed.output, strict=False)
        pair = next((pair for pair in pairs if pair[0] != pair[1]), None)
        counts = f"{len(expected.output)} and {len(observed.output)} lines"
        lines.append(f"{where}: output: {counts}, first difference {pair}")
    for name in sorted(expected.files.keys() | observed.files.keys()):
        if expected.files.get(name) == observed.files.get(name):
            continue
        pair = (expected.names.get(name), observed.names.get(name))
        if pair[0] is None or pair[1] is None:
            lines.append(f"{where}: {name} is missing on one side")
        else:
            lines.append(f"{where}: {name} differs, {first_difference(*pair)}")
    lines += [f"{where}: {line.strip()}" for line in observed.reported]
    return lines
