"""Unformatted files exchanged with real Fortran programs, both ways."""

from __future__ import annotations

import math
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tachyfits import fortran

PROGRAM = """
program exchange
  use, intrinsic :: iso_fortran_env
  implicit none
  character(len=256) :: what, path, order
  integer(int32) :: step, n
  integer(int8) :: small(3)
  integer(int16) :: short(2)
  integer(int64) :: long
  real(real32) :: single(5)
  real(real64) :: double(2, 3), big(1000)
  complex(real64) :: z(2)
  logical :: flags(3)
  character(len=6) :: name
  integer :: i
  call get_command_argument(1, what)
  call get_command_argument(2, path)
  call get_command_argument(3, order)
  select case (trim(what))
  case ('write')
    open (10, file=trim(path), form='unformatted', status='replace', convert=trim(order))
    do step = 1, 50
      write (10) step, real(step, real64)/4, 'abcdef'
    end do
    write (10) reshape([(real(i, real64), i = 1, 6)], [2, 3])
    write (10) [(1.5_real64, -2.0_real64), (0.0_real64, 3.0_real64)]
    write (10) .true., .false., .true.
    write (10) [1_int8, -2_int8, 3_int8], [-300_int16, 300_int16], 9876543210_int64
    write (10)
    write (10) [(real(i, real64)*0.1_real64, i = 1, 1000)]
  case ('read')
    open (10, file=trim(path), form='unformatted', status='old', convert=trim(order))
    do i = 1, 50
      read (10) step, double(1, 1), name
      if (step /= i .or. double(1, 1) /= real(i, real64)/4 .or. name /= 'abcdef') stop 1
    end do
    read (10) double
    if (any(double /= reshape([(real(i, real64), i = 1, 6)], [2, 3]))) stop 2
    read (10) z
    if (z(1) /= (1.5_real64, -2.0_real64) .or. z(2) /= (0.0_real64, 3.0_real64)) stop 3
    read (10) flags
    if (.not. flags(1) .or. flags(2) .or. .not. flags(3)) stop 4
    read (10) small, short, long
    if (any(small /= [1, -2, 3]) .or. any(short /= [-300, 300])) stop 5
    if (long /= 9876543210_int64) stop 5
    read (10)
    read (10) big
    if (any(big /= [(real(i, real64)*0.1_real64, i = 1, 1000)])) stop 6
    read (10, iostat=n) single
    if (n /= iostat_end) stop 7
    print '(a)', 'all right'
  case ('last')
    ! The last numbers of a record that is too long for one marker.
    block
      integer(int8), allocatable :: bytes(:)
      integer(int64) :: length
      read (order, *) length
      allocate (bytes(length))
      open (10, file=trim(path), form='unformatted', status='old')
      read (10) bytes
      print '(4i5)', bytes(1:2), bytes(length - 1:length)
      read (10) step
      print '(i0)', step
    end block
  end select
  close (10)
end program exchange
"""


WIDE = """
program wide
  implicit none
  integer, parameter :: quad = selected_real_kind(33), long = selected_int_kind(38)
  type point
    sequence
    real(8) :: x(3)
    integer(4) :: id
    character(len=4) :: tag
  end type
  type(point) :: points(1000)
  character(len=256) :: path, order
  integer :: i
  call get_command_argument(1, path)
  call get_command_argument(2, order)
  do i = 1, 1000
    points(i)%x = [1d0*i, 2d0*i, 3d0*i]
    points(i)%id = i
    write (points(i)%tag, '(i4.4)') i
  end do
  open (10, file=trim(path), form='unformatted', status='replace', convert=trim(order))
  write (10) 7, [1.0_quad/3, -2.5_quad, 1e-300_quad, 1 - epsilon(1.0_quad)]
  write (10) [cmplx(1.5_quad, -2.0_quad, quad), cmplx(1.0_quad/3, 7.0_quad, quad)]
  write (10) huge(1_long), -5_long
  write (10) points
  close (10)
end program wide
"""


