"""The examples of the README, the documentation and the help texts run unchanged."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from examples.galaxy.galaxy import write_galaxy

import tachyfits as tf
from fitsbytes import cube_cards, primary
from smallgalaxy import SMALL
from tachyfits.cli import COMMANDS, EPILOG, group, run
from tachyfits.server.datasets import Datasets

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path: Path, language: str) -> list[tuple[int, str]]:
    """(line, text) of each fenced block of a language."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start()) + 1, match[1]) for match in found]


def help_lines() -> list[str]:
    import click

    texts = [EPILOG]
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        texts.append(command.help or "")
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [line for line in lines if line.startswith("tachyfits ")]


@pytest.fixture(scope="module")
def content() -> bytes:
    """A cube with every pixel and channel of the examples."""
    planes = np.arange(92, dtype="u1")[:, None, None]
    rows, columns = np.indices((500, 540))
    beam = [("BMAJ", 0.01), ("BMIN", 0.008), ("BPA", 30.0), ("RESTFRQ", 1.42040575e9)]
    return primary((planes + rows % 7 + columns % 5).astype("u1"), cube_cards() + beam)


@pytest.fixture(scope="module")
def galaxy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cube of `make demo`, coarser."""
    path = tmp_path_factory.mktemp("galaxy") / "galaxy.fits"
    write_galaxy(SMALL, path, model_range=slice(0, 1))
    return path


@pytest.fixture
def folder(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cube.fits").write_bytes(content)
    (tmp_path / "continuum.fits").write_bytes(primary(np.ones((500, 540), "f4")))
    stars = {
        "NAME": ["alpha", "beta", "gamma", "delta", "epsilon"],
        "RA": [10.0, 11.0, 12.0, 13.0, 14.0],
        "DEC": [-2.0, -1.0, 0.0, 1.0, 2.0],
        "MAG": [18.5, 21.0, 19.25, None, 17.0],
        "CLASS": ["STAR", "STAR", "GALAXY", "STAR", "STAR"],
    }
    tf.write("events.fits", {"TIME": [0.5, 2.0, 3.5]}, units={"TIME": "s"})
    tf.write("gti.fits", {"START": [2.0], "STOP": [3.0]}, name="GTI")
    for name in ("table.fits", "catalogue.fits", "other.fits"):
        tf.write(tmp_path / name, stars, units={"RA": "deg"}, name="STARS")
    with tf.open(tmp_path / "table.fits") as file:
        file[1].write(tmp_path / "survey.parquet")
    tf.fortran.write(tmp_path / "run.dat", *np.arange(60.0).reshape(20, 3), order="big")
    shutil.copy(ROOT / "tests/data/cubes/ngc6946.fits.xz", tmp_path)
    tf.write(tmp_path / "small.fits.fz", np.ones((3, 4), "i2"), compress="rice")
    with tf.open(tmp_path / "cube.fits") as file:
        file[0].collapse("max").write(tmp_path / "image.fits")
    (tmp_path / "sources.reg").write_text("image\ncircle(9,9,3) # text={core}\ncircle(30,20,4)\n")
    (tmp_path / "gain.fits").write_bytes(primary(np.linspace(1, 2, 92)))
    return tmp_path


def write_results(folder: Path, arguments: list[str]) -> None:
    """Write the files of earlier commands that a command reads."""
    stored = np.random.default_rng(1).normal(1, 1, (4, 20, 30))
    cube = tf.open(primary(stored, cube_cards()))[0]
    results = {f"{name}moment{order}.fits": cube.moment(order)
               for name in ("", "map-") for order in (0, 1)}  # fmt: skip
    results |= dict.fromkeys(
        ("blue.fits", "red.fits", "intensity.fits", "fit-velocity.fits"), cube.moment(0)
    )
    results |= {"pv.fits": cube.pv([(2, 12), (25, 12)]), "spectrum.fits": cube.spectrum()}
    results |= {"lines.fits": cube.fit_gaussians()}
    for before, word in zip(["", *arguments], arguments, strict=False):
        name = re.sub(r"^\w+=|\[.*", "", word)
        if name in results and before not in ("-o", "--png"):
            results[name].write(folder / name, overwrite=True)


PYTHON = [(path, line, text) for path in PAGES for line, text in blocks(path, "python")]
SHELL = [
    (path, line, words.strip())
    for path in PAGES
    for line, text in blocks(path, "sh")
    for words in text.splitlines()
    if words.startswith("tachyfits ")
]


@pytest.mark.parametrize(("path", "line", "text"), PYTHON, ids=lambda v: str(v)[-30:])
def test_python_examples(
    path: Path, line: int, text: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    if "demo-output" in text:
        (folder / "demo-output").mkdir()
        (folder / "demo-output/galaxy.fits").symlink_to(request.getfixturevalue("galaxy"))
    with tf.open("cube.fits") as file, tf.open("table.fits") as tables:
        names = {"tf": tf, "np": np, "f": file, "file": file, "cube": file[0]}
        names |= {"table": tables[1]}
        # Files that earlier blocks of the page made.
        tf.write(
            "stars.fits", {"NAME": ["alpha", "beta"], "N": [3, 5], "HITS": [[1, 2], []]},
            name="STARS",
        )  # fmt: skip
        exec(compile("\n" * line + text, str(path), "exec"), names)
    if path.name == "file-to-figure.md":
        check_galaxy(names, folder)


def check_galaxy(names: dict[str, Any], folder: Path) -> None:
    """Compare the numbers of a guide with the truth of the galaxy."""
    assert names["noise"] == pytest.approx(SMALL.noise, rel=0.02)
    assert names["mass"] == pytest.approx(SMALL.mass, rel=0.01)
    assert names["velocity"] == pytest.approx(SMALL.systemic, abs=0.5)
    assert names["planes"][1].unit == "km s-1"
    middle = names["planes"][1].values[SMALL.side // 2 - 1 : SMALL.side // 2 + 1, 79:81]
    assert middle == pytest.approx(np.full((2, 2), SMALL.systemic), abs=30)
    pictures = {"moments.png", "flux.png", "channels.png", "velocity.png"}
    assert pictures <= {path.name for path in folder.iterdir()}
    assert (folder / "flux.csv").read_text().count("\n") == SMALL.channels + 1


@pytest.mark.parametrize("words", sorted({words for _, _, words in SHELL} | set(help_lines())))
def test_command_examples(
    words: str,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = shlex.split(words.split(" | ")[0], comments=True)[1:]
    (folder / "cube.fits").replace(folder / "kept.fits")
    content = (folder / "kept.fits").read_bytes()
    # One HDU by every name that an example uses.
    from fitsbytes import extension

    beam = [("EXTNAME", "SCI"), ("BMAJ", 0.1), ("BMIN", 0.1), ("BPA", 0.0)]
    (folder / "cube.fits").write_bytes(content + extension(np.zeros((2, 2), "f4"), beam))
    (folder / "kept.fits").unlink()
    arguments = [w for a in arguments for w in (["cube.fits"] if a == "*.fits" else [a])]
    if arguments[0] in ("serve", "view"):
        # The options are read and the files are found; the server itself would not end.
        (folder / "cubes").mkdir()
        # No test asks the servers of the world; files of other names are this one.
        here = {"/data/alma": "cubes", "s3://survey/cubes": "cubes"}
        here["https://archive.org/cube.fits"] = "cube.fits"
        here["https://archive.example.org/cubes/m31.fits"] = "cube.fits"
        arguments = [here.get(a, a) for a in arguments]
        for name in ("co.fits", "hi.fits"):
            (folder / name).write_bytes(content)
        monkeypatch.setattr(
            "tachyfits.server.run.serve", lambda settings, *_: Datasets(settings.paths)
        )
    if arguments[0] == "preload":
        # The options are read; the program would take the place of this process.
        def end(*_: object) -> None:
            raise click.exceptions.Exit(0)

        monkeypatch.setattr("os.execve", end)
        monkeypatch.setattr("shutil.which", lambda name: name)
        monkeypatch.setattr("tachyfits.cli.preload.find_library", lambda: folder / "library.so")
    write_results(folder, arguments)
    status = run(arguments)
    assert status == 0, capfd.readouterr().err


@pytest.mark.parametrize(
    "program", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_programs_in_the_examples_folder(program: Path, folder: Path) -> None:
    command = [sys.executable, str(program), "cube.fits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if program.name == "whole_from_parts.py":
        parts, whole = (line.split(": ")[1] for line in done.stdout.splitlines())
        numbers = [re.findall(r"-?\d[-+0-9.e]*", text) for text in (parts, whole)]
        assert [float(n) for n in numbers[0][:2]] == pytest.approx(
            [float(n) for n in numbers[1][:2]], rel=1e-13
        )


REFERENCE = sorted((ROOT / "docs/api").glob("*.md"))


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: path.stem)
def test_examples_of_the_reference(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = runpy.run_path(str(ROOT / "python/conftest.py"))  # those of docstrings
    (tmp_path / "cube.fits").write_bytes(files["example_cube"]())
    (tmp_path / "table.fits").write_bytes(files["example_table"]())
    said: list[str] = []
    for line, text in blocks(path, "pycon"):
        test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), line)
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not said, "".join(said)


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in REFERENCE)
    names = re.findall(r"^::: tachyfits\.(\w+)$", text, re.MULTILINE)
    assert sorted(names) == sorted({*tf.__all__, "plot"} - {"__version__"})
    members = re.findall(r"^(?:::: tachyfits\.Image\.|        - )(\w+)$", text, re.MULTILINE)
    assert sorted(members) == [name for name in dir(tf.Image) if not name.startswith("_")]
    index = (ROOT / "docs/api/python.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in index for path in REFERENCE if path.stem != "python")


def test_there_are_examples() -> None:
    assert len(PYTHON) >= 4
    assert len(SHELL) >= 8
    assert len(help_lines()) >= 20


def test_links_between_pages_lead_somewhere() -> None:
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
