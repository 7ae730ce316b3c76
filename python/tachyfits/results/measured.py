"""Measured values: what a plane and a spectrum share. Arrays with a unit and a header.

Operators work element by element as NumPy's do, and the unit follows as astropy's do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, usage
from tachyfits.base.upper import upper
from tachyfits.header.alignment import Grid, tell_differences
from tachyfits.header.brightness import Asked, factor_between, setting_of_result
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.results.quantities import UFUNCS, is_quantity, outcome, parts_of
from tachyfits.text.indices import is_section
from tachyfits.text.sections import Section, resolve
from tachyfits.text.units import fits_unit, unknown_unit

if TYPE_CHECKING:
    import astropy.units
    import xarray

_Self = TypeVar("_Self", bound="Measured")


class Measured(NDArrayOperatorsMixin, ABC):
    """Values with a unit and a header; `Plane` and `Spectrum` say of what."""

    _data_kind = "measured"

    values: NDArray[np.float64]
    unit: str | None
    header: Header

    @abstractmethod
    def _changed(self: _Self, values: NDArray[Any], unit: str | None, other: Any = None) -> _Self:
        """Return the same of other values; ``other`` is a second operand of the same kind."""

    @abstractmethod
    def _cut(self: _Self, section: Section) -> _Self:
        """Return a part along every axis, with the coordinates of its pixels."""

    @abstractmethod
    def _grid(self) -> Grid:
        """Return where the values are, for values that are combined."""

    def _compare(self, other: Measured) -> None:
        """Tell where another operand has its values at other places."""
        tell_differences((self, other))

    def __getstate__(self) -> dict[str, Any]:
        # The cost belongs to the process that computed it.
        return self.__dict__ | {"report": None}

    def as_written(self, header: Any = None) -> tuple[NDArray[Any], Any]:
        """Return the array and the header of the image that is written, unless another is given."""
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
        """The values as a quantity of astropy; dimensionless without a unit.

        Raises
        ------
        UsageError
            astropy does not know the unit.
        """
        import astropy.units as u

        unit = fits_unit(self.unit) if self.unit else u.dimensionless_unscaled
        if unit is None:
            raise unknown_unit(self.unit)
        return u.Quantity(self.values, unit, copy=False)

    def to(self: _Self, unit: Any, *, frequency: Any = None, beam: Any = None) -> _Self:
        """Return the same in another unit, as text or of astropy.

        Units of brightness are converted as by `Image.to`, with the beam of the header, and the
        frequencies of a spectrum, or the rest frequency for a plane.

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
        setting = setting_of_result(
            Coordinates(self.header, self.ndim),
            len(self) if self.ndim == 1 else None,
            Asked(frequency, beam),
        )
        text, factor = factor_between(self.unit, unit, setting)
        return self._changed(self.values * factor, text)

    def to_xarray(self) -> xarray.DataArray:
        """Return the same as an array of xarray; see `Image.to_xarray`."""
        array: xarray.DataArray = upper.data_array(self)
        return array

    def __getitem__(self, index: Any) -> Any:
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

    # NumPy's mixin compares element by element, so objects are distinguished by identity.
    __hash__ = object.__hash__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Return a function of NumPy: of the same kind with its unit, or an array of truth values.

        A plane beside an image gives an image.
        """
        if any(hasattr(type(given), "_core_image") for given in inputs):
            return NotImplemented
        operands = [_operand(given) for given in inputs]
        arrays = [values for values, _ in operands]
        if method != "__call__" or options or ufunc.nout > 1 or len(inputs) > 2:
            return getattr(ufunc, method)(*arrays, **options)
        units = [unit for _, unit in operands]
        unit = self.unit
        if any(units):
            power = arrays[-1][()] if not arrays[-1].ndim else None
            right = units[1] if len(units) > 1 else ""
            found = outcome(UFUNCS.get(ufunc, ufunc.__name__), units[0], right, power)
            unit = found.unit
            if found.factor != 1:
                arrays[-1] = arrays[-1] * found.factor
        others = [given for given in inputs if isinstance(given, Measured) and given is not self]
        other = others[0] if others else None
        if other is not None:
            self._compare(other)
        values = ufunc(*arrays)
        alike = other is None or type(other) is type(self)
        if values.dtype == np.bool_ or values.shape != self.shape or not alike:
            return values
        return self._changed(values, unit or None, other)


def has_unit(value: Any) -> bool:
    """Say whether something is a quantity, a unit, or a plane or spectrum with a unit."""
    return is_quantity(value) or (isinstance(value, Measured) and bool(value.unit))


def unit_parts(value: Any) -> tuple[Any, str]:
    """Return the number or the array of what `has_unit`, and its unit."""
    if isinstance(value, Measured):
        return value.values, value.unit or ""
    return parts_of(value)


def amount(value: Any, units: Iterable[str] = ()) -> tuple[Any, str]:
    """Return what `has_unit` as a number or an array and its unit.

    That is the first of ``units`` that it can be converted to, as it is written there.
    """
    number, own = unit_parts(value)
    known = fits_unit(own) if own else None
    if known is None:
        return number, own
    for text in units:
        unit = fits_unit(text)
        if unit is not None and unit.is_equivalent(known):
            return number * float(known.to(unit)), text
    return number, own


def unmasked(values: Any) -> NDArray[Any]:
    """Return values as an array; NaN where a masked array hides them.

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
    """Follow NumPy's protocol of conversion (``__array__``) for values already in memory."""
    array = values if dtype is None else values.astype(dtype, copy=False)
    if copy is False and array is not values:
        raise ValueError("a conversion to another type cannot be made without a copy")
    return array.copy() if copy else array


def with_unit(header: Header, unit: str | None) -> Header:
    """Return a header with this BUNIT, or without one."""
    if unit == header.get("BUNIT"):
        return header
    return header.replaced({"BUNIT": unit} if unit else {}, without=() if unit else ("BUNIT",))


def cut_header(
    header: Header, shape: Sequence[int], ranges: Sequence[tuple[int, int, int]]
) -> Header:
    """Return the header of a section of an array of this shape."""
    cards = [tuple(card) for card in header.cards]
    array: NDArray[np.uint8] = np.empty(shape, np.uint8)
    image = _core.array_file(array, cards).hdu(0).image()
    kept = list(range(len(shape)))
    return with_unit(Header(image.result_cards(list(ranges), kept=kept)), header.get("BUNIT"))


def both(one: str, other: str) -> str:
    """Return what a result of two is called."""
    return one if other in one.split(", ") else f"{one}, {other}"


def slice_of(pixels: tuple[int, int, int]) -> slice:
    """Return a range of pixels as a slice."""
    start, count, step = pixels
    stop = start + count * step
    return slice(start, None if stop < 0 else stop, step)
