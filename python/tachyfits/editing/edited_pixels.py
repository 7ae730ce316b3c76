"""Pixels of an image open for editing: sections get new values, exactly or not at all.

It converts values to stored pixels; the engine writes only those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.conversion import converted
from tachyfits.base.errors import usage, warn
from tachyfits.file.hdu import place_of
from tachyfits.image.image import Image
from tachyfits.text.pixel_units import pixel_unit
from tachyfits.text.sections import resolve

if TYPE_CHECKING:
    from tachyfits.editing.editor import Editor

#: Cards about the values of all pixels, which an edit may invalidate.
_OF_VALUES = ("DATAMIN", "DATAMAX")

#: Type in the file by BITPIX.
_STORED = {8: ">u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}


class _Layout(NamedTuple):
    """Header information about the pixels."""

    shape: tuple[int, ...]
    bitpix: int
    bscale: float
    bzero: float
    #: Whether BSCALE and BZERO do more than change the sign convention of integers or bytes.
    scaled: bool
    blank: int | None
    unit: str | None


class EditedPixels:
    """The pixels of an image open for editing, indexed like an image, to read and to write.

    Edits of pixels are journalled and checksummed with the rest of the edit, and their cost depends
    on the edited pixels, not on the size of the image. Values must convert to the type of the file
    exactly: integers must fit, and values of scaled integers (BSCALE, BZERO) must be whole steps.
    Only floats are rounded, to the digits of the file. NaN and masked values become BLANK, if the
    image has one. An astropy quantity is converted to BUNIT. DATAMIN and DATAMAX are removed.

    Examples
    --------
    >>> import numpy as np
    >>> import tachyfits as tf
    >>> tf.write("new.fits", np.zeros((4, 5), "i2"))
    >>> with tf.edit("new.fits") as editor:
    ...     editor[0].pixels[1:3, ::2] = 7
    ...     editor[0].pixels[0] = np.arange(5)
    >>> tf.open("new.fits")[0][:3]
    array([[0, 1, 2, 3, 4],
           [7, 0, 7, 0, 7],
           [7, 0, 7, 0, 7]], dtype=int16)
    """

    def __init__(self, editor: Editor, index: int) -> None:
        self._editor = editor
        self._index = index

    def _layout(self) -> _Layout:
        layout = self._editor._core.image_layout(self._index)
        if not layout[0]:
            raise self._no_image()
        return _Layout(tuple(layout[0]), *layout[1:])

    def _no_image(self) -> Exception:
        return usage(f"{self._where()} is not an image", "only images have pixels")

    def _where(self) -> str:
        return place_of(self._editor.name, self._index)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in NumPy order (reversed FITS)."""
        return self._layout().shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of indexing results."""
        return self._image().dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self._image()[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._image().__array__(dtype, copy)

    def _image(self) -> Image:
        image = self._editor.preview()[self._index]
        if not isinstance(image, Image):
            raise self._no_image()
        return image

    def __setitem__(self, index: Any, values: Any) -> None:
        layout = self._layout()
        section = resolve(index, layout.shape)
        self._editor._core.check_pixels(self._index)
        pixels = _broadcast(_stored(values, layout, self._where()), section.shape, self._where())
        # Negative steps traverse the axis from the other end.
        backwards = tuple(axis for axis, (_, _, step) in enumerate(section.ranges) if step < 0)
        ranges = [
            (first + (count - 1) * step, count, -step) if step < 0 else (first, count, step)
            for first, count, step in section.ranges
        ]
        pixels = np.flip(pixels.reshape(section.full_shape), backwards)
        stored = np.ascontiguousarray(pixels).reshape(-1).view(np.uint8)
        self._editor._core.update_pixels(self._index, ranges, stored)
        self._forget_extremes()

    def _forget_extremes(self) -> None:
        core = self._editor._core
        present = {card[0] for card in core.cards(self._index)}
        removed = [keyword for keyword in _OF_VALUES if keyword in present]
        for keyword in removed:
            core.delete_cards(self._index, keyword)
        if removed:
            warn(f"{self._where()}: {' and '.join(removed)} removed, because pixel values changed")

    def __repr__(self) -> str:
        return f"<tachyfits EditedPixels of {self._where()}: shape {self.shape}>"


def _broadcast(pixels: NDArray[Any], shape: tuple[int, ...], where: str) -> NDArray[Any]:
    """Return the pixels in the shape of the section, broadcast as in NumPy."""
    extra = pixels.ndim - len(shape)
    if extra > 0 and pixels.shape[:extra] == (1,) * extra:
        pixels = pixels.reshape(pixels.shape[extra:])
    try:
        return np.broadcast_to(pixels, shape)
    except ValueError:
        raise usage(
            f"{where}: values of shape {pixels.shape} for a section of shape {shape}",
            "give values of that shape, or of one that NumPy broadcasts to it",
        ) from None


def _stored(values: Any, layout: _Layout, where: str) -> NDArray[Any]:
    """Return values as stored in the file, big-endian."""
    if hasattr(values, "to_value") and hasattr(values, "unit"):
        values = _in_unit(values, layout, where)
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    array = np.asarray(np.ma.getdata(values) if mask is not None else values)
    if array.dtype.kind not in "buif":
        raise usage(
            f"{where}: invalid values of type {array.dtype}: expected numbers",
            "convert them to integers or floats first",
        )
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    elif array.dtype.kind == "f" and array.dtype.itemsize < 4:
        array = array.astype(np.float32)
    if layout.bitpix < 0:
        return _floats(array, mask, layout, where)
    return _integers(array, mask, layout, where)


def _in_unit(values: Any, layout: _Layout, where: str) -> Any:
    import astropy.units as u

    try:
        return values.to_value(pixel_unit(layout.unit or "") or u.dimensionless_unscaled)
    except u.UnitConversionError as error:
        raise usage(
            f"{where}: values in {values.unit} for pixels in {layout.unit or 'no unit'}: {error}",
            "give values in the unit of the image (BUNIT), or plain numbers",
        ) from error


def _floats(
    array: NDArray[Any], mask: NDArray[np.bool_] | None, layout: _Layout, where: str
) -> NDArray[Any]:
    stored = np.dtype(_STORED[layout.bitpix])
    with np.errstate(all="ignore"):
        if layout.scaled:
            numbers = _as_floats(array, np.dtype("f8"), mask, where)
            floats = ((numbers - layout.bzero) / layout.bscale).astype(stored)
            lost = np.isfinite(numbers) & ~np.isfinite(floats)
        elif array.dtype.kind == "f":
            floats = array.astype(stored)
            lost = np.isfinite(array) & ~np.isfinite(floats)
        else:
            floats = _as_floats(array, stored, mask, where)
            lost = np.zeros(array.shape, bool)
    floats = np.array(floats, stored, ndmin=0, copy=True)
    if mask is not None:
        lost = lost & ~mask
        floats[mask] = np.nan
    _refuse(lost, array, where, f"a number that BITPIX = {layout.bitpix} can hold", "")
    return floats


def _integers(
    array: NDArray[Any], mask: NDArray[np.bool_] | None, layout: _Layout, where: str
) -> NDArray[Any]:
    stored = np.dtype(_STORED[layout.bitpix])
    undefined = np.zeros(array.shape, bool) if mask is None else mask.copy()
    if array.dtype.kind == "f":
        undefined |= np.isnan(array)
    if undefined.any() and layout.blank is None:
        raise usage(
            f"{where}: undefined values (NaN or masked) for integers without BLANK",
            "set BLANK in the header to a number that no pixel has, or give numbers",
        )
    array = np.where(undefined, array.dtype.type(0), array)
    if layout.scaled:
        pixels, fits = _steps(array, undefined, layout, stored, where)
        expected = f"whole steps of BSCALE = {layout.bscale!r} from BZERO = {layout.bzero!r}"
    else:
        pixels, fits = _whole(array, layout, stored)
        least, most = _limits(layout, stored)
        expected = f"whole numbers from {least} to {most}"
    _refuse(~fits & ~undefined, array, where, expected, "round or clip them first")
    if layout.blank is not None:
        # BLANK may be beyond the range of the type: then no value is undefined.
        limits = np.iinfo(stored)
        if undefined.any() and not limits.min <= layout.blank <= limits.max:
            raise usage(
                f"{where}: undefined values, and BLANK = {layout.blank} is out of range for this "
                "type",
                f"set BLANK to a number from {limits.min} to {limits.max}",
            )
        collisions = (pixels == layout.blank) & ~undefined
        _refuse(
            collisions, array, where, f"values other than BLANK = {layout.blank} when stored", ""
        )
        if undefined.any():
            pixels = np.where(undefined, np.array(layout.blank, stored), pixels)
    return np.asarray(pixels, stored)


def _limits(layout: _Layout, stored: np.dtype[Any]) -> tuple[int, int]:
    """Return the limits of unscaled integers."""
    limits = np.iinfo(stored)
    return int(limits.min) + int(layout.bzero), int(limits.max) + int(layout.bzero)


def _whole(
    array: NDArray[Any], layout: _Layout, stored: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return integers as stored, and a mask of the values that are whole."""
    sign = "i" if _limits(layout, stored)[0] < 0 else "u"
    values, fits = converted(array, np.dtype(f"{sign}{stored.itemsize}"))
    # BZERO of unsigned integers, and of signed bytes, flips the sign bit.
    bit = np.array(1 << 8 * stored.itemsize - 1, f"u{stored.itemsize}")
    bits = values.view(bit.dtype) ^ bit if layout.bzero else values
    return bits.view(stored.newbyteorder("=")).astype(stored), fits


