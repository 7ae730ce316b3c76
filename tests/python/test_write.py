"""Writing: the same numbers in astropy, right sums, nothing lost when it fails."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from astropy.nddata import (
    CCDData,
    InverseVariance,
    NDData,
    StdDevUncertainty,
    UnknownUncertainty,
    VarianceUncertainty,
)
from astropy.utils.masked import Masked
from astropy.wcs import WCS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tachyfits as tf
from fitsbytes import cube_cards, primary, stored_arrays
from tachyfits.writing.sinks import write_new

FUNCTION_SCOPED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

TYPES = ["u1", "i2", "i4", "i8", "f4", "f8"]
NATIVE = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
          "float64"]  # fmt: skip


def verified(path: Path) -> None:
    """Have fitsverify look at a file, where it is installed."""
    program = shutil.which("fitsverify")
    if program is not None:
        output = subprocess.run([program, "-q", str(path)], capture_output=True, text=True)
        assert "verification OK" in output.stdout, output.stdout


@FUNCTION_SCOPED
@given(array=stored_arrays(), checksum=st.booleans(), threads=st.integers(1, 3))
def test_a_copy_is_the_same_in_astropy(
    array: np.ndarray, checksum: bool, threads: int, tmp_path: Path
) -> None:
    path = tmp_path / "copy.fits"
    image = tf.open(primary(array, [("OBJECT", "M 31")]))[0]
    image.write(path, checksum=checksum, threads=threads, overwrite=True)
    verified(path)
    with fits.open(path, checksum=checksum, do_not_scale_image_data=True) as copy:
        assert copy[0].header["OBJECT"] == "M 31"
        data = copy[0].data
        native = array.astype(array.dtype.newbyteorder("="))
        assert data.astype(native.dtype).tobytes() == native.tobytes()
        if checksum:
            assert copy[0].verify_checksum() == 1
            assert copy[0].verify_datasum() == 1


@pytest.mark.parametrize("name", NATIVE)
def test_values_are_written_as_any_type_that_holds_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "typed.fits"
    values = np.arange(24.0).reshape(2, 3, 4)
    tf.open(primary(values))[0].write(path, dtype=name, checksum=True)
    verified(path)
    with fits.open(path) as file:
        np.testing.assert_array_equal(file[0].data, values)
    again = tf.open(path, strict=True)[0]
    assert again.dtype == np.dtype(name)
    np.testing.assert_array_equal(again[...], values)


@FUNCTION_SCOPED
@given(
    values=st.lists(st.floats(-30000, 30000) | st.just(np.nan), min_size=1, max_size=30),
    scale=st.sampled_from([1.0, -0.5, 2.0, 3.7]),
    zero=st.sampled_from([0.0, 100.0, -7.25]),
)
def test_scaled_integers_are_within_half_a_step(
    values: list[float], scale: float, zero: float, tmp_path: Path
) -> None:
    array = np.array(values)
    path = tmp_path / "scaled.fits"
    image = tf.open(primary(array))[0]
    image.write(path, dtype="int32", scaling=(scale, zero), blank=-(2**31), overwrite=True)
    written = tf.open(path)[0]
    assert written.bitpix == 32
    good = ~np.isnan(array)
    assert (np.isnan(written[...]) == ~good).all()
    assert (np.abs(written[...] - array)[good] <= abs(scale) / 2 * (1 + 1e-12)).all()
    with fits.open(path, do_not_scale_image_data=True) as file:
        stored = file[0].data.astype("i8")
    expected = np.rint((array[good] - zero) / scale)
    np.testing.assert_array_equal(stored[good], expected)


def test_a_value_that_does_not_fit_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "old.fits"
    path.write_bytes(b"an older file")
    image = tf.open(primary(np.array([1.0, 40000.0, np.nan])))[0]
    for options in (
        {"dtype": "int16"},
        {"dtype": "int32"},  # NaN without BLANK
        {"dtype": "int32", "blank": 1},  # a good value would become undefined
        {"dtype": "complex64"},
        {"dtype": "float32", "scaling": (2.0, 0.0)},
        {"dtype": "uint16", "scaling": (2.0, 0.0), "blank": 0},
        {"dtype": "int16", "scaling": (0.0, 0.0), "blank": 0},
        {"dtype": "int16", "scaling": (np.nan, 0.0), "blank": 0},
        {"dtype": "uint8", "blank": 300},
    ):
        with pytest.raises(tf.UsageError, match="hint"):
            image.write(path, overwrite=True, **options)
    with pytest.raises(tf.IoError, match="overwrite=True"):
        image.write(path)
    assert path.read_bytes() == b"an older file"
    assert os.listdir(tmp_path) == ["old.fits"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: it is met in the middle of the pixels."""
    path = tmp_path / "old.fits"
    path.write_bytes(b"an older file")
    source = tmp_path / "source.fits"
    source.write_bytes(primary(np.zeros((64, 64, 64), "f4"), cube_cards()))
    program = textwrap.dedent(
        """
        import resource, signal, sys
        import tachyfits as tf
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        try:
            tf.open(sys.argv[1])[0].smooth().write(sys.argv[2], overwrite=True)
        except tf.IoError as error:
            print("refused:", error)
        """
    )
    command = [sys.executable, "-c", program, str(source), str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "refused:" in output
    assert "hint" in output
    assert path.read_bytes() == b"an older file"
    assert sorted(os.listdir(tmp_path)) == ["old.fits", "source.fits"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 300_000


def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "old.fits"
    path.write_bytes(b"an older file")
    source = tmp_path / "source.fits"
    source.write_bytes(primary(np.zeros((64, 64, 64), "f4"), cube_cards()))
    program = textwrap.dedent(
        """
        import os, signal, sys
        import tachyfits as tf
        def kill(done, total):
            os.kill(os.getpid(), signal.SIGKILL)
        # Much to compute, so that it is killed in the middle.
        image = tf.open(sys.argv[1])[0].smooth([1 / 9001] * 9001, axis="x")
        image.write(sys.argv[2], overwrite=True, progress=kill, threads=1)
        """
    )
    command = [sys.executable, "-c", program, str(source), str(path)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"an older file"


def test_an_error_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    """The input loses its end while it is read."""
    path = tmp_path / "old.fits"
    path.write_bytes(b"an older file")
    source = tmp_path / "source.fits"
    whole = primary(np.zeros((64, 64, 64), "f4"), cube_cards())
    source.write_bytes(whole)
    image = tf.open(source)[0].smooth()
    os.truncate(source, len(whole) // 2)
    with pytest.raises(tf.IoError, match=r"source\.fits"):
        image.write(path, overwrite=True)
    assert path.read_bytes() == b"an older file"
    assert sorted(os.listdir(tmp_path)) == ["old.fits", "source.fits"]


def test_a_callback_stops_it(tmp_path: Path) -> None:
    image = tf.open(primary(np.zeros((64, 64, 64), "f4")))[0]
    with pytest.raises(tf.TachyfitsError) as caught:
        image.smooth([1 / 9001] * 9001, axis=0).write(
            tmp_path / "out.fits", progress=lambda done, total: False
        )
    assert caught.value.code == "io-cancelled"
    assert os.listdir(tmp_path) == []


def test_the_report_has_every_second(tmp_path: Path) -> None:
    content = primary(np.zeros((64, 64, 64), "f4"))
    for buffering in ("single", "double", "auto"):
        image = tf.open(content, buffering=buffering)[0].smooth()
        assert pickle.loads(pickle.dumps(image)).file.buffering == buffering
        with tf.reports() as reports:
            write_new(tmp_path / "out.fits", image, overwrite=True)
        report = reports[0]
        assert report.write_seconds > 0
        assert report.compute_seconds > 0
        assert 0 <= report.hidden_fraction <= 1


@FUNCTION_SCOPED
@given(data=st.data())
def test_any_array_is_written(data: st.DataObject, tmp_path: Path) -> None:
    name = data.draw(st.sampled_from(NATIVE))
    dtype = np.dtype(name).newbyteorder(data.draw(st.sampled_from("<>")))
    array = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=4, max_side=5)))
    view = array[..., ::-1].T
    path = tmp_path / "array.fits"
    header = tf.Header([("OBJECT", "M 31", "a galaxy"), ("HISTORY", "by hand", "")])
    tf.write(path, view, header, overwrite=True, checksum=True)
    verified(path)
    again = tf.open(path, strict=True)[0]
    assert again.dtype == np.dtype(name)
    expected = np.ascontiguousarray(view).astype(name)
    assert again[...].tobytes() == expected.tobytes()
    assert again.header["OBJECT"] == "M 31"
    assert again.header.history() == ["by hand"]


def test_masked_values_are_undefined(tmp_path: Path) -> None:
    array = np.ma.masked_array([1, 2, 3], [False, True, False])
    tf.write(tmp_path / "masked.fits", array, dtype="int16", blank=-99)
    written = tf.open(tmp_path / "masked.fits")[0]
    np.testing.assert_array_equal(written[...], [1, np.nan, 3])


def test_arrays_of_unsupported_types_are_refused(tmp_path: Path) -> None:
    for array in (np.array(["a"]), np.array([1 + 2j]), np.float64(3.0), np.array([True])):
        with pytest.raises(tf.UsageError, match="hint"):
            tf.write(tmp_path / "out.fits", array)
    header = tf.Header([("BAD", float("nan"), "")])
    with pytest.raises(tf.UsageError, match="BAD"):
        tf.write(tmp_path / "out.fits", np.zeros(3), header)
    assert os.listdir(tmp_path) == []


def test_an_empty_axis_is_written(tmp_path: Path) -> None:
    tf.write(tmp_path / "empty.fits", np.zeros((0, 3), "f4"))
    assert tf.open(tmp_path / "empty.fits")[0].shape == (0, 3)


def test_headers_may_be_dicts_and_unsupported_types_are_named(
    tmp_path: Path,
) -> None:
    for header in ({"OBJECT": "M 51", "HISTORY": ["one"]}, fits.Header([("OBJECT", "M 51")])):
        tf.write(tmp_path / "a.fits", np.ones((2, 3), "f4"), header, overwrite=True)
        assert tf.open(tmp_path / "a.fits")[0].header["OBJECT"] == "M 51"
    for kind, wide in {"bool": "uint8", "float16": "float32"}.items():
        with pytest.raises(tf.UsageError, match=wide):
            tf.write(tmp_path / "b.fits", np.ones((2, 3), kind))
    with pytest.raises(tf.UsageError, match="dict of values"):
        tf.write(tmp_path / "b.fits", np.ones((2, 3)), 5)  # type: ignore[arg-type]


def test_a_single_table_is_written_as_a_table(tmp_path: Path) -> None:
    from astropy.table import Table

    stars = Table({"A": [1, 2], "B": ["x", "y"]})
    tf.write(tmp_path / "stars.fits", stars)
    ours = tf.open(tmp_path / "stars.fits")[1]
    assert isinstance(ours, tf.Table)
    assert ours.shape == (2, 2)
    path = tmp_path / "new.fits"
    for data in (stars, ours, ours.read(), ours.read().to_structured(), {"B": ["x", "y"]}):
        tf.write(path, data, {"OBSERVER": "me"}, overwrite=True)
        table = tf.open(path)[1]
        assert table["B"].tolist() == ["x", "y"]
        assert table.header["OBSERVER"] == "me"
    with pytest.raises(tf.UsageError, match="invalid options for a table: dtype="):
        tf.write(path, stars, dtype="int16", overwrite=True)


def test_a_single_image_is_written_with_its_header(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", np.ones((2, 3)), {"OBJECT": "M31"})
    image = tf.open(tmp_path / "a.fits")[0]
    tf.write(tmp_path / "b.fits", image, dtype="int16")
    written = tf.open(tmp_path / "b.fits")[0]
    assert written.header["OBJECT"] == "M31"
    assert written.dtype == np.int16


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (np.array(["a"]), "dict of columns"),
        (np.ones(3, complex), "array.real"),
        (np.array([None]), "dict of columns"),
        ((np.ones(3), None), "into a list"),
    ],
)
def test_unsupported_images_are_refused_with_a_hint(tmp_path: Path, data: Any, said: str) -> None:
    with pytest.raises(tf.UsageError, match=said):
        tf.write(tmp_path / "new.fits", data)


