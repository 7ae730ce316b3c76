"""Tables of other libraries; each library is imported on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.interop.arrow import arrow_in_ascii
    from tachyfits.interop.parquet_metadata import said_of_columns
    from tachyfits.interop.region_files import parts_of_text
    from tachyfits.interop.regions import region_of_astropy
    from tachyfits.interop.table_files import TableFile, open_table_file
    from tachyfits.interop.votable import (
        VOTABLES,
        parsed_votable,
        votable_from_file,
        written_votable,
    )

__getattr__ = interface(
    __name__,
    {
        "arrow": ("arrow_in_ascii",),
        "parquet_metadata": ("said_of_columns",),
        "region_files": ("parts_of_text",),
        "regions": ("region_of_astropy",),
        "table_files": ("TableFile", "open_table_file"),
        "votable": ("VOTABLES", "parsed_votable", "votable_from_file", "written_votable"),
    },
)
