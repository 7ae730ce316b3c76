"""Hdu: common behaviour of every header and data unit.

Images add their pixels in `image.image`, tables their rows in `table.table`. An HDU belongs to an
open File and requests the engine's object from it, so that every use detects a closed file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, warn
from tachyfits.base.hints import attribute_hint, no_attribute
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import check_threads, whole_number
from tachyfits.header.cards import Header

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tachyfits.base.progress import Progress
    from tachyfits.file.file import File

#: Maximum of NAXIS and TFIELDS.
_MOST_AXES = 999
_MOST_COLUMNS = 999


@public
class Hdu:
    """One header and data unit of an open file; get it by indexing the File.

    An HDU with pixels is an `Image`, one with rows and columns a `Table`. Others (empty primary
    HDUs, foreign extensions) only have a header.
    """

    _data_kind = "hdu"

    def __init__(self, file: File, index: int) -> None:
        self._file = file
        self._index = index
        self._header: Header | None = None

    def _hdu(self) -> _core.Hdu:
        return self._file._open_core().hdu(self._index)

    @property
    def file(self) -> File:
        """The file of the HDU."""
        return self._file

    @property
    def index(self) -> int:
        """The 0-based number of the HDU."""
        return self._index

    @property
    def name(self) -> str:
        """EXTNAME; "PRIMARY" for a primary HDU without one, else "" if it is missing."""
        return self._hdu().extname or ("PRIMARY" if self._index == 0 else "")

    @property
    def version(self) -> int:
        """EXTVER, or 1 if it is missing."""
        return self._hdu().extver

    @property
    def kind(self) -> str:
        """Kind of the HDU: "primary", "image", "binary table", ... or its XTENSION."""
        return self._hdu().kind

    @property
    def shape(self) -> tuple[int, ...]:
        """NAXISn in NumPy order (reversed FITS); () without data. For a table, rows and columns."""
        return tuple(reversed(self._hdu().axes))

    @property
    def data_offset(self) -> int:
        """Offset of the data in the (decompressed) file, bytes."""
        return self._hdu().data_offset

    @property
    def data_bytes(self) -> int:
        """Bytes of data according to the header, without padding."""
        return self._hdu().data_bytes

    @property
    def data_bytes_present(self) -> int:
        """Bytes of data in the file; less than ``data_bytes`` if it is truncated."""
        return self._hdu().data_bytes_present

    @property
    def header(self) -> Header:
        """The header: a mapping by keyword, with ``.cards`` and ``.comments``."""
        return self.stored_header

    @property
    def stored_header(self) -> Header:
        """The header as stored in the file."""
        if self._header is None:
            self._header = Header.of_file(self._hdu().header(), self._where())
        return self._header

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = ""
            if not name.startswith("_"):
                for kind, what, get in (
                    (upper.Image, "pixels", "image"), (upper.Table, "rows", "table"),
                ):  # fmt: skip
                    if not hint and (hasattr(kind, name) or attribute_hint(kind.__name__, name)):
                        hint = f"HDU {self._index} has no {what}: file.{get}() is one that has"
            message = no_attribute("Hdu", name, hint, dir(type(self)))
            raise AttributeError(message, name=name, obj=self)

    def _release(self) -> None:
        """Release the engine's objects of this HDU, whose file is closed."""

    def _where(self) -> str:
        return place_of(self._file.name, self._index)

    @property
    def compression(self) -> CompressedTiles | None:
        """Tile compression of the data, or None.

        Examples
        --------
        >>> import tachyfits as tf
        >>> print(tf.open("cube.fits")[0].compression)
        None
        """
        return compression_of(self)

    @property
    def was_primary(self) -> bool:
        """Whether a compressed image was the primary array of a file (ZSIMPLE)."""
        stored = self._hdu().stored
        return stored is not None and "ZSIMPLE" in stored.header()

    def checksum(
        self, *, threads: int | None = None, progress: Progress | None = None
    ) -> _core.Checksum:
        """Checksum the HDU in one pass and compare the sums with DATASUM and CHECKSUM.

        Parameters
        ----------
        threads
            Number of threads; None: those of the file.
        progress
            Called with (bytes done, total bytes); returning False cancels.

        Returns
        -------
        Checksum
            ``ok`` if neither sum is wrong (a missing one does not count as wrong); ``data`` and
            ``whole`` are "right", "wrong", "not stated" or "unreadable" for DATASUM and CHECKSUM;
            ``datasum`` is the sum of the data.

        Raises
        ------
        FormatError
            The file ends before the data do.

        Notes
        -----
        FITS Standard 4.0, section 4.4.2.7 and appendix J.

        Examples
        --------
        >>> import tachyfits as tf
        >>> with tf.open("cube.fits") as file:
        ...     print(file[0].checksum().data)
        not stated
        """
        number = self._file.threads if threads is None else check_threads(threads)
        return self._hdu().checksum(threads=number, progress=progress)

    def group_parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return the parameters of random groups by PTYPE, scaled, one value per group.

        Parameters of the same PTYPE are added, as the Standard requires (section 6.1.2). The arrays
        of the groups are the pixels of an `Image`, whose first NumPy axis counts the groups.
        """
        return self._hdu().group_parameters()

    def _warn_of_groups(self) -> None:
        """Warn that a written image drops the parameters of random groups."""
        if self.kind == "random groups" and self.stored_header.get("PCOUNT"):
            warn(
                f"{self._where()}: random groups are written as an image, without their parameters"
                + either("\nhint: write these too: a table of image.group_parameters()")
            )

    def __repr__(self) -> str:
        shape = f" {self.shape}" if self.shape else ""
        return (
            f"<tachyfits {type(self).__name__} HDU {self._index} {self.name!r} {self.kind}"
            f"{shape} of {self._file.name}>"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _hdu_of, (self._file, self._index)

    def __dask_tokenize__(self) -> object:
        return upper.dask_token(self)


def place_of(name: str, index: int) -> str:
    """Return the HDU and its file, for messages.

    >>> place_of("stars.fits", 1)
    'stars.fits: HDU 1 (0-based)'
    """
    return f"{name}: HDU {index} (0-based)"


@public
class CompressedTiles(NamedTuple):
    """Tile compression of an image or a table (section 10 of the Standard)."""

    #: "image" (ZIMAGE = T) or "table" (ZTABLE = T).
    content: str
    #: ZCMPTYPE of an image, ZCTYPn of a table: "RICE_1", "GZIP_2, RICE_1", "unknown".
    algorithm: str
    #: Shape of an image in NumPy order, or rows and columns of a table; () if it is not stated.
    shape: tuple[int, ...]
    #: Shape of a tile in NumPy order, or the rows of a tile of a table; () if it is not stated.
    tile: tuple[int, ...]
    #: ZQUANTIZ of an image whose pixels were quantised, else None.
    quantisation: str | None
    #: Bytes of the binary table that stores it.
    stored_bytes: int

    @property
    def text(self) -> str:
        """Kind as text: "compressed image (RICE_1)"."""
        return f"compressed {self.content} ({self.algorithm})"

    @property
    def size_text(self) -> str:
        """Shape of an image, or number of rows and columns of a table, as text."""
        if self.content == "image" or not self.shape:
            return str(self.shape) if self.shape else ""
        rows, columns = self.shape
        return (
            f"{rows} row{'' if rows == 1 else 's'}, {columns} column{'' if columns == 1 else 's'}"
        )

    @property
    def hint(self) -> str:
        """How to read the content of the tiles."""
        return (
            f"open the file without decompress_tiles=False for the {self.content}; if it stays a "
            "table, the warnings of the file say why"
        )


def compression_of(hdu: Hdu) -> CompressedTiles | None:
    """Return the tile compression of an HDU, or None.

    Images are tested first; no table is both.
    """
    core = hdu._hdu()
    stored = core.stored
    if stored is None and core.kind != "binary table":
        return None
    header = hdu.header if stored is None else Header.of_file(stored.header(), hdu._where())
    quantisation = None
    if header.get("ZIMAGE") is True:
        content = "image"
        algorithms = [header.get("ZCMPTYPE")]
        axes = range(min(_length(header, "ZNAXIS") or 0, _MOST_AXES), 0, -1)
        lengths = [_length(header, f"ZNAXIS{n}") for n in axes]
        usual = [1] * (len(lengths) - 1) + lengths[-1:]
        tile = [_length(header, f"ZTILE{n}") or usual[-n] for n in axes]
        if "ZSCALE" in (*_of_columns(header, "TTYPE"), *header):
            quantisation = str(header.get("ZQUANTIZ") or "NO_DITHER").strip()
    elif header.get("ZTABLE") is True:
        content = "table"
        algorithms = _of_columns(header, "ZCTYP")
        lengths = [_length(header, "ZNAXIS2"), _length(header, "TFIELDS")]
        tile = [_length(header, "ZTILELEN")]
    else:
        return None
    names = dict.fromkeys(str(name).strip() for name in algorithms if name is not None)
    algorithm = ", ".join(sorted(name for name in names if name)) or "unknown"
    size = (stored or core).data_bytes
    return CompressedTiles(content, algorithm, _known(lengths), _known(tile), quantisation, size)


def _of_columns(header: Header, keyword: str) -> list[Any]:
    """Return the value of a keyword for each column."""
    count = min(_length(header, "TFIELDS") or 0, _MOST_COLUMNS)
    return [header.get(f"{keyword}{n}") for n in range(1, count + 1)]


def _length(header: Header, keyword: str) -> int | None:
    return whole_number(header.get(keyword), least=0)


def _known(lengths: list[int | None]) -> tuple[int, ...]:
    """Return the lengths if all are known."""
    present = tuple(length for length in lengths if length is not None)
    return present if len(present) == len(lengths) else ()


def no_pixels_hint(hdus: Iterable[Hdu], otherwise: str) -> str:
    """Return a hint about HDUs without pixels, which may include compressed ones."""
    for hdu in hdus:
        compression = compression_of(hdu)
        if compression is not None and compression.content == "image":
            return f"HDU {hdu.index} is a {compression.text}: {compression.hint}"
    return otherwise


def _hdu_of(file: File, index: int) -> Hdu:
    """Unpickle an HDU: its file is reopened by path."""
    hdu: Hdu = file[index]
    return hdu


def axes_of(hdu: Hdu) -> list[int]:
    """Return NAXISn in FITS order; for a compressed image, those of its pixels."""
    return list(hdu._hdu().axes)


def stored_table(hdu: Hdu) -> _core.Hdu | None:
    """Return the table that stores a compressed image or table; None for other HDUs."""
    return hdu._hdu().stored
