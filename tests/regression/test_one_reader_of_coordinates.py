"""Positions, regions, copies and astropy's view agree about everything that places pixels."""

from __future__ import annotations

import io
import math
import pickle
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy import log
from astropy import units as u
from astropy.coordinates import (
    FK4,
    FK5,
    ICRS,
    BaseCoordinateFrame,
    Galactic,
    SkyCoord,
    SphericalRepresentation,
)
from astropy.io import fits
from astropy.wcs import WCS
from astropy.wcs.utils import custom_wcs_to_frame_mappings

import tachyfits as tf

Cards = Mapping[str, Any] | Iterable[tuple[str, Any]]

#: Pixel that is compared, and the part of the image that has it.
X, Y, PART = 10, 20, np.s_[4:30, 5:45]


@pytest.fixture(autouse=True)
def _quiet() -> Iterable[None]:
    level = log.level
    log.setLevel("ERROR")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="astropy")
        yield
    log.setLevel(level)


def sky(
    code: str = "TAN", names: tuple[str, str] = ("RA--", "DEC-"), **more: Any
) -> dict[str, Any]:
    cards = {
        "CTYPE1": f"{names[0]}-{code}", "CTYPE2": f"{names[1]}-{code}", "CRPIX1": -100.0,
        "CRPIX2": 60.0, "CRVAL1": 150.0, "CRVAL2": 30.0, "CD1_1": -1e-3, "CD1_2": 0.0,
        "CD2_1": 0.0, "CD2_2": 1e-3,
    }  # fmt: skip
    return {**cards, **more}


def header_of(cards: Cards) -> fits.Header:
    header = fits.Header()
    for keyword, value in cards.items() if isinstance(cards, Mapping) else cards:
        header[keyword] = value
    return header


def image_of(cards: Cards, shape: tuple[int, ...] = (40, 50)) -> tf.Image:
    stream = io.BytesIO()
    pixels = np.arange(math.prod(shape), dtype="f4").reshape(shape)
    fits.PrimaryHDU(pixels, header_of(cards)).writeto(stream, output_verify="ignore")
    return tf.open(stream.getvalue())[0]


def attributes_of_iraf(kind: str, more: str = "") -> list[tuple[str, str]]:
    """Give the records of a polynomial: 68 characters each, blanks at their ends included."""
    numbers = "1. 4. 4. 2. -0.3 0.3 -0.4 0.4 0.05 0.01 0.0 0.02 0.03 0.0 0.001 0.01 0.01 0.01 "
    cards = []
    for axis, name, polynomial in ((1, "ra", "lngcor"), (2, "dec", "latcor")):
        text = f'wtype={kind} axtype={name} {more}{polynomial} = "{numbers}"'
        records = (text[at : at + 68] for at in range(0, len(text), 68))
        cards += [(f"WAT{axis}_{n:03}", f"{record:<68}") for n, record in enumerate(records, 1)]
    return cards


PLATE: dict[str, Any] = {
    "PLTRAH": 16, "PLTRAM": 36, "PLTRAS": 26.3, "PLTDECSN": "-", "PLTDECD": 75, "PLTDECM": 6,
    "PLTDECS": 10.6, "EQUINOX": 2000.0, "PLTSCALE": 67.2, "XPIXELSZ": 25.3, "YPIXELSZ": 25.3,
    "PPO3": 177500.0, "PPO6": 177500.0, "CNPIX1": 7000, "CNPIX2": 6900,
    **{f"AMDX{n}": value for n, value in enumerate(
        (67.23, -0.2, -200.0, 1.1e-5, -8e-6, 6e-6, 0.0, 2e-6, -4e-8, 2e-6, 1e-7, 0.0, 0.0), 1)},
    **{f"AMDY{n}": value for n, value in enumerate(
        (67.24, 0.2, 100.0, 1.2e-5, -9e-6, 7e-6, 0.0, 2e-6, -4e-8, 2e-6, 1e-7, 0.0, 0.0), 1)},
}  # fmt: skip
SIP = {"A_ORDER": 2, "B_ORDER": 2, "A_0_2": 2e-6, "A_2_0": 8e-6, "A_1_1": -5e-6, "B_0_2": -7e-6,
       "B_2_0": 1e-6, "B_1_1": 6e-6}  # fmt: skip