@pytest.mark.parametrize("ending", [".fits.gz", ".fits.bz2", ".csv", ".parquet", ".png"])
def test_names_of_other_files_are_refused(tmp_path: Path, ending: str) -> None:
    tf.write(tmp_path / "a.fits", [np.ones((2, 3)), {"A": [1]}])
    image = tf.open(tmp_path / "a.fits")[0]
    path = tmp_path / f"new{ending}"
    for write in (
        lambda: tf.write(path, np.ones(3)),
        lambda: tf.write(path, [np.ones(3)]),
        lambda: tf.write(path, {"A": [1]}),
        lambda: image.write(path),
        lambda: image.cutout(section=np.s_[:1]).write(path),
    ):
        with pytest.raises(
            tf.UsageError, match=r"expected the name of a FITS file|cannot write a compressed file"
        ):
            write()
    assert not path.exists()


def test_columns_of_one_name_are_written_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "new.fits"
    with pytest.warns(tf.TachyfitsWarning, match="'n' beside 'N'"):
        tf.write(path, {"N": [1], "n": [2]})
    with pytest.warns(tf.TachyfitsWarning, match="beside 'N'"):
        tf.write(path, {"N": [1], "n": [2]}, kind="ascii", overwrite=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.write(path, {"N": [1], "M": [2]}, overwrite=True)


def test_masks_of_arrays_in_lists_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "new.fits"
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    of_astropy = Masked([1.0, 2.0], mask=[True, False])
    for first in (masked, of_astropy, of_astropy * u.m):
        unit = u.m if first is not masked and hasattr(first, "unit") else 1
        tf.write(path, [first, np.array([3.0, 4.0]) * unit], overwrite=True)
        np.testing.assert_array_equal(tf.open(path)[0][...], [[np.nan, 2.0], [3.0, 4.0]])
        tf.write(path, [[first, first], [first, first]], overwrite=True)
        assert np.isnan(tf.open(path)[0][...]).sum() == 4
        # Pairs are HDUs of their own.
        tf.write(path, [(first, None), (first, {"OBJECT": "M 31"})], overwrite=True)
        for hdu in tf.open(path):
            np.testing.assert_array_equal(hdu[...], [np.nan, 2.0])


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([(1.0, 2.0), (3.0, 4.0)], [[1.0, 2.0], [3.0, 4.0]]),
        ([1, np.ma.masked, 3], [1.0, np.nan, 3.0]),
        ([np.array([1, 2]), [3, 4]], [[1, 2], [3, 4]]),
        ([[(1, 2)], [[3, 4]]], [[[1, 2]], [[3, 4]]]),
        ([[[1, 2]], [[3, np.ma.masked]]], [[[1, 2]], [[3, np.nan]]]),
    ],
)
def test_lists_are_arrays_as_numpy_takes_them(
    tmp_path: Path, items: list[Any], expected: list[Any]
) -> None:
    path = tmp_path / "new.fits"
    tf.write(path, items)
    np.testing.assert_array_equal(tf.open(path)[0][...], expected)
    tf.write(path, [(items, {"OBJECT": "M 31"}), (items, None)], overwrite=True)
    with tf.open(path) as file:
        assert file[0].header["OBJECT"] == "M 31"
        for hdu in file:
            np.testing.assert_array_equal(hdu[...], expected)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([1 * u.Jy, 2], "some have no unit"),
        ([[1, 2], [3]], r"different shapes: \(1,\), \(2,\)"),
        ([[[1], [2]], [[3], [4, 5]]], r"different shapes: \(1,\), \(2,\)"),
    ],
)
def test_lists_of_different_shapes_are_refused(tmp_path: Path, items: list[Any], said: str) -> None:
    with pytest.raises(tf.UsageError, match=said):
        tf.write(tmp_path / "new.fits", items)


