"""Open and use files that claim far more than they have; run as a program, with the name of a kind.

It prints a line of JSON for each operation: its name, the code of its error, its seconds, and the
mebibytes by which the process grew.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import importlib
import json
import lzma
import os
import resource
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tachyfits as tf
from fitsbytes import header, pad
from tachyfits import fortran

#: Bytes that the address space may grow by while a file of kilobytes is used.
MEMORY = 1 << 30

PRIMARY = header([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0)])

STREAM = bytes(range(100))


def image(*axes: int, bitpix: int = -32, cards: Any = ()) -> bytes:
    """Return an image with one block of data, whatever its axes."""
    lengths = [(f"NAXIS{n}", length) for n, length in enumerate(axes, 1)]
    first = [("SIMPLE", True), ("BITPIX", bitpix), ("NAXIS", len(axes)), *lengths]
    return header([*first, *cards]) + bytes(2880)


def table(
    rows: int,
    row_bytes: int,
    forms: list[str],
    data: bytes = bytes(2880),
    pcount: int = 0,
    cards: Any = (),
    kind: str = "BINTABLE",
) -> bytes:
    """Return a table after an empty primary HDU."""
    columns = [pair for n, form in enumerate(forms, 1)
               for pair in ((f"TFORM{n}", form), (f"TTYPE{n}", f"C{n}"))]  # fmt: skip
    first = [("XTENSION", kind), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", row_bytes),
             ("NAXIS2", rows), ("PCOUNT", pcount), ("GCOUNT", 1),
             ("TFIELDS", len(forms))]  # fmt: skip
    return PRIMARY + header([*first, *columns, *cards]) + pad(data)


def tiles(codec: str, side: int, zbitpix: int = 32) -> bytes:
    """Return a compressed image of one tile whose stream is short."""
    unit = 2 if codec == "PLIO_1" else 1
    data = struct.pack(">ii", len(STREAM) // unit, 0) + STREAM
    cards = [("ZIMAGE", True), ("ZBITPIX", zbitpix), ("ZNAXIS", 2), ("ZNAXIS1", side),
             ("ZNAXIS2", side), ("ZTILE1", side), ("ZTILE2", side),
             ("ZCMPTYPE", codec)]  # fmt: skip
    form = "1PI(50)" if unit == 2 else "1PB(100)"
    made = table(1, 8, [form], data, len(STREAM), cards)
    return made.replace(b"'C1      '       ", b"'COMPRESSED_DATA'")


def slabs(rows: int) -> bytes:
    """Return a compressed table of one tile whose stream is short."""
    data = struct.pack(">qq", len(STREAM), 0) + STREAM
    cards = [("ZTABLE", True), ("ZNAXIS1", 8), ("ZNAXIS2", rows), ("ZPCOUNT", 0),
             ("ZTILELEN", rows), ("ZFORM1", "K"), ("ZCTYP1", "GZIP_1")]  # fmt: skip
    return table(1, 16, ["1QB(100)"], data, len(STREAM), cards)


GROUPS = [("GROUPS", True), ("PCOUNT", 1 << 20), ("GCOUNT", 1 << 20)]

KINDS: dict[str, Callable[[], bytes]] = {
    "image": lambda: image(1 << 25, 1 << 22),
    "long line": lambda: image(1 << 50),
    "cube": lambda: image(1 << 12, 1 << 12, 1 << 30, bitpix=16),
    "many axes": lambda: image(*[2] * 50),
    "zero axis": lambda: image(0, (1 << 63) - 1),
    "zero axis last": lambda: image(1 << 62, 1 << 62, 0),
    "groups": lambda: image(0, 1 << 20, cards=GROUPS),
    "rows": lambda: table(1 << 48, 8, ["K"]),
    "text rows": lambda: table(1 << 48, 8, ["I8"], b" " * 2880, 0, [("TBCOL1", 1)], "TABLE"),
    "long rows": lambda: table(2, 1 << 50, [f"{1 << 47}K"]),
    "no bytes in rows": lambda: table(1 << 50, 0, ["0K"]),
    "wide text": lambda: table(1, 1 << 40, [f"{1 << 40}A"]),
    "heap": lambda: table(1, 16, ["1QB"], struct.pack(">qq", 1 << 49, 0), 1 << 50),
    "arrays beyond": lambda: table(1, 16, ["1QD"], struct.pack(">qq", 1 << 58, 0), 64),
    "arrays that share": lambda: table(360, 8, ["1PB"], struct.pack(">ii", 2880, 0) * 360, 2880),
    **{codec: (lambda codec=codec: tiles(codec, 1 << 15)) for codec in
       ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "NOCOMPRESS")},
    "compressed table": lambda: slabs(1 << 13),
    "long compressed table": lambda: slabs(1 << 45),
    "gzip": lambda: gzip.compress(bytes(64 << 20)),
    "bzip2": lambda: bz2.compress(bytes(64 << 20)),
    "xz": lambda: lzma.compress(bytes(64 << 20), preset=0),
    "records": lambda: struct.pack("<i", (1 << 31) - 9) + bytes(100),
    "long records": lambda: struct.pack("<q", 1 << 60) + bytes(100),
}  # fmt: skip


def image_calls(im: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give operations on an image."""
    yield "read", lambda: im.read()
    yield "index", lambda: im[...]
    yield "stats", lambda: im.stats()
    yield "total", lambda: im.sum()
    yield "sum along x", lambda: im.sum(axis="x")
    yield "std along the last", lambda: im.std(axis=0)
    yield "median", lambda: im.median()
    yield "median along", lambda: im.median(axis=0)
    yield "histogram", lambda: im.histogram()
    yield "rms", lambda: im.robust_rms()
    yield "region", lambda: im.stats(tf.Circle(3, 3, 2))
    yield "mask", lambda: im.region_mask(tf.Circle(3, 3, 2))
    yield "spectrum", lambda: im.spectrum()
    yield "plane", lambda: im.plane()
    yield "moments", lambda: im.moments((0, 1))
    yield "sum of images", lambda: (im + 1).read()
    yield "expression", lambda: tf.evaluate("a * 2", a=im).write("out.fits", overwrite=True)
    yield "write", lambda: im.write("out.fits", overwrite=True)
    yield "compress", lambda: im.write("out.fits", compress="gzip", overwrite=True)
    yield (
        "cutout",
        lambda: im.cutout(section=(slice(None),) * im.ndim).write("out.fits", overwrite=True),
    )
    yield "rebin", lambda: im.rebin(x=2).write("out.fits", overwrite=True)
    yield (
        "reorder",
        lambda: im.reorder(tuple(reversed(range(im.ndim)))).write("out.fits", overwrite=True),
    )
    yield "smooth", lambda: im.smooth(2).write("out.fits", overwrite=True)
    yield "append", lambda: append(im)
    yield "file", lambda: tf.write("out.fits", [im, im], overwrite=True)
    yield "checksum", lambda: im.checksum()
    yield "part", lambda: im[(slice(0, 2),) * im.ndim].shape


