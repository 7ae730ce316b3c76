"""The guide for Fortran: its programs by its own command lines, and its tables beside FITSIO."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from nativeprograms import MODULE, ROOT, link, require, run, run_guide

pytestmark = pytest.mark.once

GUIDE = ROOT / "docs" / "guides" / "from-fortran.md"
NAMES = ["one", "two", "six", "ten"]
#: The subroutines that sources of HEASoft, HEALPix, ALFA and NEAT call most, and pixels.
MOST = """ftpkys ftclos ftgkys ftgcno ftgkyj ftphis ftmahd ftgkye ftopen ftpcle ftgkyd ftgcve ftpkyj
    ftpcom ftgcvj ftgcvd ftmrhd ftpcld ftgiou ftgcfj ftgcvs ftgcfe ftgcvi ftgpve ftg2de ftgpvd
    ftgsve"""


def rows() -> list[tuple[str, str, str]]:
    """Return the rows of the tables: name of FITSIO's subroutine, its call, the module's words."""
    text = GUIDE.read_text(encoding="utf-8")
    calls = re.findall(r"^\| `(call (ft\w+)\(.+?)` \| `(.+?)` \|$", text, re.MULTILINE)
    return [(name, fitsio, module) for fitsio, name, module in calls]


def m31(path: Path, height: int = 3, width: int = 4) -> None:
    """Write the file that the guide reads: an image with a header, and events with nulls."""
    pixels = np.arange(height * width, dtype="i2").reshape(height, width)
    header = fits.Header({"OBJECT": "M 31", "FRAMES": 3, "GAIN": 1.5, "EXPTIME": 2.5, "FLAT": True})
    columns = [
        fits.Column("PI", "J", null=40, array=[10, 40, 31, 50]),
        fits.Column("FLUX", "E", array=[1.5, np.nan, 2.5, -1]),
        fits.Column("NAME", "3A", array=NAMES),
        fits.Column("RA", "D", array=[10.5, 11, 12, 13]),
        fits.Column("DEC", "D", array=[41.5, 41, 40, 39]),
    ]
    events = fits.BinTableHDU.from_columns(columns, name="EVENTS")
    fits.HDUList([fits.PrimaryHDU(pixels, header), events]).writeto(path)


def test_programs_run_by_the_command_lines_of_the_guide(capi_prefix: Path, tmp_path: Path) -> None:
    require("gfortran")
    pixels = np.arange(24.0).reshape(2, 3, 4)
    fits.PrimaryHDU(pixels).writeto(tmp_path / "cube.fits")
    m31(tmp_path / "m31.fits", 60, 100)
    output = run_guide(GUIDE, capi_prefix, tmp_path)
    assert "24 pixels, mean   11.5000" in output["mean.f90"]
    assert re.search(r"brightest pixel: +23.0+ +at +24$", output["mean.f90"], re.MULTILINE)
    assert output["catalogue.f90"].endswith("M 31:   2.5 50 46 2\n")
    with fits.open(tmp_path / "new.fits") as hdus:
        expected = np.arange(6000).reshape(60, 100)[49:3:-1, :100:2]
        np.testing.assert_array_equal(hdus[1].data, expected)
        assert list(hdus[2].data["RA"]) == [10.5, 11, 12, 13]
        assert hdus[1].header["HISTORY"][0] == "every second column"


DECLARATIONS = """
  use, intrinsic :: iso_fortran_env, only: int16, int64, real32, real64
  {use}
  implicit none
  character(len=10) :: argument
  integer :: row, status, block, kind, j, m, hdu, unit
  real(real32) :: e, a(4, 3), p(2, 2), x(4)
  real(real64) :: d, b(4, 3), y(4)
  integer(int16) :: c(4, 3), h(4)
  integer :: i(4)
  logical :: flag, anyf, mask(4)
  character(len=80) :: word, comment, words(4)
  {own}
  call get_command_argument(1, argument)
  read (argument, *) row
  status = 0; j = 0; hdu = 0; unit = 30; e = 0; d = 0; a = 0; b = 0; c = 0; p = 0; i = 0; h = 0
  flag = .false.; mask = .false.; word = ''; words = ''; n = 0
  x = [1.0, 2.0, 3.0, 4.0]
  y = x
  a = reshape([(real(m), m=1, 12)], [4, 3])
  select case (row)
"""

#: Variables that the calls may set, as both programs print them.
STATE = """
  end select
  print '(5a)', trim(word), words
  print '(3(1x, i0), 2(1x, es12.5), 1x, l1)', j, n, hdu, e, d, flag
  print '(12(1x, f5.1))', a, b, real(c), p, x, y, real(i), real(h)
  print '(4l2)', mask
