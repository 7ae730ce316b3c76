"""Unformatted records of Fortran programs; `tachyfits.fortran` has the public functions."""
