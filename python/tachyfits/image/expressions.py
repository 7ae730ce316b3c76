"""Expressions: images computed from images, pixel by pixel, from a text or from operators.

The engine parses and computes the text. This module finds an image for each input, and converts
operators on images to a text over their input images, so that a chain of operators is one pass over
its inputs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.file.companions import plane_file
from tachyfits.file.file import File
from tachyfits.file.file import open as open_file
from tachyfits.file.hdu import Hdu
from tachyfits.header.alignment import tell_differences
from tachyfits.header.brightness import Asked, factor_between, setting_of
from tachyfits.header.cards import Header
from tachyfits.image.pixels import Pixels
from tachyfits.results.measured import Measured, amount, has_unit, unit_parts, unmasked
from tachyfits.text.axes import axis_number
from tachyfits.text.pixel_units import pixel_unit
from tachyfits.text.units import text_of_unit

if TYPE_CHECKING:
    from tachyfits.image.image import Image

#: Name of an array in memory.
ARRAY_NAME = "<array>"

#: Maximum length of an expression built by operators, in characters; a longer one becomes a
#: separate image.
MOST_CHARACTERS = 8000


@dataclass(frozen=True)
class Along:
    """A spectrum and the axis of the result along which it lies; returned by `along`."""

    spectrum: Any
    axis: int | str


@dataclass(frozen=True)
class Numbers:
    """Numbers that broadcast to a result, such as a factor per channel.

    As plain numbers, they have no unit and do not affect the type of the result.
    """

    spectrum: Any


def numbers(array: NDArray[np.float64]) -> Numbers:
    """Return an array as an operand of an expression that counts as a number."""
    return Numbers(_of_array(array))


def factor_operand(factor: NDArray[np.float64]) -> Numbers | float:
    """Return a factor, or an array of factors that broadcasts to a result, as an operand."""
    return numbers(factor) if factor.ndim else float(factor)


@public
def along(spectrum: Any, axis: int | str) -> Along:
    """Assign a spectrum to an axis of an expression's result.

    Parameters
    ----------
    spectrum
        An image for `evaluate`, with one axis longer than 1.
    axis
        A FITS letter ("x", "y", "z") or a NumPy number of the result.

    Examples
    --------
    >>> import numpy as np, tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> gain = np.array([1.0, 2.0, 4.0])
    >>> tf.evaluate("cube / gain", cube=cube, gain=tf.along(gain, "z"))[:, 0, 0]
    array([ 0., 10., 10.])
    """
    return Along(spectrum, axis)


@public
def evaluate(
    expression: str,
    /,
    *,
    dtype: Any = None,
    unit: Any = None,
    strict: bool = False,
    **inputs: Any,
) -> Image:
    """Return the image of an expression over images, computed when it is read or written.

    Parameters
    ----------
    expression
        Names, numbers and ``pi e nan inf``; ``+ - * / // % **``; ``< <= > >= == !=`` (1 where true,
        else 0); ``and or not``, ``&& || !`` and, as in NumPy, ``& | ~``; brackets; and the
        functions of `tachyfits.info.functions`: ``abs sqrt exp log log10 sin cos tan asin acos atan
        atan2 sinh cosh tanh floor ceil round isnan isfinite where(condition, a, b) clip(x, low,
        high) min(a, b, ...) max(a, b, ...)``. Precedence is as in Python.
    dtype
        "float32" or "float64"; None: bool for a comparison or another condition, else float32 if
        every image has float32 pixels or integers of at most 16 bits, and float64 for others.
        Arithmetic is in float64 and rounded once, at the end; a finite value beyond float32 is an
        error when it is computed.
    unit
        Unit of the result, as text or an astropy unit. Values whose unit is certain are converted
        to it, in the same pass, as by `Image.to`; for others the unit is only stated. "": no unit,
        and values of any units are plain numbers.
    strict
        Refuse inputs whose pixels are at other positions than the first input's, on the sky or
        along the spectral axis, by more than a thousandth of a pixel. Otherwise they give a
        warning.
    **inputs
        For each name an `Image`, a `File` or a path (the first HDU with pixels), a NumPy array or
        an object that converts to one, a number, an astropy quantity (in the unit of the images if
        it can be converted), or `along` of a spectrum. Shapes broadcast as in NumPy: axes may be
        missing in front, and an axis of length 1 matches any length. A spectrum (one axis) beside
        images of several axes lies along the only axis of its length.

    Returns
    -------
    Image
        With the header of the first image of its shape, HISTORY of the operation, and BUNIT if it
        is certain (sums of equal units, products with numbers). In arithmetic, NaN and BLANK are
        NaN; comparisons with them are false (``!=`` true); as truth values they are true. Computed
        box by box in bounded memory; each input is read once, however often it is named.

    Warns
    -----
    TachyfitsWarning
        Pixels of two inputs are at different positions; the message names the first card that
        differs.

    Raises
    ------
    UsageError
        The expression is invalid, a name has no input or an input no name, or shapes cannot be
        broadcast; the message shows the position. Images of different units are added or compared.
        The result cannot be converted to the unit. Nothing is read before these checks.

    Examples
    --------
    >>> import tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> tf.evaluate("where(a > 50, a - c, nan)", a=cube, c=50)[2, 3]
    array([5., 6., 7., 8., 9.], dtype=float32)
    >>> tf.evaluate("a - b / 2", a=cube, b="cube.fits").write("half.fits", overwrite=True)
    >>> tf.evaluate("a - 50", a=cube, unit="mJy/beam")[2, 3]
    array([5000., 6000., 7000., 8000., 9000.], dtype=float32)
    >>> tf.evaluate("a + sqr(a)", a=cube)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    tachyfits.UsageError: expression, character 5 (from 1): ...
    """
    name = None if dtype is None else np.dtype(dtype).name
    return evaluated(expression, inputs, name, unit, strict=strict)


def evaluated(
    expression: str,
    inputs: dict[str, Any],
    dtype: str | None = None,
    unit: Any = None,
    asked: Asked | None = None,
    *,
    strict: bool = False,
) -> Image:
    """Return the image of an expression; see `evaluate`.

    ``asked``: beam, frequency and rest of a conversion to ``unit``, instead of the header's.
    """
    inputs = {name: _opened(value) for name, value in inputs.items()}
    tell_differences(
        (each.spectrum if isinstance(each, Along) else each for each in inputs.values()),
        strict=strict,
    )
    plain = {name: resolve(value) for name, value in inputs.items() if not has_unit(value)}
    # The engine compares units as text.
    units = [image.unit for image in plain.values() if isinstance(image, Hdu) and image.unit]
    operands = {
        name: plain[name] if name in plain else _of_amount(value, units)
        for name, value in inputs.items()
    }
    text = None if unit is None else text_of_unit(unit) or ""
    if text == "":
        return computed(expression, operands, dtype, text)
    result = computed(expression, operands, dtype)
    if text is None:
        return result
    if result.unit in (None, text):
        return computed(expression, operands, dtype, text)
    text, factor = factor_between(result.unit, unit, setting_of(result, asked or Asked()))
    if factor.ndim == 0 and factor == 1:
        return computed(expression, operands, dtype, text)
    # Scale within the expression, so that the values are rounded once.
    name = next(name for name in _names() if name not in operands)
    return computed(
        f"({expression}) * {name}", {**operands, name: factor_operand(factor)}, dtype, text
    )


def computed(
    expression: str, inputs: dict[str, Any], dtype: str | None, unit: str | None = None
) -> Image:
    """Return the image of an expression with resolved inputs; warn if their positions differ."""
    image: Image = _file(expression, inputs, dtype, unit)[0]
    return image


def _file(
    expression: str, inputs: dict[str, Any], dtype: str | None, unit: str | None = None
) -> File:
    """Return the file of an expression; also called to unpickle it.

    ``unit``: BUNIT, or "" for no unit; None: the engine finds it.
    """
    images = [
        value.spectrum if isinstance(value, (Along, Numbers)) else value
        for value in inputs.values()
    ]
    files = [image.file for image in images if not isinstance(image, float)]
    threads = files[0].threads if files else 0
    ndim = max(
        (value.ndim for value in inputs.values() if not isinstance(value, (float, Along, Numbers))),
        default=0,
    )
    arguments = [(name, _given(value, ndim)) for name, value in inputs.items()]
    if unit is None:
        _check_units(expression, _core.expression_mixed_units(expression, arguments))
    core = _core.evaluate(expression, arguments, dtype=dtype, unit=unit)
    strict = any(file.is_strict for file in files)
    buffering = files[0].buffering if files else "auto"
    recipe = (_file, (expression, inputs, dtype, unit))
    return File.computed(core, recipe, threads=threads, strict=strict, buffering=buffering)


def _check_units(expression: str, mixed: list[tuple[str, str]]) -> None:
    """Refuse sums and comparisons of different units, unless one unit is unknown."""
    for left, right in mixed:
        first, second = pixel_unit(left), pixel_unit(right)
        if first is None or second is None or first == second:
            continue
        raise usage(
            f"invalid expression {expression!r}: it adds or compares values in {left!r} and in "
            f"{right!r}",
            either(
                f'convert one first: image.to("{left}"); or count numbers alone: '
                'tf.evaluate(..., unit="")',
                f"convert one first: tachyfits math A A=FILE --unit '{left}' -o converted.fits; or "
                "count numbers alone: --unit ''",
            ),
        )


def _given(value: Any, ndim: int) -> float | _core.Image | tuple[_core.Image, int | None]:
    """Return an input for the engine; ``ndim`` is the number of axes of the result."""
    if isinstance(value, float):
        return value
    if isinstance(value, Numbers):
        return value.spectrum._core_image(), None
    if isinstance(value, Along):
        return value.spectrum._core_image(), axis_number(value.axis, ndim) - ndim
    core: _core.Image = value._core_image()
    return core


def _opened(value: Any) -> Any:
    """Return an input, opening files to images."""
    if isinstance(value, (str, os.PathLike)):
        value = open_file(value)
    return value.image() if isinstance(value, File) else value


def resolve(value: Any) -> Image | Along | float:
    """Return the image, the spectrum or the number of an argument."""
    if isinstance(value, Pixels):
        return cast("Image", value)
    if has_unit(value):
        return _of_amount(value)
    if isinstance(value, Along):
        spectrum = resolve(value.spectrum)
        if isinstance(spectrum, Pixels):
            return Along(spectrum, value.axis)
        raise usage(
            f"invalid spectrum {value.spectrum!r}: expected an array",
            "give the number alone",
        )
    opened = _opened(value)
    if opened is not value:
        return cast("Image", opened)
    with foreign_errors("invalid input", "give an array of real numbers or a number"):
        array = unmasked(value)
    return float(array) if array.ndim == 0 and array.dtype.kind in "biuf" else _of_array(array)


def _of_amount(value: Any, units: Iterable[str] = ()) -> Image | Along | float:
    """Return a quantity as an image in memory with its unit, preferring one of ``units``."""
    number, unit = amount(value, units)
    return _of_array(np.atleast_1d(np.asarray(number)), unit) if unit else resolve(number)


def image_of_array(array: NDArray[Any], header: Header, companions: bytes = b"") -> Image:
    """Return an array as an image in memory with these cards and their companion HDUs."""
    cards = [tuple(card) for card in header.cards]
    if companions:
        image: Image = _plane_file(array, tuple(cards), companions)[0]
        return image
    return _of_array(array, cards=cards)


def _plane_file(
    array: NDArray[Any], cards: tuple[tuple[str, Any, str], ...], companions: bytes
) -> File:
    """Return an array of floats and its companions as a file in memory; also unpickles it."""
    core = plane_file(array, cards, companions, ARRAY_NAME)
    return File.computed(core, (_plane_file, (array, cards, companions)))


def _of_array(
    array: NDArray[Any], unit: str = "", cards: Sequence[tuple[str, Any, str]] = ()
) -> Image:
    """Return an array as an image in memory."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biuf" or size > 8 or array.ndim == 0:
        raise usage(
            f"invalid input: an array of {array.dtype} and shape {array.shape}",
            "give an Image, a path, an array of real numbers or a number",
        )
    types = {"b": "uint8", "f": "float32" if size < 4 else f"float{8 * size}"}
    native = np.dtype(types.get(kind, array.dtype.newbyteorder("=")))
    cards = (*cards, ("BUNIT", unit, "")) if unit else cards
    image: Image = _array_file(np.ascontiguousarray(array, dtype=native), tuple(cards))[0]
    return image