def test_masked_integers_stay_exact_or_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.fits"
    great = 2**53 + 1
    counts = u.Quantity([great], "count", dtype="int64")
    tf.write(path, [counts, counts])
    assert tf.open(path)[0][...].tolist() == [[great], [great]]
    for integers in ([great, 1], [-great, 1]):
        masked = np.ma.masked_array(integers, [False, True])
        with pytest.raises(
            tf.UsageError, match=rf"exactly: {integers[0]} is among them\nhint: .*blank="
        ):
            tf.write(path, masked, overwrite=True)
    tf.write(path, np.ma.masked_array([1, great], [False, True]), overwrite=True)
    np.testing.assert_array_equal(tf.open(path)[0][...], [1, np.nan])


@pytest.mark.parametrize("unit", [1, u.m])
def test_arrays_of_several_shapes_are_refused(tmp_path: Path, unit: Any) -> None:
    arrays = [np.ones(2) * unit, np.ones(3) * unit]
    with pytest.raises(tf.UsageError, match=r"different shapes: \(2,\), \(3,\)\nhint: .*one shape"):
        tf.write(tmp_path / "new.fits", arrays)
    with pytest.raises(tf.UsageError, match=r"different shapes: \(1,\), \(2,\)"):
        tf.write(tmp_path / "new.fits", [[1.0, 2.0], [3.0]])


