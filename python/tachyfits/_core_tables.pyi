"""Types of the compiled module `_core`, of tables and of files that are written or edited; see `_core.pyi`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits._core import FitsFile, Image

#: Called now and then with (bytes done, bytes in all); returning False cancels.
_Progress = Callable[[int, int], bool | None]

#: Codec, shape of a tile, level of quantisation, dither, its seed, divisor of HCOMPRESS, whether
#: directives in the header come first.
_Compression = tuple[str, Sequence[int] | None, float | None, str, int | None, int, bool]

_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])

#: Rows of a table: (first, end), or int64 numbers in any order.
_Rows = tuple[int, int] | NDArray[np.int64]

@final
class Table:
    """Rows and columns of one HDU, read on request. Both are counted from 0."""

    @property
    def rows(self) -> int: ...
    @property
    def rows_present(self) -> int: ...
    @property
    def row_bytes(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    def with_whole_fields(self) -> Table: ...  # for copies: TDIMn may leave out bytes of a field
    def columns(self) -> list[Column]: ...
    def find(self, name: str) -> int | None: ...
    def text_encoding(self, column: int) -> str: ...  # "utf-8" or "latin-1"
    def check_rows(self, rows: _Rows) -> None: ...
    def read(
        self,
        columns: Sequence[int],
        rows: _Rows,
        *,
        raw: bool = False,
        text: str = "str",  # "bytes"
        into: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None]] | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[tuple[NDArray[Any], NDArray[np.bool_] | None, int]]: ...  # values, where undefined, how many were odd
    def read_arrays(
        self,
        column: int,
        rows: _Rows,
        *,
        raw: bool = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.bool_] | None, int]: ...  # offsets, values, where undefined, odd
    def arrow_stream(
        self,
        columns: Sequence[int],
        first: int,
        end: int,
        *,
        condition: str | None,
        batch_rows: int,
        metadata: tuple[Sequence[tuple[str, str]], Sequence[Sequence[tuple[str, str]]]],
        faults: Callable[[list[tuple[int, bool]]], None],  # called after the last batch
        threads: int = 0,
    ) -> object: ...  # a capsule of Arrow's C stream interface
    def rows_where(
        self,
        condition: str,
        first: int,
        end: int,
        *,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> NDArray[np.int64]: ...  # ascending
    def read_where(
        self,
        condition: str,
        columns: Sequence[int],
        first: int,
        end: int,
        *,
        raw: bool = False,
        text: str = "str",
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> tuple[NDArray[np.int64], list[tuple[NDArray[Any], NDArray[np.bool_] | None, int]]]: ...  # rows, and as read gives it

@final
class Column:
    """Header information about one column of a table."""

    @property
    def name(self) -> str: ...
    @property
    def is_named(self) -> bool: ...
    @property
    def key(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def display(self) -> str | None: ...
    @property
    def null(self) -> int | str | None: ...
    @property
    def scale(self) -> float: ...
    @property
    def zero(self) -> float: ...
    @property
    def offset(self) -> int: ...  # bytes, in a row
    @property
    def bytes(self) -> int: ...  # in a row
    @property
    def is_variable(self) -> bool: ...
    @property
    def delimiter(self) -> int | None: ...  # the code of the separator of strings of rA:SSTRw/nnn
    @property
    def dtype(self) -> str: ...  # what reading gives, as NumPy names it
    @property
    def shape(self) -> list[int]: ...  # of a cell, NumPy order

#: The cells of one column: bytes of native values, int64 offsets of arrays (in elements), a byte where undefined.
_Cells = tuple[NDArray[np.uint8], NDArray[np.int64] | None, NDArray[np.uint8] | None]

@final
class OutputFile:
    """A new file of any bytes, which appears under its name when `commit` is called."""

    def __new__(cls, path: str | os.PathLike[str], *, overwrite: bool = False) -> OutputFile: ...
    @staticmethod
    def shared(path: str | os.PathLike[str], size: int, *, overwrite: bool = False) -> OutputFile: ...
    @property
    def shared_path(self) -> os.PathLike[str] | None: ...  # by which other processes write a shared file
    def write_at(self, offset: int, content: bytes) -> None: ...
    def discard(self) -> None: ...
    def commit(self) -> None: ...

@final
class FileWriter:
    """A new file, written HDU by HDU; it appears under its name when `commit` is called."""

    def __new__(
        cls,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        checksum: bool = False,
        sync: bool = False,
    ) -> FileWriter: ...
    @staticmethod
    def spooled(name: str, *, checksum: bool = False) -> FileWriter: ...  # a temporary file without a name
    def begin_table(
        self,
        columns: Sequence[dict[str, Any]],  # name, element, repeat, width, variable, null, dimensions, unit, display, scaling
        cards: Sequence[tuple[str, Any, str]],
        *,
        kind: str = "binary",  # "ascii"
        name: str | None = None,
        rows: int = 0,  # 0: not known yet
    ) -> None: ...
    def begin_table_like(
        self,
        table: Table,
        columns: Sequence[int],
        cards: Sequence[tuple[str, Any, str]],
        *,
        without: Sequence[str] = (),  # keywords of the table that are not taken over
        rows: int = 0,
    ) -> None: ...
    def write_rows(
        self,
        cells: Sequence[_Cells],
        rows: int,
        *,
        raw: bool = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def end_table(self) -> None: ...
    def write_compressed_table(
        self,
        table: Table,
        *,
        tile_rows: int | None = None,
        codecs: Sequence[tuple[int, str]] = (),  # numbers of columns, names of the Standard
        directives: bool = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def write_array(
        self,
        array: NDArray[Any],  # native-endian, C order
        cards: Sequence[tuple[str, Any, str]],
        *,
        pixel: str | None = None,  # a NumPy name; None: as they are
        scaling: tuple[float, float] | None = None,  # BSCALE, BZERO
        blank: int | None = None,
        compression: _Compression | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> float: ...  # the largest error of rounding to integers
    def write_image(
        self,
        image: Image,
        *,
        pixel: str | None = None,
        scaling: tuple[float, float] | None = None,
        blank: int | None = None,
        compression: _Compression | None = None,
        buffering: str = "auto",  # "single" "double"
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> float: ...  # the largest error of rounding
    def write_empty(self, cards: Sequence[tuple[str, Any, str]]) -> None: ...  # NAXIS = 0
    def write_restored(
        self,
        file: FitsFile,  # HDU 1, which was the primary array, with the cards of the empty HDU 0
        *,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[str]: ...  # keywords of the primary HDU that the image has with another value
    def copy(
        self,
        file: FitsFile,
        hdu: int,
        cards: Sequence[tuple[str, Any, str]],
        *,
        without: Sequence[str] = (),  # keywords of the HDU that are not taken over
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def commit(self) -> None: ...
    def open(self, *, raw: bool = False) -> FitsFile: ...  # complete, and opened
    def discard(self) -> None: ...  # nothing stays

@final
class Editor:
    """A file that is being edited. Nothing is written before `commit`; a failure leaves the file as it was."""

    def __new__(cls, path: str | os.PathLike[str], *, strict: bool = False) -> Editor: ...
    @property
    def notices(self) -> list[str]: ...  # what was found beside the file
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    # as Header.cards
    @overload
    def cards(self, hdu: int, kind: None = None) -> tuple[tuple[str, Any, str], ...]: ...
    @overload
    def cards(self, hdu: int, kind: type[_Tuple]) -> tuple[_Tuple, ...]: ...
    def set_cards(
        self, hdu: int, cards: Sequence[tuple[str, Any, str]]
    ) -> list[tuple[str, str, str]]: ...  # keyword, comment before, comment now
    def insert_cards(self, hdu: int, at: int, cards: Sequence[tuple[str, Any, str]]) -> None: ...
    def delete_cards(self, hdu: int, keyword: str) -> int: ...  # how many there were
    def comment_card(self, hdu: int, keyword: str, comment: str) -> str | None: ...  # the comment now
    def rename_card(self, hdu: int, keyword: str, to: str) -> bool: ...
    def meant_keyword(self, hdu: int, keyword: str) -> str: ...  # "HIERARCH a.b" for "a.b"
    def update_checksums(self, hdu: int) -> None: ...
    def copy(self, at: int, file: FitsFile, hdu: int) -> None: ...
    def remove(self, hdu: int) -> None: ...
    def preview(self) -> FitsFile: ...
    def insert_rows(
        self,
        hdu: int,
        at: int,
        cells: Sequence[_Cells],
        rows: int,
        *,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def delete_rows(self, hdu: int, rows: _Rows) -> None: ...
    def update_cells(
        self,
        hdu: int,
        column: int,
        rows: _Rows,
        cells: _Cells,
        *,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def insert_column(
        self,
        hdu: int,
        at: int,
        column: dict[str, Any],  # as of FileWriter.begin_table
        cells: _Cells,
        *,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def delete_columns(self, hdu: int, columns: Sequence[int]) -> None: ...
    def compact_heap(self, hdu: int) -> int: ...  # bytes that are left out
    def image_layout(
        self, hdu: int
    ) -> tuple[list[int], int, float, float, bool, int | None, str | None]: ...
    def check_pixels(self, hdu: int) -> None: ...
    def update_pixels(
        self, hdu: int, ranges: Sequence[tuple[int, int, int]], stored: NDArray[np.uint8]
    ) -> None: ...
    def rename_column(self, hdu: int, column: int, name: str) -> None: ...
    def commit(
        self, *, sync: bool = False, threads: int = 0, progress: _Progress | None = None
    ) -> dict[str, Any]: ...  # in_place, bytes_written, bytes
    def discard(self) -> None: ...
