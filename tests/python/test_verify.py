"""Checks against the Standard: trap files beside fitsverify, repairs, the command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, primary
from realfiles import files_under, trap, traps
from tachyfits.cli import run

pytestmark = pytest.mark.once

#: Findings of the trap files: "error", "warning" or "" for none, with the codes. Every trap is
#: listed, so that a new one cannot be forgotten.
TRAPS = {
    "at_mix": "warning ascii-point", "at_overlap": "", "at_scaled": "", "bt_bits": "",
    "bt_blank_ttype": "warning column-unnamed", "bt_complex": "",
    "bt_dup_names": "warning duplicate-column", "bt_logical": "error logical-value",
    "bt_lower_tform": "error column-form-irregular", "bt_naxis1_mismatch": "error row-width",
    "bt_no_ttype": "warning column-unnamed column-unnamed", "bt_norows": "", "bt_scaled_byte": "",
    "bt_str": "", "bt_str_tdim": "", "bt_tdim_short": "", "bt_tform_suffix": "",
    "bt_unsigned_null": "", "bt_vla_alias": "", "bt_vla_bad": "error descriptor-range",
    "bt_vla_gap": "", "bt_vla_px": "", "bt_vla_q_unsigned": "",
    "bt_vla_theap_low": "error heap-place", "bt_zero_width": "",
    "bzero_string": "error numeric-text numeric-text", "continue": "warning orphan-continue",
    "dup_kw": "warning duplicate-keyword", "extend_F": "warning extensions-denied",
    "f32_blank_kw": "error blank-ignored",
    "f32_scaled": "", "f32_special": "", "header_zero_fill": "error header-fill", "hierarch": "",
    "i16_scaled_blank": "", "i64_big": "", "i64_scaled": "", "i8_bzero": "",
    "lower_kw": "error illegal-keyword illegal-keyword", "naxis0_ext": "", "naxis2_zero": "",
    "naxis_1000": "error keyword-range not-checked", "neg_axis": "error keyword-range not-checked",
    "no_end": "error end-missing not-checked", "no_extend": "", "no_pad": "error data-padding",
    "nonascii": "error illegal-byte", "noval_ind": "", "nul_header": "error illegal-byte",
    "numbers": "error lower-case-exponent", "overflow_axes": "error data-too-large not-checked",
    "rgroups": "", "simple_F": "warning simple-false", "strings": "warning undefined-value",
    "trail_block": "error trailing-bytes", "trail_junk": "error trailing-bytes",
    "trail_zero": "error trailing-bytes", "trunc_data": "error truncated-data", "u16_blank": "",
    "u32": "", "u64": "", "u64_float_bzero": "", "unknown_ext": "",
}  # fmt: skip

#: Where fitsverify 4.20 says otherwise, and why it errs.
FITSVERIFY_ERRS = {
    "at_mix": "an exponent without its letter (1.5+3) is legal: section 7.2.5",
    "bt_tdim_short": "the product of TDIM may be less than the repeat count: section 7.3.2",
    "bt_vla_gap": "the offset of an empty array is undefined: section 7.3.5",
    "extend_F": "EXTEND = F allows no extensions, and one follows: section 4.4.2.1",
    "overflow_axes": "2^40 x 2^40 pixels are declared and none are there: section 4.4.1.1",
    "unknown_ext": "FOREIGN is registered and no image: section 4.4.1.2, appendix F",
}


def severity(found: tf.Verification) -> str:
    return "error" if found.errors else "warning" if found.warnings else ""


def test_the_trap_files_have_the_findings_that_they_were_made_for() -> None:
    paths = traps()
    assert {path.stem for path in paths} == set(TRAPS)
    for path in paths:
        found = tf.verify(path)
        said = " ".join([severity(found), *(finding.code for finding in found)]).strip()
        assert said == TRAPS[path.stem], path.stem


def test_fitsverify_agrees_but_where_it_errs() -> None:
    if shutil.which("fitsverify") is None:
        pytest.skip("fitsverify is not installed: the verdicts of the table alone were tested")
    for path in traps():
        text = subprocess.run(["fitsverify", path], capture_output=True, check=False).stdout
        said = re.search(rb"found (\d+) warning\(s\) and (\d+) error", text)
        assert said or b"Abort" in text, path.stem
        theirs = "error"
        if said and not int(said[2]):
            theirs = "warning" if int(said[1]) else ""
        ours = TRAPS[path.stem].partition(" ")[0]
        assert (ours != theirs) == (path.stem in FITSVERIFY_ERRS), (path.stem, ours, theirs)


@pytest.mark.parametrize("threads", [1, 3])
def test_real_files_have_few_errors_and_each_is_one(threads: int) -> None:
    codes = {
        path.name: sorted({found.code for found in tf.verify(path, threads=threads)
                           if found.severity == "error"})
        for path in files_under("data")
    }  # fmt: skip
    expected = {
        "NGC4047.co.smo7gain.fits.gz": ["blank-ignored"],
        "blanksetmin32.fits": ["blank-ignored"],
        "hlsp_tess-data-alerts_tess_phot_00025155310-s01_tess_v1_lc.fits": ["date-form"],
        "kplr010666592-2009131110544_slc.fits": ["date-form"],
        "m101HI.fits": ["invalid-value", "wcs-unit"],
        "minicube.fits": ["date-form"],
    }
    found = {name: errors for name, errors in codes.items() if errors}
    assert found == {name: errors for name, errors in expected.items() if name in codes}
    assert "blanksetmin32.fits" in found


def test_a_table_with_forms_in_lower_case_is_repaired(tmp_path: Path) -> None:
    from astropy.io import fits

    path = shutil.copy(trap("bt_lower_tform"), tmp_path / "a.fits")
    before = tf.open(path)[1].read()
    (found,) = tf.verify(path)
    assert found.fixable
    (fix,) = tf.repair(path)
    assert (fix.code, list(tf.verify(path))) == ("column-form-irregular", [])
    table = fits.getdata(path)
    for name, values in tf.open(path)[1].read().items():
        np.testing.assert_array_equal(values, before[name])
        np.testing.assert_array_equal(values, table[name])


def test_repairs_change_no_value(tmp_path: Path) -> None:
    refused = set()
    for path in traps():
        copy = shutil.copy(path, tmp_path / path.name)
        try:
            tf.repair(copy)
        except (tf.FormatError, tf.LimitError):
            assert copy.read_bytes() == path.read_bytes()
            continue
        assert not any(found.fixable for found in tf.verify(copy)), path.stem
        try:
            found = tf.diff(path, copy, ignore=["*"])
        except (tf.FormatError, tf.IoError):
            refused.add(path.stem)
            continue
        assert found.same, (path.stem, found)
    assert refused == {"bt_vla_bad", "bt_vla_theap_low", "bzero_string", "trunc_data"}


def written(path: Path, cards: list[tuple[str, object]]) -> Path:
    path.write_bytes(primary(np.arange(6, dtype="i2").reshape(2, 3), cards))
    return path


def test_files_of_astropy_follow_the_standard(tmp_path: Path) -> None:
    from astropy.io import fits

    columns = [
        fits.Column("A", "J", array=[1, 2, 3], null=-1, unit="m/s"),
        fits.Column("S", "5A", array=["a", "bc", "def"]),
        fits.Column("L", "L", array=[True, False, True]),
        fits.Column("V", "PJ()", array=np.array([[1], [2, 3], []], dtype=object)),
    ]
    hdus = [
        fits.PrimaryHDU(np.ones((3, 4), "f4")),
        fits.ImageHDU(np.ones(5, "u2"), name="SCI"),
        fits.BinTableHDU.from_columns(columns, name="T"),
        fits.TableHDU.from_columns([fits.Column("X", "F8.3", array=[1.5, -2.5])]),
    ]
    fits.HDUList(hdus).writeto(tmp_path / "a.fits", checksum=True)
    found = tf.verify(tmp_path / "a.fits")
    assert list(found) == [], found
    assert (found.hdus, found.ok) == (4, True)
    with tf.open(tmp_path / "a.fits") as file:
        sums = [hdu.checksum() for hdu in file]
    assert [(one.data, one.whole) for one in sums] == [("right", "right")] * 4
    stated = [int(hdu.header["DATASUM"]) for hdu in fits.open(tmp_path / "a.fits")]
    assert [one.datasum for one in sums] == stated


def test_findings_have_their_parts() -> None:
    found = tf.verify(primary(np.zeros(3, "i2"), [("DATE", "today")]))
    assert (len(found), found.errors, found.warnings, found.ok) == (1, 1, 0, False)
    one = found[0]
    assert (one.severity, one.code, one.hdu, one.card, one.keyword, one.offset) == (
        "error", "date-form", 0, 4, "DATE", 320)  # fmt: skip
    assert (one.row, one.column, one.repeats, one.fixable) == (None, None, 0, False)
    assert "ISO-8601" in one.advice
    assert one.section == "9.1.1"
    assert "hint: " in str(one)
    assert found[:1] == (one,)
    assert "1 HDU, 1 error, 0 warnings" in repr(found)


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rules = {rule.code: rule for rule in tf.info.rules()}
    assert len(rules) == len(tf.info.rules())
    found = tf.verify(primary(np.zeros(3, "i2"), [("DATE", "today")]))[0]
    told = rules[found.code]
    assert (told.severity, told.section, told.advice) == ("error", found.section, found.advice)
    # No file is needed, and none is read.
    assert run(["verify", "--rules", "none.fits"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(rules)
    assert [line.split()[0] for line in lines[1:]] == list(rules)


def test_files_verify_themselves(tmp_path: Path) -> None:
    path = written(tmp_path / "a.fits", [("DATE", "today")])
    with tf.open(path) as file:
        assert [one.code for one in file.verify()] == ["date-form"]
        with pytest.raises(tf.UsageError, match="computed"):
            (file[0] + 1).file.verify()


def test_faults_that_need_no_guessing_are_repaired(tmp_path: Path) -> None:
    content = bytearray(primary(np.arange(3, dtype="i2"), [("DATE", "28/11/95"), ("B", 1)]))
    content[-1] = 1
    content[5 * 80 : 5 * 80 + 1] = b"b"
    path = tmp_path / "a.fits"
    path.write_bytes(content)
    before = tf.verify(path)
    fixes = tf.repair(path)
    assert sorted(fix.code for fix in fixes) == sorted(one.code for one in before if one.fixable)
    assert [fix.code for fix in fixes] == ["old-date", "illegal-keyword", "data-fill"]
    assert list(tf.verify(path)) == []
    with tf.open(path) as file:
        assert file[0].header["DATE"] == "1995-11-28"
        np.testing.assert_array_equal(file[0].read(), [0, 1, 2])
    assert tf.repair(path) == ()


def test_sums_are_stated_and_found_wrong_when_the_data_change(tmp_path: Path) -> None:
    from astropy.io import fits

    path = written(tmp_path / "a.fits", [])
    assert tf.update_checksums(path) == (0,)
    with tf.open(path) as file:
        assert file[0].checksum().ok
        assert file[0].checksum().data == "right"
    with fits.open(path, checksum=True) as theirs:
        assert theirs[0].header["DATASUM"] == str(file_sum(path))
    content = bytearray(path.read_bytes())
    content[2880] ^= 1
    path.write_bytes(content)
    with tf.open(path) as file:
        assert (file[0].checksum().data, file[0].checksum().whole) == ("wrong", "wrong")


def file_sum(path: Path) -> int:
    with tf.open(path) as file:
        return file[0].checksum().datasum


def test_the_verify_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = str(written(tmp_path / "good.fits", []))
    odd = str(written(tmp_path / "odd.fits", [("EPOCH", 1950.0)]))
    bad = str(written(tmp_path / "bad.fits", [("DATE", "today")]))
    assert run(["verify", good]) == 0
    assert capsys.readouterr().out == f"{good}: 1 HDU, 0 errors, 0 warnings\n"
    assert run(["verify", odd]) == 0
    assert run(["verify", odd, "--strict"]) == 1
    assert run(["verify", good, bad, "--quiet"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"{bad}: 1 HDU, 1 error, 0 warnings"
    assert run(["verify", bad, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["errors"], answer["findings"][0]["code"]) == (1, "date-form")
    assert run(["verify", str(tmp_path / "none.fits")]) == 1
    assert "io-not-found" in capsys.readouterr().err
    assert run(["verify"]) == 2


def test_the_verify_command_puts_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a.fits", [("DATE", "28/11/95")])
    assert run(["verify", str(path), "--fix"]) == 0
    said = capsys.readouterr().out
    assert "0 errors, 0 warnings, 1 fixed" in said
    assert "[old-date]" in said
    assert b"1995-11-28" in path.read_bytes()


def test_the_checksum_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path / "a.fits", []))
    assert run(["checksum", path]) == 0
    assert run(["checksum", path, "--check"]) == 1
    assert run(["checksum", path, "--update", "--check"]) == 0
    capsys.readouterr()
    assert run(["checksum", path, "--json"]) == 0
    hdu = json.loads(capsys.readouterr().out)["hdus"][0]
    assert (hdu["data"], hdu["whole"], hdu["ok"]) == ("right", "right", True)
    assert str(hdu["datasum"]) == hdu["stated_datasum"]


def test_the_header_command_changes_cards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path / "a.fits", cube_cards()[:2]))
    changes = ["--set", "OBJECT='M 31' / target", "--set", "EXPTIME=30.5", "--set", "N=-3"]
    assert run(["header", path, *changes]) == 0
    assert "3 cards changed" in capsys.readouterr().err
    assert run(["header", path, "--comment", "EXPTIME=seconds", "--rename", "N=COUNT"]) == 0
    with tf.open(path) as file:
        header = file[0].header
        assert (header["OBJECT"], header["EXPTIME"], header["COUNT"]) == ("M 31", 30.5, -3)
        assert (header.comments["OBJECT"], header.comments["EXPTIME"]) == ("target", "seconds")
        assert "N" not in header
    assert run(["header", path, "--delete", "COUNT", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["changed"] == 1
    before = Path(path).read_bytes()
    assert run(["header", path, "--set", "A=1", "--delete", "NONE"]) == 2
    assert run(["header", path, "--set", "NAXIS1=7"]) == 2
    assert run(["header", path, "--set", "nothing"]) == 2
    for great in ("A=1e999", "A=(1, -1D400)"):
        assert run(["header", path, "--set", great]) == 2
        assert f"invalid value {great!r}: expected a number" in capsys.readouterr().err
    assert Path(path).read_bytes() == before
    assert list(tf.verify(path)) == []


def test_all_means_the_headers_of_all_hdus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.fits")
    table = ({"A": [1]}, {"EXTNAME": "T"})
    tf.write(path, [np.zeros(3), np.zeros(4), table], checksum=True)
    assert run(["header", path, "--hdu", "all", "--set", "AUTHOR=me", "--delete", "EXTNAME"]) == 0
    said = capsys.readouterr().err
    assert "HDU 1: 1 card changed" in said
    assert "HDU 2: 2 cards changed" in said
    with tf.open(path) as file:
        assert [hdu.header.get("AUTHOR") for hdu in file] == ["me"] * 3
        assert "EXTNAME" not in file[2].header
    before = Path(path).read_bytes()
    for changes in (["--delete", "NONE"], ["--comment", "NONE=who"], ["--set", "TFIELDS=3"]):
        assert run(["header", path, "--hdu", "all", "--set", "NEW=1", *changes]) == 2
    assert Path(path).read_bytes() == before
    comment = ["--comment", "AUTHOR=who", "--comment", "CHECKSUM=of it all"]
    assert run(["header", path, "--hdu", "all", *comment, "--set", "HISTORY=by hand"]) == 0
    with tf.open(path) as file:
        assert [hdu.header.comments["AUTHOR"] for hdu in file] == ["who"] * 3
        assert [hdu.header.comments["CHECKSUM"] for hdu in file] == ["of it all"] * 3
        assert [hdu.header.history() for hdu in file] == [["by hand"]] * 3
    assert run(["header", path, "--hdu", "1", "--rename", "AUTHOR=EDITOR", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hdu"] == 1
    assert list(tf.verify(path)) == []


def test_long_keywords_are_found_with_and_without_hierarch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path / "a.fits", cube_cards()[:2]))
    assert run(["header", path, "--set", "HIERARCH ESO DET DIT=9.5", "--set", "foo=1"]) == 0
    for keyword in ("eso det dit", "HIERARCH ESO DET DIT"):
        assert run(["header", path, "--comment", f"{keyword}=in seconds"]) == 0
        capsys.readouterr()
        assert run(["header", path, "-k", keyword]) == 0
        assert capsys.readouterr().out == "9.5\n"
    assert run(["header", path, "--rename", "HIERARCH ESO DET DIT=HIERARCH ESO DET TIME"]) == 0
    assert run(["header", path, "--delete", "hierarch eso det time", "--delete", "foo"]) == 0
    assert not {"ESO DET TIME", "ESO DET DIT", "FOO"} & set(tf.open(path)[0].header)


def test_the_header_command_adds_history_and_complex_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path / "a.fits", cube_cards()[:2]))
    lines = ["did / a 'thing'", "and more"]
    sets = [f"HISTORY={line}" for line in lines] + ["comment=a remark", "CPX=(1.0, -2.5)"]
    assert run(["header", path, *(word for text in sets for word in ("--set", text))]) == 0
    with tf.open(path) as file:
        cards = file[0].header.cards
        assert [card.value for card in cards if card.keyword == "HISTORY"] == lines
        assert [card.value for card in cards if card.keyword == "COMMENT"] == ["a remark"]
        assert file[0].header["CPX"] == 1 - 2.5j
    before = Path(path).read_bytes()
    for keyword in ("CHECKSUM", "DATASUM"):
        others = ["--comment", "CPX=a pair"]
        for change in (["--set", f"{keyword}=abc"], ["--rename", f"CPX={keyword}"]):
            assert run(["header", path, *change, *others]) == 2
            assert "--update" in capsys.readouterr().err
    # Text has no comment.
    assert run(["header", path, "--comment", "HISTORY=more"]) == 2
    assert Path(path).read_bytes() == before


def test_extend_is_not_denied_while_extensions_follow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "two.fits")
    tf.write(path, [(np.zeros((2, 2)), None), {"A": [1]}])
    before = Path(path).read_bytes()
    assert run(["header", path, "--set", "EXTEND=F"]) == 2
    said = capsys.readouterr().err
    assert "expected EXTEND = T, as long as extensions follow, here 1, found EXTEND = F" in said
    assert Path(path).read_bytes() == before
    assert run(["header", path, "--set", "EXTEND=T / more follow"]) == 0


def test_a_hint_for_several_findings_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(
        written(tmp_path / "odd.fits", [("EPOCH", 1950.0), ("DATE", "today"), ("RADECSYS", "FK4")])
    )
    assert run(["verify", path]) == 1
    lines = capsys.readouterr().out.splitlines()
    first = [line.split()[0] for line in lines[1:]]
    assert sorted(first) == ["error:", "hint:", "hint:", "warning:", "warning:"]
    assert first[1] == "hint:"