def test_data_of_astropy_with_a_mask_beside_them_keep_it(tmp_path: Path) -> None:
    data = CCDData([1.0, 2.0], unit="adu", mask=[True, False])
    tf.write(tmp_path / "new.fits", data)
    np.testing.assert_array_equal(tf.open(tmp_path / "new.fits")[0][...], [np.nan, 2.0])
    tf.write(
        tmp_path / "new.fits", NDData([1, 2], mask=[0, 1]), blank=-1, dtype="i2", overwrite=True
    )
    image = tf.open(tmp_path / "new.fits")[0]
    assert (image.header["BITPIX"], image.header["BLANK"]) == (16, -1)
    np.testing.assert_array_equal(image[...], [1.0, np.nan])


def ccd(**options: Any) -> CCDData:
    wcs = WCS(naxis=2)
    wcs.wcs.ctype, wcs.wcs.crval, wcs.wcs.cdelt = ["RA---TAN", "DEC--TAN"], [10, 20], [-0.1, 0.1]
    data = np.arange(6, dtype="f4").reshape(2, 3)
    meta = {"OBJECT": "M 31", "exposure time": 3.5, "BUNIT": "old"}
    return CCDData(data, unit="adu", mask=data == 1, meta=meta, wcs=wcs, **options)


def test_a_ccddata_keeps_unit_mask_meta_and_coordinates(tmp_path: Path) -> None:
    tf.write(tmp_path / "new.fits", ccd(), {"OBSERVER": "Hubble", "OBJECT": "M 33"}, checksum=True)
    verified(tmp_path / "new.fits")
    image = tf.open(tmp_path / "new.fits")[0]
    assert image.unit == image.header["BUNIT"] == "adu"
    assert (image.header["OBJECT"], image.header["OBSERVER"]) == ("M 33", "Hubble")
    assert image.header["EXPOSURE TIME"] == 3.5
    np.testing.assert_array_equal(image[...], [[0, np.nan, 2], [3, 4, 5]])
    assert image.dtype == np.float32
    theirs = CCDData.read(tmp_path / "new.fits")
    assert (theirs.unit, list(theirs.wcs.wcs.ctype)) == (u.adu, ["RA---TAN", "DEC--TAN"])
    # Its header is one of astropy.
    theirs.mask = np.isnan(theirs.data)
    theirs.header["OBJECT"] = ("M 31", "a galaxy")
    tf.write(tmp_path / "new.fits", theirs, overwrite=True)
    image = tf.open(tmp_path / "new.fits")[0]
    assert image.header.cards.index(("OBJECT", "M 31", "a galaxy"))
    assert image.header["CTYPE2"] == "DEC--TAN"


