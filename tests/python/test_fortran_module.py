"""The Fortran module: compiled as users do, against NumPy and astropy."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

from nativeprograms import MODULE, ROOT, fortran_compilers, link, require, run

pytestmark = pytest.mark.once

PROGRAM = ROOT / "tests" / "capi" / "interface.f90"
#: False warnings of gfortran: texts of deferred length, functions with effects.
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
FALSE_ALARMS = ["-Wno-uninitialized", "-Wno-function-elimination"]

TYPES = {
    "int8": "integer(int8)", "int16": "integer(int16)", "int32": "integer(int32)",
    "int64": "integer(int64)", "float32": "real(real32)", "float64": "real(real64)",
}  # fmt: skip
SHAPE = (7, 5, 4, 3)  # NAXIS1 first
#: First, last and step of each axis, from 1; the third goes backwards.
SECTION = ((2, 7, 2), (1, 5, 3), (4, 2, -1), (3, 3, 1))


def table_of_others(path: Path) -> Path:
    """Write the table that the program reads: nulls, cells of two elements, lists."""
    lists = [np.array(values, "f4") for values in ([1], [2, 3], [])]
    columns = [
        fits.Column("PI", "J", null=40, array=np.array([10, 40, 31], "i4")),
        fits.Column("ENERGY", "D", unit="keV", array=[0.5, 1.5, 2.5]),
        fits.Column("NAME", "4A", array=["one", "two", "six"]),
        fits.Column("PAIR", "2E", array=np.array([[1, np.nan], [3, 4], [5, 6]], "f4")),
        fits.Column("LIST", "PE()", array=np.array(lists, dtype=object)),
    ]
    fits.BinTableHDU.from_columns(columns).writeto(path)
    return path


def compiled(compiler: str, flags: list[str], prefix: Path, source: Path, folder: Path) -> Path:
    """Compile the module and a program; return the path of the program."""
    program = folder / "program"
    words = [compiler, *flags, MODULE, source, "-o", program, *link(prefix)]
    output = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True
    )
    assert output.returncode == 0, output.stderr
    assert "warning" not in output.stderr.lower(), output.stderr
    return program


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", fortran_compilers())
def test_program_uses_every_procedure(
    capi_prefix: Path, tmp_path: Path, compiler: str, level: str
) -> None:
    name = require(*fortran_compilers()[compiler])
    flags = ["-std=f2018", level]
    if compiler == "gfortran":
        flags += STRICT
        run(name, *flags, "-c", MODULE, "-o", tmp_path / "module.o", cwd=tmp_path)
        flags += FALSE_ALARMS
    program = compiled(name, flags, capi_prefix, PROGRAM, tmp_path)
    path = tmp_path / "made.fits"
    assert run(program, path, table_of_others(tmp_path / "table.fits")) == "passed\n"
    with fits.open(path, checksum=True) as hdus:
        hdus.verify("exception")
        assert hdus[0].header["OBJECT"] == "M 31"
        assert hdus[0].header["HISTORY"][0] == "written by a test"
        assert "CHECKSUM" in hdus[0].header
    with fits.open(tmp_path / "made.fits.hdus") as hdus:
        hdus.verify("exception")
        assert hdus[2].columns["COUNT"].unit == "ct"
        assert list(hdus[2].data["NAME"]) == ["one", "two", "three"] * 2
        assert list(hdus[2].data["FLAG"]) == [True, False, True] * 2
        np.testing.assert_array_equal(hdus[2].data["VECTOR"][3:], [[1, 2], [3, 4], [5, 6]])
        np.testing.assert_array_equal(hdus[1].data, [[1, 2], [3, 4], [5, 6]])


def test_program_leaks_nothing(capi_prefix: Path, tmp_path: Path) -> None:
    compiler, valgrind = require("gfortran"), require("valgrind")
    program = compiled(compiler, ["-g"], capi_prefix, PROGRAM, tmp_path)
    table = table_of_others(tmp_path / "table.fits")
    checks = ["--quiet", "--error-exitcode=9", "--leak-check=full"]
    checks.append("--errors-for-leak-kinds=definite")
    assert run(valgrind, *checks, program, tmp_path / "made.fits", table) == "passed\n"


def test_error_without_stat_stops_with_message_and_hint(capi_prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.f90"
    source.write_text(
        "use tachyfits\ntype(fits_file) :: file\ncall file%open('missing.fits')\n"
        "print *, 'went on'\nend\n"
    )
    program = compiled(require("gfortran"), [], capi_prefix, source, tmp_path)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode == 1
    assert "missing.fits" in result.stderr
    assert "hint: " in result.stderr
    assert "went on" not in result.stdout


def array_of(name: str, rank: int) -> np.ndarray:
    """Return an array of a type and rank, in NumPy's order of axes, with extremes of the type."""
    shape = SHAPE[:rank][::-1]
    count = int(np.prod(shape))
    numbers = np.arange(count).astype(name)
    limits = np.finfo(name) if name.startswith("float") else np.iinfo(name)
    numbers[:2] = limits.min, limits.max
    return np.roll(numbers, 3).reshape(shape)


