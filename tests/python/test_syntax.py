"""The syntax of sections, channels and regions."""

from __future__ import annotations

import click
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.cli._output import json_text
from tachyfits.cli._syntax import parse_numbers, parse_percentiles
from tachyfits.cli.smooth import _weights
from tachyfits.results.json import plain
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import numbers_of
from tachyfits.text.fits_sections import numpy_index, parse_range, parse_section

pytestmark = pytest.mark.once


@given(length=st.integers(1, 30), data=st.data())
def test_ranges_are_cfitsios(length: int, data: st.DataObject) -> None:
    first, last = data.draw(st.integers(1, length)), data.draw(st.integers(1, length))
    step = data.draw(st.integers(1, 5))
    # By hand: pixels counted from 1, both ends inside, downwards when the first is greater.
    if first <= last:
        wanted = [p for p in range(1, length + 1) if first <= p <= last][::step]
    else:
        wanted = [p for p in range(length, 0, -1) if last <= p <= first][::step]
    pixels = np.arange(1, length + 1)
    found = pixels[parse_range(f"{first}:{last}:{step}").to_slice(length, "NAXIS1")]
    assert found.tolist() == wanted
    every = pixels[parse_range(f"*:{step}").to_slice(length, "NAXIS1")]
    assert every.tolist() == pixels[::step].tolist()
    assert pixels[parse_range("-*").to_slice(length, "NAXIS1")].tolist() == pixels[::-1].tolist()
    assert pixels[parse_range(str(first)).to_slice(length, "NAXIS1")].tolist() == [first]
    after = pixels[parse_range(f" {first} : : {step}").to_slice(length, "NAXIS1")]
    assert after.tolist() == [*range(first, length + 1, step)]
    assert pixels[parse_range(f":{last}").to_slice(length, "NAXIS1")].tolist() == [
        *range(1, last + 1)
    ]


@pytest.mark.parametrize(
    "text", ["", "a", "3 5", "1:2 0", "1:2:3:4", "1:5:0", "0x1", "1.5", "1:-2", "1_0", "1" * 5000]
)
def test_invalid_ranges_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid range"):
        parse_range(text)


def test_sections_name_x_first_and_leave_the_rest_whole() -> None:
    shape = (7, 50, 100)
    index = numpy_index(parse_section(" [1:100, *, 2:7:2] "), shape)
    assert [len(range(n)[s]) for n, s in zip(shape, index, strict=True)] == [3, 50, 100]
    index = numpy_index(parse_section("11:20"), shape)
    assert [len(range(n)[s]) for n, s in zip(shape, index, strict=True)] == [7, 50, 10]
    for text, word in (("0:5", "NAXIS1"), ("*,51", "NAXIS2"), ("1,1,1,1", "4 ranges")):
        with pytest.raises(tf.UsageError, match=word) as caught:
            numpy_index(parse_section(text), shape)
        assert "hint: " in str(caught.value)


REGIONS = [
    ("circle(512,480,12)", tf.Circle(511, 479, 12)),
    ("CIRCLE ( 512  480 12 )", tf.Circle(511, 479, 12)),
    ("image; circle(1,1,.5)", tf.Circle(0, 0, 0.5)),
    ("box(10,20,4,2)", tf.Box(9, 19, 4, 2)),
    ("box(10,20,4,2,0)", tf.Box(9, 19, 4, 2)),
    ("box(10,20,4,2,45)", tf.Box(9, 19, 4, 2, 45)),
    ("circle(1,2,3) # color=red", tf.Circle(0, 1, 3)),
    ("circle(1,2,3) # text={a; b} tag={c}", tf.Circle(0, 1, 3)),
    ("point(3,4)", tf.Point(2, 3)),
    ("line(1,2,3,4)", tf.Line(((0, 1), (2, 3)))),
    ("ellipse(10,20,4,2,30)", tf.Ellipse(9, 19, 4, 2, 30)),
    ("ellipse(10,20,4,2)", tf.Ellipse(9, 19, 4, 2)),
    ("polygon(1,1,5,1,5,5)", tf.Polygon([(0, 0), (4, 0), (4, 4)])),
    ("+circle(1e2,1,3)", tf.Circle(99, 0, 3)),
]


@pytest.mark.parametrize(
    "text",
    [
        "annulus(9,9,4,3)",
        "annulus(9,9,3,3)",
        'icrs; annulus(10,20,5",4")',
        "physical; annulus(1,2,4,3)",
    ],
)
def test_an_annulus_has_the_smaller_radius_first(text: str) -> None:
    with pytest.raises(tf.UsageError, match="of an annulus: expected the smaller first"):
        tf.region(text)


@pytest.mark.parametrize(("text", "region"), REGIONS, ids=[text for text, _ in REGIONS])
def test_regions_are_ds9s_and_count_from_1(text: str, region: tf.Region) -> None:
    assert tf.region(text) == region


@pytest.mark.parametrize(
    "text",
    ["", "circle", "circle()", "circle(1,2)", "circle(1,2,3,4)", "box(1,2,3)", "star(1,2,3)",
     "polygon(1,2,3,4)", "polygon(1,2,3,4,5)", "circle(10:20:30,2,3)", "circle 1 2 3",
     'circle(1,2,3")', "fk9; circle(1,2,3)", "fk5"],
)  # fmt: skip
def test_invalid_regions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        tf.region(text)


@pytest.mark.parametrize("text", ["nan,1,2", "1,inf,1", "1,,1", "", "a", "1e999"])
def test_lists_of_numbers_are_finite_everywhere(text: str) -> None:
    for parse in (parse_numbers, parse_percentiles, lambda each: numbers_of(each, "levels", 9)):
        with pytest.raises((ValueError, RequestError), match="expected"):
            parse(text)
    with pytest.raises(click.BadParameter, match="invalid weights"):
        _weights(text)
    assert numbers_of("1, -2e3", "levels", 2) == _weights("1, -2e3") == [1.0, -2000.0]
    with pytest.raises(RequestError, match="at most 2 numbers"):
        numbers_of("1,2,3", "levels", 2)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.complex_numbers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_becomes_json_that_every_parser_reads(value: object) -> None:
    import json

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    assert json.loads(json_text(value), parse_constant=refuse) == plain(value)
