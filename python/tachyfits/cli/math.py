"""`tachyfits math`: compute an expression over images."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from tachyfits import Image, TachyfitsError, along, info
from tachyfits.cli._common import Common, common_options, described, heading, refuse_without
from tachyfits.cli._failures import complain
from tachyfits.cli._output import json_text, number_text, report_dict, report_line, say
from tachyfits.cli._parts import beam_option
from tachyfits.cli._written import OF_OUTPUT, Output, optional_output_options
from tachyfits.header import CONVENTIONS, Asked
from tachyfits.image import evaluated
from tachyfits.text import STANDARD_STATISTICS

#: NAME=INPUT.
_INPUT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.+?)\s*", re.DOTALL)
#: A file with an optional HDU and axis: cube.fits[SCI,2]@z.
_FILE = re.compile(r"(?P<path>.+?)(?:\[(?P<hdu>[^\[\]]+)\])?(?:@(?P<axis>[xyz]))?", re.DOTALL)


def _table() -> str:
    """Return the lines of the help that list the functions."""
    rows = [
        (f"{' or '.join(names)}({arguments})", meaning)
        for names, arguments, meaning in info.functions()
    ]
    width = max(len(call) for call, _ in rows if len(call) < 32)
    return "\n".join(f"  {call.ljust(width)}  {meaning}" for call, meaning in rows)


class _Help(click.Command):
    """The command; its help ends with a list of functions."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of functions."""
        with formatter.section("Functions"):
            formatter.write(_table() + "\n")


@click.command(cls=_Help)
@click.argument("expression")
@common_options(metavar="NAME=INPUT...")
@click.option(
    "--unit",
    metavar="UNIT",
    help="Unit of the result: K, mJy/beam, Jy/pixel, MJy/sr, ... Values are converted to it if "
    "their unit is certain, with the beam and the frequency of each channel of the header, or the "
    "ones given here; of others the unit is stated. '' for none: values of any units are plain "
    "numbers.",
)
@beam_option
@click.option(
    "--frequency",
    metavar="VALUE",
    help="Frequency for --unit in place of those of the channels: '115.27 GHz'.",
)
@click.option(
    "--rest",
    metavar="VALUE",
    help="Rest frequency for --unit, of an axis of velocities: '115.27 GHz'.",
)
@click.option(
    "--convention",
    type=click.Choice(CONVENTIONS),
    help="Convention for --unit, of an axis of velocities.",
)
@optional_output_options
def command(
    common: Common,
    expression: str,
    unit: str | None,
    output: Output,
    **conversion: Any,
) -> int:
    """Compute an EXPRESSION over images, pixel by pixel, in one pass.

    Each NAME of the expression gets an INPUT: a file, one HDU of it in brackets (number from 0,
    EXTNAME or EXTNAME,EXTVER), or a number. Images broadcast from NAXIS1 on: missing axes and axes
    of 1 pixel match any length, so an image applies to all channels of a cube. A spectrum (one
    axis) lies along the only axis of its length, or along the given one: gain.fits@z.

    \b
    Operators, from tight to loose, as in Python:
      **                        power
      - ~ !                     signs; ~ and ! are 1 for 0, else 0
      * / // %                  // rounds down, % has the sign of the divisor
      + -
      &  then  |                and, or
      < <= > >= == !=           1 where true, else 0
      not  then  and &&  then  or ||
    Constants: pi e nan inf.

    NaN and BLANK are NaN in arithmetic. Comparisons with NaN are false (!= is true); as a truth
    value NaN is true; isnan tells it. Arithmetic is in float64 and rounded once: to float32 if all
    images have at most 16 bits or float32, else float64; --bitpix -64 or -32 asks for one.
    Conditions are written as bytes of 0 and 1 (BITPIX 8).

    Without --output the statistics of the result are shown, and nothing is written.

    \b
    Examples:
      tachyfits math 'a - b' a=cube.fits b=continuum.fits -o line.fits
      tachyfits math 'where(abs(a) > 3 * s, a, nan)' a=cube.fits s=0.012 -o clipped.fits
      tachyfits math 'a / g' a=cube.fits g=gain.fits@z -o calibrated.fits --report
      tachyfits math 'sqrt(q**2 + u**2)' q='cube.fits[1]' u='cube.fits[SCI,1]' -o p.fits
      tachyfits math '(a - b) / b' a=cube.fits b=continuum.fits --json
      tachyfits math a a=cube.fits --unit K -o kelvin.fits
    """  # fmt: skip
    if not output.output:
        refuse_without("--output", OF_OUTPUT)
    with ExitStack() as files:
        try:
            inputs = {name: _value(common, text, files) for name, text in _inputs(common.files)}
            if unit is None and any(conversion.values()):
                raise click.UsageError(
                    "--beam, --frequency, --rest and --convention are for --unit"
                )
            parameters = Asked(**conversion)
            result = evaluated(
                expression, inputs, _dtype(output.bitpix), unit, parameters, strict=common.strict
            )
            if not output.output:
                _show(common, expression, result, report=output.report)
            else:
                output.write(common, result, "math", result, file=expression, expression=expression)
        except TachyfitsError as error:
            return complain(error)
    return 0


def _inputs(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Parse the arguments NAME=INPUT."""
    inputs: list[tuple[str, str]] = []
    for text in texts:
        match = _INPUT.fullmatch(text)
        if match is None:
            raise click.BadParameter(
                f"invalid input {text!r}: write a=cube.fits", param_hint="'NAME=INPUT'"
            )
        if match[1] in dict(inputs):
            raise click.BadParameter(
                f"{text!r}: {match[1]} names two inputs",
                param_hint="'NAME=INPUT'",
            )
        inputs.append((match[1], match[2]))
    return inputs


def _value(common: Common, text: str, files: ExitStack) -> Any:
    """Return the number or the image of an input."""
    try:
        return float(text)
    except ValueError:
        pass
    match = None if Path(text).exists() else _FILE.fullmatch(text)
    path, hdu, axis = (text, None, None) if match is None else match.group("path", "hdu", "axis")
    file = files.enter_context(common.open(path))
    image = common.image(file, hdu)
    return image if axis is None else along(image, axis)


def _dtype(bitpix: str | None) -> str | None:
    """Return the type to compute; float64 for integer outputs, so that values are rounded once."""
    if bitpix is None:
        return None
    return "float32" if bitpix == "-32" else "float64"


def _show(common: Common, expression: str, result: Image, *, report: bool) -> None:
    """Show the statistics of the result."""
    with common.meter("math") as progress:
        stats = result.stats(threads=common.threads, progress=progress)
    values = {name: getattr(stats, name) for name in STANDARD_STATISTICS}
    cost = stats.report if report else None
    if common.json:
        cost_json = {} if cost is None else {"report": report_dict(cost)}
        answer = described(result, file=expression, expression=expression, statistics=values)
        click.echo(json_text(answer | cost_json))
        return
    click.echo(heading(result, expression))
    width = max(map(len, STANDARD_STATISTICS))
    for name, value in values.items():
        click.echo(f"{name.ljust(width)}  {number_text(value)}")
    if cost is not None:
        say(report_line(cost))
