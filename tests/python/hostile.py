"""Call every public function with hostile arguments; run as a program, for some subjects.

``python hostile.py SEED SHARE SUBJECT ...`` prints a line of JSON before each call and one for each
exception of a class outside the project. A call that ends the process is the last line.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import faulthandler
import fractions
import inspect
import io
import itertools
import json
import os
import random
import resource
import signal
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tachyfits as tf
from tachyfits import fortran
from tachyfits.plot import Catalogue, Vectors
from tachyfits.results.plane import PictureOptions

#: Address space of a process: a call that takes more for a small file is a fault.
MEMORY = 6 << 30

#: Seconds of a call: of processors, which other programs beside it do not change, and of the clock.
PATIENCE, LIMIT = 10, 60

HUGE = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class Pick:
    """Stands for a hostile argument, by its number."""

    number: int


class Odd:
    """An object whose every protocol fails."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("this object is hostile")

    __len__ = __iter__ = __getitem__ = __float__ = __int__ = __index__ = _fail
    __array__ = __fspath__ = __eq__ = __bool__ = _fail
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<odd>"


class Liar(list[Any]):
    """A sequence that states another length."""

    def __len__(self) -> int:
        return 3


class Marks:
    """Pictures with the marks of `tachyfits.plot`, whose options may be hostile."""

    def __init__(self) -> None:
        self.plane = tf.open("cube.fits")[0].collapse("sum")

    def catalogue(self, *, table: Any = "table.fits", hdu: Any = None, columns: Any = None,
                  frame: Any = None, where: Any = None, color: Any = None) -> None:  # fmt: skip
        """Draw the points of a table."""
        one = Catalogue(table, hdu, columns, frame, where, color)
        self.plane.plot(overlay=one).draw_without_rendering()

    def vectors(self, *, q: Any = None, u: Any = None, step: Any = 2, least: Any = None,
                color: Any = None, key: Any = True) -> None:  # fmt: skip
        """Draw vectors; the planes of Q and U are that of the picture by default."""
        planes = [self.plane if one is None else one for one in (q, u)]
        one = Vectors(planes[0], planes[1], step=step, least=least, color=color, key=key)
        self.plane.plot(overlay=one).draw_without_rendering()


