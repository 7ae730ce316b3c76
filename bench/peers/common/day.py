"""Shared by the Python peers for the steps of an astronomer's day: the places, and the checks.

NumPy computes a part of every answer by its definition, in double precision. The inputs have square
pixels, circular beams and an axis of frequencies.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from python_runner import Request

#: Rest frequency of velocities: that of the first channel, GHz.
REST = 100.0
#: Speed of light, km/s.
LIGHT = 299792.458
#: Pixels below this do not count in moments, Jy/beam.
THRESHOLD = 60.0
#: Circles whose spectra are taken, their radius in pixels.
CIRCLES, RADIUS = 16, 8.5
#: Pixels across the path of a cut.
WIDTH = 3
#: Radii of apertures and of the rings of their backgrounds, pixels; the beam in arcsec.
APERTURE, RING, BEAM = 4.3, (8.0, 12.0), 2.16
#: Relative difference of single precision.
TOLERANCE = 1e-4
#: Number of pixels checked along each axis.
LOOKED_AT = 5
#: Number of rows whose neighbours are checked.
PAIRS = 200


def ranges(channels: int) -> list[slice]:
    """Return the first and the last eighth of the channels."""
    part = max(channels // 8, 1)
    return [slice(0, part), slice(channels - part, channels)]


def path(shape: Any) -> list[tuple[float, float]]:
    """Return the ends (x, y) of a path across most of a plane."""
    height, width = shape[-2:]
    return [(0.1 * width, 0.2 * height), (0.85 * width, 0.75 * height)]


def samples(shape: Any) -> Any:
    """Return the places of a cut, shape (across, along, 2): x and y, one pixel apart."""
    start, end = (np.array(point) for point in path(shape))
    length = float(np.hypot(*(end - start)))
    ahead = (end - start) / length
    aside = np.array([-ahead[1], ahead[0]])
    along = np.arange(int(length) + 1)[None, :, None] * ahead
    across = (np.arange(WIDTH) - (WIDTH - 1) / 2)[:, None, None] * aside
    return start + along + across


def circles(shape: Any) -> list[tuple[float, float]]:
    """Return the centres (x, y) of circles, the same in every run."""
    height, width = shape[-2:]
    places = np.random.Generator(np.random.PCG64(50)).uniform(0.15, 0.85, (CIRCLES, 2))
    return [(round(x * width, 1), round(y * height, 1)) for x, y in places]


def apertures(request: Request) -> Any:
    """Return the centres (x, y) of apertures, shape (count, 2)."""
    height, width = request["pixels"]["shape"]
    random = np.random.Generator(np.random.PCG64(55))
    return random.uniform(0.05, 0.95, (request["count"], 2)) * [width, height]


def kelvins(header: Any, channels: Any) -> Any:
    """Return the kelvins of a Jy/beam in some channels, by the definition of Rayleigh and Jeans."""
    hertz = header["CRVAL3"] + np.asarray(channels) * header["CDELT3"]
    area = np.pi / (4 * np.log(2)) * np.radians(header["BMAJ"]) * np.radians(header["BMIN"])
    light, boltzmann = 299792458.0, 1.380649e-23
    return 1e-26 * light**2 / (2 * boltzmann * hertz**2 * area)


def velocities(header: Any) -> Any:
    """Return the radio velocities of the channels, km/s."""
    hertz = header["CRVAL3"] + np.arange(header["NAXIS3"]) * header["CDELT3"]
    return LIGHT * (1 - hertz / (REST * 1e9))


def near(values: Any, right: Any, extent: float = 0.0) -> bool:
    """Tell whether numbers agree, NaN with NaN; errors are relative to them and to `extent`."""
    values, right = np.asarray(values, "f8"), np.asarray(right, "f8")
    return values.shape == right.shape and np.allclose(
        values, right, rtol=TOLERANCE, atol=TOLERANCE * extent, equal_nan=True
    )


def right_noise(result: Any, request: Request) -> dict[str, bool]:
    """Check the standard deviation in kelvins of two ranges of channels."""
    from astropy.io import fits

    with fits.open(request["path"]) as hdus:
        header, cube = hdus[0].header, hdus[0].data
        count = total = squares = 0.0
        for part in ranges(len(cube)):
            for channel in range(len(cube))[part]:
                plane = cube[channel].astype("f8") * kelvins(header, channel)
                count += plane.size
                total += plane.sum()
                squares += (plane**2).sum()
    return {"agrees": near(result, np.sqrt(squares / count - (total / count) ** 2))}


def right_moments(result: Any, request: Request) -> dict[str, bool]:
    """Check integral, mean velocity and dispersion of some pixels."""
    from astropy.io import fits

    integral, mean, dispersion = (np.asarray(one) for one in result)
    agrees = True
    with fits.open(request["path"]) as hdus:
        cube, velocity = hdus[0].data, velocities(hdus[0].header)
        width = abs(velocity[1] - velocity[0])
        for y in np.linspace(0, cube.shape[1] - 1, LOOKED_AT, dtype=int):
            for x in np.linspace(0, cube.shape[2] - 1, LOOKED_AT, dtype=int):
                values = cube[:, y, x].astype("f8")
                bright = values > THRESHOLD
                weights, at = values[bright], velocity[bright]
                if not weights.size:
                    agrees &= np.isnan(integral[y, x])
                    continue
                middle = (weights * at).sum() / weights.sum()
                spread = np.sqrt((weights * (at - middle) ** 2).sum() / weights.sum())
                extent = abs(velocity[-1] - velocity[0])
                agrees &= near(integral[y, x], weights.sum() * width)
                agrees &= near([mean[y, x], dispersion[y, x]], [middle, spread], extent)
    return {"agrees": bool(agrees)}


def right_cut(result: Any, request: Request) -> dict[str, bool]:
    """Check the first and the last channel of a cut, interpolated between four pixels."""
    from astropy.io import fits

    agrees = True
    with fits.open(request["path"]) as hdus:
        cube = hdus[0].data
        at = samples(cube.shape)
        x, y = at[..., 0], at[..., 1]
        left, low = np.floor(x).astype(int), np.floor(y).astype(int)
        dx, dy = x - left, y - low
        agrees &= len(result) == len(cube)
        for channel in (0, -1):
            plane = cube[channel].astype("f8")
            below = plane[low, left] * (1 - dx) + plane[low, left + 1] * dx
            above = plane[low + 1, left] * (1 - dx) + plane[low + 1, left + 1] * dx
            right = (below * (1 - dy) + above * dy).mean(axis=0)
            agrees &= near(result[channel], right, float(np.abs(right).max()))
    return {"agrees": bool(agrees)}


def right_spectra(result: Any, request: Request) -> dict[str, bool]:
    """Check the means of circles in the first and the last channel, shape (circles, channels)."""
    from astropy.io import fits

    result = np.asarray(result)
    agrees = len(result) == CIRCLES
    with fits.open(request["path"]) as hdus:
        cube = hdus[0].data
        y, x = np.indices(cube.shape[1:])
        for values, (centre_x, centre_y) in zip(result, circles(cube.shape), strict=True):
            inside = np.hypot(x - centre_x, y - centre_y) <= RADIUS
            ends = [cube[channel][inside].mean(dtype="f8") for channel in (0, -1)]
            agrees &= len(values) == len(cube) and near([values[0], values[-1]], ends)
    return {"agrees": bool(agrees)}


def right_pairs(result: Any, request: Request) -> dict[str, Any]:
    """Check the pairs of the first rows by all separations; give the sums of the others' numbers.

    The written file has the number of a row as the first column whose name begins with ID, that of
    its neighbour as the second.
    """
    from astropy.io import fits

    radius = np.radians(request["arcsec"] / 3600)
    with fits.open(request["path"]) as one, fits.open(request["second"]) as other:
        (numbers, first), (other_numbers, second) = (
            (hdus[1].data["ID"].astype("i8"), directions(hdus[1].data)) for hdus in (one, other)
        )
    output = Path(request["output"])
    with fits.open(output, memmap=False) as hdus:
        names = [name for name in hdus[1].data.names if name.startswith("ID")]
        left, right = (hdus[1].data[name].astype("i8") for name in names)
    output.unlink()
    neighbours = dict(zip(left.tolist(), right.tolist(), strict=True))
    agrees = len(neighbours) == len(left)
    for number, place in zip(numbers[:PAIRS], first[:PAIRS], strict=True):
        apart = 2 * np.arcsin(np.sqrt(((second - place) ** 2).sum(axis=1)) / 2)
        nearest = int(apart.argmin())
        expected = int(other_numbers[nearest]) if apart[nearest] <= radius else None
        agrees &= neighbours.get(int(number)) == expected
    return {"agrees": bool(agrees), "pairs": [len(left), int(left.sum()), int(right.sum())]}


def directions(table: Any) -> Any:
    """Return unit vectors of positions in degrees."""
    longitude, latitude = np.radians(table["RA"]), np.radians(table["DEC"])
    level = np.cos(latitude)
    parts = [level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)]
    return np.stack(parts, axis=1)


def right_fluxes(result: Any, request: Request) -> dict[str, bool]:
    """Check fluxes less their backgrounds, in sums of pixels, of the first apertures.

    An aperture is divided into 50 x 50 parts of a pixel; the background is the median of the pixels
    whose centres are in the ring.
    """
    from astropy.io import fits

    centres, agrees = apertures(request), True
    parts = (np.arange(50) + 0.5) / 50 - 0.5
    with fits.open(request["path"]) as hdus:
        data = hdus[0].data
        for (x, y), value in zip(centres[:LOOKED_AT], result, strict=False):
            left, low = int(x) - 14, int(y) - 14
            pixels = data[low : low + 30, left : left + 30].astype("f8")
            rows, columns = np.indices(pixels.shape)
            away = np.hypot(rows + low - y, columns + left - x)
            ring = (away >= RING[0]) & (away <= RING[1])
            fine_y = (rows + low - y)[..., None, None] + parts[:, None]
            fine_x = (columns + left - x)[..., None, None] + parts
            share = (np.hypot(fine_y, fine_x) <= APERTURE).mean(axis=(2, 3))
            right = (share * (pixels - np.median(pixels[ring]))).sum()
            agrees &= abs(value - right) <= 2e-3 * (share * np.abs(pixels)).sum()
    return {"agrees": bool(agrees) and len(result) == len(centres)}