PV = {"PV1_1": 1.001, "PV1_2": 0.002, "PV1_4": 0.01, "PV2_1": 0.999, "PV2_2": 0.001, "PV2_4": 0.02}

KINDS: dict[str, Cards] = {
    **{code: sky(code) for code in ("TAN", "SIN", "AIT", "CEA", "MER", "NCP", "GLS", "HPX", "XPH",
                                    "CSC", "PCO")},
    "CAR": sky("CAR", CRVAL2=0.0), "ZPN": sky("ZPN", PV2_1=1.0, PV2_3=-50.0),
    "TPV": sky("TPV", **PV), "TAN with PV": sky(**PV, PV1_7=0.01),
    "TNX": [*sky("TNX").items(), *attributes_of_iraf("tnx")],
    "ZPX": [*sky("ZPX").items(), *attributes_of_iraf("zpx", "projp1=1.0 projp3=-50.0 ")],
    "DSS": PLATE, "DSS beside TAN": {**sky(), **PLATE}, "SIP": sky("TAN-SIP", **SIP),
    "pixels of a CCD": sky(XPIXELSZ=6.0, YPIXELSZ=6.0),
    "latitude first": sky(CTYPE1="DEC--TAN", CTYPE2="RA---TAN", CRVAL1=30.0, CRVAL2=150.0),
    "linear": sky(CTYPE1="RA", CTYPE2="DEC"),
    "galactic": sky("SIN", ("GLON", "GLAT")), "helioprojective": sky("TAN", ("HPLN", "HPLT")),
    "heliographic": sky("CAR", ("HGLN", "HGLT"), CRVAL2=0.0),
    "Carrington": sky("CEA", ("CRLN", "CRLT"), CRVAL2=0.0),
    "planet": sky("CAR", ("MALN", "MALT"), CRVAL2=0.0),
    "unknown body": sky("CAR", ("PELN", "PELT"), CRVAL2=0.0),
    "helioecliptic": sky("TAN", ("HLON", "HLAT")), "date": sky(RADESYS="GAPPT"),
    "alternate": {**sky(), **{f"{key}A": value for key, value in sky("CAR").items()}},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_positions_agree_with_wcslib_and_go_back(kind: str) -> None:
    header = header_of(KINDS[kind])
    if "PLTRAH" not in header:
        # WCSLIB takes sizes of pixels for a plate.
        header.remove("XPIXELSZ", ignore_missing=True)
        header.remove("YPIXELSZ", ignore_missing=True)
    image, theirs = image_of(KINDS[kind]), WCS(header)
    right = theirs.all_pix2world([[X, Y]], 0)[0]
    at = image.coordinates.pixel_to_world(X, Y)
    assert isinstance(at, SkyCoord)
    found = [at.spherical.lon.deg, at.spherical.lat.deg]
    ordered = [right[theirs.wcs.lng] % 360.0, right[theirs.wcs.lat]]
    np.testing.assert_allclose(found, ordered, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(image.wcs.all_pix2world([[X, Y]], 0)[0], right)
    np.testing.assert_allclose(image.coordinates.world_to_pixel(at), (X, Y), rtol=0, atol=1e-5)
    view = image.wcs.pixel_to_world(X, Y)
    assert view.is_equivalent_frame(at.frame)
    assert view.separation(at).deg < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_parts_and_copies_have_the_same_positions(kind: str, tmp_path: Path) -> None:
    image = image_of(KINDS[kind])
    at = image.coordinates.pixel_to_world(X, Y)
    image.cutout(section=PART).write(tmp_path / "cutout.fits")
    (2 * image).write(tmp_path / "computed.fits")
    plane = image.plane(PART)
    plane.write(tmp_path / "plane.fits")
    shifted = X - PART[1].start, Y - PART[0].start
    for name, pixel in (("cutout", shifted), ("plane", shifted), ("computed", (X, Y))):
        copy = tf.open(tmp_path / f"{name}.fits")[0]
        assert copy.coordinates.pixel_to_world(*pixel).separation(at).deg < 1e-9, name
    assert plane.wcs.pixel_to_world(*shifted).separation(at).deg < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_region_at_a_position_has_its_pixel(kind: str) -> None:
    image = image_of(KINDS[kind])
    at = image.coordinates.pixel_to_world(X, Y)
    if not isinstance(at.frame, (ICRS, FK5, Galactic)):
        with pytest.raises(tf.UsageError, match="frame of its sky"):
            image.region_mask("icrs; circle(150, 30, 1)")
        return
    text = f'icrs; circle({at.icrs.ra.deg:.10f},{at.icrs.dec.deg:.10f},0.3")'
    assert np.argwhere(image.region_mask(text)).tolist() == [[Y, X]]
    assert image.cutout(text).shape == (1, 1)
    path = image.pv([(X, Y), (X + 20, Y)]).header
    if path.get("CUNIT1") == "deg":
        scale = at.separation(image.coordinates.pixel_to_world(X + 1, Y)).deg
        assert path["CDELT1"] == pytest.approx(scale, rel=0.02)
    else:
        # Far from the reference of a projection, with a warning.
        assert kind == "XPH"


def test_a_polynomial_of_iraf_needs_the_blanks_between_its_records() -> None:
    tries = (dict(attributes_of_iraf("tnx", " " * n)) for n in range(9))
    cards = next(records for records in tries if records["WAT1_001"][-1] == " ")
    stripped = {key: text.rstrip() for key, text in cards.items()}
    images = [image_of({**sky("TNX"), **records}) for records in (cards, stripped)]
    one, other = (image.coordinates.pixel_to_world(X, Y) for image in images)
    assert one.separation(other).deg < 1e-12


def test_a_plate_that_lacks_a_card_has_no_positions() -> None:
    for keyword in ("PLTRAH", "AMDX1", "AMDY2", "XPIXELSZ", "CNPIX2"):
        image = image_of({key: value for key, value in PLATE.items() if key != keyword})
        with pytest.raises(tf.FormatError, match=f"invalid {keyword}: .* found no value"):
            image.coordinates.pixel_to_world(X, Y)


def test_a_plate_gives_the_sky_of_a_summary() -> None:
    summary = image_of(PLATE).coordinates.summary.sky
    assert summary is not None
    assert summary.frame == "FK5"
    at = image_of(PLATE).coordinates.pixel_to_world(24.5, 19.5)
    assert (summary.longitude, summary.latitude) == pytest.approx((at.ra.deg, at.dec.deg))
    assert summary.scale == pytest.approx((67.23 * 25.3 / 3.6e6,) * 2, rel=0.01)


# Images of corrections.


def write_with_corrections(path: Path, old: bool) -> WCS:
    """Write a file as HST's: SIP, CPDIS, and D2IM (or AXISCORR, as it was written before)."""
    random = np.random.default_rng(7)
    header = header_of({**sky("TAN-SIP", **SIP), "CRPIX1": 48.0, "CRPIX2": 32.0})
    records = ("NAXES: 2.0", "AXIS.1: 1.0", "AXIS.2: 2.0")
    tables = []
    for axis in (1, 2):
        header[f"CPDIS{axis}"] = "Lookup"
        for record in (f"EXTVER: {axis + 2}.0", *records):
            header.append(fits.Card.fromstring(f"DP{axis}     = '{record}'"), end=True)
        values = random.normal(scale=0.3, size=(4, 6)).astype("f4")
        table = fits.ImageHDU(values, name="WCSDVARR", ver=axis + 2)
        table.header.update(
            CRPIX1=1.0, CRPIX2=1.0, CRVAL1=1.0, CRVAL2=1.0, CDELT1=19.0, CDELT2=21.0
        )
        tables.append(table)
    if old:
        header["AXISCORR"] = 1
        table = fits.ImageHDU(random.normal(scale=0.01, size=96).astype("f4"), name="D2IMARR")
        table.header.update(CRPIX1=1.0, CRVAL1=1.0, CDELT1=1.0)
    else:
        header["D2IMDIS1"] = "LOOKUP"
        for record in ("EXTVER: 1.0", *records):
            header.append(fits.Card.fromstring(f"D2IM1   = '{record}'"), end=True)
        values = random.normal(scale=0.01, size=(64, 96)).astype("f4")
        table = fits.ImageHDU(values, name="D2IMARR")
    pixels = random.normal(size=(64, 96)).astype("f4")
    science = fits.ImageHDU(pixels, header, name="SCI")
    fits.HDUList([fits.PrimaryHDU(), science, *tables, table]).writeto(path)
    return by_astropy(path, 1)


def by_astropy(path: Path, number: int) -> WCS:
    with fits.open(path) as hdus:
        return WCS(hdus[number].header, hdus)


@pytest.fixture(params=[False, True], ids=["D2IMDIS1", "AXISCORR"])
def corrected(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[tf.Image, Any, Path]:
    path = tmp_path / "flc.fits"
    right = write_with_corrections(path, request.param).all_pix2world([[60, 30]], 0)[0]
    return tf.open(path)["SCI"], right, tmp_path


def test_corrections_in_images_count(corrected: tuple[tf.Image, Any, Path]) -> None:
    image, right, _ = corrected
    at = image.coordinates.pixel_to_world(60, 30)
    np.testing.assert_allclose((at.ra.deg, at.dec.deg), right, rtol=0, atol=1e-10)
    np.testing.assert_allclose(image.wcs.all_pix2world([[60, 30]], 0)[0], right, atol=1e-10)
    np.testing.assert_allclose(image.coordinates.world_to_pixel(at), (60, 30), rtol=0, atol=1e-6)
    text = f'icrs; circle({right[0]:.10f},{right[1]:.10f},0.3")'
    assert np.argwhere(image.region_mask(text)).tolist() == [[30, 60]]


def test_corrections_in_images_go_along(corrected: tuple[tf.Image, Any, Path]) -> None:
    image, right, folder = corrected
    part = np.s_[10:50, 20:90]
    image.cutout(section=part).write(folder / "cutout.fits")
    tf.open(folder / "cutout.fits")[0].cutout(section=np.s_[5:30, 10:60]).write(
        folder / "again.fits"
    )
    image.cutout(section=part).write(folder / "cut.fits")
    (image + 1).cutout(section=part).write(folder / "computed.fits")
    image.plane(part).write(folder / "plane.fits")
    (image.plane()[part] * 2).write(folder / "section.fits")
    tf.write(folder / "named.fits", image.plane(part), name="PART")
    for name in ("cutout", "cut", "computed", "plane", "section", "named"):
        found = by_astropy(folder / f"{name}.fits", 0).all_pix2world([[40, 20]], 0)[0]
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-10, err_msg=name)
    found = by_astropy(folder / "again.fits", 0).all_pix2world([[30, 15]], 0)[0]
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-10)
    assert fits.getheader(folder / "named.fits")["EXTNAME"] == "PART"


def test_corrections_in_images_are_written_once_in_a_list(
    corrected: tuple[tf.Image, Any, Path],
) -> None:
    image, right, folder = corrected
    path = folder / "list.fits"
    for data in ([2 * image, image], [image.plane(), image], list(image.file)):
        tf.write(path, data, overwrite=True)
        names = [hdu.name for hdu in tf.open(path)]
        assert [names.count(name) for name in ("WCSDVARR", "D2IMARR")] == [2, 1]
        found = by_astropy(path, 1).all_pix2world([[60, 30]], 0)[0]
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-10)
    with pytest.raises(tf.UsageError, match="have different tables 'WCSDVARR'"):
        tf.write(path, [image, image.cutout(section=np.s_[10:50, 20:90])], overwrite=True)