@pytest.fixture(scope="session")
def gfortran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give a function that makes the program, with options of the compiler."""
    compiler = shutil.which("gfortran")
    if compiler is None:
        pytest.skip("no gfortran: EXCHANGE WITH REAL FORTRAN PROGRAMS WAS NOT TESTED")
    folder = tmp_path_factory.mktemp("gfortran")
    (folder / "exchange.f90").write_text(PROGRAM)
    (folder / "wide.f90").write_text(WIDE)

    def compiled(*options: str, source: str = "exchange") -> str:
        program = folder / (source + "".join(options).replace("/", "_"))
        if not program.exists():
            words = [compiler, *options, "-J", str(folder), "-o", str(program)]
            subprocess.run([*words, str(folder / f"{source}.f90")], check=True)
        return str(program)

    return compiled


def exchanged(file: fortran.File) -> None:
    """Check what the program writes."""
    head = file.records(0, 50, "i4,f8,a6")
    assert_array_equal(head["f0"], range(1, 51))
    assert_array_equal(head["f1"], np.arange(1, 51) / 4)
    assert set(head["f2"]) == {b"abcdef"}
    assert_array_equal(file[50].read("f8", shape=(2, 3)), [[1, 3, 5], [2, 4, 6]])
    assert_array_equal(file[51].read("c16"), [1.5 - 2j, 3j])
    assert_array_equal(file[52].read("l4"), [True, False, True])
    mixed = file[53].read("3i1,2i2,i8")[0]
    assert_array_equal(mixed["f0"], [1, -2, 3])
    assert_array_equal(mixed["f1"], [-300, 300])
    assert mixed["f2"] == 9876543210
    assert file[54].nbytes == 0
    assert_array_equal(file[55].read("f8"), np.arange(1, 1001) * 0.1)
    assert len(file) == 56


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-frecord-marker=8",),
        ("-fmax-subrecord-length=100",),
        ("-frecord-marker=8", "-fmax-subrecord-length=7"),
    ],
    ids=str,
)
def test_real_programs_read_and_write_the_same(
    tmp_path: Path, gfortran: Any, order: str, options: tuple[str, ...]
) -> None:
    program = gfortran(*options)
    path = tmp_path / "a.dat"
    words = [program, "write", str(path), f"{order}_endian"]
    subprocess.run(words, check=True)
    file = fortran.open(path)
    assert file.order == order
    assert file.markers == (8 if "-frecord-marker=8" in options else 4)
    exchanged(file)
    # A copy that we write: record by record, and the first ones as one array.
    copy = tmp_path / "b.dat"
    with fortran.create(copy, markers=file.markers, order=order) as new:
        new.write_records(file.records(0, 50, "i4,f8,a6"))
        new.write(file[50].read("f8", shape=(2, 3)))
        new.write(file[51].read("c16"))
        new.write(file[52].read("l4"))
        mixed = file[53].read("3i1,2i2,i8")[0]
        new.write(mixed["f0"], mixed["f1"], mixed["f2"])
        new.write()
        new.write(file[55].read("f8"))
    if not any("subrecord" in option for option in options):
        assert copy.read_bytes() == path.read_bytes()
    words = [program, "read", str(copy), f"{order}_endian"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "all right"


POINT = np.dtype([("x", "f8", 3), ("id", "i4"), ("tag", "S4")])


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("options", [(), ("-fmax-subrecord-length=100",)], ids=str)
def test_wide_numbers_and_derived_types(
    tmp_path: Path, gfortran: Any, order: str, options: tuple[str, ...]
) -> None:
    path, copy = tmp_path / "a.dat", tmp_path / "b.dat"
    program = gfortran(*options, source="wide")
    subprocess.run([program, str(path), f"{order}_endian"], check=True)
    file = fortran.open(path)
    third, pair = 1 / 3, [1.5 - 2j, 1 / 3 + 7j]
    stats = file.stats("i4,4f16", first=0, count=1, field="f1")
    assert (stats.count, stats.min, stats.max) == (4, -2.5, 1.0)
    assert stats.sum == math.fsum([third, -2.5, 1e-300, 1.0])
    assert file.stats("c32", first=1, count=1).sum == sum(pair)
    points = file[3].read(POINT)
    assert_array_equal(points["x"], np.arange(1, 1001)[:, None] * [1.0, 2.0, 3.0])
    assert_array_equal(points["id"], np.arange(1, 1001))
    assert points["tag"][41] == b"0042"
    assert file.stats(POINT, first=3, field="id").sum == 500_500
    grouped = file[3].read("1000(3f8,i4,a4)")
    assert all(
        np.array_equal(grouped[f"f{n}"], points[name]) for n, name in enumerate(POINT.names or ())
    )
    for form in (POINT, "(3f8,i4,a4)"):
        forms = ["i4,*f16", "*c32", "*i16", form]
        how = {"order": "little", "precision": "double", "overwrite": True}
        fortran.convert(path, copy, forms=forms, **how)
        assert_array_equal(fortran.open(copy)[3].read(POINT), points)
    turned = fortran.open(copy)
    assert_array_equal(turned[0].read("i4,*f8")["f1"], [[third, -2.5, 1e-300, 1.0]])
    assert_array_equal(turned[1].read("c16"), pair)
    long = [
        int.from_bytes(turned[2].read("V16")[n].tobytes(), "little", signed=True) for n in (0, 1)
    ]
    assert long == [2**127 - 1, -5]


def test_a_record_over_two_gigabytes(tmp_path: Path, gfortran: Any) -> None:
    """Sparse, cut as in gfortran's manual: gfortran reads it, and what we write of it."""
    length = 2_147_483_639 + 1001
    path = tmp_path / "a.dat"
    first = 2_147_483_639
    with path.open("wb") as file:
        file.write(struct.pack("<i", -first) + b"\x01\x02")
        file.seek(4 + first)
        file.write(struct.pack("<ii", first, length - first))
        file.seek(length - first - 2, 1)
        file.write(b"\x03\x04" + struct.pack("<i", -(length - first)) + struct.pack("<3i", 4, 7, 4))
    found = fortran.open(path)
    assert (found.markers, found.order, len(found)) == (4, "little", 2)
    assert found[0].nbytes == length
    assert found[1].read("i4") == [7]
    stats = found.stats("i1", count=1)
    assert (stats.count, stats.sum, stats.max_position) == (length, 10, (0, length - 1))
    copy = tmp_path / "b.dat"
    fortran.convert(path, copy, order="big", forms=["*i1", "*i4"])
    turned = fortran.open(copy)
    assert (turned.order, turned[0].nbytes, turned[1].read("i4")[0]) == ("big", length, 7)
    assert turned.stats("i1", count=1).sum == 10
    for one, order in ((path, "little_endian"), (copy, "big_endian")):
        words = [gfortran(), "last", str(one), str(length)]
        convert = os.environ | {"GFORTRAN_CONVERT_UNIT": order}
        done = subprocess.run(words, check=True, capture_output=True, text=True, env=convert)
        assert done.stdout.split() == ["1", "2", "3", "4", "7"]
        one.unlink()
