"""Units of results of operators: one rule for images, planes and spectra with quantities.

A unit is text as in a header here: "" for a plain number, None if unknown. astropy is imported when
two units are combined; its quantities are recognised without importing it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from tachyfits.base.errors import foreign_errors, usage
from tachyfits.text.pixel_units import pixel_unit, product_text
from tachyfits.text.units import text_of_unit

#: Operators and functions whose operands and result have the same unit.
_ALIKE = (
    "+", "-", "%", "min", "max", "fmin", "fmax", "clip", "where", "hypot", "fmod", "copysign",
    "nextafter",
)  # fmt: skip

#: Operators on operands of one unit whose result is a truth value.
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")

#: Functions whose result has no unit, whatever the units of the operands.
_TRUTHS = ("&", "|", "not", "isnan", "isfinite", "isinf", "sign", "signbit")

#: Functions of one operand that keep its unit.
_SAME = (
    "abs", "floor", "ceil", "round", "trunc", "negative", "positive", "conjugate", "spacing",
)  # fmt: skip

#: Functions that are powers.
_POWERS = {"sqrt": 0.5, "square": 2, "cbrt": 1 / 3, "reciprocal": -1}

#: Functions of angles.
_ANGLES = ("sin", "cos", "tan")


#: NumPy functions and the equivalent operator or function of expressions.
UFUNCS: dict[np.ufunc, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.floor_divide: "//",
    np.remainder: "%", np.power: "**", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=", np.logical_and: "&",
    np.logical_or: "|", np.bitwise_and: "&", np.bitwise_or: "|", np.absolute: "abs",
    np.fabs: "abs", np.sqrt: "sqrt", np.exp: "exp", np.log: "log", np.log10: "log10",
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "asin", np.arccos: "acos",
    np.arctan: "atan", np.arctan2: "atan2", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
    np.floor: "floor", np.ceil: "ceil", np.rint: "round", np.isnan: "isnan",
    np.isfinite: "isfinite", np.minimum: "min", np.maximum: "max", np.negative: "negative",
    np.positive: "positive", np.logical_not: "not", np.invert: "not",
}  # fmt: skip

#: Functions of one operand that are signs in expressions.
SIGNS = {"negative": "-", "positive": "+", "not": "~"}


@dataclass(frozen=True)
class Outcome:
    """Unit of a result, and the factor of the second operand.

    Attributes
    ----------
    unit
        "" for a number, None if the unit is unknown.
    factor
        Converts the second operand to the unit of the first; a single operand to radians or to a
        number.
    """

    unit: str | None
    factor: float = 1.0


def is_quantity(value: Any) -> bool:
    """Return whether a value is an astropy quantity or unit."""
    units = sys.modules.get("astropy.units")
    return units is not None and isinstance(value, (units.Quantity, units.UnitBase))


def parts_of(quantity: Any) -> tuple[Any, str]:
    """Return the number or the array of a quantity, and its unit; a unit counts as one of it."""
    import astropy.units as u

    if isinstance(quantity, u.UnitBase):
        quantity = u.Quantity(1.0, quantity)
    if not isinstance(quantity.unit, u.UnitBase):
        raise usage(
            f"invalid unit {str(quantity.unit)!r}: expected a linear unit",
            "give the quantity in physical units: quantity.physical",
        )
    if quantity.unit.is_equivalent(u.dimensionless_unscaled):
        return quantity.to_value(u.dimensionless_unscaled), ""
    return quantity.value, text_of_unit(quantity.unit) or ""


def number_in(value: Any, unit: str | None, name: str) -> float:
    """Return a number or a scalar quantity as a number in a unit.

    Raises
    ------
    UsageError
        The units are incompatible, or the value is not a single number.

    >>> number_in(2, "K", "threshold")
    2.0
    """
    factor = 1.0
    if is_quantity(value):
        value, own = parts_of(value)
        factor = outcome("<", unit, own).factor
    if np.ndim(value) != 0:
        actual = f"an array of shape {np.shape(value)}"
        raise usage(f"invalid {name}: expected one number, found {actual}", "give a single number")
    with foreign_errors(f"invalid {name} {value!r}", "give a number, or a quantity"):
        return float(value) * factor


def outcome(operator: str, left: str | None, right: str | None = "", power: Any = None) -> Outcome:
    """Return the unit of ``left operator right``, or of a function of these operands.

    ``power``: exponent of ``**``, if it is a single number.

    Raises
    ------
    UsageError
        The units cannot be added or compared.

    >>> outcome("*", "Jy/beam", "K"), outcome("+", "Jy", "mJy").factor, outcome("**", "K", "", 2)
    (Outcome(unit='Jy K beam-1', factor=1.0), 0.001, Outcome(unit='K2', factor=1.0))
    """
    if operator in _TRUTHS:
        return Outcome("")
    if operator in _SAME:
        return Outcome(left)
    if operator in _COMPARISONS or operator in _ALIKE or operator == "atan2":
        alike = _alike(operator, left, right)
        return alike if operator in _ALIKE else Outcome("", alike.factor)
    if operator == "*":
        return Outcome(_product(left, right, 1))
    if operator in ("/", "//"):
        return Outcome(_product(left, right, -1))
    if operator in ("**", *_POWERS):
        if right:
            raise usage(f"invalid exponent in {right}: expected a number", "divide it by its unit")
        return Outcome(_power(left, _POWERS.get(operator, power)))
    return _of_a_number(operator, left)


def _alike(operator: str, left: str | None, right: str | None) -> Outcome:
    """Return the unit of a sum or a choice of operands; a plain number takes the other's unit."""
    if left == right or right == "":
        return Outcome(left)
    if left == "":
        return Outcome(right)
    if left is None or right is None:
        return Outcome(None)
    first, second = pixel_unit(left), pixel_unit(right)
    if first is None or second is None:
        return Outcome(None)
    if not second.is_equivalent(first):
        raise usage(
            f"invalid units of {operator}: expected a unit like {left}, found {right}",
            "convert one of them first, or give a number without a unit",
        )
    return Outcome(left, float(second.to(first)))


def _product(left: str | None, right: str | None, sign: int) -> str | None:
    """Return the unit of a product, or of a ratio; pixels without BUNIT count as numbers."""
    if not right:
        return left
    if not left and sign > 0:
        return right
    second = pixel_unit(right)
    first = pixel_unit(left) if left else second and second**0
    if first is None or second is None:
        return product_text(left, right) if sign > 0 else None
    return text_of_unit(first * second**sign) or ""


def _power(unit: str | None, power: Any) -> str | None:
    if not unit:
        return unit
    parsed = pixel_unit(unit)
    if parsed is None or power is None or np.ndim(power):
        return None
    return text_of_unit(parsed ** float(power)) or ""


def _of_a_number(function: str, unit: str | None) -> Outcome:
    """Return the unit of a function of a number, or of an angle."""
    if not unit:
        return Outcome(unit)
    import astropy.units as u

    parsed = pixel_unit(unit)
    target = u.rad if function in _ANGLES else u.dimensionless_unscaled
    if parsed is None or not parsed.is_equivalent(target):
        expected = "an angle" if function in _ANGLES else "a number"
        raise usage(
            f"invalid argument of {function} in {unit}: expected {expected}",
            f"divide by a unit first: {function}(image / unit)",
        )
    return Outcome("", float(parsed.to(target)))
