"""Types of the compiled module. Every function here only translates; the work is done in Rust, with the GIL released.

Axis order is NumPy's (reversed FITS) everywhere in this module, indices are 0-based. Region coordinates are 0-based
pixel coordinates (x, y) whose integers are pixel centres.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits._core_fortran import RecordFile as RecordFile
from tachyfits._core_fortran import RecordWriter as RecordWriter
from tachyfits._core_fortran import append_records as append_records
from tachyfits._core_fortran import record_items as record_items
from tachyfits._core_fortran import record_least_bytes as record_least_bytes
from tachyfits._core_tables import Column as Column
from tachyfits._core_tables import Editor as Editor
from tachyfits._core_tables import FileWriter as FileWriter
from tachyfits._core_tables import OutputFile as OutputFile
from tachyfits._core_tables import Table as Table

__version__: str

#: Section of an image: one (start, count, step) per NumPy axis; step may be negative.
_Section = Sequence[tuple[int, int, int]]
#: Called now and then with (bytes done, bytes in all); returning False cancels.
_Progress = Callable[[int, int], bool | None]
class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...

_Source = str | os.PathLike[str] | bytes | _Reader

#: Codec, shape of a tile, level of quantisation, dither, its seed, divisor of HCOMPRESS, whether
#: directives in the header come first.
_Compression = tuple[str, Sequence[int] | None, float | None, str, int | None, int, bool]

#: A kind of tuple, such as a named one.
_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])

class TachyfitsError(Exception):
    code: str  # stable, one of error_codes()

class IoError(TachyfitsError, OSError): ...
class FormatError(TachyfitsError, ValueError): ...
class UsageError(TachyfitsError, ValueError): ...
class LimitError(TachyfitsError, ValueError): ...
class TachyfitsWarning(UserWarning): ...
class IoNotFoundError(IoError, FileNotFoundError): ...
class IoExistsError(IoError, FileExistsError): ...
class IoIsADirectoryError(IoError, IsADirectoryError): ...
class IoNotADirectoryError(IoError, NotADirectoryError): ...
class IoPermissionError(IoError, PermissionError): ...

def io_error(message: str, code: str, path: str | os.PathLike[str] | None = None, number: int | None = None) -> IoError: ...

def build_info() -> dict[str, Any]: ...  # version, tier, tiers (available), cores, rustc, profile
def on_command_line() -> bool: ...  # whether hints name flags, not arguments
def set_on_command_line(command_line: bool) -> bool: ...  # what was set before
def error_codes() -> list[tuple[str, str, str]]: ...  # (code, kind, what it means)

# Of each column: NumPy's name of the type ("S7": text), the bytes of all elements, 1 for each undefined one, and the
# elements of a cell: their number, where those of each cell begin (rows + 1), or None for single elements.
def csv_rows(
    columns: Sequence[tuple[str, NDArray[np.uint8], NDArray[np.uint8] | None, int | NDArray[np.int64] | None]],
    rows: int,
    *,
    threads: int,
) -> list[bytes]: ...
def decode_texts(cells: Sequence[bytes], encoding: str | None) -> list[str]: ...  # None: one that all are in
def column_keyword(keyword: str, places: dict[int, int]) -> tuple[bool, str | None]: ...
def comment_kept(keyword: str, value: str, comment: str) -> str: ...
def column_pattern(keyword: str) -> tuple[int, str] | None: ...  # the number, "#" in its place
def allow_maps(allowed: bool) -> None: ...  # files in the page cache may be mapped
def set_defaults(threads: int, progress: _Progress | None = None) -> None: ...  # of operations that are given none
def statistics() -> list[tuple[str, str, bool, bool, bool]]: ...  # name, one line, has the unit of pixels, standard, order

def smoothing_weights(kernel: str, width: float | None = None) -> NDArray[np.float64]: ...  # hanning, boxcar, gaussian
def fit_spectra(
    spectra: NDArray[np.float64],  # one after the other
    components: int,
    coordinates: NDArray[np.float64],
    limits: Sequence[tuple[float, float]],
    *,
    baseline: int | None = None,
    noise: float | None = None,
    iterations: int = 100,
) -> NDArray[np.float64]: ...  # for each spectrum the numbers of Image.fit_gaussians
def nearest_positions(  # (longitudes, latitudes) in degrees
    positions: tuple[NDArray[np.float64], NDArray[np.float64]],
    others: tuple[NDArray[np.float64], NDArray[np.float64]],
    radius: float | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...  # rows (-1: none within the radius), angles in degrees
def matching_positions(
    positions: tuple[NDArray[np.float64], NDArray[np.float64]],
    others: tuple[NDArray[np.float64], NDArray[np.float64]],
    radius: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...  # rows of both, angles in degrees
def array_file(array: NDArray[Any], cards: Sequence[tuple[str, Any, str]], *, name: str = "<array>") -> FitsFile: ...
def chunks_file(
    folder: str | os.PathLike[str],
    shape: Sequence[int],
    chunk: Sequence[int],
    pixel: str,
    cards: Sequence[tuple[str, Any, str]],
    *,
    name: str,
) -> FitsFile: ...

def evaluate(
    expression: str,
    inputs: Sequence[tuple[str, float | Image | tuple[Image, int | None]]],  # axes from the end: -1 is x; None: numbers
    *,
    dtype: str | None = None,  # "float32" "float64"
    unit: str | None = None,  # BUNIT of the result, "" for none; None: what is sure
) -> FitsFile: ...  # computed when read
# (words, name in the Standard, keeps bits, of columns, purpose)
def codecs() -> list[tuple[tuple[str, ...], str, bool, bool, str]]: ...
def file_version(path: str) -> str | None: ...  # changes with the content of a file; None: no file
def index_cache() -> str | None: ...  # folder of the headers of remote files; None: they are not kept
def set_index_cache(folder: str | None) -> None: ...
# Of the object of a URL, or of those in a folder: name, is a folder, bytes, seconds since 1970, version.
def remote_entry(url: str) -> tuple[str, bool, int, int, str | None]: ...
def remote_entries(url: str, most: int) -> list[tuple[str, bool, int, int, str | None]]: ...
def url_name(text: str) -> str | None: ...  # of the object of a server, without secrets; None for a path
def expression_functions() -> list[tuple[tuple[str, ...], str, str]]: ...  # (names, arguments, meaning)
def expression_names(expression: str) -> list[str]: ...
def expression_mixed_units(
    expression: str, inputs: Sequence[tuple[str, float | Image | tuple[Image, int | None]]]
) -> list[tuple[str, str]]: ...  # units that it adds, compares or chooses between

@final
class Checksum:
    """The sums of an HDU, and whether its header states them."""

    @property
    def hdu(self) -> int: ...
    @property
    def datasum(self) -> int: ...  # of the data
    @property
    def sum(self) -> int: ...  # of the whole HDU: all ones or 0 when CHECKSUM is right
    @property
    def stated_datasum(self) -> str | None: ...
    @property
    def stated_checksum(self) -> str | None: ...
    @property
    def data(self) -> str: ...  # "right" "wrong" "not stated" "unreadable"
    @property
    def whole(self) -> str: ...  # the same of CHECKSUM
    @property
    def ok(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Finding:
    """One departure of a file from the Standard."""

    @property
    def severity(self) -> str: ...  # "error" "warning"
    @property
    def code(self) -> str: ...
    @property
    def hdu(self) -> int | None: ...  # 0-based
    @property
    def card(self) -> int | None: ...  # 0-based
    @property
    def keyword(self) -> str | None: ...
    @property
    def offset(self) -> int | None: ...  # byte in the file
    @property
    def row(self) -> int | None: ...  # from 1
    @property
    def column(self) -> tuple[int, str] | None: ...  # number from 1, name
    @property
    def expected(self) -> str: ...
    @property
    def found(self) -> str: ...
    @property
    def repeats(self) -> int: ...
    @property
    def advice(self) -> str: ...
    @property
    def section(self) -> str: ...
    @property
    def fixable(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

def verify(
    source: _Source,
    *,
    name: str = "<bytes>",
    on_demand: bool = False,
    headers_only: bool = False,
    threads: int = 0,
    progress: _Progress | None = None,
) -> tuple[int, list[Finding], list[str]]: ...  # HDUs, findings, what was found beside the file
def compression(first: bytes) -> str | None: ...  # "gzip" "bzip2" "xz" "zstd"
def repair(
    path: str | os.PathLike[str], *, sync: bool = False, threads: int = 0, progress: _Progress | None = None
) -> tuple[list[tuple[str, str, str, str]], bool, list[str]]: ...
# (code, where, before, after); in place; what was found beside the file
def sum_of_bytes(offset: int, data: NDArray[np.uint8]) -> int: ...  # of a part of the data
def update_checksums(
    path: str | os.PathLike[str],
    hdus: Sequence[int] | None = None,
    *,
    sync: bool = False,
    threads: int = 0,
    progress: _Progress | None = None,
) -> tuple[list[int], list[str]]: ...  # HDUs, what was found beside the file
def diff(
    first: FitsFile,
    second: FitsFile,
    *,
    absolute: float = 0.0,
    relative: float = 0.0,
    ignore: Sequence[str] = ...,
    ignore_comments: bool = False,
    places: int = 10,
    threads: int = 0,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...
def verify_rules() -> list[list[str]]: ...  # code, severity, section, what it means, advice

@final
class FitsFile:
    """An open FITS file: its HDUs. Costs the headers."""

    @staticmethod
    def open(
        source: _Source,
        *,
        name: str = "<bytes>",  # of bytes and objects
        on_demand: bool = False,  # an object is read by seek and read, not to its end
        strict: bool = False,
        storage: str = "auto",
        raw: bool = False,
        damaged: str = "error",  # of tiles of images; or "nan", undefined pixels and a warning
    ) -> FitsFile: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str | None: ...  # changes with the content
    @property
    def bytes(self) -> int: ...
    @property
    def storage(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def notices(self) -> list[str]: ...  # what was found beside the file
    def verify(
        self, *, headers_only: bool = False, threads: int = 0, progress: _Progress | None = None
    ) -> tuple[int, list[Finding], list[str]]: ...
    def read_bytes(
        self, begin: int, end: int, *, threads: int = 0, progress: _Progress | None = None
    ) -> NDArray[np.uint8]: ...  # of a computed file: computed now
    def __len__(self) -> int: ...
    def hdu(self, index: int) -> Hdu: ...

@final
class Hdu:
    """One header and data unit."""

    @property
    def index(self) -> int: ...
    @property
    def kind(self) -> str: ...  # "primary" "image" "random groups" "binary table" "ascii table" or the XTENSION value
    @property
    def extname(self) -> str | None: ...
    @property
    def extver(self) -> int: ...
    @property
    def stored(self) -> Hdu | None: ...  # the binary table with compressed tiles
    @property
    def header_offset(self) -> int: ...
    @property
    def data_offset(self) -> int: ...
    @property
    def data_bytes(self) -> int: ...
    @property
    def data_bytes_present(self) -> int: ...
    @property
    def axes(self) -> list[int]: ...  # NAXIS1, NAXIS2, ... (FITS order)
    @property
    def has_image(self) -> bool: ...  # an array of pixels, at least NAXIS = 1
    @property
    def has_table(self) -> bool: ...  # BINTABLE or TABLE
    def header(self) -> Header: ...
    def image(self) -> Image: ...  # FormatError / UsageError if the HDU has none
    def table(self) -> Table: ...  # FormatError / UsageError if the HDU has none
    def checksum(self, *, threads: int = 0, progress: _Progress | None = None) -> Checksum: ...
    def header_with_checksums(self, sums: Sequence[int]) -> bytes: ...  # of parts of the data
    def group_parameters(self) -> dict[str, NDArray[np.float64]]: ...  # random groups

@final
class Header:
    """The cards, in order."""

    # (keyword, value, comment), of the requested kind; value None = undefined; commentary: text
    @overload
    def cards(self, kind: None = None) -> tuple[tuple[str, Any, str], ...]: ...
    @overload
    def cards(self, kind: type[_Tuple]) -> tuple[_Tuple, ...]: ...
    def raw(self) -> bytes: ...  # the header blocks as stored in the file
    def get(self, keyword: str) -> Any: ...  # first of duplicates; KeyError
    def card(self, keyword: str) -> tuple[str, Any, str] | None: ...  # that of get
    def card_at(self, index: int) -> tuple[str, Any, str]: ...  # IndexError
    def __contains__(self, keyword: str, /) -> bool: ...
    def __len__(self) -> int: ...

@final
class Image:
    """Pixels of one HDU, read on request."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def bitpix(self) -> int: ...
    @property
    def bscale(self) -> float: ...
    @property
    def bzero(self) -> float: ...
    @property
    def blank(self) -> int | None: ...
    @property
    def unit(self) -> str | None: ...
    def beams(self) -> list[tuple[int, int | None, float, float, float]] | None: ...  # of the table BEAMS: channel, polarisation, degrees
    def companion_bytes(self) -> bytes: ...  # the HDUs that `write` puts after the image; b"" without any
    def coordinate_table(self, name: str, version: int) -> bytes | None: ...  # a file with it in HDU 1, of a computed image
    @property
    def dtype(self) -> str: ...  # what read() gives by default: "float32", "int16", ...; "float64" where scaled or with BLANK; "bool": read() gives uint8
    @property
    def stored_dtype(self) -> str: ...  # BITPIX as a NumPy name: "uint8" "int16" "int32" "int64" "float32" "float64"

    def read(
        self,
        section: _Section | None = None,
        *,
        dtype: str | None = None,  # None, "float32", "float64", "exact" (integers, conventions applied), "raw" (stored values)
        out: NDArray[Any] | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> NDArray[Any]: ...
    def indexed(self, index: Any, threads: int = 0) -> Any | None: ...  # pixels of integers, slices, Ellipsis; else None
    def stats(
        self,
        section: _Section | None = None,
        *,
        regions: Sequence[Region] | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[Stats]: ...  # one state per region, or one for the whole section
    def stats_tasks(
        self, section: _Section | None = None, *, regions: Sequence[Region] | None = None
    ) -> int: ...
    def least_part(  # pixels along a kept axis that a part needs to have the sums of the whole
        self, axes: Sequence[int], axis: int, section: _Section | None = None
    ) -> int: ...
    def partial_stats(  # states of runs of pixels of some tasks of `stats`, a row of words for each
        self,
        first: int,
        end: int,
        section: _Section | None = None,
        *,
        regions: Sequence[Region] | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> NDArray[np.uint64]: ...
    def merged_stats(  # of the states of all tasks, in order: what `stats` returns
        self,
        parts: Sequence[NDArray[np.uint64]],
        section: _Section | None = None,
        *,
        regions: int | None = None,  # their number
    ) -> list[Stats]: ...
    def total(
        self, section: _Section | None = None, *, threads: int = 0, progress: _Progress | None = None
    ) -> tuple[int, float]: ...  # (count of defined pixels, sum): the plain sum, the cheapest reduction
    def reduce(
        self,
        statistics: Sequence[str],  # names of statistics()
        axes: Sequence[int],  # NumPy axes to reduce
        section: _Section | None = None,
        *,
        regions: Sequence[Region] | None = None,  # only when both sky axes (the last two) are reduced
        ddof: int = 0,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> dict[str, NDArray[Any]]: ...  # each of the kept axes' shape; with regions a leading axis of len(regions)
    def weighted(
        self,
        axes: Sequence[int],  # NumPy axes to reduce, both sky axes (the last two) among them
        section: _Section | None = None,
        *,
        regions: Sequence[Region],  # shapes or rings
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...  # sums of share x value, and of shares; a leading axis for the regions
    def moments(
        self,
        orders: Sequence[int],  # of 0, 1, 2
        axis: int,
        coordinates: NDArray[np.float64],  # one per pixel along the axis (of the section), in the axis' unit
        section: _Section | None = None,
        *,
        widths: NDArray[np.float64] | None = None,  # of the channels, one or one each, for moment 0; None: the mean distance of neighbouring coordinates (1 for one)
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[NDArray[np.float64]]: ...
    # Per Gaussian: amplitude, centre, standard deviation and integral, each with its error; per power of the baseline: coefficient
    # and error; the root of the sum of squared residuals, the number of channels, the flag.
    def fit_gaussians(
        self,
        components: int,  # 1 to 3
        axis: int,
        coordinates: NDArray[np.float64],  # one per pixel along the axis (of the section)
        limits: Sequence[tuple[float, float]],  # of amplitudes, centres and standard deviations
        section: _Section | None = None,
        *,
        baseline: int | None = None,  # order of the polynomial
        noise: float | None = None,  # of a channel; None: that of the residuals
        iterations: int = 100,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[NDArray[np.float64]]: ...
    def fit_baseline(
        self,
        order: int,  # 0 to 9
        axis: int,
        coordinates: NDArray[np.float64],
        channels: NDArray[np.bool_],  # which are fitted
        section: _Section | None = None,
        *,
        noise: float | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[NDArray[np.float64]]: ...
    def with_channels(self, axis: int, channels: NDArray[np.bool_]) -> FitsFile: ...  # NaN in the others, which are not read
    def subtract_baseline(
        self,
        order: int,
        axis: int,
        coordinates: NDArray[np.float64],
        channels: NDArray[np.bool_],
    ) -> FitsFile: ...  # computed when read
    # The header of a result, without the mandatory cards; of the requested kind, as in
    # Header.cards.
    @overload
    def result_cards(
        self,
        section: _Section | None = None,
        *,
        kept: Sequence[int],  # axes that the result has
        collapsed: Sequence[int] = (),  # axes that are one pixel of it, as wide as the section
        same_quantity: bool = True,  # that BTYPE names
        kind: None = None,
        with_tables: bool = False,  # the result has those of `result_tables` beside it
    ) -> tuple[tuple[str, Any, str], ...]: ...
    @overload
    def result_cards(
        self,
        section: _Section | None = None,
        *,
        kept: Sequence[int],
        collapsed: Sequence[int] = (),
        same_quantity: bool = True,
        kind: type[_Tuple],
        with_tables: bool = False,
    ) -> tuple[_Tuple, ...]: ...
    def result_tables(  # HDUs that the coordinates of a result need; b"" without any
        self,
        section: _Section | None = None,
        *,
        kept: Sequence[int],
        collapsed: Sequence[int] = (),
    ) -> bytes: ...
    def histogram(
        self,
        low: float,
        high: float,
        bins: int,
        section: _Section | None = None,
        *,
        regions: Sequence[Region] | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> Histogram: ...
    def smooth(
        self,
        axis: int,
        weights: NDArray[np.float64],  # odd in number
        *,
        edge: str = "repeat",  # "pair" "zero" "blank" "keep"
        blanks: str = "renormalise",  # "propagate" "zero"
        fill: bool = False,
        every: int = 1,
    ) -> FitsFile: ...  # computed when read
    def smooth_planes(
        self,
        x: NDArray[np.float64],  # weights along NAXIS1
        y: NDArray[np.float64],
        *,
        edge: str = "repeat",
        blanks: str = "renormalise",
        fill: bool = False,
        axes: Sequence[int] = (),  # along which scales vary, the last one fastest
        scales: Sequence[float] = [1.0],  # of every result
    ) -> FitsFile: ...
    def smooth_beams(
        self,
        axes: Sequence[int],  # along which kernels vary, the last one fastest
        widths: Sequence[Sequence[float]],  # squared full widths at half maximum, pixels: (xx, xy, yy) of each kernel
        scales: Sequence[float],  # of every result
        *,
        edge: str = "repeat",
        blanks: str = "renormalise",
        fill: bool = False,
    ) -> FitsFile: ...
    def with_channel_beams(self, beams: Sequence[Sequence[float]]) -> FitsFile: ...  # one for each row of `beams`
    def with_cards(
        self, cards: Sequence[tuple[str, Any, str]], removed: Sequence[str] = ()
    ) -> FitsFile: ...
    def cut(
        self,
        ranges: Sequence[tuple[int, int, int]],
        *,
        margins: Sequence[tuple[int, int]] = (),
        drop_axes: Sequence[int] = (),  # degenerate NumPy axes to leave out
    ) -> FitsFile: ...
    def reorder(self, axes: Sequence[int]) -> FitsFile: ...  # computed when read
    def rebin(
        self,
        block: Sequence[int],  # pixels along each axis
        *,
        statistic: str = "mean",  # "sum" "median" "min" "max"
        keep_partial: bool = False,
    ) -> FitsFile: ...  # computed when read
    def cut_along(
        self,
        points: Sequence[tuple[float, float]],  # (x, y), 0-based pixels
        *,
        width: int = 1,
        spacing: float = 1.0,
        unit: tuple[str, float] | None = None,  # and the length of a pixel in it
    ) -> FitsFile: ...  # computed when read
    def order(
        self,
        statistics: Sequence[str | float],  # "median", "mad", percentiles
        axes: Sequence[int],  # NumPy axes to reduce
        section: _Section | None = None,
        *,
        regions: Sequence[Region] | None = None,  # only when both sky axes (the last two) are reduced
        buffering: str = "auto",  # "single" "double"
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[NDArray[np.float64]]: ...  # each of the kept axes' shape; with regions a leading axis of len(regions)
    def order_elsewhere(
        self,
        statistics: Sequence[str | float],
        section: _Section | None,
        parts: int,
        run: Callable[[list[int]], Sequence[NDArray[np.uint64]]],
        *,
        region: Region | None = None,
        kept: int | None = None,  # maximum number of values that all parts return
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[float]: ...  # of all pixels; only a sample is read here
    def count_ranks(
        self,
        words: Sequence[int],  # of a pass of `order_elsewhere`
        section: _Section | None = None,
        *,
        region: Region | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> NDArray[np.uint64]: ...
    def robust_rms(
        self,
        per_plane: bool,  # one for each plane of the last two axes, or one of all
        section: _Section | None = None,
        *,
        repeat: int = 1,  # 0 only reads
        buffering: str = "auto",  # "single" "double"
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> NDArray[np.float64]: ...

@final
class Region:
    """Pixels of the plane whose centres lie inside (borders included; of boxes the left and lower ones)."""

    @staticmethod
    def box(x: float, y: float, width: float, height: float, angle_degrees: float = 0.0) -> Region: ...  # centre and full size
    @staticmethod
    def circle(x: float, y: float, radius: float) -> Region: ...
    @staticmethod
    def ellipse(x: float, y: float, semi_x: float, semi_y: float, angle_degrees: float = 0.0) -> Region: ...
    @staticmethod
    def polygon(vertices: Sequence[tuple[float, float]]) -> Region: ...
    @staticmethod
    def of_spans(spans: NDArray[np.uint64]) -> Region: ...  # (n, 3): row, first and last pixel
    @staticmethod
    def combined(parts: Sequence[tuple[bool, Region]]) -> Region: ...  # added or removed, in order
    def bounds(self, height: int, width: int) -> tuple[tuple[int, int], tuple[int, int]] | None: ...  # rows, columns
    def mask(self, height: int, width: int) -> NDArray[np.bool_]: ...
    def shares(self, height: int, width: int) -> tuple[NDArray[np.float64], tuple[int, int]]: ...  # of each pixel of a box; its first row and column

@final
class Stats:
    """Mergeable state of a set of pixels. Pickles. NaN and BLANK are counted in `nan` and otherwise ignored."""

    @property
    def count(self) -> int: ...
    @property
    def nan(self) -> int: ...
    @property
    def sum(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def rms(self) -> float: ...  # about zero
    @property
    def std(self) -> float: ...  # about the mean, ddof = 0
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def min_position(self) -> tuple[int, ...] | None: ...
    @property
    def max_position(self) -> tuple[int, ...] | None: ...
    @property
    def report(self) -> Report | None: ...  # None once merged or pickled
    def standard_deviation(self, ddof: int = 0) -> float: ...
    def to_dict(self) -> dict[str, Any]: ...
    def merge(self, later: Stats) -> Stats: ...

@final
class Histogram:
    """Counts in equal bins over [low, high], both ends inside. Mergeable. Pickles."""

    @property
    def counts(self) -> NDArray[np.uint64]: ...
    @property
    def edges(self) -> NDArray[np.float64]: ...
    @property
    def below(self) -> int: ...
    @property
    def above(self) -> int: ...
    @property
    def nan(self) -> int: ...
    def merge(self, later: Histogram) -> Histogram: ...

@final
class CancelToken:
    """Cancels the operations of the requests that have it, from any thread."""

    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

@final
class Executor:
    """A number of permits to compute, which the operations of any number of requests share."""

    def __new__(cls, threads: int = 0) -> Executor: ...  # 0: one per core
    @property
    def threads(self) -> int: ...
    @property
    def busy(self) -> int: ...  # threads that compute now
    def request(
        self,
        *,
        priority: str = "normal",  # "interactive", "normal" or "background"
        seconds: float | None = None,  # from now on
        bytes: int | None = None,  # read by all operations within it  # noqa: A002
        token: CancelToken | None = None,
    ) -> Request: ...  # of operations on the thread that enters it

@final
class Request:
    """Executor, priority and limits of the operations within a block; several threads may enter it."""

    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, raised: object, traceback: object) -> None: ...

@final
class Report:
    """Cost of an operation."""

    @property
    def bytes(self) -> int: ...
    @property
    def io_seconds(self) -> float: ...
    @property
    def compute_seconds(self) -> float: ...
    @property
    def write_seconds(self) -> float: ...
    @property
    def wall_seconds(self) -> float: ...
    @property
    def hidden_fraction(self) -> float: ...
    @property
    def threads(self) -> int: ...
    @property
    def buffering(self) -> str: ...
    @property
    def storage(self) -> str: ...
    @property
    def rounding(self) -> float: ...  # the largest error, where values are rounded to integers
    @property
    def hdu(self) -> int | None: ...  # that the operation wrote

def collect_reports(reports: list[Report]) -> None: ...  # of the operations that this thread ends
def stop_collecting(reports: list[Report]) -> None: ...
