"""`tachyfits checksum`: DATASUM and CHECKSUM compared with the bytes."""

from __future__ import annotations

import click

from tachyfits import File, update_checksums
from tachyfits.cli._common import Common, common_options
from tachyfits.cli._output import aligned, json_text


@click.command()
@common_options(hdu="all", every=True)
@click.option("--check", is_flag=True, help="Also fail if an HDU has no checksums.")
@click.option(
    "--update",
    is_flag=True,
    help="Write both sums into the headers of the file, then compare.",
)
def command(common: Common, check: bool, update: bool) -> int:
    """Sum the bytes of HDUs in one pass and compare them with DATASUM and CHECKSUM.

    DATASUM is about the data, CHECKSUM about the whole HDU: where the first is right and the
    second wrong, the header alone has changed. A sum that is not stated is not wrong.

    Exit status: 0 when no sum is wrong (--check: and both are stated), 1 otherwise, 2 wrong use.

    \b
    Examples:
      tachyfits checksum cube.fits
      tachyfits checksum *.fits --json
      tachyfits checksum cube.fits --hdu 0
      tachyfits checksum cube.fits --update
    """  # fmt: skip
    has_wrong_sum = False
    if update:
        common.refuse_standard_input()
        status = common.each(lambda file: _update(common, file))
        if status:
            return status

    def one(file: File) -> None:
        nonlocal has_wrong_sum
        sums = []
        for hdu in common.descriptions(file):
            with common.meter(f"checksum of HDU {hdu.index}") as progress:
                sums.append((hdu, hdu.checksum(threads=common.threads, progress=progress)))
        accepted = {"right"} if check else {"right", "not stated"}
        has_wrong_sum = has_wrong_sum or any(
            {sums_of_hdu.data, sums_of_hdu.whole} - accepted for _, sums_of_hdu in sums
        )
        if common.json:
            rows = [
                {
                    "hdu": hdu.index,
                    "name": hdu.name,
                    "datasum": sums_of_hdu.datasum,
                    "stated_datasum": sums_of_hdu.stated_datasum,
                    "stated_checksum": sums_of_hdu.stated_checksum,
                    "data": sums_of_hdu.data,
                    "whole": sums_of_hdu.whole,
                    "ok": sums_of_hdu.ok,
                }
                for hdu, sums_of_hdu in sums
            ]
            click.echo(json_text({"file": file.name, "hdus": rows}))
            return
        table = [("HDU", "name", "sum of the data", "DATASUM", "CHECKSUM")]
        table += [
            (
                str(hdu.index),
                hdu.name,
                str(sums_of_hdu.datasum),
                sums_of_hdu.data,
                sums_of_hdu.whole,
            )
            for hdu, sums_of_hdu in sums
        ]
        click.echo(f"{file.name}:\n{aligned(table, right=[0, 2])}")

    return max(common.each(one), int(has_wrong_sum))


def _update(common: Common, file: File) -> None:
    hdus = None if common.hdu is None else [hdu.index for hdu in common.descriptions(file)]
    assert file.path is not None, "standard input is refused"
    with common.meter("sums") as progress:
        update_checksums(file.path, hdus, threads=common.threads, progress=progress)