def hostile() -> list[Any]:
    """Return arguments that no function expects in every place; made again for each call."""
    text = [
        "", " ", "\0", "a\0b", "é", "\ud800", "x" * 5000, "%s%n", "{}", "../..", "no/such", "-1",
        "1:0", "0:0", "1:99999999999999999999", "nan", "inf", "1e999", "[", "]", "(", ")", "a+",
        "((((((((((" * 200, "circle(1,2", "circle(nan,nan,nan)", "circle(1,2,-3)", "polygon(1,1)",
        "fk5;circle(0:0:0,0:0:0,1\")", "galactic;box(0,0,0,0,0)", "1GHz", "1 parsec", "Jy/beam/K",
        "10**10**10", "km/s..", "km/s^99999", "COMMENT", "HIERARCH A B", "SIMPLE", "END", "NAXIS1",
        "TFORM1", "100000000000D", "1PD(-1)", "PIXEL", "mean", "x", "y", "sum", "rice", "auto",
        "0x1F", "1_000", "--", "*", "?", "/", "\n", "9" * 400, "1" + "0" * 30, "RA == 1", "A >",
        "A ? B : C", "__class__", "1970-01-01", "NOW", "binary", "ascii",
    ]  # fmt: skip
    numbers = [
        0, 1, -1, 2, 7, 255, 256, -(2**31), 2**31, 2**32, -(2**63), HUGE, 2**63, 2**64, 10**30,
        -(10**30), 10**400, True, False, 0.0, -0.0, 0.5, -0.5, 1e-320, 1e308, -1e308, float("nan"),
        float("inf"), -float("inf"), 1j, complex("nan"), decimal.Decimal("NaN"),
        decimal.Decimal("1e999"), fractions.Fraction(1, 3), np.int8(-128), np.uint64(2**64 - 1),
        np.float16(65504), np.float64("nan"), np.longdouble("1e4000"), np.bool_(True),
        np.datetime64("NaT"), np.timedelta64(1, "s"), datetime.date(1, 1, 1),
    ]  # fmt: skip
    containers = [
        (), [], {}, set(), (1,), (1, 2), (1, 2, 3), (0, 0), (-1, -1), (HUGE, HUGE), (2**64, 1),
        (1.5, None), (None, None), ("a", "b"), ("a",), [[]], [[1], [1, 2]], [None], [1, "a"],
        [float("nan")] * 3, {1: 2}, {"a": None}, {"A": [1, 2]}, {"A": [1], "B": [1, 2]}, {"": 1},
        {"x": (1, 0)}, {"é": "é"}, range(0), range(10**12), range(10, 0, -3), Liar([1]),
        slice(None), slice(0, 0), slice(HUGE, -HUGE, -1), slice(None, None, 0), slice("a", "b"),
        (slice(None), ...), itertools.count, iter([1, 2]), frozenset([1]), {"a", "b"},
    ]  # fmt: skip
    arrays = [
        np.array(0), np.array([]), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 2)),
        np.ones((1, 1, 1, 1, 1)), np.array([np.nan, np.inf]), np.array(["a", "é"]),
        np.array([b"a", b""]), np.array([None, 1], object), np.array([[1, 2]], object),
        np.zeros(3, "f2"), np.zeros(3, "c16"), np.zeros(3, "M8[s]"), np.zeros(3, "m8[ns]"),
        np.zeros(2, [("A", "i4"), ("B", "U3")]), np.zeros(2, "V3"), np.zeros(3, ">f8")[::-1],
        np.zeros((4, 4))[::2, ::-1], np.ma.masked_all(3), np.ma.masked_array([1.0], [True]),
        np.broadcast_to(np.float32(1), (2, 3)), np.zeros(3, bool), np.array([HUGE, -HUGE]),
        np.array([0, 10**18]), np.array([2.5]), np.zeros(5, "S0"), np.matrix([[1, 2]]),
        np.zeros((1,) * 32), np.frombuffer(b"12345678", "<f8"),
    ]  # fmt: skip
    objects = [
        None, NotImplemented, Ellipsis, Odd(), object(), object, int, len, lambda: 1,
        lambda *_: 1 / 0, lambda *_: None, types.SimpleNamespace(), io.BytesIO(),
        io.BytesIO(b"SIMPLE"), io.StringIO("x"),
        b"", b"SIMPLE  =", b"\x1f\x8b", bytes(2880), bytearray(b"x"), memoryview(b"abc"), Path("."),
        Path("no/such"), Path("odd\ud800"), ValueError("x"), sys, tf.open, tf.TachyfitsError,
        tf.Image,
        tf.Circle(1, 2, 3), tf.Point(0, 0), Catalogue(None), Catalogue("image.fits"),
        Vectors(1, 2),  # type: ignore[arg-type]
        fortran, np.dtype("f4"), np.dtype("O"), np.float32, "f4", "O", "V8", "U5",
    ]  # fmt: skip
    return [*text, *numbers, *containers, *arrays, *objects]


def _block(*cards: str) -> bytes:
    return "".join(card.ljust(80) for card in cards).ljust(2880).encode()


