"""Operators on images: arithmetic, comparisons and NumPy functions give images, computed lazily.

Each operator extends a formula over the input images. A chain of operators is one expression, read
in one pass; see `tachyfits.evaluate` for the meaning of the operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.header.alignment import tell_differences
from tachyfits.header.brightness import Asked, factor_between, setting_of
from tachyfits.image.expressions import ATOM, ENGINES, Formula, formula_of, numbers
from tachyfits.results.quantities import SIGNS, UFUNCS, outcome

if TYPE_CHECKING:
    from tachyfits.header.spectral_units import Convention, Medium
    from tachyfits.image.image import Image

#: Precedence of operators, from loose to tight, as the engine parses them; see `infix`.
_COMPARISON, _ARITHMETIC, _SIGN, _POWER = 4, 7, 9, 10
_POWERS = {"|": 5, "&": 6, "+": 7, "-": 7, "*": 8, "/": 8, "//": 8, "%": 8, "**": _POWER}


def infix(left: Any, operator: str, right: Any) -> Any:
    """Return the image of ``left operator right``; NotImplemented for other operands."""
    formulas = _formulas((left, right))
    if formulas is None:
        return NotImplemented
    tell_differences((left, right))
    first, second = formulas
    unit, second = _with_unit(operator, first, second, right)
    power = _POWERS.get(operator, _COMPARISON)
    # Powers associate to the right, all others to the left; operands of a comparison need brackets
    # unless they are arithmetic.
    before = {_POWER: ATOM, _COMPARISON: _ARITHMETIC}.get(power, power)
    after = {_POWER: _SIGN, _COMPARISON: _ARITHMETIC}.get(power, power + 1)
    parts = (*first.within(before), f" {operator} ", *second.within(after))
    return Formula(parts, power, unit).image()


def _formulas(operands: Sequence[Any]) -> list[Formula] | None:
    """Return operands as formulas; None if one of them is not a valid operand.

    A spectrum is placed along the spectral axis of the first image among them.
    """
    image = next((operand for operand in operands if hasattr(type(operand), "_core_image")), None)
    formulas = [formula_of(operand, beside=image) for operand in operands]
    valid = [formula for formula in formulas if formula is not None]
    return valid if len(valid) == len(operands) else None


def _with_unit(operator: str, first: Formula, second: Formula, right: Any) -> tuple[Any, Formula]:
    """Return the unit of a result, and the second operand in the unit of the first.

    If no quantity takes part, the engine finds the unit.
    """
    if first.unit is ENGINES and second.unit is ENGINES:
        return ENGINES, second
    power = right if isinstance(right, (int, float, np.number)) else None
    result = outcome(operator, first.own_unit(), second.own_unit(), power)
    return result.unit, _scaled(second, result.factor)


def _scaled(formula: Formula, factor: float | NDArray[np.float64]) -> Formula:
    """Return a formula times a number, or times an array that broadcasts to it."""
    if np.ndim(factor):
        parts = (*formula.within(_POWERS["*"]), " * ", numbers(np.asarray(factor)))
        return Formula(parts, _POWERS["*"])
    if factor == 1:
        return formula
    return Formula((*formula.within(_POWERS["*"]), f" * {float(factor)!r}"), _POWERS["*"])


def call(function: str, *arguments: Any) -> Any:
    """Return the image of a function of the engine; NotImplemented for other arguments."""
    formulas = _formulas(arguments)
    if formulas is None:
        return NotImplemented
    tell_differences(arguments)
    unit: Any = ENGINES
    if any(formula.unit is not ENGINES for formula in formulas):
        # The condition of a choice has its own unit.
        first = 1 if function == "where" else 0
        if len(formulas) == 1:
            result = outcome(function, formulas[0].own_unit())
            unit, formulas = result.unit, [_scaled(formulas[0], result.factor)]
        for number in range(first + 1, len(formulas)):
            unit, formulas[number] = _with_unit(function, formulas[first], formulas[number], None)
    parts: list[Any] = [f"{function}("]
    for number, formula in enumerate(formulas):
        parts += [", "] * (number > 0) + list(formula.parts)
    return Formula((*parts, ")"), ATOM, unit).image()


def _exclusive(left: Any, right: Any) -> Any:
    """Return the image of ``left ^ right`` for truth values."""
    if _formulas((left, right)) is None:
        return NotImplemented
    truths = [
        infix(operand, "!=", 0)
        if hasattr(type(operand), "_core_image")
        else np.not_equal(operand, 0)[()]
        for operand in (left, right)
    ]
    return infix(truths[0], "!=", truths[1])


def _signed(sign: str, operand: Any, power: int) -> Image:
    formula = formula_of(operand)
    assert formula is not None
    parts: tuple[Any, ...] = (sign, *formula.within(_SIGN))
    unit = formula.unit if sign != "~" or formula.unit is ENGINES else ""
    # An inverted operand is always bracketed: beside a comparison it would be ambiguous.
    return Formula(parts if power < ATOM else ("(", *parts, ")"), power, unit).image()


def _infix_methods(operator: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of an operator: image on the left, and image on the right."""

    def forward(self: Any, other: Any) -> Any:
        return infix(self, operator, other)

    def backward(self: Any, other: Any) -> Any:
        return infix(other, operator, self)

    forward.__doc__ = f"Return the image of ``self {operator} other``."
    backward.__doc__ = f"Return the image of ``other {operator} self``."
    return forward, backward


