"""The benchmark of what is written: a wrong pixel is caught, and what is expected is right.

The harness's expected results are computed here again, pixel by pixel in fractions.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import BenchError, bars, cache, data, definitions, measure, operations, peers  # noqa: E402
from bench.__main__ import make_room, scratch_folder, source_of  # noqa: E402
from bench.outputs import fingerprint, fingerprint_of_blocks, worst_difference  # noqa: E402
from bench.setup import setup  # noqa: E402

pytestmark = pytest.mark.once

#: A peer that puts a copy of a file where the output should be, or nothing.
WRITING_PEER = """
import json, shutil, sys
if "--version" in sys.argv:
    print("writer 1")
    raise SystemExit
for line in sys.stdin:
    request = json.loads(line)
    if request["writes"]:
        shutil.copy(request["writes"], request["output"])
    reply = {"seconds": 1.0, "answer": {}, "hidden_fraction": 0.95}
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def writers(tmp_path: Path) -> dict[str, peers.Peer]:
    folder = tmp_path / "peers" / "writer"
    folder.mkdir(parents=True)
    (folder / "run.py").write_text(WRITING_PEER)
    command = json.dumps([sys.executable, "run.py"])
    version = json.dumps([sys.executable, "run.py", "--version"])
    (folder / "peer.toml").write_text(f'title = "w"\nrun = {command}\nversion = {version}\n')
    return peers.load(tmp_path / "peers")


@pytest.fixture
def cubes(tmp_path: Path) -> list[data.Input]:
    """Two small cubes as the harness makes its own, the second one with NaN."""
    made = []
    for name in ("cube-f32", "cube-f32-nan"):
        recipe = data.load(tmp_path, size="small")[name].recipe | {"shape": [5, 4, 60]}
        made.append(data.Input(name, recipe, tmp_path / f"{name}.fits"))
        data.ensure(made[-1], say=lambda line: None)
    return made


def values_of(wanted: data.Input) -> np.ndarray:
    values = fits.getdata(wanted.path)
    return np.asarray(values, "f8")


def written(tmp_path: Path, values: np.ndarray) -> Path:
    path = tmp_path / "written.fits"
    fits.writeto(path, values.astype("f4"), overwrite=True)
    return path


def smoothed(values: np.ndarray, axis: int, edge: tuple[int, int]) -> np.ndarray:
    """Smooth sample by sample, in fractions; `edge` in quarters of (first, second)."""
    lines = np.moveaxis(values, axis, -1)
    result = np.empty(lines.shape)
    for at in np.ndindex(lines.shape[:-1]):
        line = [Fraction(float(v)) for v in lines[at]]
        last = len(line) - 1
        for n, middle in enumerate(line):
            if 0 < n < last:
                quarters = line[n - 1] + 2 * middle + line[n + 1]
            else:
                neighbour = line[1] if n == 0 else line[last - 1]
                quarters = edge[0] * middle + edge[1] * neighbour
            result[(*at, n)] = float(quarters / 4)
    return np.moveaxis(result, -1, axis)


@pytest.mark.parametrize("slab", [1, 2, 5])
@pytest.mark.parametrize("axis", ["x", "y", "z"])
@pytest.mark.parametrize(
    ("edges", "quarters"), [("repeat", (3, 1)), ("pair", (2, 2)), ("zero", (2, 1))]
)
def test_the_expected_smoothing_is_that_of_fractions(
    cubes: list[data.Input],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    slab: int,
    axis: str,
    edges: str,
    quarters: tuple[int, int],
) -> None:
    monkeypatch.setattr(operations, "PIXELS", slab * 240)  # of 240 pixels per plane
    source = [operations.Cube(str(i.path), data.record(i)["pixels"], i.recipe) for i in cubes]
    name = f"hanning-{axis}-{edges}"
    right = smoothed(values_of(cubes[0]), operations.AXES[axis], quarters)
    expected = operations.answers(name, source, tmp_path / "none.npy")[name]
    assert expected == fingerprint(written(tmp_path, right))


