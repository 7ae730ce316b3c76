"""Widget: the viewer page in a notebook cell, with its regions, spectra and position as objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

import tachyfits as tf
from tachyfits.base import usage
from tachyfits.server.datasets import Datasets
from tachyfits.server.page import WEB
from tachyfits.server.region_shapes import Shape, shapes_in, shapes_of
from tachyfits.server.view import View
from tachyfits.text import labelled, parse_region


class Widget(anywidget.AnyWidget):
    """The viewer page of an image; `tachyfits.results.Viewer` describes its interface."""

    _esm = WEB / "widget.js"

    link = traitlets.Unicode(read_only=True).tag(sync=True)
    height = traitlets.Int(read_only=True).tag(sync=True)
    _given = traitlets.Dict().tag(sync=True)
    _shown = traitlets.Dict().tag(sync=True)

    def __init__(self, datasets: Datasets, name: str, hdu: int, link: str, height: int) -> None:
        """Show an image of a dataset by a link to the page."""
        super().__init__()
        self._datasets = datasets
        self._first = (name, hdu)
        self.set_trait("link", link)
        self.set_trait("height", height)

    def _view(self) -> View:
        """Return the image on the page; the user may have opened another one."""
        name, hdu = self._shown.get("id", self._first[0]), self._shown.get("hdu", self._first[1])
        return self._datasets.open(str(name)).view(int(hdu))

    @property
    def regions(self) -> list[tf.Region]:
        """The regions of the page."""
        # Ignore messages that the page sent before Python set the regions.
        is_newer = self._shown.get("number", 0) == self._given.get("number", 0)
        source = self._shown if is_newer else self._given
        return [
            labelled(parse_region(str(item["text"])), str(item["name"]), str(item["color"]))
            for item in source.get("regions", ())
        ]

    @regions.setter
    def regions(self, regions: Iterable[tf.Region | str]) -> None:
        image = self._view().cube
        shapes = [shape for region in regions for shape in _shapes(image, region)]
        if any(shape.excluded for shape in shapes):
            raise usage("the page has no excluded regions", "give shapes without holes")
        texts = [
            {"text": shape.text, "name": shape.label, "color": shape.color} for shape in shapes
        ]
        self._given = {"number": self._given.get("number", 0) + 1, "regions": texts}

    @property
    def spectra(self) -> list[tf.Spectrum]:
        """The spectra of all regions that have an area."""
        view = self._view()
        if view.cube.ndim < 3:
            return []
        statistic: Any = self._shown.get("statistic", "mean")
        others = self._shown.get("others")
        result = []
        for region in self.regions:
            if isinstance(region, tf.Line):
                continue
            selection = view.selection({"region": region}, others=others)
            spectrum = view.cube.select(selection).spectrum(statistic=statistic)
            assert isinstance(spectrum, tf.Spectrum)
            result.append(spectrum)
        return result

    @property
    def pixel(self) -> tuple[float, float] | None:
        """The last clicked pixel (x, y), 0-based."""
        clicked = self._shown.get("clicked")
        return None if clicked is None else (float(clicked[0]) - 1, float(clicked[1]) - 1)

    @property
    def position(self) -> Any:
        """The sky position of the last clicked pixel."""
        pixel, sky = self.pixel, self._view().sky
        return None if pixel is None or sky is None else sky.positions(*pixel)


def _shapes(image: tf.Image, region: tf.Region | str) -> list[Shape]:
    return shapes_of(image, region) if isinstance(region, str) else shapes_in(image, region)
