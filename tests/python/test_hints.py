"""Typical mistakes: each is refused with one sentence that names the right call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.base.hints import ARGUMENTS, ATTRIBUTES, COMMANDS, OPTIONS, argument_hint
from tachyfits.cli import COMMANDS as KNOWN_COMMANDS
from tachyfits.cli import group, run
from tachyfits.plot import plane_figure

pytestmark = pytest.mark.once

#: Mistakes, and the words that their hints have. Variables are those of `names`.
PYTHON = [
    # astropy.io.fits
    ("tf.getdata", "tf.open(path)[0].read()"),
    ("tf.getheader", "tf.open(path)[0].header"),
    ("tf.writeto", "tf.write(path, data, header)"),
    ("tf.HDUList", "tf.open(path)"),
    ("tf.PrimaryHDU", "tf.write(path, array, header)"),
    ("tf.BinTableHDU", "tf.write(path, columns)"),
    ("tf.FITS", "tf.edit(path)"),
    ("tf.opne", "did you mean open?"),
    ("tf.SpectralCube", "tf.open(path)[0]"),
    ("tf.load", "tf.open(path)"),
    ("tf.open(path, mode='update')", "tf.edit(path)"),
    ("tf.open(path, memmap=True)", "storage='mmap'"),
    ("tf.open(path, do_not_scale_image_data=True)", 'dtype="raw"'),
    ("tf.open(path, ext=1)", "tf.open(path)[1]"),
    ("tf.open(path, uint=True)", "leave it out"),
    ("tf.open(path, thread=1)", "did you mean threads=?"),
    ("tf.open('no_such.fits')", "check the name"),
    ("tf.open(3)", "give the path"),
    ("tf.write('o.fits', data, clobber=True)", "use overwrite=True"),
    ("tf.write('o.fits', data, output_verify='fix')", "tf.verify(path)"),
    ("tf.write('o.fits', data, extname='SCI')", "use name="),
    ("tf.write(path, data)", "overwrite=True"),
    ("file.writeto('o.fits')", "file[0].write(path)"),
    ("file.flush()", "tf.edit(path)"),
    ("file.append(1)", "editor.append(data)"),
    ("file.data", "file[0].read()"),
    ("file.stats()", "file.image().stats"),
    ("file.keys()", "hdu.name for hdu in file"),
    ("file.to_pandas()", "file[1].to_pandas()"),
    ("file.colse", "did you mean close?"),
    ("file['NOPE']", "HDU"),
    ("file[9]", "the only HDU is 0"),
    ("mef[0].stats()", "file.image()"),
    ("mef[0].data", "file.image()"),
    ("mef[0].read()", "file.image()"),
    ("mef[0].colnames", "file.table()"),
    ("image.writeto('o.fits')", "image.write(path)"),
    ("image.section", "image[...]"),
    ("image.values", "image.read()"),
    ("image.astype('f8')", "image.read(dtype=...)"),
    ("image.T", "image.reorder(axes)"),
    ("image.meen()", "did you mean mean?"),
    ("image.header['NOPE']", "header"),
    ("image.header.set('A', 1)", "tf.edit(path)"),
    ("image.header.tofile('a')", "header.to_astropy().tofile(path)"),
    ("image.header['A'] = 1", "tachyfits.edit(path)"),
    ("image[0] = 1", "tf.edit"),
    ("image[99]", "indices are 0-based"),
    ("image[0.5]", "index"),
    # spectral-cube
    ("image.moment0()", "image.moment(0)"),
    ("image.moment1()", "image.moment(1)"),
    ("image.linewidth_sigma()", "image.moment(2)"),
    ("image.spectral_slab(1, 2)", "image.select(channels="),
    ("image.subcube()", "image.cutout(region)"),
    ("image.subcube_from_ds9region('a')", "image.select(region)"),
    ("image.with_mask(1)", "image.select(where=mask)"),
    ("image.with_spectral_unit('km/s')", 'unit="km/s"'),
    ("image.convolve_to(1)", "image.smooth(beam=beam)"),
    ("image.spectral_smooth(1)", "image.smooth"),
    ("image.spatial_smooth(1)", "image.smooth_sky(width)"),
    ("image.filled_data[:]", "image.read()"),
    ("image.hdu", "image.write(path)"),
    ("image.mad_std()", "image.robust_rms()"),
    ("image.moment(7)", "0, 1"),
    ("image.moment(0, rest_value=1)", "rest="),
    ("image.moment(0, velocity_convention='radio')", 'convention="radio"'),
    ("image.spectrum(spectral_unit='km/s')", 'unit="km/s"'),
    ("image.spectrum(func='mean')", "statistic="),
    ("image.spectrum(method='mean')", "statistic="),
    ("image.collapse('avg')", "mean"),
    ("image.select(channels=99).sum()", "indices are 0-based"),
    ("image.select(channels='100..250 GHz')", "give it: rest="),
    ("image.select(where=np.ones((7, 3), bool))", "shape"),
    ("image.select(mask=1)", "where=mask"),
    ("image.select(box=1)", "section="),
    # CASA, CARTA
    ("image.imstat()", "image.stats()"),
    ("image.statistics()", "image.stats()"),
    ("image.stats(box='1,1,2,2')", "section="),
    ("image.stats(chans='1~3')", "channels="),
    ("image.stats(stokes='I')", 'pol="I"'),
    ("image.stats(includepix=[0, 1])", 'select(where="> 3 mJy/beam")'),
    ("image.smooth_sky(fwhm=3)", "width="),
    ("image.smooth_sky(sigma=3)", "2.3548"),
    ("image.crop('circle(1,1,2)')", "image.cutout(region)"),
    ("image.cutout('circel(1,1,2)')", "circle"),
    # matplotlib, Jupyter
    ("image.plot()", "image.plane().plot()"),
    ("image.imshow()", "image.plane().plot()"),
    ("image.show()", "image.view()"),
    ("image.quantile(0.5)", "image.percentile(100 * q)"),
    ("image.nanmean()", "image.mean()"),
    ("image.describe()", "image.stats()"),
    ("plane.show()", "plane.plot()"),
    ("plane.savefig('a.png')", "plane.png(path)"),
    ("plane.cutout('circle(2,2,1)')", "plane[region]"),
    ("plane.stats()", "plane.mean()"),
    ("image.std(channels=slice(0, 2))", "image.select(channels=...).std()"),
    ("image.mean(where='> 3')", "image.select(where=...).mean()"),
    ("plane.data", "plane.values"),
    ("plane.to_ccddata()", "plane.to_astropy()"),
    ("plane.plot(colormap='gray')", "use cmap="),
    ("plane.plot(vmin=1)", "use low="),
    ("plane.plot(cmap='infernoo')", "try inferno"),
    ("plane.plot(stretch='logg')", "log"),
    ("plane.plot(limits='zscal')", "zscale"),
    ("plane.png('a.bmp')", ".png"),
    ("spectrum.flux", "spectrum.values"),
    ("spectrum.to_specutils()", "spectrum.to_astropy()"),
    ("spectrum.spectral_axis", "spectrum.axis.values"),
    ("spectrum.savefig('a.png')", "spectrum.png(path)"),
    ("spectrum.plot(size=3)", "use figsize="),
    # TOPCAT, pandas, fitsio
    ("table.data", "table.read()"),
    ("table.colnames", "table.names"),
    ("table.query('MAG < 3')", "table.read(where="),
    ("table.iloc[0]", "rows=slice"),
    ("table.head()", "rows=slice(0, 5)"),
    ("table.nrows", "len(table)"),
    ("table.read_column('A')", "table['NAME']"),
    ("table.groupby('A')", "table.to_pandas().groupby"),
    ("table.merge(table)", "table.match(other, radius)"),
    ("table.crossmatch(table)", "table.match(other, radius)"),
    ("table.to_csv('a.csv')", 'table.write("out.csv")'),
    ("table.stats()", "file.image().stats()"),
    ("table.MAG", "table['NAME']"),
    ("table['NOPE']", "MAG"),
    ("table['mga']", "MAG"),
    ("table.read(usecols=['A'])", "use columns"),
    ("table.read(query='MAG < 3')", 'where="MAG < 20"'),
    ("table.read(nrows=3)", "rows=slice(0, n)"),
    ("table.read(where='MAG <')", "marked position"),
    ("table.read(where='NOPE < 3')", "put strings into quotes"),
    ("table.read(rows=[99])", "use 0 to"),
    ("table.read(rows=np.ones(3, bool))", "give one for every row"),
    ("table.match(table, max_sep=3)", "radius"),
]  # fmt: skip

COMMAND_LINE = [
    ("imstat {cube}", "tachyfits stats FILE"),
    ("immoments {cube}", "--moment 0,1,2"),
    ("imhead {cube}", "tachyfits header FILE"),
    ("imsubimage {cube}", "tachyfits cutout FILE"),
    ("impv {cube}", "tachyfits pv FILE"),
    ("fitsverify {cube}", "tachyfits verify FILE"),
    ("fpack {cube}", "tachyfits compress FILE"),
    ("tpipe {cube}", "tachyfits table FILE"),
    ("carta {cube}", "tachyfits view FILE"),
    ("stat {cube}", "Did you mean 'stats'?"),
    ("stats {cube} --box 1,1,2,2", "--section"),
    ("stats {cube} --chans 1:2", "--channels FIRST:LAST"),
    ("stats {cube} --stokes I", "--pol I"),
    ("stats {cube} --mask m.fits", "tachyfits math"),
    ("stats {cube} --ext 1", "--hdu NUMBER"),
    ("stats {cube} --verbose", "--report"),
    ("collapse {cube} --moments 0 -o a.png", "--moment 0,1,2"),
    ("collapse {cube} --vmin 0 -o a.png", "--low VALUE"),
    ("collapse {cube} --colormap gray -o a.png", "--cmap NAME"),
    ("collapse {cube} -o a.bmp", ".png"),
    ("cutout {cube} --size 3 -o a.fits", "--region"),
    ("cutout {cube} --out a.fits", "-o OUT"),
    ("cutout {cube} --section 1:2 --clobber -o a.fits", "--overwrite"),
    ("smooth {cube} --fwhm 3 -o a.fits", "--width PIXELS"),
    ("pv {cube} --pa 30 -o a.fits", "--path"),
    ("header {cube} --key BUNIT", "--keyword NAME"),
    ("table {cube} --select MAG<3", "--where CONDITION"),
    ("spectrum {cube} --stat mean", "--statistic NAME"),
]


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    stored = np.random.default_rng(1).normal(1, 1, (4, 6, 8)).astype("f4")
    (tmp_path / "cube.fits").write_bytes(primary(stored, cube_cards()))
    tf.write("mef.fits", {"RA": [10.0, 11.0], "DEC": [1.0, 2.0], "MAG": [1.0, 2.0]})
    file, mef = tf.open("cube.fits"), tf.open("mef.fits")
    image = file.image()
    return {
        "tf": tf, "np": np, "path": "cube.fits", "data": stored, "file": file, "mef": mef,
        "image": image, "plane": image.collapse("mean"), "spectrum": image.spectrum(),
        "table": mef.table(),
    }  # fmt: skip


def test_typical_mistakes_in_python_name_the_right_call(names: dict[str, Any]) -> None:
    wrong = []
    for code, expected in PYTHON:
        try:
            exec(code, dict(names))
        except Exception as error:
            text = str(error)
            problem, _, hint = text.partition("\nhint: ")
            said = hint or problem
            if expected not in said or "\n" in hint or len(text) > 700:
                wrong.append((code, expected, type(error).__name__, text))
        else:
            wrong.append((code, expected, "", "no error"))
    assert not wrong, "\n\n".join(map(str, wrong))
    assert len(PYTHON) >= 110


@pytest.mark.parametrize(("line", "expected"), COMMAND_LINE)
def test_typical_mistakes_on_the_command_line_name_the_right_words(
    line: str, expected: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.format(cube="cube.fits").split()) == 2
    assert expected in capsys.readouterr().err


#: The classes of objects that hints name.
OBJECTS = {
    "image": tf.Image, "cube": tf.Image, "table": tf.Table, "plane": tf.Plane, "header": tf.Header,
    "spectrum": tf.Spectrum, "file": tf.File, "tf": tf,
}  # fmt: skip


def test_hints_name_calls_that_exist() -> None:
    texts = [
        *ARGUMENTS.values(),
        *(hint for group in ATTRIBUTES.values() for hint in group.values()),
    ]
    called = {
        found.groups()
        for text in texts
        for found in re.finditer(
            r"(?<![\w.\]])(image|cube|table|plane|spectrum|file|tf|header)\.([a-z_]\w*)", text
        )
    }
    assert len(called) > 50
    fields = {
        ("spectrum", "axis"),
        ("spectrum", "values"),
        ("spectrum", "unit"),
        ("plane", "values"),
    }
    missing = [(name, of) for name, of in sorted(called - fields) if not hasattr(OBJECTS[name], of)]
    assert not missing


def test_the_register_names_no_attribute_that_exists() -> None:
    classes = {
        "tachyfits": tf, "File": tf.File, "Image": tf.Image, "Table": tf.Table, "Plane": tf.Plane,
        "Spectrum": tf.Spectrum, "Header": tf.Header,
    }  # fmt: skip
    assert classes.keys() == ATTRIBUTES.keys()
    for kind, hints in ATTRIBUTES.items():
        existing = tf.__all__ if kind == "tachyfits" else dir(classes[kind])
        assert not hints.keys() & set(existing), kind


def test_commands_and_options_of_hints_exist() -> None:
    import click

    for hint in COMMANDS.values():
        assert hint.split()[0].rstrip(":,") in KNOWN_COMMANDS, hint
    assert not COMMANDS.keys() & KNOWN_COMMANDS.keys()
    options = {"--version", "--verbose", "-o"}
    for name in KNOWN_COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        options |= {word for parameter in command.params for word in parameter.opts}
    for hint in (*COMMANDS.values(), *OPTIONS.values()):
        assert set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", hint)) <= options, hint


def test_an_unexpected_argument_stays_a_type_error_of_python() -> None:
    with pytest.raises(TypeError, match="hint: did you mean storage=") as error:
        tf.open("cube.fits", storag="mmap")  # type: ignore[call-arg]
    assert not isinstance(error.value, tf.TachyfitsError)
    assert argument_hint(plane_figure, "another message") == ""


def test_private_names_have_no_hints(names: dict[str, Any]) -> None:
    for name in ("image", "table", "file", "plane", "spectrum"):
        with pytest.raises(AttributeError) as error:
            getattr(names[name], "_moment0")  # noqa: B009 - not a value of the test
        assert "hint" not in str(error.value)
    with pytest.raises(AttributeError) as error:
        getattr(names["mef"][0], "_data")  # noqa: B009 - as above
    assert "hint" not in str(error.value)
