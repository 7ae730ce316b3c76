"""The cards of a header that describe coordinates, each checked for its type (Standard 4.0, 8).

Every reader of world coordinates, spectra and beams gets values here. A card of the wrong type is
an error if a number depends on it (`number`, `text`), and a warning otherwise (`optional`). astropy
and WCSLIB get a new header with checked values only: WCSLIB replaces cards that it cannot read by
defaults, and does not check sizes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tachyfits._core import FormatError
from tachyfits.base.errors import either, format_error, usage, warn
from tachyfits.header.cards import Card, Header, card_line
from tachyfits.text.axes import coordinate_type, is_latitude

#: Maximum number of axes in WCSLIB.
MOST_AXES = 32
#: Maximum order of SIP polynomials.
_MOST_ORDER = 9

#: Keywords of one axis, as `CRVAL1`: (type, whether coordinates depend on it).
_OF_AXIS = {
    "CTYPE": ("text", True), "CUNIT": ("text", True), "CRPIX": ("number", True),
    "CRVAL": ("number", True), "CDELT": ("number", True), "CROTA": ("number", True),
    "CNAME": ("text", False), "CRDER": ("number", False), "CSYER": ("number", False),
    "CZPHS": ("number", False), "CPERI": ("number", False),
}  # fmt: skip

#: Keywords of the whole description, in the same form.
_OF_ALL = {
    "WCSAXES": ("axes", True), "LONPOLE": ("number", True), "LATPOLE": ("number", True),
    "WCSNAME": ("text", False), "EQUINOX": ("year", False), "EPOCH": ("year", False),
    "RADESYS": ("text", False), "RADECSYS": ("text", False), "RESTFRQ": ("number", False),
    "RESTFREQ": ("number", False), "RESTWAV": ("number", False), "SPECSYS": ("text", False),
    "SSYSOBS": ("text", False), "SSYSSRC": ("text", False), "VELREF": ("integer", False),
    "VELOSYS": ("number", False), "VELANGL": ("number", False), "ZSOURCE": ("number", False),
    "OBSGEO-X": ("number", False), "OBSGEO-Y": ("number", False), "OBSGEO-Z": ("number", False),
    "OBSGEO-L": ("number", False), "OBSGEO-B": ("number", False), "OBSGEO-H": ("number", False),
    "DATE-OBS": ("text", False), "DATE-BEG": ("text", False), "DATE-AVG": ("text", False),
    "DATE-END": ("text", False), "DATEREF": ("text", False), "MJD-OBS": ("number", False),
    "MJD-BEG": ("number", False), "MJD-AVG": ("number", False), "MJD-END": ("number", False),
    "MJDREF": ("number", False), "MJDREFI": ("number", False), "MJDREFF": ("number", False),
    "JDREF": ("number", False), "JDREFI": ("number", False), "JDREFF": ("number", False),
    "TIMESYS": ("text", False), "TIMEUNIT": ("text", False), "TREFPOS": ("text", False),
    "TREFDIR": ("text", False), "TSTART": ("number", False), "TSTOP": ("number", False),
    "JEPOCH": ("number", False), "BEPOCH": ("number", False), "TIMEOFFS": ("number", False),
    "BMAJ": ("number", False), "BMIN": ("number", False), "BPA": ("number", False),
    # The Sun and the planets.
    "RSUN_REF": ("number", False), "DSUN_OBS": ("number", False), "CRLN_OBS": ("number", False),
    "HGLN_OBS": ("number", False), "HGLT_OBS": ("number", False), "A_RADIUS": ("number", False),
    "B_RADIUS": ("number", False), "C_RADIUS": ("number", False), "BLON_OBS": ("number", False),
    "BLAT_OBS": ("number", False), "BDIS_OBS": ("number", False),
    # Times, which WCSLIB reads.
    "DATE": ("text", False), "TELAPSE": ("number", False), "XPOSURE": ("number", False),
    "TIMSYER": ("number", False), "TIMRDER": ("number", False), "TIMEDEL": ("number", False),
    "TIMEPIXR": ("number", False), "PLEPHEM": ("text", False), "OBSORBIT": ("text", False),
    "OBSFREQ": ("number", False), "BANDWID": ("number", False),
}  # fmt: skip

#: Cards for the conversion of a spectral axis and for the frame of the sky: an invalid one gives a
#: warning when such an axis is read.
SPECTRAL_EXTRAS = (
    "RESTFRQ", "RESTFREQ", "RESTWAV", "VELREF", "SPECSYS", "SSYSOBS", "SSYSSRC", "VELOSYS",
    "VELANGL", "ZSOURCE",
)  # fmt: skip
CELESTIAL_EXTRAS = ("RADESYS", "RADECSYS", "EQUINOX", "EPOCH")

_AXIS_CARD = re.compile(rf"({'|'.join(_OF_AXIS)})([1-9]\d{{0,2}})")
_MATRIX_CARD = re.compile(r"(PC|CD)(?:([1-9]\d{0,2})_([1-9]\d{0,2})|(\d{3})(\d{3}))")
_PARAMETER_CARD = re.compile(r"(PV|PS)([1-9]\d{0,2})_(0|[1-9]\d?)")
#: Parameters of a projection before the Standard had PVi_m.
_OLD_PARAMETER_CARD = re.compile(r"PROJP\d")
#: IRAF attributes with the polynomials of TNX and ZPX.
_ATTRIBUTE_CARD = re.compile(r"WAT([1-9]\d?)_(\d{3})")
#: Plate solution of the Digitized Sky Survey: the plate, its coefficients, and its pixels.
_PLATE_CARD = re.compile(
    r"(AMD[XY])([1-9]|1\d|20)|PPO[1-6]|PLT(?:RA[HMS]|DEC(?:SN|[DMS])|SCALE)|[XY]PIXELSZ|CNPIX[12]"
)
#: Cards that the positions of a plate require; WCSLIB would use 0 for a missing one.
_PLATE = (
    "AMDX1", "AMDX2", "AMDY1", "AMDY2", "PPO3", "PPO6", "XPIXELSZ", "YPIXELSZ", "CNPIX1", "CNPIX2",
    "PLTRAH", "PLTRAM", "PLTRAS", "PLTDECD", "PLTDECM", "PLTDECS",
)  # fmt: skip
#: Terms that no plate solution uses, although headers of plates have them: WCSLIB 8 crashes unless
#: they are 0.
_UNUSED_TERMS = tuple(f"AMD{axis}{term}" for axis in "XY" for term in range(14, 21))
#: SIP, and the tables and polynomials of the distortion paper as supported by astropy and WCSLIB.
_SIP_CARD = re.compile(r"(AP|BP|A|B)_(ORDER|DMAX|\d+_\d+)")
_DISTORTION_CARD = re.compile(
    r"((?:CP|CQ)DIS|D2IMDIS|(?:CP|CQ)ERR|D2IMERR)([1-9]\d?)|(DP|DQ|D2IM|D2IMARR)([1-9]\d?)"
    r"|AXISCORR|D2IMEXT|D2IMERR"
)
#: Keywords of a function of the distortion paper, the keyword of its records, and the image of its
#: corrections if the function is LOOKUP.
LOOKUPS = {"CPDIS": ("DP", "WCSDVARR"), "D2IMDIS": ("D2IM", "D2IMARR")}
#: Field of a record-valued card that counts axes.
_RECORD_AXES = re.compile(r"\s*NAXES\s*:\s*(\S+)\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Kind:
    """Content of a coordinate keyword, and the axes (from 1) that it describes."""

    root: str
    type: str
    is_essential: bool
    axes: tuple[int, ...] = ()
    #: Number of a parameter: 2 for PV1_2.
    parameter: int | None = None

    @property
    def keyword(self) -> str:
        """The keyword with its own numbers."""
        return self.renumbered({axis: axis for axis in self.axes})

    @property
    def is_distortion(self) -> bool:
        """Whether it belongs to a distortion or a plate, which describe NAXIS1 and NAXIS2."""
        return self.type in ("order", "record", "any") or self.is_sip or self.is_plate

    @property
    def is_sip(self) -> bool:
        """Whether it is a SIP coefficient."""
        return bool(_SIP_CARD.fullmatch(self.root))

    @property
    def is_plate(self) -> bool:
        """Whether it belongs to a plate of the Digitized Sky Survey."""
        return bool(_PLATE_CARD.fullmatch(self.root))

    def renumbered(self, number: dict[int, int]) -> str:
        """Return the keyword with renumbered axes."""
        axes = [str(number[axis]) for axis in self.axes]
        if self.root == "WAT":
            axes.append(f"{self.parameter:03}")
        elif self.parameter is not None:
            axes.append(str(self.parameter))
        return self.root + "_".join(axes)


def kind_of(keyword: str) -> Kind | None:
    """Return the kind of a keyword (in upper case) of the primary description; None for others.

    >>> kind_of("PC1_2"), kind_of("OBJECT")
    (Kind(root='PC', type='number', is_essential=True, axes=(1, 2), parameter=None), None)
    """
    if keyword in _OF_ALL:
        return Kind(keyword, *_OF_ALL[keyword])
    if match := _AXIS_CARD.fullmatch(keyword):
        return Kind(match[1], *_OF_AXIS[match[1]], (int(match[2]),))
    if match := _MATRIX_CARD.fullmatch(keyword):
        axes = (int(match[2] or match[4]), int(match[3] or match[5]))
        return Kind(match[1], "number", True, axes) if min(axes) > 0 else None
    if match := _PARAMETER_CARD.fullmatch(keyword):
        kind = "number" if match[1] == "PV" else "text"
        return Kind(match[1], kind, True, (int(match[2]),), int(match[3]))
    if match := _SIP_CARD.fullmatch(keyword):
        kind = "order" if match[2] == "ORDER" else "number"
        return Kind(keyword, kind, match[2] != "DMAX")
    if match := _DISTORTION_CARD.fullmatch(keyword):
        kind = "record" if match[3] else "any"
        root, axis = match[1] or match[3], match[2] or match[4]
        return Kind(root, kind, True, (int(axis),)) if root else Kind(keyword, kind, True)
    if match := _ATTRIBUTE_CARD.fullmatch(keyword):
        return Kind("WAT", "text", True, (int(match[1]),), int(match[2]))
    if _PLATE_CARD.fullmatch(keyword):
        return Kind(keyword, "text" if keyword == "PLTDECSN" else "number", True)
    return Kind(keyword, "number", True) if _OLD_PARAMETER_CARD.fullmatch(keyword) else None


class WcsCards:
    """The checked cards of coordinates of one header.

    Parameters
    ----------
    header
        Any header; if a keyword repeats, its first card counts.
    ndim
        NAXIS.
    where
        File and HDU, for messages; "" for a header in memory.
    tell
        Function that reports warnings.
    """

    def __init__(
        self, header: Header, ndim: int, where: str = "", tell: Callable[[str], None] = warn
    ) -> None:
        self.header = header
        self.ndim = ndim
        self.where = where
        self._tell = tell
        self._warned: set[str] = set()
        self._found: dict[str, dict[tuple[int, int], str]] | None = None

    # Single values.

    def number(self, keyword: str, default: float) -> float:
        """Return a number that coordinates depend on; FormatError for anything else."""
        value = self._checked(keyword, "number")
        return default if value is None else float(value)

    def text(self, keyword: str) -> str:
        """Return a text that coordinates depend on, without surrounding blanks; "" if absent."""
        return str(self._checked(keyword, "text") or "").strip()

    def optional(self, keyword: str) -> Any:
        """Return a value that coordinates do not depend on; None, with a warning, if unusable."""
        kind = kind_of(keyword)
        value = self.header.get(keyword)
        if value is None or kind is None:
            return None
        problem = _problem(value, kind.type)
        if problem is not None:
            self.warn_once(keyword, self._ignored(keyword, value, problem))
            return None
        if kind.type == "year" and value == 0:
            # Programs write 0 for "unknown".
            return None
        if kind.type == "integer" and isinstance(value, float):
            text = f"{self._place}{keyword} = {value!r} is read as the integer {int(value)}"
            self.warn_once(keyword, text)
            return int(value)
        return value.strip() if isinstance(value, str) else value

    def warn_of(self, keywords: Sequence[str]) -> None:
        """Warn once about each unusable card among the keywords."""
        for keyword in keywords:
            self.optional(keyword)

    def axes(self) -> int:
        """Return WCSAXES, or NAXIS without it; FormatError for more axes than WCSLIB supports."""
        declared = self._checked("WCSAXES", "axes") or 0
        count = max(int(declared), self.ndim)
        if count > MOST_AXES:
            raise self.invalid("NAXIS", count, f"at most {MOST_AXES} axes with coordinates")
        return count

    def _checked(self, keyword: str, kind: str, is_needed: bool = False) -> Any:
        value = self.header.get(keyword)
        has_default = not (keyword in self.header and _needs_value(keyword))
        if value is None and has_default and not is_needed:
            return None
        problem = _problem(value, kind)
        if problem is not None:
            raise self.invalid(keyword, value, problem)
        return value

    @property
    def _place(self) -> str:
        return f"{self.where}: " if self.where else ""

    def invalid(self, keyword: str, value: Any, expected: str) -> FormatError:
        """Return the error for an invalid card, with its keyword and value."""
        subject = f"{keyword} {value!r}" if value is not None else keyword
        actual = _type_name(value) if value is not None else "no value"
        return format_error(
            f"{self._place}invalid {subject}: expected {expected}, found {actual}",
            "correct the card: "
            + either(
                f'editor[0].header["{keyword}"] = value, in tachyfits.edit(path)',
                f"tachyfits header FILE --set {keyword}=VALUE",
                f"the card {keyword} of the file",
            ),
            "numeric-text" if isinstance(value, str) and "number" in expected else "keyword-type",
        )

    def _ignored(self, keyword: str, value: Any, expected: str) -> str:
        return (
            f"{self._place}{keyword} = {value!r} is ignored: expected {expected}, found "
            f"{_type_name(value)}"
        )

    def read_as(self, keyword: str, value: Any, meaning: str) -> None:
        """Warn about a card that is read although its value has the wrong form."""
        self.warn_once(keyword, f"{self._place}{keyword} = {value!r} is read as {meaning}")

    def warn_once(self, key: str, message: str) -> None:
        """Warn once about each card, however often it is read."""
        if key not in self._warned:
            self._warned.add(key)
            self._tell(message)

    # Distortions.

    @cached_property
    def has_plate(self) -> bool:
        """Whether the header has a plate solution of the Digitized Sky Survey: AMDXn or AMDYn.

        XPIXELSZ and YPIXELSZ alone are pixel sizes of a CCD.
        """
        matches = (_PLATE_CARD.fullmatch(keyword.upper()) for keyword in self.header)
        return any(match is not None and match[1] is not None for match in matches)

    def functions(self, axis: int) -> list[str]:
        """Return the keywords of functions of the distortion paper for an axis."""
        roots = ("CPDIS", "CQDIS", "D2IMDIS")
        return [key for root in roots if (key := f"{root}{axis}") in self.header]

    def lookup_of(self, kind: Kind, value: Any) -> tuple[str, int] | None:
        """Return EXTNAME and EXTVER of the image of corrections that a card needs, or None.

        Raises
        ------
        UsageError
            The card names another function of the distortion paper, which astropy ignores.
        """
        if kind.root == "AXISCORR":
            return "D2IMARR", 1
        if kind.root not in LOOKUPS:
            return None
        keyword = kind.keyword
        if not isinstance(value, str) or value.strip().upper() != "LOOKUP":
            raise usage(
                f"{self._place}the distortion {keyword} = {value!r} is not supported: expected "
                "'LOOKUP'",
                "use pixels, or remove the cards of the distortion",
            )
        records, name = LOOKUPS[kind.root]
        version: Any = 1
        for card in self.header.cards:
            if card.keyword.upper() == f"{records}{kind.axes[0]}" and isinstance(card.value, str):
                field, _, text = card.value.partition(":")
                version = _number_of(text) if field.strip().upper() == "EXTVER" else version
            elif card.keyword.upper() == f"{records}{kind.axes[0]}.EXTVER":
                version = card.value
        if not is_number(version) or version != int(version):
            raise self.invalid(f"{records}{kind.axes[0]}.EXTVER", version, "an integer number")
        return name, int(version)

    @cached_property
    def _has_sip(self) -> bool:
        """Whether CTYPE enables SIP; warn about SIP coefficients that it does not enable."""
        ctypes = [self.header.get(f"CTYPE{n}") for n in (1, 2)]
        texts = [ctype.rstrip() if isinstance(ctype, str) else "" for ctype in ctypes]
        if any(text.endswith("-SIP") for text in texts):
            return True
        names = [key for key in self.header if _SIP_CARD.fullmatch(key.upper())]
        if names:
            text = (
                f"{self._place}{names[0]} and other coefficients of SIP are ignored: CTYPE1 = "
                f"{texts[0]!r} and CTYPE2 = {texts[1]!r} do not end in -SIP, which applies them"
            )
            self.warn_once("SIP", text)
        return False

    def _counts(self, kind: Kind) -> bool:
        """Return whether a card is in effect: distortions need a CTYPE or a plate."""
        if kind.is_sip:
            return self._has_sip
        if kind.root == "CTYPE":
            self._warn_of_plain(kind.axes[0])
        if kind.is_plate:
            return self.has_plate
        if kind.root == "WAT":
            return coordinate_type(self.text(f"CTYPE{kind.axes[0]}"))[1] in ("TNX", "ZPX")
        return True

    def _warn_of_plain(self, axis: int) -> None:
        """Warn about an IRAF projection without its polynomial, which WCSLIB reads as plain TAN."""
        ctype, keyword = self.text(f"CTYPE{axis}"), f"WAT{axis}_001"
        if coordinate_type(ctype)[1] == "TNX" and keyword not in self.header:
            text = (
                f"{self._place}CTYPE{axis} = {ctype!r} has no polynomial ({keyword}): positions "
                "are those of TAN"
            )
            self.warn_once(f"CTYPE{axis}", text)

    # The matrix.

    def matrix(self, row: int) -> dict[int, float]:
        """Return the nonzero elements of a row of the matrix from pixels to world units.

        CDELTi · PCi_j, or CDi_j (8.1, 8.2). If PC and CD are both present, which the Standard
        forbids, PC counts, as in WCSLIB; an axis without CDi_j has its CDELT. An off-diagonal
        element that moves the coordinate by less than 1e-6 pixel over the whole image is rounding
        noise, and is dropped with a warning. CROTA is not applied.
        """
        cdelt = self.number(f"CDELT{row}", 1.0)
        pc, cd = self._elements("PC"), self._elements("CD")
        if cd and not pc and any(row in place for place in cd):
            elements = {
                column: (keyword, self.number(keyword, 0.0))
                for (i, column), keyword in cd.items()
                if i == row
            }
        else:
            elements = {row: ("", cdelt)}
            for (i, column), keyword in pc.items():
                if i == row:
                    elements[column] = (keyword, cdelt * self.number(keyword, 0.0))
        diagonal = abs(elements.get(row, ("", 0.0))[1])
        row_elements = {}
        for column, (keyword, value) in elements.items():
            is_noise = abs(value) * self._length(column) < 1e-6 * diagonal
            if column != row and value != 0 and is_noise:
                text = (
                    f"{self._place}{keyword} = {self.header[keyword]!r} is ignored: it is "
                    f"rounding noise beside the diagonal of axis {row}"
                )
                self.warn_once(keyword, text)
            elif column == row or value != 0:
                row_elements[column] = value
        return row_elements

    def matrix_keyword(self, row: int, column: int) -> str:
        """Return the card of an element of the matrix; "" if it has none."""
        return self._elements("PC").get((row, column)) or self._elements("CD").get(
            (row, column), ""
        )

    def turn(self, rows: dict[int, dict[int, float]], longitude: int, latitude: int) -> None:
        """Apply CROTA of the latitude, which counts only if there is no card of PC or CD."""
        if self.has_matrix or f"CROTA{latitude}" not in self.header:
            return
        angle = math.radians(self.number(f"CROTA{latitude}", 0.0))
        cosine, sine = math.cos(angle), math.sin(angle)
        x, y = rows[longitude][longitude], rows[latitude][latitude]
        rows[longitude] = {longitude: x * cosine, latitude: -y * sine}
        rows[latitude] = {longitude: x * sine, latitude: y * cosine}

    @property
    def has_matrix(self) -> bool:
        """Whether the header has a card of PC or CD."""
        return bool(self._elements("PC") or self._elements("CD"))

    def _length(self, axis: int) -> int:
        length = self.header.get(f"NAXIS{axis}")
        # Headers of results have no NAXISn.
        return length if isinstance(length, int) and length > 0 else 10_000

    def _elements(self, root: str) -> dict[tuple[int, int], str]:
        """Return the elements of PC or CD that have a card, and their keywords."""
        if self._found is None:
            self._found = {"PC": {}, "CD": {}}
            for keyword in self.header:
                match = _MATRIX_CARD.fullmatch(keyword.upper())
                kind = kind_of(keyword.upper()) if match else None
                if kind is not None:
                    self._found[kind.root].setdefault((kind.axes[0], kind.axes[1]), keyword)
        return self._found[root]

    # Cards for astropy.

    def checked(self, axes: Sequence[int] | None = None) -> Iterator[tuple[str, Kind | None, Any]]:
        """Yield the cards for astropy: keyword, kind, and a value of the right type.

        Parameters
        ----------
        axes
            Axes to include, renumbered from 1; None: all, unchanged, with NAXIS and NAXISn.

        Raises
        ------
        FormatError
            A card of an included axis, or of the whole description, has the wrong type.
        """
        number = None if axes is None else {axis: n for n, axis in enumerate(axes, 1)}
        if number is None:
            self.axes()
        if self.has_plate:
            for keyword in _PLATE:
                self._checked(keyword, "number", is_needed=True)
            for keyword in _UNUSED_TERMS:
                if value := self._checked(keyword, "number"):
                    raise self.invalid(keyword, value, "0: a plate solution has 13 terms")
        keywords: set[str] = set()
        for card in self.header.cards:
            keyword = card.keyword.upper()
            kind = kind_of(keyword)
            is_record = kind is not None and kind.type in ("record", "any")
            if keyword in keywords and not is_record:
                continue
            if card.value is None and not _needs_value(keyword):
                continue
            if not _FITS_KEYWORD.fullmatch(keyword) or keyword in _COMMENTARY:
                continue
            keywords.add(keyword)
            if kind is None:
                if number is None and _LENGTH_CARD.fullmatch(keyword):
                    yield keyword, None, card.value
                continue
            if not self._counts(kind):
                continue
            if kind.axes and number is not None:
                if not set(kind.axes) <= set(number):
                    continue
                keyword = kind.renumbered(number)
            if keyword == "WCSAXES" and number is not None:
                continue
            if any(axis > MOST_AXES for axis in kind.axes):
                raise self.invalid(card.keyword, card.value, f"an axis from 1 to {MOST_AXES}")
            value = self._for_astropy(card, kind)
            if value is not None:
                yield keyword, kind, value

    def with_matrix_of_polynomials(
        self, used: list[tuple[str, Kind | None, Any]], axes: Sequence[int] | None
    ) -> list[tuple[str, Kind | None, Any]]:
        """Return checked cards with CD instead of CDELT, PC and CROTA if the sky has a polynomial.

        TPV, TNX and ZPX have polynomials in degrees. WCSLIB 8 evaluates them before it multiplies
        by CDELT, so in pixels unless there is CD.
        """
        numbers = list(range(1, self.ndim + 1)) if axes is None else list(axes)
        types = {axis: coordinate_type(self.text(f"CTYPE{axis}")) for axis in numbers}
        sky = [axis for axis in numbers if self._has_polynomial(axis, types[axis][1])]
        if not sky or (self._elements("CD") and not self._elements("PC")):
            return used
        rows = {axis: self.matrix(axis) for axis in numbers}
        latitudes = [axis for axis in numbers if is_latitude(self.text(f"CTYPE{axis}"))]
        longitudes = [axis for axis in sky if axis not in latitudes]
        if len(latitudes) == len(longitudes) == 1:
            self.turn(rows, longitudes[0], latitudes[0])
        number = {axis: n for n, axis in enumerate(numbers, 1)}
        replaced = ("CDELT", "PC", "CD", "CROTA")
        remaining = [item for item in used if item[1] is None or item[1].root not in replaced]
        for row, elements in rows.items():
            for column, value in elements.items():
                if column in number and (kind := kind_of(f"CD{row}_{column}")):
                    remaining.append((kind.renumbered(number), kind, value))
        return remaining

    def _has_polynomial(self, axis: int, algorithm: str) -> bool:
        # WCSLIB treats TAN with terms of the latitude as TPV, as SCAMP wrote it.
        is_tpv = algorithm == "TAN" and any(
            (kind := kind_of(keyword.upper())) is not None and kind.root == "PV"
            for keyword in self.header
        )
        return is_tpv or algorithm in ("TPV", "TNX", "ZPX")

    def _for_astropy(self, card: Card, kind: Kind) -> Any:
        if not kind.is_essential:
            return self.optional(card.keyword.upper())
        problem = _problem(card.value, kind.type)
        if problem is not None:
            raise self.invalid(card.keyword, card.value, problem)
        return int(card.value) if kind.type in ("axes", "order") else card.value


_FITS_KEYWORD = re.compile(r"[A-Z0-9_-]{1,8}")
_LENGTH_CARD = re.compile(r"NAXIS[1-9]?\d*")
_COMMENTARY = ("COMMENT", "HISTORY", "CONTINUE", "END", "")


def _needs_value(keyword: str) -> bool:
    """Return whether a missing value is an error: its default would change the coordinates."""
    return keyword.startswith(("CRVAL", "CRPIX", "CDELT", "PC", "CD", "PV")) and bool(
        kind_of(keyword)
    )


def _number_of(text: str) -> float | None:
    """Return the number in a text; None if it is not a number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def header_text(cards: Sequence[tuple[str, Any]]) -> str:
    """Return cards as the text of a header, 80 characters each; long strings are dropped.

    >>> len(header_text([("CRPIX1", 2.0), ("OBJECT", "M 31")]))
    160
    """
    # Readers of old conventions expect strings of at least 8 characters. Records of IRAF have 68:
    # trailing blanks count.
    padded = (
        Card(
            keyword,
            value.ljust(68 if keyword[:3] == "WAT" else 8) if isinstance(value, str) else value,
        )
        for keyword, value in cards
    )
    lines = (card_line(card) for card in padded)
    return "".join(f"{line:<80}" for line in lines if len(line) <= 80 and line.isascii())


