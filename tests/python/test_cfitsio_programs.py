"""Programs that use CFITSIO, and its own suites, give the same results with the library preloaded.

Each command runs in a fresh copy of the files. Its output, exit status and files must be the same,
except dates, checksums and times.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bench import toml

import cfitsiofiles
from cfitsioprograms import (
    FULL,
    PRELOADED,
    SOURCES,
    Result,
    compiled,
    difference,
    environment,
    left_out,
    library,
    need,
    run,
)
from realfiles import SHARED, files_under, traps

pytestmark = pytest.mark.once

_TABLE = toml.load(SOURCES / "commands.toml")

#: Commands of each program.
COMMANDS: dict[str, list[str]] = _TABLE["programs"]

#: Commands on real files.
ON_REAL_FILES: list[str] = _TABLE["real"]["commands"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("fpack")
    folder = tmp_path_factory.mktemp("inputs")
    cfitsiofiles.program_files(folder)
    return folder


def compare(command: str, inputs: Path, tmp_path: Path, modes: list[str]) -> tuple[list[str], int]:
    """Run a command plain and in each mode: return differences and served calls."""
    folder = tmp_path / "folder"
    plain = run(command, inputs, folder, "plain")
    lines, served = [], 0
    for mode in modes:
        result = run(command, inputs, folder, mode)
        served += result.served
        found = difference(plain, result, mode)
        if found:
            second = run(command, inputs, folder, "plain")
            again = difference(plain, second, "plain again")
            if again:  # a program that differs from itself: Gnuastro's messages depend on the load
                found = difference(second, result, mode)
                found += [f"    {line}" for line in again] if found else []
        lines += found
    return lines, served


#: Programs that call CFITSIO's reading functions.
SERVED = frozenset(_TABLE["served"]["programs"])


@pytest.mark.parametrize("program", COMMANDS)
def test_program_gives_the_same_results(program: str, inputs: Path, tmp_path: Path) -> None:
    need(program)
    library()
    lines, served = [], 0
    modes = PRELOADED if FULL else ["on", "check"]
    for command in COMMANDS[program]:
        found, calls = compare(command, inputs, tmp_path, modes)
        lines += found
        served += calls
    assert not lines, "\n".join(lines)
    assert served or program not in SERVED, f"no call of {program} was served"


@pytest.mark.parametrize("command", ON_REAL_FILES)
def test_program_reads_real_files_alike(command: str, tmp_path: Path) -> None:
    need(command.split()[0])
    library()
    names = ("data/images", "data/cubes", "data/tables")
    files = [path for name in names for path in files_under(name) if path.stat().st_size < 3e6]
    files = [*files, *traps()] if FULL else [*files, *traps()][::4]
    lines = []
    for path in files:
        folder = tmp_path / "one"
        folder.mkdir()
        shutil.copy(path, folder / "copy.fits")
        modes = PRELOADED if FULL else ["everything"]
        lines += compare(command, folder, tmp_path, modes)[0]
        shutil.rmtree(folder)
    assert not lines, "\n".join(lines)


# ---- the suites of CFITSIO ----


@functools.cache
def cfitsio() -> Path:
    """Return the folder with CFITSIO's sources; skip the test without it."""
    named = os.environ.get("TACHYFITS_CFITSIO_SOURCE")
    if not named:
        left_out("CFITSIO's own programs (set TACHYFITS_CFITSIO_SOURCE to a folder of its sources)")
    folder = Path(str(named)).resolve()
    assert (folder / "testprog.c").is_file(), f"{folder} lacks testprog.c"
    return folder


#: Programs of CFITSIO's sources, the files that they need, and those that they must reproduce.
SUITES: dict[str, tuple[list[str], dict[str, str]]] = {
    "testprog.c": (["testprog.tpt"], {"output": "testprog.out", "testprog.fit": "testprog.std"}),
    "testf77.f": ([], {"output": "testf77.out", "testf77.fit": "testf77.std"}),
    "cookbook.c": ([], {}),
    "cookbook.f": ([], {}),
    "iter_a.c": (["iter_a.fit"], {}),
    "iter_a.f": (["iter_a.fit"], {}),
    "iter_b.c": (["iter_b.fit"], {}),
    "iter_b.f": (["iter_b.fit"], {}),
    "iter_c.c": (["iter_c.fit"], {}),
    "speed.c": ([], {}),
}


