"""World coordinates of a header: its axes, its sky and its spectral axis.

`Coordinates` serves every user of coordinates: spectra, moments, position-velocity cuts, smoothing
on the sky, beams, pictures, lists of files. Linear axes are computed here; projections, logarithmic
axes and tables are evaluated by WCSLIB through astropy, which is imported on demand and gets
checked cards only (`header.wcs_cards`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tachyfits._core import UsageError
from tachyfits.base.errors import either, foreign_errors, memory_error, usage, warn
from tachyfits.base.lazy_numpy import np
from tachyfits.header.cards import Header
from tachyfits.header.companion_hdus import companion_hdus
from tachyfits.header.frame_names import SYSTEMS, SkySystem
from tachyfits.header.sky import Sky, sky_of, system_of
from tachyfits.header.wcs_cards import (
    CELESTIAL_EXTRAS,
    MOST_AXES,
    SPECTRAL_EXTRAS,
    Kind,
    WcsCards,
    header_text,
)
from tachyfits.text.axes import (
    WorldAxis,
    algorithm_of,
    coordinate_type,
    counted_axes,
    is_celestial,
    is_spectral,
)
from tachyfits.text.units import (
    ANGLE,
    LIGHT,
    SPECTRAL,
    axis_unit_text,
    fits_unit,
    text_of_unit,
)

if TYPE_CHECKING:
    import astropy.wcs
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

#: Unit and name of an axis without a coordinate: every output counts its pixels from 1, as the
#: Standard does.
PIXEL = "pixel"

#: Units that the Standard assumes if CUNIT is blank.
_DEFAULT_UNITS = {
    "FREQ": "Hz", "ENER": "J", "WAVN": "m-1", "VRAD": "m s-1", "WAVE": "m", "VOPT": "m s-1",
    "AWAV": "m", "VELO": "m s-1", "FELO": "m s-1",
}  # fmt: skip
#: Spectral types with a velocity coordinate, for which WCSLIB requires a rest frequency.
DOPPLER_TYPES = ("VRAD", "VOPT", "VELO", "FELO", "ZOPT", "BETA")
#: Types of axes whose pixels are never channels: polarisations, parts of complex numbers, faces of
#: a cube of the sky.
_NO_CHANNELS = ("STOKES", "COMPLEX", "CUBEFACE")


#: Maximum number of coordinates per call (512 MiB): headers may claim axes of any length.
_MOST_COORDINATES = 1 << 26


def pixel_numbers(start: int, count: int, step: int) -> Any:
    """Return the numbers of pixels along an axis, from 0, as floats.

    Raises
    ------
    LimitError
        There are too many pixels.
    """
    if count > _MOST_COORDINATES:
        raise memory_error(
            f"coordinates of {count} pixels are too many: expected at most {_MOST_COORDINATES}",
            "take fewer channels: " + either("channels=", "--channels", "the parameter channels"),
        )
    return np.arange(count, dtype=np.float64) * step + start


@dataclass(frozen=True)
class Axis:
    """Values of the cards of one axis.

    Attributes
    ----------
    number
        Number of the FITS axis, from 1.
    ctype, cunit
        As in the header, "" if absent.
    crval, crpix, cdelt
        Value at the reference pixel (counted from 1), and increment: the diagonal of the matrix.
    unit
        Standard name of the unit of the coordinate; "pixel" if the axis has no coordinate.
    problem
        Reason why the axis has no coordinate; "" if it has one, or has no cards at all.
    """

    number: int
    ctype: str
    cunit: str
    crval: float
    crpix: float
    cdelt: float
    unit: str
    has_coordinate: bool
    problem: str = ""
    _evaluate: Callable[[Values], Values] | None = field(default=None, repr=False, compare=False)

    @property
    def kind(self) -> str:
        """Coordinate type in CTYPE: "FREQ", "VRAD", ..."""
        return coordinate_type(self.ctype)[0]

    @property
    def name(self) -> str:
        """CTYPE; "LINEAR" for an axis without it, "pixel" for an axis without a coordinate."""
        return (self.ctype or "LINEAR") if self.has_coordinate else PIXEL

    @property
    def is_spectral(self) -> bool:
        """Whether the axis is a frequency, wavelength, velocity or energy."""
        return is_spectral(self.ctype)

    @property
    def is_linear(self) -> bool:
        """Whether equal steps in pixels are equal steps of the coordinate."""
        return self._evaluate is None

    def values(self, pixels: Values) -> Values:
        """Return the coordinates of 0-based pixels, which may be fractional."""
        if not self.has_coordinate:
            return pixels + 1.0
        if self._evaluate is not None:
            return self._evaluate(pixels)
        return self.crval + self.cdelt * (pixels + 1.0 - self.crpix)

    def ends(self, count: int) -> tuple[float, float]:
        """Return the coordinates of the first and last of ``count`` pixels; see `values`."""
        if self._evaluate is not None:
            first, last = self._evaluate(np.array([0.0, count - 1.0]))
            return float(first), float(last)
        if not self.has_coordinate:
            return 1.0, float(count)
        first, last = (self.crval + self.cdelt * (pixel - self.crpix) for pixel in (1.0, count))
        return first, last

    def widths(self, pixels: Values, step: int) -> Values:
        """Return the widths of channels of ``step`` pixels: a single number if all are equal.

        On a linear axis this is the header's increment, which a single channel also has;
        differences of values far from zero would lose digits.
        """
        if self._evaluate is not None:
            ends = [self.values(pixels + side) for side in (-step / 2, step / 2)]
            return np.abs(ends[1] - ends[0])
        return np.array([abs(step * (self.cdelt if self.has_coordinate else 1.0))])


#: Function that returns an HDU beside the image, a table or an image, by EXTNAME and EXTVER.
CompanionOf = Callable[[str, int], Any]


class Coordinates:
    """The world coordinates of a header.

    Parameters
    ----------
    header
        Header of an image or of a result.
    ndim
        NAXIS.
    where
        File and HDU, for messages.
    companion
        Function that returns the HDUs that coordinates need: tables of -TAB axes, images of
        corrections (CPDIS).
    tell
        Function that reports warnings.
    """

    def __init__(
        self,
        header: Header,
        ndim: int,
        where: str = "",
        companion: CompanionOf | None = None,
        tell: Callable[[str], None] = warn,
    ) -> None:
        self.header = header
        self.ndim = ndim
        self.where = where
        self.cards = WcsCards(header, ndim, where, tell)
        self.companion = companion
        self._axes: dict[int, Axis] = {}
        #: Pixels of regions on the sky, cached by `image.chosen_regions`.
        self.rasters: dict[Any, Any] = {}
        #: Factors between spectral frames, which `header.spectral_frames` computes with astropy.
        self.frame_factors: dict[tuple[str, str], float] = {}

    # Roles of axes.

    @cached_property
    def ctypes(self) -> list[str]:
        """CTYPE1, CTYPE2, ..., "" if absent."""
        values = (self.header.get(f"CTYPE{n}") for n in range(1, self.ndim + 1))
        types = [value.strip() if isinstance(value, str) else "" for value in values]
        if self.ndim >= 2 and self.cards.has_plate:
            # Like WCSLIB, prefer the plate solution to an approximate projection beside it.
            types[:2] = ["RA---TAN", "DEC--TAN"]
        return types

    @cached_property
    def spectral_axis(self) -> int | None:
        """NumPy number of the first axis with a spectral CTYPE; None if there is no such axis."""
        numbers = (n for n, ctype in enumerate(self.ctypes, 1) if is_spectral(ctype))
        number = next(numbers, None)
        return None if number is None else self.ndim - number

    @cached_property
    def dropped_spectral_axis(self) -> Axis | None:
        """First spectral axis beyond NAXIS (WCSAXES), a single pixel that the array no longer has.

        Raises
        ------
        FormatError
            One of its cards is invalid.
        """
        for number in range(self.ndim + 1, MOST_AXES + 1):
            ctype = self.header.get(f"CTYPE{number}")
            if isinstance(ctype, str) and is_spectral(ctype):
                return self._read_axis(number)
        return None

    @cached_property
    def channel_axis(self) -> int | None:
        """NumPy number of the axis of channels: the first with a spectral CTYPE; None without one.

        Without a spectral CTYPE, the axis beside the sky that is not STOKES, such as Faraday depth
        or time: the first of more than one pixel. If CTYPE names no sky, the first two axes are the
        sky.
        """
        if self.spectral_axis is not None:
            return self.spectral_axis
        types = dict(enumerate(self.ctypes, 1))
        celestial = [n for n, ctype in types.items() if is_celestial(ctype)]
        candidates = [n for n, ctype in types.items() if ctype.upper() not in _NO_CHANNELS]
        candidates = [n for n in candidates if n not in celestial][max(2 - len(celestial), 0) :]
        longer = [n for n in candidates if self.header.get(f"NAXIS{n}") != 1] or candidates
        return self.ndim - longer[0] if longer else None

    def required_channel_axis(self) -> int:
        """Return `channel_axis`; UsageError if it is None."""
        number = self.channel_axis
        if number is None:
            types = ", ".join(filter(None, self.ctypes))
            raise usage(
                f"{self.place}the image has {counted_axes(self.ndim)} and no spectral one"
                + (f" (CTYPE {types})" if types else ""),
                "spectra, moments and collapsed images need a cube, or a CTYPE such as FREQ or "
                "VRAD; other operations take the number of an axis",
            )
        return number

    @property
    def stokes_axis(self) -> int | None:
        """NumPy number of the axis of polarisations: the first with CTYPE = 'STOKES', or None."""
        types = [ctype.upper() for ctype in self.ctypes]
        return self.ndim - 1 - types.index("STOKES") if "STOKES" in types else None

    def sky_axes(self, spectral: int | None) -> tuple[int, ...]:
        """Return the NumPy numbers of the two sky axes, excluding a spectral axis.

        They are the two celestial axes if there are two; otherwise the first two FITS axes that are
        not spectral (or the only one).
        """
        numbers = range(self.ndim)
        celestial = [self.ndim - 1 - n for n in numbers if is_celestial(self.ctypes[n])]
        if len(celestial) == 2:
            return tuple(sorted(celestial))
        return tuple([axis for axis in numbers if axis != spectral][-2:])

    # Single axes.

    def axis(self, number: int) -> Axis:
        """Return one axis by its NumPy number.

        Raises
        ------
        FormatError
            A card that its coordinate depends on has the wrong type; the error names it and its
            value.
        """
        if number not in self._axes:
            self._axes[number] = self._read_axis(self.ndim - number)
        return self._axes[number]

    def world_axis(self, number: int, start: int, count: int, step: int) -> WorldAxis:
        """Return the coordinates of ``count`` pixels along an axis, 0-based, by ``step``."""
        axis = self.usable_axis(number, count)
        pixels = pixel_numbers(start, count, step)
        return WorldAxis(axis.name, axis.unit, axis.values(pixels))

    def usable_axis(self, number: int, count: int) -> Axis:
        """Return an axis for the coordinates of pixels; warn if it has none."""
        axis = self.axis(number)
        if axis.problem and not is_celestial(axis.ctype):
            text = f"{self.place}{axis.problem}: its coordinate is the number of the pixel, from 1"
            self.cards.warn_once(f"axis {number}", text)
        if axis.cdelt == 0.0 and axis.has_coordinate and axis.is_linear and count > 1:
            keyword = f"CDELT{axis.number}"
            if self.header.get(keyword) != 0:
                keyword = self.cards.matrix_keyword(axis.number, axis.number) or keyword
            raise self.cards.invalid(keyword, 0.0, "an increment other than 0")
        return axis

    @property
    def place(self) -> str:
        """Beginning of a message: file and HDU."""
        return f"{self.where}: " if self.where else ""

    def _read_axis(self, number: int) -> Axis:
        cards = self.cards
        ctype, cunit = cards.text(f"CTYPE{number}"), cards.text(f"CUNIT{number}")
        ctype = self.ctypes[number - 1] if number <= self.ndim else ctype
        keywords = [f"{root}{number}" for root in ("CRVAL", "CRPIX", "CDELT")]
        crval, crpix, _ = (
            cards.number(keyword, default)
            for keyword, default in zip(keywords, (0.0, 0.0, 1.0), strict=True)
        )
        row = cards.matrix(number)
        cdelt = row.get(number, 0.0)
        described = bool(ctype or cunit) or any(keyword in self.header for keyword in keywords)
        if is_spectral(ctype):
            cards.warn_of(SPECTRAL_EXTRAS)
        unit = axis_unit_text(cunit) or _DEFAULT_UNITS.get(coordinate_type(ctype)[0], "")
        problem, evaluate = "", None
        mixed = [column for column in row if column != number]
        if is_celestial(ctype):
            problem = f"NAXIS{number} ({ctype}) is one of two axes of the sky"
        elif mixed:
            keyword = cards.matrix_keyword(number, mixed[0])
            problem = (
                f"the coordinate of NAXIS{number} ({ctype or 'no CTYPE'}) depends on the pixels of "
                f"NAXIS{mixed[0]} ({keyword} = {self.header.get(keyword)!r})"
            )
        elif distortion := next((k for k in cards.functions(number)), ""):
            problem = (
                f"the distortion of NAXIS{number} ({distortion} = {self.header.get(distortion)!r}) "
                "cannot be evaluated for one axis"
            )
        elif described and algorithm_of(ctype):
            axis = Axis(number, ctype, cunit, crval, crpix, cdelt, unit, has_coordinate=True)
            problem, evaluate = self._nonlinear(axis)
        has_coordinate = described and not problem
        return Axis(
            number, ctype, cunit, crval, crpix, cdelt, unit if has_coordinate else PIXEL,
            has_coordinate, problem, evaluate,
        )  # fmt: skip

    # Evaluation by WCSLIB.

    def wcs(self, axes: Sequence[int] | None = None) -> astropy.wcs.WCS:
        """Return an astropy WCS of checked cards.

        Parameters
        ----------
        axes
            FITS axes (from 1), in the order of the result; None: all.

        Raises
        ------
        FormatError
            A card has the wrong type, or there are more axes than WCSLIB supports.
        UsageError
            astropy does not accept the cards.
        """
        checked = self.cards.with_matrix_of_polynomials(list(self.cards.checked(axes)), axes)
        cards = self._cards_for_astropy(axes, checked)
        hint = "correct the header, or use pixels"
        with foreign_errors(f"{self.place}the world coordinates cannot be used", hint):
            tables = companion_hdus(self, ((kind, value) for _, kind, value in checked if kind))
            return _wcs_of(cards, tables, self.system)

    def _cards_for_astropy(
        self, axes: Sequence[int] | None, checked: Iterable[tuple[str, Kind | None, Any]]
    ) -> list[tuple[str, Any]]:
        count = self.ndim if axes is None else len(axes)
        cards: list[tuple[str, Any]] = []
        if axes is not None:
            cards += [("NAXIS", count), ("WCSAXES", count)]
            lengths = ((n, self.header.get(f"NAXIS{axis}")) for n, axis in enumerate(axes, 1))
            cards += [(f"NAXIS{n}", length) for n, length in lengths if isinstance(length, int)]
        if self.cards.has_plate:
            # WCSLIB names the coordinates by its first four characters, and has no default.
            plate = str(self.header.get("PLATEID") or "DSS")
            cards.append(("PLATEID", plate[:4] if plate.isascii() else "DSS"))
        system = self.system
        attributes: dict[str, list[tuple[Kind, str]]] = {}
        for keyword, kind, value in checked:
            if kind and kind.is_distortion and axes is not None and tuple(axes[:2]) != (1, 2):
                raise usage(
                    f"{self.place}{keyword} is a distortion of NAXIS1 and NAXIS2, and the sky is "
                    f"on {' and '.join(f'NAXIS{axis}' for axis in axes)}",
                    "use pixels",
                )
            if keyword in CELESTIAL_EXTRAS and system is not None:
                continue
            if kind and kind.root == "WAT":
                attributes.setdefault(keyword.partition("_")[0], []).append((kind, value))
                continue
            unit = (
                self._unit_for_astropy(kind.axes[0], value)
                if kind and kind.root == "CUNIT"
                else value
            )
            if unit is not None:
                cards.append((keyword, unit))
        for name, records in attributes.items():
            cards += self._attributes(name, records)
        if system is not None:
            if system.problem or system.name in SYSTEMS:
                cards.append(("RADESYS", system.name))
            elif system.equator:
                cards.append(("RADESYS", system.equator))
            # ICRS has no equinox, but headers contain one.
            equinox = system.equinox or self.cards.optional("EQUINOX")
            if equinox is not None:
                cards.append(("EQUINOX", equinox))
        return cards

    def _attributes(self, name: str, records: list[tuple[Kind, str]]) -> list[tuple[str, str]]:
        """Return the checked records of a polynomial of IRAF."""
        from tachyfits.header.iraf_attributes import (
            attribute_records,
            attribute_text,
            attributes_problem,
            has_lost_terms,
        )

        records.sort(key=lambda record: record[0].parameter or 0)
        text = attribute_text([value for _, value in records])
        problem = attributes_problem(text)
        if problem is not None:
            raise self.cards.invalid(records[0][0].keyword, records[0][1], problem)
        if has_lost_terms(text):
            message = f"{self.place}{name}: WCSLIB leaves out the coefficients after one that is 0"
            self.cards.warn_once(name, message)
        return [(f"{name}_{n:03}", part) for n, part in enumerate(attribute_records(text), 1)]

    def _unit_for_astropy(self, axis: int, text: str) -> str | None:
        """Return CUNIT in the Standard's spelling; None for a unit that coordinates do not need."""
        if not text.strip():
            return None
        ctype = self.cards.text(f"CTYPE{axis}")
        like = ANGLE if is_celestial(ctype) else SPECTRAL
        unit = fits_unit(text, like)
        if unit is not None and (not is_celestial(ctype) or unit.is_equivalent(ANGLE[0])):
            return text_of_unit(unit)
        if is_celestial(ctype):
            raise self.cards.invalid(f"CUNIT{axis}", text, "a unit of angles")
        if is_spectral(ctype):
            raise self.cards.invalid(f"CUNIT{axis}", text, "a unit of spectral coordinates")
        return None

    def _nonlinear(self, axis: Axis) -> tuple[str, Callable[[Values], Values] | None]:
        """Return WCSLIB's evaluation of a nonlinear axis, or the reason why it has none."""
        problem = f"the coordinates of NAXIS{axis.number} ({axis.ctype}) cannot be evaluated"
        try:
            with foreign_errors(problem, "give channels in pixels"):
                alone, factor = self._alone(axis)
                _evaluated(alone, np.array([axis.crpix - 1.0]))
        except UsageError as error:
            reason = str(error).partition("\nhint")[0]
            return reason if reason.startswith(problem) else f"{problem}: {reason}", None

        def evaluate(pixels: Values) -> Values:
            with foreign_errors(f"{self.place}{problem}", "give channels in pixels"):
                return _evaluated(alone, pixels) * factor

        return "", evaluate

    def _alone(self, axis: Axis) -> tuple[astropy.wcs.WCS, float]:
        """Return a WCS of this axis alone, and the factor from its unit to that of the axis."""
        unit = fits_unit(axis.unit, SPECTRAL) if axis.unit else None
        if axis.unit and unit is None:
            raise self.cards.invalid(f"CUNIT{axis.number}", axis.cunit, "a known unit")
        ctype = f"VOPT-{algorithm_of(axis.ctype)}" if axis.kind == "FELO" else axis.ctype
        cards: list[tuple[str, Any]] = [
            ("WCSAXES", 1), ("CTYPE1", ctype), ("CRPIX1", axis.crpix), ("CRVAL1", axis.crval),
            ("CDELT1", axis.cdelt),
        ]  # fmt: skip
        if unit is not None:
            cards.append(("CUNIT1", text_of_unit(unit)))
        parameters = []
        for keyword, kind, value in self.cards.checked([axis.number]):
            if kind is not None and kind.root in ("PV", "PS"):
                cards.append((keyword, value))
                parameters.append((kind, value))
        rest = self.rest_frequency()
        if rest is None and axis.kind in DOPPLER_TYPES:
            # WCSLIB requires a rest frequency, but channel velocities do not depend on its value.
            rest = 1e9
        if rest is not None:
            cards.append(("RESTFRQ", rest))
        tables = companion_hdus(self, parameters)
        # PVi_3 is the axis of the table; for a grism it is a refractive index.
        if algorithm_of(axis.ctype) == "TAB" and any(
            kind.root == "PV" and kind.parameter == 3 and value != 1 for kind, value in parameters
        ):
            raise usage("its table is of several axes", "give channels in pixels")
        wcs = _wcs_of(cards, tables)
        wcs.wcs.set()
        theirs = wcs.wcs.cunit[0]
        factor = 1.0 if unit is None or not str(theirs) else float(theirs.to(unit))
        return wcs, factor

    # The sky.

    @cached_property
    def system(self) -> SkySystem | None:
        """Frame of the celestial axes; None without a longitude."""
        return system_of(self)

    @cached_property
    def sky(self) -> Sky | None:
        """The two celestial axes, or None.

        Raises
        ------
        FormatError
            A card of their coordinates has the wrong type.
        UsageError
            The coordinates depend on the pixels of another axis.
        """
        return sky_of(self)

    # Values for the conversion of spectral units.

    def rest_frequency(self) -> float | None:
        """Return the rest frequency of the header in Hz: RESTFRQ, RESTFREQ or c / RESTWAV.

        None if none of them is usable: programs write 0 for "unknown".
        """
        for keyword in ("RESTFRQ", "RESTFREQ"):
            value = self.cards.optional(keyword)
            if value is not None and value > 0:
                return float(value)
        value = self.cards.optional("RESTWAV")
        return LIGHT / value if value is not None and value > 0 else None

    @property
    def velref(self) -> int | None:
        """VELREF: AIPS code of the frame and of the definition of velocity."""
        value: int | None = self.cards.optional("VELREF")
        return value


def _wcs_of(
    cards: Sequence[tuple[str, Any]], tables: Any = None, system: SkySystem | None = None
) -> astropy.wcs.WCS:
    from astropy.wcs import WCS, FITSFixedWarning

    kind = WCS
    if system is not None:
        from tachyfits.header.sky_frames import SkyWCS

        kind = SkyWCS
    with warnings.catch_warnings():
        # Silence notes on repaired keywords.
        warnings.simplefilter("ignore", FITSFixedWarning)
        # astropy parses bytes directly; it would first convert a header to text.
        wcs = kind(header_text(cards).encode("ascii"), fobj=tables)
    if system is not None:
        wcs._sky_system = system
    return wcs


def _evaluated(alone: astropy.wcs.WCS, pixels: Values) -> Values:
    values = alone.wcs_pix2world(pixels.reshape(-1, 1), 0)
    return np.asarray(values, dtype=np.float64)[:, 0].reshape(pixels.shape)
