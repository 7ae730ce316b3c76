"""The library that comes before CFITSIO: small reads, its command, its installation, its names.

`test_cfitsio_acceptance.py` compares its answers with those of CFITSIO.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from cfitsioprograms import ROOT, SOURCES, compiled, environment, library, need

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64",
        reason="the library is for Linux on x86-64",
    ),
]

NAME = "libtachyfits_cfitsio.so"


def test_small_reads_are_forwarded(tmp_path: Path) -> None:
    program, report = compiled(SOURCES / "calls.c", tmp_path, "-std=gnu11"), tmp_path / "report.txt"
    fits.PrimaryHDU(np.ones((30, 40), "f4")).writeto(tmp_path / "small.fits")
    command = [str(program), str(tmp_path / "small.fits"), "1e5"]
    subprocess.run(command, env=environment("on", report), stdout=subprocess.DEVNULL, check=True)
    assert " served, 0 bytes" in report.read_text()
    assert not re.search(r": [1-9]\d* calls served", report.read_text())


def test_program_of_the_guide_runs(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "faster-cfitsio-programs.md").read_text(encoding="utf-8")
    (tmp_path / "sum.c").write_text(re.findall(r"```c\n(.*?)```", guide, re.DOTALL)[0])
    program = compiled(tmp_path / "sum.c", tmp_path)
    pixels = np.ones((300, 400), "f4")
    pixels[5, 6] = np.nan
    image, report = tmp_path / "image.fits", tmp_path / "report.txt"
    fits.PrimaryHDU(pixels).writeto(image)
    expected = "120000 pixels, sum 119998, nulls: yes\n"
    plain = subprocess.run([program, image], capture_output=True, text=True, check=True)
    assert plain.stdout == expected
    command = [sys.executable, "-m", "tachyfits", "preload", "--library", library(), "--report",
               "report.txt", "--threads", "2", program, image]  # fmt: skip
    found = subprocess.run(
        [str(word) for word in command], cwd=tmp_path, capture_output=True, text=True
    )
    assert (found.returncode, found.stdout) == (0, expected), found.stderr
    assert "ffgpv: 1 calls served, 480000 bytes" in report.read_text()


def test_preload_finds_the_library_or_says_how_to_install_it(tmp_path: Path) -> None:
    def preload(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tachyfits", "preload", *words]
        values = {**environment("plain"), **variables}
        return subprocess.run(command, capture_output=True, text=True, env=values)

    none = preload("true", TACHYFITS_CFITSIO_LIBRARY=str(tmp_path / "none.so"))
    assert none.returncode == 2
    assert "found no file" in none.stderr
    empty = tmp_path / NAME
    empty.touch()
    shown = preload(
        "sh", "-c", 'echo "$LD_PRELOAD $TACHYFITS_CFITSIO $TACHYFITS_CFITSIO_LEAST"; exit 3',
        TACHYFITS_CFITSIO_LIBRARY=str(empty), LD_PRELOAD=f"/elsewhere/{NAME}",
    )  # fmt: skip
    assert shown.returncode == 3
    assert shown.stdout == f"{empty} on \n"
    program = preload("no-such-program", TACHYFITS_CFITSIO_LIBRARY=str(empty))
    assert program.returncode == 2
    assert "no-such-program" in program.stderr


def test_library_exports_the_names_of_the_list() -> None:
    need("nm", "readelf")
    command = ["nm", "-D", "--defined-only", str(library())]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = sorted(line.split()[-1] for line in listed.splitlines())
    assert names == (SOURCES / "symbols.txt").read_text().split()
    needed = subprocess.run(
        ["readelf", "-d", str(library())], capture_output=True, text=True, check=True
    ).stdout
    assert "cfitsio" not in needed.replace(NAME, "")
