"""The server: tiles, spectra, measurements and cutouts of FITS files over HTTP, and a viewer page.

It is built on FastAPI and uvicorn (the extra ``server``). An endpoint is a module of
`server.endpoints` with a ``router``, listed in ``app.ENDPOINTS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.server.run import is_loopback, serve
    from tachyfits.server.settings import GIBIBYTE, MEBIBYTE, Settings

__getattr__ = interface(
    __name__,
    {
        "run": ("is_loopback", "serve"),
        "settings": ("GIBIBYTE", "MEBIBYTE", "Settings"),
    },
)
