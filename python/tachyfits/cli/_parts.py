"""Shared by commands that select a part of an image, or write numbers as text or drawings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

import tachyfits
from tachyfits import Image, Selection, SpectralRange
from tachyfits.base import check_output, warn, write_atomically
from tachyfits.cli._common import (
    Common,
    RegionOptions,
    channels_option,
    described,
    names_of,
    overwrite_option,
    pol_option,
    refuse_without,
    region_option,
    section_option,
    suffix_of,
)
from tachyfits.cli._group import Command, grouped, with_options
from tachyfits.cli._output import STDOUT, json_text
from tachyfits.cli._syntax import LIMITS, NUMBERS
from tachyfits.header import CONVENTIONS, MEDIA, Line
from tachyfits.image import slices_of
from tachyfits.text import listed_channels, parse_channels

#: As in `tachyfits.plot`, which is only imported for drawing.
STRETCHES = ("linear", "log", "asinh", "sqrt")

#: Suffixes of drawings, and of numbers as text.
DRAWN = (".png", ".svg", ".pdf")
WRITTEN = (".txt", ".csv", ".json")
#: Suffixes of binary tables.
TABLES = (".fits", ".parquet")


@dataclass(frozen=True)
class PixelOptions:
    """The pixels that a command uses: a selection, and the text of its options.

    Attributes
    ----------
    selection
        The selection.
    texts
        Text of --section, --channels and --pol.
    regions
        Text and shapes of each --region.
    """

    selection: Selection
    texts: dict[str, str | None]
    regions: RegionOptions = ()

    @property
    def names(self) -> list[str]:
        """Names of the regions: labels of a file, else the text on the command line."""
        return names_of(self.regions)

    @property
    def labels(self) -> list[str]:
        """Names of the regions without blanks; a single empty label if there are no regions."""
        return ["".join(name.split()) for name in self.names] or [""]

    @property
    def is_whole(self) -> bool:
        """Whether all pixels are selected."""
        return self.selection.keeps_axes and self.selection.regions is None

    def with_line(self, line: dict[str, Any]) -> PixelOptions:
        """Return a copy with a rest frequency and convention for channels by velocity."""
        selection = replace(self.selection, line=Line(**(line | {"unit": None})))
        return replace(self, selection=selection)

    def line_of_values(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return the line options for coordinates; empty if they only concern channels."""
        of_channels = any(
            isinstance(item, SpectralRange) for item in listed_channels(self.selection.channels)
        )
        return {} if of_channels and line.get("unit") is None else line

    def of(self, image: Image, *where: Any) -> Image:
        """Return the selected pixels of an image for which conditions hold."""
        if self.is_whole and not where:
            return image
        return image.select(replace(self.selection, where=where))

    def index(self, image: Image) -> tuple[slice, ...]:
        """Return the NumPy index of the pixels, without the regions."""
        return slices_of(replace(self.selection, regions=None).resolve(image).section)

    def one_region(self) -> tachyfits.Region | None:
        """Return the selected region; several regions are combined into their union.

        A file of several shapes gives a warning: other commands use each shape separately.
        """
        shapes = self.selection.regions
        for text, file_shapes in self.regions:
            if len(file_shapes) > 1:
                count = len(file_shapes)
                warn(f"{text}: its {count} shapes are one region here, with the pixels of all")
        if shapes is None or len(shapes) == 1:
            return None if shapes is None else shapes[0]
        return tachyfits.CompoundRegion(tuple((True, shape) for shape in shapes))


#: Attributes of a spectral line needed for channels by velocity.
_LINE = ("rest", "convention", "rest_medium")


