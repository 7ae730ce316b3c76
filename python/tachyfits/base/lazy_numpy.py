"""NumPy, imported when it is first used: its import takes longer than listing the HDUs of a file.

Modules that open or describe a file take ``np`` from here. They use it inside functions only, and
import NumPy's types for annotations under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _NumPy:
        """NumPy's names, each looked up once and cached here."""

        def __getattr__(self, name: str) -> Any:
            value = getattr(importlib.import_module("numpy"), name)
            setattr(self, name, value)
            return value

    np = _NumPy()