end program
"""

FITSIO_OWN = """integer :: n, axes(2), lengths(2), firsts(2), lasts(2), steps(2), none(1)
  character(len=80) :: text, types(2), forms(2), units(2)"""
MODULE_OWN = """type(fits_header) :: header
  type(fits_table) :: table
  type(fits_writer) :: writer
  integer(int64) :: n
  integer(int64), allocatable :: axes(:)
  character(len=:), allocatable :: text, names(:)
  real(real32), allocatable :: z(:)
  integer, allocatable :: k(:)
  logical, allocatable :: marks(:)"""

OPEN = "lengths = [4, 3]; call ftopen(unit, 'm31.fits', 0, block, status)"
HDU_2 = "call ftmahd(unit, 2, kind, status)"
WHERE = "call ftghdn(unit, hdu); hdu = hdu - 1"
INIT = "lengths = [4, 3]; none = 0; call ftinit(unit, 'new.fits', 1, status)"
IMAGE = "call ftphpr(unit, .true., -32, 2, lengths, 0, 1, .true., status)"
NO_IMAGE = "call ftphpr(unit, .true., 8, 0, none, 0, 1, .true., status)"
PIXELS, CLOSE = "call ftp2de(unit, 1, 4, 4, 3, a, status)", "call ftclos(unit, status)"
COLUMNS = "types = ['FLUX', 'TIME']; forms = ['1E', '1D']; units = ['Jy', 's ']"
TABLE = "call ftibin(unit, 4, 2, types, forms, units, 'EVENTS', 0, status)"
REALS, DOUBLES = (
    "call ftpcle(unit, 1, 1, 1, 4, x, status)",
    "call ftpcld(unit, 2, 1, 1, 4, y, status)",
)
FILE, WRITE = "call file%open('m31.fits')", "call fits_write('new.fits', a, header)"
NAME, WRITE_TABLE = (
    "call header%set('EXTNAME', 'EVENTS')",
    "call fits_write('new.fits', table, header)",
)
ADD_REALS = "call table%add('FLUX', x, unit='Jy')"
ADD_DOUBLES = "call table%add('TIME', y, unit='s')"
SIZES = "a(1:2, 1) = real(axes)"

#: Code before and after FITSIO's call in a row, before and after the module's words.
FRAMES = {
    "ftgiou": ("", "unit = 0", "", "unit = 0"),
    "ftopen": ("", WHERE, "", ""),
    "ftmahd": (OPEN, WHERE, FILE, ""),
    "ftmrhd": (OPEN, WHERE, FILE, ""),
    "ftmnhd": (OPEN, WHERE, FILE, ""),
    "ftthdu": (OPEN, "", FILE, ""),
    "ftgisz": (OPEN, SIZES, FILE, SIZES),
    "ftgnrw": (f"{OPEN}\n{HDU_2}", "hdu = 1", f"{FILE}; hdu = 1", ""),
    "ftgerr": ("status = 104", "flag = text /= ''; status = 0", "text = repeat(' ', 80)",
               "flag = text /= ''; status = 0"),
    "ftclos": (OPEN, "flag = .true.", FILE, "flag = file%hdus() == 0"),
    "ftgkys": (OPEN, "", FILE, "word = text"),
    "ftgsve": (f"{OPEN}\nfirsts = [2, 1]; lasts = [3, 3]; steps = [1, 2]", "", FILE, ""),
    "ftgcno": (f"{OPEN}\n{HDU_2}", "flag = n == 2; n = 0", "flag = .true.", ""),
    "ftgcvs": (f"{OPEN}\n{HDU_2}", "", f"{FILE}; hdu = 1", "words = names; hdu = 0"),
    "ftgcfe": (f"{OPEN}\n{HDU_2}", "where (mask) x = -5", f"{FILE}; hdu = 1",
               "mask = marks; x = merge(-5.0, z, marks); hdu = 0"),
    "ftgcfj": (f"{OPEN}\n{HDU_2}", "where (mask) i = -5", f"{FILE}; hdu = 1",
               "mask = marks; i = merge(-5, k, marks); hdu = 0"),
    "ftp2de": (f"{INIT}\n{IMAGE}", CLOSE, "call writer%create('new.fits')", "call writer%commit()"),
    "ftibin": (f"{INIT}\n{NO_IMAGE}\n{COLUMNS}", f"{REALS}\n{DOUBLES}\n{CLOSE}",
               f"{ADD_REALS}\n{ADD_DOUBLES}", WRITE_TABLE),
    "ftpcle": (f"{INIT}\n{NO_IMAGE}\n{COLUMNS}\n{TABLE}", f"{DOUBLES}\n{CLOSE}", NAME,
               f"{ADD_DOUBLES}\n{WRITE_TABLE}"),
    "ftpcld": (f"{INIT}\n{NO_IMAGE}\n{COLUMNS}\n{TABLE}", f"{REALS}\n{CLOSE}",
               f"{NAME}\n{ADD_REALS}", WRITE_TABLE),
}  # fmt: skip
READ_IMAGE = (OPEN, "", FILE, "")
READ_COLUMN = (f"{OPEN}\n{HDU_2}", "", f"{FILE}; hdu = 1", "hdu = 0")
WRITE_CARD = (f"{INIT}\n{IMAGE}", f"{PIXELS}\n{CLOSE}", "", WRITE)


def frame(name: str) -> tuple[str, str, str, str]:
    """Return the code around the row of a subroutine."""
    default = READ_COLUMN if name.startswith("ftgcv") else READ_IMAGE
    return FRAMES.get(name, WRITE_CARD if name.startswith("ftp") else default)


def program(is_fitsio: bool) -> str:
    """Return a program that does the row of its argument and prints what it set."""
    own, use, cases = (FITSIO_OWN, "", []) if is_fitsio else (MODULE_OWN, "use tachyfits", [])
    for number, (name, fitsio, module) in enumerate(rows()):
        before, after = frame(name)[:2] if is_fitsio else frame(name)[2:]
        words = fitsio if is_fitsio else module
        if words.startswith("type("):  # a declaration
            own, words = f"{words}\n  {own}", ""
        lines = "\n".join((f"case ({number})", before, words.replace(", ", ", &\n "), after))
        cases.append(lines)
    return f"program rows{DECLARATIONS.format(use=use, own=own)}" + "\n".join(cases) + STATE


@pytest.fixture(scope="module")
def programs(capi_prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Compile the rows of FITSIO and those of the module."""
    compiler = require("gfortran")
    folder = tmp_path_factory.mktemp("rows")
    (folder / "fitsio.f90").write_text(program(is_fitsio=True))
    (folder / "module.f90").write_text(program(is_fitsio=False))
    flags = ["-Wall", "-Wno-uninitialized", "-Wno-maybe-uninitialized", "-Wno-unused"]
    sources, ours = [MODULE, folder / "module.f90"], folder / "module"
    run(compiler, *flags, *sources, "-o", ours, *link(capi_prefix), cwd=folder)
    fitsio = folder / "fitsio"
    try:
        run(compiler, folder / "fitsio.f90", "-o", fitsio, "-lcfitsio", cwd=folder)
    except AssertionError as error:
        if "cannot find -lcfitsio" not in str(error):
            raise
        pytest.skip("COMPARISONS LEFT OUT: CFITSIO for Fortran")
    return fitsio, ours


