"""Spectra: steps, because a channel is an interval and not a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tachyfits._errors import usage
from tachyfits._regions import Polygon
from tachyfits._results import Spectrum
from tachyfits.plot._figure import LINE_COLOURS, new_figure, style, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Larger units for values that would need many digits: (unit, in which, factor).
_SHOWN_AS = {"Hz": ("GHz", 1e-9), "m/s": ("km/s", 1e-3), "m s-1": ("km/s", 1e-3),
             "m": ("µm", 1e6)}  # fmt: skip

#: What people call an axis of that CTYPE.
_NAMES = {
    "FREQ": "frequency", "VRAD": "radio velocity", "VOPT": "optical velocity", "VELO": "velocity",
    "FELO": "optical velocity", "WAVE": "wavelength", "AWAV": "wavelength in air",
    "ENER": "energy", "WAVN": "wavenumber", "ZOPT": "redshift", "BETA": "velocity / c",
}  # fmt: skip


def spectrum_figure(
    spectra: Sequence[Spectrum], *, title: str | None = None, labels: Sequence[str] | None = None
) -> Figure:
    """Draw spectra of one axis and one statistic.

    Parameters
    ----------
    spectra
        One or more.
    title
        None: the object.
    labels
        Names in the legend; None: the regions'.
    """
    if not spectra:
        raise usage("there is no spectrum to draw", "give one or more")
    with style():
        figure = new_figure(8.0, 4.2)
        axes = figure.add_subplot()
        draw_spectra(axes, spectra, labels=labels)
        name = str(spectra[0].header.get("OBJECT") or "").strip()
        axes.set_title(name if title is None else title, loc="left")
    return figure


def draw_spectra(
    axes: Axes, spectra: Sequence[Spectrum], *, labels: Sequence[str] | None = None
) -> None:
    """Draw spectra into axes."""
    first = spectra[0]
    unit, factor = _shown_as(first)
    for number, spectrum in enumerate(spectra):
        label = labels[number] if labels else _region_text(spectrum)
        axes.step(
            spectrum.axis.values * factor,
            spectrum.values,
            where="mid",
            linewidth=1.1,
            color=LINE_COLOURS[number % len(LINE_COLOURS)],
            label=label or "every pixel",
        )
    axes.axhline(0.0, color="#999999", linewidth=0.6, zorder=0)
    name = _NAMES.get(first.axis.name[:4].upper(), "channel")
    axes.set_xlabel(with_unit(name, unit))
    axes.set_ylabel(with_unit(first.statistic, first.unit))
    axes.margins(x=0)
    if len(spectra) > 1 or spectra[0].region is not None:
        axes.legend(loc="best", fontsize="small")


def _shown_as(spectrum: Spectrum) -> tuple[str, float]:
    """Return the unit to show the spectral axis in, and its factor."""
    unit, factor = _SHOWN_AS.get(spectrum.axis.unit, (spectrum.axis.unit, 1.0))
    values = np.abs(spectrum.axis.values)
    # Metres of radio waves stay metres, and slow gas stays in m/s.
    fits = values.size > 0 and 0.1 <= np.nanmax(values) * factor < 1e6
    return (unit, factor) if fits else (spectrum.axis.unit, 1.0)


def _region_text(spectrum: Spectrum) -> str:
    """Return a region in a few characters; its places need no more digits than a plot shows."""
    region = spectrum.region
    if region is None:
        return ""
    if isinstance(region, Polygon):
        return f"polygon of {len(region.vertices)} vertices"
    numbers = ", ".join(f"{value:.4g}" for value in vars(region).values())
    return f"{type(region).__name__.lower()} {numbers}"
