"""HDUs of a compressed file in the layout before compression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tachyfits.file.file import File
from tachyfits.file.hdu import Hdu


@dataclass(frozen=True)
class RestoredPrimary:
    """An image that was the primary array before compression, and the empty HDU before it."""

    _data_kind: ClassVar[str] = "restored"

    image: Hdu
    primary: Hdu


def restored_hdus(file: File) -> list[Hdu | RestoredPrimary]:
    """Return the HDUs of a file in the layout before compression.

    Compression puts an empty primary HDU before the table of a primary array. In some archives it
    has its own cards.
    """
    hdus: list[Hdu | RestoredPrimary] = list(file)
    if len(hdus) > 1 and not file[0].shape and file[1].was_primary:
        return [RestoredPrimary(file[1], file[0]), *hdus[2:]]
    return hdus
