"""Programs that use CFITSIO give the same results with the library that interposes it.

`tests/cfitsio/README.md` lists programs, sources, and the variables that select more of them.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import cfitsiofiles
from cfitsioprograms import (
    FULL,
    MODES,
    PRELOADED,
    SOURCES,
    compiled,
    environment,
    library,
    need,
    without_dates,
)
from realfiles import files_under, traps

pytestmark = pytest.mark.once

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]

#: Elements that the twin reads of an HDU, about.
BUDGET = "2e7" if FULL else "1e6"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for compiled programs."""
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def twin(programs: Path) -> Path:
    return compiled(SOURCES / "calls.c", programs, *WARNINGS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the synthetic files."""
    folder = tmp_path_factory.mktemp("files")
    cfitsiofiles.all_files(folder)
    return folder


def twin_lines(twin: Path, file: Path | str, mode: str, budget: str, **more: str) -> list[str]:
    """Run the twin on a file; its last line is the exit status."""
    command = [str(twin), str(file), budget]
    answer = subprocess.run(
        command, env=environment(mode, **more), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    text = answer.stdout.decode(errors="replace")
    return [*text.splitlines(), f"exit status {answer.returncode}"]


def twin_differences(twin: Path, file: Path | str, modes: list[str], budget: str) -> list[str]:
    """Return the lines that differ from CFITSIO's, except those in which CFITSIO varies itself.

    CFITSIO 4.2 uses uninitialised memory in some calls: each of the plain runs fills memory
    differently, and lines that vary are not compared.
    """
    plain = [
        twin_lines(twin, file, "plain", budget, MALLOC_PERTURB_=fill, PADDING="x" * 1000 * number)
        for number, fill in enumerate(("1", "85", "254") if FULL else ("1", "85"))
    ]
    count = len(plain[0])
    assert all(len(lines) == count for lines in plain), file
    stable = [len(set(lines)) == 1 for lines in zip(*plain, strict=True)]
    assert stable.count(False) <= 40 + count // 12, (file, stable.count(False), count)
    differences = []
    for mode in modes:
        observed = twin_lines(twin, file, mode, budget, MALLOC_PERTURB_="1")
        if len(observed) != count:
            differences.append(f"{mode} {file}: {count} and {len(observed)} lines")
        differences += [
            f"{mode} {file}:\n    {expected}\n    {line}"
            for expected, line, is_stable in zip(plain[0], observed, stable, strict=False)
            if is_stable and expected != line
        ]
    return differences


def report_differences(differences: list[str]) -> None:
    assert not differences, f"{len(differences)} differences\n" + "\n".join(differences[:60])


GROUPS = {
    "images": ["image*.fits"],
    "large images": ["large*.fits"],
    "compressed images": ["0*.fits", "1*.fits"],
    "packed images": ["*pack*.fits"],
    "tables": ["tables.fits", "many-rows.fits"],
    "files that end too early": ["cut-*.fits"],
}


@pytest.mark.parametrize("group", GROUPS)
def test_twin_reads_synthetic_files_as_cfitsio(twin: Path, files: Path, group: str) -> None:
    library()
    differences = []
    for path in sorted(path for pattern in GROUPS[group] for path in files.glob(pattern)):
        modes = PRELOADED if path.stat().st_size > 2**20 or FULL else ["everything"]
        differences += twin_differences(twin, path, modes, BUDGET)
    report_differences(differences)


@pytest.mark.parametrize("part", range(4))
def test_twin_reads_traps_as_cfitsio(twin: Path, part: int) -> None:
    library()
    paths = traps()[part::4]
    assert paths
    modes = PRELOADED if FULL else ["everything"]
    report_differences([line for p in paths for line in twin_differences(twin, p, modes, BUDGET)])


@pytest.mark.parametrize("folder", ["data/images", "data/cubes", "data/tables"])
def test_twin_reads_real_files_as_cfitsio(twin: Path, folder: str) -> None:
    library()
    paths = files_under(folder)
    assert paths
    modes = PRELOADED if FULL else ["on", "everything"]
    report_differences([line for p in paths for line in twin_differences(twin, p, modes, BUDGET)])


@pytest.mark.parametrize(
    "name",
    [
        "large-32.fits[1:500,1:200,*]", "large-32.fits[0]", "image+16.fits[3]", "tables.fits[3]",
        "tables.fits[3][col C1;C2;N=C1*2]", "tables.fits[3][C1>3]", "many-rows.fits[1]",
        "00-RICE_1.fits[1]", "07-HCOMPRESS_1.fits[1][5:60,*]", "file://large-32.fits",
    ],
)  # fmt: skip
def test_twin_reads_extended_names_as_cfitsio(twin: Path, files: Path, name: str) -> None:
    library()
    prefix = "file://" if name.startswith("file://") else ""
    full_name = f"{prefix}{files}/{name.removeprefix('file://')}"
    report_differences(twin_differences(twin, full_name, ["everything"], BUDGET))


def test_twin_linked_with_the_library_reads_as_cfitsio(files: Path, tmp_path: Path) -> None:
    """Programs may link the library before CFITSIO instead of preloading it."""
    folder = str(library().parent)
    linked = compiled(
        SOURCES / "calls.c", tmp_path, *WARNINGS,
        f"-L{folder}", f"-Wl,-rpath,{folder}", "-Wl,--no-as-needed", "-ltachyfits_cfitsio",
    )  # fmt: skip
    plain = tmp_path / "plain"
    plain.mkdir()
    twin = compiled(SOURCES / "calls.c", plain, *WARNINGS)
    needed = subprocess.run(["ldd", str(linked)], capture_output=True, text=True, check=True)
    assert "libtachyfits_cfitsio" in needed.stdout
    for name in ("large-32.fits", "many-rows.fits"):
        expected = twin_lines(twin, files / name, "plain", "1e6")
        everything = {"TACHYFITS_CFITSIO_LEAST": "0"}
        values = {**environment("plain"), **everything}
        command = [str(linked), str(files / name), "1e6"]
        answer = subprocess.run(
            command, env=values, capture_output=True, text=True, errors="replace"
        )
        assert [*answer.stdout.splitlines(), f"exit status {answer.returncode}"] == expected


def test_twin_shows_an_element_that_is_wrong(twin: Path, files: Path, tmp_path: Path) -> None:
    """The comparison fails with a library that changes the last bit of the last element."""
    wrong = tmp_path / "wrong.so"
    command = ["cc", "-shared", "-fPIC", "-O1", str(SOURCES / "wrong.c"), "-o", str(wrong), "-ldl"]
    subprocess.run(command, check=True)
    path = files / "large-32.fits"
    expected = twin_lines(twin, path, "plain", BUDGET)
    values = {**environment("plain"), "LD_PRELOAD": str(wrong)}
    answer = subprocess.run(
        [str(twin), str(path), BUDGET], env=values, capture_output=True, text=True, errors="replace"
    )
    pairs = zip(expected, answer.stdout.splitlines(), strict=False)
    differing = [line for line, other in pairs if line != other]
    assert differing
    # The generic function and those of two and three axes call ffgpve too.
    assert all(" float " in line for line in differing), differing[:5]


def test_library_serves_the_calls_of_the_twin(twin: Path, files: Path, tmp_path: Path) -> None:
    """Equal lines would prove nothing if every call were forwarded."""
    for name in ("large-32.fits", "large+16s.fits", "many-rows.fits", "00-RICE_1.fits"):
        report = tmp_path / f"{name}.report"
        values = environment("check", report)
        subprocess.run(
            [str(twin), str(files / name), BUDGET], env=values, stdout=subprocess.DEVNULL
        )
        text = report.read_text()
        assert "calls served" in text, name
        assert "DIFFER" not in text, text


@pytest.fixture(scope="module")
def unpack(programs: Path) -> Path:
    return compiled(SOURCES / "unpack.c", programs, *WARNINGS)


def unpacked(
    unpack: Path, words: str, path: Path, folder: Path, mode: str
) -> tuple[list[str], bytes, str]:
    """Write a packed file as a plain one: lines, the new file without dates, and the report."""
    out, report = folder / "out.fits", folder / "report"
    for old in (out, report):
        old.unlink(missing_ok=True)
    name = f"{out}[compress R]" if "packed" in words else str(out)
    answer = subprocess.run(
        [str(unpack), words, str(path), name],
        env=environment(mode, report, MALLOC_PERTURB_="1"), capture_output=True, text=True,
        errors="replace", timeout=30,
    )  # fmt: skip
    lines = [*answer.stdout.splitlines(), f"exit status {answer.returncode}"]
    # Sums over headers have the dates in them.
    lines = [re.sub(r"(sums \d+) \d+", r"\1", line) for line in lines]
    # The engine does not say whether a stream of RICE_1 has bytes after its end.
    warning = " | decompression warning: unused bytes at end of compressed buffer"
    lines = [line.replace(warning, "") for line in lines]
    content = without_dates(out.read_bytes()) if out.exists() else b""
    return lines, content, report.read_text() if report.exists() else ""


def damaged(path: Path, folder: Path) -> list[Path]:
    """Write a packed file that ends too early, and some with wrong bytes."""
    content = path.read_bytes()
    variants = [content[: len(content) * 3 // 4]]
    for share in (0.35, 0.6, 0.95):
        at = int(share * len(content))
        wrong = bytes(255 - byte for byte in content[at : at + 40])
        variants.append(content[:at] + wrong + content[at + 40 :])
    paths = [folder / f"{path.stem}-{number}.fits" for number in range(len(variants))]
    for variant, place in zip(variants, paths, strict=True):
        place.write_bytes(variant)
    return paths


#: How images are unpacked, and files: with sums and without, to a primary array, to tiles again.
UNPACKED = {
    "plain": ["0*.fits", "1*.fits", "packed*.fits"],
    "sums,twice": ["00*.fits", "packed*.fits"],
    "primary": ["packed-r.fits", "06*.fits"],
    "scaled,sums": ["packed-r.fits"],
    "packed": ["packed-g.fits", "02*.fits"],
}


@pytest.mark.parametrize("words", UNPACKED)
def test_images_are_decompressed_as_by_cfitsio(
    unpack: Path, files: Path, words: str, tmp_path: Path
) -> None:
    need("fpack")
    library()
    served, differences = 0, []
    paths = sorted({path for pattern in UNPACKED[words] for path in files.glob(pattern)})
    for name in ("00-RICE_1.fits", "packed-g.fits") if words == "plain" else ():
        paths += damaged(files / name, tmp_path)
    assert paths
    for path in paths:
        try:
            expected = unpacked(unpack, words, path, tmp_path, "plain")
        except subprocess.TimeoutExpired:
            # CFITSIO inflates wrong bytes for as long as there is memory.
            assert path.parent == tmp_path, path
            continue
        for mode in ("everything", "check"):
            result = unpacked(unpack, words, path, tmp_path, mode)
            if result[:2] != expected[:2]:
                lines = [
                    pair for pair in zip(expected[0], result[0], strict=False) if len(set(pair)) > 1
                ]
                differences.append((path.name, mode, lines[:3], len(expected[1]), len(result[1])))
            differences += [(path.name, line) for line in re.findall(".*DIFFER.*", result[2])]
            assert "a fault of tachyfits" not in result[2], path
            served += sum(
                map(int, re.findall(r"fits_img_decompress: (\d+) calls served", result[2]))
            )
    assert not differences, differences
    # CFITSIO does not say for which image a program sets a scale.
    assert served or "scaled" in words


def test_mode_off_serves_nothing(twin: Path, files: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    values = environment("everything", report) | {"TACHYFITS_CFITSIO": "off"}
    path = str(files / "large-32.fits")
    answer = subprocess.run([str(twin), path, "1e5"], env=values, capture_output=True, text=True)
    plain = twin_lines(twin, path, "plain", "1e5")
    assert [*answer.stdout.splitlines(), f"exit status {answer.returncode}"] == plain
    assert not report.exists() or "calls served" not in report.read_text()
    assert MODES["everything"] is not None
