"""Editing a file: changes are collected and written together, all of them or none.

Changes are made in place where possible. Otherwise a new file is written beside the old one and
replaces it when it is complete. A failure leaves the file unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import existing, listed, not_found, placing, usage, warn_of
from tachyfits.base.kinds import kind_of
from tachyfits.base.output import tell_rounding
from tachyfits.base.progress import Progress
from tachyfits.base.sources import regular_path
from tachyfits.base.whole_numbers import check_threads, whole_number
from tachyfits.editing.edited_hdu import EditedHdu
from tachyfits.file.file import File
from tachyfits.file.hdu import Hdu
from tachyfits.header.given import check_card_text
from tachyfits.writing.hdus import compressed_file, names_of, parts_of, tables_of_images
from tachyfits.writing.images import image_cards, native, unit_of
from tachyfits.writing.tables import table_file

#: Options of a table that is inserted.
_OF_TABLES = (
    "columns", "units", "nulls", "descriptions", "header", "kind", "forms", "checksum", "threads",
    "progress",
)  # fmt: skip


@public
def edit(
    path: str | os.PathLike[str],
    *,
    sync: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Editor:
    """Open a file for editing; the changes are written when the ``with`` block ends.

    If the block raises, or writing fails, the file is unchanged. Headers are changed in place as
    long as they fit (blank cards before END leave room), rows are appended and cells updated in
    place; changes that move other data write a new file beside the old one. CHECKSUM and DATASUM
    stay right where present.

    Parameters
    ----------
    path
        A file that is not compressed.
    sync
        Return only when a new file survives a power failure; a file changed in place does in any
        case.
    threads
        0: one per core.

    Returns
    -------
    Editor
        HDUs by number, EXTNAME, or (EXTNAME, EXTVER).

    Examples
    --------
    >>> import tachyfits as tf
    >>> with tf.edit("table.fits") as editor:
    ...     editor[0].header["OBSERVER"] = "Hubble", "who looked"
    ...     stars = editor["STARS"]
    ...     stars.append({"NAME": ["zeta"], "RA": [15.0], "DEC": [3.0], "MAG": [20.5]})
    ...     stars.update("MAG", 19.0, where="NAME == 'delta'")
    ...     stars.add_column("SEEN", [True] * 6, before="RA")
    >>> tf.open("table.fits")["STARS"].read(["SEEN", "MAG"], rows=slice(3, None)).to_structured()
    array([( True, 19. ), ( True, 17. ), ( True, 20.5)],
          dtype=[('SEEN', '?'), ('MAG', '<f8')])
    """
    return Editor(path, sync=sync, threads=threads, progress=progress)


@public
class Editor:
    """A file open for editing: a sequence of `EditedHdu`. Make one with `tachyfits.edit`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        sync: bool = False,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._threads = check_threads(threads)
        self._sync, self._progress = sync, progress
        self._core = _core.Editor(regular_path(path))
        self.name = self._core.name
        #: Result of `commit`: in place or as a new file, bytes written; None before.
        self.done: dict[str, Any] | None = None
        self._discarded = False
        warn_of(self.name, self._core.notices)

    def preview(self) -> File:
        """Return the file with all changes so far, for reading."""
        return File.computed(self._core.preview(), (_no_pickle, ()), threads=self._threads)

    def __len__(self) -> int:
        return len(self._core)

    def __iter__(self) -> Iterator[EditedHdu]:
        for index in range(len(self)):
            yield EditedHdu(self, index)

    def _ipython_key_completions_(self) -> list[str]:
        names = (hdu.header.get("EXTNAME") for hdu in self)
        return list(dict.fromkeys(str(name) for name in names if name))

    def __getitem__(self, key: int | str | tuple[str, int]) -> EditedHdu:
        return EditedHdu(self, self._number(key))

    def _number(self, key: int | str | tuple[str, int]) -> int:
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            count = len(self)
            if not -count <= key < count:
                raise not_found(
                    f"{self.name}: no HDU {key}; the file has {count}, counted from 0",
                    existing("HDU", count),
                )
            return int(key) % count
        if isinstance(key, slice):
            raise usage(
                f"{self.name}: invalid HDU {key!r}: expected one, found several",
                "take one at a time",
            )
        hdu: Hdu = self.preview()[key]
        return hdu.index

    def __delitem__(self, key: int | str | tuple[str, int]) -> None:
        self._core.remove(self._number(key))

    def append(self, data: Any, *, name: str | None = None, **options: Any) -> None:
        """Add an HDU at the end; see `insert`."""
        self.insert(len(self), data, name=name, **options)

    def _where(self) -> str:
        return str(self.name)

    @placing
    def insert(self, /, at: int, data: Any, *, name: str | None = None, **options: Any) -> None:
        """Insert an HDU before the HDU of a number.

        Parameters
        ----------
        at
            0-based; beyond the last: at the end.
        data
            An `Image`, `Table` or other HDU of any file, which is copied unchanged (a compressed
            one without its compression, unless the file was opened with ``raw=True``); tables of
            beams (BEAMS) and of coordinates (-TAB) that an image needs follow at the end; an array;
            a CCDData, which may become several HDUs, as in `write`; or a table as `write` takes it.
        name
            EXTNAME.
        options
            For an array ``header``, as in `write`; for a table those of `write` about tables.
            ``compress`` for both, as in `write`: a table needs a `Compression` with ``tables``.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> tf.write("edited.fits", np.zeros((4, 5)), overwrite=True)
        >>> with tf.edit("edited.fits") as editor:
        ...     editor.append(np.eye(4, dtype="i2"), name="MASK", compress="rice")
        >>> tf.open("edited.fits")["MASK"].compression.algorithm
        'RICE_1'
        """
        place = whole_number(at)
        if place is None:
            raise usage(f"invalid position {at!r} for an HDU", "HDUs are counted from 0")
        check_card_text("name", name)
        before = len(self)
        at = min(place, before)
        kind = kind_of(data)
        tables: list[Hdu] = []
        compress = options.pop("compress", None)
        if kind in ("measured", "nddata"):
            first, *further = parts_of(data, options.pop("header", None))
            _refuse(options)
            self.insert(at, first[0], name=name, header=first[1], compress=compress)
            for behind, (array, cards) in enumerate(further, 1):
                self.insert(at + behind, array, header=cards, compress=compress)
            return
        if isinstance(data, Hdu):
            there = [(f"HDU {hdu.index} of {self._where()}", hdu) for hdu in self.preview()]
            tables = tables_of_images([(data._where(), data)], there)
        if compress is not None:
            header = options.pop("header", None)
            _refuse(options)
            core, error = compressed_file(data, header, compress, self._threads, self._progress)
            tell_rounding(self._where(), error, unit_of(data))
            self._core.copy(at, core, len(core) - 1)
        elif isinstance(data, Hdu):
            _refuse(options)
            self._core.copy(at, data.file._open_core(), data.index)
        elif kind == "array":
            header = options.pop("header", None)
            _refuse(options)
            cards = image_cards(header, unit_of(data), names_of(self.preview()))
            self._core.copy(at, _core.array_file(native(data), cards), 0)
        else:
            _refuse(options, _OF_TABLES)
            self._core.copy(at, table_file(data, "a new table", name=name, **options), 1)
        if name is not None:
            # A table as the first HDU gets a primary HDU before it.
            place = at + len(self) - before - 1
            self._core.set_cards(place, [("EXTNAME", name, "")])
        for table in tables:
            self._core.copy(len(self), table.file._open_core(), table.index)

    def copy(self, hdu: Hdu, *, at: int | None = None) -> None:
        """Copy an HDU of any file unchanged before the HDU of a number; None: to the end."""
        self.insert(len(self) if at is None else at, hdu)

    def commit(self) -> None:
        """Write the changes; the end of a ``with`` block does this."""
        self.done = self._core.commit(
            sync=self._sync, threads=self._threads, progress=self._progress
        )

    def discard(self) -> None:
        """Forget the changes."""
        self._core.discard()
        self._discarded = True

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
        elif self.done is None and not self._discarded:
            self.commit()

    def __repr__(self) -> str:
        return f"<tachyfits Editor of {self.name}>"


def _refuse(options: Collection[str], known: Collection[str] = ()) -> None:
    """Refuse options other than the known ones."""
    unknown = next((option for option in options if option not in known), None)
    if unknown in _OF_TABLES:
        raise usage(f"{unknown}= applies to tables only", "leave it out")
    if unknown is not None:
        raise usage(f"invalid option {unknown}=", f"a table has {listed(_OF_TABLES)}")


def _no_pickle() -> File:
    raise usage("a file that is being edited cannot be pickled", "write it first")
