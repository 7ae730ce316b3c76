"""Differences between real files and their copies that are allowed, each with its reason.

A copy is a list of all HDUs of a file, or what decompressing a compressed file gives. The test
beside this file compares cards (as 80 bytes each) and data (byte by byte) and allows nothing else.
"""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """A difference that is allowed."""

    #: "list", "compress" or "" for both.
    way: str
    #: The end of the name of the file; "" for all.
    file: str
    #: Keyword of the cards, "order" of cards, "data", or the code of an error.
    what: str
    reason: str


DIFFERENCES = [
    Difference("", "", "CHECKSUM", "a sum of the bytes of one file; checksum=True states new ones"),
    Difference("", "", "DATASUM", "a sum of the bytes of one file; checksum=True states new ones"),
    Difference("", "", "NEXTEND", "counts the HDUs of one file, which others may join"),
    Difference("", "/extend_F.fits", "EXTEND", "EXTEND = F denies the extensions that may follow"),
    Difference("", "/fixed-1890.fits", "INHERIT", "4.4.2.6 forbids it in a primary header"),
    Difference("compress", "/fixed-1890.fits", "PCOUNT", "not a card of primary arrays (4.4.1)"),
    Difference("compress", "/fixed-1890.fits", "GCOUNT", "not a card of primary arrays (4.4.1)"),
    Difference("", "/verify.fits", "order", "mandatory cards are put in their places (table 7)"),
    Difference("", "/trunc_data.fits", "data-missing", "the file ends before its data do"),
]
