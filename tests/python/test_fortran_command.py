"""`tachyfits fortran`: what it prints of records, counted from 1, and what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran
from tachyfits.cli._record_values import plain


class Said:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err
        self.json = [json.loads(line) for line in out.splitlines() if line.startswith("{")]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Give a function that runs a command in a folder of its own."""
    from tachyfits.cli import run

    monkeypatch.chdir(tmp_path)

    def act(*words: Any) -> Said:
        capsys.readouterr()
        status = run(["fortran", *map(str, words)])
        return Said(status, *capsys.readouterr())

    return act


@pytest.fixture
def steps(tmp_path: Path) -> None:
    """Make a file of a step and two reals, in turn."""
    with fortran.create(tmp_path / "steps.dat", order="big") as new:
        for step in range(3):
            new.write(np.int32(step), f"s{step}\n")
            new.write(np.float32([0.1, step]))


@pytest.mark.usefixtures("steps")
def test_forms_in_rotation(say: Any) -> None:
    expected = [f"{n}: {x}" for n, x in enumerate(
        ["0 's0\\n'", "0.1 0.0", "1 's1\\n'", "0.1 1.0", "2 's2\\n'", "0.1 2.0"], 1)]  # fmt: skip
    forms = ["--form", "i4,a3", "--form", "f4"]
    assert say("dump", "steps.dat", *forms).out.splitlines() == expected
    assert say("dump", "steps.dat", *forms, "--records", "3:4").out.splitlines() == expected[2:4]
    found = say("dump", "steps.dat", *forms, "--records", "2:3", "--json").json
    assert [answer["record"] for answer in found] == [2, 3]
    assert [answer["values"] for answer in found] == [[0.1, 0.0], [[1, "s1\n"]]]
    assert {answer["convention"] for answer in found} == {"records from 1"}
    refused = say("dump", "steps.dat", *forms, "-o", "a.npy")
    assert refused.status == 2
    assert "the records have the forms f4, i4,a3" in refused.err
    saved = say("dump", "steps.dat", *forms, "--records", "2::2", "-o", "a.npy", "--json").json[0]
    assert (saved["output"], saved["records"]) == ("a.npy", 3)
    assert_array_equal(np.load("a.npy"), np.float32([[0.1, 0], [0.1, 1], [0.1, 2]]))
    fortran.write("headed.dat", np.int32(5), [1.5], [2.5, 3.5])
    rest = ["--form", "i4", "--form", "*f8", "--form", "..."]
    assert say("dump", "headed.dat", *rest).out == "1: 5\n2: 1.5\n3: 2.5 3.5\n"
    assert say("convert", "headed.dat", *rest, "--to-order", "big", "-o", "b.dat").status == 0
    assert_array_equal(fortran.open("b.dat")[2].read("f8"), [2.5, 3.5])


@pytest.mark.usefixtures("steps")
def test_records_count_from_1(say: Any) -> None:
    for wrong, why in (
        ("9", "steps.dat has the records 1 to 6; found 9"),
        ("7:", "found 7"),
        ("2:7", "found 7"),
        ("0:2", "found 0"),
        ("3:2", "expected an ascending range"),
        ("1:2:0", "invalid range '1:2:0'"),
        ("a", "invalid range"),
        ("", "invalid range"),
        ("1:2:3:4", "invalid range"),
    ):
        refused = say("dump", "steps.dat", "--records", wrong)
        assert (refused.status, refused.out) == (2, "")
        assert why in refused.err
    for words in (("--form", "f8", "--records", "3"), ("--form", "3f4", "--records", "3:5:2")):
        refused = say("dump", "steps.dat", *words)
        assert refused.status == 2
        assert "steps.dat: record 3 (from 1) of 7 bytes" in refused.err
    refused = say("dump", "steps.dat", "-o", "a.npy")
    assert "as record 1 (from 1) has, found record 2 (from 1)" in refused.err
    assert "hint: read records of one length at a time" in refused.err
    runs = say("info", "steps.dat", "--json").json[0]
    assert [run["first"] for run in runs["runs"]] == [1, 2, 3, 4, 5, 6]
    assert runs["convention"] == "records from 1"


