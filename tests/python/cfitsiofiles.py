"""Small files for the acceptance of the library that interposes CFITSIO.

They have every BITPIX, scaling, BLANK, special floats, codec, TFORM, TNULL, TSCAL and TZERO, and a
few are large enough for several threads and blocks.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits

from fitsbytes import STORED, empty_primary, extension, header, pad, primary

Cards = Sequence[tuple[str, object]]

#: BZERO of unsigned integers, and of signed bytes.
UNSIGNED = {8: -128, 16: 2**15, 32: 2**31, 64: 2**63}

#: Floats that readers treat differently: NaN of two patterns, infinities, -0.0, subnormals, edges.
SPECIAL = {
    "f4": """7fc00000 ffc00001 7f800001 7f800000 ff800000 80000000 0 1 80000001 7fffff 800000
        7f7fffff ff7fffff 3f800000 4f000000 cf000001""",
    "f8": """7ff8000000000000 fff8000000000001 7ff0000000000001 7ff0000000000000 fff0000000000000
        8000000000000000 0 1 8000000000000001 fffffffffffff 10000000000000 7fefffffffffffff
        47efffffe0000000 3ff0000000000000 43e0000000000000 380fffffffffffff""",
}


def floats(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return random floats, one in nine of them special."""
    random = np.random.default_rng(7)
    values = random.normal(100, 5000, shape).astype(name)
    bits = np.array([int(word, 16) for word in SPECIAL[name].split()], f"u{name[1]}").view(name)
    values.ravel()[::9] = np.resize(bits, values.ravel()[::9].size)
    return values


