"""Points of catalogues and vectors of polarisation on pictures: where they are."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.io.votable import from_table
from astropy.io.votable.tree import CooSys
from astropy.table import Table
from matplotlib.image import imread
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnchoredOffsetbox
from matplotlib.text import Text

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import run
from tachyfits.plot import Catalogue, Vectors, plane_figure

pytestmark = pytest.mark.once

COUNT = 60


@pytest.fixture(scope="module")
def plane() -> tf.Plane:
    stored = np.random.default_rng(1).normal(0, 1, (3, 20, 30)).astype("f4")
    return tf.open(primary(stored, cube_cards()))[0].collapse("mean")


@pytest.fixture(scope="module")
def stars(plane: tf.Plane) -> dict[str, np.ndarray[Any, Any]]:
    """Stars, some of them outside the plane; A and B are their pixels from 1."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-3, 32, COUNT), rng.uniform(-3, 22, COUNT)
    sky = plane.wcs.pixel_to_world(x, y).icrs
    return {"RA": sky.ra.deg, "DEC": sky.dec.deg, "MAG": rng.uniform(10, 20, COUNT),
            "A": x + 1, "B": y + 1}  # fmt: skip


def inside(stars: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    x, y = stars["A"], stars["B"]
    return (x >= 0.5) & (x < 30.5) & (y >= 0.5) & (y < 20.5)


def points_of(figure: Any, number: int = 0) -> np.ndarray[Any, Any]:
    """Return the points of a figure in FITS pixels: axes of the sky count from 0."""
    found: np.ndarray[Any, Any] = figure.axes[0].lines[number].get_xydata() + 1
    return found


@pytest.mark.parametrize("kind", ["table", "fits", "csv", "dict", "astropy"])
def test_points_are_where_the_coordinates_are(
    plane: tf.Plane, stars: dict[str, np.ndarray[Any, Any]], tmp_path: Path, kind: str
) -> None:
    tf.write(tmp_path / "stars.fits", stars)
    with tf.open(tmp_path / "stars.fits") as file:
        file[1].read().write(tmp_path / "stars.csv")
        given = {"table": file[1], "fits": tmp_path / "stars.fits", "dict": stars,
                 "csv": str(tmp_path / "stars.csv"), "astropy": Table(stars)}[kind]  # fmt: skip
        figure = plane_figure(plane, overlay=Catalogue(given, where="MAG < 15"))
    chosen = inside(stars) & (stars["MAG"] < 15)
    expected = np.column_stack((stars["A"], stars["B"]))[chosen]
    assert 5 < len(expected) < chosen.size
    np.testing.assert_allclose(points_of(figure), expected, atol=1e-6)


@pytest.mark.parametrize("ending", ["vot", "xml"])
def test_points_of_a_votable(
    plane: tf.Plane, stars: dict[str, np.ndarray[Any, Any]], tmp_path: Path, ending: str
) -> None:
    """Columns are found by their UCDs, in the system of COOSYS."""
    there = plane.wcs.pixel_to_world(stars["A"] - 1, stars["B"] - 1).fk4
    first = Table({"N": [1]})
    second = Table({"P": there.ra.deg, "R": there.dec.deg, "MAG": stars["MAG"], "T": ["é"] * COUNT})
    document = from_table(second, "second")
    document.resources[0].tables.insert(0, from_table(first, "first").get_first_table())
    document.coordinate_systems.append(CooSys(ID="system", system="eq_FK4", equinox="B1950"))
    for field, name in zip(document.get_table_by_id("second").fields, ("ra", "dec"), strict=False):
        field.ucd, field.ref = f"pos.eq.{name};meta.main", "system"
    path = tmp_path / f"stars.{ending}"
    document.to_xml(str(path))
    expected = np.column_stack((stars["A"], stars["B"]))[inside(stars) & (stars["MAG"] < 15)]
    for hdu in (1, "second"):
        figure = plane_figure(plane, overlay=Catalogue(path, hdu=hdu, where="MAG < 15"))
        np.testing.assert_allclose(points_of(figure), expected, atol=1e-4)
    with pytest.raises(tf.UsageError, match="no columns"):
        plane.plot(overlay=Catalogue(path))
    for hdu in (2, -1, "third", "x"):
        with pytest.raises(tf.UsageError, match="invalid table"):
            plane.plot(overlay=Catalogue(path, hdu=hdu))
    path.write_text("<VOTABLE><RESOURCE>")
    with pytest.raises(tf.UsageError, match="no VOTable can be read"):
        plane.plot(overlay=Catalogue(path))
    with pytest.raises(FileNotFoundError, match=r"none\.vot: No such file"):
        plane.plot(overlay=Catalogue(tmp_path / "none.vot"))


def test_columns_and_frame_are_chosen(
    plane: tf.Plane, stars: dict[str, np.ndarray[Any, Any]]
) -> None:
    there = plane.wcs.pixel_to_world(stars["A"] - 1, stars["B"] - 1).galactic
    table = {"L": there.l.deg, "M": there.b.deg, **stars}
    by_name = Catalogue(table, columns=("L", "M"), frame="galactic", color="red")
    by_pixel = Catalogue(table, columns=("A", "B"), frame="pixels")
    figure = plane_figure(plane, overlay=[by_name, by_pixel])
    for number in (0, 1):
        assert len(points_of(figure, number)) == inside(stars).sum()
    np.testing.assert_allclose(points_of(figure, 0), points_of(figure, 1), atol=1e-6)
    assert figure.axes[0].lines[0].get_markeredgecolor() == (1, 0, 0, 1)


def test_pixels_need_no_sky_and_positions_do(stars: dict[str, np.ndarray[Any, Any]]) -> None:
    plain = tf.open(primary(np.zeros((20, 30), "f4"), []))[0].plane()
    figure = plane_figure(plain, overlay=Catalogue(stars, columns=("A", "B"), frame="pixels"))
    # Axes without a sky count from 1.
    expected = np.column_stack((stars["A"], stars["B"]))[inside(stars)]
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xydata(), expected)
    with pytest.raises(tf.UsageError, match="no sky coordinates along x and y"):
        plane_figure(plain, overlay=Catalogue(stars))
    with pytest.raises(tf.UsageError, match="need sky coordinates"):
        plane_figure(plain, overlay=Vectors(plain, plain))


