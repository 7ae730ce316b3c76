"""The command line helps people: what was meant, what fits a line, what a region misses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import COMMANDS, SECTIONS, run


class Said:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_cube(tmp_path / "cube.fits")

    def call(*words: str) -> Said:
        status = run(list(words))
        return Said(status, *capsys.readouterr())

    return call


def test_an_unknown_command_or_option_suggests_another(cli: Any) -> None:
    for word, meant in (("stat", "stats"), ("Spectrm", "spectrum"), ("histo", "histogram")):
        said = cli(word, "cube.fits")
        assert (said.status, f"Did you mean '{meant}'" in said.err) == (2, True), said.err
    assert "tachyfits info cube.fits" in cli("cube.fits").err
    assert "info, header" in cli("zzzzzz").err
    assert "Did you mean 'dump'" in cli("fortran", "dumpp", "x").err
    assert "--section" in cli("stats", "cube.fits", "--sectoin", "1:2").err


def test_alone_it_shows_every_command_by_purpose(cli: Any) -> None:
    said = cli()
    assert said.status == 2
    assert all(title in said.err for title in SECTIONS)
    assert all(f"\n  {name} " in said.err for name in COMMANDS)
    assert "130 interrupted" in said.err


@pytest.mark.parametrize("command", ["stats", "histogram", "spectrum", "collapse"])
def test_a_region_beyond_the_image_warns_once(command: str, cli: Any) -> None:
    def of(region: str) -> Said:
        words = ["-o", "x.fits", "--overwrite"] if command == "collapse" else []
        words += ["--range", "0", "1"] if command == "histogram" else []
        return cli(command, "cube.fits", "--region", region, *words)

    assert "warning" not in of("box(2,2,2,2)").err
    partly = of("circle(1,1,2)")
    assert partly.status == 0
    assert partly.err.count("circle(1,1,2) reaches beyond the image of 4 x 5 pixels") == 1
    wholly = of("circle(900,1,2)")
    assert "circle(900,1,2) lies outside the image" in wholly.err
    assert wholly.status == 0


def test_a_region_beyond_the_image_warns_in_python(tmp_path: Path) -> None:
    image = tf.open(write_cube(tmp_path / "cube.fits"))[0]
    for region in (tf.Box(0, 0, 3, 3), tf.Polygon([(0, 0), (9, 0), (0, 9)])):
        with pytest.warns(tf.TachyfitsWarning, match="reaches beyond"):
            image.stats(region)
    with pytest.warns(tf.TachyfitsWarning, match=r"Circle\(x=-9.*lies outside"):
        assert image.stats(tf.Circle(-9, 0, 2)).count == 0
    for call in (image.spectrum, lambda r: image.select(r).collapse("mean")):
        with pytest.warns(tf.TachyfitsWarning, match="lies outside"):
            call(tf.Ellipse(50, 50, 2, 1))


def test_lists_in_messages_are_cut(cli: Any, tmp_path: Path) -> None:
    hdus = [fits.PrimaryHDU(), *(fits.ImageHDU(name=f"EXT{n}") for n in range(300))]
    fits.HDUList(hdus).writeto(tmp_path / "many.fits")
    said = cli("stats", "many.fits", "--hdu", "NONE")
    assert len(said.err) < 600
    assert "and 291 more" in said.err
    names = [f"COLUMN_{n}" for n in range(200)]
    Table({name: [1] for name in names}).write(tmp_path / "wide.fits")
    said = cli("table", "wide.fits", "--columns", "NONE")
    assert len(said.err) < 600
    assert "and 190 more" in said.err
    with tf.open(tmp_path / "wide.fits") as file, pytest.raises(tf.UsageKeyError) as caught:
        file[1].read(["COLUMN_0"])["NONE2"]
    assert len(str(caught.value)) < 600


def wide_table(path: Path) -> list[str]:
    columns: dict[str, Any] = {f"NUMBER{n}": [1.23456789012345e-7 * n, -n / 3] for n in range(20)}
    text = ["a word that is much longer than forty characters " * 2 + "and ends here", "b"]
    Table({**columns, "TEXT": text}).write(path)
    return text


@pytest.mark.parametrize("width", [60, 80, 133])
def test_tables_fit_the_line_and_cut_no_value(
    width: int, cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = wide_table(tmp_path / "t.fits")
    monkeypatch.setenv("COLUMNS", str(width))
    said = cli("table", "t.fits").out
    lines = [line for line in said.splitlines() if "a word that" not in line]
    assert max(map(len, lines)) <= width
    assert text[0].rstrip() in said
    table = Table.read(tmp_path / "t.fits")
    for name in table.colnames[:-1]:
        assert name in said
        assert all(repr(float(value)) in said for value in table[name])


def test_long_cells_of_lists_continue_below(cli: Any, tmp_path: Path) -> None:
    unit = "10**(-20)*erg/s/cm**2/Angstrom"
    hdu = fits.ImageHDU(np.zeros((30, 40, 40), "f4"), name="A_LONG_NAME_OF_AN_EXTENSION")
    hdu.header["BUNIT"] = unit
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(tmp_path / "long.fits")
    said = cli("info", "long.fits").out
    assert max(map(len, said.splitlines())) <= 80
    wide_table(tmp_path / "t.fits")
    assert max(map(len, cli("table", "t.fits", "--list").out.splitlines())) <= 80
    wide = {**os.environ, "COLUMNS": "200"}
    command = [sys.executable, "-m", "tachyfits", "info", str(tmp_path / "long.fits")]
    assert unit in subprocess.run(command, env=wide, capture_output=True, text=True).stdout


def test_rows_for_programs_stay_on_one_line(cli: Any) -> None:
    regions = [word for n in range(1, 5) for word in ("--region", f"box({n},{n},1,1)")]
    lines = cli("spectrum", "cube.fits", *regions).out.splitlines()
    assert {len(line.split()) for line in lines[1:]} == {6}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_there_as_documented(shell: str) -> None:
    asked = {**os.environ, "_TACHYFITS_COMPLETE": f"{shell}_source"}
    code = "import sys; sys.argv[0] = 'tachyfits'; from tachyfits.cli import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=False
    )
    guide = (Path(__file__).resolve().parents[2] / "docs/guides/first-steps.md").read_text()
    assert f"_TACHYFITS_COMPLETE={shell}_source" in guide
    if shell != "bash" or said.returncode == 0:
        assert "_TACHYFITS_COMPLETE" in said.stdout
    words = {**os.environ, "_TACHYFITS_COMPLETE": "zsh_complete", "COMP_WORDS": "tachyfits hist",
             "COMP_CWORD": "1"}  # fmt: skip
    said = subprocess.run(
        [sys.executable, "-c", code], env=words, capture_output=True, text=True, check=False
    )
    assert "histogram" in said.stdout


def test_machines_read_json_from_every_command(cli: Any) -> None:
    for words in (
        ["info", "cube.fits"], ["header", "cube.fits"], ["stats", "cube.fits"], ["errors"],
        ["histogram", "cube.fits"], ["spectrum", "cube.fits"], ["verify", "cube.fits"],
        ["collapse", "cube.fits", "-o", "a.fits"], ["math", "a + 1", "a=cube.fits", "-o", "b.fits"],
        ["cutout", "cube.fits", "--section", "1:2", "-o", "c.fits"], ["checksum", "cube.fits"],
        ["smooth", "cube.fits", "--axis", "z", "--kernel", "hanning", "-o", "d.fits"],
        ["pv", "cube.fits", "--path", "1,1 4,4", "-o", "e.fits"],
        ["diff", "cube.fits", "cube.fits"],
        ["rebin", "cube.fits", "2", "1", "1", "-o", "f.fits"], ["verify", "--rules"],
        ["reorder", "cube.fits", "zxy", "-o", "g.fits"],
    ):  # fmt: skip
        said = cli(*words, "--json")
        assert said.status in (0, 1), (words, said.err)
        assert json.loads(said.out.splitlines()[0]) is not None


def test_warnings_of_expressions_are_lines_for_people(cli: Any) -> None:
    said = cli("math", "a / 3", "a=cube.fits", "--bitpix", "16", "-o", "third.fits")
    lines = said.err.splitlines()
    assert said.status == 0
    assert lines[0].startswith("warning: third.fits: values were rounded")
    assert "TachyfitsWarning" not in said.err


def test_a_section_outside_an_image_names_the_file(cli: Any) -> None:
    said = cli("stats", "cube.fits", "cube.fits", "--section", "1:9999,*,*")
    assert said.status == 2
    assert said.err.count("tachyfits: cube.fits: NAXIS1 has the pixels 1 to") == 2
