"""Results of aperture photometry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.boundary import public
from tachyfits.text.regions import Region

if TYPE_CHECKING:
    import astropy.table
    from astropy.units import Quantity, UnitBase


@public
@dataclass(frozen=True, eq=False)
class Photometry:
    """Fluxes of regions: arrays with one value for each region.

    Attributes
    ----------
    regions
        The regions.
    flux, error
        Background-subtracted flux and its standard error, as quantities; magnitudes for
        ``unit="mag(AB)"``.
    area
        Pixels in the region, including fractions of pixels.
    background, noise
        Background subtracted from each pixel, and standard deviation of a pixel, in the unit of the
        pixels; NaN if not measured.
    unit
        Unit of the pixels.
    """

    regions: list[Region]
    flux: Quantity
    error: Quantity
    area: NDArray[np.float64]
    background: NDArray[np.float64]
    noise: NDArray[np.float64]
    unit: str | None

    @classmethod
    def of(
        cls,
        regions: list[Region],
        flux: NDArray[np.float64],
        error: NDArray[np.float64],
        unit: UnitBase,
        area: NDArray[np.float64],
        background: NDArray[np.float64],
        noise: NDArray[np.float64],
        pixel_unit: str | None,
        is_magnitude: bool,
    ) -> Photometry:
        """Return the result for numbers in a unit, converted to AB magnitudes if requested."""
        import astropy.units as u

        own, errors = flux * unit, error * unit
        if is_magnitude:
            with np.errstate(invalid="ignore", divide="ignore"):
                relative = np.where(flux > 0, error / flux, np.nan)
                own = u.Quantity(np.where(flux > 0, flux, np.nan), unit).to(u.ABmag)
            errors = 2.5 / np.log(10) * relative * u.mag
        return cls(regions, own, errors, area, background, noise, pixel_unit)

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def labels(self) -> list[str]:
        """Label of each region, or the region itself as text."""
        return [item.label or str(item) for item in self.regions]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name: lists of plain numbers, units as text."""
        return {
            "region": self.labels,
            "flux": self.flux.value.tolist(),
            "error": self.error.value.tolist(),
            "area": self.area.tolist(),
            "background": self.background.tolist(),
            "noise": self.noise.tolist(),
            "flux_unit": str(self.flux.unit),
            "error_unit": str(self.error.unit),
            "unit": self.unit,
        }

    def to_astropy(self) -> astropy.table.QTable:
        """Return an astropy table with a row for each region.

        Examples
        --------
        >>> import tachyfits as tf
        >>> image = tf.open("cube.fits")[0].cutout(channels=0).with_beam("36arcsec")
        >>> image.photometry(["circle(2,2,1)", "circle(4,3,1)"]).to_astropy().colnames
        ['region', 'flux', 'error', 'area', 'background', 'noise']
        """
        from astropy.table import QTable

        names = ("flux", "error", "area", "background", "noise")
        columns = {"region": self.labels, **{name: getattr(self, name) for name in names}}
        table = QTable(columns)
        if self.unit:
            table.meta["BUNIT"] = self.unit
        return table

    def __repr__(self) -> str:
        rows = [
            f"{label}: {flux:.6g} +- {error:.2g}"
            for label, flux, error in zip(
                self.labels, self.flux.value, self.error.value, strict=True
            )
        ]
        return f"<tachyfits Photometry [{self.flux.unit}] {'; '.join(rows)}>"
