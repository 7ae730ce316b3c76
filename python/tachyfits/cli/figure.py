"""`tachyfits figure`: results of other commands as the panels of one picture."""

from __future__ import annotations

from contextlib import ExitStack

import click

from tachyfits.base import check_output
from tachyfits.cli._common import Common, common_options, overwrite_option, suffix_of
from tachyfits.cli._output import STDOUT, file_for, print_answer, say, warnings_said, written
from tachyfits.cli._parts import DRAWN, Drawing, drawing_options


@click.command()
@common_options(many=True)
@click.option(
    "-o", "--output", required=True, type=click.Path(), metavar="OUT",
    help="Picture: .png, .svg or .pdf. -: PNG on stdout.",
)  # fmt: skip
@overwrite_option
@click.option("--columns", type=click.IntRange(1, 100), metavar="N",
              help="Panels in a row. Default: all of up to three, else as many as "
                   "rows.")  # fmt: skip
@click.option("--panel-title", "titles", multiple=True, metavar="TEXT",
              help="Title of a panel, once for each file. Default: the kind of a moment, else the "
                   "object.")  # fmt: skip
@click.option("--shared/--not-shared", default=None,
              help="Whether planes have the same colours and one colour bar. Default: if all are "
                   "of one shape, kind and unit.")  # fmt: skip
@drawing_options
def command(
    common: Common, output: str, overwrite: bool, columns: int | None, titles: tuple[str, ...],
    shared: bool | None, drawing: Drawing,
) -> int:  # fmt: skip
    """Draw images, moments, position-velocity diagrams and spectra as the panels of one figure.

    Each FILE is a panel: a picture, a diagram of `tachyfits pv`, or a spectrum. A moment is drawn
    as the moment that its header names.

    \b
    Examples:
      tachyfits figure moment0.fits moment1.fits pv.fits spectrum.fits --columns 2 -o four.pdf
      tachyfits figure moment0.fits moment1.fits --figsize 7.1 --scale-bar auto -o two.pdf
      tachyfits figure blue.fits red.fits --shared --panel-title B --panel-title R -o both.png
    """  # fmt: skip
    from tachyfits.plot import figure

    if output != STDOUT:
        suffix_of(output, DRAWN)
        check_output(output, overwrite=overwrite)
    options = drawing.options
    if not options["contours"]:
        del options["contours"]
    with ExitStack() as stack, warnings_said():
        panels = [common.image(stack.enter_context(common.open(path))) for path in common.files]
        result = figure(
            panels, columns=columns, title=drawing.paper.title, titles=titles or None,
            shared=shared, scale_bar=drawing.bar, **options,
        )  # fmt: skip
    with file_for(output, ".png") as path:
        drawing.paper.save(result, path, overwrite=overwrite)
    if common.json:
        print_answer({"files": list(common.files), "output": output}, output)
    else:
        say(written(output, f"{len(panels)} panels"))
    return 0
