"""Measured values: arrays with a unit and a header, the common base of planes and spectra.

Operators work element by element as in NumPy, and units follow astropy's rules.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.base.hints import no_attribute
from tachyfits.base.upper import upper
from tachyfits.file.companions import plane_file
from tachyfits.header.alignment import Grid, tell_differences
from tachyfits.header.brightness import Asked, factor_between, setting_of_result
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.results.array_methods import ArrayMethods
from tachyfits.results.quantities import UFUNCS, is_quantity, outcome, parts_of
from tachyfits.text.indices import is_section
from tachyfits.text.pixel_units import certain_pixel_unit, pixel_unit
from tachyfits.text.regions import Region
from tachyfits.text.sections import Section, resolve
from tachyfits.text.spectral_ranges import SpectralRange

if TYPE_CHECKING:
    import astropy.units
    import xarray

    from tachyfits.image.image import Image
    from tachyfits.text.axes import WorldAxis

_Self = TypeVar("_Self", bound="Measured")


class Measured(ArrayMethods, NDArrayOperatorsMixin, ABC):
    """Values with a unit and a header; the base class of `Plane` and `Spectrum`."""

    _data_kind = "measured"

    values: NDArray[np.float64]
    unit: str | None
    header: Header
    #: HDUs that the coordinates need, as bytes: tables, and corrections of pixels.
    companions: bytes = b""

    @property
    def _channels(self) -> WorldAxis | None:
        """Coordinates of the only axis of a spectrum."""
        return None

    @abstractmethod
    def _changed(self: _Self, values: NDArray[Any], unit: str | None, other: Any = None) -> _Self:
        """Return a copy with other values; ``other`` is a second operand of the same kind."""

    @abstractmethod
    def _cut(self: _Self, section: Section) -> _Self:
        """Return a part along every axis, with the coordinates of its pixels."""

    @abstractmethod
    def _grid(self) -> Grid:
        """Return the positions of the values, to check values that are combined."""

    def _compare(self, other: Measured) -> None:
        """Warn if another operand has its values at other positions."""
        tell_differences((self, other))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            hint = f"its array has it: {kind.lower()}.values.{name}"
            hint = hint if hasattr(np.ndarray, name) else ""
            message = no_attribute(kind, name, hint, dir(type(self)))
            raise AttributeError(message, name=name, obj=self)

    def __getstate__(self) -> dict[str, Any]:
        # The cost belongs to the process that computed it.
        return self.__dict__ | {"report": None}

    def as_written(self, header: Any = None) -> tuple[NDArray[Any], Any]:
        """Return the array and the header of the image to write, unless ``header`` replaces it."""
        return self.values, self.header if header is None else header

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """Number of axes of the values."""
        return self.values.ndim

    @property
    def size(self) -> int:
        """Number of values."""
        return self.values.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def quantity(self) -> astropy.units.Quantity:
        """The values as an astropy quantity; dimensionless without a unit.

        Raises
        ------
        UsageError
            astropy does not know the unit, or it is ambiguous.
        """
        import astropy.units as u

        unit = certain_pixel_unit(self.unit) if self.unit else u.dimensionless_unscaled
        return u.Quantity(self.values, unit, copy=False)

    def to(self: _Self, unit: Any, *, frequency: Any = None, beam: Any = None) -> _Self:
        """Return the same values in another unit, as text or an astropy unit.

        Units of brightness are converted as by `Image.to`, with the beam of the header. A spectrum
        has the frequencies of its channels; a plane the mean frequency of its source channels
        (OBSFREQ), with a warning if they differ too much for one factor.

        Parameters
        ----------
        unit
            "mJy", "K", "MJy/sr", "km/s", ...
        frequency, beam
            As in `Image.to`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> plane = tf.open("cube.fits")[0].moment(1, unit="km/s")
        >>> plane.to("m/s").values[0, 0].round(6), plane.to("m/s").unit
        (np.float64(1833.333333), 'm s-1')
        """
        values, header = self.as_written()
        coordinates = Coordinates(header, values.ndim)
        setting = setting_of_result(
            coordinates, values.shape, Asked(frequency, beam), self._channels
        )
        text, factor = factor_between(self.unit, unit, setting)
        return self._changed((values * factor).reshape(self.shape), text)

    def to_xarray(self) -> xarray.DataArray:
        """Return the values as an xarray array; see `Image.to_xarray`."""
        array: xarray.DataArray = upper.data_array(self)
        return array

    def clip(
        self: _Self, low: Any = None, high: Any = None, out: None = None, **options: Any
    ) -> _Self:
        """Return the values limited to a range, whose ends may be quantities; None: no limit."""
        if out is not None or options:
            raise usage(
                "a clipped result takes two ends alone", either("use np.clip(result.values, ...)")
            )
        limited = self if low is None else np.maximum(self, low)
        return limited if high is None else np.minimum(limited, high)

    def round(self: _Self, decimals: int = 0, out: None = None) -> _Self:
        """Return the values rounded to a number of decimals."""
        return self._changed(np.round(self.values, decimals), self.unit)

    def to_image(self) -> Image:
        """Return the values as an image in memory, with every method of images.

        Examples
        --------
        >>> import tachyfits as tf
        >>> plane = tf.open("cube.fits")[0].collapse("max")
        >>> plane.to_image().select("circle(2,2,1)", where="> 45").stats().count
        3
        """
        values, header = self.as_written()
        image: Image = upper.image_of_array(values, header, self.companions)
        return image

    def _part(self: _Self, index: Any) -> _Self:
        """Return the part that a region or a range of channels cuts out."""
        section = upper.section_of(self.to_image(), index)
        axes = [axis for axis in range(len(section.ranges)) if axis != self._kept]
        return self._cut(Section(tuple(section.ranges[axis] for axis in axes)))

    @property
    def _kept(self) -> int | None:
        """NumPy axis of length 1 that the image has and the values lack."""
        return None

    def __getitem__(self, index: Any) -> Any:
        if is_world(index):
            return self._part(index)
        items = index if isinstance(index, tuple) else (index,)
        if is_section(items):
            section = resolve(items, self.shape)
            if section.size and not section.dropped:
                return self._cut(section)
        return self.values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.values.item())
        what = type(self).__name__.lower()
        raise usage(
            f"the truth value of a {what} is ambiguous; use .any() or .all() of a comparison",
            either("(a == b).all() tells whether all values are equal"),
        )

    # NumPy's mixin compares element by element, so objects are hashed by identity.
    __hash__ = object.__hash__

    def _not_in_place(self, other: object) -> Any:
        """Convert ``a -= b`` to ``a = a - b``: the values of a result may be shared."""
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __imatmul__ = _not_in_place
    __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = _not_in_place
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _not_in_place

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy function; the result has the same kind and a unit, or is an array of bool.

        A plane combined with an image gives an image.
        """
        if any(isinstance(value, Measured) for value in options.get("out", ())):
            what = type(self).__name__.lower()
            raise usage(
                f"invalid out of {ufunc.__name__}: expected an array, found a {what}",
                either(f"give its array, out={what}.values, or take the result"),
            )
        if any(hasattr(type(value), "_core_image") for value in inputs):
            return NotImplemented
        operands = [_operand(value) for value in inputs]
        arrays = [values for values, _ in operands]
        if method != "__call__" or options or ufunc.nout > 1 or len(inputs) > 2:
            return getattr(ufunc, method)(*arrays, **options)
        units = [unit for _, unit in operands]
        unit = self.unit
        if any(units):
            power = arrays[-1][()] if not arrays[-1].ndim else None
            right = units[1] if len(units) > 1 else ""
            result = outcome(UFUNCS.get(ufunc, ufunc.__name__), units[0], right, power)
            unit = result.unit
            if result.factor != 1:
                arrays[-1] = arrays[-1] * result.factor
        others = [value for value in inputs if isinstance(value, Measured) and value is not self]
        other = others[0] if others else None
        if other is not None:
            self._compare(other)
        values = ufunc(*arrays)
        alike = other is None or type(other) is type(self)
        if values.dtype == np.bool_ or values.shape != self.shape or not alike:
            return values
        return self._changed(values, unit or None, other)


