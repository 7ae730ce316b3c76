"""Programs of astronomers and the suites of CFITSIO give the same results with the library preloaded.

Each command runs in a fresh copy of the files. Output, exit status and all files that it writes must be the
same, except dates, checksums and times.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import cfitsiofiles
from cfitsioprograms import (
    FULL,
    PRELOADED,
    Result,
    compiled,
    difference,
    environment,
    left_out,
    library,
    need,
    run,
)
from realfiles import SHARED, files_under, traps

pytestmark = pytest.mark.once

#: Commands of each program. The first word of a key is the program that must be installed.
COMMANDS: dict[str, list[str]] = {
    "imcopy": [
        *(
            f"imcopy {name} out.fits"
            for name in ("sky.fits", "scaled.fits", "table.fits", "cube.fits")
        ),
        *(f"imcopy '{name}.fits.fz[1]' out.fits" for name in ("sky", "scaled", "unsigned", "cube")),
        "imcopy holes.fits.fz out.fits",
        "imcopy 'sky.fits[11:300,*]' out.fits",
        "imcopy 'scaled.fits[*:2,*:3]' out.fits",
        "imcopy 'sky.fits.fz[1][-*,30:90]' out.fits",
        "imcopy sky.fits 'out.fits[compress R]'",
        "imcopy unsigned.fits 'out.fits[compress G 100,100]'",
        "imcopy holes.fits 'out.fits[compress R; q 4]'",
    ],
    "fitscopy": [
        "fitscopy sky.fits out.fits",
        "fitscopy 'table.fits[1][col RA;DEC;D=MAG*2]' out.fits",
        "fitscopy 'table.fits[STARS][MAG > 20 && COUNTS != 3]' out.fits",
        "fitscopy 'table.fits[1][bin RA=149.9:150.1:0.01, DEC]' out.fits",
        "fitscopy 'scaled.fits[pixr1 X*2]' out.fits",
        "fitscopy 'cube.fits[1:50,2:60,3]' out.fits",
        "fitscopy sky.fits.fz out.fits",
    ],
    "fitsverify": ["fitsverify *.fits", "fitsverify -e *.fz", "fitsverify -l table.fits"],
    "fpack": [
        "fpack -g -q 0 -O out.fz sky.fits",
        "fpack -h -s 0 -O out.fz scaled.fits",
        "fpack -g -O out.fz unsigned.fits",
        "fpack -g2 -q 0 -O out.fz holes.fits",
        "fpack -p -O out.fz bytes.fits",
        "fpack -table -O out.fz table.fits",
        "fpack -g -q 0 -t 100,100,1 -O out.fz cube.fits",
        "fpack -r -t 100,100 -O out.fz scaled.fits",
    ],
    "funpack": [
        *(
            f"funpack -O out.fits {name}.fits.fz"
            for name in ("sky", "scaled", "unsigned", "cube", "holes")
        ),
        "funpack -E 1 -O out.fits sky.fits.fz",
        "fpack -table -O t.fz table.fits; funpack -O out.fits t.fz",
    ],
    "gdalinfo": [
        *(f"gdalinfo -stats -hist {name}.fits" for name in ("sky", "sky64", "bytes", "cube")),
        "gdalinfo -checksum scaled.fits",
        "gdalinfo -stats holes.fits",
        "gdalinfo -stats table.fits",
    ],
    "gdal_translate": [
        "gdal_translate -q -of ENVI sky.fits out.dat",
        "gdal_translate -q -of ENVI scaled.fits out.dat",
        "gdal_translate -q -of ENVI -ot Float64 cube.fits out.dat",
        "gdal_translate -q -of ENVI -srcwin 10 20 300 200 unsigned.fits out.dat",
        "gdal_translate -q -of FITS sky64.fits out.fits",
    ],
    "ogrinfo": ["ogrinfo -al table.fits | tail -4000"],
    "aststatistics": [
        *(
            f"aststatistics {name}.fits -h0"
            for name in ("sky", "sky64", "holes", "scaled", "cube", "bytes")
        ),
        "aststatistics unsigned.fits -h0 --median --sum --mode --quantile=0.3",
        "aststatistics sky.fits.fz -h1 --sigclip-median --mean --std",
        "aststatistics scaled.fits.fz -h1",
        "aststatistics holes.fits.fz -h1",
        "aststatistics table.fits -h1 -cMAG",
        "aststatistics table.fits -h1 -cCOUNTS --mean --minimum",
        "aststatistics sky.fits -h0 --histogram --cumulative -oout.fits",
        "aststatistics sky.fits -h0 --sky --tilesize=50,50 -oout.fits",
    ],
    "astarithmetic": [
        "astarithmetic sky.fits second.fits + -g0 -oout.fits",
        "astarithmetic scaled.fits 2 x -g0 -oout.fits",
        "astarithmetic holes.fits isblank -g0 -oout.fits",
        "astarithmetic sky.fits second.fits sky.fits 3 median -g0 -oout.fits",
        "astarithmetic cube.fits collapse-mean -g0 -oout.fits --version; "
        "astarithmetic cube.fits 3 collapse-mean -g0 -oout.fits",
        "astarithmetic sky.fits.fz 1 + -h1 -oout.fits",
        "astarithmetic unsigned.fits float32 -g0 -oout.fits",
        "astarithmetic holes.fits 3 3 filter-median -g0 -oout.fits -N1",
    ],
    "astcrop": [
        "astcrop sky.fits -h0 --mode=img --section=10:200,20:300 -oout.fits",
        "astcrop scaled.fits -h0 --mode=img --center=100,100 --width=301,301 -oout.fits",
        "astcrop sky64.fits -h0 --mode=wcs --center=150,2.5 --width=0.03 -oout.fits",
        "astcrop sky.fits.fz -h1 --mode=img --center=100,100 --width=51 -oout.fits",
        "astcrop cube.fits -h0 --mode=img --section=10:60,20:90,3:9 -oout.fits",
    ],
    "asttable": [
        "asttable table.fits",
        "asttable table.fits -i",
        "asttable table.fits -cRA,DEC,MAG -oout.fits",
        "asttable table.fits -cNAME,XY --range=MAG,19,20",
        "asttable table.fits --sort=MAG --head=50",
        "asttable table.fits -c'arith RA DEC +' --tail=100",
        "asttable table.fits -cCOUNTS,FLAGS -N1",
    ],
    "astconvertt": [
        "astconvertt sky.fits -h0 -oout.txt",
        "astconvertt scaled.fits -h0 -oout.pdf --noborderwidth; true",
        "astconvertt sky.fits -h0 --fluxlow=90 -oout.jpg",
    ],
    "astfits": [
        "astfits sky.fits",
        "astfits table.fits -h1 --datasum",
        "astfits sky.fits --copy=0 -oout.fits",
    ],
    "astconvolve": ["astconvolve sky.fits -h0 --kernel=kernel.fits --khdu=0 -oout.fits -N1 -q"],
    "astnoisechisel": [
        "astnoisechisel sky.fits -h0 -oout.fits -N1 -q && astsegment out.fits -N1 -q -oseg.fits && astmkcatalog seg.fits --ids --ra --dec --sum -q -N1 -ocat.fits"
    ],
    "astwarp": ["astwarp sky.fits -h0 --rotate=20 -oout.fits -N1 -q"],
    "astmatch": [
        "astmatch table.fits -h1 table.fits --hdu2=1 --ccol1=RA,DEC --ccol2=RA,DEC --aperture=0.0001 -oout.fits -q"
    ],
    "mShrink": [
        "mShrink sky.fits out.fits 3",
        "mShrink sky64.fits out.fits 2.5",
        "mShrink holes.fits out.fits 4",
        "mShrink scaled.fits out.fits 2",
        "mShrink -h 1 sky.fits.fz out.fits 3",
    ],
    "mImgtbl": ["mImgtbl -c . images.tbl", "mImgtbl -r -i . images.tbl"],
    "mSubimage": [
        "mSubimage -p sky.fits out.fits 20 30 200 100",
        "mSubimage scaled.fits out.fits 150.0 2.5 0.02",
    ],
    "mGetHdr": [
        "mGetHdr sky.fits sky.hdr && mProject sky.fits out.fits sky.hdr",
        "mGetHdr sky.fits sky.hdr && mProjectPP second.fits out.fits sky.hdr",
        "mGetHdr sky.fits sky.hdr && mProjectQL second.fits out.fits sky.hdr",
    ],
    "mHistogram": ["mHistogram -file sky.fits 0% 99% linear -out hist.txt"],
    "mTranspose": ["mTranspose cube.fits out.fits 3 1 2"],
    "mDiff": [
        "mGetHdr sky.fits sky.hdr; mDiff -n sky.fits second.fits out.fits sky.hdr && mFitplane out.fits; mBackground -n sky.fits back.fits 0.1 0.2 3"
    ],
    "mShrinkCube": ["mShrinkCube cube.fits out.fits 2", "mSubCube -p cube.fits out.fits 5 6 50 60"],
    "mExamine": ["mExamine sky.fits", "mExamine scaled.fits"],
    "SWarp": [
        "SWarp -c none -VERBOSE_TYPE QUIET -WRITE_XML N -NTHREADS 1 sky.fits second.fits",
        "SWarp -c none -VERBOSE_TYPE QUIET -WRITE_XML N -NTHREADS 1 sky.fits.fz",
    ],
    "source-extractor": [
        "printf 'NUMBER\\nX_IMAGE\\nY_IMAGE\\nFLUX_AUTO\\n' > p; source-extractor -c /usr/share/source-extractor/default.sex"
        " -PARAMETERS_NAME p -FILTER_NAME /usr/share/source-extractor/default.conv"
        f" -STARNNW_NAME /usr/share/source-extractor/default.nnw -VERBOSE_TYPE QUIET {name}"
        for name in ("sky.fits", "scaled.fits", "sky.fits.fz")
    ],
    "image2xy": [
        "image2xy -O -o out.fits sky.fits",
        "image2xy -O -o out.fits bytes.fits",
        "image2xy -O -o out.fits -P 3 cube.fits",
        "image2xy -O -e 1 -o out.fits sky.fits.fz",
        "image2xy -O -o out.fits -H unsigned.fits",
        "image2xy -O -o out.fits scaled.fits",
    ],
    "fits-guess-scale": [
        "fits-guess-scale sky.fits",
        "wcsinfo sky.fits",
        "fitsgetext -i cube.fits",
    ],
    "an-fitstopnm": ["an-fitstopnm -i sky.fits > out.pnm", "downsample-fits 2 sky.fits out.fits"],
    "munipack": [
        "munipack find sky.fits && munipack aphot sky.fits && munipack gphot sky.fits",
        "munipack dark -o out.fits sky.fits second.fits",
        "munipack flat -o out.fits sky.fits second.fits",
        "munipack phcorr -gain 1 -dark second.fits sky.fits",
        "munipack bias -o out.fits sky.fits second.fits",
    ],
    "alfa": ["alfa spectrum.fits | sed '/estimat/,$d'; rm -f *_fit* *_lines*"],
    "wsclean": ["wsclean -restore sky.fits second.fits out.fits"],
}

#: Commands on files of users; `{file}` is a path.
ON_REAL_FILES = [
    "fitsverify {file}", "imcopy {file} out.fits", "fitscopy {file} out.fits", "fpack -g -q 0 -O out.fz {file}",
    "fpack -table -g -q 0 -O out.fz {file}; funpack -O out.fits out.fz", "gdalinfo -stats copy.fits",
    "aststatistics {file} -h0", "aststatistics {file} -h1", "asttable {file} -h1",
    "astarithmetic {file} 2 x -h0 -oout.fits", "mShrink {file} out.fits 2", "mExamine {file}",
]  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("fpack")
    folder = tmp_path_factory.mktemp("inputs")
    cfitsiofiles.program_files(folder)
    return folder


def compare(command: str, inputs: Path, tmp_path: Path, modes: list[str]) -> tuple[list[str], int]:
    """Run a command plain and in each mode: return the differences and the calls that were served."""
    folder = tmp_path / "folder"
    plain = run(command, inputs, folder, "plain")
    lines, served = [], 0
    for mode in modes:
        result = run(command, inputs, folder, mode)
        served += result.served
        found = difference(plain, result, mode)
        if found:  # Does the program agree with itself?
            again = difference(plain, run(command, inputs, folder, "plain"), "plain again")
            found = [*found, *(f"    {line}" for line in again)]
        lines += found
    return lines, served


#: Programs that call CFITSIO for large reads; the others have readers of their own, or read row by row.
SERVED = {
    "imcopy", "fitscopy", "fitsverify", "fpack", "aststatistics", "astarithmetic", "astcrop", "asttable",
    "astconvertt", "mShrink", "gdalinfo", "gdal_translate", "image2xy", "munipack", "alfa", "wsclean",
}  # fmt: skip


@pytest.mark.parametrize("program", COMMANDS)
def test_program_gives_the_same_results(program: str, inputs: Path, tmp_path: Path) -> None:
    library()
    need(program)
    lines, served = [], 0
    modes = PRELOADED if FULL else ["on", "check"]
    for command in COMMANDS[program]:
        found, calls = compare(command, inputs, tmp_path, modes)
        lines += found
        served += calls
    assert not lines, "\n".join(lines)
    assert served or program not in SERVED, f"no call of {program} was served"


@pytest.mark.parametrize("command", ON_REAL_FILES)
def test_program_reads_real_files_alike(command: str, tmp_path: Path) -> None:
    library()
    need(command.split()[0])
    names = ("data/images", "data/cubes", "data/tables")
    files = [path for name in names for path in files_under(name) if path.stat().st_size < 3e6]
    files = [*files, *traps()] if FULL else [*files, *traps()][::4]
    lines = []
    for path in files:
        folder = tmp_path / "one"
        folder.mkdir()
        shutil.copy(path, folder / "copy.fits")
        modes = PRELOADED if FULL else ["everything"]
        lines += compare(command.format(file="copy.fits"), folder, tmp_path, modes)[0]
        shutil.rmtree(folder)
    assert not lines, "\n".join(lines)


# ---- the suites of CFITSIO ----


@functools.cache
def cfitsio() -> Path:
    """Return the folder with CFITSIO's sources; skip the test without it."""
    named = os.environ.get("TACHYFITS_CFITSIO_SOURCE")
    if not named:
        left_out("CFITSIO's own programs (set TACHYFITS_CFITSIO_SOURCE to a folder of its sources)")
    folder = Path(str(named)).resolve()
    assert (folder / "testprog.c").is_file(), f"{folder} lacks testprog.c"
    return folder