def _pixel_options(**values: Any) -> PixelOptions:
    """Return the pixels selected by options; a command may lack some of the options."""
    regions = values.pop("regions", ())
    line = Line(None, *(values.pop(name, None) for name in _LINE))
    ranges = values.pop("channels", ())
    typed = ",".join(text for text, _ in ranges)
    texts: dict[str, str | None] = {
        "section": None, "channels": typed or None, "pol": values.get("pol"),
    }  # fmt: skip
    words: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    if "section" in words:
        texts["section"], words["section"] = words["section"]
    if typed:
        words["channels"] = parse_channels(typed)
    shapes = [shape for _, region_shapes in regions for shape in region_shapes] or None
    return PixelOptions(Selection.typed({"region": shapes, **words}, line=line), texts, regions)


def part_options(*names: str, rest: bool = False) -> Callable[[Command], Command]:
    """Add some of the options for pixels; the command gets them as ``pixels``.

    ``rest``: also add the options of a spectral line, for channels by velocity.
    """
    options = {
        "section": section_option, "channels": channels_option, "regions": region_option,
        "pol": pol_option,
    }  # fmt: skip
    every = [options[name] for name in names]
    if not rest:
        return grouped("pixels", _pixel_options, names, every)
    return grouped("pixels", _pixel_options, (*names, *_LINE), [*every, *REST_OPTIONS])


#: --rest, --convention and --rest-medium.
REST_OPTIONS = (
    click.option("--rest", metavar="VALUE",
                 help="Rest frequency or wavelength with its unit: '1.420405752 GHz'. Default: "
                      "the header's."),
    click.option("--convention", type=click.Choice(CONVENTIONS),
                 help="Convention of velocities. Default: the axis's; radio for frequencies, "
                      "optical for wavelengths."),
    click.option("--rest-medium", type=click.Choice(MEDIA),
                 help="Medium of a rest wavelength. Default: air where the axis is "
                      "AWAV (refractive index by Edlén 1953), else vacuum."),
)  # fmt: skip

#: Add --unit, --rest, --convention and --rest-medium for the coordinates of a spectral axis.
line_options = with_options((
    click.option("--unit", metavar="UNIT",
                 help="Unit of the coordinates (km/s, GHz, um), of the values (K, mJy/beam, "
                      "MJy/sr), or both: 'K,km/s'. Values are converted with the beam and the "
                      "frequency of each channel. Default: the header's."),
    *REST_OPTIONS,
))  # fmt: skip

beam_option = click.option(
    "--beam",
    metavar="WIDTHS",
    help="Beam for conversions of units in place of the header's: 15arcsec, or major axis, minor "
    "axis and position angle: 15arcsec,10arcsec,30deg.",
)


@dataclass(frozen=True)
class Paper:
    """Size, title and labels of a picture.

    Attributes
    ----------
    figsize
        Width, or width and height, in inches; None: chosen by the picture.
    title
        Title; None: the object or the file.
    labels
        Labels of the colour bar, of each spectrum, or of the axis of values.
    dpi
        Pixels per inch; None: 300 up to the width of a page, else 150.
    """

    figsize: tuple[float, ...] | None
    title: str | None
    labels: tuple[str, ...]
    dpi: int | None

    @property
    def label(self) -> str | None:
        """The single label of a picture, or None; raise UsageError if there are several."""
        if len(self.labels) > 1:
            raise click.UsageError("several --label: this picture has one")
        return self.labels[0] if self.labels else None

    def titled(self, text: str) -> str:
        """Return the title of --title, or else ``text``."""
        return text if self.title is None else self.title

    def save(self, figure: Any, path: str, *, overwrite: bool) -> None:
        """Write a figure."""
        from tachyfits.plot import save_figure

        save_figure(figure, path, overwrite=overwrite, dpi=self.dpi)


def _paper(values: dict[str, Any]) -> Paper:
    """Remove the paper options from the options of a command, and return them."""
    figsize = values.pop("figsize", None)
    return Paper(figsize and figsize[1], values.pop("title", None), values.pop("label", ()),
                 values.pop("dpi", None))  # fmt: skip


