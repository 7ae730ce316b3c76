"""ImageHdu: what the header of an image says about its pixels.

It reads cards alone, and needs NumPy for few of them: listing the HDUs of a file costs little.
Reading pixels is in `image.pixels`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tachyfits._core import FormatError
from tachyfits.base.errors import usage
from tachyfits.base.lazy_numpy import np
from tachyfits.file.hdu import Hdu
from tachyfits.header.beam import Beam, Beams, beams_of
from tachyfits.header.cards import Card, Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.summary import CoordinateSummary, summary_of

if TYPE_CHECKING:
    from tachyfits import _core


class Scaling(NamedTuple):
    """How stored values become physical ones: bzero + bscale * stored; blank is undefined."""

    bscale: float
    bzero: float
    blank: int | None


class ImageHdu(Hdu):
    """An HDU with pixels, as its header describes it. `Image` reads and reduces them."""

    _image: _core.Image | None = None
    _world: Coordinates | None = None

    def _core_image(self) -> _core.Image:
        # None also once the file is closed, which `_hdu` says.
        if self._image is None:
            self._image = self._hdu().image()
        return self._image

    def _release(self) -> None:
        self._image = None

    def _problem(self) -> FormatError | None:
        """Return why the header does not say what the pixels are; None if it does."""
        try:
            self._core_image()
        except FormatError as error:
            return error
        return None

    # Header information.

    @property
    def header(self) -> Header:
        """The header: a mapping by keyword, with ``.cards`` and ``.comments``.

        Of random groups it is that of their arrays as one image, whose axes have other numbers;
        `Hdu.stored_header` is the one of the file.
        """
        if self.kind != "random groups":
            return self.stored_header
        every = list(range(self.ndim))
        return Header(self._core_image().result_cards(kept=every, kind=Card))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in NumPy order (reversed FITS)."""
        return tuple(self._core_image().shape)

    @property
    def ndim(self) -> int:
        """Number of axes, NAXIS."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    @property
    def _type_name(self) -> str:
        """The name of the type that indexing gives; see `Image.dtype`."""
        return self._core_image().dtype

    @property
    def bitpix(self) -> int:
        """The type in the file: 8, 16, 32, 64 for integers, -32 and -64 for floats."""
        return self._core_image().bitpix

    @property
    def scaling(self) -> Scaling:
        """BSCALE, BZERO and BLANK."""
        image = self._core_image()
        return Scaling(image.bscale, image.bzero, image.blank)

    @property
    def unit(self) -> str | None:
        """BUNIT as the file writes it; None when it names none."""
        return self._core_image().unit

    @property
    def beam(self) -> Beam | None:
        """The beam of the header; None without one, and where channels have beams of their own.

        BMAJ, BMIN and BPA, else the last one that AIPS notes in HISTORY; of a cube with a table
        BEAMS see `beams`.
        """
        found = beams_of(self)
        return found if isinstance(found, Beam) else None

    @property
    def beams(self) -> Beams | None:
        """The beams of the channels, from the table BEAMS; None where all have the same one.

        Raises
        ------
        UsageError
            The header announces a table (CASAMBM), and the file has none.
        """
        found = beams_of(self)
        return found if isinstance(found, Beams) else None

    @property
    def coordinates(self) -> CoordinateSummary:
        """Where the image is: its sky, pixel scale, spectral range, beam and rest frequency.

        Cards that cannot be used are in its ``problems``: this never fails, and never warns.

        Examples
        --------
        >>> import tachyfits as tf
        >>> summary = tf.open("cube.fits")[0].coordinates
        >>> summary.spectral.name, summary.spectral.first, summary.spectral.unit
        ('VRAD', 1000.0, 'm/s')
        """
        return summary_of(self)

    @property
    def _coordinates(self) -> Coordinates:
        """Header information about the axes; each card gives one warning at most."""
        if self._world is None:
            self._world = Coordinates(self.header, self.ndim, self._where(), self._table_of_axis)
        return self._world

    def _table_of_axis(self, name: str, version: int, columns: Sequence[str]) -> list[Any]:
        """Return columns of the table that a -TAB axis names."""
        # A computed image has its tables with it, any other in its file.
        found = self._core_image().coordinate_table(name, version)
        file = self._file if found is None else type(self._file)(found)
        table: Any = file[name, version]
        if table.kind != "binary table":
            raise usage(f"HDU {name},{version} is not a binary table", "use the file that has it")
        return [np.asarray(table[column], dtype=np.float64) for column in columns]
