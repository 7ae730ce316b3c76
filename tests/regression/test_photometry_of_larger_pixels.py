"""Pixels of a result that are larger than those of the image have its unit where photometry agrees.

The flux of an image stays what it was, or the result has no unit and a warning names the one that
is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube

CARDS: dict[str, Any] = {
    "CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 1e11, "CRPIX3": 1.0, "CDELT3": 1e6,
    "CRPIX1": 9.0, "CRPIX2": 9.0, "CDELT1": -2 / 3600, "CDELT2": 2 / 3600,
    "BMAJ": 10 / 3600, "BMIN": 8 / 3600, "BPA": 0.0,
}  # fmt: skip
FLUXES = ["Jy/pixel", "mJy/spaxel", "Jy", "10**(-20)*erg/s/cm**2/Angstrom", "JY/PIXEL.KM/S"]
BRIGHTNESS = ["Jy/beam", "JY/B", "K", "MJy/sr", "mJy/arcsec2", "K km/s", "Jy/beam.km/s"]
UNKNOWN = ["adu", "W.U.", None]

Call = Callable[[tf.Image], Any]
#: Results whose pixels are larger on the sky, and those whose unit is left out.
RESULTS: list[tuple[str, Call, list[Any]]] = [
    ("mean", lambda image: image.rebin(x=2, y=2), FLUXES),
    ("median", lambda image: image.rebin(x=2, statistic="median"), FLUXES),
    ("largest", lambda image: image.rebin(y=2, statistic="max"), FLUXES),
    ("partial", lambda image: image.rebin(x=3, partial="keep"), FLUXES),
    ("sum", lambda image: image.rebin(x=2, y=2, statistic="sum"), BRIGHTNESS),
    ("sum of channels", lambda image: image.rebin(z=2, statistic="sum"), FLUXES + BRIGHTNESS),
    ("mean of channels", lambda image: image.rebin(z=2), []),
    ("cut", lambda image: image.cutout(section=np.s_[:, ::2, ::2]), FLUXES),
    ("cut backwards", lambda image: image.cutout(section=np.s_[:, :, ::-1]), []),
    ("cut of channels", lambda image: image.cutout(section=np.s_[::2]), []),
    ("every", lambda image: image.smooth("hanning", axis="x", every=2), FLUXES),
    ("plane", lambda image: image.plane(np.s_[0, ::2]), FLUXES),
    ("part of a plane", lambda image: image.plane(np.s_[0])[::2], FLUXES),
    ("collapse", lambda image: image.select(section=np.s_[:, ::2]).collapse("max"), FLUXES),
    ("reordered", lambda image: image.reorder("zxy").rebin((2, 2, 1)), FLUXES),
    ("xarray", lambda image: tf.Image.from_xarray(image.to_xarray()[:, ::2]), FLUXES),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*smoothing along one axis:tachyfits.TachyfitsWarning")
@pytest.mark.parametrize("unit", FLUXES + BRIGHTNESS + UNKNOWN)
@pytest.mark.parametrize(("name", "call", "lost"), RESULTS)
def test_a_unit_that_photometry_changes_is_left_out_with_a_warning(
    tmp_path: Path, name: str, call: Call, lost: list[Any], unit: str | None
) -> None:
    path = write_cube(tmp_path / "cube.fits", CARDS | {"BUNIT": unit}, data=np.ones((4, 16, 16)))
    image = tf.open(path)[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = call(image)
    named = [str(one.message) for one in told if "is left out" in str(one.message)]
    if unit in lost:
        assert not found.unit
        assert "BUNIT" not in found.header
        assert len(named) == 1
        assert repr(unit) in named[0]
    else:
        assert (found.unit or None) == (unit and (found.unit if "xarray" in name else unit))
        assert not named


@pytest.mark.parametrize("unit", ["Jy/pixel", "Jy/beam", "K", "MJy/sr"])
def test_the_flux_of_an_image_stays(tmp_path: Path, unit: str) -> None:
    path = write_cube(tmp_path / "cube.fits", CARDS | {"BUNIT": unit}, data=np.ones((4, 16, 16)))
    image = tf.open(path)[0]
    right = image.spectrum(statistic="flux", unit="Jy").values
    statistic = "sum" if unit == "Jy/pixel" else "mean"
    found = image.rebin(x=2, y=2, statistic=statistic).spectrum(statistic="flux", unit="Jy")
    np.testing.assert_allclose(found.values, right, rtol=1e-9)


def test_a_cutout_of_every_second_pixel_has_no_unit_of_all(tmp_path: Path) -> None:
    path = write_cube(
        tmp_path / "cube.fits", CARDS | {"BUNIT": "Jy/pixel"}, data=np.ones((4, 16, 16))
    )
    out = tmp_path / "cut.fits"
    with pytest.warns(tf.TachyfitsWarning, match="BUNIT 'Jy/pixel' is left out"):
        tf.open(path)[0].cutout(section=np.s_[:, ::2, ::2]).write(out)
    assert tf.open(out)[0].unit is None
    tf.open(path)[0].cutout(section=np.s_[:, 2:, 2:]).write(out, overwrite=True)
    assert tf.open(out)[0].unit == "Jy/pixel"
