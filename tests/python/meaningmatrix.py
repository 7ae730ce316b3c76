"""The headers of the meaning matrix: what places pixels in the world, one row for each kind.

A row names a header, real or synthetic, and the differences that are meant: check to reason. The
checks are in `test_meaning_matrix.py`. To add a header, add a row to `REAL` or `SYNTHETIC`.

Real headers come from the packages that the tests install; images that claim millions of pixels
become windows of a few pixels around the reference pixel (or around the centre).
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from astropy.table import Table

from realfiles import path_of

#: Pixels of a window along NAXIS1, NAXIS2, ...
_WINDOW = (14, 12, 6, 2, 1)

#: Checks that are meant to differ from astropy, each with the reason.
Differences = Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """One header.

    Attributes
    ----------
    name
        Its name in the tests.
    write
        Writes the file into a folder and returns its path.
    hdu
        The HDU of the image.
    differences
        Checks whose outcome is meant to differ from astropy's, each with the reason.
    unread
        Cards that WCSLIB takes for coordinates by mistake.
    """

    name: str
    write: Callable[[Path], Path]
    hdu: int = 0
    differences: Differences = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    """Return float32 pixels whose values are their numbers from 1, in file order."""
    return np.arange(1, np.prod(shape, dtype=int) + 1, dtype="f4").reshape(shape)


# Real headers.


def _packaged(name: str) -> Path | None:
    """Return the path of a file within an installed package; None without the package."""
    package, _, rest = name.partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / rest


def _header_of(path: Path) -> fits.Header:
    content = re.sub(r"[^\n -~]", " ", path.read_bytes().decode("latin-1"))
    separator = "\n" if "\n" in content else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fits.Header.fromstring(content, sep=separator)


def _window(header: fits.Header) -> tuple[fits.Header, tuple[int, ...]]:
    """Return the header and shape of a few pixels around the reference pixel or the centre."""
    header = header.copy()
    described = max([0, *(n for n in range(1, 6) if f"CTYPE{n}" in header)])
    ndim = int(header.get("NAXIS") or 0) or described
    shape = []
    for axis in range(1, ndim + 1):
        wanted = _WINDOW[axis - 1]
        reference = float(header.get(f"CRPIX{axis}", 1.0))
        length = int(header.get(f"NAXIS{axis}") or 10**7)
        count = min(wanted, length)
        middle = reference if 1 <= reference <= length else length / 2
        first = int(np.clip(round(middle) - count // 2, 0, length - count))
        header[f"CRPIX{axis}"] = reference - first
        shape.append(count)
    for keyword in ("SIMPLE", "BITPIX", "NAXIS", "EXTEND", "BSCALE", "BZERO", "BLANK", "XTENSION",
                    "PCOUNT", "GCOUNT", *(f"NAXIS{n}" for n in range(1, 9))):  # fmt: skip
        header.remove(keyword, ignore_missing=True)
    return header, tuple(shape[::-1])


def _real_header(name: str, **differences: str) -> Row:
    """Return the row of a text header of a package."""

    def write(folder: Path) -> Path:
        path = _packaged(name)
        assert path is not None
        header, shape = _window(_header_of(path))
        return _written(folder, name.rsplit("/", 1)[-1], numbered(shape), header)

    return Row(name.rsplit("/", 1)[-1].removesuffix(".hdr"), write, 0, differences)


def _real_file(name: str, hdu: int = 0, **differences: str) -> Row:
    """Return the row of a real file, as it is."""

    def write(folder: Path) -> Path:
        path = path_of(name)
        return Path(shutil.copy(path, folder / f"{hdu}-{path.name}"))

    return Row(name.rsplit("/", 1)[-1], write, hdu, differences)


def _written(folder: Path, name: str, data: np.ndarray, header: Any, *more: Any) -> Path:
    path = folder / f"{name}.fits"
    primary = fits.PrimaryHDU(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cards = fits.Header(header)
        for card in cards.cards:
            card.verify("silentfix")
            if card.keyword in ("COMMENT", "HISTORY", "", "CONTINUE", "END"):
                continue
            primary.header[card.keyword] = (card.value, card.comment)
        fits.HDUList([primary, *more]).writeto(path, overwrite=True, output_verify="silentfix")
    return path


_WESTERBORK = "astropy does not know the unit W.U."
_WCS = "astropy/wcs/tests/data"

REAL = [
    *(
        _real_header(f"{_WCS}/maps/1904-66_{code}.hdr")
        for code in (
            "AIR", "AIT", "ARC", "AZP", "BON", "CAR", "CEA", "COD", "COE", "COO", "COP", "CSC",
            "CYP", "HPX", "MER", "MOL", "NCP", "PAR", "PCO", "QSC", "SFL", "SIN", "STG", "SZP",
            "TAN", "TSC", "ZEA", "ZPN",
        )
    ),
    _real_header(f"{_WCS}/spectra/orion-freq-1.hdr"),
    _real_header(f"{_WCS}/spectra/orion-freq-4.hdr"),
    _real_header(f"{_WCS}/spectra/orion-velo-1.hdr"),
    _real_header(f"{_WCS}/spectra/orion-velo-4.hdr"),
    _real_header(f"{_WCS}/spectra/orion-wave-4.hdr"),
    _real_header(f"{_WCS}/3d_cd.hdr"),
    _real_header(f"{_WCS}/irac_sip.hdr"),
    _real_header(f"{_WCS}/siponly.hdr"),
    _real_header(f"{_WCS}/tpvonly.hdr"),
    _real_header(f"{_WCS}/zpn-hole.hdr"),
    _real_header(f"{_WCS}/unit.hdr"),
    _real_header(f"{_WCS}/sub-segfault.hdr"),
    _real_header("spectral_cube/tests/data/greisen2006.hdr"),
    _real_header("spectral_cube/tests/data/cubewcs1.hdr"),
    _real_header("spectral_cube/tests/data/header_jybeam.hdr"),
    _real_header("radio_beam/tests/data/header_aips.hdr"),
    _real_header("pvextractor/tests/data/w51.hdr"),
    _real_file(f"{_WCS}/dist_lookup.fits.gz", 1),
    _real_file(f"{_WCS}/dss.14.29.56-62.41.05.fits.gz"),
    _real_file("data/cubes/ngc6946.fits", kelvin_of_a_plane=(
        "VELO-HEL without VELREF does not say whether velocities are optical or radio")),
    _real_file("data/cubes/dec_pol_freq_ra.fits", unit_of_a_moment=_WESTERBORK),
    _real_file("data/cubes/ra_pol_freq_dec.fits", unit_of_a_moment=_WESTERBORK),
]  # fmt: skip


# Synthetic headers.

_SKY: dict[str, Any] = {
    "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CUNIT1": "deg", "CUNIT2": "deg",
    "CRPIX1": 6.5, "CRPIX2": 5.0, "CRVAL1": 150.0, "CRVAL2": 20.0,
    "CDELT1": -2e-3, "CDELT2": 2e-3, "RADESYS": "ICRS",
}  # fmt: skip
_LINE = 1.420405751786e9
_BEAM: dict[str, Any] = {"BUNIT": "Jy/beam", "BMAJ": 5e-3, "BMIN": 4e-3, "BPA": 10.0}


def _spectral(ctype: str, value: float, step: float, unit: str, **more: Any) -> dict[str, Any]:
    return {
        "CTYPE3": ctype, "CRVAL3": value, "CDELT3": step, "CUNIT3": unit, "CRPIX3": 2.0,
        "RESTFRQ": _LINE, "SPECSYS": "LSRK", **_BEAM, **more,
    }  # fmt: skip


def _synthetic(
    name: str,
    cards: Mapping[str, Any],
    shape: tuple[int, ...] = (12, 14),
    more: Callable[[], list[Any]] = list,
    **differences: str,
) -> Row:
    """Return the row of an image of the sky with these cards besides; None removes one."""
    header = {key: value for key, value in (_SKY | dict(cards)).items() if value is not None}
    return Row(
        name,
        lambda folder: _written(folder, name, numbered(shape), header, *more()),
        0,
        differences,
    )


def _no_sky() -> dict[str, None]:
    return dict.fromkeys(_SKY)


def _table_of_wavelengths() -> list[Any]:
    row = Table({"COORD": np.array([[[5.0e-7], [5.1e-7], [5.3e-7], [5.6e-7]]])})
    table = fits.BinTableHDU(row, name="WCS-TAB")
    table.header["EXTVER"] = 1
    return [table]


def _distortion_tables() -> list[Any]:
    found = []
    for version, scale in ((1, 0.5), (2, -0.25)):
        y, x = np.mgrid[0:5, 0:5]
        table = fits.ImageHDU((scale * (x - 2.0) * (y - 1.0) / 4).astype("f4"), name="WCSDVARR")
        for axis in (1, 2):
            table.header[f"CRPIX{axis}"] = 1.0
            table.header[f"CRVAL{axis}"] = 1.0
            table.header[f"CDELT{axis}"] = 4.0
        table.header["EXTVER"] = version
        found.append(table)
    return found


def _lookup_row() -> Row:
    def write(folder: Path) -> Path:
        header = fits.Header(_SKY)
        for axis in (1, 2):
            header[f"CPDIS{axis}"] = "LOOKUP"
            header[f"CPERR{axis}"] = 1.0
        data = numbered((12, 14))
        primary = fits.PrimaryHDU(data, header)
        for axis in (1, 2):
            for text in (f"EXTVER: {axis}", "NAXES: 2", "AXIS.1: 1", "AXIS.2: 2"):
                card = fits.Card.fromstring(f"DP{axis}     = '{text}'".ljust(80))
                primary.header.append(card, end=True)
        path = folder / "cpdis.fits"
        fits.HDUList([primary, *_distortion_tables()]).writeto(path, overwrite=True)
        return path

    return Row("cpdis", write)


_SIP = {
    "CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP", "A_ORDER": 2, "B_ORDER": 2,
    "A_2_0": 2e-3, "A_1_1": -1e-3, "B_0_2": 3e-3, "B_2_0": 1e-3,
}  # fmt: skip

#: Coefficients that a rectified image kept: the suffix -SIP would switch them on.
_LEFT_OVER = {key: value for key, value in _SIP.items() if not key.startswith("CTYPE")}


def _iraf(axis: int, words: str) -> dict[str, str]:
    """Return the cards of an attribute of IRAF: records of 68 characters."""
    parts = [words[start : start + 68] for start in range(0, len(words), 68)]
    return {f"WAT{axis}_{n:03d}": part for n, part in enumerate(parts, 1)}


_TNX = {
    "CTYPE1": "RA---TNX", "CTYPE2": "DEC--TNX", "CDELT1": None, "CDELT2": None,
    "CD1_1": -2e-3, "CD2_2": 2e-3, "CD1_2": 0.0, "CD2_1": 0.0,
    **_iraf(1, 'wtype=tnx axtype=ra lngcor = "1. 4. 4. 2. -0.03 0.03 -0.04 0.04 '
               '0.0005 0.0001 0.0 0.0002 0.0003 0.0 0.00001 0.0001 0.0001 0.0001 "'),
    **_iraf(2, 'wtype=tnx axtype=dec latcor = "1. 4. 4. 2. -0.03 0.03 -0.04 0.04 '
               '0.0005 0.0002 0.0 0.0001 0.0002 0.0 0.00001 0.0001 0.0002 0.0001 "'),
}  # fmt: skip


def _types(longitude: str, latitude: str, code: str = "TAN") -> dict[str, Any]:
    """Return CTYPEs of two celestial axes: names padded by hyphens, then the projection."""
    names = (f"{name:-<5}"[: 8 - len(code)] + code for name in (longitude, latitude))
    first, second = names
    return {"CTYPE1": first, "CTYPE2": second, "RADESYS": None}


SYNTHETIC = [
    _synthetic("icrs", {}),
    _synthetic("fk5-of-1975", {"RADESYS": "FK5", "EQUINOX": 1975.0}),
    _synthetic("fk4-of-1950", {"RADESYS": "FK4", "EQUINOX": 1950.0}),
    _synthetic("lower-case-frame", {"RADESYS": "icrs"}),
    _synthetic("old-keyword-of-the-frame", {"RADESYS": None, "RADECSYS": "FK5"}),
    _synthetic("rotated-by-crota", {"CROTA2": 30.0}),
    _synthetic("galactic", _types("GLON", "GLAT")),
    _synthetic("ecliptic", _types("ELON", "ELAT")),
    _synthetic("supergalactic", _types("SLON", "SLAT")),
    _synthetic("latitude-first", {
        "CTYPE1": "DEC--TAN", "CTYPE2": "RA---TAN", "CRVAL1": 20.0, "CRVAL2": 150.0,
    }),
    _synthetic("longpole", {"LONPOLE": 150.0}),
    _synthetic("slant-orthographic", {
        "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "PV2_1": 0.1, "PV2_2": -0.2,
    }),
    _synthetic("sip", _SIP),
    _synthetic("tnx", _TNX),
    _lookup_row(),
    _synthetic("whole-sky-plate-carree", {
        **_types("GLON", "GLAT", "CAR"), "CRVAL1": 180.0, "CRVAL2": 0.0, "CRPIX1": 7.5,
        "CRPIX2": 6.5, "CDELT1": -25.0, "CDELT2": 14.0,
    }),
    _synthetic("healpix", {
        **_types("GLON", "GLAT", "HPX"), "CRVAL1": 0.0, "CRVAL2": 0.0, "CRPIX1": 7.5,
        "CRPIX2": 6.5, "CDELT1": -15.0, "CDELT2": 15.0,
    }),
    _synthetic("frequency", _spectral("FREQ", _LINE, -2e6, "Hz"), (5, 12, 14)),
    _synthetic("frequency-in-gigahertz", _spectral("FREQ", 1.42, -2e-3, "GHz"), (5, 12, 14)),
    _synthetic("radio-velocity", _spectral("VRAD", 1e5, 2e4, "m/s"), (5, 12, 14)),
    _synthetic("optical-velocity", _spectral("VOPT", 1e5, 2e4, "m/s"), (5, 12, 14)),
    _synthetic("optical-velocity-of-frequencies",
               _spectral("VOPT-F2W", 3e6, 2e4, "m/s"), (5, 12, 14)),
    _synthetic("relativistic-velocity", _spectral("VELO", 1e5, 2e4, "m/s"), (5, 12, 14)),
    _synthetic("aips-velocity", _spectral("VELO-LSR", 100.0, 20.0, "km/s", SPECSYS=None,
                                          VELREF=257),
               (5, 12, 14)),
    _synthetic("wavelength", _spectral("WAVE", 5e-7, 1e-10, "m", BUNIT="Jy/pixel"), (5, 12, 14)),
    _synthetic("wavelength-in-air", _spectral(
        "AWAV", 5000.0, 1.25, "Angstrom", BUNIT="10**(-20)*erg/s/cm**2/Angstrom"), (5, 12, 14)),
    _synthetic("logarithmic-wavelength", _spectral("WAVE-LOG", 5e-7, 1e-9, "m", BUNIT="Jy"),
               (5, 12, 14)),
    _synthetic("wavelengths-of-a-table", _spectral(
        "WAVE-TAB", 1.0, 1.0, "m", BUNIT="Jy", CRPIX3=1.0, PS3_0="WCS-TAB", PS3_1="COORD"),
        (4, 12, 14), _table_of_wavelengths,
        axis_in_spectral_cube="spectral-cube reads no -TAB axes"),
    _synthetic("energy", _spectral("ENER", 1.0, 0.25, "keV", BUNIT="ct"), (5, 12, 14),
               axis_in_spectral_cube="spectral-cube reads no energies"),
    _synthetic("wave-number", _spectral("WAVN", 2e6, 100.0, "m-1", BUNIT="Jy"), (5, 12, 14)),
    _synthetic("redshift", _spectral("ZOPT", 0.1, 1e-3, "", BUNIT="Jy"), (5, 12, 14)),
    _synthetic("stokes-first", {
        **_no_sky(), "CTYPE1": "STOKES", "CRVAL1": 1.0, "CDELT1": 1.0, "CRPIX1": 1.0,
        "CTYPE2": "RA---TAN", "CTYPE3": "DEC--TAN", "CTYPE4": "FREQ", "CRVAL2": 150.0,
        "CRVAL3": 20.0, "CRVAL4": _LINE, "CDELT2": -2e-3, "CDELT3": 2e-3, "CDELT4": -2e6,
        "CRPIX2": 6.5, "CRPIX3": 5.0, "CRPIX4": 2.0, "RADESYS": "ICRS", "SPECSYS": "LSRK",
        "BUNIT": "K",
    }, (5, 12, 14, 2)),
    _synthetic("dropped-frequency-axis", {
        "WCSAXES": 3, **_spectral("FREQ", _LINE, -2e6, "Hz"),
    }),
    _synthetic("casa-continuum", {
        **_spectral("FREQ", 2.3e11, 2e9, "Hz", CRPIX3=1.0, RESTFRQ=2.3e11),
        "CTYPE4": "STOKES", "CRVAL4": 1.0, "CDELT4": 1.0, "CRPIX4": 1.0,
    }, (1, 1, 12, 14)),
    _synthetic("words", {**_no_sky(), "CTYPE1": "position", "CTYPE2": "offset", "CRPIX1": 1.0,
                         "CRVAL1": 5.0, "CDELT1": 0.5}),
    _synthetic("no-cards", _no_sky(),
               places_in_a_cutout="without cards the coordinate is the number of the pixel"),
    _synthetic("time-axis", {"CTYPE3": "UTC", "CUNIT3": "s", "CRVAL3": 100.0, "CDELT3": 10.0,
                             "CRPIX3": 1.0, "MJDREF": 55000.0}, (5, 12, 14)),
    _synthetic("solar", {**_types("HPLN", "HPLT"), "CUNIT1": "arcsec", "CUNIT2": "arcsec",
                         "CRVAL1": 10.0, "CRVAL2": -20.0, "CDELT1": 0.6, "CDELT2": 0.6,
                         "DATE-OBS": "2014-01-01T00:00:00", "DSUN_OBS": 1.47e11,
                         "HGLN_OBS": 0.0, "HGLT_OBS": -3.0, "RSUN_REF": 696000000.0}),
    _synthetic("solar-disc-of-sdo", {
        **_types("HPLN", "HPLT"), "CUNIT1": "arcsec", "CUNIT2": "arcsec", "CRVAL1": 0.0,
        "CRVAL2": 0.0, "CDELT1": 150.0, "CDELT2": 150.0, "CRPIX1": 7.45, "CRPIX2": 6.3,
        "CROTA2": 0.06, "DATE-OBS": "2011-06-07T06:33:02.77", "DSUN_OBS": 1.518e11,
        "CRLN_OBS": 254.0, "CRLT_OBS": 0.2, "HGLN_OBS": 0.0, "RSUN_REF": 696000000.0,
        "BUNIT": "DN", "TELESCOP": "SDO/AIA"}),
    _synthetic("solar-synoptic", {
        **_types("CRLN", "CRLT", "CEA"), "CRVAL1": 180.0, "CRVAL2": 0.0, "CDELT1": 25.0,
        "CDELT2": 9.0, "CRPIX1": 7.5, "CRPIX2": 6.5, "DATE-OBS": "2014-01-01T00:00:00"}),
    replace(_synthetic("camera-pixel-sizes", {"XPIXELSZ": 9.0, "YPIXELSZ": 9.0}),
            unread=("XPIXELSZ", "YPIXELSZ")),
    replace(_synthetic("sip-without-suffix", _LEFT_OVER), unread=tuple(_LEFT_OVER)),
    _synthetic("gildas", _spectral("VELOCITY", 1e5, 2e4, "", RESTFRQ=None, SPECSYS=None,
                                   RESTFREQ=1.15271202e11, **{"VELO-LSR": 1e5}), (5, 12, 14)),
    _synthetic("aips", _spectral("FREQ", _LINE, -2e4, "Hz", SPECSYS=None, VELREF=257,
                                 ALTRVAL=1e5, ALTRPIX=2.0, RESTFREQ=_LINE, RESTFRQ=None),
               (5, 12, 14)),
    _synthetic("muse", {"CTYPE3": "AWAV", "CUNIT3": "Angstrom", "CRVAL3": 4750.0, "CRPIX3": 1.0,
                        "CD3_3": 1.25, "CD1_1": -2e-3, "CD2_2": 2e-3, "CD1_2": 1e-5,
                        "CD2_1": -1e-5, "CD1_3": 0.0, "CD2_3": 0.0, "CD3_1": 0.0, "CD3_2": 0.0,
                        "CDELT1": None, "CDELT2": None, "RADESYS": "FK5", "EQUINOX": 2000.0,
                        "BUNIT": "10**(-20)*erg/s/cm**2/Angstrom"}, (5, 12, 14)),
    _synthetic("alternate-description", {"CTYPE1A": "LINEAR", "CRPIX1A": 1.0, "CRVAL1A": 1.0,
                                         "CDELT1A": 1.0, "CTYPE2A": "LINEAR", "CRPIX2A": 1.0,
                                         "CRVAL2A": 1.0, "CDELT2A": 1.0}),
    _synthetic("galactic-north-up-in-fk4", {"CTYPE1": "RA---NCP", "CTYPE2": "DEC--NCP",
                                            "CRVAL2": 60.0, "EPOCH": 1950.0, "RADESYS": None}),
    _synthetic("polynomials-of-tpv", {
        "CTYPE1": "RA---TPV", "CTYPE2": "DEC--TPV", "CDELT1": None, "CDELT2": None,
        "CD1_1": -2e-3, "CD2_2": 2e-3, "PV1_0": 1e-4, "PV1_1": 1.0, "PV1_4": 2e-2,
        "PV2_1": 1.0, "PV2_4": -1e-2, "PV2_6": 3e-2}),
    _synthetic("planetary", {**_types("PELN", "PELT", "CAR")}),
]  # fmt: skip

ROWS = [*REAL, *SYNTHETIC]