def converted(image: Any, unit: Any, asked: Asked, dtype: str | None = None) -> Image:
    """Return an image in another unit; see `Operators.to`.

    ``dtype``: "float64" if the values are not stored, to avoid rounding.
    """
    formula = formula_of(image)
    assert formula is not None
    text, factor = factor_between(formula.own_unit(), unit, setting_of(image, asked))
    return replace(_scaled(formula, factor), unit=text).image(dtype)


class Operators:
    """Arithmetic on images. The results are images; nothing is read until they are read.

    An astropy quantity, or a unit, contributes its unit: ``cube * (2 * u.K)`` has the product as
    its BUNIT, and operands of additions and comparisons are converted to the unit of the pixels.

    Pixels are combined by index. If images, planes and spectra have their pixels at different
    positions on the sky or along the spectral axis, by more than a thousandth of a pixel, a warning
    names the first difference; it is an error if a file was opened with ``strict=True``.

    Examples
    --------
    >>> import numpy as np, tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> (2 * cube - cube / 2)[0, 0]
    array([0. , 1.5, 3. , 4.5, 6. ], dtype=float32)
    >>> bright = (cube > 10) & (cube < 13)
    >>> bright.dtype, cube[bright], np.sqrt(cube)[0, 0, 4]
    (dtype('bool'), array([11., 12.], dtype=float32), np.float32(2.0))
    """

    #: Formula of an image that operators computed.
    _formula: Formula | None = None

    if TYPE_CHECKING:
        # Signatures of the operators that are defined below, for type checkers.
        def __add__(self, other: Any) -> Image: ...
        def __radd__(self, other: Any) -> Image: ...
        def __sub__(self, other: Any) -> Image: ...
        def __rsub__(self, other: Any) -> Image: ...
        def __mul__(self, other: Any) -> Image: ...
        def __rmul__(self, other: Any) -> Image: ...
        def __truediv__(self, other: Any) -> Image: ...
        def __rtruediv__(self, other: Any) -> Image: ...
        def __floordiv__(self, other: Any) -> Image: ...
        def __rfloordiv__(self, other: Any) -> Image: ...
        def __mod__(self, other: Any) -> Image: ...
        def __rmod__(self, other: Any) -> Image: ...
        def __pow__(self, other: Any) -> Image: ...
        def __rpow__(self, other: Any) -> Image: ...
        def __and__(self, other: Any) -> Image: ...
        def __rand__(self, other: Any) -> Image: ...
        def __or__(self, other: Any) -> Image: ...
        def __ror__(self, other: Any) -> Image: ...
        def __xor__(self, other: Any) -> Image: ...
        def __rxor__(self, other: Any) -> Image: ...
        def __lt__(self, other: Any) -> Image: ...
        def __le__(self, other: Any) -> Image: ...
        def __gt__(self, other: Any) -> Image: ...
        def __ge__(self, other: Any) -> Image: ...
        def __eq__(self, other: object) -> Image: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Image: ...  # type: ignore[override]
    else:
        __add__, __radd__ = _infix_methods("+")
        __sub__, __rsub__ = _infix_methods("-")
        __mul__, __rmul__ = _infix_methods("*")
        __truediv__, __rtruediv__ = _infix_methods("/")
        __floordiv__, __rfloordiv__ = _infix_methods("//")
        __mod__, __rmod__ = _infix_methods("%")
        __pow__, __rpow__ = _infix_methods("**")
        __and__, __rand__ = _infix_methods("&")
        __or__, __ror__ = _infix_methods("|")

        def __xor__(self, other: Any) -> Any:
            """Return the image that is true where exactly one of two conditions is true."""
            return _exclusive(self, other)

        __rxor__ = __xor__

        __lt__, __gt__ = _infix_methods("<")
        __le__, __ge__ = _infix_methods("<=")

        def __eq__(self, other: object) -> Any:
            """Return the image of ``self == other``; ``is`` compares images as objects."""
            return infix(self, "==", other)

        def __ne__(self, other: object) -> Any:
            """Return the image of ``self != other``."""
            return infix(self, "!=", other)

    __hash__ = object.__hash__

    def __neg__(self) -> Image:
        """Return the image of ``-self``."""
        return _signed("-", self, _SIGN)

    def __pos__(self) -> Image:
        """Return the image of ``+self``."""
        return _signed("+", self, _SIGN)

    def __invert__(self) -> Image:
        """Return the logical NOT: 1 where this image is 0, and 0 elsewhere."""
        return _signed("~", self, ATOM)

    def __abs__(self) -> Image:
        """Return the image of the absolute values."""
        image: Image = call("abs", self)
        return image

    def to(
        self,
        unit: Any,
        *,
        frequency: Any = None,
        beam: Any = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
    ) -> Image:
        """Return the image in another unit; computed when it is read.

        Units of brightness are converted with the beam and the frequency of each channel: per beam,
        per pixel and per steradian, brightness temperature (Rayleigh-Jeans), and flux densities per
        frequency and per wavelength. Other factors of the unit, such as the km/s of an integral,
        stay.

        Parameters
        ----------
        unit
            "K", "mJy/beam", "Jy/pixel", "MJy/sr", ...: text, or a unit of astropy.
        frequency
            Frequency or wavelength of all pixels with its unit (text or a Quantity), in place of
            the channels' own. None, and no spectral axis: the rest frequency.
        beam
            Beam of all channels, in place of the header's beams: "15arcsec", or both axes and the
            position angle ("15arcsec,10arcsec,30deg"), a `Beam`, or a radio_beam beam.
        rest, convention, rest_medium
            Conversion of a velocity axis to frequencies, as in `moments`.

        Returns
        -------
        Image
            With the same pixel type, and BUNIT. Each value is multiplied in float64 by the factor
            of its channel, and rounded once; NaN and BLANK stay undefined.

        Raises
        ------
        UsageError
            The unit is not convertible, or the header gives no beam, frequency or sky.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0].to("mJy/beam")
        >>> cube.unit, cube[0, 0, :3]
        ('mJy beam-1', array([   0., 1000., 2000.], dtype=float32))
        >>> kelvin = tf.open("cube.fits")[0].to("K", beam="30arcsec", rest="115.2712 GHz")
        >>> kelvin.unit, kelvin[:, 0, 1].round(3)
        ('K', array([0.102, 2.146, 4.19 ], dtype=float32))
        """
        request = Asked(frequency, beam, rest, convention, rest_medium)
        return converted(self, unit, request)

    def __bool__(self) -> bool:
        """Refuse to convert to a single truth value; each pixel has its own."""
        if self._formula is not None:
            raise usage(
                "the truth value of an image is ambiguous; use .any() or .all()",
                "combine conditions with & and | instead of 'and' and 'or'",
            )
        return True


