"""`tachyfits.write`: an image, a table, or several HDUs as a new file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import usage
from tachyfits.base.kinds import TABLES, kind_of
from tachyfits.base.output import fits_name, tell_rounding
from tachyfits.base.whole_numbers import check_threads
from tachyfits.header.cards import Header
from tachyfits.header.given import check_card_text
from tachyfits.writing.compression import Compression, engine_compression
from tachyfits.writing.images import cards_given, image_cards, native, unit_of, with_blank
from tachyfits.writing.stacking import stacked


@public
def write(
    path: str | os.PathLike[str],
    data: Any,
    header: Header | Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    dtype: Any = None,
    scaling: tuple[float, float] | None = None,
    blank: int | None = None,
    compress: Compression | str | None = None,
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
        primary HDU without data. Tables of beams (BEAMS) and of coordinates (-TAB) that images need
        follow at the end, unless the list has them; an image in a pair is its pixels alone.
    header
        Cards, as a `Header` or values by keyword. Structure, scaling and columns (TUNITn) get new
        cards. The ``meta`` of a table comes before them.
    name
        EXTNAME.
    dtype, scaling, blank
        Of an image: as in `Image.write`.
    compress
        Compress in tiles: images as in `Image.write`, also each image of a list; a table by a
        `Compression`, and the tables of a list by one with ``tables=True``.
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
    check_card_text("name", name)
    of_tables = {
        "columns": columns, "units": units, "nulls": nulls, "descriptions": descriptions,
        "kind": kind, "forms": forms,
    }  # fmt: skip
    of_images = {"dtype": dtype, "scaling": scaling, "blank": blank}
    given = [option for option, value in of_tables.items() if value is not None]
    what = kind_of(data)
    if given or what in TABLES or what == "path":
        _refuse_options(of_images, "a table")
        # The modules of tables load when a table is written.
        from tachyfits.writing.tables import write_table

        write_table(
            path, data, columns=columns, units=units, nulls=nulls, descriptions=descriptions,
            name=name, header=header, kind="binary" if kind is None else kind, forms=forms,
            compress=compress, overwrite=overwrite, checksum=checksum, sync=sync, threads=threads,
            progress=progress,
        )  # fmt: skip
        return
    if what == "measured" and data.companions and header is None:
        _refuse_options(of_images, "a plane whose coordinates need other HDUs")
        if name is not None:
            data = replace(data, header=data.header.replaced({"EXTNAME": name}))
            name = None
        data = [data]
    elif what == "measured":
        data, header = data.as_written(header)
    elif what == "nddata":
        from tachyfits.interop.nddata import parts_of

        parts = parts_of(data, header)
        data, header = parts[0] if len(parts) == 1 else (parts, None)
    if isinstance(data, (list, tuple)) and not _is_numbers(data):
        if header is not None or name is not None:
            problem = "header= and name= go with a single HDU"
            raise usage(problem, "give pairs (array, header) in the list")
        _refuse_options(of_images, "a list of HDUs")
        from tachyfits.writing.hdus import write_hdus

        write_hdus(
            path, data, overwrite, checksum, sync, check_threads(threads), progress, compress
        )
        return
    if what == "image" and (name is not None or header is not None):
        data._warn_of_groups()
    if name is not None and header is None and what == "image":
        data = data._named(name)
    elif name is not None:
        cards = [card for card in cards_given(header) if card[0].upper() != "EXTNAME"]
        header = Header([*cards, ("EXTNAME", name, "")])
    if what == "image" and header is None:
        data.write(
            path, dtype=dtype, scaling=scaling, blank=blank, compress=compress,
            overwrite=overwrite, checksum=checksum, sync=sync, threads=threads, progress=progress,
        )  # fmt: skip
        return
    unit = unit_of(data)
    if isinstance(data, (list, tuple)):
        data, unit = stacked(data)
    if blank is not None and scaling is None:
        data = with_blank(data, dtype, blank)
    array = native(data)
    error = _core.write_array(
        fits_name(path), array, image_cards(header, unit),
        compression=engine_compression(compress, array.shape, dtype or array.dtype),
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


def _is_numbers(items: Sequence[Any]) -> bool:
    """Return whether a list is an array for NumPy, and not a list of HDUs."""
    number = (int, float, complex, np.number)

    def is_part(item: Any) -> bool:
        if isinstance(item, tuple):
            # A pair of an array and its header is not a number.
            return bool(item) and all(isinstance(each, number) for each in item)
        return isinstance(item, list) or (isinstance(item, np.ndarray) and not item.dtype.names)

    return all(isinstance(item, number) or is_part(item) for item in items)
