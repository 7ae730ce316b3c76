"""Unformatted records of Fortran programs; `tachyfits.fortran` has the public functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.records.arrays import INDEX
    from tachyfits.records.convert import as_list, number_of_form
    from tachyfits.records.record_file import fields_of_records, subrecords

__getattr__ = interface(
    __name__,
    {
        "record_file": ("fields_of_records", "subrecords"),
        "arrays": ("INDEX",),
        "convert": ("as_list", "number_of_form"),
    },
)