def integers(bitpix: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return random integers of the whole range, with repeated 0, 3, -1 and extremes."""
    kind = np.dtype(STORED[bitpix])
    limits = np.iinfo(kind)
    random = np.random.default_rng(bitpix)
    values = random.integers(limits.min, limits.max, shape, kind, endpoint=True)
    small = [0, 3, 77, limits.max, limits.min, limits.min + 1]
    values.ravel()[::7] = np.resize(np.array(small, kind), values.ravel()[::7].size)
    return values


def pixels(bitpix: int, shape: tuple[int, ...]) -> np.ndarray:
    return integers(bitpix, shape) if bitpix > 0 else floats(STORED[bitpix], shape)


def images(folder: Path) -> Iterator[Path]:
    """Write plain images: each BITPIX with each kind of scaling, as HDUs of a file."""
    for bitpix in STORED:
        cards: list[Cards] = [
            [], [("BSCALE", 0.5), ("BZERO", 100.0)], [("BSCALE", -3.7e-3), ("BZERO", 1e9)],
            [("BSCALE", 2.0)], [("BZERO", 7.0)], [("BSCALE", 1e-40)], [("BSCALE", 1e300)],
        ]  # fmt: skip
        if bitpix > 0:
            scaled = [("BSCALE", 0.5), ("BZERO", 100.0)]
            cards += [[("BLANK", blank)] for blank in (0, 3, 255, -32768, 10**11)]
            cards += [[*scaled, ("BLANK", blank)] for blank in (0, 3, 255, -32768, 2**31)]
            cards += [[("BZERO", UNSIGNED[bitpix])], [("BZERO", UNSIGNED[bitpix]), ("BLANK", 3)]]
        content = primary(pixels(bitpix, (5, 7, 11)), [("EXTEND", True)])
        content += b"".join(extension(pixels(bitpix, (7, 11, 13)), more) for more in cards)
        content += extension(pixels(bitpix, (29,)))
        content += extension(pixels(bitpix, (1, 2, 3, 2, 5)))
        empty: list[tuple[str, object]] = [("XTENSION", "IMAGE"), ("BITPIX", bitpix), ("NAXIS", 0)]
        content += header([*empty, ("PCOUNT", 0), ("GCOUNT", 1)])
        path = folder / f"image{bitpix:+d}.fits"
        path.write_bytes(content)
        yield path
    for bitpix, more in ((16, [("BSCALE", 0.25), ("BLANK", 3)]), (16, [("BZERO", 32768)])):
        path = folder / f"large{bitpix:+d}{'u' if len(more) == 1 else 's'}.fits"
        path.write_bytes(primary(pixels(bitpix, (700, 1100)), more))
        yield path
    for bitpix in (-32, -64):
        path = folder / f"large{bitpix}.fits"
        path.write_bytes(primary(pixels(bitpix, (3, 300, 1100)), [("EXTEND", True)]))
        yield path


def _image_for_codec(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(3)
    values = random.normal(1000, 20, shape)
    if kind == "u1":
        return np.clip(values / 10, 0, 255).astype("u1")
    return values.astype(kind)


def compressed_images(folder: Path) -> Iterator[Path]:
    """Write an image of every codec, type of pixels, tile shape and quantisation."""
    lossless = {"quantize_level": 0.0}
    rows: list[tuple[str, list[str], dict[str, Any]]] = [
        ("RICE_1", ["u1", "i2", "i4", "u2", "f4", "f8"], {}),
        ("RICE_1", ["i2", "f4", "f8"], {"quantize_method": 1, "tile_shape": (7, 13)}),
        ("RICE_1", ["f4"], {"quantize_method": 2, "dither_seed": 5, "quantize_level": 8.0}),
        ("GZIP_1", ["u1", "i2", "i4", "f4"], {}),
        ("GZIP_2", ["u1", "i2", "i4", "f4"], {"tile_shape": (10, 20)}),
        ("GZIP_2", ["f4", "f8"], lossless),
        ("GZIP_1", ["f4", "f8"], lossless),
        ("HCOMPRESS_1", ["i2", "i4", "f4"], {"tile_shape": (16, 24)}),
        ("HCOMPRESS_1", ["i4"], {"hcomp_scale": 2.0, "hcomp_smooth": 1, "tile_shape": (32, 48)}),
        ("PLIO_1", ["u1", "i2"], {}),
        ("NOCOMPRESS", ["i2", "f4"], {}),
    ]
    for number, (codec, kinds, options) in enumerate(rows):
        hdus: list[Any] = [fits.PrimaryHDU()]
        for kind in kinds:
            for shape in ((64, 96), (3, 40, 50)):
                if len(shape) != len(options.get("tile_shape", shape)):
                    continue
                values = _image_for_codec(kind, shape)
                hdus.append(fits.CompImageHDU(values, compression_type=codec, **options))
                if kind in ("f4", "f8"):
                    holes = values.copy()
                    holes.ravel()[::17] = np.nan
                    holes.ravel()[::23] = 0.0
                    holes[..., :5] = -0.0
                    hdus.append(fits.CompImageHDU(holes, compression_type=codec, **options))
        path = folder / f"{number:02d}-{codec}.fits"
        fits.HDUList(hdus).writeto(path)
        yield path
    path = folder / "to-pack.fits"
    path.write_bytes(
        empty_primary()
        + extension(_image_for_codec("i2", (50, 60)), [("BLANK", 1000)])
        + extension(_image_for_codec("i2", (50, 60)), [("BSCALE", 0.5), ("BZERO", 5.0)])
        + extension(_image_for_codec("i2", (50, 60)), [("BSCALE", 0.5), ("BLANK", 1000)])
        + extension(_image_for_codec("i4", (5, 30, 60)), [("BZERO", 2**31)])
        + extension(_image_for_codec("f4", (400, 700)))
    )
    yield path
    if shutil.which("fpack"):
        for options in ("-r", "-g", "-h", "-g2", "-g -q 0", "-r -qz 4", "-r -t 30,20"):
            packed = folder / f"packed{options.replace(' ', '').replace(',', 'x')}.fits"
            command = ["fpack", *options.split(), "-O", packed, path]
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
            yield packed


def _binary_columns(rows: int) -> list[tuple[str, bytes, list[tuple[str, object]]]]:
    """Return form, cells and cards of one column of every kind."""
    random = np.random.default_rng(11)
    columns: list[tuple[str, bytes, list[tuple[str, object]]]] = []

    def add(form: str, values: np.ndarray, *cards: tuple[str, object]) -> None:
        columns.append((form, values.astype(values.dtype.newbyteorder(">")).tobytes(), [*cards]))

    for repeat in (1, 5):
        for letter, bitpix in (("B", 8), ("I", 16), ("J", 32), ("K", 64)):
            values = integers(bitpix, (rows, repeat))
            form = f"{repeat}{letter}"
            add(form, values)
            add(form, values, ("TNULL", 3))
            add(form, values, ("TSCAL", 0.5), ("TZERO", 10.0))
            add(form, values, ("TSCAL", 0.5), ("TZERO", 10.0), ("TNULL", 3))
            add(form, values, ("TZERO", UNSIGNED[bitpix]))
            add(form, values, ("TNULL", 2**40))
        for letter, name in (("E", "f4"), ("D", "f8")):
            add(f"{repeat}{letter}", floats(name, (rows, repeat)))
            add(f"{repeat}{letter}", floats(name, (rows, repeat)), ("TSCAL", -2.5), ("TZERO", 1.0))
    texts = np.array([f"{number:7.3f} " for number in random.normal(0, 99, rows)], "S8")
    add("8A", texts.view("u1"))
    add("1L", np.resize(np.frombuffer(b"TF\0", "u1"), rows))
    add("11X", random.integers(0, 256, (rows, 2), "u1"))
    add("1C", floats("f4", (rows, 2)))
    add("1M", floats("f8", (rows, 2)))
    add("0J", np.zeros((rows, 0), "i4"))
    return columns


def binary_table(rows: int) -> bytes:
    """Return a table of every kind of column, among them arrays of variable length."""
    columns = _binary_columns(rows)
    heap_values = np.arange(rows * 6, dtype=">i2")
    lengths = np.arange(rows) % 6
    offsets = np.arange(rows) * 12
    descriptors = np.stack([lengths, offsets], 1)
    columns.append(("1PI(6)", descriptors.astype(">i4").tobytes(), [("TNULL", 3)]))
    columns.append(("1QI(6)", descriptors.astype(">i8").tobytes(), [("TSCAL", 0.5)]))
    widths = [len(cells) // rows if rows else 0 for _, cells, _ in columns]
    if not rows:
        widths = [len(cells) for _, cells, _ in _binary_columns(1)] + [8, 16]
    parts = [
        np.frombuffer(cells, "u1").reshape(rows, width)
        for (_, cells, _), width in zip(columns, widths, strict=True)
    ]
    data = np.concatenate(parts, 1).tobytes()
    heap = heap_values.tobytes()
    cards: list[tuple[str, object]] = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2)]
    cards += [("NAXIS1", sum(widths)), ("NAXIS2", rows), ("PCOUNT", len(heap)), ("GCOUNT", 1)]
    cards += [("TFIELDS", len(columns))]
    for number, (form, _, more) in enumerate(columns, 1):
        cards += [(f"TTYPE{number}", f"C{number}"), (f"TFORM{number}", form)]
        cards += [(f"{name}{number}", value) for name, value in more]
    return header(cards) + pad(data + heap)


def ascii_table(rows: int) -> bytes:
    """Return an ASCII table of each form, with TNULL, TSCAL, TZERO, blanks and broken cells."""
    random = np.random.default_rng(5)
    columns: list[tuple[str, list[str], list[tuple[str, object]]]] = []
    whole = [f"{value:8d}" for value in random.integers(-(10**6), 10**6, rows)]
    whole[::5] = ["    NULL"] * len(whole[::5])
    short = [f"{value:4d}" for value in random.integers(-999, 999, rows)]
    plain = [f"{value:12.4f}" for value in random.normal(0, 1e4, rows)]
    plain[::4] = [" " * 12] * len(plain[::4])
    power = [f"{value:15.6E}" for value in random.normal(0, 1e30, rows)]
    double = [f"{value:24.15E}".replace("E", "D") for value in random.normal(0, 1e300, rows)]
    columns.append(("I8", whole, [("TNULL", "NULL")]))
    columns.append(("I4", short, []))
    columns.append(("I4", short, [("TSCAL", 0.5), ("TZERO", 3.0)]))
    columns.append(("F12.4", plain, []))
    columns.append(("E15.6", power, [("TSCAL", 2.0)]))
    columns.append(("D24.15", double, []))
    columns.append(("A6", ["  word"] * rows, []))
    columns.append(("F12.2", [cell.replace(".", "") for cell in plain], []))
    width = sum(len(cells[0]) for _, cells, _ in columns)
    cards: list[tuple[str, object]] = [("XTENSION", "TABLE"), ("BITPIX", 8), ("NAXIS", 2)]
    cards += [("NAXIS1", width), ("NAXIS2", rows), ("PCOUNT", 0), ("GCOUNT", 1)]
    cards += [("TFIELDS", len(columns))]
    start = 1
    for number, (form, cells, more) in enumerate(columns, 1):
        cards += [(f"TTYPE{number}", f"C{number}"), (f"TFORM{number}", form)]
        cards += [(f"TBCOL{number}", start)]
        cards += [(f"{name}{number}", value) for name, value in more]
        start += len(cells[0])
    text = "".join("".join(row) for row in zip(*(cells for _, cells, _ in columns), strict=True))
    return header(cards) + pad(text.encode(), b" ")


def tables(folder: Path) -> Iterator[Path]:
    """Write tables without rows, with one, some and many."""
    path = folder / "tables.fits"
    path.write_bytes(
        empty_primary() + binary_table(0) + binary_table(1) + binary_table(97) + ascii_table(40)
    )
    yield path
    path = folder / "many-rows.fits"
    path.write_bytes(empty_primary() + binary_table(6000))
    yield path


def broken(folder: Path) -> Iterator[Path]:
    """Write files that end too early, in several places."""
    whole = primary(floats("f4", (90, 110)), [("EXTEND", True)]) + binary_table(500)
    for bytes_left in (20000, 2880 * 14 + 100, len(whole) - 3000, len(whole) - 1):
        path = folder / f"cut-{bytes_left}.fits"
        path.write_bytes(whole[:bytes_left])
        yield path


def all_files(folder: Path) -> list[Path]:
    """Write every file; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = (images, compressed_images, tables, broken)
    return [path for make in makers for path in make(folder)]


def _sky(shape: tuple[int, int], seed: int = 1) -> np.ndarray:
    """Return stars on a noisy background."""
    random = np.random.default_rng(seed)
    values = random.normal(100, 4, shape)
    y, x = np.mgrid[-8:9, -8:9]
    star = np.exp(-(x * x + y * y) / 8)
    for row, column in zip(*(random.integers(9, side - 9, 80) for side in shape), strict=True):
        brightness = random.uniform(200, 3000)
        values[row - 8 : row + 9, column - 8 : column + 9] += brightness * star
    return values


def _sky_header(**cards: object) -> fits.Header:
    header = fits.Header(
        {"OBJECT": "stars", "FILTER": "V", "EXPTIME": 10.0, "DATE-OBS": "2020-01-02"}
    )
    for axis, (name, reference, step) in enumerate(
        (("RA---TAN", 150.0, -2e-4), ("DEC--TAN", 2.5, 2e-4)), 1
    ):
        header.update({f"CTYPE{axis}": name, f"CRVAL{axis}": reference, f"CRPIX{axis}": 200.0})
        header.update({f"CDELT{axis}": step, f"CUNIT{axis}": "deg"})
    header["EQUINOX"] = 2000.0
    header.update(cards)
    return header


def program_files(folder: Path) -> None:
    """Write images of the sky, plain and packed, a cube, a table and a spectrum, for programs."""
    folder.mkdir(parents=True, exist_ok=True)
    sky = _sky((500, 600))
    header = _sky_header()
    fits.writeto(folder / "sky.fits", sky.astype("f4"), header)
    fits.writeto(folder / "sky64.fits", sky, header)
    holes = sky.astype("f4")
    holes[100:140, 200:260] = np.nan
    holes[::50, 7] = np.inf
    holes[3, ::31] = -0.0
    fits.writeto(folder / "holes.fits", holes, header)
    fits.writeto(
        folder / "second.fits", _sky((500, 600), 2).astype("f4"), _sky_header(CRPIX1=150.0)
    )
    stored = np.clip((sky - 50) * 4, -32000, 32000).astype("i2")
    stored[200:220] = -32768
    scaling = [("BSCALE", 0.25), ("BZERO", 50.0), ("BLANK", -32768)]
    cards = [*scaling, *((card.keyword, card.value) for card in header.cards)]
    (folder / "scaled.fits").write_bytes(primary(stored, cards))
    fits.writeto(folder / "unsigned.fits", np.clip(sky * 8, 0, 65535).astype("u2"), header)
    fits.writeto(folder / "bytes.fits", np.clip(sky - 80, 0, 255).astype("u1"), header)
    cube = np.stack([_sky((120, 140), seed) for seed in range(20)]).astype("f4")
    fits.writeto(
        folder / "cube.fits",
        cube,
        _sky_header(CTYPE3="VRAD", CRVAL3=0.0, CRPIX3=1.0, CDELT3=100.0, CUNIT3="m/s"),
    )
    radio = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CTYPE3": "FREQ", "CTYPE4": "STOKES"}
    radio |= {
        "CRVAL3": 1.4e9,
        "CRVAL4": 1.0,
        "CRPIX3": 1.0,
        "CRPIX4": 1.0,
        "CDELT3": 1e6,
        "CDELT4": 1.0,
    }
    radio |= {"BMAJ": 6e-4, "BMIN": 5e-4, "BPA": 10.0, "CUNIT3": "Hz", "CUNIT4": ""}
    for name, values in (("residual", sky), ("model", np.maximum(sky - 150, 0))):
        fits.writeto(
            folder / f"{name}.fits", values[None, None, :, :500].astype("f4"), _sky_header(**radio)
        )
    weights = np.exp(-np.add.outer(np.arange(-3, 4) ** 2, np.arange(-3, 4) ** 2) / 4)
    fits.writeto(folder / "kernel.fits", (weights / weights.sum()).astype("f4"))
    rows = 40000
    random = np.random.default_rng(4)
    columns = [
        fits.Column("ID", "J", array=np.arange(rows)),
        fits.Column("RA", "D", "deg", array=random.uniform(149.9, 150.1, rows)),
        fits.Column("DEC", "D", "deg", array=random.uniform(2.4, 2.6, rows)),
        fits.Column(
            "MAG",
            "E",
            "mag",
            array=np.where(random.random(rows) < 0.1, np.nan, random.normal(20, 1, rows)),
        ),
        fits.Column("COUNTS", "I", null=-1, array=random.integers(-1, 99, rows)),
        fits.Column("FLAGS", "B", array=random.integers(0, 255, rows)),
        fits.Column("NAME", "8A", array=[f"star{number}" for number in range(rows)]),
        fits.Column("XY", "2E", array=random.uniform(0, 500, (rows, 2))),
    ]
    fits.BinTableHDU.from_columns(columns, name="STARS").writeto(folder / "table.fits")
    wave = 4000 + 1.25 * np.arange(2000)
    spectrum = 100 + random.normal(0, 0.5, wave.size)
    for line in (4340.47, 4363.21, 4685.68, 4861.33, 4958.91, 5006.84, 5875.66, 6300.3, 6312.1):
        spectrum += 300 * np.exp(-((wave - line) ** 2) / 8)
    fits.writeto(
        folder / "spectrum.fits",
        spectrum.astype("f4"),
        fits.Header(
            {
                "CRVAL1": 4000.0,
                "CRPIX1": 1.0,
                "CDELT1": 1.25,
                "CD1_1": 1.25,
                "CUNIT1": "Angstrom",
                "CTYPE1": "WAVE",
            }
        ),
    )
    for name, options in (("sky", "-r"), ("scaled", "-r"), ("unsigned", "-g"), ("cube", "-h")):
        command = [
            "fpack",
            options,
            *(["-s", "0"] if options == "-h" else []),
            folder / f"{name}.fits",
        ]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    subprocess.run(
        ["fpack", "-r", "-q", "8", "-O", folder / "holes.fits.fz", folder / "holes.fits"],
        check=True,
    )
