"""The command line: what it prints where, its exit statuses, its files."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, empty_primary, extension, primary
from tachyfits.cli import COMMANDS, run

STORED = np.random.default_rng(8).normal(1, 2, (6, 12, 14)).astype("f4")
STORED[0, 0, :3] = np.nan


class Said:
    """Output of one command line, and its exit status."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    content = primary(STORED, [*cube_cards(), ("CPLX", 5)])
    (tmp_path / "cube.fits").write_bytes(content + extension(STORED[0], [("EXTNAME", "PIC")]))
    (tmp_path / "none.fits").write_bytes(empty_primary())
    (tmp_path / "junk.fits").write_bytes(primary(STORED[0]) + b"\x1a" * 50)
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str, status: int = 0) -> Said:
        found = run(list(words))
        said = Said(found, *capsys.readouterr())
        assert found == status, (words, said.out, said.err)
        return said

    return call


def script(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tachyfits", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


# The whole.


#: Commands of commands.
FORTRAN_COMMANDS = ("fortran info", "fortran dump", "fortran stats", "fortran convert")
#: Options that make no sense for whole files, or for files that are not FITS.
SENSELESS = {
    "verify": {"--hdu"},
    "diff": {"--hdu", "--strict"},
    "serve": {"--hdu", "--strict", "--progress"},
    "view": {"--hdu", "--strict", "--progress"},
    "fortran info": {"--hdu", "--strict", "--threads", "--progress"},  # a walk over markers
    "fortran dump": {"--hdu", "--strict"},
    "fortran stats": {"--hdu", "--strict"},
    "fortran convert": {"--hdu", "--strict", "--threads"},
}


#: A group of commands, and one that runs another program, whose output and report are its own.
OTHERS = {"fortran", "preload"}


def test_help_teaches_with_examples(cli: Any) -> None:
    said = cli("--help")
    assert all(name in said.out for name in COMMANDS)
    assert "Examples:" in said.out
    for name in (*(set(COMMANDS) - OTHERS), *FORTRAN_COMMANDS):
        said = cli(*name.split(), "--help")
        assert "--json" in said.out
        assert re.search(r"Examples:\n +tachyfits " + name, said.out)
        if name != "errors":
            for option in {"--threads", "--progress", "--hdu", "--strict"} - SENSELESS.get(
                name, set()
            ):
                assert option in said.out, name


def test_versions_and_the_vector_tier(cli: Any) -> None:
    assert cli("--version").out == f"tachyfits {tf.__version__}\n"
    said = cli("--version", "--verbose").out
    info = tf.info.build()
    assert re.search(rf"tier +{info['tier']}\n", said)
    for word in ("cores", "numpy", "astropy", "python"):
        assert word in said
    cli("--verbose", status=2)


def test_exit_statuses(cli: Any) -> None:
    assert "hint" in cli("stats", "missing.fits", status=1).err
    assert cli("stats", "none.fits", status=2).out == ""
    cli(status=2)
    cli("nonsense", status=2)
    cli("stats", status=2)
    cli("stats", "cube.fits", "--nonsense", status=2)
    cli("stats", "cube.fits", "--region", "circle(1,2)", status=2)
    cli("stats", "cube.fits", "--section", "1:99", status=2)
    cli("stats", "cube.fits", "--hdu", "7", status=2)
    cli("stats", "cube.fits", "--threads", "-1", status=2)
    cli("header", "cube.fits", "-k", "NOPE", status=1)
    said = cli("stats", "missing.fits", "cube.fits", "--json", status=1)
    assert said.json["statistics"][0]["count"] == STORED.size - 3


@pytest.mark.parametrize(
    "name",
    ["\N{SUPERSCRIPT TWO}", "PIC,\N{SUPERSCRIPT TWO}", "--5", "\N{ARABIC-INDIC DIGIT THREE}"],
)
def test_an_hdu_that_is_no_number_is_a_name(cli: Any, name: str) -> None:
    said = cli("stats", "cube.fits", f"--hdu={name}", status=2)
    assert f"cube.fits: no HDU has EXTNAME {name!r}" in said.err


def test_a_process_of_its_own_says_the_same(folder: Path) -> None:
    done = script("stats", "cube.fits", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["statistics"][0]["count"] == STORED.size - 3
    assert script("stats", "missing.fits").returncode == 1
    assert script("stats").returncode == 2


@pytest.mark.parametrize("words", [("header", "cube.fits"), ("info", "cube.fits"), ("--help",)])
def test_a_pipe_without_a_reader_is_success(folder: Path, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tachyfits", *words]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_is_success(folder: Path) -> None:
    cards = [(f"KEY{n}", n) for n in range(20_000)]
    (folder / "long.fits").write_bytes(primary(STORED[0], cards))
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "tachyfits", "header", "long.fits"]
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        assert os.read(reading, 10)
        os.close(reading)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", [("info", "cube.fits"), ("errors",), ("--help",)])
def test_a_full_output_device_is_one_line(folder: Path, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "tachyfits", *words]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    said = "tachyfits: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_closed_output_is_not_an_error(folder: Path) -> None:
    command = f"{sys.executable} -m tachyfits info cube.fits >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_work_over_a_second_shows_progress_with_rate_and_end(
    cli: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tachyfits.cli import _progress

    assert cli("stats", "cube.fits", "--progress").err == ""
    monkeypatch.setattr(_progress, "PATIENCE_SECONDS", -1.0)
    shown = cli("stats", "cube.fits", "--progress")
    assert "stats" in shown.err
    assert shown.out == cli("stats", "cube.fits", "--no-progress").out
    assert cli("stats", "cube.fits", "--no-progress").err == ""
    assert cli("stats", "cube.fits").err == "", "no terminal, no bar"
    with _progress.progress(True, "a long one") as call:
        for step in range(6):
            assert call(step * 10**8, 10**9) is True
    bar = capsys.readouterr().err
    assert "a long one" in bar
    assert re.search(r"[TGMk]B/s", bar)
    assert "1.0 GB" in bar
    assert re.search(r"\d:\d\d:\d\d", bar)


def test_warnings_are_words(cli: Any) -> None:
    said = cli("stats", "junk.fits", "--json")
    assert "warning" in said.err
    assert said.json["statistics"][0]["count"] == STORED[0].size - 3
    cli("stats", "junk.fits", "--strict", status=1)
    assert "warning" in cli("info", "junk.fits").out


def test_a_command_costs_one_file_and_one_line() -> None:
    package = Path(tf.__file__).parent / "cli"
    modules = {p.stem for p in package.glob("*.py") if not p.stem.startswith("_")}
    assert modules == set(COMMANDS)


# The commands.


def test_info_lists_hdus(cli: Any) -> None:
    text = cli("info", "cube.fits", "none.fits").out
    assert "cube.fits: 2 HDUs" in text
    assert "14 x 12 x 6" in text
    assert "none.fits: 1 HDU" in text
    answer = cli("info", "cube.fits", "--json").json
    first = answer["hdus"][0]
    assert (first["naxis"], first["bitpix"], first["unit"]) == ([14, 12, 6], -32, "Jy/beam")
    assert (first["type"], first["data_bytes"]) == ("float32", STORED.nbytes)
    assert answer["hdus"][1]["name"] == "PIC"
    assert answer["warnings"] == []


def test_headers_as_cards_keywords_and_json(cli: Any) -> None:
    text = cli("header", "cube.fits").out
    assert "CRVAL3  =               1000.0" in text
    assert cli("header", "cube.fits", "-k", "crval3").out == "1000.0\n"
    assert cli("header", "cube.fits", "-k", "BUNIT").out == "Jy/beam\n"
    assert cli("header", "cube.fits", "-k", "BUNIT", "-k", "OBJECT").out.count("\n") == 2
    answer = cli("header", "cube.fits", "--hdu", "PIC", "--json").json
    assert {"keyword": "EXTNAME", "value": "PIC", "comment": ""} in answer["cards"]
    lines = cli("header", "cube.fits", "--hdu", "all", "--json").out.splitlines()
    assert [json.loads(line)["hdu"] for line in lines] == [0, 1]
    raw = cli("header", "cube.fits", "--raw").out.splitlines()
    assert raw[0] == "SIMPLE  =                    T"


def expected(values: np.ndarray) -> dict[str, float]:
    values = values.astype("f8")
    return {"mean": np.nanmean(values), "std": np.nanstd(values), "min": np.nanmin(values),
            "max": np.nanmax(values), "sum": np.nansum(values)}  # fmt: skip


def test_stats_as_json(cli: Any) -> None:
    answer = cli("stats", "cube.fits", "--json").json
    (row,) = answer["statistics"]
    assert answer["naxis"] == [14, 12, 6]
    assert answer["unit"] == "Jy/beam"
    assert (row["count"], row["nan"], row["region"]) == (STORED.size - 3, 3, None)
    for name, value in expected(STORED).items():
        assert row[name] == pytest.approx(value, rel=1e-12)
    place = np.unravel_index(np.nanargmax(STORED), STORED.shape)
    assert row["max_position"] == [int(p) + 1 for p in reversed(place)]
    # Every digit is there.
    assert row["mean"] == tf.open("cube.fits")[0].stats().mean


def test_stats_as_json_say_of_which_pixels(cli: Any) -> None:
    answer = cli("stats", "cube.fits", "--section", "1:3", "--channels", "2:", "--json").json
    assert (answer["section"], answer["channels"], answer["pol"]) == ("1:3", "2:", None)


def test_stats_of_nothing_are_null(cli: Any) -> None:
    (row,) = cli("stats", "cube.fits", "--json", "--section", "1:3,1,1").json["statistics"]
    assert (row["count"], row["nan"], row["mean"], row["max_position"]) == (0, 3, None, None)


def test_stats_of_regions_sections_and_planes(cli: Any) -> None:
    words = ["--region", "circle(7,6,3)", "--region", "box(2,2,3,3,0)", "--json"]
    rows = cli("stats", "cube.fits", *words).json["statistics"]
    masks = [tf.Circle(6, 5, 3).mask(12, 14), tf.Box(1, 1, 3, 3).mask(12, 14)]
    assert [row["region"] for row in rows] == ["circle(7,6,3)", "box(2,2,3,3,0)"]
    for row, mask in zip(rows, masks, strict=True):
        assert row["mean"] == pytest.approx(expected(STORED[:, mask])["mean"], rel=1e-12)
    planes = cli("stats", "cube.fits", *words, "--per-plane").json["statistics"]
    assert len(planes) == 12
    assert [row["plane"] for row in planes[:6]] == [[n] for n in range(1, 7)]
    assert planes[8]["max"] == np.nanmax(STORED[2][masks[1]])
    rows = cli("stats", "cube.fits", "--section", "[3:5,*,2:6:2]", "--per-plane", "--json").json
    assert [row["plane"] for row in rows["statistics"]] == [[2], [4], [6]]
    assert rows["statistics"][1]["min"] == STORED[3, :, 2:5].min()
    assert rows["section"] == "[3:5,*,2:6:2]"
    # Positions are the image's, whatever the section.
    (row,) = cli("stats", "cube.fits", "--section", "[5:3,2:9,2:6:2]", "--json").json["statistics"]
    for name in ("min", "max"):
        x, y, z = (pixel - 1 for pixel in row[f"{name}_position"])
        assert STORED[z, y, x] == row[name]
        assert row[name] == getattr(np, name)(STORED[1:6:2, 1:9, 2:5])


def test_stats_as_text(cli: Any) -> None:
    said = cli("stats", "cube.fits", "--report")
    lines = dict(line.split(maxsplit=1) for line in said.out.splitlines()[1:])
    assert lines["nan"].split() == ["3"]
    assert float(lines["mean"].split()[0]) == tf.open("cube.fits")[0].stats().mean
    assert "Jy/beam" in lines["max"]
    assert "at " in lines["max"]
    for word in ("io", "compute", "GB/s", "hidden"):
        assert word in said.err
    report = cli("stats", "cube.fits", "--report", "--json").json["report"]
    assert report["bytes"] >= STORED.nbytes
    assert report["wall_seconds"] > 0
    table = cli("stats", "cube.fits", "--per-plane").out.splitlines()
    assert len({len(line.split()) for line in table[2:]}) == 1
    ddof = cli("stats", "cube.fits", "--ddof", "1", "--json").json["statistics"][0]["std"]
    assert ddof == pytest.approx(np.nanstd(STORED.astype("f8"), ddof=1), rel=1e-12)


def test_histograms(cli: Any, folder: Path) -> None:
    good = STORED[np.isfinite(STORED)].astype("f8")
    answer = cli("histogram", "cube.fits", "--bins", "9", "--range", "-2", "3", "--json").json
    counts, edges = np.histogram(good, 9, (-2, 3))
    assert answer["counts"] == counts.tolist()
    assert answer["edges"] == pytest.approx(edges.tolist())
    assert (answer["nan"], answer["below"]) == (3, int((good < -2).sum()))
    rows = cli("histogram", "cube.fits", "--bins", "9", "--range", "-2", "3").out.splitlines()
    assert len(rows) == 10
    assert [int(row.split()[2]) for row in rows[1:]] == counts.tolist()
    for suffix in ("csv", "json", "txt", "png", "svg"):
        cli("histogram", "cube.fits", "-o", f"h.{suffix}", *(["--log"] if suffix == "png" else []))
        assert (folder / f"h.{suffix}").stat().st_size > 100
    cli("histogram", "cube.fits", "-o", "h.csv", status=1)
    cli("histogram", "cube.fits", "-o", "h.csv", "--overwrite")
    cli("histogram", "cube.fits", "-o", "h.doc", status=2)


def test_spectra(cli: Any, folder: Path) -> None:
    mask = tf.Circle(6, 5, 3).mask(12, 14)
    wanted = STORED[1:4, mask].astype("f8").mean(axis=1)
    words = ["spectrum", "cube.fits", "--region", "circle(7, 6, 3)", "--channels", "2:4"]
    answer = cli(*words, "--json").json
    assert answer["channels"] == [2, 3, 4]
    assert answer["axis"] == {"name": "VRAD", "unit": "m/s", "values": [1250.0, 1500.0, 1750.0]}
    assert answer["spectra"][0]["region"] == "circle(7,6,3)"
    assert answer["spectra"][0]["values"] == pytest.approx(wanted.tolist(), rel=1e-12)
    text = cli(*words).out.splitlines()
    assert text[0].split() == ["#", "channel", "VRAD[m/s]", "mean[Jy/beam]:circle(7,6,3)"]
    assert [float(row.split()[2]) for row in text[1:]] == answer["spectra"][0]["values"]
    table = list(csv.reader(cli(*words, "--csv").out.splitlines()))
    assert [float(row[2]) for row in table[1:]] == answer["spectra"][0]["values"]
    for suffix in ("csv", "json", "txt", "png", "svg"):
        cli(*words, "-o", f"s.{suffix}")
        assert (folder / f"s.{suffix}").stat().st_size > 50
    assert "velocity" in (folder / "s.svg").read_text()
    two = cli("spectrum", "cube.fits", "--region", "circle(7,6,3)", "--region", "box(2,2,3,3)",
              "--statistic", "max", "--json").json  # fmt: skip
    assert len(two["spectra"]) == 2
    cli("spectrum", "cube.fits", "--channels", "0:4", status=2)
    cli("spectrum", "cube.fits", "--statistic", "best", status=2)
    cli("spectrum", "cube.fits", "--hdu", "PIC", status=2)
    cli(*words, "--json", "--csv", status=2)


def test_images_as_fits(cli: Any) -> None:
    values = STORED.astype("f8")
    cli("collapse", "cube.fits", "--channels", "2:4", "--statistic", "max", "-o", "max.fits")
    with tf.open("max.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0][...], values[1:4].max(axis=0))
        assert file[0].unit == "Jy/beam"
    cli("collapse", "cube.fits", "--statistic", "moment0", "-o", "m0.fits", "--section", "*,3:6")
    with tf.open("m0.fits", strict=True) as file:
        np.testing.assert_allclose(file[0][...], values[:, 2:6].sum(axis=0) * 250, rtol=1e-12)
        assert file[0].unit == "Jy beam-1 m s-1"
    said = cli("collapse", "cube.fits", "-o", "mean.fits", "--json").json
    assert said["statistic"] == "mean"
    assert said["output_naxis"] == [14, 12]
    cli("collapse", "cube.fits", "-o", "mean.fits", status=1)
    cli("collapse", "cube.fits", "-o", "mean.fits", "--overwrite")
    cli("collapse", "cube.fits", status=2)


def test_several_images_of_one_cube(cli: Any, folder: Path) -> None:
    image = tf.open("cube.fits")[0]
    words = ["collapse", "cube.fits", "--moment", "0,1,2", "--peak-channel", "--unit", "km/s"]
    words += ["--region", "circle(7,6,4)", "-o", "line.fits", "-o", "line.png", "--json"]
    answers = [json.loads(line) for line in cli(*words).out.splitlines()]
    assert [answer["statistic"] for answer in answers] == [
        "moment 0", "moment 1", "moment 2", "max_channel (from 1)",
    ]  # fmt: skip
    assert answers[0]["output"] == ["line-moment0.fits", "line-moment0.png"]
    region = tf.Circle(6, 5, 4)
    for order, plane in enumerate(image.select(region).moments(unit="km/s")):
        with tf.open(f"line-moment{order}.fits", strict=True) as file:
            np.testing.assert_array_equal(file[0][...], plane.values)
            assert file[0].unit == plane.unit
    with tf.open("line-max_channel.fits") as file:
        peak = image.select(region).collapse("max_channel").values
        np.testing.assert_array_equal(file[0][...], peak + 1)
        assert any("(from 1)" in text for text in file[0].header.history())
    assert (folder / "line-max_channel.png").stat().st_size > 1000
    cli("collapse", "cube.fits", "--moment", "1", "--keep-axis", "-o", "kept.fits")
    mask = tf.open("cube.fits")[0].plane(np.s_[2])
    mask.write("mask.fits")
    words = ["--threshold", "1.5", "--mask", "mask.fits", "--statistic", "median"]
    cli("collapse", "cube.fits", *words, "-o", "median.fits")
    expected = image.select(where=mask.values).select(where=1.5).collapse("median").values
    np.testing.assert_array_equal(tf.open("median.fits")[0][...], expected)
    assert tf.open("kept.fits")[0].shape == (1, 12, 14)
    for words in (["--moment", "0,4"], ["--convention", "gamma"], ["--bare", "-o", "b.svg"]):
        cli("collapse", "cube.fits", "-o", "x.fits", *words, status=2)
    cli("collapse", "cube.fits", "--moment", "1", "--unit", "GHz", "-o", "x.fits", status=2)
    cli("collapse", "cube.fits", "--hdu", "PIC", "--unit", "GHz", "-o", "x.fits", status=2)


def test_every_report_has_the_names_of_python(cli: Any) -> None:
    with tf.fortran.create("a.dat", order="big") as new:
        new.write(np.arange(4.0))
    lines = {
        "stats": "cube.fits", "collapse": "cube.fits -o i.fits", "spectrum": "cube.fits",
        "math": "a*2 a=cube.fits", "smooth": "cube.fits -o s.fits",
        "reorder": "cube.fits zxy -o o.fits", "rebin": "cube.fits 2 2 1 -o r.fits",
        "pv": "cube.fits --path '2,3 7,3' -o p.fits", "fortran stats": "a.dat --form f8",
        "fit": "cube.fits -o f.fits",
    }  # fmt: skip
    for name in (*(set(COMMANDS) - OTHERS), *FORTRAN_COMMANDS):
        has = "--report" in cli(*name.split(), "--help").out
        assert has == bool(lines.get(name)), name
        if has:
            words = [*name.split(), *shlex.split(lines[name]), "--report", "--json"]
            report = cli(*words).json["report"]
            assert list(report) == [
                "bytes", "io_seconds", "compute_seconds", "write_seconds", "wall_seconds",
                "hidden_fraction", "threads", "buffering", "storage",
            ], name  # fmt: skip
            assert all(hasattr(tf.Report, key) for key in report)


def test_pictures_and_spectra_report_their_cost(cli: Any, folder: Path) -> None:
    words = ["collapse", "cube.fits", "--statistic", "mad", "--statistic", "percentile90"]
    answers = cli(*words, "-o", "p.fits", "--checksum", "--report", "--json").out.splitlines()
    assert [json.loads(line)["report"]["threads"] > 0 for line in answers] == [True, True]
    image = tf.open("cube.fits")[0]
    for name in ("mad", "percentile90"):
        with tf.open(f"p-{name}.fits") as file:
            assert file[0].checksum().whole == "right"
            np.testing.assert_array_equal(file[0][...], image.collapse(name).values)
    assert "of reading and writing hidden" in cli(
        "spectrum", "cube.fits", "--statistic", "median", "--report").err  # fmt: skip
    several = cli("collapse", "cube.fits", "--moment", "0,1", "--peak-channel", "-o", "n.fits",
                  "--report").err.splitlines()  # fmt: skip
    # One pass gives both moments, and costs once.
    assert ["hidden" in line for line in several] == [False, True, False, False, True]
    said = cli("spectrum", "cube.fits", "--statistic", "mad", "--report", "--json")
    assert (said.json["report"]["wall_seconds"] > 0, said.err) == (True, "")
    for out in ("s.csv", "s.png"):
        assert "hidden" in cli("spectrum", "cube.fits", "--report", "--json", "-o", out).err
    wrong = ["collapse", "cube.fits", "--statistic", "percentile101", "-o", "x.fits"]
    assert "'median', 'mad'" in cli(*wrong, status=2).err


def _unfinished(process: int, folder: Path) -> bool:
    """Return whether a process writes a file of a folder that is not there yet."""
    if list(folder.glob(".*.part")):
        return True
    # Linux has files without a name; a descriptor that is closed meanwhile has no path.
    descriptors = Path(f"/proc/{process}/fd")
    with contextlib.suppress(OSError):
        for descriptor in descriptors.iterdir():
            path = os.readlink(descriptor)
            if path.startswith(f"{folder}/") and path.endswith(" (deleted)"):
                return True
    return False


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_kill_leaves_the_old_file_and_nothing_else(name: str, folder: Path) -> None:
    number = getattr(signal, name)
    (folder / "large.fits").write_bytes(primary(np.ones((64, 256, 256), "f4"), cube_cards()))
    (folder / "old.fits").write_bytes(b"old")
    weights = ",".join(["1"] * 4001)
    words = ["smooth", "large.fits", "--weights", weights, "-o", "old.fits", "--overwrite"]
    command = [sys.executable, "-m", "tachyfits", *words, "--threads", "1"]

    def as_usual() -> None:
        # Tests that run under nohup hand on that SIGHUP is ignored.
        if name != "SIGKILL":
            signal.signal(number, signal.SIG_DFL)

    with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=as_usual) as process:
        has_begun = False
        for _ in range(12_000):
            has_begun = _unfinished(process.pid, folder)
            if process.poll() is not None or has_begun:
                break
            time.sleep(0.01)
        assert has_begun, "it ended before it was killed, or never began"
        named = bool(list(folder.glob(".*.part")))
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == (-number if name == "SIGKILL" else 128 + number)
    assert (folder / "old.fits").read_bytes() == b"old"
    # A temporary name, on systems that have no files without one, stays after SIGKILL.
    assert bool(list(folder.glob(".*.part"))) == (named and name == "SIGKILL")


@pytest.mark.parametrize("stretch", ["linear", "log", "asinh", "sqrt"])
def test_images_as_pictures(stretch: str, cli: Any, folder: Path) -> None:
    words = ["collapse", "cube.fits", "--stretch", stretch, "--percentile", "99"]
    cli(*words, "--cmap", "viridis", "-o", "p.png")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    cli(*words, "--bare", "-o", "bare.png")
    from matplotlib.image import imread

    pixels = imread(folder / "bare.png")
    assert pixels.shape == (12, 14, 4)
    brightest = np.unravel_index(np.nanargmax(STORED.mean(axis=0)), (12, 14))
    # y goes upwards; the brightest pixel has the last colour of the map.
    from matplotlib import colormaps

    np.testing.assert_allclose(
        pixels[11 - brightest[0], brightest[1]], colormaps["inferno"](255), atol=0.01
    )
    cli(*words, "--cmap", "nonsense", "-o", "q.png", status=2)
    assert not (folder / "q.png").exists()
    cli(*words, "--percentile", "30", "-o", "q.png", status=2)


def test_pictures_are_drawn_as_they_are(cli: Any) -> None:
    cli("collapse", "cube.fits", "--hdu", "PIC", "-o", "pic.fits")
    np.testing.assert_array_equal(tf.open("pic.fits")[0][...], STORED[0])
    cli("collapse", "cube.fits", "--hdu", "PIC", "--statistic", "max", "-o", "q.fits", status=2)
    cli("collapse", "cube.fits", "--section", "*,*,3", "-o", "q.fits")


def test_cutouts(cli: Any, folder: Path) -> None:
    said = cli("cutout", "cube.fits", "--section", "[3:7:2,12:2,2:4]", "-o", "cut.fits")
    assert "3 x 11 x 3" in said.err
    with tf.open("cut.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0][...], STORED[1:4, 11:0:-1, 2:7:2])
    before = (folder / "cut.fits").read_bytes()
    refused = cli("cutout", "cube.fits", "--section", "1:2", "-o", "cut.fits", status=1)
    assert "cut.fits" in refused.err
    assert (folder / "cut.fits").read_bytes() == before
    answer = cli("cutout", "cube.fits", "--channels", "2:3", "-o", "cut.fits", "--overwrite",
                 "--json").json  # fmt: skip
    assert answer["output_naxis"] == [14, 12, 2]
    cli("cutout", "cube.fits", "--section", "*,*,4", "--drop-degenerate", "-o", "flat.fits")
    np.testing.assert_array_equal(tf.open("flat.fits")[0][...], STORED[3])
    cli("cutout", "cube.fits", "-o", "x.fits", status=2)
    cli(
        "cutout", "cube.fits", "--section", "*,*,1:2", "--channels", "1:2", "-o", "x.fits", status=2
    )
    cli("cutout", "cube.fits", "--section", "1:2", "-o", "no/where.fits", status=1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stats cube.fits --median --ddof 1", "--median takes no --ddof"),
        ("histogram cube.fits --log", "--log: only with a picture"),
        ("spectrum cube.fits --csv -o new.txt", "--csv does not go with -o new.txt"),
        (
            "collapse cube.fits --contours --low 1 -o new.fits",
            "--low, --contours: only with a pict",
        ),
        ("collapse cube.fits --scale-bar auto -o new.fits", "--scale-bar: only with a picture"),
        ("collapse cube.fits --checksum -o new.png", "--checksum: only with a FITS file"),
        ("collapse cube.fits --bare --levels 1,2 -o new.png", "--bare takes no --levels"),
        (
            "collapse cube.fits --limits zscale --percentile 99 -o new.png",
            "both limits and a percent",
        ),
        ("pv cube.fits --path '1,1 9,9' --cmap gray -o new.fits", "--cmap: only with --png"),
        ("cutout cube.fits --channels 2 --mode strict -o new.fits", "--mode: only with --region"),
        ("math a a=cube.fits --blank 3 --sync", "--blank, --sync: only with --output"),
        ("smooth cube.fits --keep-beam -o new.fits", "--keep-beam: only with --sky"),
        ("compress cube.fits --scale 4", "--scale: only with --codec hcompress"),
        ("compress cube.fits --table-rows 4", "--table-rows: only with --tables"),
        ("diff cube.fits cube.fits --quiet --json", "one of --quiet and --json"),
        ("verify cube.fits --quiet --json", "one of --quiet and --json"),
    ],
)
def test_options_without_effect_are_refused(cli: Any, folder: Path, line: str, said: str) -> None:
    before = sorted(folder.iterdir())
    assert said in cli(*shlex.split(line), status=2).err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "command", ["histogram", "spectrum", "cutout", "collapse", "smooth", "math"]
)
def test_one_image_is_not_all_of_them(cli: Any, command: str) -> None:
    words = {"math": ["a", "a=cube.fits"]}.get(command, ["cube.fits"])
    more = {"cutout": ["--section", "1", "-o", "x.fits"], "collapse": ["-o", "x.fits"]}
    more["smooth"] = more["collapse"]
    said = cli(command, *words, *more.get(command, []), "--hdu", "all", status=2)
    assert "invalid --hdu all: expected one image" in said.err


@pytest.mark.parametrize(
    ("line", "naxis"),
    [
        ("smooth cube.fits --every 4", [14, 12, 2]),
        ("rebin cube.fits 2", [7, 12, 6]),
        ("reorder cube.fits zxy", [6, 14, 12]),
        ("pv cube.fits --path '1,1 9,1'", [9, 6]),
        ("collapse cube.fits --keep-axis", [14, 12, 1]),
        ("cutout cube.fits --section *,*,4 --drop-degenerate", [14, 12]),
    ],
)
def test_json_names_the_file_and_the_axes_of_the_output(
    cli: Any, line: str, naxis: list[int]
) -> None:
    said = cli(*shlex.split(line), "-o", "new.fits", "--json").json
    assert (said["file"], said["naxis"]) == ("cube.fits", [14, 12, 6])
    assert said["output_naxis"] == naxis == list(tf.open("new.fits")[0].shape[::-1])


def test_json_of_a_document_tells_its_file(cli: Any, folder: Path) -> None:
    for name in ("new.csv", "new.png"):
        said = cli("spectrum", "cube.fits", "-o", name, "--json").json
        assert (said["output"], said["output_bytes"]) == (name, (folder / name).stat().st_size)


def test_an_existing_output_is_refused_before_any_work(cli: Any, folder: Path) -> None:
    (folder / "old.png").write_bytes(b"old")
    for words in (
        ["collapse", "cube.fits", "-o", "new.fits", "-o", "old.png"],
        ["pv", "cube.fits", "--path", "1,1 9,9", "-o", "new.fits", "--png", "old.png"],
    ):
        assert "old.png: the file exists" in cli(*words, status=1).err
        assert not (folder / "new.fits").exists()


def test_a_map_that_is_named_twice_is_one(cli: Any, folder: Path) -> None:
    cli("collapse", "cube.fits", "--moment", "1,1", "--statistic", "moment1", "-o", "new.fits")
    assert (folder / "new.fits").exists()


def test_standard_input_is_not_changed_and_has_no_name(cli: Any, folder: Path) -> None:
    for words in (["header", "--set", "A=1"], ["checksum", "--update"], ["verify", "--fix"]):
        assert "standard input cannot be changed" in cli(*words, "-", status=2).err
    assert "name the new file" in cli("compress", "-", status=2).err
    cli("cutout", "cube.fits", "--section", "1:2", "-o", "new.png", status=2)
    assert {path.suffix for path in folder.iterdir()} == {".fits"}


def test_percentiles_have_all_their_digits(cli: Any) -> None:
    row = cli("stats", "cube.fits", "--percentile", "99.99999,100,5", "--json").json
    assert [*row["statistics"][0]] == ["region", "p99.99999", "p100", "p5"]


def test_errors_lists_the_codes(cli: Any) -> None:
    rows = cli("errors", "--json").json
    assert rows
    assert {row["kind"] for row in rows} >= {"io", "format", "usage", "limit", "warning"}
    assert cli("errors").out.count("\n") == len(rows) + 1