def _array_file(array: NDArray[Any], cards: tuple[tuple[str, Any, str], ...] = ()) -> File:
    """Return an array as a file in memory; also called to unpickle it."""
    core = _core.array_file(array, cards, name=ARRAY_NAME)
    return File.computed(core, (_array_file, (array, cards)))


#: Unit of expressions without quantities: the engine finds it.
ENGINES = object()


@dataclass(frozen=True)
class Formula:
    """An expression built by operators: pieces of text and the inputs between them.

    Attributes
    ----------
    parts
        Text and inputs (images, spectra along an axis), alternating.
    power
        Precedence of the outermost operator.
    unit
        The unit if a quantity takes part, as in `tachyfits.results.quantities`; else `ENGINES`.
    """

    parts: tuple[Any, ...]
    power: int
    unit: Any = ENGINES

    def characters(self) -> int:
        """Return the approximate length of the text."""
        return sum(len(part) if isinstance(part, str) else 4 for part in self.parts)

    def within(self, least: int) -> tuple[Any, ...]:
        """Return the parts, in brackets if the surrounding operator binds tighter."""
        return self.parts if self.power >= least else ("(", *self.parts, ")")

    def image(self, dtype: str | None = None) -> Image:
        """Return the resulting image, which keeps this formula."""
        names: dict[tuple[int, Any], str] = {}
        inputs: dict[str, Any] = {}
        fresh = _names()
        text = []
        for part in self.parts:
            if isinstance(part, str):
                text.append(part)
                continue
            source = part.spectrum if isinstance(part, (Along, Numbers)) else part
            key = (id(source), part.axis if isinstance(part, Along) else None)
            name = names.get(key)
            if name is None:
                name = names[key] = next(fresh)
                inputs[name] = part
            text.append(name)
        unit = None if self.unit is ENGINES else self.unit or ""
        image: Image = _file("".join(text), inputs, dtype, unit)[0]
        image._formula = self
        return image

    def own_unit(self) -> str | None:
        """Return the unit: "" for a number, None if it is unknown."""
        if self.unit is not ENGINES:
            unit: str | None = self.unit
            return unit
        if not any(isinstance(part, str) for part in self.parts):
            source = self.parts[0]
            operand = source.spectrum if isinstance(source, (Along, Numbers)) else source
            # An array in memory has no unit: quantities treat it as a plain number.
            return operand.unit or ("" if operand.file.name == ARRAY_NAME else None)
        if all(isinstance(part, str) for part in self.parts):
            return ""
        return self.image().unit


