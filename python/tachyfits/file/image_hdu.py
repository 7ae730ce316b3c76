"""ImageHdu: the pixels of an image as its header describes them.

It reads only cards, and rarely needs NumPy: listing the HDUs of a file is cheap. Reading pixels is
in `image.pixels`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tachyfits import _core
from tachyfits._core import FormatError
from tachyfits.file.hdu import Hdu
from tachyfits.header.beam import Beam, Beams, beams_of
from tachyfits.header.cards import Card, Header
from tachyfits.header.image_coordinates import ImageCoordinates


class Scaling(NamedTuple):
    """Scaling of stored values to physical ones: bzero + bscale * stored; blank is undefined."""

    bscale: float
    bzero: float
    blank: int | None


#: A primary HDU without data, which precedes HDUs that are not in a file.
PRIMARY = b"".join(
    card.ljust(80)
    for card in (
        b"SIMPLE  =                    T",
        b"BITPIX  =                    8",
        b"NAXIS   =                    0",
        b"END",
    )
).ljust(2880)


class ImageHdu(Hdu):
    """An HDU with pixels, as its header describes it. `Image` reads and reduces them."""

    _image: _core.Image | None = None
    _world: ImageCoordinates | None = None

    def _core_image(self) -> _core.Image:
        # Also None once the file is closed, which `_hdu` detects.
        if self._image is None:
            self._image = self._hdu().image()
        return self._image

    def _release(self) -> None:
        self._image = None

    def _problem(self) -> FormatError | None:
        """Return the error if the header does not describe the pixels, or None."""
        try:
            self._core_image()
        except FormatError as error:
            return error
        return None

    def _companions(self) -> list[Hdu]:
        """Return the tables that accompany the image: BEAMS, and those of its coordinates."""
        content = self._core_image().companion_bytes()
        core = _core.FitsFile.open(PRIMARY + content, name=self.file.name)
        return list(type(self._file).computed(core, None))[1:] if content else []

    # Header information.

    @property
    def header(self) -> Header:
        """The header: a mapping by keyword, with ``.cards`` and ``.comments``.

        For random groups it describes their arrays as one image, with renumbered axes;
        `Hdu.stored_header` is the one of the file.
        """
        if self.kind != "random groups":
            return self.stored_header
        axes = list(range(self.ndim))
        return Header(self._core_image().result_cards(kept=axes, kind=Card))

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
        """Name of the type of indexing results; see `Image.dtype`."""
        return self._core_image().dtype

    @property
    def bitpix(self) -> int:
        """Type in the file: 8, 16, 32, 64 for integers, -32 and -64 for floats."""
        return self._core_image().bitpix

    @property
    def scaling(self) -> Scaling:
        """BSCALE, BZERO and BLANK."""
        image = self._core_image()
        return Scaling(image.bscale, image.bzero, image.blank)

    @property
    def unit(self) -> str | None:
        """BUNIT as written in the file, or None."""
        return self._core_image().unit

    @property
    def beam(self) -> Beam | None:
        """Beam of the header; None without one, and if channels have different beams.

        BMAJ, BMIN and BPA, or else the last beam in the HISTORY of AIPS; for a cube with a table
        BEAMS see `beams`.
        """
        beams = beams_of(self)
        return beams if isinstance(beams, Beam) else None

    @property
    def beams(self) -> Beams | None:
        """Beams of the channels, from the table BEAMS; None if all have the same beam.

        Raises
        ------
        UsageError
            The header announces a table (CASAMBM), but the file has none.
        """
        beams = beams_of(self)
        return beams if isinstance(beams, Beams) else None

    @property
    def coordinates(self) -> ImageCoordinates:
        """World coordinates: axes, sky, spectral axis; positions of pixels, and their inverse.

        Each invalid card gives at most one warning.

        Examples
        --------
        >>> import tachyfits as tf
        >>> coordinates = tf.open("cube.fits")[0].coordinates
        >>> coordinates.channel_axis, coordinates.axis(0).name, coordinates.sky.frame
        (0, 'VRAD', 'ICRS')
        """
        if self._world is None:
            self._world = ImageCoordinates(self)
        return self._world

    def _companion(self, name: str, version: int) -> Any:
        """Return an HDU that coordinates need: a table of -TAB axes, or corrections of pixels."""
        # A computed image has its companions with it, others in their file.
        companion = self._core_image().coordinate_table(name, version)
        file = self._file if companion is None else type(self._file)(companion)
        return file[name, version]


def problem_of(image: ImageHdu) -> FormatError | None:
    """Return the error if the header does not describe the pixels, or None."""
    return image._problem()


def type_name(image: ImageHdu) -> str:
    """Return the name of the type of indexing results, without NumPy; see `Image.dtype`."""
    return image._type_name