def test_cards_of_corrections_go_where_the_images_do_not(
    corrected: tuple[tf.Image, Any, Path],
) -> None:
    image, _, folder = corrected
    path = folder / "array.fits"
    of_file = {"CPDIS1", "DP1", "D2IMDIS1", "AXISCORR"} & set(image.header)
    with fits.open(folder / "flc.fits") as hdus:
        headers = [image.header, hdus["SCI"].header]
        for header in headers:
            with pytest.warns(tf.TachyfitsWarning, match="CPDIS1, CPERR1, DP1|CPDIS1, DP1"):
                tf.write(path, image[...], header=header, overwrite=True)
            written = tf.open(path)[0].header
            assert not of_file & set(written)
            assert written["A_ORDER"] == 2


def test_pairs_of_arrays_and_headers_keep_corrections_that_the_list_has(
    corrected: tuple[tf.Image, Any, Path],
) -> None:
    _, right, folder = corrected
    with fits.open(folder / "flc.fits") as hdus:
        # Headers of astropy take records apart: DP1.EXTVER.
        data = [(hdu.data, hdu.header) for hdu in hdus[1:]]
        tf.write(folder / "pairs.fits", data)
    records = [
        c.value for c in tf.open(folder / "pairs.fits")[0].header.cards if c.keyword == "DP1"
    ]
    assert records[0] == "EXTVER: 3.0"
    found = by_astropy(folder / "pairs.fits", 0).all_pix2world([[60, 30]], 0)[0]
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-10)
    at = tf.open(folder / "pairs.fits")[0].coordinates.pixel_to_world(60, 30)
    np.testing.assert_allclose((at.ra.deg, at.dec.deg), right, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["TAN", "SIP", "TNX", "ZPX", "DSS", "TPV", "helioprojective"])
