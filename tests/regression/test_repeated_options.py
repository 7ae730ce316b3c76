"""A repeated option adds to the first or is refused, for every option of every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import COMMANDS, group, run


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group, info_name="tachyfits")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            for each in command.list_commands(inner):
                found = command.get_command(inner, each)
                assert found is not None
                yield (name, each), found
        else:
            yield (name,), command


OPTIONS = [
    pytest.param(words, option, id=f"{'-'.join(words)}{option.opts[-1]}")
    for words, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.multiple
]


@pytest.mark.parametrize(("words", "option"), OPTIONS)
def test_an_option_with_one_value_is_refused_when_it_is_repeated(
    words: tuple[str, ...], option: click.Option, capsys: pytest.CaptureFixture[str]
) -> None:
    if option.is_flag and not option.secondary_opts:
        pytest.skip("a flag says the same twice")
    value = [] if option.is_flag else ["1"] * option.nargs
    second = (option.secondary_opts or option.opts)[-1]
    status = run([*words, option.opts[-1], *value, "file.fits", second, *value])
    assert status == 2
    assert f"{option.opts[-1]}" in (said := capsys.readouterr().err)
    assert "is given 2 times: expected once" in said


def test_help_comes_before_a_repeated_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats", "--hdu", "0", "--hdu", "1", "--help"]) == 0
    assert "Usage: tachyfits stats" in capsys.readouterr().out


def test_ranges_of_channels_are_not_dropped(tmp_path: Path) -> None:
    planes = np.arange(6, dtype="f4").reshape(6, 1, 1) * np.ones((6, 4, 5), "f4")
    cube = write_cube(tmp_path / "cube.fits", data=planes)
    out = tmp_path / "noise.fits"
    words = ["collapse", str(cube), "-o", str(out), "--statistic", "sum"]
    assert run([*words, "--channels", "1:2", "--channels=5:6"]) == 0
    assert (fits.getdata(out) == 0 + 1 + 4 + 5).all()


def test_a_second_value_of_a_keyword_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.fits")
    tf.write(path, np.zeros((2, 2)))
    assert run(["header", path, "--set", "A=1", "--set", "a=2"]) == 2
    assert "--set A is given 2 times" in capsys.readouterr().err
    assert "A" not in fits.getheader(path)
    assert run(["header", path, "--set", "HISTORY=one", "--set", "HISTORY=two"]) == 0
    assert list(fits.getheader(path)["HISTORY"]) == ["one", "two"]
