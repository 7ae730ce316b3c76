"""Conversion of xarray arrays; xarray is imported on demand, pixels are read when needed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import either, usage
from tachyfits.base.optional import needed
from tachyfits.file.file import open as open_file
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import PIXEL, Coordinates
from tachyfits.header.given import given_cards
from tachyfits.header.photometry import sampled_unit
from tachyfits.header.tabulated import Tabulated, tabulated
from tachyfits.image.expressions import image_of_array
from tachyfits.interop.dask_arrays import CHUNK_BYTES, file_chunks
from tachyfits.interop.lazy_array import physical_header, section_header
from tachyfits.interop.named_axes import (
    AXES,
    HEADER,
    SHAPE,
    attributes,
    axis_names,
    axis_values,
    warn_of_beams,
)  # fmt: skip
from tachyfits.results.measured import Measured, with_unit
from tachyfits.text.axes import WorldAxis

if TYPE_CHECKING:
    import xarray

    from tachyfits.image.image import Image


def data_array(source: Image | Measured, *, lazy: bool = True) -> xarray.DataArray:
    """Return an image, a plane or a spectrum as an array with named axes and coordinates.

    Axes are named after CTYPE in lower case ("vrad", "stokes"), the sky axes "y" and "x". An axis
    has its coordinates, with their unit; an axis without coordinates, such as those of the sky, has
    0-based pixel numbers. Positions on the sky ("ra" and "dec", of each pixel) are computed when
    they are needed. The unit of the values and the cards are in ``attrs``.
    """
    xr = needed("xarray", "an array of xarray")
    image: Any = source if hasattr(type(source), "_core_image") else None
    result: Any = source if image is None else None
    header = result.header if image is None else physical_header(image)
    shape = source.shape
    # The header alone lacks tables of coordinates.
    coordinates = Coordinates(header, len(shape)) if image is None else image.coordinates
    names = axis_names(coordinates)
    coords = {
        name: _coordinate(name, *axis_values(coordinates, n, shape[n]), coordinates.ctypes[-1 - n])
        for n, name in enumerate(names)
    }
    channels = result._channels if image is None else None
    if channels is not None and channels.unit != PIXEL and not coordinates.axis(0).has_coordinate:
        names = [channels.name.partition("-")[0].lower()]
        coords = {names[0]: _coordinate(names[0], channels.values, channels.unit, channels.name)}
    if image is not None:
        warn_of_beams(image)
    arrays = needed("tachyfits.interop.xarray_arrays", "an array of xarray")
    is_whole = image is None or not lazy
    data = xr.Variable(names, np.asarray(source) if is_whole else arrays.lazy_pixels(image))
    data.attrs = attributes(source.unit, header, shape, names)
    label = getattr(source, "name", "")
    array: xarray.DataArray = xr.DataArray(data, coords=coords, name=label or None)
    sky = _sky(coordinates, names, shape) if len(names) == len(coordinates.ctypes) else None
    array = array if sky is None else array.assign_coords(sky)
    if not is_whole:
        chunks = file_chunks(image, CHUNK_BYTES)
        array.encoding["preferred_chunks"] = dict(zip(names, chunks, strict=True))
    return array


def _coordinate(name: str, values: Any, unit: str, ctype: str) -> tuple[str, Any, dict[str, str]]:
    return name, values, {"units": unit, "ctype": ctype}


def _sky(coordinates: Coordinates, names: Sequence[str], shape: Sequence[int]) -> Any:
    """Return longitude and latitude over the two sky axes; None without a sky."""
    sky = coordinates.sky
    if sky is None:
        return None
    axes = [coordinates.ndim - axis for axis in reversed(sky.axes)]
    words = [coordinates.ctypes[n - 1].split("-")[0].lower() for n in (sky.longitude, sky.latitude)]
    sizes = {names[axis]: shape[axis] for axis in axes}
    if len(set(words)) < 2 or set(words) & {"", *names} or 0 in sizes.values():
        return None
    arrays = needed("tachyfits.interop.xarray_arrays", "an array of xarray")
    return arrays.sky_coordinates(sky, tuple(words), sizes)


def image_of_data_array(array: Any) -> Image:
    """Return an xarray array as an image in memory, with the cards in its ``attrs``.

    Coordinates are updated if the array is a section of the source.

    Raises
    ------
    UsageError
        It has no axes or is not of real numbers, or its axes differ from those of its cards.
    """
    if array.ndim == 0:
        raise usage(
            "invalid array of xarray: expected at least one axis, found none",
            "give one of 1 axis or more",
        )
    unit = str(array.attrs.get("units", "") or "")
    header, tables = _header_of(array, unit)
    image = image_of_array(np.asarray(array.data), header)
    return _with_tables(image, tables) if tables else image


def _with_tables(image: Image, tables: Sequence[Tabulated]) -> Image:
    """Return an image in memory with tables of coordinates beside it."""
    from astropy.io import fits

    header = image.header
    for table in tables:
        header = header.replaced(table.cards)
    primary = fits.PrimaryHDU(image.read(), header.to_astropy())
    stream = io.BytesIO()
    primary.writeto(stream)
    content = stream.getvalue() + b"".join(table.hdu_bytes() for table in tables)
    result: Image = open_file(content)[0]
    return result


def _header_of(array: Any, unit: str) -> tuple[Header, list[Tabulated]]:
    """Return the cards of an array that came from an image, for the remaining section."""
    from astropy.io import fits

    text, shape = array.attrs.get(HEADER), array.attrs.get(SHAPE)
    if not text or shape is None:
        return with_unit(Header([]), unit), []
    cards = given_cards(fits.Header.fromstring(text, sep="\n"))
    coordinates = Coordinates(Header(cards), len(shape))
    names = [str(name) for name in array.attrs.get(AXES, axis_names(coordinates))]
    if len(names) != len(shape):
        raise _not_a_section(array, f"{AXES} of {len(names)} axes")
    remaining = [name for name in names if name in array.dims]
    if list(array.dims) != remaining:
        raise _not_a_section(array, f"axes {', '.join(map(str, array.dims))}")
    ranges, tables = [], []
    for number, name in enumerate(names):
        source, own = axis_values(coordinates, number, shape[number])
        if name not in array.coords:
            raise _not_a_section(array, f"no coordinate {name}")
        coordinate = array.coords[name]
        values = np.atleast_1d(coordinate.values)
        units, ctype = (str(coordinate.attrs.get(key, "")) for key in ("units", "ctype"))
        if own == PIXEL and units != PIXEL and ctype:
            # Coordinates from a table, which the cards lack.
            ranges.append((0, len(values), 1))
            axis = WorldAxis(ctype, units, values.astype(np.float64))
            table = (
                tabulated(axis, len(remaining) - remaining.index(name))
                if name in remaining
                else None
            )
            tables += [table] if table is not None else []
            continue
        ranges.append(_range_of(source, values, array, name))
    header = section_header(cards, shape, ranges, [names.index(name) for name in remaining])
    steps = [step if count > 1 else 1 for _, count, step in ranges]
    return with_unit(header, sampled_unit(unit, coordinates, steps)), tables


def _range_of(source: Any, values: Any, array: Any, name: str) -> tuple[int, int, int]:
    """Return the pixels of an axis with these coordinates: start, count, step."""
    if len(values) == 0:
        return 0, 0, 1
    places = np.abs(np.subtract.outer(values[[0, min(1, len(values) - 1)]], source)).argmin(axis=1)
    start, step = int(places[0]), int(places[1] - places[0]) or 1
    expected = start + step * np.arange(len(values))
    inside = bool((expected >= 0).all() and (expected < len(source)).all())
    if not inside or not np.allclose(source[expected], values, rtol=1e-12, atol=0):
        raise _not_a_section(array, f"other coordinates along {name}")
    return start, len(values), step


def _not_a_section(array: Any, actual: str) -> Exception:
    return usage(
        f"the cards in attrs[{HEADER!r}] are of another array: expected a section of the image "
        f"that they came from, found {actual}",
        either(f"remove them: array.attrs.pop({HEADER!r})"),
    )