def _steps(
    array: NDArray[Any],
    undefined: NDArray[np.bool_],
    layout: _Layout,
    stored: np.dtype[Any],
    where: str,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the numbers of steps, and a mask of the values that read back exactly."""
    numbers = _as_floats(array, np.dtype("f8"), undefined, where)
    limits = np.iinfo(stored)
    with np.errstate(all="ignore"):
        steps = np.rint((numbers - layout.bzero) / layout.bscale)
        fits = (steps >= float(limits.min)) & (steps < float(limits.max + 1))
        back = layout.bzero + layout.bscale * steps
        if array.dtype.kind == "f":
            fits &= back.astype(array.dtype) == array
        else:
            fits &= back == numbers
    return np.where(fits, steps, 0).astype(stored), fits


def _as_floats(
    array: NDArray[Any], target: np.dtype[Any], mask: NDArray[np.bool_] | None, where: str
) -> NDArray[Any]:
    """Return numbers as floats; integers that the type cannot represent exactly are refused."""
    floats, exact = converted(array, target)
    if array.dtype.kind == "f":
        return floats
    lost = ~exact if mask is None else ~exact & ~mask
    _refuse(lost, array, where, f"integers that {target.name} holds exactly", "give floats")
    return floats


def _refuse(wrong: Any, array: NDArray[Any], where: str, expected: str, hint: str) -> None:
    """Refuse values where ``wrong`` is true."""
    wrong = np.asarray(wrong)
    if not wrong.any():
        return
    count = int(np.count_nonzero(wrong))
    first = array[wrong][0] if array.ndim else array[()]
    others = "" if count == 1 else f" and {count - 1} more"
    raise usage(
        f"{where}: invalid value {first}{others}: expected {expected}",
        hint or "give values that the pixels of the file can hold",
    )
