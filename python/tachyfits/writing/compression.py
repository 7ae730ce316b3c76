"""Compression: options for compressing new images and tables in tiles, and writing such tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, listed, usage, warn
from tachyfits.base.progress import Progress
from tachyfits.base.whole_numbers import whole_number

#: Dithering (random numbers added to floats before rounding), by the number in the name.
DITHERS = {None: "NO_DITHER", 1: "SUBTRACTIVE_DITHER_1", 2: "SUBTRACTIVE_DITHER_2"}

#: Size below which fpack copies a table.
LEAST_BYTES = 5760


@public
class Codec(NamedTuple):
    """A codec of compressed tiles, as listed by `codecs`.

    Attributes
    ----------
    words
        Its names for ``compress=`` and ``--codec``, the usual one first.
    name
        Its name in the Standard, the value of ZCMPTYPE and ZCTYPn.
    keeps_bits
        Whether it keeps every bit of floats; the others need integers, to which floats are
        quantised.
    of_columns
        Whether it supports columns of tables.
    purpose
        Its purpose.
    """

    words: tuple[str, ...]
    name: str
    keeps_bits: bool
    of_columns: bool
    purpose: str


@public
def codecs() -> list[Codec]:
    """Return the codecs that read and write compressed tiles (section 10.4 of the Standard).

    Examples
    --------
    >>> import tachyfits as tf
    >>> [codec.words[0] for codec in tf.codecs()]
    ['rice', 'gzip', 'gzip1', 'hcompress', 'plio', 'none']
    """
    return [Codec(*facts) for facts in _core.codecs()]


#: Standard names of the codecs, by the names that users type.
CODECS = {word: codec.name for codec in codecs() for word in codec.words}

#: Standard names of the codecs that keep every bit of floats.
LOSSLESS = {codec.name for codec in codecs() if codec.keeps_bits}


@public
@dataclass(frozen=True)
class Compression:
    """Options for compressing a new image or table in tiles (section 10 of the Standard).

    Parameters
    ----------
    codec
        "rice", the default, is fast; "gzip" (GZIP_2) and "gzip1" keep any pixels; "hcompress" is
        for images of the sky, "plio" for masks of integers from 0 to 2^24 - 1 (unsigned ones are
        stored as BITPIX = 32, which all readers understand); "none" compresses nothing. Names of
        the Standard ("RICE_1") are accepted.
    tile
        Shape of a tile in NumPy order, fewer axes than the image has for planes or rows; "row",
        "whole", or None: long rows, or squares of a plane.
    quantise
        Step of quantised floats, as a fraction of the noise of each tile: 4 is a quarter of the
        noise, a negative number is the step itself. None keeps every bit, which only "gzip",
        "gzip1" and "none" can. "auto" is 4 for the other codecs, and None for these three.
    dither
        1 or 2 add random numbers before rounding, which are subtracted when the pixels are read, so
        that means are not biased; 2 keeps pixels that are exactly 0. None adds nothing.
    seed
        Start of the random numbers, 1 to 10000; None derives it from the pixels, so that the same
        pixels give the same file.
    scale
        For "hcompress": integers are divided by this number, which loses information; 0 is
        lossless.
    tables
        Also compress the binary tables of a list of HDUs; otherwise they are copied. Tables of less
        than 5760 bytes are always copied, as in fpack.
    table_rows
        For tables: rows of a tile; None: as many as fit in 10 MB.
    columns
        For tables: the codec of a column by its name, "gzip", "gzip1", "rice" or "none". Others
        have the codec that fpack selects for their type, except that complex numbers have GZIP_1.
        Lossless.
    directives
        Let the keywords FZALGOR, FZTILE, FZQVALUE, FZQMETHD, FZDTHRSD and FZHSCALE of a header
        override the arguments, and FZTILELN and FZALGn of tables replace missing arguments.

    Raises
    ------
    UsageError
        An argument has an invalid value.

    Notes
    -----
    NaN is preserved. A tile with infinite pixels, without noise, whose range is too wide, or whose
    step is finer than the digits of its pixels is stored bit for bit. A warning gives the largest
    difference from the original.

    Examples
    --------
    >>> import tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> cube.write("small.fits", compress=tf.Compression("gzip", tile="whole"), overwrite=True)
    >>> tf.open("small.fits")[1].compression.algorithm
    'GZIP_2'
    """

    codec: str = "rice"
    tile: Sequence[int] | str | None = None
    quantise: float | str | None = "auto"
    dither: int | None = 1
    seed: int | None = None
    scale: int = 0
    tables: bool = False
    table_rows: int | None = None
    columns: Mapping[str, str] | None = None
    directives: bool = False

    def __post_init__(self) -> None:
        _codec(self.codec)
        for codec in (self.columns or {}).values():
            _codec(codec)
        if self.tile not in (None, "row", "whole") and not _is_shape(self.tile):
            raise usage(
                f"invalid tile {self.tile!r}: expected a shape, 'row', 'whole' or None",
                "give the shape of a tile in NumPy order: (16, 100)",
            )
        if self.dither not in DITHERS:
            raise usage(f"invalid dither {self.dither!r}: expected 1, 2 or None", "leave it out")
        if self.seed is not None and whole_number(self.seed) not in range(1, 10_001):
            raise usage(
                f"invalid seed {self.seed!r}: expected 1 to 10000",
                "leave it out to take it from the pixels",
            )
        if whole_number(self.scale) is None:
            raise usage(
                f"invalid scale {self.scale!r}: expected 0 or a whole number to divide by",
                "use 0 to lose nothing",
            )
        if self.table_rows is not None and whole_number(self.table_rows, least=1) is None:
            raise usage(
                f"invalid table_rows {self.table_rows!r}: expected 1 or more",
                "leave it out for tiles of 10 MB",
            )
        if self.quantise not in (None, "auto") and not (
            isinstance(self.quantise, (int, float, np.number)) and math.isfinite(self.quantise)
        ):
            raise usage(
                f"invalid quantise {self.quantise!r}: expected a number, None or 'auto'",
                "use 4 for steps of a quarter of the noise",
            )

    def for_engine(self, shape: Sequence[int]) -> tuple[Any, ...]:
        """Return the engine's arguments for an image of this shape."""
        name = _codec(self.codec)
        tile: list[int] | None
        if self.tile is None:
            tile = None
        elif isinstance(self.tile, str):
            tile = list(shape[-1:] if self.tile == "row" else shape)
        else:
            tile = [int(length) for length in self.tile]
        level: float | None
        if isinstance(self.quantise, str):
            level = None if name in LOSSLESS else 4.0
        else:
            level = None if self.quantise is None else float(self.quantise)
        return name, tile, level, DITHERS[self.dither], self.seed, self.scale, self.directives

    def table_options(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the engine's options for a table with columns of these names."""
        codecs = []
        for name, codec in (self.columns or {}).items():
            numbers = [n for n, each in enumerate(names) if each.upper() == name.strip().upper()]
            if not numbers:
                problem = f"invalid columns: expected names of the table, found {name!r}"
                raise usage(problem, f"the columns are {listed(names)}")
            codecs.append((numbers[0], _codec(codec)))
        return {
            "tile_rows": self.table_rows, "codecs": codecs, "directives": self.directives,
        }  # fmt: skip


def _is_shape(tile: Any) -> bool:
    return isinstance(tile, Iterable) and not any(whole_number(n, least=1) is None for n in tile)


def _codec(name: str) -> str:
    """Return the Standard's name of a codec."""
    codec = CODECS.get(str(name).lower(), str(name).upper())
    if codec not in CODECS.values():
        expected = ", ".join(CODECS)
        raise usage(f"invalid codec {name!r}: expected one of {expected}", "use 'rice'")
    return codec


def check_table_compression(compress: Any) -> Compression | None:
    """Return ``compress=`` of a table; raise UsageError if it does not apply to tables."""
    if isinstance(compress, (Compression, type(None))):
        return compress
    raise usage(
        f"invalid compress {compress!r} for a table: expected a Compression",
        either('use compress=Compression(tables=True), and columns={"NAME": "rice"} for one'),
    )


def table_compression(compress: Compression | str | None) -> Compression | None:
    """Return ``compress=`` for a table, or None if tables are not compressed."""
    return compress if isinstance(compress, Compression) and compress.tables else None


def engine_compression(
    compress: Compression | str | None, shape: Sequence[int], dtype: Any, bitpix: int = 8
) -> tuple[Any, ...] | None:
    """Return the engine's arguments for ``compress=``, a `Compression` or the name of a codec.

    An image without pixels has no tiles. Warns about tiles that other programs do not read;
    ``dtype`` is the type of the pixels in the file, or None for that of ``bitpix``.
    """
    if compress is None:
        return None
    if isinstance(compress, str):
        compress = Compression(compress)
    if not isinstance(compress, Compression):
        raise usage(
            f"invalid compress {compress!r}: expected the name of a codec or a Compression",
            either("use compress='rice'"),
        )
    if 0 in shape:
        return None
    name = _codec(compress.codec)
    if name == "NOCOMPRESS":
        warn("CFITSIO, and programs that use it, cannot read tiles of the codec NOCOMPRESS")
    elif bitpix == 64 if dtype is None else np.dtype(dtype).name in ("int64", "uint64"):
        warn("CFITSIO, and programs that use it, cannot read compressed integers of 64 bits")
    return compress.for_engine(shape)


def suits_compression(hdu: _core.Hdu) -> bool:
    """Return whether a table should be compressed: a binary table that is large enough."""
    return hdu.kind == "binary table" and hdu.data_bytes >= LEAST_BYTES


def write_compressed_table(
    writer: _core.FileWriter,
    table: _core.Table,
    how: Compression,
    threads: int,
    progress: Progress | None,
) -> None:
    """Write a whole binary table as the next HDU, in compressed tiles."""
    names = [column.name for column in table.columns()]
    options = how.table_options(names)
    writer.write_compressed_table(table, **options, threads=threads, progress=progress)


def write_spooled_table(
    writer: _core.FileWriter,
    spool: _core.FitsFile,
    how: Compression,
    threads: int,
    progress: Progress | None,
) -> None:
    """Write the table of a spooled file, in compressed tiles if it is suitable, else unchanged.

    A stream of batches yields its rows once, so only the spool has them.
    """
    hdu = spool.hdu(1)
    if suits_compression(hdu):
        write_compressed_table(writer, hdu.table(), how, threads, progress)
    else:
        writer.copy(spool, 1, [], threads=threads, progress=progress)
