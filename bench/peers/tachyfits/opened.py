"""Opening the input of a request as it says, once for all models of this peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tachyfits as tf

Request = dict[str, Any]


def opened(request: Request) -> Any:
    """Open the file by the storage asked for: positioned reads, a memory map, bytes in memory."""
    storage = request.get("storage", "pread")
    if storage == "memory":
        return tf.open(Path(request["path"]).read_bytes())
    return tf.open(request["path"], storage=storage)