def test_ccddata_keep_positions(kind: str, tmp_path: Path) -> None:
    image = image_of(KINDS[kind])
    at = image.coordinates.pixel_to_world(X, Y)
    data = image.plane().to_astropy()
    assert data.wcs.pixel_to_world(X, Y).separation(at).deg < 1e-9
    assert tf.Plane.from_nddata(data).wcs.pixel_to_world(X, Y).separation(at).deg < 1e-9
    tf.write(tmp_path / "ccd.fits", data)
    assert (
        tf.open(tmp_path / "ccd.fits")[0].coordinates.pixel_to_world(X, Y).separation(at).deg < 1e-9
    )


def test_ccddata_keep_corrections_in_images(corrected: tuple[tf.Image, Any, Path]) -> None:
    image, right, folder = corrected
    data = image.plane().to_astropy()
    plane = tf.Plane.from_nddata(data)
    np.testing.assert_allclose(plane.wcs.all_pix2world([[60, 30]], 0)[0], right, atol=1e-10)
    tf.write(folder / "ccd.fits", data)
    found = by_astropy(folder / "ccd.fits", 0).all_pix2world([[60, 30]], 0)[0]
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-10)


def test_corrections_in_images_survive_a_pickle(corrected: tuple[tf.Image, Any, Path]) -> None:
    image, right, _ = corrected
    plane = pickle.loads(pickle.dumps(image.plane()))
    np.testing.assert_allclose(plane.wcs.all_pix2world([[60, 30]], 0)[0], right, atol=1e-10)
    at = pickle.loads(pickle.dumps(2 * image)).coordinates.pixel_to_world(60, 30)
    np.testing.assert_allclose((at.ra.deg, at.dec.deg), right, atol=1e-10)


