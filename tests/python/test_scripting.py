"""Commands in scripts: quiet ones, FITS on standard output, whole answers in JSON, the manual."""

from __future__ import annotations

import ast
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from astropy.io import fits
from click.shell_completion import get_completion_class

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import COMMANDS, group, run

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "packaging/data/share/man/man1/tachyfits.1"

#: 2 polarisations, 5 channels, 8 x 9 pixels.
STORED = np.random.default_rng(7).normal(20, 5, (2, 5, 8, 9)).astype("f4")
STOKES = [("CTYPE4", "STOKES"), ("CRPIX4", 1.0), ("CRVAL4", 1.0), ("CDELT4", 3.0)]
BEAM = [("BMAJ", 0.02), ("BMIN", 0.02), ("BPA", 0.0)]

#: Every command that writes an image, without the output; each is quiet and writes to stdout.
WRITING = (
    "cutout cube.fits --pol V",
    "math a*2 a=plane.fits",
    "smooth cube.fits --pol V",
    "rebin cube.fits 2 2 --pol V",
    "reorder cube.fits 2134 --pol V",
    "pv cube.fits --path '2,2 8,7' --pol V",
    "collapse cube.fits --pol V",
    "compress plane.fits --codec gzip",
    "decompress small.fits.fz",
    "fit line.fits -n 0 --baseline 0",
)

#: Those whose result has as many axes as the cube.
OF_IMAGES = [line for line in WRITING if "--pol" in line and not line.startswith("collapse")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "cube.fits").write_bytes(primary(STORED, [*cube_cards(), *STOKES, *BEAM]))
    (folder / "line.fits").write_bytes(primary(STORED[0], [*cube_cards(), *BEAM]))
    (folder / "plane.fits").write_bytes(primary(STORED[0, 0], [("BUNIT", "K")]))
    tf.write(folder / "small.fits.fz", STORED[0, 0], compress="gzip")
    tf.write(folder / "table.fits", {"N": np.arange(100)})
    tf.write(folder / "other.fits", {"N": np.arange(100) % 7})
    return folder


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