def test_expected_sums_orders_and_copies_are_those_of_numpy(
    cubes: list[data.Input], tmp_path: Path
) -> None:
    first, second = map(values_of, cubes)
    assert np.isnan(second).any()
    right = {
        "sum-of-inputs": first + second,
        "reorder-zxy": first.transpose(1, 2, 0),
        "reorder-yzx": first.transpose(2, 0, 1),
        "copy": first,
    }
    for name, values in right.items():
        answer = data.operation(cubes, name, say=lambda line: None)
        assert answer == {name: fingerprint(written(tmp_path, values))}


def test_the_expected_median_and_moments_are_those_of_numpy(
    cubes: list[data.Input], tmp_path: Path
) -> None:
    for wanted in cubes:
        answer = data.operation([wanted], "median", say=lambda line: None)
        assert answer == {"median": float(np.nanmedian(values_of(wanted)))}
    recipe = cubes[0].recipe | {"zero": 0.5}  # no negative weights
    wanted = data.Input("positive", recipe, tmp_path / "positive.fits")
    data.ensure(wanted, say=lambda line: None)
    assert data.operation([wanted], "moments", say=lambda line: None) == {"moments": 0.0}
    cube, header = values_of(wanted), fits.getheader(wanted.path)
    frequency = header["CRVAL3"] + header["CDELT3"] * np.arange(5)[:, None, None]
    total = cube.sum(axis=0)
    mean = (cube * frequency).sum(axis=0) / total
    width = np.sqrt((cube * (frequency - mean) ** 2).sum(axis=0) / total)
    maps = tmp_path / "maps.npy"
    np.save(maps, np.stack([total * header["CDELT3"], mean, width]))
    expected = data.arrays_of(wanted, "moments")
    assert worst_difference(maps, expected) < 1e-9
    np.save(maps, np.stack([total * header["CDELT3"], mean + 1e3, width]))
    assert worst_difference(maps, expected) > 1e-5
    np.save(maps, np.stack([total * header["CDELT3"], mean * np.nan, width]))
    assert worst_difference(maps, expected) == math.inf


