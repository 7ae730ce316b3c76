"""`tachyfits smooth`: smooth along an axis or on the sky."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from tachyfits import File
from tachyfits.base import usage
from tachyfits.cli._common import Common, common_options, refuse_together, refuse_without
from tachyfits.cli._group import packed
from tachyfits.cli._parts import PixelOptions, part_options
from tachyfits.cli._written import Output, output_options
from tachyfits.text import counted_axes, parse_numbers


@dataclass(frozen=True)
class AlongAxis:
    """Options of a kernel along one axis."""

    axis: str | None
    kernel: str
    width: float | None
    weights: str | None
    every: int


@dataclass(frozen=True)
class Borders:
    """Options for pixels outside the image and for undefined pixels."""

    edge: str
    blanks: str
    fill: bool


@click.command()
@common_options(many=False)
@click.option(
    "--axis",
    type=click.Choice(["x", "y", "z", *map(str, range(1, 10))]),
    metavar="x|y|z|N",
    help="Axis: NAXIS1, NAXIS2, NAXIS3, or NAXISN. Default: the spectral axis, or the one beside "
    "the sky that is not STOKES.",
)
@click.option(
    "--kernel",
    type=click.Choice(["hanning", "boxcar", "gaussian"]),
    default="hanning",
    show_default=True,
    help="hanning: weights 1/4, 1/2, 1/4.",
)
@click.option(
    "--width",
    type=float,
    metavar="PIXELS",
    help="Pixels of a boxcar (odd); full width at half maximum of a gaussian.",
)
@click.option(
    "--weights",
    metavar="W,W,...",
    help="Weights instead of a kernel: an odd number, not normalised.",
)
@click.option(
    "--sky",
    metavar="WIDTH",
    help="Instead of an axis: smooth on the sky with a Gaussian of this full width at half "
    "maximum, as 12arcsec or in pixels; 4,2 if x and y differ.",
)
@click.option(
    "--beam",
    metavar="WIDTHS|common",
    help="Instead of an axis: smooth each channel to this beam: 15arcsec; major axis, minor axis "
    "and position angle: 15arcsec,10arcsec,30deg; or the smallest that fits all channels. Values "
    "per beam follow.",
)
@click.option(
    "--keep-beam",
    is_flag=True,
    help="With --sky: do not change BMAJ, BMIN, BPA and values per beam.",
)
@click.option(
    "--edge",
    type=click.Choice(["repeat", "pair", "zero", "blank", "keep"]),
    default="repeat",
    show_default=True,
    help="Values beyond the ends of the axis.",
)
@click.option(
    "--blanks",
    type=click.Choice(["renormalise", "propagate", "zero"]),
    default="renormalise",
    show_default=True,
    help="Treatment of NaN and BLANK.",
)
@click.option("--fill", is_flag=True, help="Compute undefined pixels from defined neighbours.")
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Keep every N-th result, starting with the first.",
)
@part_options("pol")
@output_options
@packed("line", AlongAxis)
@packed("borders", Borders)
def command(
    common: Common,
    line: AlongAxis,
    sky: str | None,
    beam: str | None,
    keep_beam: bool,
    borders: Borders,
    pixels: PixelOptions,
    output: Output,
) -> int:
    """Smooth along one axis, or to a beam, in one pass; memory stays small for any size.

    \b
    Systems differ at the ends and at undefined pixels. To do what they do with Hanning:
      CASA            --edge pair   --blanks zero
      MIRIAD          --edge repeat --blanks zero
      NEMO            --edge zero   --blanks zero --fill
      spectral-cube   --edge zero   --blanks renormalise
      scipy nearest   --edge repeat --blanks propagate

    \b
    Examples:
      tachyfits smooth cube.fits -o smooth.fits
      tachyfits smooth cube.fits --axis x --kernel gaussian --width 3.5 -o smooth.fits
      tachyfits smooth cube.fits --kernel boxcar --width 5 --every 5 -o fifth.fits
      tachyfits smooth cube.fits --sky 12arcsec -o coarse.fits
      tachyfits smooth cube.fits --beam 50arcsec -o round.fits
      tachyfits smooth cube.fits --weights 1,2,3,2,1 --edge blank -o sums.fits --report
    """  # fmt: skip
    refuse_together(ALONE)
    if sky is None:
        refuse_without("--sky", ["keep-beam"])
    kernel_weights = _weights(line.weights) if line.weights is not None else None
    options = asdict(borders)

    def smooth(file: File) -> None:
        source = common.image(file)
        image = pixels.of(source)
        if sky is not None:
            smoothed = image.smooth_sky(_width(sky), update_beam=not keep_beam, **options)
            return output.write(common, smoothed, "smooth", source)
        if beam is not None:
            smoothed = image.smooth(beam=beam, **options)
            return output.write(common, smoothed, "smooth", source)
        smoothed = image.smooth(
            line.kernel if kernel_weights is None else kernel_weights,
            line.width,
            axis=None if line.axis is None else _numpy_axis(line.axis, image.ndim),
            every=line.every,
            **options,
        )
        return output.write(common, smoothed, "smooth", source)

    return common.each(smooth)


#: Options, and the options that they exclude.
ALONE = {
    "beam": ("axis", "kernel", "width", "weights", "every", "sky", "keep-beam"),
    "sky": ("axis", "kernel", "width", "weights", "every"),
    "weights": ("kernel", "width"),
}


def _numpy_axis(axis: str, ndim: int) -> int:
    """Return the negative NumPy number of an axis: FITS axis N is NumPy axis -N."""
    number = int(axis) if axis.isdigit() else "xyz".index(axis) + 1
    if number > ndim:
        raise usage(
            f"invalid axis {axis!r}: the image has {counted_axes(ndim)}", "name one with --axis"
        )
    return -number


def _weights(text: str) -> list[float]:
    numbers = parse_numbers(text)
    if numbers is None:
        raise click.BadParameter(f"invalid weights {text!r}: write 1,2,1", param_hint="'--weights'")
    return list(numbers)


def _width(text: str) -> float | tuple[float, ...] | str:
    """Parse a width: one or two numbers of pixels, else the text of an angle."""
    try:
        widths = tuple(float(word) for word in text.split(","))
    except ValueError:
        return text
    return widths if len(widths) > 1 else widths[0]
