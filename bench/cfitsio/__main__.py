"""Compare CFITSIO with and without the library before it: `python -m bench.cfitsio LIBRARY`.

Writes images and a table, reads them by a program in C in interleaved rounds, and prints the ratio
of processor times (one thread) and of wall times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from astropy.io import fits

HERE = Path(__file__).resolve().parent

#: A case of the program, and the file that it reads.
CASES = {
    "float": "f4", "float null": "f4", "float double": "f4", "i16": "scaled", "i16 null": "scaled",
    "u16": "u2", "u16 as float": "u2", "subset": "f4", "rows": "f4", "rice i16": "rice_i2",
    "rice float": "rice_f4", "column": "table",
}  # fmt: skip


def write_files(folder: Path, side: int) -> None:
    """Write the inputs: images of `side` squared pixels, and a table of as many bytes."""
    random = np.random.default_rng(2)
    floats = random.normal(1000, 30, (side, side)).astype("f4")
    integers = floats.astype("i2")
    fits.writeto(folder / "f4.fits", floats)
    fits.writeto(folder / "u2.fits", integers.astype("u2"))
    fits.writeto(folder / "scaled.fits", integers)
    for keyword, value in {"BSCALE": 0.5, "BZERO": 100.0, "BLANK": 1000}.items():
        fits.setval(folder / "scaled.fits", keyword, value=value)
    for name, options in {"rice_i2": ["i2"], "rice_f4": ["f4"]}.items():
        pixels = integers if options == ["i2"] else floats
        tiles = fits.CompImageHDU(pixels, compression_type="RICE_1")
        fits.HDUList([fits.PrimaryHDU(), tiles]).writeto(folder / f"{name}.fits")
    rows = side * side // 15
    names = [f"C{number}" for number in range(15)]
    table = np.zeros(rows, [(name, ">f4") for name in names])
    table["C0"] = np.arange(rows)
    fits.writeto(folder / "table.fits", table)


def times(program: Path, path: Path, case: str, rounds: int, **more: str) -> list[str]:
    """Run one process; return processor time, wall time and sum."""
    word = "u16" if case == "u16" else case.replace("u16", "unsigned")
    command = [str(program), str(path), word, str(rounds)]
    found = subprocess.run(
        command, env={**os.environ, **more}, check=True, capture_output=True, text=True
    )
    return found.stdout.split()


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "rounds"
        subprocess.run(
            ["cc", "-O2", str(HERE / "rounds.c"), "-o", program, "-lcfitsio"], check=True
        )
        write_files(folder, options.side)
        preload = {
            "LD_PRELOAD": str(options.library.resolve()), "TACHYFITS_THREADS": str(options.threads)
        }  # fmt: skip
        print(f"{'case':14} {'CFITSIO ms':>11} {'ours ms':>9} {'processor':>9} {'wall':>6}")
        for case, file in CASES.items():
            path = folder / f"{file}.fits"
            plain, ours = [], []
            for _ in range(options.processes):
                plain.append(times(program, path, case, options.rounds))
                ours.append(times(program, path, case, options.rounds, **preload))
            assert {sums[2] for sums in plain} == {sums[2] for sums in ours}, case
            best = [min(float(sample[0]) for sample in samples) for samples in (plain, ours)]
            pairs = list(zip(plain, ours, strict=True))
            ratios = [
                statistics.median(float(one[at]) / float(other[at]) for one, other in pairs)
                for at in (0, 1)
            ]
            print(f"{case:14} {best[0]:11.2f} {best[1]:9.2f} {ratios[0]:9.2f} {ratios[1]:6.2f}")


if __name__ == "__main__":
    main()
