"""Writing results: a file appears under its name only when it is complete.

A full disk, an error or a kill leaves the old file unchanged. `write_atomically` is for text and
pictures.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, usage, warn
from tachyfits.base.numbers import whole_number
from tachyfits.base.optional import is_lazy
from tachyfits.base.sources import path_text
from tachyfits.base.threads import check_threads
from tachyfits.header.cards import Header
from tachyfits.results.measured import Measured
from tachyfits.text.units import text_of_unit

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: FITS files consist of blocks of this many bytes.
BLOCK = 2880

#: Endings of compressed files.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".z", ".zip", ".fz")


class _Stream(io.RawIOBase):
    """The bytes of a new file, as a seekable stream."""

    def __init__(self, output: _core.OutputFile) -> None:
        self._output = output
        self._position = self._size = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        block = bytes(data)
        self._output.write_at(self._position, block)
        self._position += len(block)
        self._size = max(self._size, self._position)
        return len(block)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position


def write_atomically(
    path: str | os.PathLike[str], produce: Callable[[BinaryIO], object], *, overwrite: bool
) -> None:
    """Let ``produce`` write a file, and give it its name when it is complete on the disk.

    Raises
    ------
    IoError
        The file exists and ``overwrite`` is false, or it cannot be written.
    """
    output = _core.OutputFile(path_text(path), overwrite=overwrite)
    stream = io.BufferedWriter(_Stream(output), 1 << 20)
    produce(stream)
    if not stream.closed:
        stream.flush()
    output.commit()


def header_block(header: Header, bitpix: int, shape: Sequence[int]) -> bytes:
    """Return the header of a primary image, mandatory cards first, padded to whole blocks.

    Parameters
    ----------
    header
        The other cards.
    bitpix
        Type of the pixels.
    shape
        In NumPy order.
    """
    from astropy.io import fits

    cards = fits.Header()
    cards.append(("SIMPLE", True, "FITS Standard 4.0"))
    cards.append(("BITPIX", bitpix, "bits per pixel; negative: floating point"))
    cards.append(("NAXIS", len(shape), "number of axes"))
    for number, length in enumerate(reversed(shape), 1):
        cards.append((f"NAXIS{number}", length))
    cards.extend(header.to_astropy(), unique=False, update=False)
    return bytes(cards.tostring(sep="", endcard=True, padding=True).encode("ascii"))


def padding(data_bytes: int) -> bytes:
    """Return the zeros that pad the last block of data."""
    return bytes(-data_bytes % BLOCK)


def write(
    path: str | os.PathLike[str],
    data: Any,
    header: Header | Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    dtype: Any = None,
    scaling: tuple[float, float] | None = None,
    blank: int | None = None,
    columns: str | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    nulls: Mapping[str, int] | None = None,
    descriptions: Mapping[str, str] | None = None,
    kind: str | None = None,
    forms: Mapping[str, str] | None = None,
    overwrite: bool = False,
    checksum: bool = False,
    sync: bool = False,
    threads: int = 0,
    progress: Callable[[int, int], bool | None] | None = None,
) -> None:
    """Write an image, a table, or several HDUs as a new FITS file.

    The file appears under its name when it is complete.

    Parameters
    ----------
    path
        The new file.
    data
        An image, a table, or a list of HDUs.

        *Image*: an array of integers or floats, of any shape but () and any byte order; the last
        axis becomes NAXIS1. Masked elements become NaN, or ``blank``. Unsigned types and int8 get
        the BZERO of the Standard. A list of arrays of one shape, or of lists of numbers, is one
        array. An astropy quantity also writes BUNIT, unless the header has one. A CCDData or
        NDData also writes unit, meta and coordinates, and UNCERT and PSFIMAGE as extensions. An
        `Image`, a `Plane` or a `Spectrum` is written with its header, unless another is given.

        *Table*: becomes the first extension. A dict of arrays or lists, a structured array, an
        astropy Table or QTable, a pandas or polars frame, an object that exports an Arrow stream
        (pyarrow, DuckDB), `Columns`, a `Table`, or the path of a Parquet, Arrow or CSV file, which
        pyarrow reads batch by batch (CSV whole). None, null and masked elements are undefined:
        TNULLn for integers, NaN for floats, the byte 0 for truth values, empty text. Cells of
        different lengths (lists, `Ragged`) go into the heap. Lists of strings become fields with a
        separator (TSSTRn). Dates become ISO 8601 text, durations seconds. Columns of astropy keep
        unit, description and format; its times are written to the nanosecond, with scale and
        location, from which `Table.to_astropy` restores them; its objects (SkyCoord) become the
        columns that astropy makes of them. The index of a pandas frame becomes columns, unless it
        is a default index. The cells of a `Table` are copied as stored, unless ``units``,
        ``nulls``, ``forms`` or another ``kind`` convert them.

        *List*: tables, images, and pairs of one of these and a header or None. None alone is a
        primary HDU without data.
    header
        Cards, as a `Header` or values by keyword. Structure and scaling get new cards. The ``meta``
        of a table comes before them.
    name
        EXTNAME.
    dtype, scaling, blank
        Of an image: as in `Image.write`.
    columns
        Of a table: a name or several; only these, in this order.
    units, nulls, descriptions
        Of a table, by column name: TUNITn, TNULLn (as a value of the column), and the comment of
        TTYPEn (also TCOMMn if it is longer than its card). They replace those of ``data``; values
        are not converted to another unit.
    kind
        Of a table: "binary" (BINTABLE, the default) or "ascii" (TABLE).
    forms
        Of a table, by column name: TFORMn. In a binary table "J", "3E", "20A", or "PJ" and "QD" for
        cells in the heap; in an ASCII table "I6", "F8.3", "E16.8", "D25.16", "A10". Floats are
        rounded to the digits of their form; other values that do not fit are an error. By default
        the form follows from the type, and an ASCII table has every digit.
    overwrite, checksum, sync, threads, progress
        As in `Image.write`.

    Raises
    ------
    IoError
        The file exists and ``overwrite`` is false, or writing fails.
    UsageError
        FITS cannot represent the data, a value does not fit, the arrays of a list have several
        shapes, or an option does not apply to the data.

    Examples
    --------
    >>> import numpy as np, tachyfits as tf
    >>> tf.write("new.fits", np.arange(6, dtype="uint16").reshape(2, 3), checksum=True)
    >>> tf.open("new.fits")[0][1]
    array([3, 4, 5], dtype=uint16)
    >>> stars = {"NAME": ["alpha", "beta"], "MAG": [1.5, None], "N": [3, None]}
    >>> tf.write("stars.fits", stars, units={"MAG": "mag"}, name="STARS")
    >>> tf.open("stars.fits")["STARS"]["N"]
    masked_array(data=[3, --],
                 mask=[False,  True],
           fill_value=999999)
    >>> tf.write("two.fits", [(np.ones((2, 3)), None), {"RA": [10.0, 11.0]}])
    >>> tf.open("two.fits")[1]["RA"]
    array([10., 11.])
    """
    of_tables = {
        "columns": columns, "units": units, "nulls": nulls, "descriptions": descriptions,
        "kind": kind, "forms": forms,
    }  # fmt: skip
    of_images = {"dtype": dtype, "scaling": scaling, "blank": blank}
    given = [option for option, value in of_tables.items() if value is not None]
    if given or _is_table(data) or isinstance(data, (str, os.PathLike)):
        _refuse_options(of_images, "a table")
        # Imported here because that module imports this one.
        from tachyfits.writing.tables import write_table

        write_table(
            path, data, columns=columns, units=units, nulls=nulls, descriptions=descriptions,
            name=name, header=header, kind="binary" if kind is None else kind, forms=forms,
            overwrite=overwrite, checksum=checksum, sync=sync, threads=threads, progress=progress,
        )  # fmt: skip
        return
    if isinstance(data, Measured):
        data, header = data.as_written(header)
    if is_nddata(data):
        # That module needs those of tables.
        from tachyfits.interop.nddata import parts_of

        parts = parts_of(data, header)
        data, header = parts[0] if len(parts) == 1 else (parts, None)
    if isinstance(data, (list, tuple)) and not _is_numbers(data):
        if header is not None or name is not None:
            problem = "header= and name= go with a single HDU"
            raise usage(problem, "give pairs (array, header) in the list")
        _refuse_options(of_images, "a list of HDUs")
        from tachyfits.writing.hdus import write_hdus

        write_hdus(path, data, overwrite, checksum, sync, check_threads(threads), progress)
        return
    if name is not None and header is None and _is_image(data):
        data = data._named(name)
    elif name is not None:
        cards = [card for card in _cards_given(header) if card[0].upper() != "EXTNAME"]
        header = Header([*cards, ("EXTNAME", name, "")])
    if _is_image(data) and header is None:
        data.write(
            path, dtype=dtype, scaling=scaling, blank=blank, overwrite=overwrite,
            checksum=checksum, sync=sync, threads=threads, progress=progress,
        )  # fmt: skip
        return
    unit = unit_of(data)
    if isinstance(data, (list, tuple)):
        # That module needs those of tables.
        from tachyfits.writing.stacking import stacked

        data, unit = stacked(data)
    if blank is not None and scaling is None:
        data = with_blank(data, dtype, blank)
    error = _core.write_array(
        fits_name(path), native(data), image_cards(header, unit),
        pixel=None if dtype is None else np.dtype(dtype).name, scaling=scaling, blank=blank,
        overwrite=overwrite, checksum=checksum, sync=sync, threads=check_threads(threads),
        progress=progress,
    )  # fmt: skip
    tell_rounding(path, error, unit)


def _refuse_options(options: Mapping[str, Any], data: str) -> None:
    """Refuse options of a single image with other data."""
    given = [f"{option}=" for option, value in options.items() if value is not None]
    if given:
        raise usage(
            f"invalid options for {data}: {', '.join(given)}",
            "give arrays of the type to write",
        )


def tell_rounding(path: str | os.PathLike[str], error: float, unit: Any) -> None:
    """Warn of values that were rounded to integers, with the largest error."""
    if error > 0:
        of_unit = f" {unit}" if unit is not None and str(unit) else ""
        warn(
            f"{os.fspath(path)}: values were rounded to integers; the largest error is "
            f"{error:.6g}{of_unit}"
        )


def is_nddata(data: Any) -> bool:
    """Return whether something is an image of astropy.nddata, such as CCDData."""
    modules = (base.__module__ for base in type(data).__mro__)
    return hasattr(data, "uncertainty") and any(
        name.startswith("astropy.nddata") for name in modules
    )


def _is_image(data: Any) -> bool:
    # Imported here because that module imports this one.
    from tachyfits.image.image import Image

    return isinstance(data, Image)


def _is_table(data: Any) -> bool:
    """Return whether an object has columns by name, as `write` takes them."""
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    # Whole tables have `columns` (astropy, pandas, polars, pyarrow, ours), files of other formats
    # `batches`. A stream of tables may have neither; a single column is a stream too, and an array.
    is_stream = hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__array__")
    if isinstance(data, Mapping) or is_stream or is_lazy(data):
        return True
    return hasattr(data, "columns") or hasattr(data, "batches")


def fits_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a new FITS file.

    Raises
    ------
    UsageError
        The ending is that of a compressed file or of another format, and this file would be
        neither.
    """
    # Imported here because that module imports this one.
    from tachyfits.writing.export import FORMATS

    name = path_text(path)
    ending = Path(name).suffix.lower()
    if ending in COMPRESSED:
        raise usage(
            f"cannot write a compressed file: {name!r}",
            "write a file with a name that ends in .fits, and compress it",
        )
    if FORMATS.get(ending, "fits") != "fits":
        raise usage(
            f"invalid name {name!r}: expected the name of a FITS file",
            "use .fits; a table is written as CSV, Parquet and Arrow by Table.write",
        )
    return name


