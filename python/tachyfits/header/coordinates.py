"""World coordinates of a header: its axes, its sky, its spectral axis, as far as the cards say.

`Coordinates` is what every user of coordinates asks: spectra, moments, position-velocity cuts,
smoothing on the sky, beams, pictures, lists of files. A linear axis is computed here; projections,
logarithmic axes and tables are evaluated by WCSLIB through astropy, which is imported then, and
which gets checked cards only (`header.wcs_cards`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tachyfits._core import UsageError
from tachyfits.base.errors import either, foreign_errors, memory_error, usage, warn
from tachyfits.base.lazy_numpy import np
from tachyfits.header.cards import Header
from tachyfits.header.wcs_cards import (
    CELESTIAL_EXTRAS,
    MOST_AXES,
    SPECTRAL_EXTRAS,
    Kind,
    WcsCards,
    header_text,
)
from tachyfits.text.axes import NAMED_SKIES, SPECTRAL_TYPES, WorldAxis, counted_axes
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

#: Unit and name of the coordinate of an axis that has none: the number of the pixel, counted from
#: 1 as the Standard counts them, in every output.
PIXEL = "pixel"

#: Units that the Standard assumes when CUNIT is blank.
_DEFAULT_UNITS = {
    "FREQ": "Hz", "ENER": "J", "WAVN": "m-1", "VRAD": "m s-1", "WAVE": "m", "VOPT": "m s-1",
    "AWAV": "m", "VELO": "m s-1", "FELO": "m s-1",
}  # fmt: skip
#: Spectral types whose coordinate is a velocity, for which WCSLIB wants a rest frequency.
DOPPLER_TYPES = ("VRAD", "VOPT", "VELO", "FELO", "ZOPT", "BETA")
#: Frames by the name of their longitude.
_FRAMES = {
    "GLON": "galactic", "SLON": "supergalactic", "ELON": "ecliptic", "HLON": "helioecliptic",
}  # fmt: skip
#: Types of axes whose pixels are never channels: polarisations, parts of complex numbers, faces of
#: a cube of the sky.
_NO_CHANNELS = ("STOKES", "COMPLEX", "CUBEFACE")
#: Beginnings of the CTYPE of celestial axes; GLON, ELAT, TLON and the like end in LON and LAT.
_CELESTIAL = ("RA", "DEC")


def is_spectral(ctype: str) -> bool:
    """Say whether a CTYPE names a frequency, wavelength, velocity or energy.

    >>> is_spectral("VELO-LSR"), is_spectral("RA---SIN")
    (True, False)
    """
    return ctype.strip().upper()[:4] in SPECTRAL_TYPES


def is_celestial(ctype: str) -> bool:
    """Say whether a CTYPE is of a coordinate on the sky.

    >>> [is_celestial(ctype) for ctype in ("DEC--NCP", "GLON-CAR", "HPLN-TAN", "STOKES")]
    [True, True, True, False]
    """
    name = ctype.strip().upper().split("-")[0]
    if name in _CELESTIAL or name[-3:] in ("LON", "LAT"):
        return True
    return len(name) == 4 and name[2:] in ("LN", "LT")


def is_latitude(ctype: str) -> bool:
    """Say whether a celestial CTYPE is of the latitude."""
    name = ctype.strip().upper().split("-")[0]
    return name == "DEC" or name.endswith(("LAT", "LT"))


def algorithm_of(ctype: str) -> str:
    """Return the code of a CTYPE that is not linear: "LOG", "TAB", "F2W", ...; "" for others.

    >>> [algorithm_of(ctype) for ctype in ("VOPT-F2W", "WAVE-LOG", "FELO-HEL", "VELO-LSR")]
    ['F2W', 'LOG', 'F2W', '']
    """
    name = ctype.strip().upper()
    if name.startswith("FELO"):
        # AIPS: optical velocities of channels that are equally spaced in frequency.
        return "F2W"
    code = name[5:8] if name[4:5] == "-" else ""
    is_code = code in ("LOG", "TAB", "GRI", "GRA") or (len(code) == 3 and code[1] == "2")
    return code if is_code else ""


#: Headers may claim axes of any length: no axis has more coordinates at a time (512 MiB).
_MOST_COORDINATES = 1 << 26


def pixel_numbers(start: int, count: int, step: int) -> Any:
    """Return the numbers of pixels along an axis, from 0, as floats.

    Raises
    ------
    LimitError
        There are too many of them.
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
        Of the FITS axis, from 1.
    ctype, cunit
        As in the header, "" where absent.
    crval, crpix, cdelt
        Value at the reference pixel (counted from 1), and increment: the diagonal of the matrix.
    unit
        The unit of the coordinate by its proper name; "pixel" where there is none.
    problem
        Why the axis has no coordinate of its own; "" where it has one, or has no cards at all.
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
        """The first four letters of the CTYPE: "FREQ", "VRAD", ..."""
        return self.ctype.upper()[:4]

    @property
    def name(self) -> str:
        """The CTYPE; "LINEAR" for an axis without, "pixel" for one without a coordinate."""
        return (self.ctype or "LINEAR") if self.has_coordinate else PIXEL

    @property
    def is_spectral(self) -> bool:
        """Whether it is a frequency, wavelength, velocity or energy."""
        return is_spectral(self.ctype)

    @property
    def is_linear(self) -> bool:
        """Whether equal steps in pixels are equal steps of the coordinate."""
        return self._evaluate is None

    def values(self, pixels: Values) -> Values:
        """Return the coordinates of 0-based pixels, which need not be whole numbers."""
        if not self.has_coordinate:
            return pixels + 1.0
        if self._evaluate is not None:
            return self._evaluate(pixels)
        return self.crval + self.cdelt * (pixels + 1.0 - self.crpix)

    def ends(self, count: int) -> tuple[float, float]:
        """Return the coordinates of the first and the last of ``count`` pixels; see `values`."""
        if self._evaluate is not None:
            first, last = self._evaluate(np.array([0.0, count - 1.0]))
            return float(first), float(last)
        if not self.has_coordinate:
            return 1.0, float(count)
        first, last = (self.crval + self.cdelt * (pixel - self.crpix) for pixel in (1.0, count))
        return first, last

    def widths(self, pixels: Values, step: int) -> Values:
        """Return the widths of channels of ``step`` pixels: a single number where all are equal.

        It is the header's increment, which a single channel has as well: differences of values far
        from zero have lost digits.
        """
        if self._evaluate is not None:
            ends = [self.values(pixels + side) for side in (-step / 2, step / 2)]
            return np.abs(ends[1] - ends[0])
        return np.array([abs(step * (self.cdelt if self.has_coordinate else 1.0))])


