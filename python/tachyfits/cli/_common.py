"""Shared by commands: options, opening files, selecting HDUs, continuing after failures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import click

import tachyfits
from tachyfits import File, Hdu, TachyfitsError
from tachyfits.base import placed, usage
from tachyfits.cli import _progress
from tachyfits.cli._failures import complain
from tachyfits.cli._group import Command, grouped
from tachyfits.cli._output import quiet_option, say, warnings_said
from tachyfits.cli._syntax import CHANNELS, REGION, SECTION
from tachyfits.file import (
    BUFFERINGS,
    DAMAGED,
    STORAGES,
    ImageHdu,
    description,
    index_of,
    no_pixels_hint,
)

if TYPE_CHECKING:
    from tachyfits import Image, Region
    from tachyfits.base import Progress


@dataclass(frozen=True)
class Common:
    """Options common to all commands."""

    files: tuple[str, ...]
    hdu: str | None
    json: bool
    threads: int
    progress: bool | None
    strict: bool
    storage: str
    damaged: str
    buffering: str
    quiet: bool

    def open(self, path: str, *, show_warnings: bool = True) -> File:
        """Open a file and print its warnings to stderr; its notices are always printed."""
        with warnings_said(show_warnings):
            file = tachyfits.open(
                path, strict=self.strict, storage=self.storage, threads=self.threads,
                damaged=self.damaged, buffering=self.buffering,
            )  # fmt: skip
        if not show_warnings:
            for notice in file.notices:
                say(f"warning: {file.name}: {notice}")
        return file

    def each(self, action: Callable[[File], object], *, show_warnings: bool = True) -> int:
        """Call ``action`` with each file, continue after failures, and return the exit status."""
        status = 0
        for path in self.files:
            try:
                opened = self.open(path, show_warnings=show_warnings)
                with opened as file, warnings_said(), placed(file.name):
                    action(file)
            except TachyfitsError as error:
                status = max(status, complain(error))
        return status

    def path_of(self, file: File) -> str:
        """Return the path of a file as written on the command line."""
        absolute = file.path
        matches = (path for path in self.files if os.path.abspath(path) == absolute)
        return next(matches, file.name)

    def refuse_standard_input(self) -> None:
        """Raise UsageError for standard input, which cannot be changed."""
        if "-" in self.files:
            raise click.UsageError("standard input cannot be changed: name a file")

    def meter(self, label: str) -> AbstractContextManager[Progress]:
        """Return a context manager that provides a progress function for one operation."""
        return _progress.progress(self.progress, label)

    def hdus(self, file: File) -> Iterator[Hdu]:
        """Yield the HDUs of ``--hdu``; all HDUs without it."""
        return (file[index] for index in self._indices(file))

    def descriptions(self, file: File, default: str = "all") -> Iterator[Hdu]:
        """Yield descriptions of the HDUs of ``--hdu``, which cannot read data but cost less."""
        return (description(file, index) for index in self._indices(file, default))

    def _indices(self, file: File, default: str = "all") -> Iterable[int]:
        name = default if self.hdu is None else self.hdu
        return range(len(file)) if name == "all" else [_index_of(file, name)]

    def image(self, file: File, name: str | None = None) -> Image:
        """Return the image of ``name`` or ``--hdu``; by default the first one with pixels."""
        name = name or self.hdu
        if name == "all":
            raise click.UsageError("invalid --hdu all: expected one image")
        if name is not None:
            hdu = file[_index_of(file, name)]
            if isinstance(hdu, ImageHdu):
                return cast("Image", hdu)
            raise usage(
                f"{file.name}: HDU {hdu.index} ({hdu.kind}) has no pixels",
                no_pixels_hint([hdu], f"see the list of HDUs: tachyfits info {file.name}"),
            )
        return next(self._every_image(file))

    def images(self, file: File) -> Iterator[Image]:
        """Yield all images for ``--hdu all``, else only the image of `image`."""
        return self._every_image(file) if self.hdu == "all" else iter([self.image(file)])

    def _every_image(self, file: File) -> Iterator[Image]:
        candidates = (cast("Image", file[hdu.index]) for hdu in _with_pixels(file))
        first = next(candidates, None)
        if first is None:
            raise usage(
                f"{file.name}: no HDU has pixels",
                no_pixels_hint(file, f"see the list of HDUs: tachyfits info {file.name}"),
            )
        yield first
        yield from candidates


def _with_pixels(file: File) -> Iterator[ImageHdu]:
    described = (description(file, index) for index in range(len(file)))
    return (hdu for hdu in described if isinstance(hdu, ImageHdu) and hdu.size)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _index_of(file: File, text: str) -> int:
    """Find an HDU by its number (from 0), EXTNAME or EXTNAME,EXTVER."""
    name, comma, version = text.rpartition(",")
    if _is_whole(text.removeprefix("-")):
        return index_of(file, int(text))
    if comma and _is_whole(version.strip()):
        return index_of(file, (name, int(version)))
    return index_of(file, text)


def common_options(
    *,
    many: bool = True,
    metavar: str | None = None,
    hdu: str = "the first with pixels",
    every: bool = False,
) -> Callable[[Command], Command]:
    """Add FILE and the common options; the command gets them as one `Common`.

    ``hdu`` describes the default HDUs for the help; with ``every``, ``--hdu`` may be "all".
    """
    options = [
        click.argument("files", metavar=metavar or ("FILE..." if many else "FILE"),
                       nargs=-1 if many else 1, required=True, type=click.Path()),
        click.option("--hdu", metavar="N|NAME[,VER]|all" if every else "N|NAME[,VER]",
                     help=f"The HDU: its number (from 0) or EXTNAME. Default: {hdu}."),
        click.option("--json", is_flag=True,
                     help="Print one line of JSON per file. NaN is null, infinities are text."),
        click.option("--threads", type=click.IntRange(min=0), default=0, metavar="N",
                     help="Number of threads; 0 (the default): one per core. Results do not "
                          "depend on it."),
        click.option("--progress/--no-progress", default=None,
                     help="Show progress if the work takes over a second. Default: on a terminal."),
        quiet_option,
        click.option("--strict", is_flag=True,
                     help="Fail where a file breaks the FITS Standard, or where images at "
                          "different places are combined."),
        click.option("--storage", type=click.Choice(STORAGES), default="auto", show_default=True,
                     help="How to read: pread copies bytes, mmap uses them in the page cache, "
                          "auto uses cached bytes and reads others, direct bypasses the cache."),
        click.option("--damaged", type=click.Choice(DAMAGED), default="error", show_default=True,
                     help="How to read damaged tiles of compressed images: nan gives NaN, or BLANK "
                          "of integers, and a warning."),
        click.option("--buffering", type=click.Choice(BUFFERINGS), default="auto",
                     show_default=True,
                     help="How order statistics and writers of images read: single, each thread "
                          "reads its own blocks; double, other threads read ahead; auto, ahead if "
                          "the bytes are not in memory."),
    ]  # fmt: skip

    def made(files: Any, **values: Any) -> Common:
        return Common(files if many else (files,), **values)

    return grouped("common", made, Common.__dataclass_fields__, options)


region_option = click.option(
    "--region", "regions", type=REGION, multiple=True, metavar="SHAPE|FILE",
    help="Use only pixels whose centre is inside: a shape in DS9's syntax, in pixels from 1, "
         "circle(x,y,r), box(x,y,w,h,angle), ellipse(x,y,a,b,angle), annulus(x,y,r1,r2), "
         "polygon(x1,y1,...), point(x,y), or on the sky after its frame: 'icrs; "
         "circle(5:34:32,22.01,30\")'; '-' before a shape excludes it. Or a region file of DS9 or "
         "CASA, whose shapes are a region each, or a mask (.fits). May be repeated. Parts outside "
         "the image do not count and give a warning.",
)  # fmt: skip
section_option = click.option(
    "--section", type=SECTION, metavar="[a:b,...]",
    help="Use only this part, one range per axis: [1:100,*,5:50:2]; an end may be left out.",
)  # fmt: skip
channels_option = click.option(
    "--channels", "channels", type=CHANNELS, multiple=True, metavar="a:b|LOW..HIGH UNIT",
    help="Use only these pixels of the spectral axis, counted from 1, both ends included; or those "
         "whose cell touches a range: '100..250 km/s', '230.5..230.6 GHz', '6540..6580 Angstrom', "
         "with a frame after it where it is not that of the axis: '100..250 km/s LSRK'. Several "
         "with commas between, 10:40,80:120, or repeated: channels between them are undefined.",
)  # fmt: skip
pol_option = click.option(
    "--pol",
    metavar="NAME",
    help="Use only this polarisation of the STOKES axis: I, Q, U, V, RR, "
    "LL, RL, LR, XX, YY, XY, YX.",
)
overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Replace an existing output file."
)

#: Value of click for --region: (text, parsed regions) for each option.
RegionOptions = tuple[tuple[str, "list[Region]"], ...]


def names_of(regions: RegionOptions) -> list[str]:
    """Return the names of regions: their labels, else their text on the command line.

    >>> from tachyfits import Circle
    >>> names_of((("circle(2,2,1)", [Circle(1, 1, 1)]), ("a.reg", [Circle(1, 1, 1)] * 2)))
    ['circle(2,2,1)', 'a.reg:1', 'a.reg:2']
    """
    names = []
    for text, shapes in regions:
        for number, shape in enumerate(shapes, 1):
            default = text if len(shapes) == 1 else f"{text}:{number}"
            names.append(shape.label or default)
    return names


def suffix_of(path: str, suffixes: tuple[str, ...]) -> str:
    """Return the suffix of an output file; raise BadParameter for an unknown one."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        raise click.BadParameter(
            f"{path!r} ends in none of {' '.join(suffixes)}", param_hint="'-o' / '--output'"
        )
    return suffix