def _names() -> Iterator[str]:
    """Yield names for inputs: a, b, c, d, and so on."""
    yield from "abcd"
    for number in itertools.count(5):
        yield f"v{number}"


#: Precedence of operands that need no brackets.
ATOM = 11


def on_sky(plane: NDArray[Any], image: Pixels | None) -> NDArray[Any]:
    """Return a plane with its axes moved to the sky axes of an image."""
    if image is None or image.ndim < 3:
        return plane
    sky = image.coordinates.sky_axes(image.channel_axis)
    shape = [1] * image.ndim
    for axis, length in zip(sky, plane.shape, strict=True):
        shape[axis] = length
    return plane.reshape(shape)


def formula_of(value: Any, beside: Any = None) -> Formula | None:
    """Return an operand as a formula; None for any other object.

    ``beside``: an image whose spectral axis a spectrum follows, and whose sky a plane covers.
    """
    if isinstance(value, Pixels):
        formula: Formula | None = getattr(value, "_formula", None)
        short = formula is not None and formula.characters() < MOST_CHARACTERS
        return formula if short and formula is not None else Formula((value,), ATOM)
    if isinstance(value, Measured) and value.ndim == 1 and beside is not None:
        value = along(value, beside.coordinates.required_channel_axis() - beside.ndim)
    if isinstance(value, Along):
        formula = Formula((resolve(value),), ATOM)
        unit = unit_parts(value.spectrum)[1] if has_unit(value.spectrum) else ""
        return replace(formula, unit=unit) if unit else formula
    if has_unit(value):
        number, unit = unit_parts(value)
        inner = formula_of(on_sky(number, beside) if isinstance(value, Measured) else number)
        return None if inner is None else replace(inner, unit=unit)
    if isinstance(value, Measured):
        return Formula((resolve(on_sky(value.values, beside)),), ATOM)
    if isinstance(value, (bool, int, float, np.number, np.bool_)) and np.isrealobj(value):
        number = float(value)
        text = repr(number) if np.isfinite(number) else f"{number}"
        return Formula((text,), ATOM) if not text.startswith("-") else Formula((f"({text})",), ATOM)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = unmasked(value)
        return Formula((resolve(value),), ATOM) if value.ndim else formula_of(value[()])
    return None
