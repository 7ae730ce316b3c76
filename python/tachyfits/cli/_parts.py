"""Shared by the commands that take a part of an image, or write numbers as text or drawings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

import tachyfits
from tachyfits import Image
from tachyfits.base.errors import warn
from tachyfits.base.output import check_output, write_atomically
from tachyfits.cli._common import (
    Common,
    RegionOptions,
    channels_option,
    described,
    names_of,
    overwrite_option,
    pol_option,
    region_option,
    section_option,
    suffix_of,
)
from tachyfits.cli._group import Command, grouped, with_options
from tachyfits.cli._output import json_text
from tachyfits.cli._syntax import LIMITS, NUMBERS
from tachyfits.header.spectral_units import CONVENTIONS, MEDIA, Line
from tachyfits.image.rectangles import slices_of
from tachyfits.image.selection import Selection
from tachyfits.text.spectral_ranges import SpectralRange

#: As `tachyfits.plot` has them, which is imported for drawing alone.
STRETCHES = ("linear", "log", "asinh", "sqrt")

#: Endings of drawings, and of numbers as text.
DRAWN = (".png", ".svg", ".pdf")
WRITTEN = (".txt", ".csv", ".json")


@dataclass(frozen=True)
class PixelOptions:
    """The pixels that a command uses: a selection, and how its options were written.

    Attributes
    ----------
    selection
        What they mean.
    texts
        --section, --channels and --pol.
    regions
        Each --region: its text, and its shapes.
    """

    selection: Selection
    texts: dict[str, str | None]
    regions: RegionOptions = ()

    @property
    def names(self) -> list[str]:
        """The names of the regions: labels of a file, else as they were written."""
        return names_of(self.regions)

    @property
    def labels(self) -> list[str]:
        """The names of the regions without blanks; one empty label without any."""
        return ["".join(name.split()) for name in self.names] or [""]

    @property
    def is_whole(self) -> bool:
        """Whether every pixel is used."""
        return self.selection.keeps_axes and self.selection.regions is None

    def with_line(self, line: dict[str, Any]) -> PixelOptions:
        """Return the options with a rest frequency and a convention for channels by velocity."""
        selection = replace(self.selection, line=Line(**(line | {"unit": None})))
        return replace(self, selection=selection)

    def line_of_values(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return the options of coordinates, without a rest frequency for channels alone."""
        of_channels = isinstance(self.selection.channels, SpectralRange)
        return {} if of_channels and line.get("unit") is None else line

    def of(self, image: Image, *where: Any) -> Image:
        """Return the pixels of an image, where conditions hold."""
        return image._selected(replace(self.selection, where=where))

    def index(self, image: Image) -> tuple[slice, ...]:
        """Return NumPy's index of the pixels, whatever the regions."""
        return slices_of(replace(self.selection, regions=None).resolve(image).section)

    def one_region(self) -> tachyfits.Region | None:
        """Return the one region that is selected; several make one, of all their pixels.

        A file of several shapes gives a note: other commands take each for itself.
        """
        shapes = self.selection.regions
        for text, found in self.regions:
            if len(found) > 1:
                warn(f"{text}: its {len(found)} shapes are one region here, with the pixels of all")
        if shapes is None or len(shapes) == 1:
            return None if shapes is None else shapes[0]
        return tachyfits.CompoundRegion(tuple((True, shape) for shape in shapes))


#: The attributes of a spectral line that channels by velocity need.
_LINE = ("rest", "convention", "rest_medium")


def _pixel_options(**values: Any) -> PixelOptions:
    """Return the pixels that options choose, of which a command may lack some."""
    regions = values.pop("regions", ())
    line = Line(None, *(values.pop(name, None) for name in _LINE))
    texts = {name: values.get(name) for name in ("section", "channels", "pol")}
    words: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    for name in ("section", "channels"):
        if name in words:
            texts[name], words[name] = words[name]
    shapes = [shape for _, found in regions for shape in found] or None
    return PixelOptions(Selection.typed({"region": shapes, **words}, line=line), texts, regions)


def part_options(*names: str, rest: bool = False) -> Callable[[Command], Command]:
    """Add some of these options; the command gets them as ``pixels``.

    ``rest``: also those of a spectral line, for channels by velocity.
    """
    options = {
        "section": section_option, "channels": channels_option, "regions": region_option,
        "pol": pol_option,
    }  # fmt: skip
    every = [options[name] for name in names]
    if not rest:
        return grouped("pixels", _pixel_options, names, every)
    return grouped("pixels", _pixel_options, (*names, *_LINE), [*every, *_REST_OPTIONS])


