"""The demo's pictures, one for each result and one of them all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tachyfits as tf
from tachyfits.plot import histogram_figure, save_figure, spectrum_figure
from tachyfits.plot._figure import fit, new_figure, style
from tachyfits.plot._histogram import draw_histogram
from tachyfits.plot._plane import colours_of, draw_plane
from tachyfits.plot._spectrum import draw_spectra

from .measure import Measured, bright


def draw(image: tf.Image, found: Measured, folder: Path, *, faint: float | None) -> list[Path]:
    """Draw what was found.

    Parameters
    ----------
    image
        What was measured.
    found
        The results.
    folder
        Where the PNG files go.
    faint
        Velocities are shown where moment 0 is above this; None: above a tenth of its greatest.

    Returns
    -------
    list of Path
        The files.
    """
    files = []
    if found.histogram is not None:
        figure = histogram_figure(found.histogram, unit=image.unit, log=True)
        files.append(_save(figure, folder / "histogram.png"))
    if found.picture is not None:
        figure = found.picture.plot(stretch="asinh")
        files.append(_save(figure, folder / "picture.png"))
    if found.spectra:
        files.append(_save(spectrum_figure(found.spectra), folder / "spectrum.png"))
    if found.mean is not None:
        files.append(_save(found.mean.plot(stretch="asinh"), folder / "mean.png"))
    if found.moments:
        moment0, moment1 = found.moments[0], _shown_velocity(found, faint)
        files.append(_save(moment0.plot(stretch="asinh"), folder / "moment0.png"))
        files.append(_save(moment1.plot(), folder / "moment1.png"))
        # README shows it: small enough to load at once.
        overview = _overview(image, found, moment1)
        files.append(_save(overview, folder / "demo.png", dpi=110))
    return files


def _save(figure: object, path: Path, **options: object) -> Path:
    save_figure(figure, path, overwrite=True, **options)  # type: ignore[arg-type]
    return path


def _shown_velocity(found: Measured, faint: float | None) -> tf.Plane:
    moment0 = found.moments[0]
    limit = faint
    if limit is None:
        values = np.abs(moment0.values[np.isfinite(moment0.values)])
        limit = 0.1 * float(values.max(initial=0.0))
    return bright(found.moments[1], moment0, limit)


def _overview(image: tf.Image, found: Measured, velocity: tf.Plane) -> object:
    """Draw column density, velocity field, spectrum and histogram on one page."""
    moment0 = found.moments[0]
    with style():
        figure = new_figure(11.0, 8.2)
        grid = figure.add_gridspec(2, 2, height_ratios=(1.55, 1))
        for column, plane in enumerate((moment0, velocity)):
            stretch = "asinh" if column == 0 else "linear"
            draw_plane(figure, grid[0, column], plane, colours_of(plane, stretch=stretch))
        axes = figure.add_subplot(grid[1, 0])
        draw_spectra(axes, found.spectra[:1])
        axes = figure.add_subplot(grid[1, 1])
        if found.histogram is not None:
            draw_histogram(axes, found.histogram, unit=image.unit, log=True)
        fit(figure)
    return figure
