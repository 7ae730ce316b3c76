"""Files cut at every 100th byte, each byte of headers and rows flipped: no panic, no gigabytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, empty_primary, extension, primary
from realfiles import files_under, path_of, traps
from tablebytes import Made, big, binary_table

pytestmark = pytest.mark.once

#: A hang is a defect; a slow machine is not.
PATIENCE_SECONDS = 300


def damage(how: str, paths: list[Path], least: int) -> None:
    """Run the cases; at least ``least`` of them, so that an empty run cannot pass."""
    program = Path(__file__).with_name("damage.py")
    command = [sys.executable, str(program), how, *map(str, paths)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout[-4000:], done.stderr[-4000:])
    counted = re.search(r"(\d+) cases, 0 failures", done.stdout)
    assert counted
    assert int(counted[1]) >= least


#: Numbers with a null, text, bits, and arrays in the heap.
TABLE = [
    Made("N", "J", [big(np.int32(n)) for n in range(4)], None, cards={"TNULL": 2, "TUNIT": "mag"}),
    Made("MAG", "2E", [big(np.float32([n, -n])) for n in range(4)], None, cards={"TDIM": "(2,1)"}),
    Made("CLASS", "4A", [b"STAR", b"GAL ", b"\0\0\0\0", b"QSO\0"], None),
    Made("FLAGS", "11X", [b"\x80\x20"] * 4, None),
    Made("SEEN", "L", [b"T", b"F", b"\0", b"T"], None),
    Made("TIMES", "PD(2)", [big(np.int32([2, 16 * n])) for n in range(4)], None, heap=bytes(64)),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of every kind, made here: these tests need no folder beside the repository."""
    folder = tmp_path_factory.mktemp("made")
    cube = np.arange(4 * 5 * 6, dtype="i2").reshape(4, 5, 6)
    contents = {
        "cube": primary(cube, [*cube_cards(), ("BSCALE", 0.5), ("BZERO", 2.0), ("BLANK", 3)]),
        "float": primary(cube.astype("f8"), cube_cards()),
        "unsigned": primary(cube.astype("i4"), [("BZERO", 2147483648)]),
        "several": empty_primary() + extension(cube) + extension(cube.astype("f4")),
        "table": binary_table(TABLE),
        "unknown": empty_primary() + extension(cube, kind="FOREIGN ") + extension(cube),
    }
    for name, content in contents.items():
        (folder / f"{name}.fits").write_bytes(content)
    return sorted(folder.iterdir())


@pytest.mark.parametrize(("how", "least"), [("cut", 500), ("flip", 20_000)])
def test_made_files(how: str, least: int, made: list[Path]) -> None:
    damage(how, made, least)


@pytest.mark.parametrize(("how", "least"), [("cut", 4000), ("flip", 140_000)])
def test_edge_cases(how: str, least: int) -> None:
    damage(how, traps(), least)


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Thirty small images in tiles, of every codec and type, with NaN, zeros and fallback tiles."""
    folder = tmp_path_factory.mktemp("compressed")
    noise = np.random.default_rng(5).normal(100, 8, (3, 11, 17))
    floats = noise.astype("f4")
    floats[0, 0, :5], floats[0, 1], floats[1, 2, 3:6] = np.nan, 7.5, 0.0
    doubles = noise.copy()
    doubles[2, 4, 5] = np.inf
    integers = {kind: noise.astype(kind) for kind in ("u1", "i2", "u2", "i4")}
    codecs = ("rice", "gzip", "gzip1", "hcompress", "plio", "none")
    files = {f"{codec}-{kind}": (p, codec) for codec in codecs for kind, p in integers.items()}
    for dither in (None, 1, 2):
        how = tf.Compression("rice", tile="row", dither=dither)
        files[f"rice-f4-{dither}"] = (floats, how)
    files["gzip-f4"] = (floats, tf.Compression("gzip", quantise=None))
    files["gzip1-f8"] = (doubles, tf.Compression("gzip1", tile=(1, 4, 9)))
    files["hcompress-f4"] = (noise.astype("f4"), "hcompress")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # floats are rounded
        for name, (pixels, how) in files.items():
            tf.write(folder / f"{name}.fits", pixels, compress=how)
    return sorted(folder.iterdir())


def test_compressed_images(compressed: list[Path]) -> None:
    """`python tests/python/damage.py tiles FILE...` damages every byte, which takes minutes."""
    assert len(compressed) == 30
    damage("tiles:3", compressed, 30_000)


def test_real_files_cut_short() -> None:
    small = [path for path in files_under("data") if path.stat().st_size < 500_000]
    damage("cut", small, 5000)


def test_real_headers_flipped() -> None:
    names = ("cubes/manyaxes.fits", "images/blankset16.fits", "cubes/ngc6946.fits")
    damage("flip", [path_of(f"data/{name}") for name in names], 20_000)