@dataclass(frozen=True)
class Sky:
    """The two celestial axes.

    Attributes
    ----------
    longitude, latitude
        Their FITS axes, from 1.
    position
        Longitude and latitude of the reference pixel, degrees.
    pixel
        The reference pixel: of the lower axis and of the higher one, counted from 1.
    rows
        Degrees east and degrees north per pixel of the lower axis and of the higher one, there.
    frame
        RADESYS or the system that CTYPE names: "ICRS", "FK5", "galactic", ...
    """

    longitude: int
    latitude: int
    position: tuple[float, float]
    pixel: tuple[float, float]
    rows: tuple[tuple[float, float], tuple[float, float]]
    frame: str
    coordinates: Coordinates = field(repr=False, compare=False)

    @property
    def axes(self) -> tuple[int, int]:
        """The FITS axes, the lower one first."""
        return min(self.longitude, self.latitude), max(self.longitude, self.latitude)

    @property
    def scales(self) -> tuple[float, float]:
        """Degrees from one pixel to the next along the lower and the higher axis."""
        east, north = self.rows
        return math.hypot(east[0], north[0]), math.hypot(east[1], north[1])

    @cached_property
    def matrix(self) -> Values:
        """``rows`` as an array."""
        return np.array(self.rows)

    @cached_property
    def wcs(self) -> astropy.wcs.WCS:
        """World coordinates of the two axes alone, by astropy."""
        return self.coordinates.wcs(self.axes)

    @cached_property
    def rotations(self) -> dict[str, Values]:
        """Matrices from other frames, by their names: kept by `header.region_rasters`."""
        return {}

    @cached_property
    def astropy_frame(self) -> Any:
        """The frame of the two axes, by astropy.

        Raises
        ------
        UsageError
            astropy has no such frame.
        """
        from tachyfits.header.sky_frames import frame_of

        problem = f"{self.coordinates.where}: the frame of its sky, {self.frame!r}, is unknown"
        with foreign_errors(problem, "use pixels, or correct CTYPE and RADESYS"):
            return frame_of(self.wcs)


#: Gives the table of a -TAB axis: EXTNAME, EXTVER and names of columns to arrays.
TableOf = Callable[[str, int, Sequence[str]], Any]