@pytest.mark.parametrize("among_others", [False, True])
@pytest.mark.parametrize(
    ("kind", "unit", "expected"),
    [(StdDevUncertainty, u.adu, 2.0), (VarianceUncertainty, u.adu**2, 2.0),
     (InverseVariance, u.adu**-2, 2.0), (StdDevUncertainty, 1000 * u.adu, 2000.0)],
)  # fmt: skip
def test_the_uncertainty_of_a_ccddata_is_read_by_astropy(
    tmp_path: Path, kind: Any, unit: Any, expected: float, among_others: bool
) -> None:
    data = ccd(uncertainty=kind(np.full((2, 3), 2.0), unit=u.Unit(unit)), psf=np.eye(2))
    tf.write(tmp_path / "new.fits", [data, {"A": [1]}] if among_others else data)
    verified(tmp_path / "new.fits")
    names = ["PRIMARY", "UNCERT", "PSFIMAGE", *([""] if among_others else [])]
    assert [hdu.name for hdu in tf.open(tmp_path / "new.fits")] == names
    theirs = CCDData.read(tmp_path / "new.fits")
    assert type(theirs.uncertainty) is kind
    assert (theirs.uncertainty.array == expected).all()
    np.testing.assert_array_equal(theirs.psf, np.eye(2))


