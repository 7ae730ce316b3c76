"""Spectral coordinates in a requested unit: frequency, wavelength, energy or velocity.

astropy's spectral and Doppler equivalencies do the arithmetic. Every conversion goes through the
frequency. Reference frames stay unchanged: nothing here corrects for the observer's motion.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.header.coordinates import (
    DOPPLER_TYPES,
    Axis,
    Coordinates,
    pixel_numbers,
)
from tachyfits.text.axes import algorithm_of, coordinate_type
from tachyfits.text.units import SPECTRAL, asked_unit, fits_unit, spectral_quantity, unit_text

if TYPE_CHECKING:
    from astropy.units import Quantity

#: Definition of a Doppler velocity: linear in frequency, linear in wavelength, or relativistic.
Convention: TypeAlias = Literal["radio", "optical", "relativistic"]
CONVENTIONS = get_args(Convention)

#: Medium in which a rest wavelength was measured.
Medium: TypeAlias = Literal["vacuum", "air"]
MEDIA = get_args(Medium)


@dataclass(frozen=True)
class Line:
    """Requested form of the spectral axis: the arguments of `Image.moments` with these names."""

    unit: str | None = None
    rest: Any = None
    convention: str | None = None
    rest_medium: str | None = None


@dataclass(frozen=True)
class Described:
    """Cards of a converted axis: CTYPE, CUNIT, CRVAL, and the factor of its increment."""

    ctype: str
    cunit: str
    crval: float
    factor: float


@dataclass(frozen=True)
class Channels:
    """Coordinates and widths of the channels of a section.

    Attributes
    ----------
    name
        CTYPE of the coordinate.
    values
        Coordinate of the centre of each channel.
    widths
        Width of each channel, never negative; a single number if all are equal.
    unit
        Unit of both, as written in a FITS header.
    note
        Conversion from the header's coordinates, for HISTORY; "" if there is none.
    rest_hz
        Rest frequency used, or None.
    described
        Cards of the converted coordinates; None if the header's cards stay.
    """

    name: str
    values: NDArray[np.float64]
    widths: NDArray[np.float64]
    unit: str
    note: str = ""
    rest_hz: float | None = None
    described: Described | None = None


def channels_of(
    coordinates: Coordinates, number: int, pieces: tuple[int, int, int], line: Line
) -> Channels:
    """Return the channels of a section of an axis (NumPy number) in a requested form.

    Raises
    ------
    FormatError
        A card of the coordinates is invalid.
    UsageError
        The axis does not convert to that unit.
    """
    start, count, step = pieces
    axis = coordinates.usable_axis(number, count)
    pixels = pixel_numbers(start, count, step)
    if line.unit is None:
        if line != Line():
            raise usage(
                "rest, convention and rest_medium are for another unit",
                either(
                    'name it: unit="km/s"', "name it: --unit km/s", "name it by unit, such as km/s"
                ),
            )
        return Channels(axis.name, axis.values(pixels), axis.widths(pixels, step), axis.unit)
    if not axis.has_coordinate:
        name = f"NAXIS{axis.number} ({axis.ctype or 'no CTYPE'})"
        problem = axis.problem or f"{name} has no coordinates"
        raise usage(f"{problem}: it has no values in {line.unit!r}", "leave the unit out")
    failed = f"{coordinates.where}: the {axis.name} axis has no values in {line.unit!r}"
    with foreign_errors(failed, "leave the unit out, or correct CUNIT"):
        conversion = _Conversion.choose(axis, coordinates, line)
        values = conversion(axis.values(pixels))
        half = step / 2
        if axis.is_linear and conversion.is_linear and pixels.size:
            # Differences of values far from zero lose digits; the end points lose the fewest.
            ends = np.array([pixels[0] - half, pixels[-1] + half])
            widths = np.abs(np.diff(conversion(axis.values(ends)))) / pixels.size
        else:
            edges = [conversion(axis.values(pixels + side)) for side in (-half, half)]
            widths = np.abs(edges[1] - edges[0])
        described = _described(axis, conversion)
    good = np.isfinite(values).all() and np.isfinite(widths).all()
    if not good:
        raise usage(
            f"some channels of the {axis.name} axis have no value in {line.unit!r}",
            "check CRVAL, CDELT and the rest frequency, or cut the channels with "
            + either("channels=", "--channels", "channels"),
        )
    return Channels(
        conversion.name, values, widths, unit_text(conversion.target), conversion.note,
        conversion.rest_hz, described,
    )  # fmt: skip


def converted(
    axis: Axis,
    coordinates: Coordinates,
    values: NDArray[np.float64],
    line: Line,
    factor: float = 1.0,
) -> NDArray[np.float64]:
    """Return values of an axis in another unit, with frequencies multiplied by ``factor``.

    ``factor`` converts between the reference frames of two observers.

    Raises
    ------
    UsageError
        The axis does not convert to that unit, or a velocity needs data that the header lacks.
    """
    conversion = _Conversion.choose(axis, coordinates, line)
    if factor == 1.0:
        return conversion(values)
    if conversion.is_same_kind and not conversion.is_velocity:
        # Wavelengths are the inverse of frequencies.
        is_length = conversion.target.is_equivalent("m")
        return conversion(values) * (1.0 / factor if is_length else factor)
    if conversion.is_same_kind and line.rest is None and coordinates.rest_frequency() is None:
        # Between two velocities of one convention, any rest frequency gives the same result.
        line = replace(line, rest="1 GHz")
    own = _own_convention(axis, coordinates)
    through = _through_frequency(
        axis, coordinates, conversion.source, conversion.target, line, own, factor
    )
    return through(values)


#: Quantity in which values of each type are linear, by the letters of Paper III: frequency,
#: wavelength, wavelength in air, velocity.
_LINEAR_IN = {
    "FREQ": "F", "ENER": "F", "WAVN": "F", "VRAD": "F", "WAVE": "W", "VOPT": "W", "ZOPT": "W",
    "AWAV": "A", "VELO": "V", "BETA": "V",
}  # fmt: skip


def _described(axis: Axis, conversion: _Conversion) -> Described | None:
    """Return the cards of the converted axis (Standard, 8.4): VOPT-F2W and the like."""
    ours, theirs = conversion.linear_in, _LINEAR_IN.get(coordinate_type(conversion.name)[0])
    if not axis.is_linear or (ours != theirs and None in (ours, theirs)):
        return None
    ctype = conversion.name if ours == theirs else f"{conversion.name}-{ours}2{theirs}"
    value = float(conversion(np.array([axis.crval]))[0])
    factor = conversion.derivative(axis.crval)
    if not np.isfinite([value, factor]).all() or factor == 0:
        return None
    return Described(ctype, unit_text(conversion.target), value, factor)


@dataclass(frozen=True)
class _Conversion:
    """Conversion of values of a native axis to another unit."""

    convert: Callable[[Quantity], Quantity]
    source: Any
    target: Any
    is_linear: bool
    name: str
    note: str
    rest_hz: float | None = None
    #: Quantity in which the axis itself is linear, as in `_LINEAR_IN`.
    linear_in: str | None = None
    #: Whether only the unit differs.
    is_same_kind: bool = False
    #: Derivatives of the frequency with respect to the axis value and to the target value.
    slopes: tuple[_Slope, _Slope] | None = None

    @property
    def is_velocity(self) -> bool:
        """Whether the result is a velocity."""
        return bool(self.target.is_equivalent("m/s"))

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.convert(values * self.source).value, dtype=np.float64)

    def derivative(self, value: float) -> float:
        """Return the derivative of the converted value by the axis value (Paper III, 2.1)."""
        if self.slopes is None:
            return float((1.0 * self.source).to_value(self.target))
        own, target = self.slopes
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = own(value * self.source) / target(self.convert(value * self.source))
            return float(ratio.to_value(self.target / self.source))

    @staticmethod
    def choose(axis: Axis, coordinates: Coordinates, line: Line) -> _Conversion:
        import astropy.units as u

        if line.convention is not None and line.convention not in CONVENTIONS:
            raise usage(
                f"invalid convention {line.convention!r}: expected {', '.join(CONVENTIONS)}",
                "leave it out for that of the axis",
            )
        if line.rest_medium is not None and line.rest_medium not in MEDIA:
            raise usage(
                f"invalid rest_medium {line.rest_medium!r}: expected {', '.join(MEDIA)}",
                "leave it out for the medium of the axis",
            )
        source, target = fits_unit(axis.unit, SPECTRAL), asked_unit(str(line.unit), SPECTRAL)
        if source is None:
            raise coordinates.cards.invalid(f"CUNIT{axis.number}", axis.cunit, "a known unit")
        own = _own_convention(axis, coordinates)
        is_velocity = target.is_equivalent(u.m / u.s)
        same_kind = source.is_equivalent(target) and source.physical_type != "dimensionless"
        if same_kind and (
            not (is_velocity and axis.is_spectral)
            or (
                (None in (line.convention, own) or line.convention == own)
                and not _is_about_another_line(axis, coordinates, line)
            )
        ):
            convention = own or line.convention if is_velocity else None
            note = f"{convention} convention" if convention else ""
            linear_in = _LINEAR_IN.get(axis.kind)
            return _Conversion(
                lambda q: q.to(target), source, target, True, axis.name, note, None, linear_in,
                is_same_kind=True,
            )  # fmt: skip
        if not axis.is_spectral:
            raise usage(
                f"NAXIS{axis.number} ({axis.name}, in {axis.unit or 'no unit'}) is not a "
                f"spectral axis: it has no values in {line.unit!r}",
                "leave the unit out",
            )
        return _through_frequency(axis, coordinates, source, target, line, own)


def _through_frequency(
    axis: Axis,
    coordinates: Coordinates,
    source: Any,
    target: Any,
    line: Line,
    own: str | None,
    factor: float = 1.0,
) -> _Conversion:
    """Convert through the frequency, with a rest frequency if a velocity needs one."""
    import astropy.units as u

    is_velocity = target.is_equivalent(u.m / u.s)
    if not is_velocity and not target.is_equivalent(u.Hz, u.spectral()):
        raise usage(
            f"invalid unit {line.unit!r}: expected a unit of a spectral axis",
            "use one of frequency, wavelength, energy, wave number or velocity",
        )
    from_doppler = axis.kind in DOPPLER_TYPES
    source_convention = own or line.convention
    if from_doppler and source_convention is None:
        raise usage(
            f"CTYPE {axis.ctype!r} without VELREF does not define its velocity convention",
            either(
                'say it: convention="radio", "optical" or "relativistic"',
                "say it: --convention radio, optical or relativistic",
                "say it by convention: radio, optical or relativistic",
            ),
        )
    convention = line.convention or own or ("optical" if axis.kind in ("WAVE", "AWAV") else "radio")
    needs_rest = is_velocity or from_doppler
    frequency = rest_frequency_of(axis, coordinates, line) if needs_rest else None
    own_rest, header_rest = frequency, coordinates.rest_frequency()
    if from_doppler and is_velocity and header_rest is not None:
        own_rest = header_rest * u.Hz

    def convert(values: Quantity) -> Quantity:
        hertz = _to_frequency(axis.kind, values, own_rest, source_convention) * factor
        if is_velocity:
            return hertz.to(target, equivalencies=_doppler(convention, frequency))
        return hertz.to(target, equivalencies=u.spectral())

    note = f"{convention} convention" if is_velocity else ""
    if frequency is not None:
        note = f"{note}, rest frequency {float(frequency.value)!r} Hz".lstrip(", ")
    hz = None if frequency is None else float(frequency.value)
    linear_in = _LINEAR_IN.get(axis.kind)
    if axis.kind == "VELO":
        linear_in = {"radio": "F", "optical": "W"}.get(str(source_convention), "V")
    if own_rest != frequency and linear_in == "V":
        # Relativistic velocities about one line are not linear in those about another.
        linear_in = None
    name = _name_of(target, convention)
    is_linear = linear_in == _LINEAR_IN[name]
    own_kind = {"radio": "VRAD", "optical": "VOPT", "relativistic": "VELO"}.get(
        str(source_convention) if axis.kind in ("VELO", "FELO") else "", axis.kind
    )
    slopes = (
        functools.partial(_slope, own_kind, rest=own_rest),
        functools.partial(_slope, name, rest=frequency),
    )
    return _Conversion(convert, source, target, is_linear, name, note, hz, linear_in, slopes=slopes)


#: Derivative of the frequency with respect to a spectral value.
_Slope = Callable[["Quantity"], "Quantity"]


def _slope(kind: str, value: Quantity, *, rest: Any = None) -> Quantity:
    """Return the derivative of the frequency by a value of a spectral type (Paper III, table 3)."""
    import astropy.units as u
    from astropy.constants import c

    if kind in _CONVENTION_OF and rest is not None:
        hertz = _to_frequency(kind, value, rest, _CONVENTION_OF[kind])
        plain = kind in ("ZOPT", "BETA")
        beta = value.to(u.dimensionless_unscaled) if plain else (value / c).to(u.one)
        by_beta = {
            "VRAD": -rest,
            "VOPT": -(hertz**2) / rest,
            "ZOPT": -(hertz**2) / rest,
        }.get(kind, -hertz / (1 - beta**2))
        return by_beta / (u.one if plain else c)
    hertz = _to_frequency(kind, value, None, None)
    if kind == "AWAV":
        # The refractive index of air changes slowly with the wavelength.
        near = value * np.array([0.999, 1.001])
        index = _refraction_of_air(near)
        return -hertz / value * (1 + np.log(index[1] / index[0]) / np.log(1.001 / 0.999))
    return (-hertz if value.unit.is_equivalent(u.m) else hertz) / value


#: Conventions of types that are velocities, or redshifts.
_CONVENTION_OF = {
    "VRAD": "radio", "VOPT": "optical", "VELO": "relativistic", "ZOPT": "optical",
    "BETA": "relativistic",
}  # fmt: skip


def _name_of(target: Any, convention: str) -> str:
    """Return the CTYPE of coordinates in a unit."""
    import astropy.units as u

    if target.is_equivalent(u.m / u.s):
        return {"radio": "VRAD", "optical": "VOPT", "relativistic": "VELO"}[convention]
    for unit, name in ((u.Hz, "FREQ"), (u.m, "WAVE"), (u.J, "ENER")):
        if target.is_equivalent(unit):
            return name
    return "WAVN"


def _to_frequency(kind: str, values: Quantity, rest: Any, convention: str | None) -> Quantity:
    """Return the frequencies, in Hz, of values of a spectral axis."""
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
    """Return the refractive index of air at 15 degrees C for wavelengths in air.

    B. Edlen, J. Opt. Soc. Am. 43, 339 (1953), as in line catalogues and WCSLIB. The formula of FITS
    Paper III is for air at 0 degrees and puts H alpha 4.7 km/s off.
    """
    import astropy.units as u

    in_air = wavelengths.to_value(u.um)
    index = np.ones_like(in_air)
    for _ in range(3):
        # The formula takes the wave number in vacuum, which depends slightly on the index: iterate.
        square = (in_air * index) ** -2.0
        index = 1.000064328 + 0.0294981 / (146 - square) + 0.0002554 / (41 - square)
    return index


def _own_convention(axis: Axis, coordinates: Coordinates) -> str | None:
    """Return the convention of a velocity axis; None if the header does not determine it.

    The Standard's VELO, also as VELO-F2V, is the apparent radial velocity; for AIPS' VELO-LSR and
    the like VELREF decides: above 256 radio velocities, else optical ones.
    """
    kind = axis.kind
    if kind in ("VRAD", "BETA"):
        return "radio" if kind == "VRAD" else "relativistic"
    if kind in ("VOPT", "ZOPT", "FELO"):
        return "optical"
    if kind != "VELO":
        return None
    if algorithm_of(axis.ctype):
        return "relativistic"
    velref = coordinates.velref
    if velref is not None and velref > 0:
        return "radio" if velref > 256 else "optical"
    return "relativistic" if axis.ctype.upper() == "VELO" else None


def rest_frequency_of(axis: Axis, coordinates: Coordinates, line: Line) -> Quantity:
    """Return the rest frequency in Hz: the requested one, or the header's.

    A requested rest wavelength is in the medium of the axis unless ``rest_medium`` is set; RESTWAV
    of a header is in vacuum (Standard, 8.4.1).
    """
    import astropy.units as u

    if line.rest is not None:
        medium = line.rest_medium or ("air" if axis.kind == "AWAV" else "vacuum")
        return _asked_rest(line.rest, medium)
    hertz = coordinates.rest_frequency()
    if hertz is not None:
        return hertz * u.Hz
    if axis.kind == "AWAV":
        rest = either('rest="656.28 nm"', "--rest '656.28 nm'", "rest, such as 656.28 nm,")
        hint = (
            f"give it: {rest} is a wavelength in air, as the axis has it (refractive index by "
            "Edlén 1953); "
            + either('rest_medium="vacuum"', "--rest-medium vacuum")
            + " says that it is one in vacuum"
        )
    else:
        hint = either(
            'give it: rest="1.420405752 GHz", or rest="656.461 nm" (in vacuum)',
            "give it: --rest '1.420405752 GHz', or --rest '656.461 nm' (in vacuum)",
            "give it by rest: '1.420405752 GHz', or '656.461 nm' (in vacuum)",
        )
    raise usage("a velocity needs a rest frequency, and the header has no usable one", hint)


def _is_about_another_line(axis: Axis, coordinates: Coordinates, line: Line) -> bool:
    """Return whether a rest frequency other than the header's is requested."""
    header_rest = coordinates.rest_frequency()
    if line.rest is None or header_rest is None:
        return False
    return bool(rest_frequency_of(axis, coordinates, line).value != header_rest)


def _asked_rest(rest: Any, medium: str) -> Quantity:
    import astropy.units as u

    hint = either(
        'use rest="1.420405752 GHz", rest="656.28 nm", or a Quantity of astropy',
        "use --rest '1.420405752 GHz', or --rest '656.28 nm'",
        "use a frequency or a wavelength: '1.420405752 GHz', '656.28 nm'",
    )
    with foreign_errors(f"invalid rest {rest!r}", hint):
        quantity = spectral_quantity(rest)
        if medium == "air" and quantity.unit.is_equivalent(u.m):
            quantity = quantity * _refraction_of_air(quantity)
        hertz = quantity.to(u.Hz, equivalencies=u.spectral())
        good = hertz.isscalar and np.isfinite(hertz.value) and hertz.value > 0
    if not good:
        raise usage(f"invalid rest {rest!r}: expected one positive number", hint)
    return hertz