def test_a_plane_of_every_second_pixel_names_the_distortion_that_it_loses(
    corrected: tuple[tf.Image, Any, Path],
) -> None:
    image, _, _ = corrected
    with pytest.warns(tf.TachyfitsWarning, match=r"distortion of its coordinates \(A_ORDER\)"):
        plane = image.plane(np.s_[::2, ::2])
    assert not {"A_ORDER", "CPDIS1", "AXISCORR"} & set(plane.header)
    assert plane.wcs.sip is None


def test_corrections_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    write_with_corrections(tmp_path / "flc.fits", old=False)
    with fits.open(tmp_path / "flc.fits") as hdus:
        fits.HDUList([hdus[0], hdus[1]]).writeto(tmp_path / "alone.fits")
    image = tf.open(tmp_path / "alone.fits")["SCI"]
    for use in (
        lambda: image.coordinates.pixel_to_world(1, 2),
        lambda: image.region_mask("icrs; circle(150, 30, 1)"),
        lambda: image.wcs,
    ):
        with pytest.raises(tf.UsageError, match=r"\(CPDIS1\) need the HDU 'WCSDVARR' of version 3"):
            use()
    assert image.stats().count == 64 * 96


@pytest.mark.parametrize(
    ("keyword", "records"), [("CPDIS1", "DP1"), ("D2IMDIS2", "D2IM2"), ("CQDIS1", "DQ1")]
)
def test_functions_that_cannot_be_evaluated_are_an_error(keyword: str, records: str) -> None:
    image = image_of({**sky(), keyword: "POLYNOMIAL", records: "NAXES: 2"})
    with pytest.raises(tf.UsageError):
        image.coordinates.pixel_to_world(X, Y)
    with pytest.raises(tf.UsageError):
        image.wcs  # noqa: B018