def write_inputs() -> None:
    """Write the files that subjects read into the working directory."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    cards = {
        "BUNIT": "Jy/beam", "BMAJ": 0.01, "BMIN": 0.008, "BPA": 10.0, "RESTFRQ": 1.4e9,
        "CTYPE1": "RA---SIN", "CRVAL1": 10.0, "CDELT1": -0.001, "CRPIX1": 3.0, "CUNIT1": "deg",
        "CTYPE2": "DEC--SIN", "CRVAL2": 20.0, "CDELT2": 0.001, "CRPIX2": 3.0, "CUNIT2": "deg",
        "CTYPE3": "FREQ", "CRVAL3": 1.4e9, "CDELT3": 1e6, "CRPIX3": 1.0, "CUNIT3": "Hz",
    }  # fmt: skip
    cube = rng.normal(size=(4, 6, 5)).astype("f4")
    cube[0, 0, 0] = np.nan
    tf.write("cube.fits", cube, cards, overwrite=True)
    tf.write("image.fits", rng.integers(-9, 9, (6, 5)).astype("i2"), overwrite=True)
    tf.write("packed.fits", cube, cards, compress="rice", overwrite=True)
    columns = {
        "ID": np.arange(7), "RA": rng.uniform(0, 9, 7), "DEC": rng.uniform(0, 9, 7),
        "NAME": np.array(["a", "bc", "", "e", "x", "y", "z"]), "FLAG": np.arange(7) % 2 == 0,
        "V": rng.normal(size=(7, 3)), "R": [np.arange(n) for n in range(7)],
    }  # fmt: skip
    tf.write("table.fits", columns, overwrite=True)
    fortran.write("records.dat", np.arange(5, dtype="f8"), np.int32([3]), overwrite=True)


def subjects() -> dict[str, tuple[Callable[[], Any], str]]:
    """Return the calls to try: by name, a maker of the object and the name of its method."""
    makers: dict[str, Callable[[], Any]] = {
        "tf": lambda: tf,
        "fortran": lambda: fortran,
        "file": lambda: tf.open("cube.fits"),
        "hdu": lambda: tf.open("table.fits")[0],
        "cube": lambda: tf.open("cube.fits")[0],
        "image": lambda: tf.open("image.fits")[0],
        "packed": lambda: tf.open("packed.fits")[1],
        "computed": lambda: tf.open("cube.fits")[0] * 2,
        "cut": lambda: tf.open("cube.fits")[0].cutout(tf.Circle(2, 2, 2)),
        "plane": lambda: tf.open("cube.fits")[0].collapse("sum"),
        "marks": Marks,
        "spectrum": lambda: tf.open("cube.fits")[0].spectrum(),
        "stats": lambda: tf.open("cube.fits")[0].stats(),
        "histogram": lambda: tf.open("cube.fits")[0].histogram(5, range=(-1, 1)),
        "table": lambda: tf.open("table.fits")[1],
        "column": lambda: tf.open("table.fits")[1].columns[0],
        "columns": lambda: tf.open("table.fits")[1].read(),
        "ragged": lambda: tf.open("table.fits")[1].read("R"),
        "header": lambda: tf.open("cube.fits")[0].header,
        "cards": lambda: tf.open("cube.fits")[0].header.cards,
        "editor": lambda: tf.edit("edited.fits"),
        "edited": lambda: tf.edit("edited.fits")[1],
        "edited_header": lambda: tf.edit("edited.fits")[1].header,
        "verification": lambda: tf.verify("cube.fits"),
        "circle": lambda: tf.Circle(2, 2, 2),
        "polygon": lambda: tf.Polygon([(1, 1), (3, 1), (3, 3)]),
        "beam": lambda: tf.Beam(1, 1, 0),
        "beams": lambda: tf.open("cube.fits")[0].beams,
        "executor": lambda: tf.Executor(1),
        "records": lambda: fortran.open("records.dat"),
        "SkyRegion": lambda: tf.SkyRegion,
        "Beam": lambda: tf.Beam,
        "Ragged": lambda: tf.Ragged,
        "Header": lambda: tf.Header,
    }
    found: dict[str, tuple[Callable[[], Any], str]] = {}
    for name, make in makers.items():
        try:
            subject = make()
        except Exception as error:
            if isinstance(error, tf.TachyfitsError):
                continue
            raise
        special = ["__getitem__", "__call__", "__add__", "__rtruediv__", "__pow__", "__and__",
                   "__lt__", "__eq__", "__contains__", "__setitem__", "__delitem__",
                   "__iadd__"]  # fmt: skip
        for method in [*dir(subject), *special]:
            if (method.startswith("_") and method not in special) or (name, method) in SKIPPED:
                continue
            value = inspect.getattr_static(subject, method, None)
            if isinstance(value, property) or not callable(getattr(subject, method, None)):
                continue
            if inspect.ismodule(subject) and method not in subject.__all__:
                continue
            if getattr(value, "__module__", "") in PYTHONS:
                continue
            if name.istitle() and not isinstance(value, (staticmethod, classmethod)):
                continue
            found[f"{name}.{method}"] = (make, method)
    return found


#: Modules whose methods are inherited, and follow the protocols of Python.
PYTHONS = ("collections.abc", "_collections_abc", "numpy.lib.mixins")

#: Functions that wait for people or other programs.
SKIPPED = {("cube", "view"), ("image", "view"), ("packed", "view"), ("computed", "view"),
           ("cut", "view"), ("tf", "info"), ("tf", "fortran"),
           # A frame of astropy, whose errors are astropy's.
           ("tf", "HeaderFrame")}  # fmt: skip

#: Arguments that most functions take, so that the hostile one is reached.
USUAL: dict[str, Any] = {
    "path": "out.fits", "source": "cube.fits", "first": "cube.fits", "second": "image.fits",
    "expression": "a + 1", "axis": 0, "x": 1, "y": 1, "radius": 1, "regions": [], "column": "RA",
    "columns": ["RA"], "name": "RA", "keyword": "OBJECT", "value": 1, "data": np.zeros((2, 2)),
    "given": "circle(1,1,1)", "statistic": "mean", "statistics": ["mean"], "bins": 5, "q": 50,
    "factor": 2, "unit": "K", "order": 0, "ra": 5, "dec": 5, "other": {"RA": [1.0], "DEC": [1.0]},
}  # fmt: skip


#: Keyword arguments of functions by the annotation that has their names.
UNPACKED: dict[Any, Any] = {"Unpack[PictureOptions]": PictureOptions}


#: Calls that were faults, which every sample has: subject, place, and how the argument begins.
PINNED = [
    ("cube.moments", "orders", "range(0, 10000"),
    ("cube.robust_rms", "repeat", "9223372036854775807"),
    ("plane.png", "contours", "range(0, 10000"),
    ("executor.request", "seconds", "1" + "0" * 400),
    ("records.read", "shape", "range(0, 10000"),
    ("Ragged.from_cells", "cells", "range(0, 10000"),
    ("tf.diff", "ignore", "range(0, 10000"),
]


def pinned(name: str, call: Callable[..., Any]) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Give the calls of a subject that were faults."""
    for subject, place, text in PINNED:
        if subject == name:
            numbers = [n for n, value in enumerate(hostile()) if repr(value).startswith(text)]
            assert numbers, f"no argument {text}"
            yield from (made for made in calls(call, [Pick(numbers[0])]) if made[0] == place)


