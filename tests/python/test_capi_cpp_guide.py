"""The guide for C++: every row of its table compiles and holds; its programs give right numbers."""

from __future__ import annotations

import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

from capiprograms import EXAMPLES, compiled
from nativeprograms import ROOT, run

pytestmark = pytest.mark.once

GUIDE = (ROOT / "docs" / "guides" / "from-cpp.md").read_text(encoding="utf-8")

#: SFITSIO's call, ours, and what holds then.
ROWS = re.findall(r"^\| `([^|]+)` \| `([^|]+)` \| `([^|]+)` \|$", GUIDE, re.MULTILINE)

#: Lines of a program, and of SFITSIO's for the same task.
LINES = re.findall(r"^\| `(\w+\.cpp)` \| [^|]+ \| (\d+) \| ([\w ]+) \|$", GUIDE, re.MULTILINE)


def write_input(path: Path) -> None:
    """Write the file that the rows of the guide are about."""
    cards = fits.Header({"OBJECT": "M 31", "EXPTIME": 12.5, "NCOMB": 3})
    primary = fits.PrimaryHDU(np.arange(30, dtype=np.float32).reshape(5, 6), cards)
    scaled = fits.ImageHDU(np.arange(30, dtype=np.int16).reshape(5, 6), name="SCI")
    columns = [
        fits.Column("PI", "J", array=[10, 40, 31]),
        fits.Column("NAME", "4A", array=["one", "two", "six"]),
        fits.Column("XY", "2D", array=[[1, 2], [3, 4], [5, 6]]),
    ]
    cube = np.arange(12, dtype=np.int32).reshape(3, 2, 2)
    cube[:, 0, 0] = 12, 1, 30
    hdus = [primary, scaled, fits.BinTableHDU.from_columns(columns, name="EVENTS")]
    fits.HDUList([*hdus, fits.ImageHDU(cube, name="CUBE")]).writeto(path)
    for keyword, value in {"BSCALE": 0.5, "BZERO": 100.0}.items():
        fits.setval(path, keyword, value=value, ext=1)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program that runs a row of the guide by its number."""
    functions = [
        f'static bool row{number}() {{ tachyfits::document d("in.fits"); {ours} return {then}; }}'
        for number, (_, ours, then) in enumerate(ROWS)
    ]
    names = ", ".join(f"row{number}" for number in range(len(ROWS)))
    source = tmp_path_factory.mktemp("rows") / "rows.cpp"
    lines = [
        "#include <cmath>", "#include <cstdlib>", "#include <iostream>", '#include "tachyfits.hpp"',
        *functions, "int main(int, char **argv) try {",
        f"    bool (*const rows[])() = {{{names}}};",
        "    return rows[std::atoi(argv[1])]() ? 0 : 3;",
        "} catch (const std::exception &e) { std::cout << e.what(); return 4; }",
    ]  # fmt: skip
    source.write_text("\n".join(lines) + "\n")
    # A row may make what it does not use.
    flags = ["-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-float-equal"]
    return compiled(source, source.parent, "c++", "-std=c++17", *flags)


def test_guide_has_a_row_for_each_of_30_calls() -> None:
    assert len(ROWS) >= 30
    assert len({theirs for theirs, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[theirs for theirs, _, _ in ROWS])
def test_row_of_the_guide_holds(rows: Path, tmp_path: Path, number: int) -> None:
    write_input(tmp_path / "in.fits")
    found = subprocess.run([rows, str(number)], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, f"{ROWS[number]}: {found.stdout}"


def test_snippets_of_the_guide_compile(tmp_path: Path) -> None:
    snippets = re.findall(r"```cpp\n(.*?)```", GUIDE, re.DOTALL)
    assert len(snippets) == 2
    body = "\n".join(f"void part{n}() {{\n{text}\n}}" for n, text in enumerate(snippets))
    source = tmp_path / "snippets.cpp"
    source.write_text(f'#include "tachyfits.hpp"\n{body}\nint main() {{}}\n')
    flags = ["-Wno-unused-variable", "-Wno-unused-but-set-variable"]
    compiled(source, tmp_path, "c++", "-std=c++17", *flags)


def test_programs_have_no_more_lines_than_those_of_sfitsio() -> None:
    assert {name for name, _, _ in LINES} == {path.name for path in EXAMPLES.glob("*.cpp")}
    for name, ours, theirs in LINES:
        text = (EXAMPLES / name).read_text()
        code = [line for line in text.splitlines() if line.strip() and "//" not in line[:2]]
        assert len(code) == int(ours), name
        assert not theirs.isdecimal() or len(code) <= int(theirs)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    paths = sorted(EXAMPLES.glob("*.cpp"))
    return {path.stem: compiled(path, folder, "c++", "-std=c++17") for path in paths}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Write an image with coordinates, an extension and a card that is removed."""
    path = tmp_path / "in.fits"
    rng = np.random.default_rng(3)
    header = fits.Header({"OBJECT": "M 31", "EXPTIME": 12.5, "OBSERVER": "someone"})
    header.update({"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 4.0, "CRPIX2": 5.0})
    header.update({"CRVAL1": 10.0, "CRVAL2": 40.0, "CDELT1": -0.01, "CDELT2": 0.02})
    pixels = rng.normal(100, 5, (9, 7)).astype(np.float32)
    hdus = [fits.PrimaryHDU(pixels, header), fits.ImageHDU(np.arange(6, dtype=np.int16))]
    fits.HDUList(hdus).writeto(path)
    return path


def changed(program: Path, image: Path, *words: object, out: str = "out.fits") -> tuple[Any, Any]:
    """Run a program that writes a file; return old and new HDUs."""
    path = image.parent / out
    run(program, *[{"IN": image, "OUT": path}.get(str(word), word) for word in words])
    with fits.open(image) as old, fits.open(path) as new:
        new.verify("exception")
        return [hdu.copy() for hdu in old], [hdu.copy() for hdu in new]


@pytest.mark.parametrize("out", ["out.fits", "out.fits.gz"])
def test_transpose_exchanges_pixels_and_coordinates(
    programs: dict[str, Path], image: Path, out: str
) -> None:
    old, new = changed(programs["transpose"], image, "IN", "OUT", out=out)
    np.testing.assert_array_equal(new[0].data, old[0].data.T)
    np.testing.assert_array_equal(new[1].data, old[1].data)
    assert new[0].header["CTYPE1"] == "DEC--TAN"
    assert new[0].header["CRPIX1"] == 5
    assert (image.parent / out).read_bytes()[:2] == (b"\x1f\x8b" if out.endswith("gz") else b"SI")


@pytest.mark.parametrize("angle", [90, -90, 180])
def test_rotate_turns_anticlockwise(programs: dict[str, Path], image: Path, angle: int) -> None:
    from astropy.wcs import WCS

    old, new = changed(programs["rotate"], image, angle, "IN", "OUT")
    # Rows of NumPy are counted downwards where those of FITS are counted upwards.
    expected = np.rot90(old[0].data[::-1], angle // 90)[::-1]
    np.testing.assert_array_equal(new[0].data, expected)
    y, x = np.argwhere(old[0].data == old[0].data.max())[0]
    new_y, new_x = np.argwhere(new[0].data == new[0].data.max())[0]
    sky = WCS(old[0].header).celestial.pixel_to_world(x, y)
    same = WCS(new[0].header).celestial.pixel_to_world(new_x, new_y)
    assert sky.separation(same).arcsec < 1e-6


def test_crop_cuts_pixels_and_coordinates(programs: dict[str, Path], image: Path) -> None:
    old, new = changed(programs["crop"], image, "IN", 1, 2, 4, 5, "OUT")
    np.testing.assert_array_equal(new[0].data, old[0].data[2:7, 1:5])
    assert (new[0].header["CRPIX1"], new[0].header["CRPIX2"]) == (3, 3)


def test_copy_paste_puts_a_part_elsewhere(programs: dict[str, Path], image: Path) -> None:
    old, new = changed(programs["copy_paste"], image, "IN", "OUT", 0, 1, 3, 4, 6)
    expected = old[0].data.copy()
    expected[6:9, 4:7] = old[0].data[1:4, 0:3]
    np.testing.assert_array_equal(new[0].data, expected)
    assert new[0].data.dtype == old[0].data.dtype
    assert new[0].header["OBJECT"] == "M 31"


def test_edit_header_changes_cards_only(programs: dict[str, Path], image: Path) -> None:
    old, new = changed(programs["edit_header"], image, "IN", "OUT", "NGC 224")
    header = new[0].header
    assert (header["OBJECT"], header.comments["OBJECT"], header["EXPTIME"]) == (
        "NGC 224", "name", 25.0,
    )  # fmt: skip
    assert "OBSERVER" not in header
    assert "edited by edit_header" in str(header["HISTORY"])
    assert header["CRVAL1"] == 10
    np.testing.assert_array_equal(new[0].data, old[0].data)


@pytest.mark.parametrize(
    ("name", "combined"),
    [("mean", np.mean), ("median", np.median), ("sum", np.sum), ("max", np.max), ("min", np.min),
     ("std", partial(np.std, ddof=0))],
)  # fmt: skip
def test_combine_is_a_statistic_of_each_pixel(
    programs: dict[str, Path], tmp_path: Path, name: str, combined: Any
) -> None:
    rng = np.random.default_rng(4)
    images = rng.normal(size=(5, 4, 6)).astype(np.float32)
    paths = [tmp_path / f"{number}.fits" for number in range(5)]
    for path, pixels in zip(paths, images, strict=True):
        fits.PrimaryHDU(pixels).writeto(path)
    out = tmp_path / "out.fits"
    run(programs["combine"], name, out, *paths)
    expected = combined(images.astype(np.float64), axis=0)
    np.testing.assert_allclose(fits.getdata(out), expected, rtol=1e-14)


def test_image_statistics_are_those_of_numpy(programs: dict[str, Path], image: Path) -> None:
    printed = run(programs["image_statistics"], image)
    found = dict(line.split(" = ") for line in printed.splitlines())
    pixels = fits.getdata(image).astype(np.float64)
    expected = {
        "NPIX": pixels.size, "MEAN": pixels.mean(), "STD": pixels.std(), "MIN": pixels.min(),
        "MAX": pixels.max(), "MEDIAN": np.median(pixels),
    }  # fmt: skip
    assert found.pop("IMAGE") == str(image)
    assert {key: float(value) for key, value in found.items()} == pytest.approx(expected, rel=1e-14)


def test_dump_table_prints_every_cell(programs: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "in.fits"
    write_input(path)
    assert run(programs["dump_table"], path, 2) == "10,one,1,2\n40,two,3,4\n31,six,5,6\n"
    listed = subprocess.run(
        [programs["dump_table"], path], capture_output=True, text=True, check=True
    )
    assert listed.stderr == "2 EVENTS\n"


def test_program_says_what_is_wrong(programs: dict[str, Path], tmp_path: Path) -> None:
    command = [programs["rotate"], "45", os.devnull, tmp_path / "out.fits"]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.strip()
    assert not (tmp_path / "out.fits").exists()