@pytest.mark.parametrize("number", range(len(rows())), ids=[name for name, *_ in rows()])
def test_row_of_the_guide_does_what_fitsio_does(
    programs: tuple[Path, Path], tmp_path: Path, number: int
) -> None:
    results = []
    for program in programs:
        folder = tmp_path / program.name
        folder.mkdir()
        m31(folder / "m31.fits")
        printed = run(program, number, cwd=folder)
        made = folder / "new.fits"
        results.append((printed, described(made) if made.exists() else None))
    assert results[0] == results[1]
    is_written = rows()[number][0].startswith(("ftp", "ftib"))
    assert (results[0][1] is not None) == is_written


def described(path: Path) -> list[object]:
    """Return the data and the cards of a file, except those of the structure."""
    parts: list[object] = []
    with fits.open(path) as hdus:
        for hdu in hdus:
            keywords = ("OBJECT", "FRAMES", "GAIN", "EXPTIME", "FLAT", "EXTNAME")
            cards = [hdu.header.cards[key] for key in keywords if key in hdu.header]
            parts += [(card.keyword, card.value, card.comment.strip()) for card in cards]
            remarks = {"COMMENT", "HISTORY"} & set(hdu.header)
            lines = [line for key in sorted(remarks) for line in hdu.header[key]]
            parts.append(
                [line for line in lines if "FITS (Flexible" not in line and "A&A" not in line]
            )
            parts.append(None if hdu.data is None else hdu.data.tolist())
            if isinstance(hdu, fits.BinTableHDU):
                parts.append([(column.name, column.unit) for column in hdu.columns])
    return [
        part if not isinstance(part, tuple) or part[0] != "EXTNAME" else part[:2] for part in parts
    ]


def test_guide_has_the_calls_that_programs_use_most() -> None:
    used = {name for name, *_ in rows()}
    assert set(MOST.split()) <= used
    assert len(used) >= 30
