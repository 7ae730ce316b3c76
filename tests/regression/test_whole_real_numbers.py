"""A whole real number where an integer belongs is read as the integer, with a warning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf


def _card(keyword: str, value: str) -> str:
    return f"{keyword:<8}= {value:>20}".ljust(80)


def _block(cards: list[str]) -> bytes:
    text = "".join(cards) + "END".ljust(80)
    return text.ljust(2880 * -(-len(text) // 2880)).encode()


def _groups(**changes: str) -> bytes:
    values = {
        "SIMPLE": "T", "BITPIX": "16", "NAXIS": "2", "NAXIS1": "0", "NAXIS2": "3", "GROUPS": "T",
        "PCOUNT": "1", "GCOUNT": "2", "PTYPE1": "'UU'",
    }  # fmt: skip
    cards = [_card(keyword, value) for keyword, value in (values | changes).items()]
    return _block(cards) + np.arange(8, dtype=">i2").tobytes().ljust(2880, b"\0")


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("GCOUNT", "2."),
        ("PCOUNT", "1.0"),
        ("NAXIS2", "3.0E0"),
        ("BITPIX", "16."),
        ("NAXIS", "2.D0"),
        ("NAXIS1", "0.0"),
    ],
)
def test_random_groups_with_a_real_count_are_read(keyword: str, text: str) -> None:
    with pytest.warns(tf.TachyfitsWarning, match="whole-real"):
        file = tf.open(_groups(**{keyword: text}))
    assert file[0].group_parameters()["UU"].tolist() == [0, 4]
    assert len(file.warnings) == 1


@pytest.mark.parametrize(
    "keyword", ["NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT", "TFIELDS", "TNULL1", "EXTVER"]
)
def test_tables_with_a_real_count_are_read(keyword: str) -> None:
    values = {
        "XTENSION": "'BINTABLE'", "BITPIX": "8", "NAXIS": "2", "NAXIS1": "4", "NAXIS2": "3",
        "PCOUNT": "0", "GCOUNT": "1", "TFIELDS": "1", "TFORM1": "'J'", "TTYPE1": "'A'",
        "TNULL1": "2", "EXTNAME": "'T'", "EXTVER": "4",
    }  # fmt: skip
    values[keyword] += "."
    primary = _block([_card("SIMPLE", "T"), _card("BITPIX", "8"), _card("NAXIS", "0")])
    cards = [f"{k:<8}= {v:<20}".ljust(80) if "'" in v else _card(k, v) for k, v in values.items()]
    data = np.array([1, 2, 3], ">i4").tobytes().ljust(2880, b"\0")
    with pytest.warns(tf.TachyfitsWarning, match=f"keyword {keyword}.*whole-real"):
        file = tf.open(primary + _block(cards) + data)
    table = file["T", 4]
    assert table["A"].tolist() == [1, None, 3]


def test_a_count_with_a_fraction_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected an integer, found a real number 2\.5"):
        tf.open(_groups(GCOUNT="2.5"))


def test_strict_reading_refuses_a_real_count() -> None:
    with pytest.raises(ValueError, match="whole-real"):
        tf.open(_groups(GCOUNT="2."), strict=True)


def test_verify_marks_it_and_repair_writes_the_integer(tmp_path: Path) -> None:
    path = tmp_path / "groups.fits"
    path.write_bytes(_groups(GCOUNT="2.", NAXIS2="3."))
    found = [one for one in tf.verify(path) if one.code == "whole-real"]
    assert [(one.keyword, one.severity, one.fixable) for one in found] == [
        ("NAXIS2", "error", True),
        ("GCOUNT", "error", True),
    ]
    tf.repair(path)
    assert path.read_bytes() == _groups()
