"""First commands of users of astropy and spectral-cube, and completion in notebooks."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube

PIXELS = np.arange(120, dtype="f4").reshape(6, 5, 4)


@pytest.fixture
def file(tmp_path: Path) -> tf.File:
    stars = fits.BinTableHDU.from_columns(
        [fits.Column("RA", "D", array=[1.0, 2.0]), fits.Column("MAG", "E", array=[3.0, 4.0])],
        name="STARS",
    )
    mask = fits.ImageHDU(np.zeros((5, 4), "i2"), name="MASK")
    return tf.open(write_cube(tmp_path / "cube.fits", data=PIXELS, extra=[stars, mask]))


def test_hdus_by_kind_have_types_that_checkers_know(file: tf.File) -> None:
    assert file.image() is file[0]
    assert file.image("mask") is file["MASK"]
    assert file.table() is file["STARS"] is file.table(1)
    assert inspect.signature(tf.File.image).return_annotation == "Image"
    assert inspect.signature(tf.File.table).return_annotation == "Table"
    with pytest.raises(tf.UsageError, match="expected an image, found a binary table"):
        file.image("STARS")
    with pytest.raises(tf.UsageError, match="expected a table, found a primary"):
        file.table(0)
    with pytest.raises(LookupError):
        file.image("SCI")
    images = tf.open(write_cube(Path(file.name).with_name("one.fits")))
    with pytest.raises(tf.UsageError, match="no HDU is a table"):
        images.table()


def test_names_complete_in_notebooks(file: tf.File) -> None:
    assert file._ipython_key_completions_() == ["PRIMARY", "STARS", "MASK"]
    keywords = file[0].header._ipython_key_completions_()
    assert {"BUNIT", "CTYPE3", "NAXIS1"} <= set(keywords)
    assert "BUNIT" in file[0].header.comments._ipython_key_completions_()  # type: ignore[attr-defined]
    assert file["STARS"]._ipython_key_completions_() == ["RA", "MAG"]
    assert file["STARS"].read()._ipython_key_completions_() == ["RA", "MAG"]
    with tf.edit(file.name) as editor:
        assert editor._ipython_key_completions_() == ["STARS", "MASK"]
        assert "BUNIT" in editor[0].header._ipython_key_completions_()


def test_first_commands_of_astropy_users(file: tf.File, capsys: pytest.CaptureFixture[str]) -> None:
    file.info()
    assert "STARS" in capsys.readouterr().out
    data = file[0].data
    np.testing.assert_array_equal(data, PIXELS)
    assert data.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 1
    assert file[0].header["BUNIT"] == "Jy/beam"
    assert file["STARS"]["MAG"].mean() == 3.5
    np.testing.assert_array_equal(file[0][file[0].data > 100], PIXELS[PIXELS > 100])
    assert (file[0] * u.K).unit == "Jy K beam-1"
    assert u.Quantity(file[0]).unit == u.Jy / u.beam


def test_names_of_other_packages_lead_to_ours(file: tf.File) -> None:
    for name, hint in [
        ("astype", r"image\.read\(dtype="), ("T", r"image\.read\(\)\.T"),
        ("moment0", r"image\.moment\(0\)"), ("section", r"image\[\.\.\.\]"),
    ]:  # fmt: skip
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'\nhint: .*{hint}"):
            getattr(file[0], name)
    assert not hasattr(file[0], "no_such_thing")
    with pytest.raises(AttributeError, match=r"hint: file\[0\]\.header"):
        _ = file.header  # type: ignore[attr-defined]
    assert not hasattr(file, "no_such_thing")


def test_importing_warns_of_nothing() -> None:
    for program in ("import tachyfits", "import tachyfits.cli", "from tachyfits import *"):
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_public_name_is_there() -> None:
    program = "from tachyfits import *; import tachyfits; print(*dir())"
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert set(tf.__all__) <= set(done.stdout.split()), done.stderr
    assert all(getattr(tf, name) is not None for name in tf.__all__)
    assert set(tf.__all__) <= set(dir(tf))
    assert len(set(tf.__all__)) == len(tf.__all__)
