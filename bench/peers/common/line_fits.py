"""Shared by the Python peers for fits of lines: the check, which every minimum passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from python_runner import Request

#: How far a parameter may be from the minimum, in units of its error.
TOLERANCE = 1e-3
#: The least share of spectra whose fit has to reach a minimum.
SHARE = 0.98


def gaussian(x: Any, amplitude: Any, centre: Any, width: Any) -> Any:
    """Return a Gaussian of this standard deviation."""
    return amplitude * np.exp(-0.5 * ((x - centre) / width) ** 2)


def at_minima(found: Any, request: Request) -> dict[str, bool]:
    """Check amplitudes, centres and standard deviations in channels, of shape (3, y, x)."""
    from astropy.io import fits

    with fits.open(request["path"]) as hdus:
        values = hdus[0].data.astype("f8")
    x = np.arange(len(values))[:, None, None]
    amplitude, centre, width = found
    offset = (x - centre) / width
    shape = np.exp(-0.5 * offset**2)
    slopes = np.stack(
        [shape, amplitude * shape * offset / width, amplitude * shape * offset**2 / width]
    )
    rest = values - amplitude * shape
    products = np.einsum("izyx,jzyx->yxij", slopes, slopes)
    gradient = np.einsum("izyx,zyx->yxi", slopes, rest)
    good = np.isfinite(products).all(axis=(2, 3))
    products[~good] = np.eye(3)
    inverse = np.linalg.inv(products)
    noise = np.sqrt((rest**2).sum(axis=0) / (len(values) - 3))
    errors = np.sqrt(np.einsum("yxii->yxi", inverse)) * noise[..., None]
    steps = np.einsum("yxij,yxj->yxi", inverse, gradient)
    near = good & (np.abs(steps) < TOLERANCE * errors).all(axis=2)
    return {"agrees": bool(near.mean() >= SHARE)}