class Coordinates:
    """The world coordinates of a header.

    Parameters
    ----------
    header
        Of an image or of a result.
    ndim
        NAXIS.
    where
        File and HDU, for messages.
    table
        Gives the arrays of a table, for axes with coordinates in one (-TAB).
    tell
        Takes warnings.
    """

    def __init__(
        self,
        header: Header,
        ndim: int,
        where: str = "",
        table: TableOf | None = None,
        tell: Callable[[str], None] = warn,
    ) -> None:
        self.header = header
        self.ndim = ndim
        self.where = where
        self.cards = WcsCards(header, ndim, where, tell)
        self._table = table
        self._axes: dict[int, Axis] = {}
        #: Pixels of regions on the sky, as `image.chosen_regions` finds them.
        self.rasters: dict[Any, Any] = {}
        #: Factors between spectral frames, as `header.spectral_frames` computes them by astropy.
        self.frame_factors: dict[tuple[str, str], float] = {}

    # Which axis is which.

    @cached_property
    def ctypes(self) -> list[str]:
        """CTYPE1, CTYPE2, ..., "" for those that are not there."""
        values = (self.header.get(f"CTYPE{n}") for n in range(1, self.ndim + 1))
        return [value.strip() if isinstance(value, str) else "" for value in values]

    @cached_property
    def spectral_axis(self) -> int | None:
        """NumPy number of the first axis of a spectral CTYPE; None without one."""
        found = (n for n, ctype in enumerate(self.ctypes, 1) if is_spectral(ctype))
        number = next(found, None)
        return None if number is None else self.ndim - number

    @cached_property
    def dropped_spectral_axis(self) -> Axis | None:
        """The first spectral axis beyond NAXIS (WCSAXES), whose only pixel the array has no more.

        Raises
        ------
        FormatError
            A card of it cannot be used.
        """
        for number in range(self.ndim + 1, MOST_AXES + 1):
            ctype = self.header.get(f"CTYPE{number}")
            if isinstance(ctype, str) and is_spectral(ctype):
                return self._read_axis(number)
        return None

    @cached_property
    def channel_axis(self) -> int | None:
        """NumPy number of the axis of channels: the first of a spectral CTYPE; None without one.

        Without a spectral CTYPE, the axis beside the sky that is not STOKES, such as Faraday depth
        or time: the first of more than one pixel. Where CTYPE names no sky, the first two axes are
        the sky.
        """
        if self.spectral_axis is not None:
            return self.spectral_axis
        types = dict(enumerate(self.ctypes, 1))
        celestial = [n for n, ctype in types.items() if is_celestial(ctype)]
        others = [n for n, ctype in types.items() if ctype.upper() not in _NO_CHANNELS]
        others = [n for n in others if n not in celestial][max(2 - len(celestial), 0) :]
        longer = [n for n in others if self.header.get(f"NAXIS{n}") != 1] or others
        return self.ndim - longer[0] if longer else None

    def required_channel_axis(self) -> int:
        """Return `channel_axis`; UsageError without one."""
        number = self.channel_axis
        if number is None:
            types = ", ".join(filter(None, self.ctypes))
            raise usage(
                f"{self._place}the image has {counted_axes(self.ndim)} and no spectral one"
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
        """Return the NumPy numbers of the two sky axes beside a spectral one, if there is one.

        The two celestial axes if there are two; otherwise the first two FITS axes that are not
        spectral (or the only one).
        """
        numbers = range(self.ndim)
        celestial = [self.ndim - 1 - n for n in numbers if is_celestial(self.ctypes[n])]
        if len(celestial) == 2:
            return tuple(sorted(celestial))
        return tuple([axis for axis in numbers if axis != spectral][-2:])

    # One axis.

    def axis(self, number: int) -> Axis:
        """Return one axis by its NumPy number.

        Raises
        ------
        FormatError
            A card that its coordinate depends on is not of the right type: it is named, with its
            value.
        """
        if number not in self._axes:
            self._axes[number] = self._read_axis(self.ndim - number)
        return self._axes[number]

    def world_axis(self, number: int, start: int, count: int, step: int) -> WorldAxis:
        """Return the coordinates of pixels along an axis: from the first (from 0), by a step."""
        axis = self.usable_axis(number, count)
        pixels = pixel_numbers(start, count, step)
        return WorldAxis(axis.name, axis.unit, axis.values(pixels))

    def usable_axis(self, number: int, count: int) -> Axis:
        """Return an axis for the coordinates of some pixels, with a warning where it has none."""
        axis = self.axis(number)
        if axis.problem and not is_celestial(axis.ctype):
            text = f"{self._place}{axis.problem}: its coordinate is the number of the pixel, from 1"
            self.cards.warn_once(f"axis {number}", text)
        if axis.cdelt == 0.0 and axis.has_coordinate and axis.is_linear and count > 1:
            keyword = f"CDELT{axis.number}"
            if self.header.get(keyword) != 0:
                keyword = self.cards.matrix_keyword(axis.number, axis.number) or keyword
            raise self.cards.invalid(keyword, 0.0, "an increment other than 0")
        return axis

    @property
    def _place(self) -> str:
        return f"{self.where}: " if self.where else ""

    def _read_axis(self, number: int) -> Axis:
        cards = self.cards
        ctype, cunit = cards.text(f"CTYPE{number}"), cards.text(f"CUNIT{number}")
        named = [f"{root}{number}" for root in ("CRVAL", "CRPIX", "CDELT")]
        crval, crpix, _ = (
            cards.number(keyword, default)
            for keyword, default in zip(named, (0.0, 0.0, 1.0), strict=True)
        )
        row = cards.matrix(number)
        cdelt = row.get(number, 0.0)
        described = bool(ctype or cunit) or any(keyword in self.header for keyword in named)
        if is_spectral(ctype):
            cards.warn_of(SPECTRAL_EXTRAS)
        unit = axis_unit_text(cunit) or _DEFAULT_UNITS.get(ctype.upper()[:4], "")
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
        elif described and algorithm_of(ctype):
            axis = Axis(number, ctype, cunit, crval, crpix, cdelt, unit, has_coordinate=True)
            problem, evaluate = self._nonlinear(axis)
        has_coordinate = described and not problem
        return Axis(
            number, ctype, cunit, crval, crpix, cdelt, unit if has_coordinate else PIXEL,
            has_coordinate, problem, evaluate,
        )  # fmt: skip

    # Evaluated by WCSLIB.

    def wcs(self, axes: Sequence[int] | None = None) -> astropy.wcs.WCS:
        """Return world coordinates by astropy, of checked cards.

        Parameters
        ----------
        axes
            FITS axes (from 1), in the order that they get; None: all.

        Raises
        ------
        FormatError
            A card is not of the type that it must have, or there are more axes than WCSLIB takes.
        UsageError
            astropy cannot use the cards.
        """
        cards = self._cards_for_astropy(axes)
        named = range(1, self.ndim + 1) if axes is None else axes
        tabulated = any(algorithm_of(self.cards.text(f"CTYPE{n}")) == "TAB" for n in named)
        hint = "correct the header, or use pixels"
        with foreign_errors(f"{self._place}the world coordinates cannot be used", hint):
            kinds = ((kind, value) for _, kind, value in self.cards.checked(axes) if kind)
            return _wcs_of(cards, self._tables(kinds) if tabulated else None)

    def _cards_for_astropy(self, axes: Sequence[int] | None) -> list[tuple[str, Any]]:
        count = self.ndim if axes is None else len(axes)
        cards: list[tuple[str, Any]] = []
        if axes is not None:
            cards += [("NAXIS", count), ("WCSAXES", count)]
        # Distortions are of the first two axes.
        keeps_distortions = axes is None or tuple(axes[:2]) == (1, 2)
        for keyword, kind, value in self.cards.checked(axes):
            if not kind or not kind.is_distortion or keeps_distortions:
                unit = (
                    self._unit_for_astropy(kind.axes[0], value)
                    if kind and kind.root == "CUNIT"
                    else value
                )
                if unit is not None:
                    cards.append((keyword, unit))
        return cards

    def _unit_for_astropy(self, axis: int, text: str) -> str | None:
        """Return CUNIT as the Standard writes it; None for a unit that coordinates do not need."""
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
        """Return WCSLIB's evaluation of an axis that is not linear, or why it has none."""
        problem = f"the coordinates of NAXIS{axis.number} ({axis.ctype}) cannot be evaluated"
        try:
            with foreign_errors(problem, "give channels in pixels"):
                alone, factor = self._alone(axis)
                _evaluated(alone, np.array([axis.crpix - 1.0]))
        except UsageError as error:
            said = str(error).partition("\nhint")[0]
            return said if said.startswith(problem) else f"{problem}: {said}", None

        def evaluate(pixels: Values) -> Values:
            with foreign_errors(f"{self._place}{problem}", "give channels in pixels"):
                return _evaluated(alone, pixels) * factor

        return "", evaluate

    def _alone(self, axis: Axis) -> tuple[astropy.wcs.WCS, float]:
        """Return an axis as WCSLIB's only one, and the factor from its unit to that of the axis."""
        unit = fits_unit(axis.unit, SPECTRAL) if axis.unit else None
        if axis.unit and unit is None:
            raise self.cards.invalid(f"CUNIT{axis.number}", axis.cunit, "a known unit")
        ctype = f"VOPT-{algorithm_of(axis.ctype)}" if axis.kind == "FELO" else axis.ctype.upper()
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
            # A velocity of channels does not depend on it: WCSLIB wants any.
            rest = 1e9
        if rest is not None:
            cards.append(("RESTFRQ", rest))
        tables = self._tables(parameters) if algorithm_of(ctype) == "TAB" else None
        if any(
            kind.root == "PV" and kind.parameter == 3 and value != 1 for kind, value in parameters
        ):
            raise usage("its table is of several axes", "give channels in pixels")
        made = _wcs_of(cards, tables)
        made.wcs.set()
        theirs = made.wcs.cunit[0]
        factor = 1.0 if unit is None or not str(theirs) else float(theirs.to(unit))
        return made, factor

    def _tables(self, cards: Iterable[tuple[Kind, Any]]) -> Any:
        """Return the tables of -TAB axes (Paper III, 6) for astropy."""
        from astropy.io import fits

        texts: dict[int, dict[int | None, str]] = {}
        versions: dict[int, int] = {}
        for kind, value in cards:
            if kind.root == "PS":
                texts.setdefault(kind.axes[0], {})[kind.parameter] = str(value).strip()
            elif kind.root == "PV" and kind.parameter == 1:
                versions[kind.axes[0]] = int(value)
        tables: dict[tuple[str, int], dict[str, Any]] = {}
        for axis, named in texts.items():
            name, version = named.get(0, ""), versions.get(axis, 1)
            columns = [named[n] for n in (1, 2) if named.get(n)]
            if self._table is None or not name or not columns:
                raise usage("its table is not in the file", "use the file that has it")
            arrays = self._table(name, version, columns)
            tables.setdefault((name, version), {}).update(zip(columns, arrays, strict=True))
        hdus = [fits.PrimaryHDU()]
        for (name, version), found in tables.items():
            kinds = [(column, "f8", array.shape[1:]) for column, array in found.items()]
            rows = np.zeros(len(next(iter(found.values()))), dtype=kinds)
            for column, array in found.items():
                rows[column] = array
            hdus.append(fits.BinTableHDU(rows, name=name, ver=version))
        return fits.HDUList(hdus)

    # The sky.

    @cached_property
    def sky(self) -> Sky | None:
        """The two celestial axes; None where there are none.

        Raises
        ------
        FormatError
            A card that their coordinates depend on is not of the right type.
        UsageError
            They depend on the pixels of another axis.
        """
        numbers = [n for n, ctype in enumerate(self.ctypes, 1) if is_celestial(ctype)]
        latitudes = [n for n in numbers if is_latitude(self.ctypes[n - 1])]
        if len(numbers) != 2 or len(latitudes) != 1:
            return None
        latitude = latitudes[0]
        longitude = numbers[0] if numbers[1] == latitude else numbers[1]
        cards = self.cards
        cards.warn_of(CELESTIAL_EXTRAS)
        pixel = (cards.number(f"CRPIX{numbers[0]}", 0.0), cards.number(f"CRPIX{numbers[1]}", 0.0))
        factors = {n: self._degrees(n) for n in numbers}
        position = (
            cards.number(f"CRVAL{longitude}", 0.0) * factors[longitude],
            cards.number(f"CRVAL{latitude}", 0.0) * factors[latitude],
        )
        rows = {n: cards.matrix(n) for n in numbers}
        for n, row in rows.items():
            others = [column for column in row if column not in numbers]
            if others:
                keyword = cards.matrix_keyword(n, others[0])
                raise usage(
                    f"{self._place}the sky coordinates depend on the pixels of NAXIS{others[0]} "
                    f"({keyword} = {self.header.get(keyword)!r})",
                    "use pixels",
                )
        self._turn(rows, longitude, latitude)
        lower, higher = numbers
        east, north = (
            (rows[n].get(lower, 0.0) * factors[n], rows[n].get(higher, 0.0) * factors[n])
            for n in (longitude, latitude)
        )
        if not _spans_a_plane(east, north):
            empty = [n for n in numbers if not any(rows[n].values())]
            keyword = f"CDELT{(empty or numbers)[0]}"
            raise cards.invalid(keyword, self.header.get(keyword), "axes that span the sky")
        frame = self._frame(self.ctypes[longitude - 1])
        return Sky(longitude, latitude, position, pixel, (east, north), frame, self)

    def _turn(self, rows: dict[int, dict[int, float]], longitude: int, latitude: int) -> None:
        """Apply CROTA of the latitude, which counts where neither PC nor CD has a card."""
        if self.cards.has_matrix or f"CROTA{latitude}" not in self.header:
            return
        angle = math.radians(self.cards.number(f"CROTA{latitude}", 0.0))
        cosine, sine = math.cos(angle), math.sin(angle)
        x, y = rows[longitude][longitude], rows[latitude][latitude]
        rows[longitude] = {longitude: x * cosine, latitude: -y * sine}
        rows[latitude] = {longitude: x * sine, latitude: y * cosine}

    def _degrees(self, axis: int) -> float:
        """Return the factor from the unit of a celestial axis to degrees."""
        text = self.cards.text(f"CUNIT{axis}")
        known = {"": 1.0, "deg": 1.0, "arcmin": 1 / 60, "arcsec": 1 / 3600, "rad": 180 / math.pi}
        name = axis_unit_text(text)
        if name in known:
            return known[name]
        unit = fits_unit(text, ANGLE)
        if unit is None or not unit.is_equivalent(ANGLE[0]):
            raise self.cards.invalid(f"CUNIT{axis}", text, "a unit of angles")
        return float(unit.to(ANGLE[0]))

    def _frame(self, ctype: str) -> str:
        name = ctype.upper().split("-")[0]
        if name not in _CELESTIAL:
            return _FRAMES.get(name, name.removesuffix("LON").removesuffix("LN").lower())
        system = self.cards.optional("RADESYS") or self.cards.optional("RADECSYS")
        if system:
            return str(system).upper()
        equinox = self.cards.optional("EQUINOX") or self.cards.optional("EPOCH")
        if equinox is None:
            return "ICRS"
        return "FK4" if equinox < 1984 else "FK5"

    # Values for the conversion of spectral units.

    def rest_frequency(self) -> float | None:
        """Return the rest frequency of the header in Hz: RESTFRQ, RESTFREQ or c / RESTWAV.

        None where it has none that can be used: programs write 0 for "unknown".
        """
        for keyword in ("RESTFRQ", "RESTFREQ"):
            value = self.cards.optional(keyword)
            if value is not None and value > 0:
                return float(value)
        value = self.cards.optional("RESTWAV")
        return LIGHT / value if value is not None and value > 0 else None

    @property
    def velref(self) -> int | None:
        """VELREF: AIPS' code of the frame and of the definition of velocity."""
        value: int | None = self.cards.optional("VELREF")
        return value


def _spans_a_plane(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Say whether the rows of a matrix are finite and not along one line.

    >>> _spans_a_plane((1e-4, 0.0), (0.0, 1e-4)), _spans_a_plane((1.0, 2.0), (2.0, 4.0))
    (True, False)
    """
    sizes = [abs(number) for number in (*one, *other)]
    largest = max(sizes)
    if not (all(map(math.isfinite, sizes)) and largest > 0):
        return False
    (a, b), (c, d) = ([number / largest for number in row] for row in (one, other))
    return abs(a * d - b * c) > 1e-12


def _wcs_of(cards: Sequence[tuple[str, Any]], tables: Any = None) -> astropy.wcs.WCS:
    from astropy.wcs import WCS, FITSFixedWarning

    kind = WCS
    if any(key[:5] == "CTYPE" and str(value).upper()[:4] in NAMED_SKIES for key, value in cards):
        from tachyfits.header.sky_frames import NamedWCS

        kind = NamedWCS
    with warnings.catch_warnings():
        # Notes on repaired keywords.
        warnings.simplefilter("ignore", FITSFixedWarning)
        # astropy reads text at once; it would write a header as text first.
        return kind(header_text(cards).encode("ascii"), fobj=tables)


def _evaluated(alone: astropy.wcs.WCS, pixels: Values) -> Values:
    found = alone.wcs_pix2world(pixels.reshape(-1, 1), 0)
    return np.asarray(found, dtype=np.float64)[:, 0].reshape(pixels.shape)
