"""NumPy functions of images: ``numpy.mean(image)`` runs in the engine and builds no array first.

Reductions behave as those of `Image`: they ignore NaN and BLANK, so that ``numpy.mean`` and
``numpy.nanmean`` agree. Without a defined pixel ``numpy.sum`` is NaN, ``numpy.nansum`` 0. All other
functions read the pixels into arrays first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.image.operators import call, ufunc_image
from tachyfits.image.reductions import finished, reduced_arrays
from tachyfits.results.measured import Measured, has_unit
from tachyfits.text.pixel_units import certain_pixel_unit

if TYPE_CHECKING:
    from tachyfits.image.image import Image

#: float64 represents every integer up to this one.
_EXACT = 2.0**53

#: NumPy function -> implementation with the same parameters. An implementation returns
#: NotImplemented for arguments that the engine does not support.
_FUNCTIONS: dict[Any, Callable[..., Any]] = {}


#: Functions that change their first argument.
_CHANGING = (np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask)

#: Functions that are reductions of ufuncs and treat undefined pixels in one way only.
_REDUCTIONS = {
    np.add: np.sum, np.maximum: np.max, np.minimum: np.min, np.fmax: np.nanmax,
    np.fmin: np.nanmin, np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip


def array_function(function: Any, args: Any, options: Any) -> Any:
    """Return a NumPy function of images, from the engine if it has one, else from arrays."""
    _refuse_to_change(function, (*args[: function in _CHANGING], options.get("out")))
    result = NotImplemented
    if function in _FUNCTIONS and _is_image(args[0] if args else options.get("a")):
        result = _FUNCTIONS[function](*args, **options)
    if result is NotImplemented:
        result = function(*_as_arrays(args), **_as_arrays(options))
    return result


def array_ufunc(ufunc: np.ufunc, method: str, inputs: Any, options: Any) -> Any:
    """Return a ufunc of images or a ufunc method, from the engine if it has it, else from arrays.

    If an operand has a unit, the pixels and the result are astropy quantities.
    """
    result: Any = NotImplemented
    changed = inputs[:1] if method == "at" else options.get("out", ())
    _refuse_to_change(ufunc, changed)
    if method == "__call__" and not options:
        result = ufunc_image(ufunc, *inputs)
    elif method == "reduce" and ufunc in _REDUCTIONS:
        arguments = {"axis": 0} | options
        if "out" in arguments:
            arguments["out"] = arguments["out"][0]
        if "dtype" not in arguments or ufunc is np.add:
            result = array_function(_REDUCTIONS[ufunc], inputs, arguments)
    if result is not NotImplemented:
        return result
    if any(map(has_unit, inputs)):
        hint = either("convert one of them first: image.to(unit), quantity.to(unit)")
        with foreign_errors(f"invalid units of {ufunc.__name__}", hint):
            quantities = [_quantity(operand) for operand in inputs]
            return getattr(ufunc, method)(*quantities, **_as_arrays(options))
    return getattr(ufunc, method)(*_as_arrays(inputs), **_as_arrays(options))


def _refuse_to_change(function: Any, changed: Any) -> None:
    """Raise UsageError if a function would change an image, which is read-only or computed."""
    if any(map(_is_image, changed)):
        raise usage(
            f"invalid output of {function.__name__}: expected an array, found an image",
            either("read the pixels first, image.read(), or change a file: tachyfits.edit(path)"),
        )


def _quantity(value: Any) -> Any:
    """Return an operand of a ufunc as an astropy quantity if it has a unit."""
    if isinstance(value, Measured):
        return value.quantity
    if not _is_image(value) or not value.unit:
        return _as_arrays(value)
    import astropy.units as u

    return u.Quantity(np.asarray(value), certain_pixel_unit(value.unit), copy=False)


def _is_image(value: Any) -> bool:
    # Only images have this attribute. The class itself cannot be imported here: its module needs
    # this one.
    return hasattr(type(value), "_core_image")


def _as_arrays(value: Any) -> Any:
    """Return arguments with images replaced by arrays."""
    if _is_image(value):
        return np.asarray(value)
    if isinstance(value, dict):
        return {name: _as_arrays(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_as_arrays(each) for each in value)
    return value


def _implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the implementation of NumPy functions."""

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        _FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return register


