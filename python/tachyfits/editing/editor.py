"""Editing a file: changes are collected and written together, all or none.

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
from tachyfits.base.errors import existing, not_found, placing, usage, warn_of
from tachyfits.base.output import tell_rounding
from tachyfits.base.progress import Progress
from tachyfits.base.sources import regular_path
from tachyfits.base.whole_numbers import check_threads, whole_number
from tachyfits.editing.edited_hdu import EditedHdu
from tachyfits.file.file import File
from tachyfits.file.hdu import Hdu
from tachyfits.writing.options import Options
from tachyfits.writing.sinks import temporary_file
from tachyfits.writing.sources import HduSource, Name, sources_of, with_needed


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
    are kept up to date where present.

    Parameters
    ----------
    path
        A file that is not compressed.
    sync
        Return only when a new file would survive a power failure; a file changed in place always
        does.
    threads
        Number of threads; 0: one per core.

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
    """A file open for editing: a sequence of `EditedHdu`. Create one with `tachyfits.edit`."""

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
        """Append an HDU; see `insert`."""
        self.insert(len(self), data, name=name, **options)

    def _where(self) -> str:
        return str(self.name)

    @placing
    def insert(self, /, at: int, data: Any, *, name: str | None = None, **options: Any) -> None:
        """Insert data as HDUs before the HDU of a number.

        Parameters
        ----------
        at
            0-based number; beyond the last: at the end.
        data
            Data of any kind that `write` accepts. An `Image`, `Table` or other HDU of any file is
            copied unchanged without options (a compressed one without its compression, unless the
            file was opened with ``decompress_tiles=False``). Tables of beams (BEAMS) and of
            coordinates (-TAB) that an image needs follow at the end.
        name
            EXTNAME.
        options
            Options of `write` about the data: ``header``, ``compress``, ``dtype``, ``units``, ...;
            and ``checksum``.

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
        checksum = options.pop("checksum", False)
        run = {"threads": self._threads, "progress": self._progress}
        there = [(f"HDU {hdu.index} of {self._where()}", hdu) for hdu in self.preview()]
        sources = sources_of(data, Options.of(name=name, **(run | options)))
        needed, names = with_needed(sources, there)
        files = [(source, *self._taken(source, names)) for source in [*sources, *needed]]
        for number, (source, core, index) in enumerate(files):
            before = len(self)
            at = min(place, before) if number < len(sources) else before
            self._core.copy(at, core, index)
            # A table as the first HDU gets a primary HDU before it.
            place = at + len(self) - before
            if source.is_copy and source.options.name is not None:
                self._core.set_cards(place - 1, source.options.name_cards)
            if checksum:
                self._core.update_checksums(place - 1)

    def _taken(self, source: HduSource, names: Collection[Name]) -> tuple[_core.FitsFile, int]:
        """Return an open file that contains the HDU to insert, and its number there."""
        if source.is_copy and source.hdu is not None:
            return source.hdu.file._open_core(), source.hdu.index
        core, [error] = temporary_file([source], names, "a new HDU")
        tell_rounding(self._where(), error, source.unit)
        return core, len(core) - 1

    def copy(self, hdu: Hdu, *, at: int | None = None) -> None:
        """Copy an HDU of any file unchanged before the HDU of a number; None: to the end."""
        self.insert(len(self) if at is None else at, hdu)

    def commit(self) -> None:
        """Write the changes; the end of a ``with`` block does this."""
        self.done = self._core.commit(
            sync=self._sync, threads=self._threads, progress=self._progress
        )

    def discard(self) -> None:
        """Discard the changes."""
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


def _no_pickle() -> File:
    raise usage("a file that is being edited cannot be pickled", "write it first")
