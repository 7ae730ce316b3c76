"""Region files of DS9 and CASA: frames as their languages mean them, a region for each shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regions
from astropy.io import fits

import tachyfits as tf
from tachyfits import plot
from tachyfits.cli import run

SKY: dict[str, Any] = {
    "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 30.0, "CRVAL2": 20.0, "CRPIX1": 48.0,
    "CRPIX2": 32.0, "CDELT1": -1e-3, "CDELT2": 1e-3, "RADESYS": "ICRS",
}  # fmt: skip


def image_of(path: Path, shape: tuple[int, ...] = (64, 96), **cards: Any) -> tf.Image:
    fits.PrimaryHDU(np.ones(shape, "f4"), fits.Header(cards)).writeto(path, overwrite=True)
    return tf.open(path)[0]


def count(image: tf.Image, region: Any) -> int:
    return int(image.region_mask(region).sum())


@pytest.mark.parametrize("frame", ["ICRS", "FK5", "GALACTIC"])
def test_a_shape_of_casa_without_coord_is_in_the_frame_of_the_image(
    tmp_path: Path, frame: str
) -> None:
    cards = SKY | {"RADESYS": frame}
    if frame == "GALACTIC":
        cards = {key: card for key, card in SKY.items() if key != "RADESYS"}
        cards |= {"CTYPE1": "GLON-TAN", "CTYPE2": "GLAT-TAN"}
    image = image_of(tmp_path / "i.fits", **cards)
    mask = image.region_mask("circle[[30deg,20deg],20arcsec]")
    y, x = np.argwhere(mask).mean(axis=0)
    assert (int(mask.sum()), x, y) == (97, 47.0, 31.0)
    path = tmp_path / "r.crtf"
    path.write_text("#CRTFv0\ncircle[[30deg,20deg],20arcsec]\n")
    np.testing.assert_array_equal(image.region_mask(path), mask)
    named = {"ICRS": "ICRS", "FK5": "J2000", "GALACTIC": "GALACTIC"}[frame]
    path.write_text(f"#CRTFv0\nglobal coord={named}\ncircle[[30deg,20deg],20arcsec]\n")
    np.testing.assert_array_equal(image.region_mask(path), mask)


def test_shapes_of_casa_in_pixels_count_from_0_whatever_coord(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", **SKY)
    expected = tf.Circle(30, 20, 5).mask(64, 96)
    for line in ("circle[[30pix,20pix],5pix]", "circle[[30pix,20pix],5pix], coord=J2000"):
        np.testing.assert_array_equal(image.region_mask(f"#CRTF\n{line}\n"), expected)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("circle[[30pix,20pix],20arcsec]", "its position is in pixels and it has angles"),
        ("circle[[30deg,20deg],20pix]", "its position is on the sky and it has pixels"),
        ("poly[[30,20],[31,20],[31,21]]", "expected numbers with units"),
        ("ann circle[[30deg,20deg],20arcsec]", "no shape was found"),
    ],
)
def test_what_casa_gives_no_meaning_is_refused(tmp_path: Path, line: str, words: str) -> None:
    image = image_of(tmp_path / "i.fits", **SKY)
    with pytest.raises(tf.UsageError, match=words):
        image.region_mask(f"#CRTF\n{line}\n")


def test_a_box_of_casa_lies_between_its_corners(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", (400, 400), **SKY | {"CRVAL2": 60.0, "CRVAL1": 359.99})
    mask = image.region_mask("#CRTF\nbox[[359.9deg,59.95deg],[0.1deg,60.05deg]]\n")
    y, x = np.indices(image.shape)
    longitude, latitude = image.wcs.wcs_pix2world(x, y, 0)
    away = (longitude - 0.0 + 180) % 360 - 180
    np.testing.assert_array_equal(mask, (np.abs(away) <= 0.1) & (np.abs(latitude - 60) <= 0.05))


def test_channels_of_a_casa_file_are_named_in_a_warning(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", **SKY)
    text = "#CRTF\ncircle[[30deg,20deg],20arcsec], range=[1km/s,2km/s], corr=[I]\n"
    with pytest.warns(tf.TachyfitsWarning, match="corr, range of its regions"):
        assert count(image, text) == 97


PHYSICAL: dict[str, Any] = {"LTV1": -100.0, "LTV2": 50.0, "LTM1_1": 0.5, "LTM2_2": 0.5}
PLANE_P: dict[str, Any] = {
    "WCSNAMEP": "PHYSICAL", "CRPIX1P": 0.5, "CRPIX2P": 0.5, "CRVAL1P": 201.0, "CRVAL2P": -99.0,
    "CDELT1P": 2.0, "CDELT2P": 2.0,
}  # fmt: skip


#: The same, of which DS9 takes the alternate coordinates, with cards of another cut beside them.
BOTH: dict[str, Any] = {f"{key[:-1]}A": card for key, card in PLANE_P.items()}
BOTH |= {"LTV1": -1.0, "LTV2": 3.0}


@pytest.mark.parametrize("cards", [PHYSICAL, PLANE_P, BOTH], ids=["LTM", "WCSP", "WCSA"])
@pytest.mark.parametrize("frame", ["physical\n", "", "physical;"], ids=["line", "none", "prefix"])
def test_region_files_in_physical_pixels(tmp_path: Path, cards: dict[str, Any], frame: str) -> None:
    image = image_of(tmp_path / "i.fits", **cards)
    path = tmp_path / "r.reg"
    path.write_text(f"# Region file format: DS9 version 4.1\n{frame}circle(300,-20,20)\n")
    expected = tf.Circle(49, 39, 10).mask(64, 96)
    np.testing.assert_array_equal(image.region_mask(path), expected)
    np.testing.assert_array_equal(image.region_mask(path.read_text()), expected)
    np.testing.assert_array_equal(image.region_mask("physical; circle(300,-20,20)"), expected)


def test_each_shape_has_the_frame_before_it(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", **PHYSICAL, **SKY)
    path = tmp_path / "r.reg"
    path.write_text(
        "global color=green # circle(1,1,90)\nphysical\ncircle(300,-20,4)\nimage;circle(50,40,2) "
        '# text={a; physical}\nfk5\ncircle(30,20,3.6")\nwcs; circle(30,20,3.6")\n'
    )
    found = [count(image, region) for region in tf.regions(path)]
    assert found == [13, 13, count(image, 'fk5; circle(30,20,3.6")'), 5]
    assert [region.label for region in tf.regions(path)] == ["", "a; physical", "", ""]


@pytest.mark.parametrize("frame", ["detector", "linear", "amplifier", "wcsa"])
def test_frames_that_an_image_does_not_have_are_named(tmp_path: Path, frame: str) -> None:
    path = tmp_path / "r.reg"
    path.write_text(f"{frame}\ncircle(1,1,1)\n")
    with pytest.raises(tf.UsageError, match=f"invalid frame '{frame}'"):
        tf.region(path)


def test_physical_pixels_of_scale_0_are_refused(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", LTM1_1=0.0)
    with pytest.raises(tf.FormatError, match="LTM1_1"):
        image.region_mask("physical; circle(1,1,1)")


THREE = """# Region file format: DS9 version 4.1
image
circle(2,2,1) # text={core}
circle(6,4,1)
circle(9,7,1) # text={far end}
"""


def cube_of(path: Path) -> tf.Image:
    cards = SKY | {"CTYPE3": "VRAD", "CUNIT3": "km/s", "CDELT3": 1.0, "BUNIT": "Jy"}
    data = np.arange(480, dtype="f4").reshape(6, 8, 10)
    fits.PrimaryHDU(data, fits.Header(cards)).writeto(path, overwrite=True)
    return tf.open(path)[0]


def test_a_file_of_three_shapes_gives_three_results_with_labels(tmp_path: Path) -> None:
    cube = cube_of(tmp_path / "c.fits")
    path = tmp_path / "s.reg"
    path.write_text(THREE)
    for given in (path, str(path), THREE, regions.Regions.read(path, format="ds9"), [path]):
        spectra = cube.spectrum(given)
        assert isinstance(spectra, list)
        labels = [spectrum.region.label for spectrum in spectra if spectrum.region is not None]
        assert labels == ["core", "", "far end"]
        assert [spectrum.values[0] for spectrum in spectra] == [11.0, 35.0, 68.0]
        assert len(cube.stats(given)) == 3
        assert cube.select(given).reduce("sum", "xy").shape == (3, 6)
    # One shape is one region.
    path.write_text("image\ncircle(2,2,1)\n")
    assert isinstance(cube.spectrum(path), tf.Spectrum)


def test_one_region_of_a_file_is_the_union_with_a_warning(tmp_path: Path) -> None:
    cube = cube_of(tmp_path / "c.fits")
    path = tmp_path / "s.reg"
    path.write_text(THREE)
    with pytest.warns(tf.TachyfitsWarning, match="s.reg: its 3 shapes are one region here"):
        union = tf.region(path)
    masks = [cube.region_mask(region) for region in tf.regions(path)]
    np.testing.assert_array_equal(cube.region_mask(union), np.any(masks, axis=0))
    with pytest.warns(tf.TachyfitsWarning, match="its 3 shapes are one region here"):
        cube.cutout(path)
    with pytest.warns(tf.TachyfitsWarning, match="its 3 shapes are one region here"):
        tf.region(regions.Regions.read(path, format="ds9"))


def test_shapes_of_ciao_without_angles_are_read(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits")
    path = tmp_path / "r.reg"
    path.write_text("physical\nbox(30,20,8,4)\nellipse 30 20 5 3\nrotbox(30,20,8,4,90)\n")
    found = [image.region_mask(region) for region in tf.regions(path)]
    shapes = (tf.Box(29, 19, 8, 4), tf.Ellipse(29, 19, 5, 3), tf.Box(29, 19, 8, 4, 90))
    for mask, shape in zip(found, shapes, strict=True):
        np.testing.assert_array_equal(mask, shape.mask(64, 96))
    path.write_text("physical\ncircle(30,20,5)\n!circle(30,20,2)\n")
    assert count(image, path) == count(image, "circle(30,20,5); -circle(30,20,2)")


def test_drawings_are_left_out_and_semicolons_in_quotes_are_text(tmp_path: Path) -> None:
    cube = cube_of(tmp_path / "c.fits")
    path = tmp_path / "s.reg"
    path.write_text('image\ncircle(2,2,1) # text={a; b} tag={c;d} font="times; 10"\nline(1,1,2,2)\n'
                    "# vector(1,1,2,0)\ncircle(6,4,1) # text='single'\n")  # fmt: skip
    with pytest.warns(tf.TachyfitsWarning) as told:
        found = tf.regions(path)
    assert [region.label for region in found] == ["a; b", "single"]
    words = [str(each.message).partition(": ")[2] for each in told]
    assert words == [
        "shapes without pixels inside are left out: 1 (vector)",
        "lines, which have no pixels inside, are left out: 1",
    ]
    path.write_text("image\nline(1,1,4,4)\n")
    assert cube.pv(path).shape == (6, 5)


def test_excluded_shapes_are_left_out_of_each(tmp_path: Path) -> None:
    cube = cube_of(tmp_path / "c.fits")
    path = tmp_path / "s.reg"
    path.write_text("image\n-circle(6,4,1)\ncircle(6,4,2)\nbox(3,3,2,2,0)\n")
    # In DS9, excluded pixels stay so whatever follows.
    assert [count(cube, region) for region in tf.regions(path)] == [8, 4]
    shapes = regions.Regions.read(path, format="ds9")
    assert [stats.count for stats in cube.stats(shapes)] == [6 * 8, 6 * 4]
    path.write_text("#CRTF\ncircle[[5pix,3pix],2pix]\n-circle[[5pix,3pix],1pix]\n"
                    "box[[4pix,2pix],[6pix,4pix]]\n")  # fmt: skip
    # CASA goes in order.
    first, second = tf.regions(path)
    assert count(cube, first) == 8
    assert count(cube, second) == count(cube, tf.Box(5, 3, 2, 2))


def test_the_command_line_has_a_column_and_a_row_for_each_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cube_of(tmp_path / "c.fits")
    (tmp_path / "s.reg").write_text(THREE)
    words = ["--region", "s.reg"]
    assert run(["spectrum", "c.fits", "--csv", *words]) == 0
    header = capsys.readouterr().out.splitlines()[0]
    assert header.split(",")[2:] == ["mean[Jy]:core", "mean[Jy]:s.reg:2", "mean[Jy]:farend"]
    assert run(["stats", "c.fits", "--json", *words]) == 0
    rows = json.loads(capsys.readouterr().out)["statistics"]
    assert [row["region"] for row in rows] == ["core", "s.reg:2", "far end"]
    assert run(["cutout", "c.fits", *words, "-o", "o.fits"]) == 0
    assert "s.reg: its 3 shapes are one region here" in capsys.readouterr().err


def test_a_plot_of_spectra_names_labels_and_shapes(tmp_path: Path) -> None:
    cube = cube_of(tmp_path / "c.fits")
    spectra = [*cube.spectrum(THREE), cube.spectrum("icrs; circle(30,20,0.1)")]
    figure = plot.spectrum_figure(spectra)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names[:3] == ["core", "circle 5, 3, 1", "far end"]
    assert names[3].startswith("icrs; circle(30,20")
