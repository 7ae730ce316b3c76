"""No header makes coordinates crash the process or raise a foreign exception."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord

import tachyfits as tf
from fitsbytes import primary

SKY = ["CTYPE1  = 'RA---TAN'", "CTYPE2  = 'DEC--TAN'", "CDELT1  = 0.1", "CDELT2  = 0.1",
       "BMAJ    = 0.3", "BMIN    = 0.2", "BPA     = 0.0"]  # fmt: skip

IRAF = ["CTYPE1  = 'RA---TNX'", "CTYPE2  = 'DEC--TNX'"]
PLATE = ("AMDX1", "AMDX2", "AMDY1", "AMDY2", "PPO3", "PPO6", "XPIXELSZ", "YPIXELSZ", "CNPIX1",
         "CNPIX2", "PLTRAH", "PLTRAM", "PLTRAS", "PLTDECD", "PLTDECM", "PLTDECS")  # fmt: skip

USES: dict[str, Callable[[tf.Image], object]] = {
    "wcs": lambda image: image.wcs,
    "celestial": lambda image: image.wcs.has_celestial,
    "pv": lambda image: image.pv([(0, 0), (2, 2), (3, 1)]),
    "smooth_sky": lambda image: image.smooth_sky(2.0),
    "smooth_sky_angle": lambda image: image.smooth_sky("1 arcmin"),
    "smooth": lambda image: image.smooth(axis="x"),
    "moments": lambda image: image.moments((0, 1, 2)),
    "moment_unit": lambda image: image.moment(1, unit="km/s", rest="1.42 GHz"),
    "peak": lambda image: image.collapse("max_coordinate"),
    "spectrum": lambda image: image.spectrum(),
    "spectrum_unit": lambda image: image.spectrum(unit="GHz"),
    "world_axis": lambda image: [image.world_axis(n) for n in range(image.ndim)],
    "summary": lambda image: str(image.coordinates),
    "repr": repr,
    "coordinates": lambda image: image.coordinates.pixel_to_world(1, 2),
    "pixel": lambda image: image.coordinates.world_to_pixel(image.coordinates.pixel_to_world(1, 2)),
    "region": lambda image: image.region_mask("icrs; circle(0, 0, 1)"),
    "plane": lambda image: image.collapse("sum").wcs,
}


def opened(cards: list[str], shape: tuple[int, ...] = (3, 4, 5)) -> tf.Image:
    lines = [card.ljust(80)[:80].encode() for card in cards]
    stored = np.arange(float(np.prod(shape))).reshape(shape).astype(">f4")
    content = primary(stored)
    end = content.index(b"END".ljust(80))
    head = content[:end] + b"".join(lines) + b"END".ljust(80)
    head += b" " * (-len(head) % 2880)
    return tf.open(head + content[2880:])[0]


def use(image: tf.Image) -> list[str]:
    """Use the coordinates in every way; return the names of those that failed, as they may."""
    failed = []
    for name, action in USES.items():
        try:
            action(image)
        except tf.TachyfitsError as error:
            if "\nhint: " not in str(error):
                raise AssertionError(f"{name}: an error without a hint") from error
            failed.append(name)
    return failed


@pytest.mark.parametrize(
    "cards",
    [
        ["WCSAXES =                65536"], ["WCSAXES =               100000"],
        ["WCSAXES =           2147483647"], ["WCSAXES =                46341"],
        ["WCSAXES =                   33"], ["WCSAXES = 99999999999999999999"],
        ["WCSAXESA=                65536", "CRPIX1A = 1.0"], ["WCSAXES =                   -1"],
        ["WCSAXES = 'two'"], ["WCSAXES =                  2.5"], ["CRPIX99 = 1.0"],
        ["CTYPE999= 'FREQ'"], ["PC99_1  = 1.0"], ["CD999_999= 1.0"], ["PV1_9999= 1.0"],
        ["PV99_1  = 1.0"], ["A_ORDER =            100000", "B_ORDER = 100000"],
        ["A_ORDER =                 9", "B_ORDER = 9", "A_9_9   = 1.0"], ["A_ORDER = 'x'"],
        ["CPDIS1  = 'Lookup'", "DP1     = 'NAXES: 65536'"], ["CPDIS1  = 'Lookup'"],
        ["CQDIS1  = 'TPD'", "DQ1     = 'NAXES: 65536'"], ["D2IMDIS1= 'LOOKUP'"],
        ["CQDIS1  = 'TPD'", "DQ1     = 'NAXES: 2'", "DQ1     = 'AXIS.1: 99'"],
        ["CPDIS1  = 'POLYNOMIAL'", "DP1     = 'NAXES: 2'", "DP1     = 'NTERMS: 99999999'"],
        ["LONPOLE = 'north'"], ["LATPOLE = 1E400"], ["CRVAL1  = 1E400"], ["CRVAL1  = NaN"],
        ["CDELT3  = -1E308", "CRVAL3  = 1E308", "CTYPE3  = 'FREQ'"], ["CDELT1  = 0.0"],
        ["CTYPE3  = 'RA---SIN'"], ["CTYPE2  = 'RA---TAN'"], ["CTYPE1  = 'GLON-CAR'"],
        ["CTYPE1  = 'RA---XXX'", "CTYPE2  = 'DEC--XXX'"], ["CTYPE3  = 'WAVE-TAB'"],
        ["CTYPE3  = 'WAVE-LOG'"], ["CTYPE3  = 'FELO-HEL'", "CDELT3  = 1.0"],
        ["CTYPE3  = 'FREQ-W2X'"], ["CTYPE3  = 'WAVE-GRI'"], ["CTYPE3  = 'VOPT-F2W'"],
        ["CUNIT1  = 'm'"], ["CUNIT1  = '((((((((('"], ["CUNIT3  = '10**99999 m'"],
        ["CUNIT3  = 'm**99999999999'", "CTYPE3  = 'WAVE'"], ["BMAJ    = 1E300"],
        ["CD1_1   = 0.0", "CD2_2   = 0.0"], ["PC1_1   = 0.0", "PC2_2   = 0.0"],
        ["PC001001= 1.0", "PC001002= 'x'"], ["CROTA2  = 'x'"], ["CROTA2  = 1E308"],
        ["EQUINOX = 'J2000'"], ["RADESYS = 5"], ["SPECSYS = T"], ["VELREF  = 1E300"],
        ["VELREF  = 99999999999999999999"], ["OBSGEO-X= 'here'"], ["DATE-OBS= 5"],
        ["MJD-OBS = 'now'"], ["RESTFRQ = -1.0"], ["RESTWAV = 1E-320"], ["CNAME1  = 1"],
        [*IRAF, "WAT1_001= 'wtype=%s'" % ("a" * 50)], [*IRAF, "WAT1_001= 'wtype=tnx \"'"],
        [*IRAF, "WAT1_001= 'wtype=tnx a=b lngcor = \"1. 2E9 2E9 1. 0. 1. 0. 1. 0. \"'"],
        [*IRAF, "WAT1_001= 'wtype=tnx a=b lngcor = \"1. -4. 9. 2. 0. 1. 0. 1. 5 6 7 8 9 \"'"],
        [*IRAF, "WAT1_001= 'wtype=zpx projp99999=1 lngcor = \"1. 1. 1. 2. 0. 1. 0. 1. 5 \"'"],
        ["AMDX1   = 67.2", "AMDY1   = 67.2", "XPIXELSZ= 0.0"], ["XPIXELSZ= 'x'"],
        [*(f"{key:<8}= 0.0" for key in PLATE)], [*(f"{key:<8}= 1E300" for key in PLATE)],
        [*(f"{key:<8}= 1.0" for key in PLATE), "PLATEID = '%s'" % ("A" * 60)],
        [*(f"{key:<8}= 1.0" for key in PLATE), "AMDX15  = 1E-9"],
        ["CPDIS1  = 'LOOKUP'", "DP1     = 'EXTVER: 1E30'"], ["AXISCORR= 'x'"],
        ["PS1_0   = 5"], ["PS3_0   = 'T'", "PS3_1   = 'C'", "CTYPE3  = 'WAVE-TAB'"],
    ],
)  # fmt: skip
def test_hostile_cards_are_errors_of_the_package(cards: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        replaced = {card[:8] for card in cards}
        kept = [card for card in SKY if card[:8] not in replaced]
        for lines in ([*kept, *cards], cards, [*SKY, *cards]):
            use(opened(lines))
            use(opened(lines, (4, 5)))


@pytest.mark.parametrize("keyword", ["AMDX14", "AMDX20", "AMDY14"])
def test_terms_that_no_plate_solution_has_are_errors_unless_they_are_0(keyword: str) -> None:
    numbers = dict.fromkeys(PLATE, 1.0) | dict.fromkeys(("AMDX1", "AMDY1"), 67.2)
    numbers |= dict.fromkeys(("XPIXELSZ", "YPIXELSZ"), 25.3)
    numbers |= dict.fromkeys(("PPO3", "PPO6"), 1.8e5)
    plate = [f"{key:<8}= {number}" for key, number in numbers.items()]
    assert opened([*SKY, *plate, f"{keyword:<8}= 0.0"], (4, 5)).wcs is not None
    # WCSLIB 8 ends the process.
    for action in (lambda image: image.wcs, lambda image: image.coordinates.pixel_to_world(1, 2)):
        with pytest.raises(tf.FormatError, match=f"invalid {keyword} 1e-09: expected 0"):
            action(opened([*SKY, *plate, f"{keyword:<8}= 1E-9"], (4, 5)))


def test_more_axes_than_wcslib_takes_are_an_error_that_names_the_card() -> None:
    for count in (33, 65536, 2**31 - 1):
        image = opened([*SKY, f"WCSAXES = {count:20}"], (4, 4))
        with pytest.raises(tf.FormatError, match=f"invalid WCSAXES {count}: .* up to 32"):
            image.wcs  # noqa: B018
        # Its sky needs no number of axes.
        assert image.pv([(0, 0), (3, 3)]).header["CUNIT1"] == "deg"


KEYWORDS = [
    *(f"{root}{n}" for root in ("CTYPE", "CUNIT", "CRPIX", "CRVAL", "CDELT", "CROTA", "CNAME")
      for n in (1, 2, 3, 4, 33)),
    *(f"{root}{i}_{j}" for root in ("PC", "CD") for i in (1, 2, 3) for j in (1, 2, 3)),
    *(f"PV{i}_{m}" for i in (1, 2, 3) for m in (0, 1, 2, 3, 20)), "PS3_0", "PS3_1", "PS3_2",
    "WCSAXES", "LONPOLE", "LATPOLE", "RADESYS", "EQUINOX", "SPECSYS", "SSYSOBS", "VELREF",
    "RESTFRQ", "RESTFREQ", "RESTWAV", "VELOSYS", "ZSOURCE", "DATE-OBS", "MJD-OBS", "OBSGEO-X",
    "A_ORDER", "B_ORDER", "A_2_0", "B_0_2", "AP_ORDER", "CPDIS1", "DP1", "CQDIS2", "DQ2",
    "WAT1_001", "WAT2_001", "AMDX1", "AMDY1", "XPIXELSZ", "PLTRAH", "AXISCORR", "D2IMDIS1",
    "BMAJ", "BMIN", "BPA", "BUNIT", "BTYPE", "CTYPE1A", "CRPIX1A", "WCSAXESA", "WCSNAME",
]  # fmt: skip
VALUES = [
    "'RA---TAN'", "'DEC--TAN'", "'RA---SIN'", "'DEC--SIN'", "'GLON-CAR'", "'GLAT-CAR'", "'FREQ'",
    "'VRAD'", "'VELO-LSR'", "'FELO-HEL'", "'WAVE-LOG'", "'AWAV-GRA'", "'WAVE-TAB'", "'VOPT-F2W'",
    "'STOKES'", "'TIME'", "'HPLN-ZPN'", "'RA---TPV'", "'DEC--TPV'", "'RA---TAN-SIP'", "''", "'m/s'",
    "'KM/S'", "'Hz'", "'A'", "'deg'", "'furlong'", "'1.0'", "'1,5'", "'NAXES: 2'", "'NAXES: 70000'",
    "'Lookup'", "'TPD'", "'K (Tmb)'", "'Jy/beam'", "0", "1", "2", "3", "-1", "257", "65536", "1.0",
    "0.0", "-0.001", "1E-18", "1E308", "-1E308", "1E400", "1.42E9", "2.5", "T", "F", "(1.0, 2.0)",
    "", "NaN", "1,5", "99999999999999999999",
]  # fmt: skip


def random_cards(seed: int) -> list[str]:
    """Give a header that is right in most cards, or in none."""
    choose = random.Random(seed)
    good = [*SKY, "CTYPE3  = 'FREQ'", "CUNIT3  = 'Hz'", "CRVAL3  = 1.4E9", "CDELT3  = 1E6",
            "RESTFRQ = 1.42E9"]  # fmt: skip
    cards = good if seed % 2 else []
    for _ in range(choose.randint(1, 10)):
        cards = [*cards, f"{choose.choice(KEYWORDS):<8}= {choose.choice(VALUES)}"]
    choose.shuffle(cards)
    return cards


def fuzz(seeds: range) -> None:
    """Use the coordinates of random headers; the seed of one that fails is in the error."""
    for seed in seeds:
        try:
            use(opened(random_cards(seed)))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {random_cards(seed)}") from error


def test_random_headers_never_raise_foreign_exceptions() -> None:
    # In a process of its own: a crash of WCSLIB fails this test and no other.
    code = (
        "import sys, warnings; warnings.simplefilter('ignore'); "
        f"sys.path[:0] = {sys.path!r}; import test_hostile_coordinates as t; t.fuzz(range(150))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr[-3000:]) == (0, "")


@pytest.mark.parametrize("seed", range(12))
def test_valid_headers_agree_with_astropy(seed: int) -> None:
    """Cards that are right reach WCSLIB unchanged: the same coordinates as of the whole header."""
    from astropy.io import fits
    from astropy.wcs import WCS

    choose = random.Random(seed)
    code = choose.choice(["TAN", "SIN", "CAR", "ZEA", "AIT"])
    lon, lat = choose.choice([("RA--", "DEC-"), ("GLON", "GLAT")])
    angle = choose.uniform(-3, 3)
    values: dict[str, Any] = {
        "CTYPE1": f"{lon}-{code}", "CTYPE2": f"{lat}-{code}", "CTYPE3": "FREQ",
        "CRVAL1": choose.uniform(0, 360), "CRVAL2": choose.uniform(-60, 60), "CRVAL3": 1.4e9,
        "CRPIX1": choose.uniform(-5, 10), "CRPIX2": choose.uniform(-5, 10), "CRPIX3": 2.0,
        "CDELT1": -0.01, "CDELT2": 0.0123, "CDELT3": 1e6, "LATPOLE": 90.0,
        "PC1_1": math.cos(angle), "PC1_2": -math.sin(angle), "PC2_1": math.sin(angle),
        "PC2_2": math.cos(angle), "RADESYS": "FK5", "EQUINOX": 2000.0, "RESTFRQ": 1.42e9,
    }  # fmt: skip
    if code in ("TAN", "SIN", "ZEA"):
        values["LONPOLE"] = choose.uniform(170, 190)
    image = opened([f"{key:<8}= {value!r:>20}" for key, value in values.items()])
    header = fits.Header(values)
    header["NAXIS"] = 3
    pixels = (np.arange(4.0), np.arange(4.0)[::-1], np.array([0.0, 1.0, 2.0, 0.5]))
    theirs = WCS(header).wcs_pix2world(*pixels, 0)
    np.testing.assert_array_equal(image.wcs.wcs_pix2world(*pixels, 0), theirs)
    sky = image.coordinates.sky
    assert sky is not None
    two = sky.wcs.wcs_pix2world(*pixels[:2], 0)
    np.testing.assert_allclose(two, theirs[:2], rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        sky.matrix, WCS(header).celestial.pixel_scale_matrix, rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(image.world_axis("z").values, 1.4e9 + 1e6 * (np.arange(3) - 1))


ARGUMENTS: dict[str, Callable[[tf.Image, Any], object]] = {
    "path": lambda image, value: image.pv(value),
    "width of a path": lambda image, value: image.pv([(0, 0), (3, 3)], width=value),
    "spacing": lambda image, value: image.pv([(0, 0), (3, 3)], spacing=value),
    "width": lambda image, value: image.smooth_sky(value),
    "unit": lambda image, value: image.spectrum(unit=value),
    "rest": lambda image, value: image.moment(1, unit="GHz", rest=value),
    "convention": lambda image, value: image.moment(1, unit="GHz", convention=value),
    "rest_medium": lambda image, value: image.moment(1, unit="GHz", rest_medium=value),
    "order": lambda image, value: image.moment(value),
    "orders": lambda image, value: image.moments(value),
    "channels": lambda image, value: image.world_axis("z", value),
    "statistic": lambda image, value: image.spectrum(statistic=value),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_odd_arguments_raise_errors_of_the_package(name: str) -> None:
    image = opened([*SKY, "CTYPE3  = 'FREQ'", "CRVAL3  = 1.4E9", "CDELT3  = 1E6"])
    odd = [None, "x", "", 5, -1, 1.5, math.nan, math.inf, [], (1, 2), [[1]], {}, object(), True,
           1j, np.array([1, 2]), "nan deg", "-1 arcsec", "1e400 deg", 3 * u.m, [1, 2] * u.deg,
           slice(1, 2), b"x", "1 2 deg", 10**400, SkyCoord([1, 2], [2, 3], unit="deg")]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in odd:
            try:
                ARGUMENTS[name](image, value)
            except tf.TachyfitsError:
                continue
