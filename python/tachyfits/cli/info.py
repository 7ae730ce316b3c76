"""`tachyfits info`: list the HDUs of files."""

from __future__ import annotations

import math
import warnings
from typing import Any

import click

import tachyfits
from tachyfits import File, Hdu, TachyfitsError, TachyfitsWarning
from tachyfits.cli._common import Common, common_options, coordinate_lines
from tachyfits.cli._output import aligned, json_text, size_text
from tachyfits.file import ImageHdu, axes_of, compression_of, problem_of, stored_table, type_name

HEADING = ("HDU", "name", "ver", "kind", "type", "axes (NAXIS1 first)", "unit", "size")


@click.command()
@common_options(hdu="all", every=True)
def command(common: Common) -> int:
    """List the HDUs of files: shape, type, unit, size, and what departs from the Standard.

    Of images also where they are: the sky at the reference pixel (at the centre, where that pixel
    is outside; counted from 1), pixel scale, spectral range, beam and rest frequency, and which of
    their cards cannot be used.

    \b
    Examples:
      tachyfits info cube.fits
      tachyfits info *.fits --json
    """

    def show(file: File) -> None:
        hdus = list(common.descriptions(file))
        click.echo(json_text(_as_json(file, hdus)) if common.json else _as_text(file, hdus))

    # The warnings are part of the answer here.
    return common.each(show, show_warnings=False)


def _as_text(file: File, hdus: list[Hdu]) -> str:
    count = f"{len(file)} HDU{'' if len(file) == 1 else 's'}"
    lines = [f"{file.name}: {count}, {size_text(file.size_bytes)}"]
    lines.append(aligned([HEADING, *(_row(hdu) for hdu in hdus)], right=[0, 2]))
    for hdu in hdus:
        lines += _compression_lines(file, hdu)
        if isinstance(hdu, ImageHdu) and problem_of(hdu) is None and hdu.ndim:
            lines += coordinate_lines(hdu)
    lines += [f"warning: {warning}" for warning in _warnings(file, hdus)]
    return "\n".join(lines)


def _compression_lines(file: File, hdu: Hdu) -> list[str]:
    """Describe the tile compression of an image or table; empty if there is none."""
    compression = compression_of(hdu)
    if compression is None or stored_table(hdu) is None or not compression.tile:
        return []
    if isinstance(hdu, ImageHdu):
        tile = " x ".join(map(str, reversed(compression.tile)))
        memory = math.prod(compression.tile) * abs(hdu.bitpix) // 8
    else:
        tile = f"{compression.tile[0]} row{'' if compression.tile[0] == 1 else 's'}"
        memory = min(compression.tile[0], axes_of(hdu)[1]) * axes_of(hdu)[0]
    how = f", floats quantised with {compression.quantisation}" if compression.quantisation else ""
    steps = _steps(file, hdu) if compression.quantisation else None
    if steps is not None:
        smallest, largest = (f"{step:.4g}" for step in steps)
        how += f" in steps of {smallest}" + ("" if smallest == largest else f" to {largest}")
    ratio = hdu.data_bytes / compression.stored_bytes if compression.stored_bytes else 0.0
    return [
        f"  HDU {hdu.index}: {compression.algorithm}, tiles of {tile} ({size_text(memory)}){how}; "
        f"{size_text(compression.stored_bytes)} stored, ratio {ratio:.2f}"
    ]


def _steps(file: File, hdu: Hdu) -> tuple[float, float] | None:
    """Return the smallest and the largest step of quantised tiles; None if unknown."""
    if file.path is None:  # standard input
        return None
    with warnings.catch_warnings():
        # Suppress the warning that rows are tiles, which does not apply here.
        warnings.simplefilter("ignore", TachyfitsWarning)
        try:
            with tachyfits.open(file.path, decompress_tiles=False) as raw:
                table = raw.table(hdu.index)
                if "ZSCALE" not in table:
                    return None
                columns = [name for name in ("GZIP_COMPRESSED_DATA", "ZSCALE") if name in table]
                tiles = table.read(columns, raw=True)
        except TachyfitsError:
            return None
    scales = tiles["ZSCALE"]
    if "GZIP_COMPRESSED_DATA" in columns:
        # Losslessly stored tiles have no step.
        scales = scales[tiles["GZIP_COMPRESSED_DATA"].lengths == 0]
    return (float(scales.min()), float(scales.max())) if len(scales) else None


def _row(hdu: Hdu) -> tuple[str, ...]:
    image = hdu if isinstance(hdu, ImageHdu) and problem_of(hdu) is None else None
    compression = compression_of(hdu)
    unknown = "unknown" if isinstance(hdu, ImageHdu) else compression.text if compression else ""
    size = size_text(hdu.data_bytes)
    if hdu.data_bytes_present < hdu.data_bytes:
        size += f" ({size_text(hdu.data_bytes_present)} in the file)"
    return (
        str(hdu.index),
        hdu.name,
        str(hdu.version),
        hdu.kind,
        _type_text(image) if image else unknown,
        " x ".join(map(str, _axes(hdu))),
        (image.unit or "") if image else "",
        size,
    )


def _axes(hdu: Hdu) -> list[int]:
    """Return the lengths of the axes in FITS order; for random groups, the axes of their arrays."""
    if hdu.kind == "random groups" and isinstance(hdu, ImageHdu) and problem_of(hdu) is None:
        return list(reversed(hdu.shape))
    return axes_of(hdu)


def _type_text(image: ImageHdu) -> str:
    bitpix_text = f"BITPIX {image.bitpix}"
    return f"{type_name(image)} ({bitpix_text})"


def _warnings(file: File, hdus: list[Hdu]) -> list[str]:
    """Return the warnings of the file, and the problems of images with unusable headers."""
    problems = (problem_of(hdu) for hdu in hdus if isinstance(hdu, ImageHdu))
    return [*map(str, file.warnings), *(str(problem) for problem in problems if problem)]


def _as_json(file: File, hdus: list[Hdu]) -> dict[str, Any]:
    return {
        "file": file.name,
        "bytes": file.size_bytes,
        "convention": "FITS: NAXIS1 first; HDUs from 0",
        "hdus": [_hdu_as_json(file, hdu) for hdu in hdus],
        "warnings": _warnings(file, hdus),
    }


def _hdu_as_json(file: File, hdu: Hdu) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "hdu": hdu.index,
        "name": hdu.name,
        "version": hdu.version,
        "kind": hdu.kind,
        "naxis": _axes(hdu),
        "data_offset": hdu.data_offset,
        "data_bytes": hdu.data_bytes,
        "data_bytes_present": hdu.data_bytes_present,
    }
    compression = compression_of(hdu)
    if compression is not None:
        answer["compression"] = {
            "content": compression.content,
            "codec": compression.algorithm,
            "naxis": list(reversed(compression.shape)),
            "tile": list(reversed(compression.tile)),
            "quantisation": compression.quantisation,
            "stored_bytes": compression.stored_bytes,
            "steps": _steps(file, hdu) if compression.quantisation else None,
        }
    if isinstance(hdu, ImageHdu) and problem_of(hdu) is None:
        scaling = hdu.scaling
        answer |= {
            "bitpix": hdu.bitpix,
            "type": type_name(hdu),
            "unit": hdu.unit,
            "bscale": scaling.bscale,
            "bzero": scaling.bzero,
            "blank": scaling.blank,
            "ctype": [hdu.header.get(f"CTYPE{n}") for n in range(1, hdu.ndim + 1)],
            "coordinates": hdu.coordinates.summary.as_dict(),
        }
    return answer
