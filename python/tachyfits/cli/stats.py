"""`tachyfits stats`: statistics of an image, a section, regions or planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from tachyfits import Columns, File, Image, Report, Stats, reports
from tachyfits.base import usage
from tachyfits.cli._common import (
    Common,
    common_options,
    coordinate_lines,
    described,
    heading,
    refuse_together,
)
from tachyfits.cli._group import packed
from tachyfits.cli._order import OrderOptions, order_columns, order_options
from tachyfits.cli._output import (
    aligned,
    cell_text,
    columns_text,
    csv_text,
    json_text,
    number_text,
    report_dict,
    report_line,
    say,
)
from tachyfits.cli._parts import (
    Document,
    PixelOptions,
    ValueUnit,
    part_options,
    rows_options,
    value_unit_options,
)
from tachyfits.image import flux_values, reduced_arrays, statistics_of_regions
from tachyfits.table import columns_of
from tachyfits.text import STANDARD_STATISTICS, UNITLESS, fits_position


@dataclass(frozen=True)
class Measure:
    """Options of the statistics: planes, divisor and flux."""

    per_plane: bool
    ddof: int
    flux: bool


@click.command()
@common_options(every=True)
@part_options("regions", "section", "channels", "pol", rest=True)
@click.option("--per-plane", is_flag=True, help="One row per plane of the first two axes.")
@order_options
@rows_options
@click.option(
    "--ddof",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The divisor of std is count - ddof.",
)
@click.option(
    "--flux",
    is_flag=True,
    help="Also the flux: the sum of the pixels times their solid angle, in Jy for Jy/beam. Of a "
    "cube with --per-plane.",
)
@value_unit_options
@click.option(
    "--report",
    is_flag=True,
    help="Report the cost: seconds of io, compute, wall; hidden fraction; GB/s.",
)
@packed("measure", Measure)
def command(
    common: Common,
    pixels: PixelOptions,
    order: OrderOptions,
    document: Document,
    measure: Measure,
    values: ValueUnit,
    report: bool,
) -> int:
    """Count, sum, mean, rms, std, min and max of the pixels, in one pass.

    NaN and BLANK pixels are counted (nan) and otherwise ignored. rms is about zero, std about the
    mean. Positions are those of the first pixel with the value, x first, counted from 1. Numbers
    have as many digits as it takes to read them back exactly.

    Where --median, --mad, --percentile or --robust are given, these are computed instead, each
    exactly and in bounded memory, and --report tells what they cost apart.

    \b
    Examples:
      tachyfits stats cube.fits
      tachyfits stats cube.fits --region 'circle(512,480,12)' --region 'box(90,90,40,40)'
      tachyfits stats cube.fits --section '[*,*,1:10]' --per-plane
      tachyfits stats *.fits --json | jq .statistics[0].mean
      tachyfits stats image.fits --region sources.reg --flux
      tachyfits stats cube.fits --region sources.reg -o sources.fits
      tachyfits stats cube.fits --channels 1:9,31:40 --robust
      tachyfits stats cube.fits --unit K
      tachyfits stats cube.fits --median --mad --percentile 1,99
      tachyfits stats cube.fits --per-plane --robust --buffering double --report
    """
    refuse_together(dict.fromkeys(("median", "mad", "percentile", "robust"), ("ddof", "flux")))

    per_plane, ddof = measure.per_plane, measure.ddof
    document.check(common)
    if document.path is not None and common.hdu == "all":
        raise click.UsageError("several images cannot share one output")

    def show(file: File) -> None:
        for source in common.images(file):
            image = values.of(source)
            if order:
                rows, costs = _ordered(common, image, pixels, per_plane, order)
            else:
                with reports() as measured:
                    rows = (_planes if per_plane else _whole)(common, image, pixels, ddof)
                costs = {"": measured[-1]}
            flux_unit = (
                _add_fluxes(common, image, pixels, per_plane, rows) if measure.flux else None
            )
            if document.is_table:
                _columns(image, rows, flux_unit).write(
                    document.path or "", overwrite=document.overwrite
                )
            elif document.suffix == ".csv":
                document.write(_as_csv(rows))
            elif document.suffix == ".json" or (common.json and document.path is None):
                cost_json = {name: report_dict(cost) for name, cost in costs.items()}
                report_json = (
                    {"report": cost_json.get("", cost_json)} if report and cost_json else {}
                )
                fluxed = {} if flux_unit is None else {"flux_unit": flux_unit}
                identity = {"file": source.file.name, "hdu": source.index}
                answer = _as_json(image, pixels, ddof, rows) | identity | fluxed | report_json
                document.write(json_text(answer) + "\n")
                if document.path is None:
                    continue
            else:
                top = heading(image, f"{source.file.name}, HDU {source.index}")
                document.write(f"{top}\n{_as_text(image, rows, flux_unit)}\n")
            document.tell(common, source)
            for name, cost in costs.items() if report else ():
                say(f"{name}: {report_line(cost)}" if name else report_line(cost))

    return common.each(show)


def _whole(common: Common, image: Image, pixels: PixelOptions, ddof: int) -> list[dict[str, Any]]:
    """Return one row per region, or a single row without regions."""
    with common.meter("stats") as progress:
        states = statistics_of_regions(pixels.of(image), progress)
    labels: list[str | None] = [*pixels.names] or [None]
    slices = pixels.index(image)
    return [
        {"region": label, **_state(state, ddof, image, slices)}
        for label, state in zip(labels, states, strict=True)
    ]


def _state(state: Stats, ddof: int, image: Image, slices: tuple[slice, ...]) -> dict[str, Any]:
    values = {name: getattr(state, name) for name in STANDARD_STATISTICS}
    return {
        **values,
        "std": state.standard_deviation(ddof),
        "min_position": fits_position(state.min_position, slices, image.shape),
        "max_position": fits_position(state.max_position, slices, image.shape),
    }


def _planes(common: Common, image: Image, pixels: PixelOptions, ddof: int) -> list[dict[str, Any]]:
    """Return one row per plane and region."""
    _check_planes(image)
    with common.meter("stats") as progress:
        arrays = reduced_arrays(
            pixels.of(image),
            STANDARD_STATISTICS,
            "xy",
            ddof=ddof,
            threads=common.threads,
            progress=progress,
        )
    numbers = _plane_numbers(image, pixels.index(image))
    labels: list[str | None] = [*pixels.names] or [None]
    flat = {name: np.reshape(array, (len(labels), -1)) for name, array in arrays.items()}
    return [
        {"region": label, "plane": plane, **{name: flat[name][row, column] for name in flat}}
        for row, label in enumerate(labels)
        for column, plane in enumerate(numbers)
    ]


def _ordered(
    common: Common,
    image: Image,
    pixels: PixelOptions,
    per_plane: bool,
    order: OrderOptions,
) -> tuple[list[dict[str, Any]], dict[str, Report]]:
    """Return the rows of order statistics and their costs."""
    if per_plane:
        _check_planes(image)
    labels: list[str | None] = [*pixels.names] or [None]
    with common.meter("stats") as progress:
        columns, costs = order_columns(
            pixels.of(image), order, per_plane, threads=common.threads, progress=progress
        )
    columns = {name: np.reshape(array, (len(labels), -1)) for name, array in columns.items()}
    numbers = _plane_numbers(image, pixels.index(image)) if per_plane else [None]
    rows = []
    for row, label in enumerate(labels):
        for column, plane in enumerate(numbers):
            values = {name: array[row, column] for name, array in columns.items()}
            rows.append({"region": label, **({"plane": plane} if per_plane else {}), **values})
    return rows, costs


def _add_fluxes(
    common: Common, image: Image, pixels: PixelOptions, per_plane: bool, rows: list[dict[str, Any]]
) -> str:
    """Add the flux to each row and return its unit."""
    with common.meter("flux") as progress:
        values, unit = flux_values(
            pixels.of(image),
            "xy" if per_plane else None,
            threads=common.threads,
            progress=progress,
        )
    for row, value in zip(rows, np.reshape(values, -1), strict=True):
        row["flux"] = value
    return unit


def _check_planes(image: Image) -> None:
    if image.ndim < 2:
        problem = f"{image.file.name}: an image of one axis has no planes"
        raise usage(problem, "leave --per-plane out")


def _plane_numbers(image: Image, slices: tuple[slice, ...]) -> list[list[int]]:
    """Return the FITS pixels of each plane along NAXIS3, NAXIS4, ..., in the order of planes."""
    axes = [
        range(length)[piece] for piece, length in zip(slices[:-2], image.shape[:-2], strict=True)
    ]
    shape = tuple(len(axis) for axis in axes)
    return [
        [axis[n] + 1 for n, axis in zip(reversed(index), reversed(axes), strict=True)]
        for index in np.ndindex(*shape)
    ]


def _as_json(
    image: Image, pixels: PixelOptions, ddof: int, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    return described(
        image,
        coordinates=image.coordinates.summary.as_dict(),
        **pixels.texts,
        ddof=ddof,
        statistics=rows,
    )


def _cells(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Convert rows to columns without empty ones; a list of one number becomes the number."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: [
            value[0] if isinstance(value, list) and len(value) == 1
            else cell_text(value) if isinstance(value, list)
            else value
            for value in values
        ]
        for name, values in columns.items()
        if any(value is not None for value in values)
    }  # fmt: skip


def _columns(image: Image, rows: list[dict[str, Any]], flux_unit: str | None) -> Columns:
    """Convert rows to columns with units; positions are text, x first, from 1."""
    columns = {}
    for name, values in _cells(rows).items():
        is_text = any(isinstance(value, str) for value in values)
        columns[name] = np.array(
            ["" if v is None else str(v) for v in values] if is_text else values
        )
    units = {name: image.unit for name in columns if name not in UNITLESS} | {"flux": flux_unit}
    units = {name: None if columns[name].dtype.kind == "U" else units.get(name) for name in columns}
    return columns_of(columns, units | {"plane": None})


def _as_csv(rows: list[dict[str, Any]]) -> str:
    cells = _cells(rows)
    table = [["" if value is None else value for value in row]
             for row in zip(*cells.values(), strict=True)]  # fmt: skip
    return csv_text(list(cells), table)


def _as_text(image: Image, rows: list[dict[str, Any]], flux_unit: str | None) -> str:
    if len(rows) == 1 and "plane" not in rows[0]:
        return _single(image, rows[0], flux_unit)
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    table = [[cell_text(row[name]) for name in columns] for row in rows]
    if flux_unit and "flux" in columns:
        columns[columns.index("flux")] = f"flux[{flux_unit}]".replace(" ", "")
    return columns_text(columns, table)


def _single(image: Image, row: dict[str, Any], flux_unit: str | None) -> str:
    """Return a single row as one line per statistic, with unit and position."""
    lines = []
    for name in row:
        if name == "region" or name.endswith("_position"):
            continue
        unit = "" if name in UNITLESS else (flux_unit if name == "flux" else image.unit) or ""
        position = row.get(f"{name}_position")
        location = f"at {cell_text(position)}" if position else ""
        lines.append((name, number_text(row[name]), unit, location))
    return "\n".join([*coordinate_lines(image), aligned(lines, right=[1])])
