"""Types of the compiled module `_core`, of the records of unformatted Fortran files; see `_core.pyi`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from tachyfits._core import Stats, _Source

#: Called now and then with (bytes done, bytes in all); returning False cancels.
_Progress = Callable[[int, int], bool | None]

#: (offset in the record, bytes of a number, how many, offset in the item, how often all that, and bytes from one to the
#: next in the record, and in the item)
_Field = tuple[int, int, int, int, int, int, int]

#: (letter, bytes of an element, how many, offset, the items of a group)
_RecordItem = tuple[str, int, int, int, list["_RecordItem"]]

@final
class RecordFile:
    """An open unformatted Fortran file; records are counted from 0."""

    @staticmethod
    def open(
        source: _Source,
        *,
        name: str = "<bytes>",  # of bytes and objects
        on_demand: bool = False,  # an object is read by seek and read, not to its end
        access: str = "sequential",  # "sequential" "direct" "stream"
        record_bytes: int | None = None,  # of direct access
        markers: int | None = None,  # 4, 8; None: detected
        order: str | None = None,  # "big" "little"; None: detected
        recover: bool = False,
        storage: str = "auto",
    ) -> RecordFile: ...
    @property
    def name(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def markers(self) -> int | None: ...
    @property
    def notices(self) -> list[str]: ...  # what was found beside the file
    @property
    def order(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def evidence(self) -> list[str]: ...
    def records(self) -> int: ...  # FormatError where the file is damaged
    def whole_records(self) -> int: ...  # before the damage
    def damage(self) -> str | None: ...
    def skipped(self) -> list[tuple[int, int, str]]: ...  # (first byte, end, why)
    def runs(self) -> NDArray[np.uint64]: ...  # rows of (first record, records, bytes of a record, offset)
    def record(self, record: int) -> tuple[int, int]: ...  # (bytes, offset)
    def common_bytes(self, first: int, count: int) -> int: ...
    def ahead(self, first: int, most: int) -> tuple[int, int] | None: ...  # (records, bytes)
    def read(
        self,
        first: int,
        count: int,
        record_bytes: int,
        item_bytes: int,
        fields: Sequence[_Field],
        out: NDArray[np.uint8],
        *,
        step: int = 1,
        ahead: bool = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> bool: ...  # ahead: whether they were of one length
    def stats(
        self,
        first: int,
        count: int,
        dtype: str,
        *,
        fields: Sequence[_Field] | None = None,
        is_complex: bool = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> list[Stats]: ...  # complex: of the real and of the imaginary parts
    def convert(
        self,
        path: str | os.PathLike[str],
        *,
        access: str = "sequential",
        record_bytes: int | None = None,
        markers: int = 4,
        order: str | None = None,  # None: as it is
        forms: Sequence[str] = ...,
        last_repeats: bool = False,
        precision: str | None = None,  # "single": real(8) as real(4), "double": real(16) as real(8)
        overwrite: bool = False,
        sync: bool = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> int: ...

@final
class RecordWriter:
    """A new unformatted Fortran file, which appears when it is finished."""

    @staticmethod
    def create(
        path: str | os.PathLike[str],
        *,
        access: str = "sequential",
        record_bytes: int | None = None,
        markers: int = 4,
        order: str | None = None,  # None: the machine's own
        overwrite: bool = False,
        sync: bool = False,
    ) -> RecordWriter: ...
    def write(
        self,
        items: NDArray[np.uint8],
        count: int,
        record_bytes: int,
        item_bytes: int,
        fields: Sequence[_Field],
        *,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> None: ...
    def finish(self) -> int: ...
    def abandon(self) -> None: ...

def append_records(
    path: str | os.PathLike[str],
    parts: Sequence[tuple[NDArray[np.uint8], int, int, int, Sequence[_Field]]],
    *,
    access: str = "sequential",
    record_bytes: int | None = None,
    markers: int | None = None,
    order: str | None = None,
    threads: int = 0,
    progress: _Progress | None = None,
) -> list[str]: ...  # what was found beside the file
def record_items(form: str, record_bytes: int) -> list[_RecordItem]: ...
def record_least_bytes(form: str) -> int: ...
