"""The library that comes before CFITSIO: its answers beside CFITSIO's own, and its installation."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64",
        reason="the library is for Linux on x86-64",
    ),
]

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "cfitsio"
NAME = "libtachyfits_cfitsio.so"


def environment(**more: str) -> dict[str, str]:
    """Return the environment with cargo, and more variables."""
    path = os.pathsep.join([os.environ["PATH"], str(Path.home() / ".cargo" / "bin")])
    return {**os.environ, "PATH": path, **more}


@pytest.fixture(scope="module")
def library() -> Path:
    """Build the library, unless a variable names one; return its path."""
    named = os.environ.get("TACHYFITS_CFITSIO_LIBRARY")
    if named is not None:
        return Path(named).resolve()
    command = ["cargo", "build", "--release", "--quiet", "-p", "tachyfits-cfitsio"]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release" / NAME


def compiled(source: Path, folder: Path) -> Path:
    """Compile a program against CFITSIO; return its path."""
    program = folder / source.stem
    if shutil.which("cc") is None:
        pytest.skip("COMPARISONS LEFT OUT: no C compiler")
    command = ["cc", "-O1", str(source), "-o", str(program), "-lcfitsio"]
    found = subprocess.run(command, capture_output=True, text=True)
    if "fitsio.h: No such file" in found.stderr or "cannot find -lcfitsio" in found.stderr:
        pytest.skip("COMPARISONS LEFT OUT: libcfitsio")
    assert found.returncode == 0, found.stderr
    return program


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write images of all types, compressed ones, and tables."""
    folder = tmp_path_factory.mktemp("files")
    random = np.random.default_rng(5)
    singles = random.normal(100, 30, (90, 70)).astype("f4")
    doubles = singles.astype("f8") * 1e3
    tiny = np.float32(1e-41)
    special = singles.copy()
    special.flat[:9] = [np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny, 3e38, 7]
    integers = random.integers(-32768, 32767, (3, 40, 50), "i2")
    integers.flat[::7] = 7
    images = {
        "f4": special, "f8": np.where(np.isnan(special), np.nan, doubles),
        "i2": integers, "u2": integers.astype("i4").clip(0).astype("u2"),
        "i4": integers.astype("i4") * 60000, "i8": integers.astype("i8") << 30,
        "u1": integers.astype("u1"),
    }  # fmt: skip
    for name, pixels in images.items():
        fits.PrimaryHDU(pixels).writeto(folder / f"{name}.fits")
    scaled = fits.PrimaryHDU(integers)
    scaled.writeto(folder / "scaled.fits")
    for card in (("BSCALE", 0.5), ("BZERO", 100.0), ("BLANK", 7)):
        fits.setval(folder / "scaled.fits", card[0], value=card[1])
    tiles = {
        "RICE_1": integers, "GZIP_1": integers.astype("i4"), "GZIP_2": integers.astype("u1"),
        "HCOMPRESS_1": singles, "PLIO_1": integers.clip(0),
    }  # fmt: skip
    for name, pixels in tiles.items():
        hdu = fits.CompImageHDU(pixels, compression_type=name)
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(folder / f"{name}.fits")
    quantised = fits.CompImageHDU(special, compression_type="RICE_1", quantize_level=8)
    plain = fits.CompImageHDU(singles, compression_type="RICE_1", quantize_method=1)
    fits.HDUList([fits.PrimaryHDU(), quantised, plain]).writeto(folder / "quantised.fits")
    rows = 300
    columns = [
        fits.Column("A", "E", array=special.flat[:rows]),
        fits.Column("B", "3I", array=integers.flat[: 3 * rows].reshape(rows, 3), null=7),
        fits.Column("C", "D", array=doubles.flat[:rows]),
        fits.Column("D", "J", array=integers.flat[:rows]),
        fits.Column("E", "8A", array=["text"] * rows),
        fits.Column("F", "2C", array=np.ones((rows, 2), "c8")),
        fits.Column("G", "K", array=np.arange(rows) << 40),
        fits.Column("H", "L", array=np.arange(rows) % 2 == 0),
        fits.Column(
            "I", "PE()", array=np.array([np.ones(n % 3, "f4") for n in range(rows)], object)
        ),
        fits.Column("J", "B", array=np.arange(rows, dtype="u1")),
    ]
    table = fits.BinTableHDU.from_columns(columns)
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(folder / "table.fits")
    fits.setval(folder / "table.fits", "TSCAL4", value=0.1, ext=1)
    fits.setval(folder / "table.fits", "TZERO4", value=3.0, ext=1)
    return sorted(folder.glob("*.fits"))


