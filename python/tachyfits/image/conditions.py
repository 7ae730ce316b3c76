"""Conditions on pixels: a threshold, a mask or an expression decides which pixels count.

Conditions are evaluated in the pass that uses the pixels; pixels that fail become NaN.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import foreign_errors, listed, printable, usage
from tachyfits.header.alignment import tell_differences
from tachyfits.header.brightness import Asked
from tachyfits.image.expressions import computed, formula_of, on_sky, resolve
from tachyfits.image.operators import converted
from tachyfits.results.measured import Measured, has_unit
from tachyfits.results.quantities import outcome, parts_of
from tachyfits.text.pixel_units import asked_pixel_unit, split_units
from tachyfits.text.units import SPECTRAL

if TYPE_CHECKING:
    from tachyfits.image.image import Image

#: Name of the pixels in an expression.
PIXEL = "pixel"

_MASK_HINT = "give one that broadcasts to the image: of its shape, or of the shape of a plane"

#: An optional comparison, a number, and an optional unit.
_THRESHOLD = re.compile(
    r"\s*(>=|<=|>|<)?\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eEdD][-+]?\d+)?)\s*(.*?)\s*"
)


@dataclass(frozen=True)
class Threshold:
    """A comparison with a number; ``unit`` None means the unit of the pixels."""

    number: float
    unit: str | None = None
    operator: str = ">="

    def factor(self, unit: str | None) -> float | None:
        """Return the factor from this unit to another; None if they are incompatible."""
        if self.unit is None:
            return 1.0
        try:
            return outcome("<", unit, self.unit).factor
        except _core.UsageError:
            return None

    def note(self, unit: str | None) -> str:
        """Return the HISTORY note for pixels in ``unit``."""
        factor = self.factor(unit)
        number, of = (self.number, self.unit) if factor is None else (self.number * factor, unit)
        comparison = "of at least" if self.operator == ">=" else self.operator
        return f"pixels {comparison} {number!r}{f' {of}' if of else ''}"


@dataclass(frozen=True)
class Mask:
    """Pixels where another image is neither 0 nor undefined."""

    image: Any
    name: str

    def note(self, unit: str | None) -> str:
        """Return the note for HISTORY."""
        return f"pixels of the mask {self.name}"


@dataclass(frozen=True)
class ChannelMask(Mask):
    """Mask that selects channels along one axis, given by its NumPy number."""

    axis: int
    inside: NDArray[np.bool_] = field(compare=False)

    @staticmethod
    def of(image: Image, axis: int, inside: NDArray[np.bool_]) -> ChannelMask:
        """Return the mask of the channels of an image where ``inside`` is true."""
        shape = [1] * image.ndim
        shape[axis] = inside.size
        edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
        runs = [
            f"{first + 1}" if last == first + 1 else f"{first + 1} to {last}"
            for first, last in edges.reshape(-1, 2).tolist()
        ]
        name = f"channels {listed(runs)} (from 1)"
        return ChannelMask(resolve(inside.reshape(shape)), name, axis, inside)

    def note(self, unit: str | None) -> str:
        """Return the note for HISTORY."""
        return f"pixels of the {self.name}"


@dataclass(frozen=True)
class PixelExpression:
    """Pixels where an expression of `PIXEL` is true."""

    text: str

    def note(self, unit: str | None) -> str:
        """Return the note for HISTORY."""
        return f"pixels where {self.text}"


Condition: TypeAlias = Threshold | Mask | PixelExpression


def condition_of(image: Image, given: Any) -> Condition:
    """Return the condition described by the ``where`` of a selection.

    Raises
    ------
    UsageError
        The value describes no condition, or a mask does not fit the image.
    """
    if isinstance(given, (Threshold, Mask, PixelExpression)):
        return given
    if isinstance(given, str):
        return _of_text(image, given)
    if has_unit(given) and np.ndim(given) == 0:
        number, unit = parts_of(given.quantity if isinstance(given, Measured) else given)
        return Threshold(_number(number), unit)
    if _is_number(given):
        return Threshold(_number(given))
    return _mask_of(image, given)


def _is_number(value: Any) -> bool:
    """Return whether the argument is a single number; bool is a mask."""
    if isinstance(value, (bool, np.bool_)) or hasattr(type(value), "_core_image"):
        return False
    dtype = getattr(value, "dtype", None)
    return hasattr(value, "__float__") and np.ndim(value) == 0 and dtype != np.bool_


def _number(value: Any) -> float:
    with foreign_errors(f"invalid threshold {value!r}", "give a number, or a quantity"):
        return float(value)


def _of_text(image: Image, text: str) -> Condition:
    if match := _THRESHOLD.fullmatch(text):
        operator, number, unit = match[1] or ">=", match[2].upper().replace("D", "E"), match[3]
        if unit:
            asked_pixel_unit(unit)
        return Threshold(float(number), unit or None, operator)
    if _is_expression(text):
        return PixelExpression(text)
    if not os.path.exists(os.path.expanduser(text)):
        raise usage(
            f"invalid condition {text!r}: expected a threshold, an expression of {PIXEL} or the "
            "path of a mask, found no file of that name",
            f"use '> 5 mJy/beam', '{PIXEL} > 3 and {PIXEL} < 10', or a file",
        )
    return _mask_of(image, text)


def _is_expression(text: str) -> bool:
    """Return whether text is an expression of the pixels, not the path of a mask."""
    try:
        names = _core.expression_names(text)
    except _core.UsageError:
        if re.search("[<>=]", text):
            raise
        return False
    if names == [PIXEL]:
        return True
    if re.search("[<>=]", text):
        raise usage(
            f"invalid condition {text!r}: expected an expression of {PIXEL}, found "
            f"{', '.join(names) or 'no name'}",
            f"write it as '{PIXEL} > 3 and {PIXEL} < 10'; other images: tachyfits.evaluate",
        )
    return False


def _mask_of(image: Image, value: Any) -> Mask:
    is_plane = isinstance(value, Measured) and value.ndim == 2
    opened = value if is_plane else resolve(value)
    tell_differences((image, opened))
    mask = resolve(on_sky(value.values, image)) if is_plane else opened
    file = getattr(getattr(mask, "file", None), "name", None)
    is_path = isinstance(value, (str, os.PathLike))
    name = os.fspath(value) if is_path else file if hasattr(value, "file") else None
    text = printable(name or "given as an array").encode("ascii", "backslashreplace").decode()
    condition = Mask(mask, text)
    masked(image, image, (condition,))
    return condition


def threshold_of_values(image: Image, number: float, unit: str | None) -> Threshold:
    """Return a threshold in the value unit of a result unit: K for "K, km/s"."""
    axis = image.channel_axis
    own = "" if axis is None else image.coordinates.axis(axis).unit
    return Threshold(number, None if unit is None else split_units(unit, (*SPECTRAL, own))[1])


def masked(
    pixels: Image, source: Image, conditions: Sequence[Condition], result: str = ""
) -> Image:
    """Return an image with NaN where a condition is false.

    Conditions apply to the pixels of ``source``, or to ``pixels``, the same pixels in another unit.
    ``result``: an expression of `PIXEL` that replaces the pixels.
    """
    if not conditions and not result:
        return pixels
    is_float = pixels.bitpix == -8 * pixels.dtype.itemsize
    if is_float and not result and all(isinstance(each, ChannelMask) for each in conditions):
        # With a channel mask alone, masked channels need not be read.
        for each in conditions:
            assert isinstance(each, ChannelMask)
            pixels = pixels._with_channels(each.axis, each.inside)
        return pixels
    texts = _Texts(source)
    parts = [_condition_text(condition, pixels, texts) for condition in conditions]
    text = texts.of_pixels(result) if result else texts.of(pixels)
    # The pixel type, or one that represents its values exactly.
    dtype = "float32" if pixels.dtype == np.float32 else "float64"
    unit = None if pixels is source else pixels.unit or ""
    try:
        expression = f"where({' and '.join(parts) or '1'}, {text}, nan)"
        image = computed(expression, texts.inputs, dtype, unit)
    except _core.UsageError as error:
        masks = [each.image for each in conditions if isinstance(each, Mask)]
        if not any(hasattr(mask, "shape") for mask in masks):
            raise
        shapes = (" x ".join(map(str, reversed(each.shape))) for each in (masks[0], pixels))
        problem = "a mask of {} pixels does not broadcast to an image of {}".format(*shapes)
        raise usage(f"{problem} (NAXIS1 first)", _MASK_HINT) from error
    if image.shape != pixels.shape:
        problem = f"a mask that makes {image.shape} of an image of shape {pixels.shape}"
        raise usage(problem, _MASK_HINT)
    return image


class _Texts:
    """Texts of operands and the inputs that they name; each input is read once."""

    def __init__(self, source: Image) -> None:
        self.inputs: dict[str, Any] = {}
        self._source = source
        self._names: dict[int, str] = {}

    def of(self, value: Any) -> str:
        """Return the text of a number, or of the expression that computes an image."""
        formula = None if value is self._source else formula_of(value)
        if formula is None or formula.parts[0] is value:
            return self._name(value)
        parts = formula.parts
        return f"({''.join(part if isinstance(part, str) else self._name(part) for part in parts)})"

    def of_mask(self, mask: Any) -> str:
        """Return the text of a mask; masks computed from the source are evaluated in its pass."""
        is_exact = getattr(mask, "dtype", None) == np.bool_ and mask.ndim == self._source.ndim
        return self.of(mask) if is_exact or isinstance(mask, float) else self._name(mask)

    def of_pixels(self, text: str) -> str:
        """Return an expression of `PIXEL`, with the source as its input."""
        self._name(self._source)
        return text

    def _name(self, value: Any) -> str:
        new = PIXEL if value is self._source else f"v{len(self._names)}"
        name = self._names.setdefault(id(value), new)
        self.inputs[name] = value
        return name


def _condition_text(condition: Condition, pixels: Image, texts: _Texts) -> str:
    """Return a condition as the text of an expression."""
    if isinstance(condition, Mask):
        name = texts.of_mask(condition.image)
        return f"not isnan({name}) and {name} != 0"
    if isinstance(condition, PixelExpression):
        return f"({texts.of_pixels(condition.text)})"
    source = texts._source
    # A number without a unit is in the unit of the source.
    own = condition if condition.unit else replace(condition, unit=source.unit)
    factor = own.factor(pixels.unit)
    if factor is None:
        try:
            operand = converted(source, own.unit, Asked(), "float64")
        except _core.UsageError as error:
            reason, _, hint = str(error).partition("\nhint: ")
            problem = f"invalid threshold in {own.unit}: expected a unit like {source.unit}"
            raise usage(f"{problem}; {reason}", hint) from error
        return f"{texts.of(operand)} {own.operator} {texts.of(own.number)}"
    return f"{texts.of(pixels)} {own.operator} {texts.of(own.number * factor)}"