#: The names of these options.
PAPER = ("figsize", "title", "label", "dpi")
_PAPER_OPTIONS = (
    click.option("--figsize", type=NUMBERS, metavar="WIDTH[,HEIGHT]",
                 help="Inches of the picture: 3.5 is a column of a journal, whose height follows. "
                      "Letters suit the width."),
    click.option("--title", metavar="TEXT", help="Title. Default: the object, or else the file."),
    click.option("--label", multiple=True, metavar="TEXT",
                 help="Label of the values: of the colour bar, of the axis, or (repeated) of each "
                      "spectrum."),
    click.option("--dpi", type=click.IntRange(30, 1200), metavar="N",
                 help="Pixels an inch. Default: 300 up to 7.2 inches of width, else 150."),
)  # fmt: skip


@dataclass(frozen=True)
class ValueUnit:
    """The unit of the values, and the parameters of the conversion."""

    unit: str | None
    frequency: str | None
    beam: str | None

    def of(self, image: Image) -> Image:
        """Return the pixels in this unit."""
        if self.unit is not None:
            return image.to(self.unit, frequency=self.frequency, beam=self.beam)
        for name, value in (("frequency", self.frequency), ("beam", self.beam)):
            if value is not None:
                raise click.UsageError(f"--{name} is for --unit UNIT")
        return image


#: Add --unit, --frequency and --beam for the values only; the command gets them as ``values``.
value_unit_options = grouped("values", ValueUnit, ValueUnit.__dataclass_fields__, [
    click.option("--unit", metavar="UNIT",
                 help="Unit of the values (K, mJy/beam, MJy/sr), converted with the beam and the "
                      "frequency of each channel. Default: that of the pixels."),
    click.option("--frequency", metavar="VALUE",
                 help="With --unit: one frequency in place of those of the channels: '1.4 GHz'."),
    beam_option,
])  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """Options of commands that draw images: colours, contours, scale bar and paper."""

    stretch: str
    limits: Any
    percentile: float | None
    low: float | None
    high: float | None
    cmap: str | None
    contours: bool
    levels: tuple[float, ...] | None
    scale_bar: str | None
    paper: Paper

    @property
    def bar(self) -> Any:
        """The scale bar, as an argument of `tachyfits.plot`."""
        return True if self.scale_bar == "auto" else self.scale_bar or False

    @property
    def colours(self) -> dict[str, Any]:
        """Colour options, also used without axes, as arguments of `tachyfits.plot`."""
        names = ("stretch", "limits", "percentile", "low", "high")
        return {name: getattr(self, name) for name in names} | {"cmap": self.cmap}

    @property
    def options(self) -> dict[str, Any]:
        """All options, as arguments of `tachyfits.plot`."""
        return self.colours | self.words | {"contours": self.levels or self.contours}

    @property
    def words(self) -> dict[str, Any]:
        """The size and the label of the colour bar, as arguments of `tachyfits.plot`."""
        return {"figsize": self.paper.figsize, "label": self.paper.label}


def _drawing(limits: Any, levels: Any, **values: Any) -> Drawing:
    paper = _paper(values)
    return Drawing(limits=limits and limits[1], levels=levels and levels[1], paper=paper, **values)


#: The names of these options.
DRAWING = ("stretch", "limits", "percentile", "low", "high", "cmap", "contours", "levels",
           "scale-bar", *PAPER)  # fmt: skip
