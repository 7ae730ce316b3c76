"""`tachyfits.write`: an image, a table, or several HDUs as a new file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tachyfits.base.boundary import public
from tachyfits.header.cards import Header
from tachyfits.writing.compression import Compression
from tachyfits.writing.sinks import Output, write_new

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tachyfits.writing.options import DataOptions


@public
def write(
    path: Output,
    data: Any,
    header: Header | Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    compress: Compression | str | None = None,
    overwrite: bool = False,
    checksum: bool = False,
    sync: bool = False,
    threads: int = 0,
    progress: Callable[[int, int], bool | None] | None = None,
    **options: Unpack[DataOptions],
) -> None:
    """Write an image, a table, or several HDUs as a new FITS file.

    The file appears under its name when it is complete.

    Parameters
    ----------
    path
        The new file; "-" for standard output, or a binary file object, to which the bytes are
        written when the file is complete.
    data
        An image, a table, or a list of HDUs.

        *Image*: an array of integers or floats, of any shape except () and any byte order; the last
        axis becomes NAXIS1. Masked elements become NaN, or ``blank``. Unsigned types and int8 get
        the BZERO of the Standard. A list of arrays of one shape, or of lists of numbers, is one
        array. An astropy quantity also writes BUNIT, unless the header has one. A CCDData or NDData
        also writes unit, meta and coordinates, and UNCERT and PSFIMAGE as extensions. An `Image`, a
        `Plane` or a `Spectrum` is written with its header, unless ``header`` is set.

        *Table*: becomes the first extension. A dict of arrays or lists, a structured array, an
        astropy Table or QTable, a pandas or polars frame, an object that exports an Arrow stream
        (pyarrow, DuckDB), `Columns`, a `Table`, or the path of a Parquet, Arrow or CSV file, which
        pyarrow reads in batches (CSV whole). None, null and masked elements are undefined: TNULLn
        for integers, NaN for floats, the byte 0 for truth values, empty text. Cells of different
        lengths (lists, `Ragged`) go into the heap. Lists of strings become fields with a separator
        (TSSTRn). Dates become ISO 8601 text, durations seconds. Columns of astropy keep unit,
        description and format; its times are written to the nanosecond, with scale and location,
        from which `Table.to_astropy` restores them; its objects (SkyCoord) become the columns into
        which astropy splits them. The index of a pandas frame becomes columns, unless it is a
        default index. The cells of a `Table` are copied as stored, unless ``units``, ``nulls``,
        ``forms`` or another ``kind`` convert them.

        *List*: tables, images, and pairs of one of these and a header or None. None alone is a
        primary HDU without data. Tables of beams (BEAMS) and of coordinates (-TAB) that images need
        follow at the end, unless the list has them; for an image in a pair, only its pixels are
        used.
    header
        Cards, as a `Header` or values by keyword. Structure, scaling and columns (TUNITn) get new
        cards. The ``meta`` of a table precedes them.
    name
        EXTNAME.
    compress
        Compress in tiles: images as in `Image.write`, also each image of a list; a table by a
        `Compression`, and the tables of a list by one with ``tables=True``.
    overwrite, checksum, sync, threads, progress
        As in `Image.write`.
    dtype, scaling, blank
        For an image: as in `Image.write`.
    drop_degenerate
        For an `Image`: drop every axis of length 1.
    columns
        For a table: a name or several; only these, in this order.
    units, nulls, descriptions
        For a table, by column name: TUNITn, TNULLn (as a value of the column), and the comment of
        TTYPEn (also TCOMMn if it is longer than its card). They replace those of ``data``; values
        are not converted to another unit.
    kind
        For a table: "binary" (BINTABLE, the default) or "ascii" (TABLE).
    forms
        For a table, by column name: TFORMn. In a binary table "J", "3E", "20A", or "PJ" and "QD"
        for cells in the heap; in an ASCII table "I6", "F8.3", "E16.8", "D25.16", "A10". Floats are
        rounded to the digits of their form; other values that do not fit are an error. By default
        the form follows from the type, and an ASCII table has every digit.

    Raises
    ------
    IoError
        The file exists and ``overwrite`` is false, or writing fails.
    UsageError
        FITS cannot represent the data, a value does not fit, the arrays of a list have different
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
    write_new(
        path, data, header=header, name=name, compress=compress, overwrite=overwrite,
        checksum=checksum, sync=sync, threads=threads, progress=progress, **options,
    )  # fmt: skip