def _problem(value: Any, kind: str) -> str | None:
    """Return the expected form of a value that is not of its kind; None if it is."""
    is_finite = is_number(value)
    if kind == "any":
        return None
    if kind == "text":
        return None if isinstance(value, str) else "text"
    if kind == "number":
        return None if is_finite else "a number"
    if kind == "year":
        return None if is_finite and value >= 0 else "a year"
    if kind == "record":
        return _record_problem(value)
    is_whole = is_finite and float(value).is_integer()
    low, high, name = {
        "integer": (-(2**31), 2**31 - 1, "an integer number"),
        "axes": (0, MOST_AXES, f"a number of axes up to {MOST_AXES}"),
        "order": (0, _MOST_ORDER, f"the order of a polynomial, a number up to {_MOST_ORDER}"),
    }[kind]
    return None if is_whole and low <= value <= high else name


def is_number(value: Any) -> bool:
    """Return whether a value is a number within the range of float64."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _record_problem(value: Any) -> str | None:
    match = _RECORD_AXES.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        count = float(match[1])
    except ValueError:
        count = -1.0
    fine = count.is_integer() and 0 < count <= MOST_AXES
    return None if fine else f"a number of axes up to {MOST_AXES}"


def _type_name(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "a logical value"
    if isinstance(value, complex):
        return "a complex number"
    return "a number" if is_number(value) else "a number out of range"
