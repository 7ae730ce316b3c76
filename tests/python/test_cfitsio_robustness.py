"""Changed files, forks, threads and two CFITSIOs: the same as without the interposing library.

`tests/cfitsio/robust.c` has the cases. With TACHYFITS_CFITSIO_FULL valgrind checks them too.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import cfitsiofiles
from cfitsioprograms import (
    FULL,
    MODES,
    PRELOADED,
    SOURCES,
    compiled,
    environment,
    flags_of_cfitsio,
    left_out,
    library,
    need,
)
from realfiles import trap

pytestmark = pytest.mark.once

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]

IMAGES = ["sky.fits", "second.fits", "scaled.fits", "unsigned.fits"]
EVERYTHING = [
    *IMAGES,
    "table.fits[1]",
    "cube.fits",
    "sky.fits.fz[1]",
    "scaled.fits.fz[1]",
    "holes.fits",
]

#: Cases of robust.c, and the files that they read.
CASES = {
    "threads": EVERYTHING,
    "fork": EVERYTHING,
    "opens": EVERYTHING,
    "no-descriptors": EVERYTHING,
    "replaced": IMAGES,
    "overwritten": IMAGES,
    "truncated": IMAGES,
    "removed": IMAGES,
    "folder": IMAGES,
    "unflushed": IMAGES,
    "created": IMAGES,
    "reused": EVERYTHING,
    "descriptors-closed": IMAGES,
    "descriptors-taken": IMAGES,
    "little-memory": IMAGES,
}

#: Cases that valgrind can run in reasonable time.
CHECKED = ["fork", "replaced", "truncated", "removed", "folder", "unflushed", "created"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("fpack")
    folder = tmp_path_factory.mktemp("files")
    cfitsiofiles.program_files(folder)
    return folder


@pytest.fixture(scope="module")
def robust(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    return compiled(SOURCES / "robust.c", folder, *WARNINGS, "-pthread")


def lines(
    command: list[str], folder: Path, mode: str, report: Path | None = None, timeout: float = 300
) -> list[str]:
    """Run a command in a new folder; return its lines and the exit status."""
    folder.mkdir()
    answer = subprocess.run(
        command,
        cwd=folder,
        env=environment(mode, report),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return [*answer.stdout.splitlines(), f"exit status {answer.returncode}"]


@pytest.mark.parametrize("case", CASES)
def test_case_reads_as_cfitsio(case: str, robust: Path, files: Path, tmp_path: Path) -> None:
    library()
    command = [str(robust), case, *(str(files / name) for name in CASES[case])]
    expected = lines(command, tmp_path / "plain", "plain")
    assert expected[-1] == "exit status 0", expected[-3:]
    assert len(expected) > 1
    for mode in PRELOADED:
        report = tmp_path / f"{mode}.report"
        assert lines(command, tmp_path / mode, mode, report) == expected, mode
        text = report.read_text() if report.exists() else ""
        assert "DIFFER" not in text, text
        assert "a fault of tachyfits" not in text, text


def test_cases_are_served(robust: Path, files: Path, tmp_path: Path) -> None:
    """The library serves the reads around the changes, so the cases test it."""
    for case in ("threads", "fork", "replaced", "folder", "removed", "reused"):
        report = tmp_path / f"{case}.report"
        command = [str(robust), case, *(str(files / name) for name in CASES[case])]
        lines(command, tmp_path / case, "everything", report)
        assert re.search(r": [1-9]\d* calls served", report.read_text()), case


def test_two_cfitsios_in_a_process_keep_apart(files: Path, tmp_path: Path) -> None:
    """The second CFITSIO is a copy with another name; each plug-in must get its own functions."""
    library()
    need("cc", "gcc")
    compiled_with = ["-std=gnu11", "-Wall", "-Wextra", "-O1", "-fPIC", "-shared"]
    answer = subprocess.run(
        ["cc", "-print-file-name=libcfitsio.so"], capture_output=True, text=True
    )
    real = Path(answer.stdout.strip()).resolve()
    if not real.is_file():
        left_out("a shared CFITSIO")
    name = re.search(rb"libcfitsio\.so\.\d+\0", real.read_bytes())
    assert name is not None
    other_name = name[0].replace(b"cfitsio", b"cfitsiX")
    other = tmp_path / other_name.rstrip(b"\0").decode()
    other.write_bytes(real.read_bytes().replace(name[0], other_name))
    flags = [flag for flag in flags_of_cfitsio() if flag.startswith("-I")]
    plugins = [tmp_path / "one.so", tmp_path / "two.so"]
    for plugin, linked in zip(plugins, (real, other), strict=True):
        command = ["cc", *compiled_with, str(SOURCES / "reader.c"), "-o", str(plugin), *flags]
        subprocess.run([*command, str(linked), f"-Wl,-rpath,{linked.parent}"], check=True)
    program = tmp_path / "plugins"
    source = str(SOURCES / "plugins.c")
    subprocess.run(["cc", *WARNINGS, source, "-o", str(program), "-ldl"], check=True)
    paths = [str(files / name) for name in ("scaled.fits", "unsigned.fits")]
    command = [str(program), *map(str, plugins), *paths]
    expected = lines(command, tmp_path / "plain", "plain")
    assert expected[-1] == "exit status 0"
    assert len(expected) == 2 + 12 + 2 + 2 + 1
    for mode in PRELOADED:
        report = tmp_path / f"{mode}.report"
        assert lines(command, tmp_path / mode, mode, report) == expected, mode
        served = re.findall(r"ffgpvd: (\d+) calls served", report.read_text())
        assert sum(map(int, served)) >= 6, report.read_text()


def test_program_with_a_static_cfitsio_runs(files: Path, tmp_path: Path) -> None:
    """Its calls do not reach the library."""
    answer = subprocess.run(["cc", "-print-file-name=libcfitsio.a"], capture_output=True, text=True)
    archive = Path(answer.stdout.strip())
    library()
    if not archive.is_file():
        left_out("a static CFITSIO (libcfitsio.a)")
    # Its parts that read from the network are not called.
    rest = ["-Wl,--unresolved-symbols=ignore-all", "-lz", "-lm", "-pthread"]
    programs = []
    for number, flags in enumerate(([], ["-rdynamic"])):
        program = tmp_path / f"static{number}"
        words = [
            "cc",
            *WARNINGS,
            *flags,
            str(SOURCES / "robust.c"),
            "-o",
            str(program),
            str(archive),
        ]
        include = [flag for flag in flags_of_cfitsio() if flag.startswith("-I")]
        if subprocess.run([*words, *include, *rest], capture_output=True).returncode:
            left_out("the libraries of a static CFITSIO")
        programs.append(program)
    for program in programs:
        command = [str(program), "reused", str(files / "sky.fits"), str(files / "table.fits[1]")]
        expected = lines(command, tmp_path / f"{program.name}-plain", "plain")
        assert lines(command, tmp_path / f"{program.name}-on", "everything") == expected


def exported(path: Path) -> set[str]:
    command = ["nm", "-D", "--defined-only", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2].split("@")[0] for line in lines}


def test_library_exports_only_names_of_cfitsio() -> None:
    """Other names, of zlib or libdeflate, would replace those of the program."""
    need("nm", "readelf", "cc")
    command = ["cc", "-print-file-name=libcfitsio.so"]
    real = Path(subprocess.run(command, capture_output=True, text=True).stdout.strip())
    if not real.is_file():
        left_out("a shared CFITSIO")
    names = exported(library())
    assert len(names) > 140
    assert names <= exported(real), sorted(names - exported(real))[:20]
    command = ["readelf", "-d", str(library())]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "cfitsio.so" not in "".join(line for line in table.splitlines() if "NEEDED" in line)


def complaints(log: str) -> list[str]:
    """Return the errors of valgrind whose frames are in the library, without its own summary."""
    blocks = re.split(r"^==\d+== *$", log, flags=re.MULTILINE)
    return [
        block
        for block in blocks
        if "libtachyfits_cfitsio" in block
        and re.search(r"Invalid|uninitialised|definitely lost|overlap", block)
    ]


@pytest.mark.parametrize("case", CHECKED)
def test_valgrind_finds_no_error_in_the_library(
    case: str, robust: Path, files: Path, tmp_path: Path
) -> None:
    library()
    need("valgrind")
    if not FULL:
        left_out("valgrind (set TACHYFITS_CFITSIO_FULL)")
    log = tmp_path / "log"
    tool = ["valgrind", "--error-limit=no", f"--log-file={log}", "--leak-check=full"]
    command = [*tool, str(robust), case, *(str(files / name) for name in CASES[case][:3])]
    plain = [str(robust), case, *(str(files / name) for name in CASES[case][:3])]
    expected = lines(plain, tmp_path / "plain", "plain")
    assert lines(command, tmp_path / "checked", "everything") == expected
    text = log.read_text(errors="replace")
    assert "ERROR SUMMARY" in text
    assert not complaints(text), "\n".join(complaints(text)[:10])


@pytest.mark.parametrize(
    "name",
    [
        "i16_scaled_blank",
        "f32_special",
        "u16",
        "bt_scaled_byte",
        "bt_unsigned_null",
        "08-HCOMPRESS_1",
    ],
)
def test_valgrind_finds_no_error_in_reads_of_every_kind(name: str, tmp_path: Path) -> None:
    """The twin reads in every way; CFITSIO has errors of its own there."""
    library()
    need("valgrind")
    if not FULL:
        left_out("valgrind (set TACHYFITS_CFITSIO_FULL)")
    if name[0].isdigit():
        cfitsiofiles.all_files(tmp_path / "files")
        path = tmp_path / "files" / f"{name}.fits"
    else:
        path = trap(name)
    twin = compiled(SOURCES / "calls.c", tmp_path, *WARNINGS)
    log = tmp_path / "log"
    tool = ["valgrind", "--error-limit=no", f"--log-file={log}"]
    lines([*tool, str(twin), str(path), "1e5"], tmp_path / "folder", "everything", timeout=900)
    text = log.read_text(errors="replace")
    assert "ERROR SUMMARY" in text
    assert not complaints(text), "\n".join(complaints(text)[:10])


def test_complaints_are_those_about_the_library() -> None:
    log = (
        "==1== \n==1== Invalid read of size 8\n==1==    at 0x1: f (in /x/libtachyfits_cfitsio.so)\n"
        "==1== \n==1== Invalid read of size 4\n==1==    at 0x1: g (in /x/libcfitsio.so)\n==1== \n"
    )
    assert len(complaints(log)) == 1
    assert MODES["plain"] is None
    assert os.sep in str(SOURCES)
