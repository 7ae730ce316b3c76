"""Operators on images: arithmetic, comparisons and NumPy functions give images, computed lazily.

Each operator adds to a formula over the images that it began with. A chain of them is one
expression, read in one pass; see `tachyfits.evaluate` for what the operators mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits._errors import usage
from tachyfits._expressions import ATOM, Formula, formula_of

if TYPE_CHECKING:
    from tachyfits._image import Image

#: How tightly operators bind, from loose to tight, as the engine reads them; see `infix`.
_COMPARISON, _ARITHMETIC, _SIGN, _POWER = 4, 7, 9, 10
_POWERS = {"|": 5, "&": 6, "+": 7, "-": 7, "*": 8, "/": 8, "//": 8, "%": 8, "**": _POWER}


def infix(left: Any, operator: str, right: Any) -> Any:
    """Return the image of ``left operator right``; NotImplemented for other operands."""
    first, second = formula_of(left), formula_of(right)
    if first is None or second is None:
        return NotImplemented
    power = _POWERS.get(operator, _COMPARISON)
    # Powers are taken from the right, all others from the left; a comparison wants brackets
    # around everything but arithmetic.
    before = {_POWER: ATOM, _COMPARISON: _ARITHMETIC}.get(power, power)
    after = {_POWER: _SIGN, _COMPARISON: _ARITHMETIC}.get(power, power + 1)
    parts = (*first.within(before), f" {operator} ", *second.within(after))
    return Formula(parts, power).image()


def call(function: str, *arguments: Any) -> Any:
    """Return the image of a function of the engine; NotImplemented for other arguments."""
    parts: list[Any] = [f"{function}("]
    for number, argument in enumerate(arguments):
        formula = formula_of(argument)
        if formula is None:
            return NotImplemented
        parts += [", "] * (number > 0) + list(formula.parts)
    return Formula((*parts, ")"), ATOM).image()


def _signed(sign: str, operand: Any, power: int) -> Image:
    formula = formula_of(operand)
    assert formula is not None
    parts: tuple[Any, ...] = (sign, *formula.within(_SIGN))
    # What is inverted is always bracketed: beside a comparison it would be misread.
    return Formula(parts if power < ATOM else ("(", *parts, ")"), power).image()


#: NumPy's functions that expressions have, by the operator or function that does the same.
_UFUNCS: dict[np.ufunc, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.floor_divide: "//",
    np.remainder: "%", np.power: "**", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=", np.logical_and: "&",
    np.logical_or: "|", np.bitwise_and: "&", np.bitwise_or: "|", np.absolute: "abs",
    np.fabs: "abs", np.sqrt: "sqrt", np.exp: "exp", np.log: "log", np.log10: "log10",
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "asin", np.arccos: "acos",
    np.arctan: "atan", np.arctan2: "atan2", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
    np.floor: "floor", np.ceil: "ceil", np.rint: "round", np.isnan: "isnan",
    np.isfinite: "isfinite", np.minimum: "min", np.maximum: "max",
}  # fmt: skip


def _infix_methods(operator: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of an operator: image first, and image last."""

    def forward(self: Any, other: Any) -> Any:
        return infix(self, operator, other)

    def backward(self: Any, other: Any) -> Any:
        return infix(other, operator, self)

    forward.__doc__ = f"Return the image of ``self {operator} other``."
    backward.__doc__ = f"Return the image of ``other {operator} self``."
    return forward, backward


class Operators:
    """Arithmetic on images. The results are images; nothing is read until they are.

    Examples
    --------
    >>> import numpy as np, tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> (2 * cube - cube / 2)[0, 0]
    array([0. , 1.5, 3. , 4.5, 6. ], dtype=float32)
    >>> bright = (cube > 10) & (cube < 13)
    >>> print(bright.sum(), np.sqrt(cube)[0, 0, 4])
    2.0 2.0
    """

    #: What made the image, where operators did.
    _formula: Formula | None = None

    __add__, __radd__ = _infix_methods("+")
    __sub__, __rsub__ = _infix_methods("-")
    __mul__, __rmul__ = _infix_methods("*")
    __truediv__, __rtruediv__ = _infix_methods("/")
    __floordiv__, __rfloordiv__ = _infix_methods("//")
    __mod__, __rmod__ = _infix_methods("%")
    __pow__, __rpow__ = _infix_methods("**")
    __and__, __rand__ = _infix_methods("&")
    __or__, __ror__ = _infix_methods("|")
    __lt__, __gt__ = _infix_methods("<")
    __le__, __ge__ = _infix_methods("<=")

    def __eq__(self, other: object) -> Any:
        """Return the image of ``self == other``; as objects, images are the same with ``is``."""
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
        """Return the image that is 1 where this one is 0, and 0 elsewhere."""
        return _signed("~", self, ATOM)

    def __abs__(self) -> Any:
        """Return the image of the absolute values."""
        return call("abs", self)

    def __bool__(self) -> bool:
        """Refuse to be one truth value where it is one for each pixel."""
        if self._formula is not None:
            raise usage(
                "an image that operators made has no one truth value",
                "use its pixels: (a == b).min() is 1.0 if they are all equal; "
                "combine conditions with & and | instead of 'and' and 'or'",
            )
        return True

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Return the image of a NumPy function of images, numbers and arrays."""
        name = _UFUNCS.get(ufunc)
        if method != "__call__" or options:
            return NotImplemented
        if ufunc is np.negative or ufunc is np.positive:
            return _signed("-" if ufunc is np.negative else "+", inputs[0], _SIGN)
        if ufunc is np.logical_not or ufunc is np.invert:
            return _signed("~", inputs[0], ATOM)
        if ufunc is np.square:
            return infix(inputs[0], "**", 2)
        if name is None:
            return NotImplemented
        return call(name, *inputs) if name[0].isalpha() else infix(inputs[0], name, inputs[1])