def is_world(index: Any) -> bool:
    """Return whether an index is in world coordinates: text, a region, or a range of quantities.

    >>> is_world("5..15 km/s"), is_world("icrs; circle(10, 20, 0.1)"), is_world(slice(5, 15))
    (True, True, False)
    """
    if isinstance(index, slice):
        return any(hasattr(end, "unit") for end in (index.start, index.stop))
    is_foreign = type(index).__module__.partition(".")[0] == "regions"
    return is_foreign or isinstance(index, (str, Region, SpectralRange, os.PathLike))


def has_unit(value: Any) -> bool:
    """Return whether a value is a quantity, a unit, or a plane or spectrum with a unit."""
    return is_quantity(value) or (isinstance(value, Measured) and bool(value.unit))


def unit_parts(value: Any) -> tuple[Any, str]:
    """Return the number or the array of a value that `has_unit`, and its unit."""
    if isinstance(value, Measured):
        return value.values, value.unit or ""
    return parts_of(value)


def amount(value: Any, units: Iterable[str] = ()) -> tuple[Any, str]:
    """Return a value that `has_unit` as a number or an array, and its unit.

    The unit is the first of ``units`` that it converts to, in the spelling of ``units``.
    """
    number, own = unit_parts(value)
    parsed = pixel_unit(own) if own else None
    if parsed is None:
        return number, own
    for text in units:
        unit = pixel_unit(text)
        if unit is not None and unit.is_equivalent(parsed):
            return number * float(parsed.to(unit)), text
    return number, own


