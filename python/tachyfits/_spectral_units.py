"""Spectral coordinates in the unit that is asked for: frequency, wavelength, energy or velocity.

The arithmetic is astropy's, by its spectral and Doppler equivalencies; an axis that is not linear
(WAVE-LOG, VOPT-F2W) is evaluated by WCSLIB. Every conversion goes through the frequency. Reference
frames are left as they are: nothing here moves an observer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._errors import usage
from tachyfits._units import asked_unit, fits_unit, unit_text

if TYPE_CHECKING:
    from astropy.units import Quantity

    from tachyfits._header import Header

#: How a Doppler shift is written as a velocity: linear in frequency, linear in wavelength, or the
#: velocity that special relativity gives.
CONVENTIONS = ("radio", "optical", "relativistic")

#: What is linear in what, for axes without an algorithm code.
_LINEAR_IN_WAVELENGTH = ("WAVE", "VOPT", "ZOPT")
_LINEAR_IN_FREQUENCY = ("FREQ", "ENER", "WAVN", "VRAD")


@dataclass(frozen=True)
class Channels:
    """The channels of a section: where they are and how wide.

    Attributes
    ----------
    values
        The coordinate of each centre.
    widths
        The width of each, never negative; a single number when all have the same.
    unit
        Of both, as a FITS header writes it.
    note
        How they came from the header's own coordinates, for HISTORY; "" when they are those.
    rest_hz
        The rest frequency that went into them, None when none did.
    """

    values: NDArray[np.float64]
    widths: NDArray[np.float64]
    unit: str
    note: str = ""
    rest_hz: float | None = None


@dataclass(frozen=True)
class NativeAxis:
    """A spectral axis as the header describes it.

    ``values`` gives coordinates of 0-based pixel numbers, which need not be whole.
    """

    ctype: str
    unit: str
    header: Header
    is_linear: bool
    values: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    @property
    def kind(self) -> str:
        """The first four letters of the CTYPE: "FREQ", "VRAD", ..."""
        return self.ctype.strip().upper()[:4]


def converted(
    native: NativeAxis,
    pixels: NDArray[np.float64],
    step: int,
    unit: str,
    rest: Any,
    convention: str | None,
) -> Channels:
    """Return the channels around ``pixels``, each ``step`` of them wide, in another unit."""
    if convention is not None and convention not in CONVENTIONS:
        raise usage(
            f"there is no velocity convention {convention!r}",
            f"use one of {', '.join(CONVENTIONS)}",
        )
    conversion = _Conversion.choose(native, unit, rest, convention)
    values = conversion(native.values(pixels))
    half = step / 2
    if native.is_linear and conversion.is_linear and pixels.size:
        # Differences of values far from zero have lost digits: the ends of the section have most.
        ends = np.array([pixels[0] - half, pixels[-1] + half])
        widths = np.abs(np.diff(conversion(native.values(ends)))) / pixels.size
    else:
        edges = [conversion(native.values(pixels + side)) for side in (-half, half)]
        widths = np.abs(edges[1] - edges[0])
    good = np.isfinite(values).all() and np.isfinite(widths).all()
    if not good:
        raise usage(
            f"some channels of the {native.ctype.strip()} axis have no value in {unit!r}",
            "check CRVAL, CDELT and the rest frequency, or cut the channels with channels=",
        )
    said = unit_text(conversion.target)
    return Channels(values, widths, said, conversion.note, conversion.rest_hz)


@dataclass(frozen=True)
class _Conversion:
    """From values of a native axis to those in another unit."""

    convert: Callable[[Quantity], Quantity]
    source: Any
    target: Any
    is_linear: bool
    note: str
    rest_hz: float | None = None

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.convert(values * self.source).value, dtype=np.float64)

    @staticmethod
    def choose(native: NativeAxis, unit: str, rest: Any, convention: str | None) -> _Conversion:
        import astropy.units as u

        source, target = fits_unit(native.unit), asked_unit(unit)
        if source is None:
            raise usage(
                f"the unit {native.unit!r} of the {native.ctype.strip()} axis is not known",
                "leave unit= out",
            )
        own = _own_convention(native)
        is_velocity = target.is_equivalent(u.m / u.s)
        same_kind = source.is_equivalent(target) and source.physical_type != "dimensionless"
        if same_kind and (not is_velocity or None in (convention, own) or convention == own):
            said = f"{own or convention} convention" if is_velocity and (own or convention) else ""
            return _Conversion(lambda q: q.to(target), source, target, True, said)
        return _through_frequency(native, source, target, rest, convention, own)


def _through_frequency(
    native: NativeAxis, source: Any, target: Any, rest: Any, convention: str | None, own: str | None
) -> _Conversion:
    """Convert by way of the frequency, with a rest frequency where a velocity needs one."""
    import astropy.units as u

    is_velocity = target.is_equivalent(u.m / u.s)
    if not is_velocity and not target.is_equivalent(u.Hz, u.spectral()):
        raise usage(
            f"{target} is no unit of a spectral axis",
            "use one of frequency, wavelength, energy, wave number or velocity",
        )
    from_doppler = native.kind in ("VRAD", "VOPT", "VELO", "FELO", "ZOPT", "BETA")
    source_convention = own or convention
    if from_doppler and source_convention is None:
        raise usage(
            f"CTYPE {native.ctype.strip()!r} without VELREF does not say what its velocities are",
            'say it with convention=: "radio", "optical" or "relativistic"',
        )
    wanted = convention or own or ("optical" if native.kind in ("WAVE", "AWAV") else "radio")
    needs_rest = is_velocity or from_doppler
    frequency = _rest_frequency(native, rest) if needs_rest else None

    def convert(values: Quantity) -> Quantity:
        hertz = _to_frequency(native.kind, values, frequency, source_convention)
        if is_velocity:
            return hertz.to(target, equivalencies=_doppler(wanted, frequency))
        return hertz.to(target, equivalencies=u.spectral())

    note = f"{wanted} convention" if is_velocity else ""
    if frequency is not None:
        note = f"{note}, rest frequency {float(frequency.value)!r} Hz".lstrip(", ")
    is_linear = _is_linear_in(native.kind, source_convention, target, wanted)
    hz = None if frequency is None else float(frequency.value)
    return _Conversion(convert, source, target, is_linear, note, hz)


def _is_linear_in(kind: str, own: str | None, target: Any, wanted: str) -> bool:
    """Say whether values of a linear axis of that kind are equally spaced in the target unit."""
    import astropy.units as u

    of_velocity = {"radio": _LINEAR_IN_FREQUENCY, "optical": _LINEAR_IN_WAVELENGTH}
    if kind == "VELO" and own in of_velocity:
        kind = "VRAD" if own == "radio" else "VOPT"
    if target.is_equivalent(u.m / u.s):
        return kind in of_velocity.get(wanted, ())
    if target.is_equivalent(u.m):
        return kind in _LINEAR_IN_WAVELENGTH
    return kind in _LINEAR_IN_FREQUENCY


def _to_frequency(kind: str, values: Quantity, rest: Any, convention: str | None) -> Quantity:
    """Return frequencies in Hz of values of a spectral axis."""
    import astropy.units as u
    from astropy.constants import c

    if kind == "ZOPT":
        return rest / (1 + values.to(u.dimensionless_unscaled))
    if kind == "BETA":
        values = values.to(u.dimensionless_unscaled) * c
    if rest is not None and values.unit.is_equivalent(u.m / u.s):
        return values.to(u.Hz, equivalencies=_doppler(str(convention), rest))
    if kind == "AWAV":
        values = values * _refraction_of_air(values)
    return values.to(u.Hz, equivalencies=u.spectral())


def _doppler(convention: str, rest: Any) -> Any:
    import astropy.units as u

    equivalencies = {
        "radio": u.doppler_radio,
        "optical": u.doppler_optical,
        "relativistic": u.doppler_relativistic,
    }
    return equivalencies[convention](rest)


def _refraction_of_air(wavelengths: Quantity) -> Any:
    """Return the refractive index of air, by the wavelength in it, at 15 degrees C.

    B. Edlen, J. Opt. Soc. Am. 43, 339 (1953), which catalogues of lines and WCSLIB follow. The
    formula of FITS Paper III is for air at 0 degrees and puts H alpha 4.7 km/s off.
    """
    import astropy.units as u

    in_air = wavelengths.to_value(u.um)
    index = np.ones_like(in_air)
    for _ in range(3):
        # Of the wave number in vacuum, which the index gives: it changes little.
        square = (in_air * index) ** -2.0
        index = 1.000064328 + 0.0294981 / (146 - square) + 0.0002554 / (41 - square)
    return index


def _own_convention(native: NativeAxis) -> str | None:
    """Return the convention of a velocity axis; None where the header does not say it.

    The Standard's VELO is the apparent radial velocity; AIPS' VELO-LSR and the like are what VELREF
    says: above 256 radio velocities, else optical ones.
    """
    kind = native.kind
    if kind in ("VRAD", "BETA"):
        return "radio" if kind == "VRAD" else "relativistic"
    if kind in ("VOPT", "ZOPT", "FELO"):
        return "optical"
    if kind != "VELO":
        return None
    velref = native.header.get("VELREF")
    if isinstance(velref, int) and velref > 0:
        return "radio" if velref > 256 else "optical"
    return "relativistic" if native.ctype.strip().upper() == "VELO" else None


def _rest_frequency(native: NativeAxis, rest: Any) -> Quantity:
    """Return the rest frequency in Hz: the one asked for, or that of the header."""
    import astropy.units as u

    if rest is not None:
        return _asked_rest(rest)
    for keyword, unit in (("RESTFRQ", u.Hz), ("RESTFREQ", u.Hz), ("RESTWAV", u.m)):
        value = native.header.get(keyword)
        # Programs write 0 for "unknown".
        if isinstance(value, (int, float)) and value > 0:
            return (value * unit).to(u.Hz, equivalencies=u.spectral())
    raise usage(
        "a velocity needs a rest frequency, and the header has neither RESTFRQ nor RESTWAV",
        'give it: rest="1.420405752 GHz", rest="656.28 nm", or a number in Hz',
    )


def _asked_rest(rest: Any) -> Quantity:
    import astropy.units as u

    try:
        quantity = u.Quantity(rest, unit=u.Hz if isinstance(rest, (int, float)) else None)
        hertz = quantity.to(u.Hz, equivalencies=u.spectral())
    except (TypeError, ValueError) as error:
        raise usage(
            f"rest={rest!r} is no frequency or wavelength: {error}",
            'use rest="1.420405752 GHz", rest="656.28 nm", or a number in Hz',
        ) from None
    if not (hertz.isscalar and np.isfinite(hertz.value) and hertz.value > 0):
        raise usage(f"rest={rest!r} is no rest frequency", "give one positive number")
    return hertz