def test_a_distortion_of_other_axes_than_the_sky_is_an_error() -> None:
    cards = {"CTYPE2": "FREQ", "CRVAL2": 1e9, "CDELT2": 1e6, "CTYPE1": "RA---TAN-SIP",
             "CTYPE3": "DEC--TAN-SIP", "CDELT1": -0.1, "CDELT3": 0.1, **SIP}  # fmt: skip
    with pytest.raises(tf.UsageError, match="A_ORDER is a distortion of NAXIS1 and NAXIS2"):
        image_of(cards, (4, 5, 6)).coordinates.pixel_to_world(1, 2, 3)


# SIP without its suffix.


def test_sip_without_its_suffix_is_ignored_with_one_warning() -> None:
    image = image_of(sky(**SIP))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = image.coordinates.pixel_to_world(X, Y)
        view = image.wcs.pixel_to_world(X, Y)
        mask = image.region_mask(f'icrs; circle({at.ra.deg:.10f},{at.dec.deg:.10f},0.3")')
    (told,) = [str(one.message) for one in caught if one.category is tf.TachyfitsWarning]
    assert "A_ORDER and other coefficients of SIP are ignored" in told
    right = WCS(header_of(sky())).wcs_pix2world([[X, Y]], 0)[0]
    np.testing.assert_allclose((at.ra.deg, at.dec.deg), right, rtol=0, atol=1e-10)
    assert view.separation(at).deg < 1e-10
    assert np.argwhere(mask).tolist() == [[Y, X]]


# Maps beyond half a turn.


@pytest.mark.parametrize("code", ["CAR", "CEA", "MER", "CYP"])
@pytest.mark.parametrize(("reference", "first"), [(1.0, 180.0), (361.0, 0.0), (-300.0, 25.0)])
def test_a_cylindrical_map_goes_on_beyond_half_a_turn(
    code: str, reference: float, first: float
) -> None:
    cards = {
        "CTYPE1": f"GLON-{code}", "CTYPE2": f"GLAT-{code}", "CRVAL1": first, "CRVAL2": 0.0,
        "CRPIX1": reference, "CRPIX2": 11.0, "CDELT1": -0.5, "CDELT2": 0.5,
        **({"PV2_1": 1.0, "PV2_2": 1.0} if code == "CYP" else {}),
    }  # fmt: skip
    image = image_of(cards, (21, 721))
    pixels = np.arange(721)
    at = image.coordinates.pixel_to_world(pixels, np.full(721, 10))
    right = (first - 0.5 * (pixels + 1 - reference)) % 360.0
    np.testing.assert_allclose(at.l.deg, right, rtol=0, atol=1e-9)
    np.testing.assert_allclose(image.wcs.pixel_to_world(pixels, 10).l.deg, right, atol=1e-9)
    for copy in (image.wcs.deepcopy(), image.wcs.celestial):
        np.testing.assert_allclose(copy.pixel_to_world(pixels, 10).l.deg, right, atol=1e-9)
    inner = np.arange(10, 711)
    np.testing.assert_allclose(
        image.coordinates.world_to_pixel(at[inner])[0], inner, rtol=0, atol=1e-6
    )
    for pixel in (10, 300, 420, 710):
        text = f"galactic; circle({right[pixel]:.6f},0,0.1)"
        assert image.stats(text).mean == 721 * 10 + pixel
    box = image.cutout(f"galactic; circle({right[420]:.6f},0,2.1)")
    assert box.shape == (9, 9)
    assert box.coordinates.pixel_to_world(4, 4).l.deg == pytest.approx(right[420])