def fortran_program() -> str:
    """Return a program that copies whole images and sections of every type and rank."""
    parts = ["program copies", "use, intrinsic :: iso_fortran_env", "use tachyfits"]
    parts += ["implicit none", "type(fits_file) :: file"]
    body = []
    for name, kind in TYPES.items():
        for rank in range(1, 5):
            array, into = f"{name}_{rank}", f"{name}_{rank}_into"
            extents = ",".join(map(str, SHAPE[:rank]))
            section = ",".join(str(n) for axis in SECTION[:rank] for n in axis)
            parts.append(f"{kind}, allocatable :: {array}({','.join(':' * rank)})")
            parts.append(f"{kind} :: {into}({extents})")
            body += [
                f"call file%open('{array}.fits')",
                f"call file%read({array}, section=reshape([{section}], [3, {rank}]))",
                f"call fits_write('{array}.section.fits', {array})",
                f"call file%read({array})",
                f"call file%read_into({into})",
                f"if (any({array} /= {into})) error stop '{array}'",
                f"call fits_write('{array}.whole.fits', {into})",
            ]
    return "\n".join([*parts, *body, "end program", ""])


def test_every_type_and_rank_is_read_and_written(capi_prefix: Path, tmp_path: Path) -> None:
    compiler = require("gfortran")
    arrays = {(name, rank): array_of(name, rank) for name in TYPES for rank in range(1, 5)}
    for (name, rank), array in arrays.items():
        fits.PrimaryHDU(array).writeto(tmp_path / f"{name}_{rank}.fits")
    source = tmp_path / "copies.f90"
    source.write_text(fortran_program())
    run(compiled(compiler, ["-O1"], capi_prefix, source, tmp_path), cwd=tmp_path)

    def cut(axis: tuple[int, int, int]) -> list[int]:
        first, last, step = axis
        return list(range(first - 1, last if step > 0 else last - 2, step))

    for (name, rank), array in arrays.items():
        whole = fits.getdata(tmp_path / f"{name}_{rank}.whole.fits")
        assert whole.dtype.kind == array.dtype.kind
        np.testing.assert_array_equal(whole, array)
        section = fits.getdata(tmp_path / f"{name}_{rank}.section.fits")
        numbers = np.ix_(*[cut(axis) for axis in SECTION[:rank][::-1]])
        np.testing.assert_array_equal(section, array[numbers])