def append(hdu: Any) -> None:
    """Append an HDU to a small file."""
    tf.write("small.fits", np.zeros((2, 2)), overwrite=True)
    with tf.edit("small.fits") as editor:
        editor.append(hdu)


def table_calls(rows: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give operations on a table."""
    yield "read", lambda: rows.read()
    yield "column", lambda: rows[rows.names[0]]
    yield "every second row", lambda: rows.read(rows=slice(None, None, 2))
    yield "last row", lambda: rows.read(rows=-1)
    yield "where", lambda: rows.read(where=f"{rows.names[0]} > 1")
    yield "batches", lambda: [*rows.batches()]
    yield "write", lambda: rows.write("out.fits", overwrite=True)
    yield "tf.write", lambda: tf.write("out.fits", rows, overwrite=True)
    yield "tf.write twice", lambda: tf.write("out.fits", [rows, rows], overwrite=True)
    yield "compress", lambda: tf.write("out.fits", rows, compress="gzip", overwrite=True)
    yield "csv", lambda: rows.write("out.csv", overwrite=True)
    yield "arrow", lambda: rows.to_arrow()
    yield "astropy", lambda: rows.to_astropy()
    yield "append", lambda: append(rows)
    yield "checksum", lambda: rows.checksum()


def file_calls(path: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give operations on a file."""
    yield "open", lambda: tf.open(path)
    yield "bytes", lambda: tf.open(Path(path).read_bytes())
    yield "verify", lambda: tf.verify(path)
    yield "diff", lambda: tf.diff(path, path)
    yield "update_checksums", lambda: tf.update_checksums(path)
    yield "repair", lambda: tf.repair(path)
    yield "records", lambda: fortran.open(path).read("f8")
    yield "convert", lambda: fortran.convert(path, "out.dat", overwrite=True)
    yield "damaged tiles as NaN", lambda: with_damage(path)
    try:
        file = tf.open(path)
    except tf.TachyfitsError:
        return
    for hdu in file:
        if isinstance(hdu, tf.Image):
            yield from image_calls(hdu)
        elif isinstance(hdu, tf.Table):
            yield from table_calls(hdu)
    del file


def with_damage(path: str) -> None:
    """Compute statistics of an image whose damaged tiles are undefined."""
    hdu = tf.open(path, damaged="nan")[-1]
    if isinstance(hdu, tf.Image):
        hdu.stats()


def peak() -> int:
    """Return the most memory that the process had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Use a file of a kind."""
    [kind] = sys.argv[1:]
    warnings.simplefilter("ignore")
    for module in ("astropy.table", "astropy.wcs", "pyarrow"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    Path("claim.fits").write_bytes(KINDS[kind]())
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for name, call in file_calls("claim.fits"):
        print(json.dumps({"call": name}), flush=True)
        before, begun = peak(), time.monotonic()
        where = ""
        try:
            call()
            code = ""
        except tf.TachyfitsError as error:
            code = error.code
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"[:200]
            where = "".join(traceback.format_exc()[-600:])
        line = {"name": name, "code": code, "seconds": time.monotonic() - begun,
                "grown": peak() - before, "where": where}  # fmt: skip
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
