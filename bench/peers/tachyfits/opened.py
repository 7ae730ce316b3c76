"""Shared by the models of this peer: opening the input as requested, and the right tier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from python_runner import Request, Unsupported

import tachyfits as tf


def opened(request: Request) -> Any:
    """Open the file by the requested storage: positioned reads, a memory map, bytes in memory."""
    storage = request.get("storage", "auto")
    options = {"buffering": request["buffering"]} if "buffering" in request else {}
    if storage == "memory":
        return tf.open(Path(request["path"]).read_bytes(), **options)
    return tf.open(request["path"], storage=storage, **options)


def right_tier(request: Request) -> None:
    """Check that this process runs on the requested vector tier, if any."""
    tier = tf.info.build()["tier"]
    wanted = request.get("tier", tier)
    if wanted not in tf.info.build()["tiers"]:
        raise Unsupported(f"this processor has no {wanted}")
    if tier != wanted:
        raise RuntimeError(f"requested tier {wanted}, runs on {tier}")
