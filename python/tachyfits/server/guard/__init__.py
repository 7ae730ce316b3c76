"""Guard: ASGI middleware for access, limits of clients, and rules for browsers.

A request passes `log`, `headers`, `access` and `limits`, in this order, before the application.
"""

from __future__ import annotations

from typing import Any

from tachyfits.server.guard.access import Access
from tachyfits.server.guard.headers import SafeHeaders
from tachyfits.server.guard.limits import Limits
from tachyfits.server.guard.log import Log
from tachyfits.server.state import State


def guarded(app: Any, state: State) -> Any:
    """Wrap an application in all checks."""
    settings = state.settings
    return Log(SafeHeaders(Access(Limits(app, settings), settings), settings), state)
