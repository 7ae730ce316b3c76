"""The demo: its physics, its answers, and that it notices a wrong one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from examples.galaxy.__main__ import main
from examples.galaxy.compare import compare, galaxy_plan
from examples.galaxy.galaxy import Truth, write_galaxy
from examples.galaxy.measure import measure

import tachyfits as tf
from fitsbytes import cube_cards, primary
from smallgalaxy import SMALL

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    folder = tmp_path_factory.mktemp("galaxy")
    return folder, write_galaxy(
        SMALL, folder / "galaxy.fits", model_range=galaxy_plan(SMALL).channels
    )


def test_the_disc_has_the_mass_that_its_density_says() -> None:
    radius = np.linspace(0, SMALL.edge * 1e3, 200_001)
    density = SMALL.central_density * np.exp(-radius / SMALL.scale_length / 1e3)
    mass = np.trapezoid(2 * np.pi * radius * density, radius)
    assert SMALL.mass == pytest.approx(mass, rel=1e-8)


def test_every_result_holds(made: tuple[Path, Truth]) -> None:
    folder, truth = made
    plan = galaxy_plan(SMALL)
    with tf.open(folder / "galaxy.fits", strict=True) as file:
        found = measure(file[0], plan, folder)
        lines = compare(file[0], truth, plan, found, folder)
    # The small galaxy's beam is three times larger: it smears the velocities more.
    exact = [line for line in lines if "velocity at" not in line.name]
    assert all(line.holds for line in exact), [line.row() for line in lines if not line.holds]
    assert len(lines) >= 14


def test_a_wrong_pixel_is_noticed(made: tuple[Path, Truth]) -> None:
    folder, truth = made
    content = bytearray((folder / "galaxy.fits").read_bytes())
    with tf.open(bytes(content)) as file:
        offset = file[0].data_offset + 4 * (SMALL.side**2 * 7 + SMALL.side * 80 + 80)
    content[offset] ^= 0x02
    plan = galaxy_plan(SMALL)
    with tf.open(bytes(content)) as file:
        lines = compare(file[0], truth, plan, measure(file[0], plan, folder), folder)
    assert not next(line for line in lines if line.name == "sum").holds


@pytest.mark.parametrize("shape", [(8, 30, 40), (30, 40), (1, 8, 30, 40), (2, 8, 30, 40), (50,)])
def test_files_of_users_are_measured(
    shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stored = np.random.default_rng(3).normal(0, 1, shape).astype("f4")
    path, folder = tmp_path / "mine.fits", tmp_path / "out"
    path.write_bytes(primary(stored, cube_cards() if len(shape) > 2 else []))
    words = ["demo", str(path), "--folder", str(folder)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as done:
        main()
    said = capsys.readouterr()
    assert done.value.code == 0, said
    assert "GB/s" in said.out
    assert (folder / "cutout.fits").exists()
    assert list(folder.glob("*.png"))


def test_a_missing_file_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["demo", str(tmp_path / "no.fits"), "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 1
    assert "no.fits" in capsys.readouterr().err
