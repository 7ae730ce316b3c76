"""HDUs that the coordinates of an image or a plane need beside it, as bytes of a file.

They are tables of -TAB axes, images of corrections (CPDIS, D2IM), and the table BEAMS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits import _core
from tachyfits.file.file import File
from tachyfits.file.image_hdu import PRIMARY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.file.hdu import Hdu


def companion_hdus(companions: bytes, name: str) -> list[Hdu]:
    """Return the HDUs; ``name`` is the name of their file, for messages."""
    if not companions:
        return []
    core = _core.FitsFile.open(PRIMARY + companions, name=name)
    return list(File.computed(core, None))[1:]


def plane_file(
    values: NDArray[np.float64],
    cards: Sequence[tuple[str, Any, str]],
    companions: bytes,
    name: str = "<array>",
) -> _core.FitsFile:
    """Return an array of floats as a file in memory, followed by its companions."""
    core = _core.array_file(values, cards, name=name)
    if not companions:
        return core
    stored = values.astype(values.dtype.newbyteorder(">")).tobytes()
    content = core.hdu(0).header().raw() + stored + bytes(-len(stored) % len(PRIMARY)) + companions
    return _core.FitsFile.open(content, name=name)
