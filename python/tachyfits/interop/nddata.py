"""Conversion of astropy.nddata images (CCDData, NDData) to HDUs; astropy is not imported.

astropy writes the pixels, an extension MASK, and UNCERT and PSFIMAGE if present. Here masked pixels
are written as undefined, so every reader sees them; UNCERT and PSFIMAGE are as in astropy.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage, warn
from tachyfits.header.cards import Header
from tachyfits.header.distortions import is_distortion
from tachyfits.header.given import Cards, given_cards, last_of_each
from tachyfits.interop.to_columns import meta_cards, table_cards
from tachyfits.results.plane import Plane
from tachyfits.text.units import text_of_unit

if TYPE_CHECKING:
    import astropy.nddata

#: An array, and the cards of its HDU.
Part = tuple[NDArray[Any], Header]

#: Uncertainty classes that CCDData.read restores: their unit is a power of the data's.
_POWERS = {"StdDevUncertainty": 1, "VarianceUncertainty": 2, "InverseVariance": -2}


def parts_of(data: Any, header: Any = None) -> list[Part]:
    """Return the HDUs of an astropy.nddata image: the pixels, UNCERT and PSFIMAGE.

    Cards of ``header`` are added to those of its meta, and override them.
    """
    pixels = np.asarray(data.data)
    if data.mask is not None:
        pixels = np.ma.MaskedArray(pixels, mask=np.broadcast_to(data.mask, pixels.shape))
    corrections = _corrections_of(data.wcs)
    parts = [(pixels, Header(_cards_of(data, header, corrections)))]
    if data.uncertainty is not None:
        parts += _uncertainty_of(data)
    if getattr(data, "psf", None) is not None:
        parts.append((np.asarray(data.psf), Header([("EXTNAME", "PSFIMAGE", "")])))
    return parts + [(hdu.data, Header(given_cards(hdu.header))) for hdu in corrections[1:]]


def _corrections_of(wcs: Any) -> list[Any]:
    """Return the HDUs of pixel corrections of coordinates; empty if they have none."""
    tables = [getattr(wcs, name, None) for name in ("cpdis1", "cpdis2", "det2im1", "det2im2")]
    return [] if tables == [None] * 4 else list(wcs.to_fits(relax=True))


def _cards_of(data: Any, header: Any, corrections: list[Any]) -> Cards:
    """Return the cards of the pixels: from meta, coordinates, unit and ``header``."""
    cards = given_cards(data.meta) if hasattr(data.meta, "cards") else meta_cards(data)
    cards += _unit_cards(data.unit)
    if hasattr(data.wcs, "to_header"):
        # The distortion of the coordinates counts; meta would repeat its records.
        cards = [card for card in cards if not is_distortion(card[0])]
        own = corrections[0].header if corrections else data.wcs.to_header(relax=True)
        cards += given_cards(own)
    elif data.wcs is not None:
        warn(
            f"coordinates of type {type(data.wcs).__name__} cannot be written as cards and are "
            "left out\n"
            "hint: give astropy.wcs.WCS for them"
        )
    # The last card of a keyword counts.
    return last_of_each(table_cards(Header([*cards, *table_cards(header)])))


def _unit_cards(unit: Any) -> Cards:
    text = text_of_unit(unit)
    return [] if text is None else [("BUNIT", text, "")]


def _uncertainty_of(data: Any) -> list[Part]:
    uncertainty = data.uncertainty
    name = type(uncertainty).__name__
    if name not in _POWERS or uncertainty.array is None:
        warn(
            f"an uncertainty of type {name} cannot be written so that readers know it; it is left "
            "out\n"
            f"hint: {', '.join(_POWERS)} are written, as extension UNCERT"
        )
        return []
    array = np.asarray(uncertainty.array)
    cards: Cards = [("EXTNAME", "UNCERT", ""), ("UTYPE", name, "kind of uncertainty")]
    if uncertainty.unit is not None and data.unit is not None:
        unit = data.unit ** _POWERS[name]
        array = uncertainty.unit.to(unit, array)
        cards += _unit_cards(unit)
    return [(array, Header(cards))]


def ccd_data(plane: Plane) -> astropy.nddata.CCDData:
    """Return a plane as an astropy CCDData; undefined pixels are masked."""
    import astropy.units as u
    from astropy.nddata import CCDData

    result: astropy.nddata.CCDData = CCDData(
        plane.values.copy(),
        unit=plane.quantity.unit if plane.unit else u.dimensionless_unscaled,
        wcs=plane.wcs,
        mask=np.isnan(plane.values),
        meta=plane.header.to_astropy(),
    )
    return result


def plane_of(data: Any) -> Plane:
    """Return CCDData or NDData of two axes as a `Plane`; masked pixels are NaN.

    Raises
    ------
    UsageError
        It does not have two axes.
    """
    if np.ndim(data.data) != 2:
        raise usage(
            f"invalid image of shape {np.shape(data.data)}: expected two axes",
            either("write it, and open the file: tf.write(path, data)"),
        )
    pixels, header = parts_of(data)[0]
    values = np.ma.filled(np.ma.asarray(pixels, dtype=np.float64), np.nan)
    name = str(header.get("OBJECT", "pixels"))
    companions = _bytes_of(_corrections_of(data.wcs)[1:])
    return Plane(values, header.get("BUNIT"), header, name, companions=companions)


def _bytes_of(hdus: list[Any]) -> bytes:
    """Return astropy extensions as the bytes of a file."""
    if not hdus:
        return b""
    from astropy.io import fits

    stream = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), *hdus]).writeto(stream)
    return stream.getvalue()[2880:]
