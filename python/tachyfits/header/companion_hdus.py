"""HDUs beside an image that its coordinates need, for astropy.

They are tables of -TAB axes (Paper III, 6), and images of corrections (CPDIS, D2IM, AXISCORR).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import UsageKeyError, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.wcs_cards import Kind, WcsCards
from tachyfits.text.axes import algorithm_of

if TYPE_CHECKING:
    from tachyfits.header.coordinates import Coordinates

#: Maximum pixels of an image of corrections; those of HST have some thousand.
MOST_CORRECTIONS = 1 << 24


def companion_hdus(coordinates: Coordinates, cards: Iterable[tuple[Kind, Any]]) -> Any:
    """Return the HDUs that coordinates need, for astropy; None without any.

    They are the tables of -TAB axes (Paper III, 6), and images of corrections (CPDIS, D2IM).
    """
    texts: dict[int, dict[int | None, str]] = {}
    versions: dict[int, int] = {}
    lookups: dict[tuple[str, int], Any] = {}
    for kind, value in cards:
        if kind.root == "PS":
            texts.setdefault(kind.axes[0], {})[kind.parameter] = str(value).strip()
        elif kind.root == "PV" and kind.parameter == 1:
            versions[kind.axes[0]] = int(value)
        elif (image := coordinates.cards.lookup_of(kind, value)) is not None:
            lookups[image] = _correction(coordinates, *image, kind.keyword)
    tables: dict[tuple[str, int], dict[str, Any]] = {}
    for axis, names in texts.items():
        if algorithm_of(coordinates.cards.text(f"CTYPE{axis}")) != "TAB":
            continue
        name, version = names.get(0, ""), versions.get(axis, 1)
        columns = [names[n] for n in (1, 2) if names.get(n)]
        if not name or not columns:
            raise usage(f"its table is not named: PS{axis}_0 and PS{axis}_1", "use pixels")
        table = _beside(coordinates, name, version, f"CTYPE{axis}")
        if table.kind != "binary table":
            hint = "use the file that has it"
            raise usage(f"HDU {name},{version} is not a binary table", hint)
        arrays = [np.asarray(table[column], dtype=np.float64) for column in columns]
        tables.setdefault((name, version), {}).update(zip(columns, arrays, strict=True))
    if not tables and not lookups:
        return None
    from astropy.io import fits

    hdus = [fits.PrimaryHDU(), *lookups.values()]
    for (name, version), arrays_by_column in tables.items():
        kinds = [(column, "f8", array.shape[1:]) for column, array in arrays_by_column.items()]
        rows = np.zeros(len(next(iter(arrays_by_column.values()))), dtype=kinds)
        for column, array in arrays_by_column.items():
            rows[column] = array
        hdus.append(fits.BinTableHDU(rows, name=name, ver=version))
    return fits.HDUList(hdus)


def _correction(coordinates: Coordinates, name: str, version: int, keyword: str) -> Any:
    """Return an image of corrections for astropy."""
    from astropy.io import fits

    hint = "use the file that has it, or remove the cards of the distortion"
    image = _beside(coordinates, name, version, keyword)
    if image.kind != "image":
        raise usage(f"HDU {name},{version} is not an image", hint)
    if image.ndim > 2 or image.size > MOST_CORRECTIONS:
        raise usage(
            f"HDU {name},{version} of shape {image.shape} has more than two axes or "
            f"{MOST_CORRECTIONS} pixels",
            hint,
        )
    cards = WcsCards(image.header, image.ndim, coordinates.where)
    hdu = fits.ImageHDU(np.asarray(image.read(), dtype=np.float32), name=name, ver=version)
    for n in (1, 2):
        for root, default in (("CRPIX", 0.0), ("CRVAL", 0.0), ("CDELT", 1.0)):
            hdu.header[f"{root}{n}"] = cards.number(f"{root}{n}", default)
    return hdu


def _beside(coordinates: Coordinates, name: str, version: int, keyword: str) -> Any:
    """Return a companion HDU of coordinates."""
    hint = "use the file that has it, or use pixels"
    try:
        if coordinates.companion is not None:
            return coordinates.companion(name, version)
    except UsageKeyError:
        pass
    raise usage(
        f"{coordinates.place}the coordinates ({keyword}) need the HDU {name!r} of version "
        f"{version}, which is not in the file",
        hint,
    )
