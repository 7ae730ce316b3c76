"""Smoothing on the sky at the edges of a plane.

Every policy treats both axes alike, and values per beam follow the new beam everywhere.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube

EDGES = ["repeat", "pair", "zero", "blank", "keep"]
BLANKS = ["renormalise", "propagate", "zero"]
BEAM = {"BMAJ": 3e-3, "BMIN": 3e-3, "BPA": 0.0}
#: Pixels of a side: more than the kernel's half width, so that pixels in the middle keep away from
#: the edges.
SIDE = 15
WIDTH = 2.5


def symmetric_plane() -> np.ndarray:
    """Return a plane that is the same when mirrored or transposed, with holes."""
    rng = np.random.default_rng(7)
    plane = rng.normal(5.0, 1.0, (SIDE, SIDE))
    plane = plane + plane[::-1]
    plane = plane + plane[:, ::-1]
    plane = (plane + plane.T) / 8
    plane[SIDE // 2, SIDE // 2] = np.nan
    plane[1, 1] = plane[-2, 1] = plane[1, -2] = plane[-2, -2] = np.nan
    return plane


def beyond(plane: np.ndarray, half: int, edge: str) -> np.ndarray:
    """Return the plane with the values beyond its edges."""
    modes = {"repeat": "edge", "keep": "edge", "pair": "reflect"}
    if edge in modes:
        return np.pad(plane, half, mode=modes[edge])
    return np.pad(plane, half, constant_values=0.0 if edge == "zero" else np.nan)


def smoothed(plane: np.ndarray, weights: np.ndarray, edge: str, blanks: str) -> np.ndarray:
    """Smooth a plane pixel by pixel with weights along x times weights along y."""
    half = len(weights) // 2
    kernel = np.outer(weights, weights)
    padded = beyond(plane, half, edge)
    result = np.full(plane.shape, np.nan)
    for y, x in itertools.product(*map(range, plane.shape)):
        near = padded[y : y + 2 * half + 1, x : x + 2 * half + 1]
        good = ~np.isnan(near)
        inside = half <= x < SIDE - half and half <= y < SIDE - half
        if edge == "keep" and not inside:
            result[y, x] = plane[y, x]
        elif blanks == "propagate" and not good.all():
            result[y, x] = np.nan
        else:
            result[y, x] = (kernel[good] * near[good]).sum()
            if blanks == "renormalise":
                result[y, x] *= kernel.sum() / kernel[good].sum()
    result[np.isnan(plane)] = np.nan
    return result


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("blanks", BLANKS)
@pytest.mark.parametrize("unit", ["Jy/beam", "K"])
def test_each_edge_and_blank_policy_has_the_values_of_a_plain_convolution(
    tmp_path: Path, edge: str, blanks: str, unit: str
) -> None:
    plane = symmetric_plane()
    path = write_cube(tmp_path / "plane.fits", {"BUNIT": unit, **BEAM}, data=plane[None])
    image = tf.open(path)[0].smooth_sky(WIDTH, edge=edge, blanks=blanks)
    weights = tf._core.smoothing_weights("gaussian", WIDTH)
    # The kernel in degrees: pixels are 1e-3 degrees wide.
    ratio = (3e-3**2 + (WIDTH * 1e-3) ** 2) / 3e-3**2 if unit == "Jy/beam" else 1.0
    expected = ratio * smoothed(plane, weights, edge, blanks)
    found = image.read()[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for turned in (found.T, found[::-1], found[:, ::-1]):
        np.testing.assert_allclose(turned, found, rtol=1e-13)


def test_a_flat_plane_with_zeros_beyond_falls_off_alike_at_all_four_edges(tmp_path: Path) -> None:
    path = write_cube(tmp_path / "flat.fits", BEAM, data=np.ones((1, SIDE, SIDE)))
    found = tf.open(path)[0].smooth_sky(WIDTH, edge="zero").read()[0]
    middle = SIDE // 2
    ratio = 1 + (WIDTH / 3) ** 2
    assert found[middle, middle] == pytest.approx(ratio, rel=1e-12)
    # Half of the kernel and half of its middle weight.
    weights = tf._core.smoothing_weights("gaussian", WIDTH)
    edge = ratio * weights[len(weights) // 2 :].sum()
    for place in [(0, middle), (-1, middle), (middle, 0), (middle, -1)]:
        assert found[place] == pytest.approx(edge, rel=1e-12)


def test_kept_border_pixels_follow_the_beam(tmp_path: Path) -> None:
    data = np.arange(1.0, 1 + SIDE**2).reshape(1, SIDE, SIDE)
    path = write_cube(tmp_path / "keep.fits", BEAM, data=data)
    image = tf.open(path)[0]
    kept = image.smooth_sky(WIDTH, edge="keep")
    ratio = kept.header["BMAJ"] * kept.header["BMIN"] / (3e-3 * 3e-3)
    assert ratio > 1.5
    np.testing.assert_allclose(kept[0, 0], ratio * data[0, 0], rtol=1e-12)
    np.testing.assert_allclose(kept[0, :, -1], ratio * data[0, :, -1], rtol=1e-12)
    history = "".join(card.value for card in kept.header.cards if card.keyword == "HISTORY")
    assert "values multiplied by 1.694" in history
    same = image.smooth_sky(WIDTH, edge="keep", update_beam=False)
    np.testing.assert_array_equal(same[0, 0], data[0, 0])