def test_many_points_are_dots_that_leave_files_small(plane: tf.Plane, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = {"A": rng.uniform(1, 30, 20_000), "B": rng.uniform(1, 20, 20_000)}
    figure = plane.plot(overlay=Catalogue(table, columns=("A", "B"), frame="pixels"))
    (dots,) = figure.axes[0].lines
    assert len(dots.get_xdata()) == 20_000
    assert dots.get_rasterized()
    figure.savefig(tmp_path / "dots.svg")
    assert (tmp_path / "dots.svg").stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"columns": "RA"}, "expected two names"),
        ({"columns": ("RA", "NONE")}, "NONE"),
        ({"frame": "mars"}, "invalid frame"),
        ({"where": "MAG <"}, "MAG"),
        ({"color": "reddish"}, "invalid color"),
    ],
)
def test_invalid_catalogues_are_refused(
    plane: tf.Plane, stars: dict[str, np.ndarray[Any, Any]], given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(tf.UsageError, match=problem):
        plane.plot(overlay=Catalogue(stars, **given))


def test_other_overlays_are_refused(plane: tf.Plane, tmp_path: Path) -> None:
    with pytest.raises(tf.UsageError, match="expected a plane, a catalogue or vectors"):
        plane.plot(overlay="stars.fits")
    with pytest.raises(tf.UsageError, match="expected the shape of q"):
        plane.plot(overlay=Vectors(plane, plane[:4, :4]))
    (tmp_path / "image.fits").write_bytes(primary(np.zeros((2, 2), "f4"), []))
    with pytest.raises(tf.UsageError, match="no HDU is a table"):
        plane.plot(overlay=Catalogue(tmp_path / "image.fits"))
    with pytest.raises(tf.UsageError, match="HDU 0 is not a table"):
        plane.plot(overlay=Catalogue(tmp_path / "image.fits", hdu=0))


def polarised(path: Path, turn: float = 30.0) -> None:
    """Write Q and U whose angle is 20 degrees plus x, on a sky that is turned."""
    y, x = np.mgrid[:24, :32].astype(float)
    angle, intensity = np.radians(20 + x), 1 + y / 10
    header = fits.Header()
    header.update({"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 187.7, "CRVAL2": 60.0,
                   "CRPIX1": 16.0, "CRPIX2": 12.0, "CDELT1": -1e-3, "CDELT2": 1e-3,
                   "CROTA2": turn, "CTYPE3": "STOKES", "CRVAL3": 1.0, "CRPIX3": 1.0,
                   "CDELT3": 1.0, "BUNIT": "Jy/beam"})  # fmt: skip
    q, u = intensity * np.cos(2 * angle), intensity * np.sin(2 * angle)
    fits.writeto(path, np.stack([2 * intensity, q, u]).astype("f4"), header)


def test_vectors_have_the_angle_of_the_sky_and_lengths_by_intensity(tmp_path: Path) -> None:
    polarised(tmp_path / "iqu.fits")
    cube = tf.open(tmp_path / "iqu.fits")[0]
    i, q, u = (cube.select(section=np.s_[n : n + 1]).plane() for n in range(3))
    figure = i.plot(overlay=Vectors(q, u, step=4, least=2.0, color="white"))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    (lines,) = axes.collections
    to_pixels = lines.get_transform() - axes.transData
    ends = np.array([to_pixels.transform(path.vertices) for path in lines.get_paths()])
    middle = ends.mean(axis=1)
    # Blocks of 4 x 4 pixels, of which rows 12 to 23 are bright enough.
    assert len(ends) == 8 * 3
    np.testing.assert_allclose(sorted(set(np.round(middle[:, 1], 3))), [13.5, 17.5, 21.5])
    sky = cube.wcs.celestial
    start, end = (sky.pixel_to_world(*ends[:, n].T) for n in (0, 1))
    shown = start.position_angle(end).deg
    np.testing.assert_allclose((shown - 20 - middle[:, 0] + 90) % 180 - 90, 0, atol=0.3)
    length = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
    # Averaging angles over 4 pixels shortens all alike.
    np.testing.assert_allclose(length, 4 * (1 + middle[:, 1] / 10) / (1 + 21.5 / 10), rtol=1e-3)
    # Over another image of that sky they are in the same place.
    coarse = cube.select(section=np.s_[0:1]).rebin(x=2, y=2).plane()
    axes = coarse.plot(overlay=Vectors(q, u, step=4, least=2.0)).axes[0]
    (lines,) = axes.collections
    to_pixels = lines.get_transform() - axes.transData
    first = to_pixels.transform(lines.get_paths()[0].vertices)
    np.testing.assert_allclose(2 * first + 0.5, ends[0], atol=1e-3)


def key_of(figure: Any) -> tuple[list[str], list[float]]:
    """Return the words and the lengths, in pixels of the picture, of the reference vectors."""
    boxes = [one for one in figure.axes[0].artists if isinstance(one, AnchoredOffsetbox)]
    texts = [text.get_text() for box in boxes for text in box.findobj(Text)]
    lines = [line for box in boxes for line in box.findobj(Line2D)]
    return texts, [float(np.ptp(line.get_xdata())) for line in lines]


def test_reference_vector_has_the_scale_of_the_vectors(tmp_path: Path) -> None:
    polarised(tmp_path / "iqu.fits")
    cube = tf.open(tmp_path / "iqu.fits")[0]
    i, q, u = (cube.select(section=np.s_[n : n + 1]).plane() for n in range(3))
    vectors = Vectors(q, u, step=4)
    lines, intensity = vectors.measured()
    length = np.hypot(*(lines[:, 1] - lines[:, 0]).T)
    # The longest has 3.1 Jy/beam, and 4 pixels of 32.
    figure = i.plot(overlay=vectors)
    texts, lengths = key_of(figure)
    assert texts == ["2 Jy/beam"]
    np.testing.assert_allclose(2 * length / intensity, lengths[0], rtol=1e-9)
    # Pixels of another size have a vector of another length, for the same intensity.
    coarse = cube.select(section=np.s_[0:1]).rebin(x=2, y=2).plane()
    texts, halves = key_of(coarse.plot(overlay=vectors))
    assert texts == ["2 Jy/beam"]
    np.testing.assert_allclose(halves[0], lengths[0] / 2, rtol=1e-3)
    # Keys of several are below each other; one can be left out.
    texts, _ = key_of(i.plot(overlay=[vectors, Vectors(q, u, step=6, color="red")]))
    assert len(texts) == 2
    assert key_of(i.plot(overlay=Vectors(q, u, step=4, key=False))) == ([], [])
    assert key_of(i.plot(overlay=Vectors(q, u, step=4, least=100.0))) == ([], [])


@pytest.mark.parametrize("scale", [1e-320, 1e-30, 1.0, 1e30, np.inf])
def test_reference_vectors_of_extreme_intensities(scale: float, tmp_path: Path) -> None:
    polarised(tmp_path / "iqu.fits")
    cube = tf.open(tmp_path / "iqu.fits")[0]
    i, q, u = (cube.select(section=np.s_[n : n + 1]).plane() for n in range(3))
    with np.errstate(all="ignore"):
        q, u = (dataclasses.replace(one, values=one.values * scale) for one in (q, u))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        figure = i.plot(overlay=Vectors(q, u, step=4))
    texts, _ = key_of(figure)
    expected = {1e-30: ["2\N{MULTIPLICATION SIGN}10⁻³⁰ Jy/beam"], 1.0: ["2 Jy/beam"],
                1e30: ["2\N{MULTIPLICATION SIGN}10³⁰ Jy/beam"]}  # fmt: skip
    assert texts == expected.get(scale, [])


def test_reference_vector_is_seen_on_the_picture(tmp_path: Path) -> None:
    polarised(tmp_path / "iqu.fits")
    cube = tf.open(tmp_path / "iqu.fits")[0]
    i, q, u = (cube.select(section=np.s_[n : n + 1]).plane() for n in range(3))
    i.png(tmp_path / "key.png", overlay=Vectors(q, u, step=4, color="#ff00ff"), cmap="gray")
    i.png(tmp_path / "none.png", overlay=Vectors(q, u, step=4, key=False), cmap="gray")
    key, none = (imread(tmp_path / f"{name}.png") for name in ("key", "none"))
    rows, columns, _ = key.shape
    corner = (slice(0, rows // 6), slice(columns // 2, columns))
    pink = (key[corner][..., :3] == (1, 0, 1)).all(axis=-1)
    assert pink.any(axis=0).sum() > columns / 20
    assert not (none[corner][..., :3] == (1, 0, 1)).all(axis=-1).any()


def test_the_command_line_draws_the_same_picture(
    stars: dict[str, np.ndarray[Any, Any]], tmp_path: Path
) -> None:
    polarised(tmp_path / "iqu.fits")
    sky = tf.open(tmp_path / "iqu.fits")[0].wcs.celestial.pixel_to_world([3, 9], [4, 14])
    tf.write(tmp_path / "stars.fits", {"RA": sky.ra.deg, "DEC": sky.dec.deg, "MAG": [1.0, 9.0]})
    tf.write(tmp_path / "pixels.fits", {"P": [5.0], "R": [6.0]})
    cube, out = str(tmp_path / "iqu.fits"), tmp_path / "command.png"
    parts = [str(tmp_path / f"{name}.fits") for name in "qu"]
    for number, part in enumerate(parts, 2):
        assert run(["collapse", cube, "--section", f"*,*,{number}", "-o", part]) == 0
    words = ["--catalogue", str(tmp_path / "stars.fits"), "--catalogue-where", "MAG > 5",
             "--catalogue-columns", "", "--catalogue-frame", "", "--catalogue-color", "#ff0080",
             "--catalogue", str(tmp_path / "pixels.fits"), "--catalogue-where", "",
             "--catalogue-columns", "P,R", "--catalogue-frame", "pixels", "--catalogue-color", "",
             "--vectors", *parts, "--vectors-step", "6"]  # fmt: skip
    command = ["collapse", cube, "--section", "*,*,1", "--title", "T", "-o", str(out), *words]
    assert run(command) == 0
    image = tf.open(cube)[0]
    i, q, u = (image.select(section=np.s_[n : n + 1]).plane() for n in range(3))
    overlay = [
        Catalogue(tmp_path / "stars.fits", where="MAG > 5", color="#ff0080"),
        Catalogue(tmp_path / "pixels.fits", columns=("P", "R"), frame="pixels"),
        Vectors(q, u, step=6),
    ]
    i.png(tmp_path / "python.png", overlay=overlay, title="T")
    assert (tmp_path / "python.png").read_bytes() == out.read_bytes()
    i.png(tmp_path / "bare.png", title="T")
    assert (tmp_path / "bare.png").read_bytes() != out.read_bytes()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--catalogue-where", "MAG < 5"], "once for each of 0 --catalogue"),
        (["--vectors-step", "4"], "only with --vectors"),
        (["--catalogue", "a.fits", "--bare"], "--catalogue"),
    ],
)
def test_options_without_what_they_are_about_are_refused(
    tmp_path: Path, words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    polarised(tmp_path / "iqu.fits")
    command = ["collapse", str(tmp_path / "iqu.fits"), "--section", "*,*,1"]
    assert run([*command, "-o", str(tmp_path / "a.png"), *words]) == 2
    assert problem in capsys.readouterr().err