#: Add the options of colours and contours; the command gets them as ``drawing``.
drawing_options = grouped("drawing", _drawing, [name.replace("-", "_") for name in DRAWING], [
    click.option("--stretch", type=click.Choice(STRETCHES), default="linear",
                 show_default=True, help="Mapping of values to colours."),
    click.option("--limits", type=LIMITS, metavar="METHOD|LOW,HIGH",
                 help="Range of the colour map: zscale (background and faint "
                      "sources, as in DS9), minmax, percentile (99.5), percentile99 or two "
                      "numbers. Default: zscale; percentiles 1 and 99.9 with a nonlinear "
                      "stretch, 2 and 98 for velocities."),
    click.option("--percentile", type=click.FloatRange(50, 100, min_open=True), metavar="P",
                 help="Limits at this percentile and the same share at the lower end."),
    click.option("--low", type=float, metavar="VALUE", help="Value of the first colour."),
    click.option("--high", type=float, metavar="VALUE", help="Value of the last colour."),
    click.option("--cmap", metavar="NAME", help="A colour map that matplotlib knows. Default: "
                 "inferno; RdBu_r for velocities; viridis for dispersions."),
    click.option("--contours", is_flag=True,
                 help="Draw contours: at 3, 6, 12, ... times the noise, or at round values."),
    click.option("--levels", type=NUMBERS, metavar="V1,V2,...",
                 help="Draw contours at these values."),
    click.option("--scale-bar", metavar="ANGLE",
                 help="Draw a bar of this angle (30arcsec), or of a round one (auto)."),
    *_PAPER_OPTIONS,
])  # fmt: skip


@dataclass(frozen=True)
class Document:
    """Destination of numbers: stdout, a text file, a table or a drawing."""

    path: str | None
    overwrite: bool
    suffix: str
    paper: Paper

    @property
    def is_drawn(self) -> bool:
        """Whether it is a drawing."""
        return self.suffix in DRAWN

    def check(self, common: Common) -> None:
        """Raise an error for several input files, or if the document cannot be written."""
        if not self.is_drawn:
            refuse_without("a picture (-o OUT.png)", PAPER)
        if self.path is not None:
            if len(common.files) > 1:
                raise click.UsageError("several files cannot share one output")
            check_output(self.path, overwrite=self.overwrite)

    def draw(self, figure: Any) -> None:
        """Write a figure."""
        if self.path is not None:
            self.paper.save(figure, self.path, overwrite=self.overwrite)

    @property
    def is_table(self) -> bool:
        """Whether it is a FITS or Parquet table."""
        return self.suffix in TABLES

    def write(self, text: str) -> None:
        """Write text to the file or stdout."""
        if self.path is None:
            click.echo(text, nl=False)
        else:
            write_atomically(self.path, lambda s: s.write(text.encode()), overwrite=self.overwrite)

    def tell(self, common: Common, image: Image) -> None:
        """Print JSON about the written file; printed numbers are themselves the answer."""
        if common.json and self.path is not None:
            size = Path(self.path).stat().st_size
            click.echo(json_text(described(image, output=self.path, output_bytes=size)))


def _document_options(endings: tuple[str, ...], text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds --output, --overwrite, and paper options for drawings."""
    is_drawn = DRAWN[0] in endings

    def made(output: str | None, overwrite: bool, **paper: Any) -> Document:
        # Without a name, numbers also go to stdout.
        path = None if output == STDOUT else output
        suffix = "" if path is None else suffix_of(path, endings)
        return Document(path, overwrite, suffix, _paper(paper))

    names = ("output", "overwrite", *(PAPER if is_drawn else ()))
    return grouped("document", made, names, [
        click.option("-o", "--output", type=click.Path(), metavar="OUT", help=text),
        overwrite_option,
        *(_PAPER_OPTIONS if is_drawn else ()),
    ])  # fmt: skip


#: Add --output and --overwrite for numbers; the command gets them as ``document``.
document_options = _document_options(
    WRITTEN + DRAWN, "Write .txt, .csv or .json, or draw .png, .svg or .pdf. -: text on stdout."
)
#: The same for rows of numbers.
rows_options = _document_options(
    WRITTEN + TABLES, "Write .txt, .csv, .json or a table: .fits, .parquet. -: text on stdout."
)
#: The same for rows of numbers that can be drawn.
drawn_rows_options = _document_options(
    WRITTEN + TABLES + DRAWN,
    "Write .txt, .csv, .json or a table (.fits, .parquet), or draw .png, .svg or .pdf. -: text on "
    "stdout.",
)
