"""Memory of tiles: claims are compared with the bytes there are, and no allocation aborts."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is of Linux")

#: Runs the words after it in little memory, and prints the kind of error and the peak in MB.
_LIMITED = """
import resource, sys
import numpy as np
import tachyfits as tf
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    exec(sys.argv[2])
    said = "done"
except tf.TachyfitsError as error:
    said = f"{type(error).__name__} {error.code}"
# Not ru_maxrss, which counts the process that started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(said, int(peak.split()[1]) // 1024)
"""


def limited(megabytes: int, code: str) -> tuple[str, int]:
    """Run code in an address space of a size; return what it said, and its peak of memory in MB."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(megabytes), code],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    said, _, peak = done.stdout.strip().rpartition(" ")
    return said, int(peak)


def block(**cards: Any) -> bytes:
    """Return the blocks of a header."""

    def record(keyword: str, value: Any) -> str:
        if isinstance(value, bool):
            value = "T" if value else "F"
        text = f"'{value:8}'" if isinstance(value, str) and len(value) > 1 else f"{value:>20}"
        return f"{keyword:8}= {text}".ljust(80)

    text = "".join(record(*card) for card in cards.items()) + "END".ljust(80)
    return text.ljust(-(-len(text) // 2880) * 2880).encode()


def padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // 2880) * 2880, b"\0")


PRIMARY = block(SIMPLE=True, BITPIX=8, NAXIS=0)


def table(rows: int, row_bytes: int, heap: int, **columns: str) -> dict[str, Any]:
    """Return the cards of a binary table."""
    return {
        "XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": row_bytes, "NAXIS2": rows,
        "PCOUNT": heap, "GCOUNT": 1, "TFIELDS": len(columns) // 2, **columns,
    }  # fmt: skip


def claim(path: Path, codec: str, bitpix: int, size: int, stream: bytes) -> None:
    """Write an image of one tile of size x size pixels with a stream."""
    form = {"TTYPE1": "COMPRESSED_DATA", "TFORM1": f"1PB({len(stream)})"}
    header = table(1, 8, len(stream), **form) | {
        "ZIMAGE": True, "ZBITPIX": bitpix, "ZNAXIS": 2, "ZNAXIS1": size, "ZNAXIS2": size,
        "ZTILE1": size, "ZTILE2": size, "ZCMPTYPE": codec,
    }  # fmt: skip
    data = struct.pack(">ii", len(stream), 0) + stream
    path.write_bytes(PRIMARY + block(**header) + padded(data))


def hcompress(size: int, planes: int, rest: int = 200) -> bytes:
    sizes = struct.pack(">iii", size, size, 0)
    return b"\xdd\x99" + sizes + bytes(8) + bytes([planes] * 3) + bytes(rest)


@pytest.mark.parametrize("codec", ["HCOMPRESS_1", "RICE_1", "GZIP_1", "GZIP_2", "PLIO_1"])
@pytest.mark.parametrize("bitpix", [16, 32])
def test_a_claim_beyond_the_bytes_of_a_stream_takes_no_memory(
    codec: str, bitpix: int, tmp_path: Path
) -> None:
    path, size = tmp_path / "claim.fits", 32768
    streams = {
        "HCOMPRESS_1": hcompress(size, 3),
        "RICE_1": bytes(300),
        "GZIP_1": gzip.compress(bytes(3000)),
        "GZIP_2": gzip.compress(bytes(3000)),
        "PLIO_1": struct.pack(">7h", 0, 7, -100, 107, 0, 0, 0) + b"\x4f\xff" * 100,
    }
    claim(path, codec, bitpix, size, streams[codec])
    for code in ("stats()", "__getitem__((0, 0))"):
        said, peak = limited(3000, f"tf.open({str(path)!r}, threads=1)[1].{code}")
        assert said == "FormatError tile-stream", code
        assert peak < 300


def test_a_large_tile_of_one_value_comes_back(tmp_path: Path) -> None:
    pixels = np.full((4200, 4100), 7, "i2")
    for codec in ("hcompress", "plio", "rice", "gzip"):
        how = tf.Compression(codec, tile="whole")
        tf.write(tmp_path / "t.fits", pixels, compress=how, overwrite=True)
        found = tf.open(tmp_path / "t.fits")[1]
        assert found.min() == found.max() == 7, codec
        assert (tmp_path / "t.fits").stat().st_size < 1 << 20


@pytest.mark.parametrize("codec", ["rice", "gzip", "gzip1", "hcompress", "plio", "none"])
@pytest.mark.parametrize("kind", ["i4", "f4"])
def test_too_little_memory_is_an_error_for_each_codec(
    codec: str, kind: str, tmp_path: Path
) -> None:
    if codec == "plio" and kind == "f4":
        return  # no floats
    bitpix, size = (32 if kind == "i4" else -32), 8192
    path = tmp_path / "x.fits"
    with path.open("wb") as file:  # a sparse file of 256 MiB
        file.write(block(SIMPLE=True, BITPIX=bitpix, NAXIS=2, NAXIS1=size, NAXIS2=size))
        file.truncate(2880 + -(-size * size * 4 // 2880) * 2880)
    how = f"overwrite=True, compress=tf.Compression({codec!r}, tile='whole')"
    for megabytes in (450, 900):
        code = f"tf.open({str(path)!r}, threads=2)[0].write({f'{path}.fz'!r}, {how})"
        said, _ = limited(megabytes, code)
        assert said == "done" or said.startswith("LimitError"), megabytes


@pytest.mark.parametrize("codec", ["GZIP_1", "GZIP_2", "HCOMPRESS_1"])
def test_too_little_memory_is_an_error_when_tiles_are_read(codec: str, tmp_path: Path) -> None:
    path, size = tmp_path / "x.fits", 8192
    zeros = gzip.compress(bytes(size * size * 2), 9)
    claim(path, codec, 16, size, hcompress(size, 0, 70_000) if codec == "HCOMPRESS_1" else zeros)
    for megabytes in (350, 500, 700):
        said, _ = limited(megabytes, f"tf.open({str(path)!r}, threads=2)[1].stats()")
        assert said == "done" or said.startswith("LimitError"), megabytes


def test_too_little_memory_is_an_error_for_tables(tmp_path: Path) -> None:
    rows, path = 10_000_000, tmp_path / "t.fits"
    columns = {"TTYPE1": "A", "TFORM1": "1D", "TTYPE2": "B", "TFORM2": "2J"}
    with path.open("wb") as file:  # a sparse table of 160 MB
        file.write(PRIMARY + block(**table(rows, 16, 0, **columns)))
        file.truncate(5760 + -(-rows * 16 // 2880) * 2880)
    how = f"overwrite=True, compress=tf.Compression(tables=True, table_rows={rows})"
    for megabytes in (400, 600, 800):
        code = f"tf.write({f'{path}.fz'!r}, list(tf.open({str(path)!r}, threads=2)), {how})"
        said, _ = limited(megabytes, code)
        assert said == "done" or said.startswith("LimitError"), megabytes
