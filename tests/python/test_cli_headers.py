"""Real headers: HDUs that are listed though they cannot be read, and cards of many headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from fitsbytes import cube_cards, empty_primary, extension, primary
from tachyfits.cli import run

pytestmark = pytest.mark.once

PIXELS = np.ones((6, 12, 14), "f4")


class Said(NamedTuple):
    """Output of one command line."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    content = primary(PIXELS, cube_cards())
    (tmp_path / "cube.fits").write_bytes(content + extension(PIXELS[0], [("EXTNAME", "PIC")]))
    (tmp_path / "none.fits").write_bytes(empty_primary())
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str, status: int = 0) -> Said:
        assert run(list(words)) == status
        return Said(*capsys.readouterr())

    return call


def test_info_lists_unreadable_hdus(cli: Any, folder: Path) -> None:
    odd = primary(np.ones((2, 3), "i2"), [("BSCALE", "1")])
    (folder / "odd.fits").write_bytes(odd)
    said = cli("info", "odd.fits").out
    assert said.startswith("odd.fits: 1 HDU, ")
    assert "unknown  3 x 2" in said
    assert "warning: odd.fits: HDU 0 (0-based), keyword BSCALE" in said
    answer = cli("info", "odd.fits", "--json").json
    assert (answer["hdus"][0]["naxis"], "type" in answer["hdus"][0]) == ([3, 2], False)
    assert "BSCALE" in answer["warnings"][0]
    with tf.open(folder / "odd.fits") as file:
        assert "odd.fits: 1 HDU, 5760 bytes" in repr(file)
        assert "unknown  (2, 3)" in repr(file)
        assert "unknown" in repr(file[0])


def test_compressed_images_are_named(cli: Any, folder: Path) -> None:
    image = fits.CompImageHDU(np.ones((20, 30), "i2"), compression_type="RICE_1")
    image.writeto(folder / "packed.fits")
    rows = cli("info", "packed.fits").out
    assert "int16 (BITPIX 16)  30 x 20" in rows
    assert "RICE_1, tiles of 30 x 1" in rows
    found = cli("info", "packed.fits", "--json").json["hdus"][1]["compression"]
    assert (found["codec"], found["tile"], found["quantisation"]) == ("RICE_1", [30, 1], None)
    assert "600" in cli("stats", "packed.fits").out
    assert tf.evaluate("a + 1", a=folder / "packed.fits")[0, 0] == 2
    with tf.open(folder / "packed.fits", decompress_tiles=False) as file:
        assert "compressed image (RICE_1)" in repr(file)
        with pytest.raises(tf.UsageError, match="without decompress_tiles=False"):
            file.image(1)


def test_headers_of_several_hdus_and_files(cli: Any) -> None:
    assert cli("header", "cube.fits", "--hdu", "all", "-k", "EXTNAME").out == (
        "cube.fits, HDU 1 'PIC': PIC\n"
    )
    said = cli("header", "cube.fits", "none.fits", "-k", "NAXIS").out.splitlines()
    assert said == ["cube.fits, HDU 0 'PRIMARY': 3", "none.fits, HDU 0 'PRIMARY': 0"]
    said = cli("header", "cube.fits", "--hdu", "all", "-k", "NAXIS", "-k", "EXTNAME").out
    assert [line for line in said.splitlines() if line[8] != "="] == [
        "cube.fits, HDU 0 'PRIMARY':",
        "cube.fits, HDU 1 'PIC':",
    ]
    said = cli("header", "cube.fits", "--hdu", "all", "-k", "EXTNAME", "-k", "NOPE", status=1)
    assert "EXTNAME = 'PIC'" in said.out
    assert "no HDU has the keyword NOPE" in said.err
    # Files with the keyword are printed even if others lack it.
    said = cli("header", "cube.fits", "-k", "BUNIT", "-k", "NOPE", status=1)
    assert said.out.startswith("BUNIT   = 'Jy/beam'")
    assert "no keyword NOPE" in said.err


def test_keywords_by_patterns(cli: Any) -> None:
    def keywords(*words: str) -> list[str]:
        return [
            card["keyword"] for card in cli("header", "cube.fits", *words, "--json").json["cards"]
        ]

    assert keywords("-k", "naxis*") == ["NAXIS", "NAXIS1", "NAXIS2", "NAXIS3"]
    assert keywords("-k", "NAXIS?", "-k", "BITPIX") == ["NAXIS1", "NAXIS2", "NAXIS3", "BITPIX"]
    assert cli("header", "cube.fits", "-k", "BUNI?").out.startswith("BUNIT   = 'Jy/beam'")
    assert "no keyword NOPE*" in cli("header", "cube.fits", "-k", "nope*", status=1).err
    assert "--hdu all looks in all 2 HDUs" in cli("header", "cube.fits", "-k", "NOPE", status=1).err
    # ESO keywords as stored, and as they are looked up.
    cli(
        "header", "cube.fits", "--set", "HIERARCH ESO DET DIT=3", "--set", "HIERARCH ESO DET NDIT=2"
    )
    for pattern in ("HIERARCH ESO DET*", "eso det*"):
        assert keywords("-k", pattern) == ["ESO DET DIT", "ESO DET NDIT"]