#: NumPy's bitwise functions, and the logical functions that replace them for conditions.
_BITS = {
    np.bitwise_and: "logical_and", np.bitwise_or: "logical_or", np.bitwise_xor: "logical_xor",
    np.invert: "logical_not",
}  # fmt: skip


def _is_truth(value: Any) -> bool:
    """Return whether an operand has truth values."""
    return bool(getattr(value, "dtype", np.asarray(value).dtype) == np.bool_)


def ufunc_image(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return the image of a NumPy function; NotImplemented if the engine lacks it."""
    name = UFUNCS.get(ufunc)
    if ufunc in _BITS and not any(map(_is_truth, operands)):
        # Operators of images are logical, never bitwise: bitwise results would differ silently.
        raise usage(
            f"invalid operands of numpy.{ufunc.__name__}: expected conditions, found numbers",
            either(f"for bits read the pixels, image.read(); for truth use numpy.{_BITS[ufunc]}"),
        )
    if name in SIGNS:
        return _signed(SIGNS[name], operands[0], ATOM if name == "not" else _SIGN)
    if ufunc is np.square:
        return infix(operands[0], "**", 2)
    if ufunc is np.isinf:
        return infix(call("abs", *operands), "==", np.inf)
    if ufunc is np.logical_xor or ufunc is np.bitwise_xor:
        return _exclusive(*operands)
    if name is None:
        return NotImplemented
    return call(name, *operands) if name[0].isalpha() else infix(operands[0], name, operands[1])
