"""Files: opening, finding HDUs, closing, pickling, and what they say of themselves."""

from __future__ import annotations

import gc
import gzip
import io
import os
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import card, cube_cards, empty_primary, extension, pad, primary
from tablebytes import Made, big, binary_table

STORED = np.arange(60, dtype="f4").reshape(3, 4, 5)


def several() -> bytes:
    return (
        empty_primary()
        + extension(STORED, [("EXTNAME", "SCI"), ("BUNIT", "K")])
        + extension(STORED[0], [("EXTNAME", "sci"), ("EXTVER", 2)])
        + extension(np.zeros((2, 8), "u1"), [("EXTNAME", "ODD")], kind="FOREIGN ")
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "several.fits"
    file.write_bytes(several())
    return file


class FailingFile(io.FileIO):
    """A file object of a server that may fail."""

    fails = False

    def read(self, size: int | None = -1) -> bytes:
        if self.fails:
            raise TimeoutError("no answer")
        return super().read(size) or b""


def test_a_file_object_keeps_its_position_when_reading_it_fails(path: Path) -> None:
    stream = FailingFile(path)
    stream.seek(7)
    image = tf.open(stream)["SCI"]
    assert stream.tell() == 7
    stream.fails = True
    with pytest.raises(OSError, match="no answer"):
        image.read()
    assert stream.tell() == 7
    stream.fails = False
    assert (image.read() == STORED).all()
    assert stream.tell() == 7


def test_hdus_are_found_by_number_name_and_version(path: Path) -> None:
    with tf.open(path) as file:
        assert len(file) == 4
        assert [hdu.index for hdu in file] == [0, 1, 2, 3]
        assert file[1] is file["SCI"] is file["sci"] is file["SCI", 1] is file[-3]
        assert file["SCI", 2].shape == (4, 5)
        assert "SCI" in file
        assert ("SCI", 3) not in file
        assert [hdu.index for hdu in file[1:3]] == [1, 2]
        assert file[0].name == "PRIMARY"
        assert not isinstance(file[0], tf.Image)
        assert not isinstance(file[3], tf.Image)
        assert file[3].kind == "FOREIGN"
        for key, kind in (
            (4, IndexError),
            (-5, IndexError),
            ("NO", KeyError),
            (("SCI", 9), KeyError),
        ):
            with pytest.raises(kind) as caught:
                file[key]
            assert isinstance(caught.value, tf.UsageError)
            assert "hint: " in str(caught.value)
        for key in (1.5, None, True, ("SCI", 1, 2)):
            with pytest.raises(tf.UsageError):
                file[key]


def test_a_header_of_a_file_says_which_it_is_when_it_lacks_a_keyword(path: Path) -> None:
    header = tf.open(path)["SCI", 2].header
    place = rf"^{re.escape(str(path))}: HDU 2 \(0-based\): "
    for key in (lambda: header["NONE"], lambda: header.comments["NONE"], lambda: header.cards[99]):
        with pytest.raises(tf.UsageError, match=place + "(the header has no key|no card)"):
            key()
    with pytest.raises(KeyError, match=r"^the header has no keyword 'NONE'"):
        header.replaced({})["NONE"]


@pytest.mark.parametrize("key", [1.0, None, True, ("SCI", 1.5), ("SCI", "x"), ("SCI", None)])
def test_an_invalid_hdu_names_the_file(path: Path, key: Any) -> None:
    with tf.open(path) as file:
        with pytest.raises(tf.UsageError, match=f"{path.name}: invalid HDU .*\\nhint: use file"):
            file[key]
        with pytest.raises(tf.UsageError, match=f"{path.name}: slice.*\\nhint: use integers"):
            file["a":key]


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, str, Path, gzip.compress])
def test_paths_bytes_and_gzip_open_alike(path: Path, wrap: type, tmp_path: Path) -> None:
    if wrap is gzip.compress:
        source = tmp_path / "several.fits.gz"
        source.write_bytes(gzip.compress(several()))
    elif wrap in (bytes, bytearray, memoryview):
        source = wrap(several())
    else:
        source = wrap(path)
    with tf.open(source) as file:
        np.testing.assert_array_equal(file["SCI"][...], STORED)


def test_files_that_are_not_fits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tf.IoError) as missing:
        tf.open(tmp_path / "missing.fits")
    assert "missing.fits" in str(missing.value)
    assert isinstance(missing.value, OSError)
    with pytest.raises(tf.IoError):
        tf.open(tmp_path)
    for content in (b"", b"hello", b"\0" * 2880, b"\x1f\x8b" + b"\xff" * 50):
        file = tmp_path / "bad.fits"
        file.write_bytes(content)
        with pytest.raises(tf.TachyfitsError) as bad:
            tf.open(file)
        assert "bad.fits" in str(bad.value)
        assert "hint: " in str(bad.value)
    for options in ({"storage": "tape"}, {"threads": -1}, {"threads": "two"}, {"threads": True}):
        with pytest.raises(tf.UsageError):
            tf.open(several(), **options)