class Range(ctypes.Structure):
    _fields_ = [
        ("first", ctypes.c_uint64), ("count", ctypes.c_uint64), ("step", ctypes.c_int64)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def large(
    capi_prefix: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ctypes.CDLL, dict[str, tuple[ctypes.c_void_p, np.ndarray]]]:
    """Open images with more pixels than are converted at a time: int16, uint16 and compressed."""
    library = ctypes.CDLL(str(capi_prefix / "lib" / "libtachyfits.so"))
    folder = tmp_path_factory.mktemp("large")
    pixels = np.random.default_rng(7).integers(-32768, 32767, (3, 700, 900), dtype=np.int16)
    arrays = {"short": pixels, "unsigned": pixels.view(np.uint16), "rice": pixels}
    images = {}
    for name, array in arrays.items():
        hdu = fits.CompImageHDU(array) if name == "rice" else fits.ImageHDU(array)
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(folder / name)
        file = ctypes.c_void_p()
        opened = library.tachyfits_open(str(folder / name).encode(), None, ctypes.byref(file), None)
        assert opened == 0
        images[name] = (file, array)
    return library, images


#: Types of integers, with their number in C, that hold every pixel of `large`.
WIDER = {"short": {"int32": 6, "int64": 8}, "unsigned": {"int32": 6, "uint32": 5, "uint64": 7},
         "rice": {"int32": 6}}  # fmt: skip


@settings(max_examples=25)
@given(data=st.data())
def test_sections_as_wider_integers_equal_numpy(
    large: tuple[ctypes.CDLL, dict[str, tuple[ctypes.c_void_p, np.ndarray]]], data: st.DataObject
) -> None:
    library, images = large
    name = data.draw(st.sampled_from(sorted(images)))
    file, array = images[name]
    wide, code = data.draw(st.sampled_from(sorted(WIDER[name].items())))
    ranges, numbers = (Range * 3)(), []
    for axis, length in enumerate(array.shape[::-1]):
        step = data.draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        first = data.draw(st.integers(0, length - 1))
        room = (length - 1 - first if step > 0 else first) // abs(step) + 1
        count = data.draw(st.sampled_from([room, max(1, room // 2), 1]))
        ranges[axis] = Range(first, count, step)
        numbers.append([first + step * n for n in range(count)])
    expected = array[np.ix_(*numbers[::-1])].astype(wide)
    out = np.empty(expected.shape, wide)
    pointer = out.ctypes.data_as(ctypes.c_void_p)
    size = ctypes.c_size_t(out.nbytes)
    outcome = library.tachyfits_read(
        file, ctypes.c_size_t(1), ranges, code, pointer, size, None, None
    )
    assert outcome == 0
    np.testing.assert_array_equal(out, expected)


class Column(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_uint32), ("column", ctypes.c_int32), ("cell_type", ctypes.c_int32),
        ("stored", ctypes.c_int32), ("values", ctypes.c_void_p), ("room", ctypes.c_size_t),
        ("nulls", ctypes.c_void_p), ("null_count", ctypes.c_uint64),
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "rows"), [(0, 100_003), (5, 32_768), (99_000, 1_003), (7, 0)])
def test_columns_of_many_rows_as_other_types_equal_numpy(
    capi_prefix: Path, tmp_path: Path, first: int, rows: int
) -> None:
    numbers = np.random.default_rng(3).integers(-500, 500, 100_003)
    cells = np.arange(300_009, dtype="f4").reshape(-1, 3)
    columns = [
        fits.Column("COUNT", "J", null=-500, array=numbers.astype("i4")),
        fits.Column("CELLS", "3E", array=cells),
        fits.Column("TEXT", "4A", array=(numbers % 1000).astype("S4")),
    ]
    path = tmp_path / "table.fits"
    fits.BinTableHDU.from_columns(columns).writeto(path)
    library = ctypes.CDLL(str(capi_prefix / "lib" / "libtachyfits.so"))
    file = ctypes.c_void_p()
    assert library.tachyfits_open(str(path).encode(), None, ctypes.byref(file), None) == 0
    counts, nulls = np.full(rows, 9, "i2"), np.full(rows, 9, "u1")
    wide, texts = np.full((rows, 3), 9.0), np.full(rows, b"xxxx", "S4")
    outs = [(counts, 4), (wide, 10), (texts, 14)]
    requests = (Column * 3)(*(
        Column(ctypes.sizeof(Column), n, code, 0, out.ctypes.data, out.nbytes)
        for n, (out, code) in enumerate(outs)
    ))  # fmt: skip
    requests[0].nulls = nulls.ctypes.data
    start, count = ctypes.c_uint64(first), ctypes.c_uint64(rows)
    one, three = ctypes.c_size_t(1), ctypes.c_size_t(3)
    read = library.tachyfits_read_columns
    assert read(file, one, requests, three, start, count, None, None) == 0
    part = slice(first, first + rows)
    np.testing.assert_array_equal(counts, numbers[part])
    np.testing.assert_array_equal(nulls, numbers[part] == -500)
    np.testing.assert_array_equal(wide, cells[part])
    np.testing.assert_array_equal(texts, (numbers[part] % 1000).astype("S4"))
    assert requests[0].null_count == np.count_nonzero(nulls)
    too_far = ctypes.c_uint64(100_004 - rows)
    assert read(file, one, requests, three, too_far, count, None, None) == (3 if rows else 0)


def test_integers_that_do_not_hold_a_pixel_are_an_error(
    large: tuple[ctypes.CDLL, dict[str, tuple[ctypes.c_void_p, np.ndarray]]],
) -> None:
    library, images = large
    file, array = images["unsigned"]
    out = np.empty(array.shape, "i2")
    pointer, size = out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(out.nbytes)
    assert library.tachyfits_read(file, ctypes.c_size_t(1), None, 4, pointer, size, None, None) == 3


def test_module_is_made_from_its_parts() -> None:
    command = [sys.executable, str(ROOT / "tools" / "fortran_module.py"), "--check"]
    subprocess.run(command, check=True)


CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C Fortran)
find_package(tachyfits REQUIRED COMPONENTS Fortran)
add_executable(program program.f90)
target_link_libraries(program PRIVATE tachyfits::fortran)
"""

FPM_PROJECT = """name = "program"
[dependencies]
tachyfits = { path = "%s" }
[[executable]]
name = "program"
source-dir = "."
main = "program.f90"
"""

HDUS = """program main
  use tachyfits
  type(fits_file) :: file
  call file%open('cube.fits')
  print '(i0)', file%hdus()
end program
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a program that opens cube.fits."""
    (tmp_path / "program.f90").write_text(HDUS)
    fits.PrimaryHDU(np.zeros((2, 2))).writeto(tmp_path / "cube.fits")
    return tmp_path


def test_cmake_builds_the_module_for_a_project(capi_prefix: Path, project: Path) -> None:
    require("gfortran")
    require("cmake")
    (project / "CMakeLists.txt").write_text(CMAKE_PROJECT)
    build = project / "build"
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={capi_prefix}")
    run("cmake", "--build", build)
    assert run(build / "program", cwd=project) == "1\n"


def test_fpm_builds_the_module_for_a_project(capi_prefix: Path, project: Path) -> None:
    require("gfortran")
    require("fpm")
    folder = capi_prefix / "share" / "tachyfits" / "fortran"
    (project / "fpm.toml").write_text(FPM_PROJECT % os.path.relpath(folder, project))
    run("fpm", "build", "--link-flag", " ".join(link(capi_prefix)[:2]), cwd=project)
    program = next((project / "build").glob("*/app/program"))
    assert run(program, cwd=project) == "1\n"