class Stream(io.TextIOWrapper):
    """Standard output of a command in this process, as bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def content(self) -> bytes:
        buffer: Any = self.buffer
        return bytes(buffer.getvalue())


@pytest.mark.parametrize("line", WRITING)
def test_writing_commands_write_to_standard_output_and_are_quiet(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named, stream = tmp_path / "named.fits", Stream()
    assert run([*shlex.split(line), "-o", str(named)]) == 0
    assert capsys.readouterr().err != ""
    monkeypatch.setattr(sys, "stdout", stream)
    assert run([*shlex.split(line), "-o", "-", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    # Times of writing apart, the bytes are those of the file.
    assert stream.content == named.read_bytes()
    assert fits.open(io.BytesIO(stream.content))[0].header["SIMPLE"]


#: Commands that write no FITS, and the ending of what they write to standard output.
OTHERS = [
    ("match stars.fits stars.fits --radius 1arcsec", ".csv"),
    ("figure plane.fits", ".png"),
    ("stats plane.fits", ".txt"),
    ("spectrum line.fits", ".txt"),
    ("histogram plane.fits --bins 5", ".txt"),
    ("fortran dump run.dat --form '*f8'", ".csv"),
    ("fortran convert run.dat --form '*f8' --to-order little", ".dat"),
]


@pytest.mark.parametrize(("line", "ending"), OTHERS)
def test_other_formats_go_to_standard_output(
    line: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.write("stars.fits", {"RA": [10.0, 11.0], "DEC": [0.0, 1.0]}, overwrite=True)
    tf.fortran.write("run.dat", *np.arange(12.0).reshape(4, 3), order="big", overwrite=True)
    named, stream = tmp_path / f"named{ending}", Stream()
    assert run([*shlex.split(line), "-o", str(named)]) == 0
    monkeypatch.setattr(sys, "stdout", stream)
    assert run([*shlex.split(line), "-o", "-"]) == 0
    assert stream.content == named.read_bytes() != b""


@pytest.mark.parametrize("line", OF_IMAGES)
def test_outputs_drop_axes_of_length_1(line: str, tmp_path: Path) -> None:
    for number, more in enumerate(([], ["--drop-degenerate"])):
        assert run([*shlex.split(line), *more, "-o", str(tmp_path / f"{number}.fits")]) == 0
    kept, dropped = (tf.open(tmp_path / f"{number}.fits")[0].read() for number in (0, 1))
    assert 1 in kept.shape
    np.testing.assert_array_equal(dropped, kept.squeeze())


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("view", "serve")])
def test_commands_that_read_files_can_be_quiet(name: str) -> None:
    top = click.Context(group)
    command = group.get_command(top, name)
    assert command is not None
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    for each in commands:
        options = {option for parameter in each.params for option in parameter.opts}
        assert "--quiet" in options or name in ("preload", "errors")


def test_quiet_commands_leave_out_warnings_and_keep_errors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "odd.fits").write_bytes(primary(STORED[0]) + b"\x1a" * 50)
    assert run(["stats", "odd.fits"]) == 0
    loud = capsys.readouterr()
    assert "warning: " in loud.err
    assert run(["stats", "odd.fits", "--quiet"]) == 0
    assert capsys.readouterr() == (loud.out, "")
    assert run(["stats", "odd.fits", "absent.fits", "--quiet"]) == 1
    said = capsys.readouterr()
    assert said.out == loud.out
    assert "absent.fits" in said.err


def test_json_of_a_part_says_how_long_the_whole_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "table.fits", "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["data"]["N"]) < answer["rows_chosen"] == answer["rows"] == 100
    assert run(["table", "table.fits", "--json", "--where", "N > 9"]) == 0
    answer, said = (json.loads((read := capsys.readouterr()).out), read.err)
    assert (len(answer["data"]["N"]), answer["rows_chosen"]) == (20, 90)
    assert "20 of 90 rows" in said
    assert run(["diff", "table.fits", "other.fits", "--json"]) == 1
    answer, said = (json.loads((read := capsys.readouterr()).out), read.err)
    [values] = [data for hdu in answer["hdus"] for data in hdu["data"]]
    assert len(values["places"]) == 10 < values["different"] == 93
    assert "10 of 93 places" in said


def test_the_library_prints_nothing_but_the_table_of_a_file() -> None:
    package = ROOT / "python/tachyfits"
    speaking = [
        (path.relative_to(package).as_posix(), node.lineno)
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] != "cli"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "sys.stderr.write")
    ]
    assert [name for name, _ in speaking] == ["file/file.py"], speaking


# The manual.


def test_manual_has_every_command_and_option() -> None:
    text = MANUAL.read_text(encoding="utf-8").replace("\\-", "-")
    top = click.Context(group, info_name="tachyfits")
    names = 0
    for name in COMMANDS:
        command = group.get_command(top, name)
        assert command is not None
        commands = dict(command.commands) if isinstance(command, click.Group) else {"": command}
        for part, each in commands.items():
            heading = f"TACHYFITS {name} {part}".strip().upper()
            section = text.partition(f".SH {heading}\n")[2].partition("\n.SH ")[0]
            for parameter in each.params:
                for option in parameter.opts if isinstance(parameter, click.Option) else ():
                    names += 1
                    assert re.search(rf"^\.B .*{re.escape(option)}\b", section, re.M), option
    assert names > 300


def test_manual_has_no_line_that_troff_takes_for_another_request() -> None:
    lines = MANUAL.read_text(encoding="ascii").splitlines()
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    assert requests == {'.\\"', ".TH", ".SH", ".PP", ".TP", ".B", ".I", ".nf", ".fi", ".nh", ".ad"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_the_guide_gives_a_script(shell: str) -> None:
    guide = (ROOT / "docs/guides/first-steps.md").read_text(encoding="utf-8")
    assert f"_TACHYFITS_COMPLETE={shell}_source tachyfits" in guide
    kind = get_completion_class(shell)
    assert kind is not None
    completion = kind(group, {}, "tachyfits", "_TACHYFITS_COMPLETE")
    assert {item.value for item in completion.get_completions(["stats"], "--qu")} == {"--quiet"}
    assert "stats" in {item.value for item in completion.get_completions([], "sta")}