def output(program: Path, *words: object, library: Path | None = None, **variables: str) -> str:
    """Return what a program prints, with the library before CFITSIO."""
    preload = {} if library is None else {"LD_PRELOAD": str(library)}
    found = subprocess.run(
        [str(program), *map(str, words)],
        env=environment(**preload, **variables),
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


def test_library_gives_the_bits_of_cfitsio(
    library: Path, files: list[Path], tmp_path: Path
) -> None:
    program, report = compiled(PROGRAMS / "twin.c", tmp_path), tmp_path / "report.txt"
    for path in files:
        expected = output(program, path).splitlines()
        served = output(
            program, path, library=library, TACHYFITS_CFITSIO_LEAST="0",
            TACHYFITS_CFITSIO_REPORT=str(report),
        ).splitlines()  # fmt: skip
        differ = [pair for pair in zip(expected, served, strict=True) if pair[0] != pair[1]]
        assert not differ, f"{path.name}: {differ[:3]}"
    calls = dict.fromkeys(re.findall(r"(\w+): [1-9]\d* calls served", report.read_text()))
    assert {"ffgpv", "ffgpf", "ffgpve", "ffgpxv", "ffgsv", "ffgsve", "ffg2de", "ffg3dd", "ffgcv",
            "ffgcfd"} <= set(calls)  # fmt: skip


def test_mode_check_finds_no_difference(library: Path, files: list[Path], tmp_path: Path) -> None:
    program, report = compiled(PROGRAMS / "twin.c", tmp_path), tmp_path / "report.txt"
    some = [path for path in files if path.stem in {"f4", "scaled", "RICE_1", "table"}]
    variables = {"TACHYFITS_CFITSIO": "check", "TACHYFITS_CFITSIO_LEAST": "0",
                 "TACHYFITS_CFITSIO_REPORT": str(report)}  # fmt: skip
    found = output(program, *some, library=library, **variables)
    assert found == output(program, *some)
    assert "calls served" in report.read_text()
    assert "DIFFER" not in report.read_text()


def test_small_reads_and_mode_off_are_forwarded(
    library: Path, files: list[Path], tmp_path: Path
) -> None:
    program, report = compiled(PROGRAMS / "twin.c", tmp_path), tmp_path / "report.txt"
    output(program, files[0], library=library, TACHYFITS_CFITSIO_REPORT=str(report))
    assert " served, 0 bytes" in report.read_text()
    assert not re.search(r": [1-9]\d* calls served", report.read_text())
    report.unlink()
    output(program, files[0], library=library, TACHYFITS_CFITSIO="off",
           TACHYFITS_CFITSIO_LEAST="0", TACHYFITS_CFITSIO_REPORT=str(report))  # fmt: skip
    assert not report.exists()


def test_program_of_the_guide_runs(library: Path, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "faster-cfitsio-programs.md").read_text(encoding="utf-8")
    (tmp_path / "sum.c").write_text(re.findall(r"```c\n(.*?)```", guide, re.DOTALL)[0])
    program = compiled(tmp_path / "sum.c", tmp_path)
    pixels = np.ones((300, 400), "f4")
    pixels[5, 6] = np.nan
    image, report = tmp_path / "image.fits", tmp_path / "report.txt"
    fits.PrimaryHDU(pixels).writeto(image)
    expected = "120000 pixels, sum 119998, nulls: yes\n"
    assert output(program, image) == expected
    command = [sys.executable, "-m", "tachyfits", "preload", "--library", library, "--report",
               "report.txt", "--threads", "2", program, image]  # fmt: skip
    found = subprocess.run(
        [str(word) for word in command], cwd=tmp_path, capture_output=True, text=True
    )
    assert (found.returncode, found.stdout) == (0, expected), found.stderr
    assert "ffgpv: 1 calls served, 480000 bytes" in report.read_text()


def test_preload_finds_the_library_or_says_how_to_install_it(tmp_path: Path) -> None:
    def preload(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tachyfits", "preload", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment(**variables))

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


def test_library_exports_the_names_of_the_list(library: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("COMPARISONS LEFT OUT: nm")
    command = ["nm", "-D", "--defined-only", str(library)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = sorted(line.split()[-1] for line in listed.splitlines())
    assert names == (PROGRAMS / "symbols.txt").read_text().split()
    needed = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout
    assert "cfitsio" not in needed.replace(NAME, "")
