"""Measurements of several regions: a table of statistics per region, histograms, and cutouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.base.upper import upper
from tachyfits.image.brightness import FLUX
from tachyfits.image.flux import AskedFlux, Flux, fluxes
from tachyfits.image.order_statistics import OrderStatistics
from tachyfits.image.rectangles import Mode
from tachyfits.image.reductions import check_statistic, reduced_arrays
from tachyfits.text.region_input import Regions, listed_regions
from tachyfits.text.regions import Region, as_ds9
from tachyfits.text.statistics import (
    STANDARD_STATISTICS,
    UNITLESS,
    order_statistic,
)

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress
    from tachyfits.image.image import Image
    from tachyfits.table.columns import Columns
    from tachyfits.text.spectral_ranges import AskedChannels


def region_names(regions: Sequence[Region]) -> list[str]:
    r"""Return a name for each region: its label, or its number from 1 if it has no label.

    Repeated labels get a number appended.

    >>> from tachyfits.text.region_input import regions
    >>> shapes = "image\ncircle(1,1,1) # text={core}\ncircle(2,2,1)\ncircle(3,3,1) # text={core}"
    >>> region_names(regions("# Region file format: DS9\n" + shapes))
    ['core', '2', 'core-2']
    """
    counts: Counter[str] = Counter()
    names = []
    for number, region in enumerate(regions, 1):
        name = region.label or str(number)
        counts[name] += 1
        names.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    return names


class Measuring(OrderStatistics, Flux):
    """Measurements of several regions of the pixels of one HDU."""

    def measure(
        self,
        region: Regions = None,
        statistics: Sequence[str] = STANDARD_STATISTICS,
        *,
        ddof: int = 0,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Columns:
        """Return statistics as a table: a row for each region, a column for each statistic.

        Parameters
        ----------
        region
            Short for ``select(region).measure()``: a region, a list of them, or a file of several.
            None: the regions of a selected image, or every pixel.
        statistics
            Names of `tachyfits.info.statistics`, "percentile90", or "flux", the flux of an image of
            two axes. One pass computes all one-pass statistics together, and likewise all order
            statistics.
        ddof
            The divisor of "std" is count - ddof.

        Returns
        -------
        Columns
            "region" has the label of each region, or its shape in DS9 syntax if it has no label;
            the other columns are float64 in the unit of the pixels, or integers without a unit
            ("count", "nan"). Undefined pixels are ignored; NaN if no pixel is defined.
            ``write(path)`` writes it to a file: FITS, CSV, JSON, Parquet.

        Raises
        ------
        UsageError
            A statistic is unknown, or the pixels have no flux.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> table = cube.measure(["circle(2,2,1)", "box(4,3,2,2)"], ["count", "mean", "median"])
        >>> table["mean"], table.unit("mean")
        (array([26., 30.]), 'Jy/beam')
        >>> table.write("sources.csv", overwrite=True)
        >>> print(open("sources.csv").read().splitlines()[1])
        "circle(2,2,1)",15,26.0,26.0
        """
        image = self._within(region)
        names = [statistics] if isinstance(statistics, str) else list(statistics)
        if not names:
            raise usage("invalid statistics: expected one or more", 'use ("count", "mean")')
        regions = image._chosen_pixels().regions.regions
        rows = 1 if regions is None else len(regions)
        run: dict[str, Any] = {"threads": threads, "progress": progress}
        columns_by_name: dict[str, NDArray[Any]] = {}
        units = {name: image.unit for name in names if name not in UNITLESS}
        if FLUX in names:
            values, units[FLUX] = fluxes(
                image._chosen_pixels(), range(image.ndim), AskedFlux(None), **run
            )
            columns_by_name[FLUX] = values
        orders = {name: order for name in names if (order := order_statistic(name)) is not None}
        if orders:
            columns_by_name |= zip(
                orders, image._order([*orders.values()], None, **run), strict=True
            )
        if plain := [name for name in names if name not in columns_by_name]:
            for name in plain:
                check_statistic(name)
            columns_by_name |= reduced_arrays(image, plain, None, ddof=ddof, **run)
        arrays: dict[str, NDArray[Any]] = {
            name: columns_by_name[name].reshape(rows) for name in names
        }
        if regions is not None:
            labels = np.array([item.label or as_ds9(item) for item in regions], dtype=np.str_)
            arrays = {"region": labels} | arrays
        columns: Columns = upper.columns_of(arrays, units)
        return columns

    def histograms(
        self,
        region: Regions = None,
        bins: int | None = None,
        range: Sequence[SupportsFloat] | None = None,  # noqa: A002 - NumPy's name for it
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Columns:
        """Count the pixels of each region in the same bins, as a table with a row for each bin.

        Parameters
        ----------
        region
            A list of regions, or a file of several. None: the regions of a selected image.
        bins, range
            As in `histogram`; by default the range of the pixels in any region.

        Returns
        -------
        Columns
            "low" and "high", the ends of each bin in the unit of the pixels, and the counts of each
            region by its label, or by its number, from 1, if it has no label.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("cube.fits")[0].histograms(["circle(2,2,1)", "box(4,3,2,2)"], bins=3)
        >>> table["high"].round(2), table["1"], table["2"]
        (array([18.33, 35.67, 53.  ]), array([5, 5, 5]), array([4, 4, 4]))
        """
        image = self._within(region)
        run: dict[str, Any] = {"threads": threads, "progress": progress}
        histogram = image.histogram(bins, range, **run)
        edges = histogram.edges
        ends = (float(edges[0]), float(edges[-1]))
        shapes = image._chosen_pixels().regions.regions or ()
        parts = image._of_each_region() if shapes else [image]
        arrays: dict[str, NDArray[Any]] = {"low": edges[:-1], "high": edges[1:]}
        names = region_names(shapes) if shapes else ["count"]
        for name, part in zip(names, parts, strict=True):
            counts = part.histogram(len(edges) - 1, ends, **run).counts
            arrays[f"{name}-count" if name in ("low", "high") else name] = counts.astype(np.int64)
        columns: Columns = upper.columns_of(arrays, {"low": image.unit, "high": image.unit})
        return columns

    def cutouts(
        self,
        region: Regions = None,
        *,
        channels: AskedChannels = None,
        pol: str | Sequence[str] | None = None,
        section: Any = None,
        mode: Mode = "trim",
        drop_degenerate: bool = False,
    ) -> dict[str, Image]:
        """Cut out the rectangle around each of several regions; each is computed when it is read.

        Parameters
        ----------
        region
            A list of regions, or a file of several. None: the regions of a selected image.
        channels, pol, section, mode, drop_degenerate
            As in `cutout`.

        Returns
        -------
        dict of str to Image
            The keys are the labels of the regions, or their numbers, from 1, for regions without a
            label; repeated labels get a number appended.

        Raises
        ------
        UsageError
            No pixel of the image is inside a region.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> parts = cube.cutouts(["circle(2,2,1)", "box(4,3,2,2)"])
        >>> {name: part.shape for name, part in parts.items()}
        {'1': (3, 3, 3), '2': (3, 2, 2)}
        """
        regions = self._chosen_pixels().regions.regions if region is None else region
        if regions is None:
            raise usage("no regions to cut out", "give a list, or a file: 'sources.reg'")
        shapes, _ = listed_regions(regions)
        options: dict[str, Any] = {
            "channels": channels, "pol": pol, "section": section, "mode": mode,
            "drop_degenerate": drop_degenerate,
        }  # fmt: skip
        return {
            name: self.cutout(shape, **options)
            for name, shape in zip(region_names(shapes), shapes, strict=True)
        }