def test_parts_of_a_ccddata_that_fits_lacks_give_a_warning(tmp_path: Path) -> None:
    data = NDData(np.ones((2, 3)), uncertainty=UnknownUncertainty(np.ones((2, 3))))
    with pytest.warns(
        tf.TachyfitsWarning, match="UnknownUncertainty cannot .*left out\nhint: StdDev"
    ):
        tf.write(tmp_path / "new.fits", data)
    assert len(tf.open(tmp_path / "new.fits")) == 1


def test_the_name_of_an_image_is_written_and_its_pixels_stay_as_stored(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", np.array([[0.5, np.nan]]), {"OBJECT": "M31"}, name="FIRST",
             dtype="int16", scaling=(0.5, 0.0), blank=-1)  # fmt: skip
    first = tf.open(tmp_path / "a.fits")[0]
    assert (first.name, first.header["OBJECT"]) == ("FIRST", "M31")
    tf.write(tmp_path / "b.fits", first, name="SECOND")
    second = tf.open(tmp_path / "b.fits")[0]
    assert (second.name, second.header["OBJECT"], second.bitpix) == ("SECOND", "M31", 16)
    assert second.scaling == first.scaling
    np.testing.assert_array_equal(second[:], first[:])
    with pytest.raises(tf.UsageError, match="name= go with a single HDU"):
        tf.write(tmp_path / "c.fits", [np.ones((2, 3)), {"A": [1]}], name="THIRD")


@pytest.mark.parametrize("data", [np.ones(3), [1.0, 2.0], {"A": [1]}])
@pytest.mark.parametrize(
    ("name", "problem"),
    [("x" * 69, "name of 69 characters: a card holds 68"), (5, "invalid name 5: expected text")],
)
def test_names_that_no_card_holds_are_refused(
    tmp_path: Path, data: Any, name: Any, problem: str
) -> None:
    with pytest.raises(tf.UsageError, match=problem):
        tf.write(tmp_path / "new.fits", data, name=name)