def image_cards(header: Any, unit: Any = None) -> list[tuple[str, Any, str]]:
    """Return the cards for an image: those of a header, or values by keyword, and BUNIT.

    ``unit``: astropy's, of the pixels; written if the header has none.
    """
    cards = _cards_given(header)
    text = text_of_unit(unit)
    if text is not None and not any(card[0].upper() == "BUNIT" for card in cards):
        cards.append(("BUNIT", text, ""))
    return cards


def unit_of(array: Any) -> Any:
    """Return the unit of an astropy array; None for anything else."""
    return getattr(array, "unit", None) if isinstance(array, np.ndarray) else None


def _cards_given(header: Any) -> list[tuple[str, Any, str]]:
    if header is None:
        return []
    if isinstance(header, Header):
        return list(header.cards)
    # An astropy header is not a Mapping, but has its items.
    if hasattr(header, "items"):
        from tachyfits.writing.table_cards import cards_of

        return cards_of(None, header)
    raise usage(
        f"invalid header of type {type(header).__name__}",
        "give a tachyfits Header, or a dict of values by keyword",
    )


def _is_numbers(items: Sequence[Any]) -> bool:
    """Return whether a list is an array for NumPy, and not a list of HDUs."""
    number = (int, float, complex, np.number)

    def is_part(item: Any) -> bool:
        if isinstance(item, tuple):
            # A pair of an array and its header is not a number.
            return bool(item) and all(isinstance(each, number) for each in item)
        return isinstance(item, list) or (isinstance(item, np.ndarray) and not item.dtype.names)

    return all(isinstance(item, number) or is_part(item) for item in items)