def _selected(image: Image, where: Any) -> Image:
    """Return the pixels where a mask is true; as in NumPy, numbers count as truth values."""
    return image if where is True else image.select(where=np.not_equal(where, 0))


def _sums(empty: float) -> Callable[..., Any]:
    """Return an implementation of a sum that is ``empty`` without a defined pixel."""

    def implementation(
        a: Image, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        names = ("sum", "count")
        result = reduced_arrays(_selected(a, where), names, axis, keepdims=keepdims)
        total = result["sum"]
        is_logical = a.dtype == np.bool_
        if empty == 0 or is_logical:
            total = np.where(result["count"] == 0, 0, total)
        if is_logical:
            total = total.astype(np.int64)
        return finished(total if initial is None else total + initial, dtype, out)

    return implementation


# As in NumPy: the sum of NaN alone is NaN; nansum of it is 0.
_implements(np.sum)(_sums(np.nan))
_implements(np.nansum)(_sums(0.0))


@_implements(np.mean, np.nanmean)
def _mean(
    a: Image, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
    *, where: Any = True,
) -> Any:  # fmt: skip
    return _selected(a, where).mean(axis, keepdims=keepdims, dtype=dtype, out=out)


def _spread(name: str) -> Callable[..., Any]:
    def implementation(
        a: Image, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: bool = False, *, where: Any = True, **more: Any,
    ) -> Any:  # fmt: skip
        # A precomputed ``mean`` saves NumPy a pass, but not the engine.
        unknown = set(more) - {"mean", "correction"}
        if unknown:
            return NotImplemented
        divisor = ddof if more.get("correction") is None else more["correction"]
        if divisor != int(divisor) or divisor < 0:
            function = getattr(np, f"nan{name}")
            extra = {} if where is True else {"where": np.asarray(where)}
            pixels = np.asarray(a)
            return function(pixels, axis, dtype, out, ddof=divisor, keepdims=keepdims, **extra)
        options: dict[str, Any] = {"keepdims": keepdims, "dtype": dtype, "out": out}
        return getattr(_selected(a, where), name)(axis, ddof=int(divisor), **options)

    return implementation


_implements(np.std, np.nanstd)(_spread("std"))
_implements(np.var, np.nanvar)(_spread("var"))


def _extreme(name: str) -> Callable[..., Any]:
    # Combine `initial` with the reduced result.
    choose = np.fmax if name == "max" else np.fmin

    def implementation(
        a: Image, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        values = getattr(_selected(a, where), name)(axis, keepdims=keepdims)
        values = np.asarray(values if initial is None else choose(values, initial))
        return _of_the_type(a, values, out)

    return implementation


_implements(np.max, np.amax, np.nanmax)(_extreme("max"))
_implements(np.min, np.amin, np.nanmin)(_extreme("min"))


def _of_the_type(image: Image, values: NDArray[np.float64], out: Any = None) -> Any:
    """Return extremes in the pixel type; NotImplemented if float64 does not represent them."""
    if image.dtype.kind == "f" or not np.isfinite(values).all():
        return finished(values, None, out)
    if image.dtype.itemsize == 8 and np.any(np.abs(values) >= _EXACT):
        return NotImplemented
    return finished(values, image.dtype, out)


@_implements(np.ptp)
def _ptp(a: Image, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    ends = reduced_arrays(a, ("max", "min"), axis, keepdims=keepdims)
    return _of_the_type(a, ends["max"] - ends["min"], out)


@_implements(np.median, np.nanmedian)
def _median(
    a: Image, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    return finished(np.asarray(a.median(axis, keepdims=keepdims)), None, out)


def _ranked(scale: float) -> Callable[..., Any]:
    def implementation(
        a: Image, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: bool = False, **options: Any,
    ) -> Any:  # fmt: skip
        more = {name: value for name, value in options.items() if value is not None}
        if method != "linear" or more:
            function: Any = np.nanpercentile if scale == 1 else np.nanquantile
            pixels = np.asarray(a)
            return function(pixels, q, axis, out, method=method, keepdims=keepdims, **more)
        percents = np.multiply(q, scale)
        return finished(np.asarray(a.percentile(percents, axis, keepdims=keepdims)), None, out)

    return implementation


_implements(np.percentile, np.nanpercentile)(_ranked(1.0))
_implements(np.quantile, np.nanquantile)(_ranked(100.0))


def _position(name: str) -> Callable[..., Any]:
    def implementation(
        a: Image, axis: Any = None, out: Any = None, *, keepdims: bool = False
    ) -> Any:
        places = np.asarray(getattr(a, name)(axis, keepdims=keepdims))
        if np.any(places < 0):
            raise usage(
                f"cannot take the {name}: a line has no defined pixel", "leave these lines out"
            )
        return finished(places, None, out)

    return implementation


_implements(np.argmax, np.nanargmax)(_position("argmax"))
_implements(np.argmin, np.nanargmin)(_position("argmin"))


def _truth(name: str) -> Callable[..., Any]:
    def implementation(
        a: Image, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        if where is not True:
            return NotImplemented
        return finished(np.asarray(getattr(a, name)(axis, keepdims=keepdims)), None, out)

    return implementation


_implements(np.any)(_truth("any"))
_implements(np.all)(_truth("all"))


@_implements(np.count_nonzero)
def _count_nonzero(a: Image, axis: Any = None, *, keepdims: bool = False) -> Any:
    return finished(_sums(0.0)(a._truths(), axis, keepdims=keepdims), np.intp)


@_implements(np.average)
def _average(
    a: Image, axis: Any = None, weights: Any = None, returned: bool = False,
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    if weights is None and not returned:
        return a.mean(axis, keepdims=keepdims)
    pixels = np.asarray(a)
    good: Any = np.ma.array(pixels, mask=np.isnan(pixels))
    average: Any = np.ma.average
    result = average(good, axis, weights, returned, keepdims=keepdims)
    parts = result if returned else (result,)
    filled = tuple(np.ma.filled(np.ma.asarray(part, dtype=np.float64), np.nan) for part in parts)
    return filled if returned else filled[0][()]


@_implements(np.clip)
def _clip(a: Image, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    if out is not None or options:
        return NotImplemented
    return call("clip", a, -np.inf if low is None else low, np.inf if high is None else high)


@_implements(np.where)
def _choose(condition: Image, *choices: Any) -> Any:
    return call("where", condition, *choices) if len(choices) == 2 else NotImplemented


@_implements(np.shape)
def _shape(a: Image) -> tuple[int, ...]:
    return a.shape


@_implements(np.ndim)
def _ndim(a: Image) -> int:
    return a.ndim


@_implements(np.size)
def _size(a: Image, axis: Any = None) -> int:
    axes = range(a.ndim) if axis is None else np.atleast_1d(axis)
    return math.prod(a.shape[axis] for axis in axes)


@_implements(np.iscomplexobj)
def _iscomplexobj(x: Image) -> bool:
    return False


@_implements(np.result_type)
def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*(x.dtype if _is_image(x) else x for x in arrays_and_dtypes))


def _like(function: Any) -> None:
    def implementation(a: Image, *args: Any, shape: Any = None, **options: Any) -> Any:
        empty: NDArray[Any] = np.empty(0, a.dtype)
        return function(empty, *args, shape=a.shape if shape is None else shape, **options)

    _implements(function)(implementation)


for _function in (np.empty_like, np.zeros_like, np.ones_like, np.full_like):
    _like(_function)