@pytest.mark.parametrize("name", SUITES)
def test_programs_of_cfitsio_pass(name: str, tmp_path: Path) -> None:
    source = cfitsio() / name
    library()
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    needed, expected = SUITES[name]
    for file in needed:
        shutil.copy(cfitsio() / file, inputs)
    fortran = ["-std=legacy"] if name.endswith(".f") else []
    compiler = "gfortran" if fortran else "cc"
    program = compiled(source, tmp_path, "-w", *fortran, f"-I{cfitsio()}", compiler=compiler)
    program.rename(inputs / "program")
    command = "./program > output"
    lines = []
    for mode in ["plain", *PRELOADED]:
        result = run(command, inputs, tmp_path / "folder", mode)
        if mode == "plain":
            plain = result
        for made, standard in expected.items():
            # Only files with dates are compared without them.
            content = (cfitsio() / standard).read_bytes()
            if result.raw[made] != content:
                lines.append(f"{mode}: {made} of {name} is not {standard}")
        if name == "speed.c":
            assert b"status = 0" in result.raw["output"], mode
            for copy in (plain, result):
                copy.names["output"] = re.sub(rb"[\s\d.]+", b" ", copy.names["output"])
                copy.files["output"] = str(hash(copy.names["output"]))
        lines += difference(plain, result, mode)
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("mode", ["plain", *PRELOADED])
def test_own_tests_of_fitsio_pass(mode: str, tmp_path: Path) -> None:
    """Python loads modules locally: the library must find the CFITSIO of the module."""
    library()
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    has_fitsio = python and subprocess.run(
        [python, "-c", "import fitsio.test"], capture_output=True
    )
    if not has_fitsio or has_fitsio.returncode:
        left_out("fitsio that uses the system's CFITSIO (python3-fitsio)")
    report = tmp_path / "report"
    answer = subprocess.run(
        [str(python), "-m", "unittest", "fitsio.test"],
        cwd=tmp_path, env=environment(mode, report), capture_output=True, text=True,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^Ran 6\d tests", answer.stderr, re.MULTILINE)
    if mode in ("everything", "check"):
        text = report.read_text()
        assert "calls served" in text
        assert "DIFFER" not in text, text


def test_pixels_of_fitsio_are_the_same(inputs: Path, tmp_path: Path) -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    library()
    if (
        not python
        or subprocess.run([python, "-c", "import fitsio"], capture_output=True).returncode
    ):
        left_out("fitsio that uses the system's CFITSIO (python3-fitsio)")
    script = (
        "import fitsio, glob, hashlib, sys\n"
        "for name in sorted(glob.glob('*.fits*')):\n"
        "    for hdu in fitsio.FITS(name):\n"
        "        if not hdu.has_data(): continue\n"
        "        data = hdu.read()\n"
        "        print(name, data.dtype, data.shape, hashlib.md5(data.tobytes()).hexdigest())\n"
        "        part = hdu[10:90:3, 5:50] if data.ndim == 2 else hdu[10:90]\n"
        "        print(name, part.dtype, part.shape, hashlib.md5(part.tobytes()).hexdigest())\n"
    )
    (inputs / "read.py").write_text(script)
    command = f"{python} -W ignore read.py"
    lines, served = compare(command, inputs, tmp_path, PRELOADED)
    assert not lines, "\n".join(lines)
    assert served


def test_healpix_reads_its_maps_alike(tmp_path: Path) -> None:
    library()
    need("pkg-config", "c++")
    command = ["pkg-config", "--cflags", "--libs", "healpix_cxx"]
    flags = subprocess.run(command, capture_output=True, text=True)
    if flags.returncode:
        left_out("HEALPix for C++ (libhealpix-cxx-dev)")
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    words = ["c++", "-O1", "-w", str(SOURCES / "healpix.cc"), "-o", str(inputs / "healpix")]
    subprocess.run([*words, *flags.stdout.split()], check=True)
    lines, served = compare("./healpix map.fits", inputs, tmp_path, PRELOADED)
    assert not lines, "\n".join(lines)
    assert served


def test_results_keep_what_they_compare() -> None:
    """A difference in status, output or files is described."""
    base = Result("c", 0, [b"a"], {"f": "1"}, "", {"f": b"xy"}, {})
    other = Result("c", 1, [b"b"], {"f": "2"}, "  ffgpv: 2 calls DIFFER\n", {"f": b"xz"}, {})
    lines = difference(base, other, "on")
    assert len(lines) == 4
    assert "byte 1" in lines[2]
    assert SHARED.name