def _given(options: Iterable[str]) -> str:
    """Return the options of a list that are on the command line, as text."""
    context = click.get_current_context()
    on_command_line = {
        option
        for parameter in context.command.params
        if parameter.name is not None
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
        for option in parameter.opts
    }
    return ", ".join(f"--{option}" for option in options if f"--{option}" in on_command_line)


def refuse_together(alone: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError for options that exclude each other: option -> excluded options."""
    for option, excluded in alone.items():
        ignored = _given(excluded)
        if _given([option]) and ignored:
            raise click.UsageError(f"--{option} takes no {ignored}")


def refuse_without(requirement: str, options: Iterable[str]) -> None:
    """Raise UsageError for given options that require ``requirement``."""
    if ignored := _given(options):
        raise click.UsageError(f"{ignored}: only with {requirement}")


def title(image: Image, name: str = "") -> str:
    """Return the title of a picture: the object or else the file, HDU, and ``name``."""
    from tachyfits.plot import title_of

    has_several = sum(1 for _ in _with_pixels(image.file)) > 1
    of = title_of(image.header, "", image.file.name)
    label = image.name or f"HDU {image.index}"
    which = f", {label}" if has_several and of and label.lower() not in of.lower() else ""
    return f"{of}{which}: {name}" if of and name else f"{of}{which}" or name


def heading(image: Image, name: str | None = None) -> str:
    """Return a line that describes an image: file and HDU, shape in FITS order, unit."""
    name = name or f"{image.file.name}, HDU {image.index}"
    axes = " x ".join(map(str, reversed(image.shape)))
    unit = f", {image.unit}" if image.unit else ""
    return f"{name}, {axes} pixels (NAXIS1 first){unit}"


def coordinate_lines(image: ImageHdu) -> list[str]:
    """Return lines with the coordinates of an image, and with its unusable cards."""
    summary = image.coordinates.summary
    lines = [f"HDU {image.index}: {summary}"] if str(summary) else []
    return lines + [f"HDU {image.index}: warning: {problem}" for problem in summary.problems]


def described(image: Image, **extra: Any) -> dict[str, Any]:
    """Return the common first members of JSON answers."""
    return {
        "file": image.file.name,
        "hdu": image.index,
        "convention": "FITS: NAXIS1 first, pixels from 1; HDUs from 0",
        "naxis": list(reversed(image.shape)),
        "unit": image.unit,
    } | extra
