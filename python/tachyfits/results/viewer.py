"""Viewer: the interface of the viewer page in a notebook's cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tachyfits.results.spectrum import Spectrum
    from tachyfits.text.regions import Region


class Viewer(Protocol):
    """The viewer page in a notebook's cell, as `Image.view` returns it: an ipywidgets widget.

    Later cells can use the regions of the page. Before the page is shown there are no regions and
    no clicked place.
    """

    @property
    def link(self) -> str:
        """Address of the page, for a browser. It contains the token, so keep it secret."""

    @property
    def height(self) -> int:
        """Height in screen pixels."""

    @property
    def regions(self) -> list[Region]:
        """Regions of the page in pixels, with the names and colours that the user gave them.

        Set it to show other regions: in pixels or on the sky, or as text.
        """

    @regions.setter
    def regions(self, regions: Iterable[Region | str]) -> None: ...

    @property
    def spectra(self) -> list[Spectrum]:
        """Spectra of the regions with an area, in their order, with the statistic of the page.

        They are computed from the pixels of the file, neither smoothed nor binned.
        """

    @property
    def pixel(self) -> tuple[float, float] | None:
        """Last clicked place: x and y, 0-based pixels; None before the first click."""

    @property
    def position(self) -> Any:
        """`SkyCoord` of that place; None before a click, and for an image without a sky."""
