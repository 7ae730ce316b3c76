"""Headers of moment maps and spectra say nothing that is true of the pixels of the cube alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import tachyfits as tf
from smallcubes import write_cube


@pytest.mark.parametrize("keep_axis", [False, True])
def test_btype_stays_where_it_is_true(tmp_path: Path, keep_axis: bool) -> None:
    cube = tf.open(write_cube(tmp_path / "cube.fits", {"BTYPE": "Intensity"}))[0]
    for plane in cube.moments((0, 1, 2), unit="km/s", keep_axis=keep_axis):
        plane.write(tmp_path / "plane.fits", overwrite=True)
        assert tf.open(tmp_path / "plane.fits")[0].header["BTYPE"] == plane.name
    for statistic in ("count", "nan", "max_channel", "min_coordinate"):
        assert "BTYPE" not in cube.collapse(statistic, keep_axis=keep_axis).header, statistic
    for statistic in ("mean", "max", "median", "sum"):
        assert cube.collapse(statistic, keep_axis=keep_axis).header["BTYPE"] == "Intensity"
    assert cube.spectrum().header["BTYPE"] == "Intensity"
    assert "BTYPE" not in cube.spectrum(statistic="count").header
    # Without BUNIT, too.
    bare = tf.open(write_cube(tmp_path / "bare.fits", {"BTYPE": "Intensity", "BUNIT": None}))[0]
    assert "BTYPE" not in bare.collapse("count").header
    assert bare.moment(0).header["BTYPE"] == "moment 0"