def test_a_plate_carree_map_ends_at_its_poles() -> None:
    cards = {"CTYPE1": "RA---CAR", "CTYPE2": "DEC--CAR", "CRVAL1": 0.0, "CRVAL2": 0.0,
             "CRPIX1": 10.0, "CRPIX2": 101.0, "CDELT1": -1.0, "CDELT2": 1.0}  # fmt: skip
    image = image_of(cards, (201, 20))
    inside = np.abs(np.arange(201) - 100) <= 90
    found = image.coordinates.pixel_to_world(np.full(201, 5), np.arange(201)).dec.deg
    np.testing.assert_array_equal(np.isfinite(found), inside)
    assert np.isnan(image.wcs.wcs_pix2world([[5, 195]], 0)).all()
    assert image.stats("icrs; circle(185, 85, 0.2)").count == 0


# Frames.


@pytest.mark.parametrize(
    ("cards", "frame"),
    [
        ({"RADESYS": "fk5"}, FK5()), ({"RADESYS": " icrs "}, ICRS()), ({"RADESYS": "J2000"}, FK5()),
        ({"RADESYS": "J2000.0"}, FK5()), ({"RADESYS": "B1950"}, FK4()),
        ({"RADESYS": "ICRF"}, ICRS()),
        ({"RADESYS": "FK5/J2000"}, FK5()), ({"RADESYS": "2000.0"}, FK5()), ({}, ICRS()),
        ({"RADESYS": "fk5", "EQUINOX": "1975.0"}, FK5(equinox="J1975")),
        ({"EQUINOX": "2000.0"}, FK5()), ({"EQUINOX": "J2000"}, FK5()),
        ({"EQUINOX": "B1950.0"}, FK4()),
        ({"EQUINOX": 1950}, FK4()), ({"EPOCH": "1950"}, FK4()), ({"RADECSYS": "fk4"}, FK4()),
    ],
)  # fmt: skip
def test_names_of_frames_count_in_any_case_and_spelling(cards: dict[str, Any], frame: Any) -> None:
    image = image_of(sky(**cards))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = image.coordinates.pixel_to_world(X, Y)
    assert at.is_equivalent_frame(frame)
    assert image.wcs.pixel_to_world(X, Y).is_equivalent_frame(frame)
    told = [str(one.message) for one in caught if one.category is tf.TachyfitsWarning]
    is_odd = any(isinstance(v, str) and v.strip().upper() not in ("FK5", "FK4", "ICRS")
                 for v in cards.values())  # fmt: skip
    assert [("is read as" in text) for text in told] == [True] * is_odd


def test_cards_without_a_keyword_name_no_frame() -> None:
    # As in headers of the Digitized Sky Survey.
    image = image_of([*PLATE.items(), ("", "Based on photographic data of a telescope")])
    assert image.coordinates.pixel_to_world(X, Y).frame.name == "fk5"


def test_a_frame_that_is_not_known_is_an_error() -> None:
    image = image_of(sky(RADESYS="PLANETARY"))
    for use in (
        lambda: image.coordinates.pixel_to_world(X, Y),
        lambda: image.region_mask("icrs; circle(150, 30, 1)"),
        lambda: image.coordinates.world_to_pixel(SkyCoord(150, 30, unit="deg")),
    ):
        with pytest.raises(tf.UsageError, match="invalid RADESYS 'PLANETARY'") as caught:
            use()
        assert "\nhint: " in str(caught.value)
    with pytest.raises(ValueError, match="RADESYS"):
        image.wcs.pixel_to_world(X, Y)
    # Pixels do not depend on it.
    assert image.region_mask("circle(10,10,2)").sum() == 13


def test_a_galactic_sky_is_galactic_whatever_radesys_says() -> None:
    image = image_of(sky("TAN", ("GLON", "GLAT"), RADESYS="FK5", EQUINOX=2000.0))
    assert image.coordinates.pixel_to_world(X, Y).frame.name == "galactic"
    assert image.wcs.pixel_to_world(X, Y).frame.name == "galactic"


def test_positions_of_other_systems_have_a_frame_of_their_own() -> None:
    at = image_of(sky("TAN", ("HPLN", "HPLT"))).coordinates.pixel_to_world(X, Y)
    assert isinstance(at.frame, tf.HeaderFrame)
    assert at.frame.system == "HPLN"
    other = image_of(sky("TAN", ("HGLN", "HGLT")))
    with pytest.raises(tf.UsageError, match="cannot convert positions of HPLN to HGLN"):
        other.coordinates.world_to_pixel(at)
    with pytest.raises(tf.UsageError, match="invalid sky position"):
        other.coordinates.world_to_pixel(SkyCoord(150, 30, unit="deg"))