_REST_OPTIONS = (
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

#: Adds --unit, --rest, --convention and --rest-medium, the coordinates of a spectral axis.
line_options = with_options((
    click.option("--unit", metavar="UNIT",
                 help="Unit of the coordinates (km/s, GHz, um), of the values (K, mJy/beam, "
                      "MJy/sr), or both: 'K,km/s'. Values are converted with the beam and the "
                      "frequency of each channel. Default: the header's."),
    *_REST_OPTIONS,
))  # fmt: skip

beam_option = click.option(
    "--beam",
    metavar="WIDTHS",
    help="Beam for conversions of units in place of the header's: 15arcsec, or major axis, minor "
    "axis and position angle: 15arcsec,10arcsec,30deg.",
)


@dataclass(frozen=True)
class Drawing:
    """How values become colours: the options of commands that draw images."""

    stretch: str
    limits: Any
    percentile: float | None
    low: float | None
    high: float | None
    cmap: str | None
    contours: bool
    levels: tuple[float, ...] | None

    @property
    def colours(self) -> dict[str, Any]:
        """The options that pictures without axes have too, as `tachyfits.plot` takes them."""
        names = ("stretch", "limits", "percentile", "low", "high")
        return {name: getattr(self, name) for name in names} | {"colormap": self.cmap}

    @property
    def options(self) -> dict[str, Any]:
        """All options, as `tachyfits.plot` takes them."""
        return self.colours | {"contours": self.levels or self.contours}


def _drawing(limits: Any, levels: Any, **values: Any) -> Drawing:
    return Drawing(limits=limits and limits[1], levels=levels and levels[1], **values)


#: The names of these options.
DRAWING = ("stretch", "limits", "percentile", "low", "high", "cmap", "contours", "levels")
#: Adds the options of colours and contours; the command gets them as a ``drawing``.
drawing_options = grouped("drawing", _drawing, Drawing.__dataclass_fields__, [
    click.option("--stretch", type=click.Choice(STRETCHES), default="linear",
                 show_default=True, help="Mapping of values to colours."),
    click.option("--limits", type=LIMITS, metavar="METHOD|LOW,HIGH",
                 help="Range of the colour map: zscale (background and faint "
                      "sources, as in DS9), minmax, percentile (99.5), percentile99 or two "
                      "numbers. Default: zscale; percentiles 1 and 99.9 with a nonlinear "
                      "stretch; symmetric about the median for velocities."),
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
])  # fmt: skip


@dataclass(frozen=True)
class Document:
    """Where numbers go: to stdout, into a text file, or into a drawing."""

    path: str | None
    overwrite: bool
    suffix: str

    @property
    def is_drawn(self) -> bool:
        """It is a drawing."""
        return self.suffix in DRAWN

    def check(self, common: Common) -> None:
        """Refuse one document of several files, and one that cannot be written."""
        if self.path is not None:
            if len(common.files) > 1:
                raise click.UsageError("several files cannot share one output")
            check_output(self.path, overwrite=self.overwrite)

    def draw(self, figure: Any) -> None:
        """Write a figure."""
        from tachyfits.plot import save_figure

        if self.path is not None:
            save_figure(figure, self.path, overwrite=self.overwrite)

    def write(self, text: str) -> None:
        """Write text, or print it."""
        if self.path is None:
            click.echo(text, nl=False)
        else:
            write_atomically(self.path, lambda s: s.write(text.encode()), overwrite=self.overwrite)

    def tell(self, common: Common, image: Image) -> None:
        """Print what was written as JSON; numbers that were printed are the answer."""
        if common.json and self.path is not None:
            size = Path(self.path).stat().st_size
            click.echo(json_text(described(image, output=self.path, output_bytes=size)))


def _document(output: str | None, overwrite: bool) -> Document:
    suffix = suffix_of(output, WRITTEN + DRAWN) if output is not None else ""
    return Document(output, overwrite, suffix)


#: Adds --output and --overwrite for numbers; the command gets them as a ``document``.
document_options = grouped("document", _document, ("output", "overwrite"), [
    click.option("-o", "--output", type=click.Path(), metavar="OUT",
                 help="Write .txt, .csv or .json, or draw .png, .svg or .pdf."),
    overwrite_option,
])  # fmt: skip
