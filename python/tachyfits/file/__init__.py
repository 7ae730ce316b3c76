"""Files and HDUs as their headers describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.file.companions import plane_file
    from tachyfits.file.file import BUFFERINGS, DAMAGED, STORAGES, description, index_of
    from tachyfits.file.hdu import axes_of, compression_of, no_pixels_hint, stored_table
    from tachyfits.file.image_hdu import ImageHdu, problem_of, type_name

__getattr__ = interface(
    __name__,
    {
        "companions": ("plane_file",),
        "file": ("BUFFERINGS", "DAMAGED", "STORAGES", "description", "index_of"),
        "hdu": ("axes_of", "compression_of", "no_pixels_hint", "stored_table"),
        "image_hdu": ("ImageHdu", "problem_of", "type_name"),
    },
)
