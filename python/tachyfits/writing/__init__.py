"""New files of images and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.writing.export import write_stream
    from tachyfits.writing.options import Options
    from tachyfits.writing.restored import restored_hdus
    from tachyfits.writing.sinks import FileBytes, stream_of, temporary_file, write_new
    from tachyfits.writing.sources import sources_of

__getattr__ = interface(
    __name__,
    {
        "export": ("write_stream",),
        "options": ("Options",),
        "restored": ("restored_hdus",),
        "sinks": ("FileBytes", "stream_of", "temporary_file", "write_new"),
        "sources": ("sources_of",),
    },
)