def calls(
    call: Callable[..., Any], values: list[Pick]
) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Give arguments of calls, with a hostile value in each place."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = inspect.Parameter
    unpacked = [UNPACKED[p.annotation] for p in parameters
                if p.kind == kinds.VAR_KEYWORD and p.annotation in UNPACKED]  # fmt: skip
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=None)
                   for options in unpacked for name in options.__annotations__]  # fmt: skip
    named = [p for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    needed = [p for p in parameters if p.default is kinds.empty and p.kind in
              (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]  # fmt: skip
    if not parameters or any(p.kind == kinds.VAR_POSITIONAL for p in parameters):
        for value in values:
            yield "*", [value], {}
            yield "*", [value, value], {}
        if not named:
            return
    for place in [*needed, *(p for p in named if p not in needed)]:
        if place.name in ("progress", "threads") and random.random() < 0.8:
            continue
        for value in values:
            first = [value if p is place else USUAL.get(p.name, 1)
                     for p in needed if p.kind != kinds.KEYWORD_ONLY]  # fmt: skip
            rest = {p.name: value if p is place else USUAL.get(p.name, 1)
                    for p in needed if p.kind == kinds.KEYWORD_ONLY}  # fmt: skip
            if place not in needed:
                rest[place.name] = value
            yield place.name, first, rest


def is_ours(error: BaseException) -> bool:
    """Say whether an exception may leave the public interface."""
    if isinstance(error, (tf.TachyfitsError, Warning)):
        return True
    # Of hostile objects and functions themselves.
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, RuntimeError) and "hostile" in str(error):
        return True
    if frames and frames[-1].filename == __file__ and frames[-1].name in ("_fail", "<lambda>"):
        return True
    # A call that does not fit the signature, which Python refuses before the function begins.
    known = isinstance(error, (TypeError, KeyError, IndexError, AttributeError))
    return known and len(frames) <= 2


def tell(**line: Any) -> None:
    """Print a line for the test."""
    print(json.dumps(line), flush=True)


def restore() -> None:
    """Write again what a call changed."""
    for name, content in ORIGINAL.items():
        if not os.path.isfile(name) or Path(name).read_bytes() != content:
            Path(name).unlink(missing_ok=True)
            Path(name).write_bytes(content)


ORIGINAL: dict[str, bytes] = {}


class TooSlow(BaseException):
    """A call took more than its time."""


def late(*_: Any) -> None:
    """Stop a call."""
    raise TooSlow


def drive(name: str, make: Callable[[], Any], method: str, share: float) -> None:
    """Call a method with a share of all hostile arguments."""
    count = len(hostile())
    order = [Pick(n) for n in random.sample(range(count), max(1, round(share * count)))]
    try:
        places = list(calls(getattr(make(), method), order))
    except Exception as error:
        if is_ours(error):
            return
        raise
    if share < 1:
        places = random.sample(places, min(len(places), len(order)))
        places += pinned(name, getattr(make(), method))
    for place, first, rest in places:
        # A call may change its arguments, so each gets new ones.
        values = hostile()
        picks = [v for v in (*first, *rest.values()) if isinstance(v, Pick)]
        pick = picks[0].number
        args = [values[v.number] if isinstance(v, Pick) else v for v in first]
        named = {k: values[v.number] if isinstance(v, Pick) else v for k, v in rest.items()}
        tell(call=name, place=place, argument=pick)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            result = getattr(make(), method)(*args, **named)
            if isinstance(result, tf.Image) and result.size < 10**6:
                result.read()
            elif isinstance(result, Iterator):
                next(result, None)
        except TooSlow:
            tell(fault=name, place=place, argument=pick, error="TooSlow", where=[])
        except BaseException as error:
            if not is_ours(error):
                frames = traceback.extract_tb(error.__traceback__)
                where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-3:]]
                said = f"{type(error).__name__}: {error}"[:160]
                shown = repr(values[pick])[:50]
                tell(fault=name, place=place, argument=pick, error=said, value=shown, where=where)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        restore()


def main() -> None:
    """Call the subjects that the command line names."""
    seed, share, *names = sys.argv[1:]
    faulthandler.enable()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["TACHYFITS_THREADS"] = "2"
    write_inputs()
    Path("edited.fits").write_bytes(Path("table.fits").read_bytes())
    for name in ("cube", "image", "packed", "table", "edited"):
        ORIGINAL[f"{name}.fits"] = Path(f"{name}.fits").read_bytes()
    ORIGINAL["records.dat"] = Path("records.dat").read_bytes()
    found = subjects()
    if names == ["list"]:
        tell(subjects=[*found])
        return
    for name in names:
        random.seed(f"{seed} {name}")
        drive(name, *found[name], float(share))
    tell(done=True)


if __name__ == "__main__":
    main()