def unmasked(values: Any) -> NDArray[Any]:
    """Return values as an array; masked elements become NaN.

    >>> unmasked(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if not np.ma.is_masked(values):
        return np.asarray(values)
    array: Any = values if values.dtype.kind == "f" else values.astype(np.float64)
    return np.asarray(array.filled(np.nan))


def _operand(value: Any) -> tuple[NDArray[Any], str | None]:
    """Return an operand as an array and its unit."""
    if isinstance(value, Measured):
        return value.values, value.unit
    if is_quantity(value):
        number, unit = parts_of(value)
        return np.asarray(number), unit
    return unmasked(value), ""


def as_array(values: NDArray[Any], dtype: Any, copy: bool | None) -> NDArray[Any]:
    """Implement NumPy's conversion protocol (``__array__``) for values already in memory."""
    array = values if dtype is None else values.astype(dtype, copy=False)
    if copy is False and array is not values:
        raise ValueError("a conversion to another type cannot be made without a copy")
    return array.copy() if copy else array


def with_unit(header: Header, unit: str | None) -> Header:
    """Return a header with this BUNIT, or without BUNIT."""
    if unit == header.get("BUNIT"):
        return header
    return header.replaced({"BUNIT": unit} if unit else {}, without=() if unit else ("BUNIT",))


def cut_header(
    header: Header,
    shape: Sequence[int],
    ranges: Sequence[tuple[int, int, int]],
    companions: bytes = b"",
) -> tuple[Header, bytes]:
    """Return the header of a section of an array of this shape, and its companions."""
    cards = [tuple(card) for card in header.cards]
    image = plane_file(np.empty(shape), cards, companions).hdu(0).image()
    axes = list(range(len(shape)))
    result_cards = image.result_cards(list(ranges), kept=axes, with_tables=True)
    tables = image.result_tables(list(ranges), kept=axes) if companions else b""
    return with_unit(Header(result_cards), header.get("BUNIT")), tables


def both(one: str, other: str) -> str:
    """Return the name of a result of two operands."""
    return one if other in one.split(", ") else f"{one}, {other}"


def slice_of(pixels: tuple[int, int, int]) -> slice:
    """Return a range of pixels as a slice."""
    start, count, step = pixels
    stop = start + count * step
    return slice(start, None if stop < 0 else stop, step)