class Solar(BaseCoordinateFrame):
    """A frame as a package may add it to astropy."""

    default_representation = SphericalRepresentation


def test_a_frame_that_a_package_adds_to_astropy_is_used() -> None:
    def mapping(wcs: WCS) -> Solar | None:
        return Solar() if wcs.wcs.ctype[0].startswith("HPLN") else None

    with custom_wcs_to_frame_mappings([mapping]):
        image = image_of(sky("TAN", ("HPLN", "HPLT")))
        at = image.coordinates.pixel_to_world(X, Y)
        assert isinstance(at.frame, Solar)
        assert isinstance(image.wcs.pixel_to_world(X, Y).frame, Solar)
        np.testing.assert_allclose(image.coordinates.world_to_pixel(at), (X, Y), atol=1e-6)


def test_a_cube_of_the_sun_has_positions_and_paths() -> None:
    cards = {
        "CTYPE1": "HPLN-TAN", "CTYPE2": "HPLT-TAN", "CTYPE3": "WAVE", "CUNIT1": "arcsec",
        "CUNIT2": "arcsec", "CUNIT3": "Angstrom", "CRPIX1": 50.5, "CRPIX2": 50.5, "CRPIX3": 1.0,
        "CRVAL1": 10.0, "CRVAL2": -20.0, "CRVAL3": 2796.0, "CDELT1": 2.4, "CDELT2": 2.4,
        "CDELT3": 0.05,
    }  # fmt: skip
    cube = image_of(cards, (3, 100, 100))
    position, wavelength = cube.coordinates.pixel_to_world(60, 30, 1)
    np.testing.assert_allclose(
        cube.coordinates.world_to_pixel(position, wavelength), (60, 30, 1), atol=1e-6
    )
    assert wavelength.to_value(u.Angstrom) == pytest.approx(2796.05)
    path = cube.pv([(10, 10), (50, 60)])
    assert path.header["CDELT1"] * 3600 == pytest.approx(2.4, rel=1e-3)
    assert path.header["CUNIT1"] == "deg"


# Types of coordinates.


@pytest.mark.parametrize(
    "ctype", ["Frequency [MHz]", "WAVELENGTH", "ENERGY", "FREQUENCY", "VELOCITY", "wave", "Freq",
              "WAVE-LENGTH", "FREQ-", "XFREQ", "RA--", "DECLINATION", "GLONG", "ORBLON"],
)  # fmt: skip
def test_other_words_than_those_of_the_standard_name_a_linear_axis(ctype: str) -> None:
    cards = {"CTYPE1": ctype, "CRPIX1": 1.0, "CRVAL1": 200.0, "CDELT1": 0.5}
    image = image_of(cards, (6,))
    axis = image.world_axis("x")
    assert (axis.name, axis.unit) == (ctype, "")
    np.testing.assert_array_equal(axis.values, 200.0 + 0.5 * np.arange(6))
    with pytest.raises(tf.UsageError):
        image.spectrum(unit="GHz")
    # A unit of its own is the unit of its values.
    assert image_of({**cards, "CUNIT1": "MHz"}, (6,)).world_axis("x").unit == "MHz"


@pytest.mark.parametrize(
    ("ctype", "unit"), [("FREQ", "Hz"), ("WAVE", "m"), ("ENER", "J"), ("FREQ-LSR", "Hz"),
                        ("VELO-LSR", "m s-1"), ("WAVE-LOG", "m"), ("FREQ-OHEL", "Hz"),
                        ("AWAV", "m"), ("WAVN", "m-1")],
)  # fmt: skip
def test_types_of_the_standard_have_its_units(ctype: str, unit: str) -> None:
    cards = {"CTYPE1": ctype, "CRPIX1": 1.0, "CRVAL1": 200.0, "CDELT1": 0.5}
    assert image_of(cards, (6,)).world_axis("x").unit == unit