def test_the_hint_takes_records_of_one_form(say: Any) -> None:
    fortran.write("a.dat", (np.int32(1), 2.0), [3.0], [4.0])
    words = ["dump", "a.dat", "-o", "a.npy", "--form", "i4,f8", "--form", "*f8"]
    assert "--records 2::2 takes" in say(*words).err
    assert "--records 2: takes" in say(*words, "--form", "...").err
    assert say(*words, "--form", "...", "--records", "2:").status == 0
    assert_array_equal(np.load("a.npy"), [[3.0], [4.0]])


def test_long_records_are_cut(say: Any) -> None:
    fortran.write("a.dat", (np.int32(1), np.arange(30, dtype="i2")), np.arange(21, dtype="i2"))
    shown = say("dump", "a.dat", "--form", "i4,30i2", "--form", "i2").out.splitlines()
    assert shown[0] == f"1: 1 {' '.join(map(str, range(19)))} ... (31 values)"
    assert shown[1] == f"2: {' '.join(map(str, range(20)))} ... (21 values)"


def test_long_records_are_made_text_of_no_further_than_is_shown(
    say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def counted(values: Any) -> Any:
        seen.append(values.size)
        return plain(values)

    monkeypatch.setattr("tachyfits.cli._record_values.plain", counted)
    fortran.write("a.dat", (np.int32(1), np.zeros(1000, "f4"), "ab"), b"")
    shown = say("dump", "a.dat", "--form", "i4,1000f4,2a1").out.splitlines()
    assert shown == ["1: 1" + " 0.0" * 19 + " ... (1003 values)"]
    assert say("dump", "a.dat", "--records", "2").out.splitlines() == ["2: "]
    assert max(seen) <= 20


def test_values_that_no_image_holds_become_a_table(say: Any) -> None:
    kinds: dict[str, Any] = {
        "c8": np.array([[1 + 2j, 3], [4, 5j]], "c8"),
        "l4": np.array([[True, False], [False, False]]),
        "a3": np.array([["ab", "c"], ["", "def"]]),
    }
    for form, values in kinds.items():
        for wanted in (values, values[:, :1]):
            with fortran.create("a.dat", overwrite=True) as new:
                new.write_records(wanted)
            words = ("dump", "a.dat", "--form", form, "-o", "a.fits", "--overwrite")
            assert say(*words).status == 0
            found = tf.open("a.fits")[1]["values"]
            assert_array_equal(np.asarray(found), wanted if wanted.shape[1] > 1 else wanted[:, 0])
    fortran.write("a.dat", np.float32([0.1, np.inf]), np.float32([np.nan, 2.0]), overwrite=True)
    assert say("dump", "a.dat", "--form", "f4", "-o", "a.csv").status == 0
    assert Path("a.csv").read_text() == "v0,v1\n0.1,inf\nnan,2.0\n"


def test_info_reports_assumptions_and_truncation(say: Any) -> None:
    fortran.write("a.dat", [1.0, 2.0], [3.0, 4.0], order="big")
    content = Path("a.dat").read_bytes()
    stream = say("info", "a.dat", "--access", "stream")
    assert "assumed: the byte order is this machine's" in stream.out
    for words, assumed in ((["--access", "stream"], True), ([], False),
                           (["--access", "stream", "--order", "big"], False)):  # fmt: skip
        assert say("info", "a.dat", *words, "--json").json[0]["order_assumed"] is assumed
    assert "subrecords" not in say("info", "a.dat").out

    def marker(number: int) -> bytes:
        return number.to_bytes(4, "big", signed=True)

    # Three subrecords of 16, 16 and 8 bytes.
    parts = [(-16, 16), (-16, -16), (8, -8)]
    cut = b"".join(marker(a) + bytes(abs(a)) + marker(b) for a, b in parts)
    for whole, expected in (
        (content + cut[:-4], [1]),
        (content + cut + content, [1, 3, 1]),
        (cut + content, [3, 1]),
        (content + cut, [1, 3]),
        (content + cut + content[:-5], [1, 3, 1]),
        (content + cut + content[:5], [1, 3]),
        (cut + marker(8) + bytes(8) + marker(9), [3]),
    ):
        Path("a.dat").write_bytes(whole)
        told = say("info", "a.dat", "--json").json[0]
        assert [run["subrecords"] for run in told["runs"]] == expected
    assert "subrecords" in say("info", "a.dat").out


@pytest.mark.usefixtures("steps")
def test_conflicting_options_are_refused(say: Any, tmp_path: Path) -> None:
    for words, why in (
        (("info", "--access", "stream", "--markers", "4"), "files of stream access have none"),
        (("info", "--access", "direct"), "--record-bytes belong together"),
        (("info", "--record-bytes", "4"), "--record-bytes belong together"),
        (
            ("convert", "--to-access", "stream", "--to-markers", "8", "-o", "b.dat"),
            "markers of 8 bytes with stream access",
        ),
        (("convert", "--to-order", "little", "-o", "b.dat"), "a form of the records is needed"),
    ):
        refused = say(words[0], "steps.dat", *words[1:])
        assert refused.status == 2
        assert why in refused.err
    for folder in ("a", "b", "out"):
        Path(folder).mkdir()
        fortran.write(f"{folder}/run.dat", [1.0])
    before = Path("out/run.dat").read_bytes()
    words = ("convert", "a/run.dat", "b/run.dat", "--to-markers", "8", "-o", "out", "--overwrite")
    refused = say(*words)
    assert refused.status == 2
    assert "a/run.dat and b/run.dat would both become out/run.dat" in refused.err
    assert Path("out/run.dat").read_bytes() == before


def test_direct_access_is_halved(say: Any) -> None:
    direct = {"access": "direct", "record_bytes": 32, "order": "big"}
    with fortran.create("d.dat", **direct) as new:
        new.write_records(np.ones((3, 4)))
    words = ["--access", "direct", "--record-bytes", 32, "--order", "big"]
    assert say("convert", "d.dat", *words, "--form", "*f8", "--single", "-o", "e.dat").status == 0
    assert Path("e.dat").read_bytes() == np.ones(12, ">f4").tobytes()


def test_quadruple_precision_is_halved(say: Any) -> None:
    # 1.5 and -0.0 of 128 bits, big-endian.
    pair = bytes([0x3F, 0xFF, 0x80]) + bytes(13) + b"\x80" + bytes(15)
    fortran.write("quad.dat", (np.int32(7), pair), (np.int32(8), pair), order="big")
    refused = say("dump", "quad.dat", "--form", "i4,*f16")
    if np.finfo(np.longdouble).nmant != 112:
        assert refused.status == 2
        assert "--double" in refused.err
    words = ("convert", "quad.dat", "--form", "i4,*f16", "--double", "-o", "double.dat")
    assert say(*words).status == 0
    assert say("dump", "double.dat", "--form", "i4,*f8").out == "1: 7 1.5 -0.0\n2: 8 1.5 -0.0\n"
    # Statistics need no array of them: of all that a record holds, and of one item.
    fortran.write("pairs.dat", pair, pair * 2, order="big")
    for form, count in (("f16", 6), ("*f16", 6), ("c32", 3)):
        told = say("stats", "pairs.dat", "--json", "--form", form)
        assert (told.status, told.err) == (0, "")
        assert told.json[0]["statistics"][0]["count"] == count
    assert say("stats", "quad.dat", "--form", "i4,*f16", "--field", "f1").status == 0
    both = say(*words, "--single", "--overwrite")
    assert both.status == 2
    assert "give only one of" in both.err


def test_help_names_every_type_of_a_form(say: Any) -> None:
    numbers = [f"{kind}{size}" for kind in "ifcl" for size in (1, 2, 4, 8, 16, 32)]
    valid = []
    for kind in numbers:
        try:
            tf._core.record_items(kind, int(kind[1:]))
        except tf.UsageError:
            continue
        valid.append(kind)
    assert len(valid) == 16
    for text in (say("--help").out, fortran.__doc__ or ""):
        words = text.replace("`", " ").split()
        assert [kind for kind in valid if kind not in words] == []


def test_values_in_groups_are_shown_and_saved(say: Any) -> None:
    fortran.write("a.dat", (np.int32(7), np.array([(0.1, 1, b"ab"), (0.5, 2, b"c")], "f4,i4,S2")))
    words = ["dump", "a.dat", "--form", "i4,2(f4,(i4,a2))"]
    assert say(*words).out == "1: 7 0.1 1 'ab' 0.5 2 'c'\n"
    values = [[7, [[0.1, [1, "ab"]], [0.5, [2, "c"]]]]]
    assert say(*words, "--json").json[0]["values"] == values
    assert say(*words, "-o", "a.fits").status == 0
    table = tf.open("a.fits")[1]
    assert_array_equal(table["f1_f0"], np.float32([[0.1, 0.5]]))
    assert_array_equal(table["f1_f1_f0"], [[1, 2]])
    assert say(*words, "-o", "a.csv").status == 0
    assert Path("a.csv").read_text().splitlines() == [
        "f0,f1_f0_0,f1_f0_1,f1_f1_f0_0,f1_f1_f0_1,f1_f1_f1_0,f1_f1_f1_1",
        "7,0.1,0.5,1,2,ab,c",
    ]
    assert say("dump", "a.dat", "--form", "i4,2(2x2,x4,1(a1,a1))").out == "1: 7 'a' 'b' 'c' ''\n"
    fortran.write("a.dat", np.zeros(30, "9f4,i4"), overwrite=True)
    shown = say("dump", "a.dat", "--form", "30(9f4,i4)").out
    assert shown == f"1: {'0.0 ' * 9}0 {'0.0 ' * 9}0 ... (300 values)\n"
    assert plain(np.zeros((2, 3), "i4,f4")) == [[[0, 0.0]] * 3] * 2


def test_statistics_name_record_and_element(say: Any) -> None:
    fortran.write("a.dat", [5.0], [1.0, 9.0, 3.0], [-4.0, np.nan], [0.0], order="big")
    row = {"field": None, "count": 6, "nan": 1, "sum": 14.0, "mean": 14 / 6}
    row |= {"min": -4.0, "max": 9.0, "min_position": [3, 1], "max_position": [2, 2]}
    answer = say("stats", "a.dat", "--form", "f8", "--json").json[0]
    assert answer["convention"] == "records and elements from 1"
    assert (answer["records"], answer["form"]) == ([1, 4], "f8")
    assert row.items() <= answer["statistics"][0].items()
    lines = say("stats", "a.dat", "--form", "*f8", "--records", "2:3").out.splitlines()
    assert lines[0] == "a.dat, records 2-3 (from 1), *f8"
    assert [line.split() for line in lines[-2:]] == [
        ["min", "-4.0", "at", "record", "3,", "element", "1"],
        ["max", "9.0", "at", "record", "2,", "element", "2"],
    ]
    three = say("stats", "a.dat", "--form", "x8,f8,x8", "--records", "2", "--json", "--ddof", "0")
    assert three.json[0]["statistics"][0]["max_position"] == [2, 1]
    for words, why in (
        (["--records", "1:4:2"], "A:B"),
        (["--records", "9"], "found 9"),
        (["--field", "f0", "--records", "1"], "no field is named 'f0'"),
    ):
        refused = say("stats", "a.dat", "--form", "f8", *words)
        assert (refused.status, refused.out) == (2, "")
        assert why in refused.err
    assert "record 1 (from 1)" in say("stats", "a.dat", "--form", "c16").err
    misfit = say("stats", "a.dat", "--form", "f8,f8", "--records", "2:2")
    assert "a.dat: record 2 (from 1) of 24 bytes does not have the form" in misfit.err
    assert "Missing option '--form'" in say("stats", "a.dat").err


def test_statistics_of_each_field_of_mixed_records(say: Any) -> None:
    rows = np.zeros(3, [("f0", "i4"), ("f1", "c16"), ("f2", "S2"), ("f3", "f4,i2", 2)])
    rows["f0"], rows["f1"] = [4, 6, 5], [1 + 2j, 3 - 2j, 2]
    rows["f3"]["f0"] = np.arange(6).reshape(3, 2)
    with fortran.create("a.dat", order="big") as new:
        new.write_records(rows)
    form = "i4,c16,a2,2(f4,i2)"
    words = ["stats", "a.dat", "--form", form]
    answer = say(*words, "--json", "--report").json[0]
    found = {row["field"]: row for row in answer["statistics"]}
    assert list(found) == ["f0", "f1", "f3.f0", "f3.f1"] == list(answer["report"])
    assert (found["f0"]["max"], found["f0"]["max_position"]) == (6.0, [2, 1])
    assert (found["f1"]["sum"], found["f1"]["max"]) == ([6.0, 0.0], None)
    assert found["f1"]["imag_min_position"] == [2, 1]
    assert found["f3.f0"]["max_position"] == [3, 2]
    said = say(*words, "--report")
    head, *table = said.out.splitlines()[1:]
    assert head.split()[:4] == ["#", "field", "count", "nan"]
    assert [line.split()[0] for line in table] == list(found)
    assert said.err.startswith("f0: 12 B in ")
    one = say(*words, "--field", "f3.f0", "--records", "1").out.splitlines()
    assert one[1].split() == ["field", "f3.f0"]
    for text in ("3a10,l4", "a8,(l4,a22)", "S10,S24"):
        assert (
            f"{text!r} has no numbers\nhint: integers" in say("stats", "a.dat", "--form", text).err
        )
    # A dtype of NumPy's has its fields, too.
    numpy = say("stats", "a.dat", "--form", "i4,(2,)V12,(2,)u2,V2", "--json").json[0]["statistics"]
    assert [row["field"] for row in numpy] == ["f0", "f2"]


def test_statistics_of_damaged_and_empty_files(say: Any) -> None:
    fortran.write("a.dat", [1.0, 2.0], [3.0], order="big")
    Path("cut.dat").write_bytes(Path("a.dat").read_bytes()[:-1])
    refused = say("stats", "cut.dat", "a.dat", "--form", "f8", "--json")
    assert (refused.status, len(refused.json)) == (1, 1)
    assert say("stats", "cut.dat", "--form", "f8", "--records", "1:1").status == 0
    Path("none.dat").write_bytes(b"")
    words = ["stats", "none.dat", "--access", "direct", "--record-bytes", "8", "--form"]
    for form in ("f8", "i4,f4", "(i4,f4)"):
        empty = say(*words, form)
        assert empty.status == 0
        assert "records 1-0" in empty.out


def test_info_counts_subrecords_before_damage_in_any_source(say: Any, tmp_path: Path) -> None:
    parts = [(-3, b"abc", 3), (-3, b"def", -3), (1, b"g", -1), (9, b"cut", 0)]
    content = b"".join(
        lead.to_bytes(4, "little", signed=True) + data + trail.to_bytes(4, "little", signed=True)
        for lead, data, trail in parts
    )
    (tmp_path / "long.dat").write_bytes(content)
    (tmp_path / "long.dat.gz").write_bytes(gzip.compress(content))
    for name in ("long.dat", "long.dat.gz"):
        told = say("info", name, "--markers", "4", "--order", "little", "--json")
        assert told.status == 1
        assert [run["subrecords"] for run in told.json[0]["runs"]] == [3]
        assert (
            "or give other --markers (for direct access --record-bytes)" in told.json[0]["damage"]
        )
        assert "{" not in told.json[0]["damage"]
        with fortran.open(name, 4, "little") as file:
            assert "or give other markers= (for direct access record_bytes=)" in str(file.damage)
        with fortran.open(name, 4, "little", recover=True) as file:
            assert "{" not in file.skipped[0][2]


def test_messages_have_the_words_of_the_command_line(say: Any) -> None:
    fortran.write("run.dat", [1.0, 2.0])
    refused = say("convert", "run.dat", "-o", "new.dat", "--to-order", "big")
    assert "hint: give --form '*f8'" in refused.err
    refused = say("convert", "run.dat", "-o", "new.dat", "--form", "f8", "--double")
    assert "double precision changes nothing" in refused.err
    assert '"i3" at character 1 of "i3"' in say("dump", "run.dat", "--form", "i3").err
    Path("image.fits").write_bytes(b"SIMPLE  =".ljust(2880))
    said = say("info", "image.fits").err
    assert "little-endian markers: at byte 0: expected 1347242323 bytes" in said
    assert "0 whole records" not in said
