"""Shared by commands that write a computed image: options, writing, reporting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from tachyfits import Image, reports
from tachyfits.cli._common import Common, described
from tachyfits.cli._group import Command, grouped
from tachyfits.cli._output import bytes_of, print_answer, report_dict, report_line, say, written
from tachyfits.writing import write_new

#: NumPy types by BITPIX on the command line.
_TYPES = {
    "8": "uint8",
    "16": "int16",
    "32": "int32",
    "64": "int64",
    "-32": "float32",
    "-64": "float64",
}


@dataclass(frozen=True)
class Output:
    """Options of a command that writes an image."""

    #: The new file; "" if the command allows no output.
    output: str
    overwrite: bool
    bitpix: str | None
    bscale: float | None
    bzero: float | None
    blank: int | None
    checksum: bool
    sync: bool
    drop_degenerate: bool
    report: bool

    def write(self, common: Common, image: Image, label: str, source: Image, **answer: Any) -> None:
        """Write an image with progress, and report it.

        ``source``: the image that the result is computed from; the JSON contains its description
        and ``answer``.
        """
        if self.drop_degenerate:
            image = image.cutout(drop_degenerate=True)
        is_scaled = self.bscale is not None or self.bzero is not None
        scaling = (
            (1.0 if self.bscale is None else self.bscale, self.bzero or 0.0) if is_scaled else None
        )
        with common.meter(label) as progress, reports() as costs:
            write_new(
                self.output,
                image,
                dtype=None if self.bitpix is None else _TYPES[self.bitpix],
                scaling=scaling,
                blank=self.blank,
                overwrite=self.overwrite,
                checksum=self.checksum,
                sync=self.sync,
                threads=common.threads,
                progress=progress,
            )
        report = costs[-1] if self.report else None
        naxis = list(reversed(image.shape))
        if common.json:
            costed = {} if report is None else {"report": report_dict(report)}
            json_answer = described(
                source, output=self.output, output_naxis=naxis, output_unit=image.unit,
                output_bytes=bytes_of(self.output), **answer, **costed,
            )  # fmt: skip
            print_answer(json_answer, self.output)
            return
        say(written(self.output, f"{' x '.join(map(str, naxis))} pixels"))
        if report is not None:
            say(report_line(report))


report_option = click.option(
    "--report", is_flag=True,
    help="Report the cost: seconds of reading, computing and writing, and the share of reading "
         "and writing hidden behind computing.",
)  # fmt: skip


drop_degenerate_option = click.option(
    "--drop-degenerate", is_flag=True, help="Remove axes of length 1 from the output."
)


def _output_options(*, required: bool) -> Callable[[Command], Command]:
    options = [
        click.option("-o", "--output", type=click.Path(), required=required, metavar="OUT",
                     help="The new file; it appears when it is complete. -: FITS on stdout."),
        click.option("--overwrite", is_flag=True, help="Replace an existing output file."),
        click.option("--bitpix", type=click.Choice(list(_TYPES)),
                     help="Type of the pixels. Default: as computed."),
        click.option("--bscale", type=float, help="BSCALE for integer pixels."),
        click.option("--bzero", type=float, help="BZERO for integer pixels."),
        click.option("--blank", type=int, help="BLANK for integer pixels; NaN becomes BLANK."),
        click.option("--checksum", is_flag=True, help="Write DATASUM and CHECKSUM."),
        click.option("--sync", is_flag=True,
                     help="Return only when the file survives a power failure."),
        drop_degenerate_option,
        report_option,
    ]  # fmt: skip

    def made(output: str | None, **values: Any) -> Output:
        return Output(output or "", **values)

    return grouped("output", made, Output.__dataclass_fields__, options)


#: Options that require an output.
OF_OUTPUT = ("overwrite", "bscale", "bzero", "blank", "checksum", "sync", "drop-degenerate")

#: Add the options of the output; the command gets them as ``output: Output``.
output_options = _output_options(required=True)

#: The same options for a command whose output is optional.
optional_output_options = _output_options(required=False)