#: Hint for an array of a type that no image has, by NumPy's kind.
_OTHER_TYPES = {
    "b": 'give array.astype("uint8"), which holds the same values',
    "f": 'give array.astype("float32"), or "float64" for wider types',
    "c": "give array.real and array.imag, as two images",
    "U": "give numbers, or a dict of columns for a table",
}


def native(array: Any) -> NDArray[Any]:
    """Return an array for the engine: native-endian, contiguous in C order, not masked."""
    # An object with ``__array__`` may give a masked array.
    array = array if isinstance(array, np.ndarray) else np.asanyarray(array)
    if np.ma.is_masked(array):
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            _refuse_rounding(np.asarray(np.ma.filled(array, 0)))
        floats = array if array.dtype.kind == "f" else array.astype(np.float64)
        array = np.ma.filled(floats, np.nan)
    array = np.asarray(array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "iuf" or (kind == "f" and size not in (4, 8)):
        raise usage(
            f"an array of {array.dtype}: FITS has no image of that type",
            either(_OTHER_TYPES.get(kind, "give numbers, or a dict of columns for a table")),
        )
    if not array.ndim:
        raise usage(f"a single number, {array}: FITS has no image of it", f"give a list: [{array}]")
    result: NDArray[Any] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return result


#: Offset of the conventions for unsigned integers and signed bytes.
ZEROS = {"int8": -(2**7), "uint16": 2**15, "uint32": 2**31, "uint64": 2**63}


def with_blank(array: Any, dtype: Any, blank: int) -> Any:
    """Return integers of a type with BLANK where they are masked, all exactly.

    Other values, and values that become floats, are returned unchanged. ``dtype``: None for theirs.

    Raises
    ------
    UsageError
        A defined value equals BLANK, or does not fit the type.
    """
    array = array if isinstance(array, np.ndarray) else np.asanyarray(array)
    own = array.dtype.newbyteorder("=")
    kind = own if dtype is None else np.dtype(dtype)
    number = whole_number(blank, least=-(2**63))
    if array.dtype.kind not in "iu" or kind.kind not in "iu" or number is None:
        return array
    limits, stands = np.iinfo(kind), number + ZEROS.get(kind.name, 0)
    if not limits.min <= stands <= limits.max:
        # The engine says what it may be.
        return array
    mask = np.ma.getmaskarray(array) if np.ma.is_masked(array) else None
    data = np.ma.getdata(array)
    defined = data if mask is None else data[~mask]
    least, greatest = (int(defined.min()), int(defined.max())) if defined.size else (0, 0)
    if not limits.min <= least <= greatest <= limits.max:
        odd = least if least < limits.min else greatest
        raise usage(f"{odd} does not fit pixels of {kind}", "choose a wider dtype")
    if least <= stands <= greatest and bool((defined == stands).any()):
        raise usage(
            f"invalid blank {number}: {stands} is among the defined values",
            "choose one that does not occur",
        )
    filled = data.astype(kind)
    if mask is not None:
        filled[mask] = stands
    return filled


def _refuse_rounding(integers: NDArray[Any]) -> None:
    """Refuse masked integers that float64, which has NaN for them, cannot represent."""
    odd = integers[(integers > 2**53) | (integers < -(2**53))]
    if odd.size:
        raise usage(
            f"cannot convert masked integers to float64 exactly: {odd[0]} is among them",
            either("give an integer that does not occur: blank="),
        )
