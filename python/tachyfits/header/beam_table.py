"""The table BEAMS, which CASA writes beside an image whose planes have different beams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.text.units import ANGLE, fits_unit

if TYPE_CHECKING:
    from tachyfits.file.image_hdu import ImageHdu

#: A row: channel and polarisation from 0 (None: all), full widths of the axes and angle in degrees.
Row = tuple[int, "int | None", float, float, float]

#: Name of the table.
NAME = "BEAMS"


def beam_rows(image: ImageHdu) -> list[Row] | None:
    """Return the rows of the table BEAMS of an image; None if there is no such table.

    Raises
    ------
    UsageError
        A column has no unit, or its unit is not an angle.
    """
    if image._core_image().beams() is None:
        return None
    tables = [hdu for hdu in image._companions() if hdu.name.upper() == NAME]
    table: Any = tables[0] if tables else None
    columns = {} if table is None else {column.name.upper(): column for column in table.columns}
    if not columns.keys() >= {"BMAJ", "BMIN", "BPA"}:
        return []

    def numbers(name: str) -> Any:
        values = np.ma.filled(np.ma.asarray(table[columns[name].key], dtype=np.float64), np.nan)
        return values if values.ndim == 1 else np.full(len(values), np.nan)

    place = image._where()
    beams = [numbers(name) * _degrees(columns[name], place) for name in ("BMAJ", "BMIN", "BPA")]
    channels = numbers("CHAN") if "CHAN" in columns else np.arange(len(beams[0]), dtype=np.float64)
    several = "POL" in columns
    polarisations = numbers("POL") if several else np.zeros(len(beams[0]))
    usable = [_is_whole(channels), _is_whole(polarisations), np.isfinite(beams).all(axis=0)]
    valid = np.logical_and.reduce(usable)
    integers = [column[valid].astype(np.int64).tolist() for column in (channels, polarisations)]
    widths = [column[valid].tolist() for column in beams]
    return [
        (channel, polarisation if several else None, *beam)
        for channel, polarisation, *beam in zip(*integers, *widths, strict=True)
    ]


def _is_whole(numbers: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (numbers >= 0) & (numbers < 2**53) & (numbers == np.floor(numbers))


def _degrees(column: Any, place: str) -> float:
    """Return the factor from the unit of a column to degrees."""
    text = (column.unit or "").strip()
    unit = fits_unit(text, ANGLE) if text else None
    if unit is not None and unit.is_equivalent(ANGLE[0]):
        return float(unit.to(ANGLE[0]))
    keyword = f"TUNIT{column.number + 1}"
    expected = f"a unit of angles, found {text!r}" if text else "a unit of angles, found none"
    raise usage(
        f"{place}: invalid {keyword} of {column.name} in the table {NAME}: expected {expected}",
        either(
            f'state it: editor["{NAME}"].header["{keyword}"] = "arcsec", in tachyfits.edit(path); '
            'or give one beam: image.with_beam("15arcsec")',
            f"state it: tachyfits header FILE --hdu {NAME} --set {keyword}=arcsec",
            f"state it in the table {NAME} of the file",
        ),
    )
