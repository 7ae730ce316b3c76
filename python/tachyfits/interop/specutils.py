"""Conversion of specutils spectra; specutils is imported on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import usage
from tachyfits.base.optional import needed
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.given import given_cards
from tachyfits.results.measured import with_unit
from tachyfits.results.spectrum import Spectrum
from tachyfits.text.axes import WorldAxis, coordinate_type
from tachyfits.text.units import text_of_unit

if TYPE_CHECKING:
    import specutils

#: CTYPE by the kind of a coordinate; velocities by convention.
_NAMES = {"frequency": "FREQ", "length": "WAVE", "energy": "ENER", "wavenumber": "WAVN"}
_VELOCITIES = {"radio": "VRAD", "optical": "VOPT", "relativistic": "VELO"}
_CONVENTIONS = {"VRAD": "radio", "VOPT": "optical", "FELO": "optical"}


def specutils_spectrum(spectrum: Spectrum) -> specutils.Spectrum:
    """Return a specutils spectrum: values, coordinates, rest frequency and header."""
    library = needed("specutils", "a spectrum of specutils")
    import astropy.units as u

    # Its name before specutils 2 was Spectrum1D.
    kind = getattr(library, "Spectrum", None) or library.Spectrum1D
    axis = spectrum.axis
    options: dict[str, Any] = {}
    convention = _CONVENTIONS.get(coordinate_type(axis.name)[0])
    if convention is not None:
        options["velocity_convention"] = convention
    rest = Coordinates(spectrum.header, 1).rest_frequency()
    if rest is not None:
        options["rest_value"] = rest * u.Hz
    meta = {"header": spectrum.header.to_astropy(), "statistic": spectrum.statistic}
    result: specutils.Spectrum = kind(
        flux=spectrum.quantity,
        spectral_axis=axis.quantity,
        meta=meta,
        **options,
    )
    return result


def spectrum_of(given: Any) -> Spectrum:
    """Return a specutils spectrum as a `Spectrum`; masked values are NaN.

    Raises
    ------
    UsageError
        The spectrum has more than one axis.
    """
    if np.ndim(given.flux.value) != 1:
        raise usage(
            f"invalid spectrum of shape {np.shape(given.flux.value)}: expected one axis",
            "give one spectrum of them: spectrum[0]",
        )
    values = np.array(given.flux.value, dtype=np.float64)
    if given.mask is not None:
        values[np.asarray(given.mask, dtype=bool)] = np.nan
    unit = text_of_unit(given.flux.unit)
    axis = _axis_of(given)
    cards = given_cards(given.meta.get("header"))
    header = Header(cards).replaced(_coordinates(axis, len(values)), without=_OLD)
    header = with_unit(header, unit)
    rest = getattr(given, "rest_value", None)
    if rest is not None and rest.value > 0:
        import astropy.units as u

        header = header.replaced({"RESTFRQ": float(rest.to_value("Hz", u.spectral()))})
    statistic = str(given.meta.get("statistic", "spectrum"))
    return Spectrum(axis, values, unit, statistic, None, header)


#: Cards of the axis in a header of ``meta``, replaced by the coordinates of the spectrum.
_OLD = ("NAXIS", "NAXIS1", "CTYPE1", "CUNIT1", "CRPIX1", "CRVAL1", "CDELT1", "CD1_1", "PC1_1")


def _axis_of(spectrum: Any) -> WorldAxis:
    values = spectrum.spectral_axis
    kinds = {str(kind) for kind in values.unit.physical_type}
    convention = str(getattr(spectrum, "velocity_convention", None) or "relativistic")
    name = next((name for kind, name in _NAMES.items() if kind in kinds), "LINEAR")
    if kinds & {"speed", "velocity"}:
        name = _VELOCITIES.get(convention.removeprefix("doppler_"), "VELO")
    return WorldAxis(name, text_of_unit(values.unit) or "", np.asarray(values.value, np.float64))


def _coordinates(axis: WorldAxis, count: int) -> dict[str, Any]:
    """Return the cards of an axis with equal steps; empty for other axes."""
    steps = np.diff(axis.values)
    if count < 2 or not np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        return {}
    step = float(axis.values[-1] - axis.values[0]) / (count - 1)
    return {
        "CTYPE1": axis.name, "CUNIT1": axis.unit, "CRPIX1": 1.0, "CRVAL1": float(axis.values[0]),
        "CDELT1": step,
    }  # fmt: skip
