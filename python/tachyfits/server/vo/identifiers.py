"""Identifiers of datasets: IVOIDs from the authority, the ID of a file and an HDU.

``ivo://AUTHORITY/files?cubes/co.fits`` is the first image of a file, ``...co.fits#2`` its HDU 2.
The plain ID of a file, as in `/api/v1/files`, is also accepted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from tachyfits.server.datasets import Datasets, OpenFile
from tachyfits.server.errors import NotFound
from tachyfits.server.view import View

_IVOID = re.compile(r"ivo://(?P<authority>[^/?#]*)/files\?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_HDU = re.compile(r"(?P<name>.*)#(?P<hdu>\d{1,6})", re.DOTALL)

#: Maximum length of an identifier.
LONGEST = 4096


@dataclass(frozen=True)
class Found:
    """The image of an identifier."""

    identifier: str
    file: OpenFile
    view: View
    #: The HDU in the identifier; None if it has none.
    hdu: int | None

    @property
    def title(self) -> str:
        """The name of the file without its suffix, and the HDU if the identifier has one."""
        return self.file.stem if self.hdu is None else f"{self.file.stem}-hdu{self.hdu}"


def identifier_of(authority: str, name: str, hdu: int | None = None) -> str:
    """Return the IVOID of an image.

    >>> identifier_of("example.org", "cubes/M 51.fits"), identifier_of("example.org", "a.fits", 2)
    ('ivo://example.org/files?cubes/M%2051.fits', 'ivo://example.org/files?a.fits#2')
    """
    return f"ivo://{authority}/files?{quote(name)}" + ("" if hdu is None else f"#{hdu}")


def name_and_hdu(authority: str, text: str) -> tuple[str, int | None, bool]:
    """Split an identifier into the ID of a file, the HDU, and whether it is an IVOID.

    Raises
    ------
    NotFound
        The identifier is an IVOID of another authority.

    >>> name_and_hdu("example.org", "IVO://Example.org/files?cubes/M%2051.fits#3")
    ('cubes/M 51.fits', 3, True)
    >>> name_and_hdu("example.org", "cubes/co.fits")
    ('cubes/co.fits', None, False)
    """
    match = _IVOID.fullmatch(text)
    if text[:6].lower() == "ivo://" and (
        match is None or match["authority"].lower() != authority.lower()
    ):
        raise NotFound(f"unknown ID {text[:200]!r}")
    name = match["rest"] if match else text
    hdu = _HDU.fullmatch(name)
    number = int(hdu["hdu"]) if hdu else None
    name = hdu["name"] if hdu else name
    return (unquote(name) if match else name), number, match is not None


def find(datasets: Datasets, authority: str, text: str) -> Found:
    """Return the image of an identifier.

    Raises
    ------
    NotFound
        The identifier is unknown; the message is the same for files outside the served folders.
    """
    if len(text) > LONGEST:
        raise NotFound(f"unknown ID {text[:200]!r}")
    name, hdu, is_ivoid = name_and_hdu(authority, text)
    if not is_ivoid and hdu is not None:
        try:  # the name of a file may end in "#2"
            datasets.target(text)
            name, hdu = text, None
        except NotFound:
            pass
    try:
        file = datasets.open(name)
        return Found(text, file, file.view(hdu), hdu)
    except NotFound as error:
        reason = str(error).partition(": ")[2]
        raise NotFound(f"unknown ID {text[:200]!r}" + (f": {reason}" if reason else "")) from None