#: Programs of CFITSIO's sources with the files that they need and the ones that they must reproduce.
SUITES: dict[str, tuple[list[str], dict[str, str]]] = {
    "testprog.c": (["testprog.tpt"], {"output": "testprog.out", "testprog.fit": "testprog.std"}),
    "testf77.f": ([], {"output": "testf77.out", "testf77.fit": "testf77.std"}),
    "cookbook.c": ([], {}),
    "cookbook.f": ([], {}),
    "iter_a.c": (["iter_a.fit"], {}),
    "iter_a.f": (["iter_a.fit"], {}),
    "iter_b.c": (["iter_b.fit"], {}),
    "iter_b.f": (["iter_b.fit"], {}),
    "iter_c.c": (["iter_c.fit"], {}),
    "speed.c": ([], {}),
}


@pytest.mark.parametrize("name", SUITES)
def test_programs_of_cfitsio_pass(name: str, tmp_path: Path) -> None:
    library()
    source = cfitsio() / name
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    needed, expected = SUITES[name]
    for file in needed:
        shutil.copy(cfitsio() / file, inputs)
    fortran = ["-std=legacy"] if name.endswith(".f") else []
    compiler = "gfortran" if fortran else "cc"
    program = compiled(source, tmp_path, "-w", *fortran, f"-I{cfitsio()}", compiler=compiler)
    program.rename(inputs / "program")
    command = "./program > output"
    lines = []
    for mode in ["plain", *PRELOADED]:
        result = run(command, inputs, tmp_path / "folder", mode)
        if mode == "plain":
            plain = result
        for made, standard in expected.items():
            # Only files with dates are compared without them.
            content = (cfitsio() / standard).read_bytes()
            if result.raw[made] != content:
                lines.append(f"{mode}: {made} of {name} is not {standard}")
        if name == "speed.c":
            assert b"status = 0" in result.raw["output"], mode
            for copy in (plain, result):
                copy.names["output"] = re.sub(rb"[\d.]+", b"0", copy.names["output"])
                copy.files["output"] = str(hash(copy.names["output"]))
        lines += difference(plain, result, mode)
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("mode", ["plain", *PRELOADED])
def test_own_tests_of_fitsio_pass(mode: str, tmp_path: Path) -> None:
    """Python loads its modules locally: the library must find the CFITSIO of the module that calls."""
    library()
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    has_fitsio = python and subprocess.run(
        [python, "-c", "import fitsio.test"], capture_output=True
    )
    if not has_fitsio or has_fitsio.returncode:
        left_out("fitsio that uses the system's CFITSIO (python3-fitsio)")
    report = tmp_path / "report"
    answer = subprocess.run(
        [str(python), "-m", "unittest", "fitsio.test"],
        cwd=tmp_path, env=environment(mode, report), capture_output=True, text=True,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^Ran 6\d tests", answer.stderr, re.MULTILINE)
    if mode in ("everything", "check"):
        text = report.read_text()
        assert "calls served" in text
        assert "DIFFER" not in text, text


def test_pixels_of_fitsio_are_the_same(inputs: Path, tmp_path: Path) -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    library()
    if (
        not python
        or subprocess.run([python, "-c", "import fitsio"], capture_output=True).returncode
    ):
        left_out("fitsio that uses the system's CFITSIO (python3-fitsio)")
    script = (
        "import fitsio, glob, hashlib, sys\n"
        "for name in sorted(glob.glob('*.fits*')):\n"
        "    for hdu in fitsio.FITS(name):\n"
        "        if not hdu.has_data(): continue\n"
        "        data = hdu.read()\n"
        "        print(name, data.dtype, data.shape, hashlib.md5(data.tobytes()).hexdigest())\n"
        "        part = hdu[10:90:3, 5:50] if data.ndim == 2 else hdu[10:90]\n"
        "        print(name, part.dtype, part.shape, hashlib.md5(part.tobytes()).hexdigest())\n"
    )
    (inputs / "read.py").write_text(script)
    command = f"{python} -W ignore read.py"
    lines, served = compare(command, inputs, tmp_path, PRELOADED)
    assert not lines, "\n".join(lines)
    assert served


def test_results_keep_what_they_compare() -> None:
    """A difference in status, output or files is described."""
    base = Result("c", 0, [b"a"], {"f": "1"}, "", {"f": b"xy"}, {})
    other = Result("c", 1, [b"b"], {"f": "2"}, "  ffgpv: 2 calls DIFFER\n", {"f": b"xz"}, {})
    lines = difference(base, other, "on")
    assert len(lines) == 4
    assert "byte 1" in lines[2]
    assert SHARED.name
