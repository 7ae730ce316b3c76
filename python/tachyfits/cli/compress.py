"""`tachyfits compress`: compress images and tables of files in tiles."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

import tachyfits
from tachyfits import Compression, File, TachyfitsWarning
from tachyfits.base import listed
from tachyfits.cli._common import Common, common_options, overwrite_option, refuse_without
from tachyfits.cli._group import packed
from tachyfits.cli._output import bytes_of, print_answer, say, size_text

#: Codecs by their names on the command line.
CODECS = {word: codec for codec in tachyfits.codecs() for word in codec.words}
KEEPING_BITS = ", ".join(word for word, codec in CODECS.items() if codec.keeps_bits)
DITHERS = {"none": None, "1": 1, "2": 2}


@dataclass(frozen=True)
class Tiles:
    """Options of compression in tiles."""

    codec: str
    tile: str | None
    quantise: float | None
    dither: str
    seed: int | None
    scale: int
    tables: bool
    table_rows: int | None
    ignore_directives: bool

    @property
    def compression(self) -> Compression:
        """The compression given by the options."""
        level: float | str | None = "auto" if self.quantise is None else self.quantise or None
        return Compression(
            self.codec, _shape(self.tile), level, DITHERS[self.dither], self.seed, self.scale,
            tables=self.tables, table_rows=self.table_rows, directives=not self.ignore_directives,
        )  # fmt: skip


@click.command()
@common_options()
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="The new file, of one FILE. Default: the name of FILE with .fz. -: FITS on stdout.",
)
@click.option(
    "--codec",
    type=click.Choice(list(CODECS)),
    default="rice",
    show_default=True,
    help="; ".join(f"{codec.words[0]}: {codec.purpose}" for codec in tachyfits.codecs()) + ".",
)
@click.option(
    "--tile",
    metavar="SHAPE",
    help="Shape of a tile, NAXIS1 first: 100,16; row; whole. Default: long rows, or "
    "squares of a plane.",
)
@click.option(
    "--quantise",
    metavar="Q",
    help="Steps of floats, as a part of the noise of a tile: 4 is a quarter. A negative "
    f"number is the step; 0 keeps every bit ({KEEPING_BITS}). Default: 4, but 0 for these "
    "codecs.",
    type=float,
)
@click.option(
    "--dither",
    type=click.Choice(list(DITHERS)),
    default="1",
    show_default=True,
    help="Random numbers that are added to floats; 2 keeps pixels that are exactly 0.",
)
@click.option(
    "--seed",
    type=click.IntRange(1, 10_000),
    help="Where the random numbers begin. Default: from the pixels.",
)
@click.option(
    "--scale",
    type=click.IntRange(0),
    default=0,
    help="Divisor of hcompress, which loses digits.",
)
@click.option("--tables", is_flag=True, help="Compress binary tables too; small ones are copied.")
@click.option(
    "--table-rows",
    type=click.IntRange(1),
    metavar="N",
    help="Rows of a tile of a table. Default: as many as have 10 MB.",
)
@click.option(
    "--ignore-directives",
    is_flag=True,
    help="Do not follow FZALGOR, FZTILE and similar keywords in the headers, which come before "
    "options otherwise.",
)
@click.option("--checksum", is_flag=True, help="Write DATASUM and CHECKSUM.")
@overwrite_option
@packed("tiles", Tiles)
def command(
    common: Common, output: str | None, tiles: Tiles, checksum: bool, overwrite: bool
) -> int:
    """Compress the images of files in tiles, as fpack does; --tables: tables too.

    Parts of the result can be read without decompressing the rest. Integers come back as they
    are. Floats of images are quantised, unless the codec keeps every bit; tables lose nothing. The
    same data always give the same file. Other HDUs are copied.

    \b
    Examples:
      tachyfits compress cube.fits
      tachyfits compress cube.fits -o packed.fits.fz --codec gzip --tile whole
      tachyfits compress *.fits --quantise 16 --overwrite
      tachyfits compress catalogue.fits --tables
    """  # fmt: skip
    if common.hdu is not None:
        raise click.UsageError("--hdu does not apply: all HDUs of a file are written")
    if output is not None and len(common.files) > 1:
        raise click.UsageError("-o names the output of one FILE; leave it out for several")
    if output is None and "-" in common.files:
        raise click.UsageError("name the new file of standard input with -o")
    if tiles.codec != "hcompress":
        refuse_without("--codec hcompress", ["scale"])
    if not tiles.tables:
        refuse_without("--tables", ["table-rows"])
    how = tiles.compression

    def compress(file: File) -> None:
        name = output or f"{common.path_of(file)}.fz"
        meter, costs = common.meter("compress"), tachyfits.reports()
        with meter as progress, costs as reports, warnings.catch_warnings():
            # The message about the file reports these errors.
            warnings.filterwarnings("ignore", ".*were rounded; ", TachyfitsWarning)
            tachyfits.write(
                name, list(file), compress=how, checksum=checksum, overwrite=overwrite,
                threads=common.threads, progress=progress,
            )  # fmt: skip
        errors = {
            report.hdu: report.rounding
            for report in reports
            if report.hdu is not None and report.rounding > 0
        }
        tell(common, file, name, errors)

    return common.each(compress)


def _shape(text: str | None) -> Any:
    """Return the shape of a tile in NumPy order."""
    if text is None or text in ("row", "whole"):
        return text
    try:
        lengths = [int(part) for part in text.strip("()").split(",")]
    except ValueError:
        problem = f"invalid --tile {text!r}: expected lengths such as 100,16, or row, or whole"
        raise click.UsageError(problem) from None
    return tuple(reversed(lengths))


def tell(common: Common, file: File, name: str, errors: Mapping[int, float] | None = None) -> None:
    """Report the written file, as text on stderr or as JSON.

    ``errors``: the largest error per HDU of the new file with rounded pixels; None: nothing was
    compressed.
    """
    before, after = file.size_bytes, bytes_of(name)
    if common.json:
        ratio = None if after is None else before / after
        answer: dict[str, Any] = {"bytes": before, "output_bytes": after, "ratio": ratio}
        if errors is not None:
            answer["errors"] = [{"hdu": hdu, "largest": error} for hdu, error in errors.items()]
        print_answer({"file": file.name, "output": name, **answer}, name)
        return
    of_hdus = listed(f"{error:.6g} in HDU {hdu}" for hdu, error in (errors or {}).items())
    lost = f"; largest error: {of_hdus}" if errors else ""
    if after is None:
        say(f"stdout: {file.name}, {size_text(before)}{lost}")
        return
    sizes = f"{size_text(before)} became {size_text(after)} (ratio {before / after:.2f})"
    say(f"{name}: {sizes}{lost}")
