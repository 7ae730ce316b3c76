"""Parts of images around regions: their pixels, and their places in the world."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import primary
from realfiles import parameters, path_of
from skyimages import sky_cards, sky_image

#: Distortions of some pixels at the corners of the image.
DISTORTED: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "none": ("TAN", []),
    "SIP": (
        "TAN-SIP",
        [("A_ORDER", 2), ("B_ORDER", 2), ("A_2_0", 2e-4), ("A_1_1", -1e-4), ("B_0_2", 3e-4),
         ("B_2_0", 1e-4)],
    ),
    "TPV": ("TPV", [("PV1_0", 0.0), ("PV1_1", 1.0), ("PV1_4", 0.02), ("PV2_1", 1.0),
                    ("PV2_4", -0.03)]),
    "ZPN": ("ZPN", [("PV2_1", 1.0), ("PV2_3", 40.0)]),
}  # fmt: skip


def check_places(image: tf.Image, part: tf.Image, first: tuple[int, int]) -> None:
    """Check that the corners of a part are where they are in the image, to 1e-9 degrees."""
    height, width = part.shape[-2:]
    x, y = (grid.ravel() for grid in np.meshgrid([0, width - 1, 2], [0, height - 1, 1]))
    here = part.coordinates.sky.wcs.all_pix2world(x, y, 0)
    there = image.coordinates.sky.wcs.all_pix2world(x + first[0], y + first[1], 0)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", DISTORTED)
@settings(max_examples=15)
@given(
    x=st.integers(-8, 97), y=st.integers(-8, 77), width=st.integers(1, 30),
    height=st.integers(1, 30), mode=st.sampled_from(["trim", "partial"]),
)  # fmt: skip
def test_corners_of_parts_stay_where_they_are(
    kind: str, x: int, y: int, width: int, height: int, mode: str
) -> None:
    projection, more = DISTORTED[kind]
    image = sky_image(projection, "icrs", more=more, angle=30.0)
    inside = x < 90 and y < 70 and x + width > 0 and y + height > 0
    # Of whole pixels, from x and y on.
    box = tf.Box(x + (width - 1) / 2, y + (height - 1) / 2, width, height)
    if not inside:
        with pytest.raises(tf.UsageError, match=r"no pixel|outside"):
            image.cutout(box, mode=mode)
        return
    part = image.cutout(box, mode=mode)
    if mode == "partial":
        first = (x, y)
        assert part.shape == (height, width)
    else:
        first = (max(x, 0), max(y, 0))
    pixels = image.read(dtype="float64")
    expected = np.full(part.shape, np.nan)
    rows, columns = (np.arange(n) + at for n, at in zip(part.shape, first[::-1], strict=True))
    on = np.ix_((rows >= 0) & (rows < 70), (columns >= 0) & (columns < 90))
    expected[on] = pixels[
        np.ix_(rows[(rows >= 0) & (rows < 70)], columns[(columns >= 0) & (columns < 90)])
    ]
    np.testing.assert_array_equal(part.read(dtype="float64"), expected)
    check_places(image, part, first)


def test_modes_are_those_of_cutout2d() -> None:
    from astropy.nddata import Cutout2D

    image = sky_image("TAN")
    data = image.read().astype("f8")
    for at, size in (((3, 66), (11, 7)), ((88, 2), (5, 9)), ((45, 30), (4, 6))):
        height, width = size
        # Cutout2D rounds the position of even sizes up.
        x, y = (p - (0 if n % 2 else 0.5) for p, n in zip(at, (width, height), strict=True))
        box = tf.Box(x, y, width, height)
        for mode in ("trim", "partial"):
            theirs = Cutout2D(data, at, size, mode=mode, fill_value=np.nan, wcs=image.wcs)
            ours = image.cutout(box, mode=mode)
            np.testing.assert_array_equal(ours.read(dtype="float64"), theirs.data)
            here = ours.wcs.all_pix2world(0, 0, 0)
            np.testing.assert_allclose(here, theirs.wcs.all_pix2world(0, 0, 0), atol=1e-9)
    with pytest.raises(tf.UsageError, match="reaches beyond") as caught:
        image.cutout(tf.Box(0, 0, 9, 9), mode="strict")
    assert 'mode="partial"' in str(caught.value)
    assert image.cutout(tf.Box(30, 30, 9, 9), mode="strict").shape == (9, 9)
    with pytest.raises(tf.UsageError, match="invalid mode"):
        image.cutout(tf.Box(30, 30, 9, 9), mode="clip")


@pytest.mark.parametrize(
    ("stored", "cards", "dtype"),
    [("i2", [], "float32"), ("i2", [("BLANK", -5)], "float64"), ("i4", [], "float64"),
     ("f4", [], "float32"), ("u1", [("BSCALE", 0.5)], "float32")],
)  # fmt: skip
def test_pixels_beyond_the_image_are_undefined(
    stored: str, cards: list[tuple[str, Any]], dtype: str, tmp_path: Path
) -> None:
    pixels = np.arange(20, dtype=stored).reshape(4, 5)
    image = tf.open(primary(pixels, cards))[0]
    part = image.cutout(tf.Box(0, 0, 3, 3), mode="partial")
    assert part.dtype == dtype
    values = part.read(dtype="float64")
    assert np.isnan(values).sum() == 5
    np.testing.assert_array_equal(values[1:, 1:], image.read(dtype="float64")[:2, :2])
    part.write(tmp_path / "part.fits")
    with tf.open(tmp_path / "part.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0].read(dtype="float64"), values)
        assert file[0].stats().nan == 5


def test_parts_go_on_like_any_image(tmp_path: Path) -> None:
    stored = np.random.default_rng(1).normal(0, 1, (6, 12, 14)).astype("f4")
    cube = tf.open(primary(stored))[0]
    part = cube.cutout(tf.Circle(6, 5, 3), channels=slice(1, 5))
    expected = stored[1:5, 2:9, 3:10]
    np.testing.assert_array_equal(part[...], expected)
    assert part.median() == np.median(expected.astype("f8"))
    np.testing.assert_allclose(part.smooth("hanning", axis="z")[1:3], [
        (expected[n - 1] + 2 * expected[n] + expected[n + 1]) / 4 for n in (1, 2)
    ], rtol=1e-6)  # fmt: skip
    again = part.cutout(tf.Box(1.5, 1.5, 2, 2), channels=slice(None, None, -1))
    np.testing.assert_array_equal(again[...], expected[::-1, 1:3, 1:3])
    part.write(tmp_path / "part.fits")
    cube.cutout(section=np.s_[1:5, 2:9, 3:10]).write(tmp_path / "cutout.fits")
    with tf.open(tmp_path / "part.fits") as one, tf.open(tmp_path / "cutout.fits") as other:
        assert one[0].read().tobytes() == other[0].read().tobytes()
        for keyword in ("NAXIS1", "NAXIS3", "LTV1", "CRPIX1"):
            assert one[0].header.get(keyword) == other[0].header.get(keyword)
    cube.write(tmp_path / "cube.fits")
    with tf.open(tmp_path / "cube.fits") as file:
        copy = pickle.loads(pickle.dumps(file[0].cutout(tf.Circle(6, 5, 3))))
        np.testing.assert_array_equal(copy[...], stored[:, 2:9, 3:10])


def test_a_region_between_pixels_gives_the_pixel_that_has_it() -> None:
    image = sky_image("TAN")
    part = image.cutout(tf.Circle(10.4, 20.4, 0.1))
    np.testing.assert_array_equal(part[...], image[20:21, 10:11])
    at = image.coordinates.pixel_to_world(44.3, 12.8)
    np.testing.assert_array_equal(image.cutout(at)[...], image[13:14, 44:45])


def tabulated_cube(path: Path) -> np.ndarray[Any, Any]:
    """Write a cube whose frequencies are in a table, and return these."""
    from astropy.io import fits

    values = np.array([1.0, 1.5, 2.5, 4.0, 7.0, 8.0]) * 1e9
    table = fits.BinTableHDU(
        np.array([(values,)], dtype=[("COORDS", "f8", (6,))]), name="WCS-TABLE", ver=2
    )
    hdu = fits.PrimaryHDU(np.arange(6 * 4 * 5, dtype="f4").reshape(6, 4, 5))
    cards = [
        ("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("CTYPE3", "FREQ-TAB"), ("CUNIT3", "Hz"),
        ("CRPIX1", 2.0), ("CRPIX2", 2.0), ("CRPIX3", 1.0), ("CRVAL1", 83.0), ("CRVAL2", 22.0),
        ("CRVAL3", 1.0), ("CDELT1", -0.1), ("CDELT2", 0.1), ("CDELT3", 1.0),
        ("PS3_0", "WCS-TABLE"), ("PS3_1", "COORDS"), ("PV3_1", 2),
    ]  # fmt: skip
    hdu.header.update(dict(cards))
    # Another version of the table is of no use.
    other = fits.BinTableHDU(np.zeros(3, dtype=[("COORDS", "f8")]), name="WCS-TABLE", ver=1)
    fits.HDUList([hdu, other, table]).writeto(path)
    return values


def test_channels_of_a_table_of_coordinates_stay_in_parts(tmp_path: Path) -> None:
    values = tabulated_cube(tmp_path / "tab.fits")
    with tf.open(tmp_path / "tab.fits") as file:
        image = file[0]
        assert image.world_axis("z").values.tolist() == values.tolist()
        source = "icrs; circle(83, 22, 0.15)"
        spectrum = image.select(source, channels="2.2..5 GHz").spectrum()
        assert spectrum.axis.values.tolist() == values[2:4].tolist()
        part = image.cutout(source, channels="2.2..5 GHz")
        assert part.world_axis("z").values.tolist() == values[2:4].tolist()
        every = image.cutout(section=np.s_[4::-2]).smooth("boxcar", 3, axis="x") * 2
        assert every.world_axis("z").values.tolist() == values[4::-2].tolist()
        for number, result in enumerate((part, every, image, image.reorder("zxy"))):
            result.write(tmp_path / f"{number}.fits", checksum=number == 0)
        image.cutout(section=np.s_[2:4]).write(tmp_path / "4.fits")
        copy = pickle.loads(pickle.dumps(part))
        assert copy.world_axis("z").values.tolist() == values[2:4].tolist()
    # The table is in the files, and astropy finds it.
    for number, expected in ((0, values[2:4]), (1, values[4::-2]), (2, values), (4, values[2:4])):
        with tf.open(tmp_path / f"{number}.fits", strict=True) as file:
            assert file[0].world_axis("z").values.tolist() == expected.tolist()
            assert [hdu.name for hdu in file] == ["PRIMARY", "WCS-TABLE"]
            assert not file[0].cutout(section=np.s_[:1]).coordinates.summary.problems
        found = astropys_channels(tmp_path / f"{number}.fits", len(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with tf.open(tmp_path / "3.fits") as file:
        assert file[0].world_axis("x").values.tolist() == values.tolist()
    assert tf.verify(tmp_path / "0.fits").errors == 0


def astropys_channels(path: Path, count: int) -> Any:
    from astropy.io import fits
    from astropy.wcs import WCS

    with fits.open(path) as hdus:
        wcs = WCS(hdus[0].header, fobj=hdus)
        return wcs.all_pix2world(0, 0, np.arange(count), 0)[2]


def test_a_sky_in_a_table_of_coordinates_stays_at_the_corners(tmp_path: Path) -> None:
    """Two axes with one table: RA and Dec of a slit, which no projection describes."""
    from astropy.io import fits
    from astropy.wcs import WCS

    rows, columns = np.mgrid[0:4, 0:5].astype("f8")
    sky = np.stack([83 - 0.1 * columns + 0.003 * rows**2, 22 + 0.1 * rows + 0.002 * columns**2], -1)
    table = fits.BinTableHDU(np.array([(sky,)], dtype=[("COORDS", "f8", sky.shape)]), name="PLACES")
    hdu = fits.PrimaryHDU(np.arange(6 * 13 * 17, dtype="i2").reshape(6, 13, 17))
    for axis, (name, number) in enumerate((("RA", 1), ("DEC", 2)), 1):
        hdu.header.update({
            f"CTYPE{axis}": f"{name:-<4}-TAB", f"CUNIT{axis}": "deg", f"CRPIX{axis}": 1.0,
            f"CRVAL{axis}": 1.0, f"CDELT{axis}": 0.25, f"PS{axis}_0": "PLACES",
            f"PS{axis}_1": "COORDS", f"PV{axis}_3": number,
        })  # fmt: skip
    fits.HDUList([hdu, table]).writeto(tmp_path / "tab.fits")

    def places(path: Path, x: Any, y: Any) -> Any:
        with fits.open(path) as hdus:
            wcs = WCS(hdus[0].header, fobj=hdus)
            return np.array(wcs.all_pix2world(x, y, 0, 0)[:2])

    with tf.open(tmp_path / "tab.fits") as file:
        image = file[0]
        for box, mode in ((tf.Box(8, 6, 9, 5), "trim"), (tf.Box(3, 2, 4, 4), "partial")):
            part = image.cutout(box, mode=mode)
            part.write(tmp_path / "part.fits", overwrite=True)
            first = np.ceil([box.x - box.width / 2, box.y - box.height / 2])
            x, y = (
                grid.ravel()
                for grid in np.meshgrid([0, part.shape[2] - 1, 1], [0, part.shape[1] - 1])
            )
            expected = places(tmp_path / "tab.fits", x + first[0], y + first[1])
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(
                places(tmp_path / "part.fits", x, y), expected, rtol=0, atol=1e-9
            )


def test_tables_of_coordinates_go_along_with_images_of_lists_and_edits(tmp_path: Path) -> None:
    values = tabulated_cube(tmp_path / "tab.fits")
    stars = {"RA": [83.0, 83.1]}
    listed, edited = tmp_path / "list.fits", tmp_path / "edited.fits"
    tf.write(edited, [np.ones((2, 3)), stars])
    with tf.open(tmp_path / "tab.fits") as file:
        part = file[0].cutout(section=np.s_[1:5])
        tf.write(listed, [np.ones((2, 3)), part, stars, file[0]])
        with tf.edit(edited) as editor:
            editor.insert(1, part)
            editor.append(file[0])
            # It is there already: one table serves both images.
            editor.append(file[0] * 2)
    for path, places in ((listed, (1, 3)), (edited, (1, 4))):
        with tf.open(path, strict=True) as file:
            assert [hdu.name for hdu in file].count("WCS-TABLE") == 1
            first, second = (file[place] for place in places)
            assert first.world_axis("z").values.tolist() == values[1:5].tolist()
            assert second.world_axis("z").values.tolist() == values.tolist()
            some = first.select(channels="1.9..5 GHz").spectrum().axis.values
            assert some.tolist() == [1.5e9, 2.5e9, 4e9]
            assert not second.coordinates.summary.problems
        assert tf.verify(path).errors == 0
    # Another table of this name would change the coordinates of the images that are there.
    from astropy.io import fits

    tabulated_cube(tmp_path / "other.fits")
    with fits.open(tmp_path / "other.fits", mode="update") as hdus:
        hdus[2].data["COORDS"][0] *= 2
    with tf.open(tmp_path / "other.fits") as file, tf.edit(edited) as editor:
        with pytest.raises(tf.UsageError, match="different tables 'WCS-TABLE'") as caught:
            editor.append(file[0])
        assert "write them to separate files" in str(caught.value)
        with pytest.raises(tf.UsageError, match="different tables 'WCS-TABLE'"):
            tf.write(listed, [part, file[0]], overwrite=True)


def test_a_part_whose_table_of_coordinates_cannot_go_along_is_refused(tmp_path: Path) -> None:
    tabulated_cube(tmp_path / "tab.fits")
    whole = (tmp_path / "tab.fits").read_bytes()
    with pytest.warns(tf.TachyfitsWarning):
        file = tf.open(whole[: len(whole) - 2880])
    with pytest.raises(tf.TachyfitsError, match="table of coordinates"):
        file[0].cutout(section=np.s_[:2])


@pytest.mark.parametrize(
    "name",
    parameters(
        ["data/cubes/ngc6946.fits", "data/images/HorseHead.fits", "data/images/gc_2mass_h.fits",
         "astropy/nddata/tests/data/sip-wcs.fits"]
    ),
)  # fmt: skip
def test_corners_of_parts_of_real_images(name: str, tmp_path: Path) -> None:
    with tf.open(path_of(name)) as file:
        image = next(hdu for hdu in file if getattr(hdu, "size", 0))
        height, width = image.shape[-2:]
        centre = image.coordinates.sky.wcs.pixel_to_world(width * 0.6, height * 0.4)
        radius = min(width, height) / 5 * image.coordinates.sky.scales[0]
        region = tf.SkyRegion.circle(centre, radius)
        rows, columns = np.nonzero(image.region_mask(region))
        part = image.cutout(region)
        part.write(tmp_path / "part.fits")
        first = (int(columns.min()), int(rows.min()))
        with tf.open(tmp_path / "part.fits") as written:
            assert written[0].shape == part.shape
            check_places(image, written[0], first)
            end = (first[1] + part.shape[-2], first[0] + part.shape[-1])
            expected = image[..., first[1] : end[0], first[0] : end[1]]
            np.testing.assert_array_equal(written[0][...], expected)


def test_paths_of_position_velocity_cuts_are_lines_on_the_sky(tmp_path: Path) -> None:
    import regions

    stored = np.random.default_rng(3).normal(0, 1, (3, 40, 50)).astype("f4")
    cards = sky_cards("TAN", "fk5", (83.6, 22.0), (50, 40), 0.01)
    image = tf.open(primary(stored, cards))[0]
    points = [(5.0, 6.0), (40.0, 31.0)]
    expected = image.pv(points)[...]
    begin, end = (image.coordinates.pixel_to_world(*point) for point in points)
    text = ", ".join(f"{a:.12f}" for at in (begin, end) for a in (at.ra.deg, at.dec.deg))
    (tmp_path / "line.reg").write_text(f"fk5\nline({text})\n")
    for path in (
        "line(6,7,41,32)",
        tf.Line(tuple(points)),
        f"fk5; line({text})",
        tf.SkyRegion.line([begin, end]),
        regions.LineSkyRegion(begin, end),
        tmp_path / "line.reg",
    ):
        np.testing.assert_allclose(image.pv(path)[...], expected, atol=1e-5)
    for path in ("circle(5,5,3)", "fk5; circle(83.6,22,1)"):
        with pytest.raises(tf.UsageError, match="expected a line"):
            image.pv(path)
    with pytest.raises(tf.UsageError, match="no pixels inside"):
        image.stats("line(1,1,5,5)")


def test_a_part_before_the_cut_of_a_truncated_file_is_read_and_written(tmp_path: Path) -> None:
    cube = np.arange(20 * 30 * 40, dtype=">i2").reshape(20, 30, 40)
    path = tmp_path / "short.fits"
    path.write_bytes(primary(cube)[: 2880 + cube[:8].nbytes])
    with pytest.warns(tf.TachyfitsWarning):
        image = tf.open(path)[0]
    part = image.cutout(section=np.s_[2:8:5, ::-1])
    np.testing.assert_array_equal(part[:], cube[2:8:5, ::-1])
    with pytest.raises(tf.FormatError, match="data-missing"):
        image.cutout(section=np.s_[2:9])
    image.cutout(section=np.s_[2:8:5, ::-1]).write(tmp_path / "cutout.fits")
    np.testing.assert_array_equal(tf.open(tmp_path / "cutout.fits")[0][:], part[:])


def test_a_part_of_planes_far_apart_reads_these_planes_alone(tmp_path: Path) -> None:
    cube = np.arange(100 * 64 * 64, dtype=">f4").reshape(100, 64, 64)
    (tmp_path / "cube.fits").write_bytes(primary(cube))
    image = tf.open(tmp_path / "cube.fits")[0]
    with tf.reports() as reports:
        image.cutout(section=np.s_[::-33]).write(tmp_path / "planes.fits")
    np.testing.assert_array_equal(tf.open(tmp_path / "planes.fits")[0][:], cube[::-33])
    assert [report.bytes for report in reports] == [cube[::-33].nbytes]
