"""Pictures of results: planes of the sky, spectra, histograms, position-velocity diagrams.

They are drawn with matplotlib, off screen; a figure is returned for you to change, show or save.
Nothing here reads FITS files or computes more than colours.
"""

from tachyfits.plot._figure import save_figure
from tachyfits.plot._histogram import histogram_figure
from tachyfits.plot._labels import title_of
from tachyfits.plot._limits import limits_of
from tachyfits.plot._maps import channel_figure
from tachyfits.plot._marks import Catalogue, Vectors
from tachyfits.plot._panels import figure
from tachyfits.plot._plane import colormap_of, plane_figure, save_pixels
from tachyfits.plot._pv import pv_figure
from tachyfits.plot._spectrum import spectrum_figure

__all__ = [
    "Catalogue",
    "Vectors",
    "channel_figure",
    "colormap_of",
    "figure",
    "histogram_figure",
    "limits_of",
    "plane_figure",
    "pv_figure",
    "save_figure",
    "save_pixels",
    "spectrum_figure",
    "title_of",
]
