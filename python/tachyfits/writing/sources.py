"""Data of any kind as HDUs to write: one table of kinds, for all destinations of HDUs.

A new kind of data needs a row of `KINDS`, and a test for it in `base/kinds.py`. The destinations,
in `sinks.py` and `editing/editor.py`, do not depend on kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tachyfits import _core
from tachyfits.base.errors import either, listed, usage, warn
from tachyfits.base.kinds import TABLES, kind_of
from tachyfits.file.companions import companion_hdus
from tachyfits.file.hdu import Hdu
from tachyfits.interop.nddata import parts_of
from tachyfits.interop.to_columns import table_cards
from tachyfits.writing.compression import engine_compression
from tachyfits.writing.images import image_cards, native, with_blank
from tachyfits.writing.options import OF_FILE_IMAGES, OF_IMAGES, OF_TABLES, Options
from tachyfits.writing.stacking import stacked
from tachyfits.writing.tables import write_table

#: EXTNAME, in upper case, and EXTVER.
Name = tuple[str, int]


@dataclass(frozen=True)
class HduSource:
    """An HDU to write.

    Attributes
    ----------
    write
        Function that writes it as the next HDU of a new file, given the names of the file's HDUs;
        returns the largest rounding error.
    options
        Options of the HDU.
    hdu
        The HDU itself, if it is from a file.
    is_copy
        Whether ``hdu`` has all of its cards, except for the name, and its bytes, so that a sink can
        copy both from there.
    needed
        Bytes of the HDUs that its coordinates need beside it, and the name of their file.
    unit
        Unit of its pixels.
    """

    write: Callable[[_core.FileWriter, Collection[Name]], float]
    options: Options
    hdu: Hdu | None = None
    is_copy: bool = False
    needed: tuple[bytes, str] = (b"", "")
    unit: Any = None

    @property
    def name(self) -> Name:
        """Name by which images refer to it."""
        if self.hdu is not None:
            return self.hdu.name.upper(), self.hdu.version
        header = self.options.header
        if not hasattr(header, "get"):
            return "", 1
        version = header.get("EXTVER", 1)
        name = str(header.get("EXTNAME", "")).strip().upper()
        return name, version if isinstance(version, int) else 1

    @property
    def label(self) -> str:
        """Name in messages."""
        if self.options.place is not None:
            return f"HDU {self.options.place} of the list"
        return "the data" if self.hdu is None else self.hdu._where()


def sources_of(data: Any, options: Options) -> list[HduSource]:
    """Convert data of any kind to HDUs, without the companions that images need.

    Raises
    ------
    UsageError
        An option does not apply to the data, or FITS cannot represent them.
    """
    kind, of_tables = kind_of(data), options.among(OF_TABLES)
    if kind == "list" and (options.place is not None or _is_numbers(data)):
        kind = "array"
    if of_tables and kind in ("array", "arrow column"):
        kind = "unknown table"
    row = KINDS[kind]
    if of_tables and row.takes != OF_TABLES:
        raise usage(f"{of_tables[0]}= applies to tables only", "leave it out")
    of_others = [option for option in options.among(OF_FILE_IMAGES) if option not in row.takes]
    if of_others:
        names = ", ".join(f"{option}=" for option in of_others)
        is_shape = of_others == ["drop_degenerate"]
        hint = (
            either("give numpy.squeeze(array)") if is_shape else "give arrays of the type to write"
        )
        raise usage(f"invalid options for {row.words}: {names}", hint)
    return row.sources(data, options)


def with_needed(
    sources: Sequence[HduSource], there: Iterable[tuple[str, Hdu]]
) -> tuple[list[HduSource], set[Name]]:
    """Return the HDUs of beams and coordinates that images need, and the names of all HDUs.

    They are tables (BEAMS, -TAB) and images of corrections (CPDIS, D2IM). Images find them by name,
    so two images of one file cannot have different HDUs of one name.

    Parameters
    ----------
    there
        Existing HDUs of the file, with their names for messages.
    """
    by_name: dict[Name, tuple[str, Hdu]] = {}
    ours = ((source.label, source.hdu) for source in sources if source.hdu is not None)
    for label, hdu in chain(there, ours):
        if hdu.name:
            by_name.setdefault((hdu.name.upper(), hdu.version), (label, hdu))
    needed: list[HduSource] = []
    for source in sources:
        for table in companion_hdus(*source.needed):
            owner = f"the image of {source.label}"
            other, existing = by_name.setdefault(
                (table.name.upper(), table.version), (owner, table)
            )
            if existing is table:
                needed += _of_hdu(table, Options())
            elif _data_of(existing) != _data_of(table):
                raise usage(
                    f"{owner} and {other} have different tables {table.name!r}, and images of one "
                    "file share it",
                    "write them to separate files, and leave out tables of other channels",
                )
    return needed, {source.name for source in sources} | {*by_name}


#: Cards of an image of corrections that determine the pixels it corrects.
_PLACE = [f"{root}{axis}" for root in ("CRPIX", "CRVAL", "CDELT") for axis in (1, 2)]


def _data_of(hdu: Hdu) -> tuple[Any, ...]:
    """Return the data that must agree between HDUs of one name that images share."""
    image: Any = hdu
    if kind_of(hdu) == "image" and image._problem() is None:
        # For a compressed image, compare the pixels.
        place = [hdu.header.get(keyword) for keyword in _PLACE]
        return image.shape, image.read(dtype="raw").tobytes(), *place
    return hdu.data_bytes, hdu.checksum(threads=1).datasum


def _of_array(
    data: Any, options: Options, companions: tuple[bytes, str] = (b"", "")
) -> list[HduSource]:
    """Return pixels in memory, or those of an image under another header."""
    if isinstance(data, (list, tuple)):
        array, unit = stacked(data)
    else:
        array, unit = data, getattr(data, "unit", None) if isinstance(data, np.ndarray) else None

    def write(writer: _core.FileWriter, names: Collection[Name]) -> float:
        if isinstance(data, Hdu):
            data._warn_of_groups()
        blank = options.blank if options.scaling is None else None
        pixels = native(array if blank is None else with_blank(array, options.dtype, blank))
        dtype = options.dtype or pixels.dtype
        return writer.write_array(
            pixels, image_cards(options.cards, unit, names), pixel=options.pixel,
            scaling=options.scaling, blank=options.blank,
            compression=engine_compression(options.compress, pixels.shape, dtype), **options.run,
        )  # fmt: skip

    return [HduSource(write, options, needed=companions, unit=unit)]


def _of_image(image: Any, options: Options) -> list[HduSource]:
    """Return an image of a file, or a computed image, which is read while it is written."""
    if options.drop_degenerate:
        image = image.cutout(drop_degenerate=True)
    if options.header is not None:
        return _of_array(image, options)
    # Pixels that the header does not describe are bytes; parameters of groups are not pixels.
    is_opaque = image._problem() is not None
    if options.place is not None and (
        is_opaque or (options.place == 0 and image.kind == "random groups")
    ):
        return _of_hdu(image, options)

    def write(writer: _core.FileWriter, _: Collection[Name]) -> float:
        image._warn_of_groups()
        core = image._core_image()
        if options.name is not None:
            core = core.with_cards(options.name_cards).hdu(0).image()
        return writer.write_image(
            core, pixel=options.pixel, scaling=options.scaling, blank=options.blank,
            compression=engine_compression(
                options.compress, image.shape, options.dtype, image.bitpix
            ),
            buffering=image.file.buffering, **options.run,
        )  # fmt: skip

    companions = (b"" if is_opaque else image._core_image().companion_bytes(), image.file.name)
    is_copy = options.compress is None and not options.among(OF_IMAGES)
    unit = None if is_opaque else image.unit
    return [HduSource(write, options, image, is_copy, companions, unit)]


def _of_hdu(hdu: Hdu, options: Options) -> list[HduSource]:
    """Return an HDU of a file, byte by byte; without data it may have another header."""
    is_empty = hdu.kind in ("primary", "image") and not hdu.data_bytes

    def write(writer: _core.FileWriter, _: Collection[Name]) -> float:
        if options.header is not None and is_empty:
            writer.write_empty(image_cards(options.cards))
        else:
            cards = [*table_cards(options.header), *options.name_cards]
            writer.copy(hdu.file._open_core(), hdu.index, cards, **options.run)
        return 0.0

    return [HduSource(write, options, hdu, is_copy=options.header is None)]


def _of_nothing(data: None, options: Options) -> list[HduSource]:
    """Return a primary HDU without data."""
    if options.place is None:
        native(data)
    if options.place != 0:
        raise usage(
            f"HDU {options.place} (0-based) is None: only the primary HDU can be without data",
            "put a pair of array and header into a list: [(array, None)]",
        )

    def write(writer: _core.FileWriter, _: Collection[Name]) -> float:
        writer.write_empty(image_cards(options.cards))
        return 0.0

    return [HduSource(write, options)]


def _of_restored(pair: Any, options: Options) -> list[HduSource]:
    """Return an image with the cards of its empty primary HDU, which is not written."""

    def write(writer: _core.FileWriter, _: Collection[Name]) -> float:
        others = writer.write_restored(pair.image.file._open_core(), **options.run)
        if others:
            warn(
                f"{pair.primary._where()}: cards that the image of HDU {pair.image.index} has with "
                f"another value are left out: {listed(others)}"
            )
        return 0.0

    return [HduSource(write, options)]


def _of_measured(data: Any, options: Options) -> list[HduSource]:
    """Return a plane or a spectrum."""
    array, header = data.as_written(options.header)
    companions = (data.companions, data.source) if options.header is None else (b"", "")
    return _of_array(array, replace(options, header=header), companions)


def _of_nddata(data: Any, options: Options) -> list[HduSource]:
    """Return an astropy.nddata image: its pixels, UNCERT and PSFIMAGE."""
    first, *further = parts_of(data, options.header)
    others = replace(options, name=None)
    sources = _of_array(first[0], replace(options, header=first[1]))
    return sources + [
        source for part in further for source in _of_array(part[0], replace(others, header=part[1]))
    ]


def _of_table(data: Any, options: Options) -> list[HduSource]:
    """Return a table of any library, or of a file."""
    hdu = data if isinstance(data, Hdu) and options.header is None else None
    is_copy = hdu is not None and options.compress is None and not options.among(OF_TABLES)
    return [HduSource(partial(write_table, data, options), options, hdu, is_copy)]


def _of_list(hdus: Sequence[Any], options: Options) -> list[HduSource]:
    """Return several HDUs, some of which are pairs with a header."""
    if options.among(["header", "name"]):
        problem = "header= and name= go with a single HDU"
        raise usage(problem, "give pairs (array, header) in the list")
    sources = []
    for place, hdu in enumerate(hdus):
        data, header = hdu if isinstance(hdu, tuple) and len(hdu) == 2 else (hdu, None)
        sources += sources_of(data, options.of_item(place, header))
    return sources


class Kind(NamedTuple):
    """A kind of data: its conversion to HDUs, its options, and its name in messages."""

    sources: Callable[[Any, Options], list[HduSource]]
    takes: Sequence[str] = ()
    words: str = "an HDU"


_TABLE = Kind(_of_table, OF_TABLES, "a table")

#: Kinds of data, by their names in `base/kinds.py`.
KINDS = {
    "array": Kind(_of_array, OF_IMAGES, "an array"),
    "arrow column": Kind(_of_array, OF_IMAGES),
    "image": Kind(_of_image, OF_FILE_IMAGES, "an image"),
    "measured": Kind(_of_measured, OF_IMAGES, "a plane or a spectrum"),
    "nddata": Kind(_of_nddata, OF_IMAGES),
    "hdu": Kind(_of_hdu),
    "restored": Kind(_of_restored),
    "none": Kind(_of_nothing),
    "list": Kind(_of_list, words="a list of HDUs"),
    "path": _TABLE,
    **dict.fromkeys(TABLES, _TABLE),
}


def _is_numbers(items: Sequence[Any]) -> bool:
    """Return whether a list is an array for NumPy, not a list of HDUs."""
    number = (int, float, complex, np.number)

    def is_part(item: Any) -> bool:
        if isinstance(item, tuple):
            # A pair of an array and its header is not a number.
            return bool(item) and all(isinstance(each, number) for each in item)
        return isinstance(item, list) or (isinstance(item, np.ndarray) and not item.dtype.names)

    return all(isinstance(item, number) or is_part(item) for item in items)