def test_a_closed_file_says_so_everywhere(path: Path) -> None:
    with tf.open(path) as file:
        image = file[1]
        image.stats()
    assert file.closed
    file.close()
    uses = [
        lambda: file[0],
        lambda: len(file),
        lambda: file.size_bytes,
        lambda: image.shape,
        lambda: image[0],
        lambda: image.stats(),
        lambda: image.header,
        lambda: image.spectrum(),
        lambda: list(file),
        lambda: file.__enter__(),
    ]
    for use in uses:
        with pytest.raises(tf.UsageError, match="closed") as caught:
            use()
        assert "hint: " in str(caught.value)
    assert "closed" in repr(file)
    assert "closed" in file._repr_html_()


def test_no_descriptor_is_left_open(path: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    gc.collect()
    before = descriptors()
    for _ in range(20):
        with tf.open(path) as file:
            file[1].stats()
        tf.open(path)[1].stats()
    gc.collect()
    assert descriptors() == before


def test_readers_pickle_as_their_path(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    with tf.open("several.fits", threads=2) as file:
        packed = pickle.dumps((file, file["SCI", 2]))
    monkeypatch.chdir("/")
    again, image = pickle.loads(packed)
    assert again.threads == 2
    np.testing.assert_array_equal(again["SCI"][...], STORED)
    np.testing.assert_array_equal(image[...], STORED[0])
    assert len(packed) < 2000
    with tf.open(several()) as file:
        image = pickle.loads(pickle.dumps(file[1]))
    np.testing.assert_array_equal(image[...], STORED)
    with tf.open(path) as file:
        packed = pickle.dumps(file)
    path.unlink()
    with pytest.raises(tf.IoError):
        pickle.loads(packed)


def test_a_whole_path_needs_no_current_directory(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert len(tf.open(path.absolute())) > 1
    with pytest.raises(tf.IoError, match="no such file"):
        tf.open("relative.fits")


def test_arrays_outlive_the_file(path: Path) -> None:
    with tf.open(path, storage="mmap") as file:
        pixels = file[1][...]
    np.testing.assert_array_equal(pixels, STORED)
    pixels[0] = 1  # and belong to the user


def test_departures_from_the_standard_are_warnings_or_refused(tmp_path: Path) -> None:
    junk = primary(STORED) + b"\x1a" * 100
    with pytest.warns(tf.TachyfitsWarning) as caught:
        file = tf.open(junk)
    assert len(caught) == 1
    assert str(file.warnings[0]) in str(caught[0].message)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(file[0][...], STORED)
    with pytest.raises(tf.FormatError):
        tf.open(junk, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.open(several(), strict=True)


def test_reprs_of_files_and_hdus(path: Path) -> None:
    with tf.open(path) as file:
        text = repr(file)
        assert "several.fits: 4 HDUs" in text
        assert "(3, 4, 5)" in text
        assert "<table>" in file._repr_html_()
        image = file[1]
        for word in ("(3, 4, 5)", "float32", "[K]", "'SCI'", "several.fits"):
            assert word in repr(image)
        assert "float32" in image._repr_html_()
        assert "EXTNAME" in repr(image.header)
        assert "<pre>" in image.header._repr_html_()
        assert "mean" in repr(image.collapse())
        assert "moment 0" in image.moment(0)._repr_html_()
        assert "3 channels" in repr(image.spectrum())
        assert "count=60" in repr(image.stats()).replace(" ", "")


def test_markup_in_a_file_is_text() -> None:
    evil = primary(STORED, [("BUNIT", "<script>"), ("OBJECT", "<b>")])
    file = tf.open(evil)
    for html in (file._repr_html_(), file[0]._repr_html_(), file[0].header._repr_html_(),
                 file[0].collapse()._repr_html_()):  # fmt: skip
        assert "<script>" not in html
        assert "<b>" not in html


def test_strict_refuses_tables_with_warnings() -> None:
    column = Made("A", "1J", [big(np.int32(7))], np.array([7], "i4"))
    content = binary_table([column])
    assert len(tf.open(content, strict=True)[1]) == 1
    odd = content.replace(b"'1J", b"'1j")
    with pytest.raises(tf.FormatError, match="TFORM1"):
        tf.open(odd, strict=True)
    with pytest.warns(tf.TachyfitsWarning, match="TFORM1"):
        assert tf.open(odd)[1]["A"][0] == 7


def test_smoothing_an_image_without_pixels_gives_none(tmp_path: Path) -> None:
    cube = tf.open(primary(np.zeros((7, 5, 0), "f4")))[0]
    cube.smooth("hanning", axis="z").write(tmp_path / "none.fits")
    assert tf.open(tmp_path / "none.fits")[0].shape == (7, 5, 0)


def test_cards_are_a_sequence_whether_they_were_made_or_not() -> None:
    header = tf.open(primary(STORED, cube_cards()))[0].header
    assert header.cards == tuple(header.cards) == tf.Header(header.cards).cards
    assert header.cards != header.cards[:-1]
    assert hash(header.cards) == hash(tuple(header.cards))
    each = [header.cards[number] for number in range(len(header.cards))]
    assert each == list(header.cards)
    assert header.cards[-1] == each[-1]
    for cards in (header.cards, tf.Header(header.cards).cards):
        with pytest.raises(IndexError, match=rf"no card {len(each)}\nhint: .*, counted from 0"):
            cards[len(each)]
        with pytest.raises(
            tf.UsageError, match=r"invalid card 'BITPIX': expected a number\nhint: "
        ):
            cards["BITPIX"]  # type: ignore[call-overload]


def test_headers_are_mappings_in_the_files_order() -> None:
    content = primary(STORED, cube_cards())
    lines = [card("FOO", 1), card("FOO", 2), b"COMMENT one".ljust(80), b"HISTORY two".ljust(80)]
    end = content.index(b"END" + b" " * 77)
    content = pad(content[:end] + b"".join(lines) + b"END".ljust(80), b" ") + content[end:][-2880:]
    with pytest.warns(tf.TachyfitsWarning):
        header = tf.open(content)[0].header
    assert header["bunit"] == "Jy/beam"
    assert header["FOO"] == 1
    assert [c.value for c in header.cards if c.keyword == "FOO"] == [1, 2]
    assert header.history() == ["two"]
    assert header.history("COMMENT") == ["one"]
    assert list(header)[:4] == ["SIMPLE", "BITPIX", "NAXIS", "NAXIS1"]
    assert header.get("NOPE", 7) == 7
    with pytest.raises(
        tf.UsageError, match=r"invalid keyword 0: expected text\nhint: use header.cards"
    ):
        header[0]  # type: ignore[index]
    with pytest.raises(KeyError):
        header["NOPE"]
    with pytest.raises(tf.UsageError, match=r"invalid keyword 0: expected text\nhint: "):
        header.replaced({0: 1})  # type: ignore[dict-item]
    theirs = header.to_astropy()
    assert theirs["CRVAL3"] == header["CRVAL3"] == 1000.0
    assert [*theirs["HISTORY"]] == ["two"]
    changed = header.replaced({"BUNIT": "K", "NEW": (3, "why")}, without=["FOO"])
    assert (changed["BUNIT"], changed["NEW"], "FOO" in changed) == ("K", 3, False)
    assert changed.comments["NEW"] == "why"
    theirs = changed.to_astropy()
    assert (theirs["NEW"], [*theirs["COMMENT"]]) == (3, ["one"])


def test_cards_are_replaced_however_their_keyword_is_spelled() -> None:
    header = tf.Header([("OBJECT", "a", ""), ("OBJECT", "b", ""), ("ESO DET DIT", 1, "s")])
    changed = header.replaced({"object": "c", "hierarch ESO DET DIT": 2})
    assert changed.cards == [("OBJECT", "c", ""), ("ESO DET DIT", 2, "s")]
    assert header.replaced({}, without=["HIERARCH eso det dit"]).cards == header.cards[:2]


def test_random_groups_have_parameters_that_images_lack(tmp_path: Path) -> None:
    groups = np.array([1, 0.5, 10, 20, 30, 2, 0.25, 40, 50, 60], ">f4").tobytes()
    cards = [("SIMPLE", True), ("BITPIX", -32), ("NAXIS", 2), ("NAXIS1", 0), ("NAXIS2", 3),
             ("GROUPS", True), ("PCOUNT", 2), ("GCOUNT", 2), ("PTYPE1", "DATE"),
             ("PTYPE2", "DATE"), ("PSCAL1", 1.0), ("PZERO1", 100.0)]  # fmt: skip
    lines = b"".join(card(*pair) for pair in cards) + b"END".ljust(80)
    file = tf.open(pad(lines, b" ") + pad(groups))
    assert file[0].kind == "random groups"
    np.testing.assert_array_equal(file[0].group_parameters()["DATE"], [101.5, 102.25])
    tf.write(tmp_path / "groups.fits", [file[0]])
    copy = tf.open(tmp_path / "groups.fits")[0]
    np.testing.assert_array_equal(copy.group_parameters()["DATE"], [101.5, 102.25])
    for data in (file[0], [(file[0], {"A": 1})], [np.zeros((2, 2)), file[0]]):
        with pytest.warns(tf.TachyfitsWarning, match="without their parameters"):
            tf.write(tmp_path / "image.fits", data, overwrite=True)