def robust(pixels: np.ndarray) -> float:
    """Find the robust rms of a plane from its pixels themselves."""
    good = pixels[~np.isnan(pixels)]
    low, high, cells = good.min(), good.max(), max(100, good.size // 30)
    while True:
        density = cells / (high - low)
        cell = np.rint(np.clip((good - low) * density, 0, cells - 1))
        inner = cell[(cell > 0) & (cell < cells - 1)]
        places, counts = np.unique(inner, return_counts=True)
        mode = places[counts.argmax()]
        above = places[2 * counts > counts.max()]
        if 10 <= above[-1] - above[0] <= 50:
            from_, to = mode - 3 * (mode - above[0]), mode + 3 * (above[-1] - mode)
            return min(good.std(), inner[(inner >= from_) & (inner <= to)].std() / density)
        half = 0.5 * (above[-1] - above[0]) / density * cells / 25
        low, high = low + mode / density - half, low + mode / density + half


@pytest.mark.parametrize("name", ["cube-i16-scaled", "cube-f32-nan"])
def test_the_expected_robust_rms_is_that_of_the_pixels_themselves(
    tmp_path: Path, name: str
) -> None:
    recipe = data.load(tmp_path, size="small")[name].recipe | {"shape": [3, 300, 400]}
    wanted = data.Input(name, recipe, tmp_path / "cube.fits")
    data.ensure(wanted, say=lambda line: None)
    found = data.operation([wanted], "robust-rms", say=lambda line: None)["robust-rms"]
    with fits.open(wanted.path) as hdus:
        planes = [plane.astype("f8") for plane in hdus[0].data]
    assert any(np.isnan(plane).any() for plane in planes)
    assert found == pytest.approx([robust(plane) for plane in planes], rel=1e-9)


def test_lists_are_compared_number_by_number() -> None:
    assert measure.difference([1.0, 2.0], [1.0, 2.0]) == 0.0
    assert measure.difference([1.0, 2.5], [1.0, 2.0]) == 0.25
    for got in ([1.0], [1.0, None], [1.0, math.nan], 1.0, "x"):
        assert measure.difference(got, [1.0, 2.0]) == math.inf


def test_expected_results_are_recomputed_when_the_input_changes(
    cubes: list[data.Input], tmp_path: Path
) -> None:
    said: list[str] = []
    before = data.operation(cubes, "median", say=said.append)
    assert data.operation(cubes, "median", say=said.append) == before
    assert len(said) == 1
    other = data.Input("cube-f32", cubes[0].recipe | {"seed": 1}, cubes[0].path)
    data.ensure(other, say=lambda line: None)
    assert data.operation([other, cubes[1]], "median", say=said.append) != before
    assert len(said) == 2


def test_a_fingerprint_knows_every_pixel_its_type_and_its_shape(tmp_path: Path) -> None:
    values = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
    right = fingerprint(written(tmp_path, values))
    assert right == fingerprint_of_blocks("f4", (2, 3, 4), iter(values))
    swapped = values.copy()
    swapped[0, 0, 0], swapped[1, 2, 3] = values[1, 2, 3], values[0, 0, 0]
    flipped = values.copy()
    flipped.view("u4")[1, 1, 1] ^= 1
    for other in (swapped, flipped, values.reshape(3, 2, 4)):
        assert fingerprint(written(tmp_path, other)) != right
    fits.writeto(tmp_path / "f8.fits", values.astype("f8"))
    assert fingerprint(tmp_path / "f8.fits") != right
    one_more_axis = fingerprint(written(tmp_path, values[None]))
    assert one_more_axis == right, "an axis of one pixel more is the same cube"


def test_nan_is_nan_whatever_its_bits(tmp_path: Path) -> None:
    values = np.ones((2, 2, 2), "f4")
    prints = set()
    for pattern in (0x7FC00000, 0xFFC00001, 0x7F800001):
        values.view("u4")[0, 0, 0] = pattern
        prints.add(fingerprint(written(tmp_path, values)))
    assert len(prints) == 1


def test_a_result_must_be_a_plain_complete_image(tmp_path: Path) -> None:
    path = written(tmp_path, np.ones((2, 30, 40)))
    whole = path.read_bytes()
    for part, words in ((whole[:-1], "asks for"), (whole[:1000], "in its header")):
        path.write_bytes(part)
        with pytest.raises(BenchError, match=words):
            fingerprint(path)
    card = next(
        whole[at : at + 80] for at in range(0, 2880, 80) if whole[at:].startswith(b"EXTEND")
    )
    path.write_bytes(whole.replace(card, f"BSCALE  = {'2.0':>20}".ljust(80).encode()))
    with pytest.raises(BenchError, match="scaled"):
        fingerprint(path)


def outcome(
    writers: dict[str, peers.Peer], cube: data.Input, writes: Path | None
) -> tuple[measure.Result, list[Path]]:
    """Run one contestant that should copy the cube: its result, and what is left behind."""
    document = {
        "contestant": [
            {
                "name": "copier",
                "peer": "writer",
                "model": "copy",
                "input": "cube",
                "output": "copy",
                "parameters": {"writes": str(writes or "")},
            }
        ]
    }
    (definition,) = definitions.parse(document, "test", "test.toml")
    with scratch_folder([cube]) as scratch:
        source = source_of(definition, {"cube": cube}, writers, scratch, lambda line: None)
        results = measure.run(definition, writers, source, repeat=1, all_threads=1)
        left = list(scratch.iterdir()) if scratch else []
    assert not list(cube.path.parent.glob("scratch-*"))
    return results["copier"], left


def test_a_wrong_pixel_in_a_file_that_was_written_is_wrong(
    writers: dict[str, peers.Peer], cubes: list[data.Input], tmp_path: Path
) -> None:
    right, left = outcome(writers, cubes[0], cubes[0].path)
    assert (right.wrong, right.measured, left) == (None, True, [])
    damaged = tmp_path / "damaged.fits"
    content = bytearray(cubes[0].path.read_bytes())
    content[2880 + 4 * 77 + 3] ^= 1  # the last bit of one pixel
    damaged.write_bytes(content)
    wrong, left = outcome(writers, cubes[0], damaged)
    assert wrong.wrong is not None
    assert "copy = 'f4 5 x 4 x 60 " in wrong.wrong
    assert left == []


def test_a_file_that_is_missing_or_cut_off_is_a_failure(
    writers: dict[str, peers.Peer], cubes: list[data.Input], tmp_path: Path
) -> None:
    nothing, _ = outcome(writers, cubes[0], None)
    assert nothing.failed
    assert "was not written" in str(nothing.wrong)
    cut = tmp_path / "cut.fits"
    cut.write_bytes(cubes[0].path.read_bytes()[:-2880])
    short, left = outcome(writers, cubes[0], cut)
    assert short.failed
    assert "asks for" in str(short.wrong)
    assert left == []


def test_a_peer_that_skips_rounds_is_compared_by_medians(writers: dict[str, peers.Peer]) -> None:
    common = {"peer": "writer", "model": "m", "parameters": {"writes": ""}}
    document = {
        "contestant": [
            {"name": "ours", **common},
            {"name": "few", "rounds": 2, **common},
            {"name": "once", "rounds": 1, **common},
        ],
        "bar": [
            {"row": "1", "claim": "c", "kind": "speedup", "of": "ours", "against": ["{who}"]}
            | {"each": {"who": ["few", "once"]}}
        ],
    }
    (definition,) = definitions.parse(document, "test", "test.toml")
    results = measure.run(definition, writers, measure.Source(None, {}), repeat=3, all_threads=1)
    taken = {name: (len(r.samples), r.runs) for name, r in results.items()}
    assert taken == {"ours": (3, 4), "few": (2, 3), "once": (1, 1)}
    results["ours"].samples = [1.0, 2.0, 4.0]
    results["few"].samples = [10.0, 30.0]
    results["once"].samples = [50.0]
    few, once = bars.judge(definition, results)
    assert (few.value, few.low, few.high) == (10.0, 5.0, 15.0)
    assert (once.value, once.low, once.high) == (25.0, 25.0, 25.0)


def results_of(times: dict[str, list[float]], **bar: Any) -> tuple[Any, dict[str, measure.Result]]:
    document = {
        "contestant": [{"name": n, "peer": "writer", "model": "m"} for n in times],
        "bar": [{"row": "1", "claim": "c", **bar}],
    }
    (definition,) = definitions.parse(document, "test", "test.toml")
    results = {c.name: measure.Result(c, samples=times[c.name]) for c in definition.contestants}
    return definition, results


def test_a_spread_is_the_slowest_over_the_fastest_of_all_that_it_names() -> None:
    times = {"cube, x": [1.0, 1.0], "cube, z": [1.2, 1.2], "stick, x": [1.6, 1.6], "cp": [9.0, 9.0]}
    definition, results = results_of(times, kind="spread", of="*, ?", limit=1.5)
    (verdict,) = bars.judge(definition, results)
    assert (verdict.outcome, verdict.value) == (bars.MISS, 1.6)
    assert "of 3" in verdict.remark
    results["stick, x"].samples = [1.3, 1.3]
    assert bars.judge(definition, results)[0].outcome == bars.PASS
    results["stick, x"].wrong = "a pixel"
    assert bars.judge(definition, results)[0].outcome == bars.WRONG
    results["stick, x"].wrong = None
    for name in ("cube, x", "cube, z"):
        results[name].missing = "no"
    assert bars.judge(definition, results)[0].outcome == bars.NOT_MEASURED


def test_the_share_of_hidden_io_is_that_of_three_runs_or_as_reported() -> None:
    bar = {"kind": "overlap", "of": "both", "against": ["io", "compute"], "limit": 0.9}
    times = {"both": [5.0, 5.1, 6.0], "io": [2.0, 2.0, 2.0], "compute": [5.0, 5.0, 5.0]}
    definition, results = results_of(times, **bar)
    (verdict,) = bars.judge(definition, results)
    assert (verdict.outcome, verdict.low, verdict.high) == (bars.PASS, 0.5, 1.0)
    assert verdict.value == pytest.approx(0.95)
    results["io"].missing = "no"
    assert bars.judge(definition, results)[0].outcome == bars.NOT_MEASURED
    definition, results = results_of({"both": [1.0, 1.0]}, kind="hidden", of="both", limit=0.9)
    assert bars.judge(definition, results)[0].outcome == bars.NOT_MEASURED
    results["both"].hidden = [0.8, 0.85]
    results["both"].lukewarm_rounds = 1
    (verdict,) = bars.judge(definition, results)
    assert (verdict.outcome, verdict.value) == (bars.MISS, pytest.approx(0.825))
    assert "not from a cold cache" in verdict.remark


@pytest.mark.parametrize(
    ("contestant", "bar", "words"),
    [
        ({"rounds": 0}, {}, "at least 1"),
        ({"cache": "frozen"}, {}, "cold"),
        ({}, {"kind": "overlap", "of": "ours", "against": ["ours"]}, "two `against`"),
    ],
)
def test_invalid_contestants_and_bars_are_refused(
    contestant: dict[str, Any], bar: dict[str, Any], words: str
) -> None:
    document = {
        "contestant": [{"name": "ours", "peer": "p", "model": "m", **contestant}],
        "bar": [{"row": "1", "claim": "c", "kind": "seconds", "of": "ours", **bar}],
    }
    with pytest.raises(BenchError, match=words):
        definitions.parse(document, "test", "test.toml")


def test_a_file_can_be_put_out_of_the_page_cache() -> None:
    build = ROOT / "bench" / "build"
    build.mkdir(parents=True, exist_ok=True)
    path = build / "cold-test"
    try:
        path.write_bytes(bytes(1 << 20))
        cache.settle()
        cold = cache.make_cold(path)
        assert cold == (cache.resident_share(path) <= cache.COLD)
        assert cold or data.file_system(build) in ("tmpfs", "overlay")
    finally:
        path.unlink(missing_ok=True)


def test_large_inputs_are_deleted_when_no_longer_read_or_short_of_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = {}
    for name, size in (("a", 4.3), ("b", 4.3), ("c", 0.1), ("d", 4.3)):
        inputs[name] = data.Input(name, {"gigabytes": size}, tmp_path / f"{name}.fits")
        inputs[name].path.write_text(name)

    def reading(*names: str) -> definitions.Definition:
        return definitions.parse(dict(zip(("input", "second"), names, strict=False)), "one", "")[0]

    def there() -> list[str]:
        return sorted(path.stem for path in tmp_path.iterdir())

    def room(later: list[definitions.Definition], free: float) -> None:
        monkeypatch.setattr(data, "free_bytes", lambda path: free * 1e9)
        make_room(later, inputs, {}, lambda line: None)

    room([reading("b"), reading(), reading("a"), reading("c")], 100.0)
    assert there() == ["a", "b", "c"], "d is not read again"
    inputs["d"].path.write_text("d")
    inputs["b"].path.unlink()
    room([reading("b"), reading("a"), reading("d"), reading("b")], 8.0)
    assert there() == ["c"], "b needs more room than there is"
    inputs["a"].path.write_text("a")
    inputs["d"].path.write_text("d")
    gone: list[str] = []
    free = {2: 8.0, 1: 100.0}
    monkeypatch.setattr(data, "free_bytes", lambda path: free[len(there()) - 1] * 1e9)
    make_room([reading("b"), reading("d"), reading("a"), reading("c")], inputs, {}, gone.append)
    assert there() == ["c", "d"], "what is read last goes first"
    assert gone == [f"  deleting {inputs['a'].path}"]


def test_leftovers_of_a_killed_run_are_removed(cubes: list[data.Input]) -> None:
    left = cubes[0].path.parent / "scratch-999999999-abc"
    left.mkdir()
    (left / "output.fits").write_bytes(bytes(10))
    with scratch_folder(cubes) as scratch:
        assert scratch is not None
        assert scratch.is_dir()
        assert not left.exists()
    assert not scratch.exists()


def test_a_peer_on_request_says_how_to_have_it() -> None:
    casa = peers.load()["casa"]
    assert casa.on_request
    assert casa.remedy() == "run: python -m bench setup --with casa"
    with pytest.raises(BenchError, match="'unknown' names no peer"):
        setup(also=["unknown"])


def test_the_plain_loops_and_copies_of_the_peers_give_the_expected_bits(
    cubes: list[data.Input], tmp_path: Path
) -> None:
    """cp, and where it is installed gfortran, write what NumPy works out."""
    from bench.setup import build

    known = peers.load()
    said: list[str] = []
    here = ["cp"]
    if shutil.which("gfortran"):
        assert build(known["gfortran"], said.append), "\n".join(said)
        here.append("gfortran")
    contestants = [{"name": "cp", "peer": "cp", "model": "copy", "output": "copy"}]
    for axis in "xyz":
        contestants.append(
            {"name": axis, "peer": "gfortran", "model": "hanning"}
            | {"output": f"hanning-{axis}-repeat", "parameters": {"axis": axis}}
        )
    contestants.append(
        {"name": "add", "peer": "gfortran", "model": "add", "output": "sum-of-inputs"}
    )
    chosen = [c for c in contestants if c["peer"] in here]
    document = {"input": "one", "second": "other", "contestant": chosen}
    (definition,) = definitions.parse(document, "test", "test.toml")
    with scratch_folder(cubes) as scratch:
        inputs = dict(zip(definition.inputs, cubes, strict=True))
        source = source_of(definition, inputs, known, scratch, lambda line: None)
        results = measure.run(definition, known, source, repeat=1, all_threads=1)
    assert {name: r.wrong or r.missing for name, r in results.items()} == dict.fromkeys(results)


#: A program of a package that copies in= (its first image, of two) to out=, and notes its words.
PROGRAM = """#!{python}
import pathlib, shutil, sys
words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
with open("{log}", "a") as log:
    print(pathlib.Path(sys.argv[0]).name, *sys.argv[1:], file=log)
source = words.get("in", words.get("exp", "")).split(",")[0].split("+")[0].strip("<>")
if "out" in words:
    shutil.copy(source, words["out"])
"""


@pytest.mark.parametrize(
    ("name", "programs", "steps"),
    [
        (
            "nemo",
            ["fitsccd", "ccdfits", "ccdstat", "ccdmath", "ccdsmooth"],
            [
                "ccdstat in=cube.nemo",
                "ccdmath in=cube.nemo,cube.nemo out=result.nemo fie=%1+%2",
                "ccdsmooth in=cube.nemo out=result.nemo dir=y smooth=0.25,0.5,0.25",
            ],
        ),
        (
            "miriad",
            ["fits", "histo", "maths", "hanning"],
            ["histo in=cube.miriad", "maths exp=<cube.miriad>+<cube.miriad> out=result.miriad"],
        ),
    ],
)
def test_a_package_on_path_takes_part(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    programs: list[str],
    steps: list[str],
) -> None:
    from bench import peers

    peer = peers.load()[name]
    monkeypatch.setattr(peers, "_version", peers._version.__wrapped__)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "is not on PATH: " in str(peer.missing())
    log = tmp_path / "log"
    for program in programs:
        path = tmp_path / program
        path.write_text(PROGRAM.format(python=sys.executable, log=log))
        path.chmod(0o755)
    assert peer.missing() is None
    cube, output = tmp_path / "cube.fits", tmp_path / "output.fits"
    cube.write_bytes(b"pixels")
    request = {"path": str(cube), "second": str(cube), "scratch": str(tmp_path)}
    request |= {"output": str(output), "axis": "y"}
    runner = peers.Runner(peer)
    for model in ("read", "stats", "add", "hanning"):
        reply = runner.ask(request | {"model": model}, 60)
        if (name, model) == ("miriad", "hanning"):
            assert reply == {"unsupported": "miriad has no such step along y"}
            continue
        assert reply["answer"] == {}, reply
        assert (model == "stats") or output.read_bytes() == b"pixels"
        output.unlink(missing_ok=True)
    runner.close()
    assert set(steps) <= set(log.read_text().splitlines())
