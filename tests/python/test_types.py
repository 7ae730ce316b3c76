"""Types of names and keywords come from the registers, and mypy finds wrong calls."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits import plot
from tachyfits.base.output import ImageOptions
from tachyfits.header.spectral_units import CONVENTIONS, MEDIA, Convention, Medium
from tachyfits.image.collapse import PEAKS, Peak
from tachyfits.image.rectangles import MODES, Mode
from tachyfits.image.weights import WEIGHTS, Weights
from tachyfits.results.plane import PictureOptions
from tachyfits.text.statistic_names import OnePass, OrderStatistic, StatisticName
from tachyfits.text.statistics import ORDER_STATISTICS, STATISTICS, order_statistic
from tachyfits.writing.options import OF_FILE_IMAGES

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CALLS = Path(__file__).with_name("typed_calls.py")


def test_mypy_finds_the_wrong_calls_and_no_others() -> None:
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary"]
    done = subprocess.run(
        [*command, str(CALLS)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = re.findall(r"typed_calls\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout)
    marked = wrong_calls()
    assert len(marked) > 8
    assert found == marked, done.stdout + done.stderr


def wrong_calls() -> list[tuple[str, str]]:
    """Return the lines that name an error, and the error that mypy gives."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return [
        (str(number), match[1])
        for number, line in enumerate(lines, 1)
        if (match := re.search(r"# error: ([a-z-]+)$", line))
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("pyright") is None,
    reason="PYRIGHT IS NOT INSTALLED: calls were checked by mypy alone",
)
def test_pyright_finds_the_same_wrong_calls() -> None:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run([*command, CALLS], cwd=ROOT, capture_output=True, text=True, check=False)
    found = {
        str(problem["range"]["start"]["line"] + 1)
        for problem in json.loads(done.stdout)["generalDiagnostics"]
        if problem["severity"] == "error"
    }
    assert found == {line for line, _ in wrong_calls()}, done.stdout


def test_names_of_statistics_are_those_of_the_register() -> None:
    assert get_args(OnePass) == STATISTICS
    assert get_args(OrderStatistic)[: len(ORDER_STATISTICS)] == ORDER_STATISTICS
    assert all(order_statistic(name) is not None for name in get_args(OrderStatistic))
    assert set(get_args(StatisticName)) == {*get_args(OnePass), *get_args(OrderStatistic)}
    assert (get_args(Peak), get_args(Mode)) == (PEAKS, MODES)
    assert (get_args(Convention), get_args(Medium)) == (CONVENTIONS, MEDIA)
    assert get_args(Weights) == WEIGHTS


@pytest.mark.parametrize("name", [*get_args(StatisticName), *PEAKS])
def test_every_name_collapses_a_cube(name: Any) -> None:
    cube = tf.open(primary(np.arange(24, dtype="f4").reshape(2, 3, 4), cube_cards()))[0]
    assert cube.collapse(name).shape == (3, 4)


def test_keywords_of_pictures_are_those_of_the_function() -> None:
    parameters = inspect.signature(plot.plane_figure).parameters
    named = {name for name in parameters if name not in ("plane", "colours")}
    colours = {"stretch", "limits", "percentile", "low", "high"}
    assert set(PictureOptions.__annotations__) == named | colours
    assert all(f"``{name}``" in str(plot.plane_figure.__doc__) for name in colours)


def test_keywords_of_written_images_are_the_options() -> None:
    assert tuple(ImageOptions.__annotations__) == OF_FILE_IMAGES
