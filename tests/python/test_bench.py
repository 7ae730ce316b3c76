"""The benchmark harness: wrong answers fail, bars are the ones promised, inputs have exact answers.

tests/bench runs it with small inputs.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import (  # noqa: E402
    BenchError,
    bars,
    before,
    cache,
    definitions,
    makers,
    measure,
    memory,
    one_file,
    peers,
    report,
)
from bench import __main__ as bench_main  # noqa: E402
from bench.__main__ import exit_status  # noqa: E402

pytestmark = pytest.mark.once

#: A peer that answers what its contestant's parameters say, in the seconds that they say.
FAKE_PEER = """
import json, sys
if "--version" in sys.argv:
    print("fake 1")
    raise SystemExit
for line in sys.stdin:
    request = json.loads(line)
    if request.get("dies"):
        raise SystemExit("out of luck")
    print(json.dumps(request["reply"]), flush=True)
"""


@pytest.fixture
def fakes(tmp_path: Path) -> dict[str, peers.Peer]:
    """Two peers: `fake` runs, `absent` has a program that does not exist."""
    for name, program in (("fake", sys.executable), ("absent", "/nonexistent/program")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.py").write_text(FAKE_PEER)
        command = json.dumps([program, "run.py"])
        version = json.dumps([program, "run.py", "--version"])
        text = f'title = "{name}"\nrun = {command}\nversion = {version}\n'
        (folder / "peer.toml").write_text(text)
    return peers.load(tmp_path)


def contestant(name: str, seconds: float, total: float = 10.0, **more: Any) -> dict[str, Any]:
    reply = {"seconds": seconds, "answer": {"sum": total}}
    return {
        "name": name,
        "peer": "fake",
        "model": "sum",
        "answer": ["sum"],
        "parameters": {"reply": reply},
        **more,
    }


def judged(
    fakes: dict[str, peers.Peer], contestants: list[dict[str, Any]], bar: dict[str, Any]
) -> tuple[bars.Verdict, int, int]:
    """Run one bar over these contestants: the verdict, the exit status, and the strict one."""
    document = {"contestant": contestants, "bar": [{"row": "1", "claim": "a claim", **bar}]}
    (definition,) = definitions.parse(document, "test", "test.toml", "laptop")
    source = measure.Source(None, {"sum": 10.0})
    results = measure.run(definition, fakes, source, repeat=3, all_threads=2)
    wrong = any(result.wrong for result in results.values())
    (verdict,) = bars.judge(definition, results)
    statuses = [exit_status([verdict], wrong=wrong, strict=strict) for strict in (False, True)]
    return verdict, statuses[0], statuses[1]


FASTER = {"kind": "speedup", "of": "ours", "against": ["other*"], "limit": 2.0}


def test_a_bar_that_is_reached_passes(fakes: dict[str, peers.Peer]) -> None:
    pair = [contestant("ours", 1.0), contestant("other", 3.0)]
    verdict, status, strict = judged(fakes, pair, FASTER)
    assert (verdict.outcome, verdict.value, status, strict) == (bars.PASS, 3.0, 0, 0)


def test_a_bar_beyond_the_machine_is_met_at_its_limit(fakes: dict[str, peers.Peer]) -> None:
    bar = {**FASTER, "machine": "machine"}

    def verdict(ours: float, machine: float) -> bars.Verdict:
        pair = [contestant("ours", ours), contestant("other", 1.5), contestant("machine", machine)]
        return judged(fakes, pair, bar)[0]

    met = verdict(1.0, 0.9)
    assert (met.outcome, met.value) == (bars.PASS, 1.5)
    assert "at the limit: 0.90 of machine (1.67 x)" in met.remark
    # Too far from the limit; and a machine that allows the bar.
    assert verdict(1.1, 0.9).outcome == bars.MISS
    assert verdict(1.0, 0.7).outcome == bars.MISS
    assert verdict(0.7, 0.65).remark == ""
    with pytest.raises(BenchError, match="only a speedup"):
        judged(
            fakes, [contestant("ours", 1.0)], {"kind": "seconds", "of": "ours", "machine": "ours"}
        )


def test_a_missed_bar_fails_only_a_strict_run(fakes: dict[str, peers.Peer]) -> None:
    pair = [contestant("ours", 1.0), contestant("other", 1.5)]
    verdict, status, strict = judged(fakes, pair, FASTER)
    assert (verdict.outcome, verdict.value, status, strict) == (bars.MISS, 1.5, 0, 1)


@pytest.mark.parametrize("who", ["ours", "other"])
def test_a_wrong_answer_is_a_failure_however_fast(fakes: dict[str, peers.Peer], who: str) -> None:
    totals = {"ours": 10.0, "other": 10.0, who: 10.0 + 1e-9}
    pair = [contestant("ours", 1.0, totals["ours"]), contestant("other", 9.0, totals["other"])]
    verdict, status, _ = judged(fakes, pair, FASTER)
    assert (verdict.outcome, status) == (bars.WRONG, 1)
    assert "expected 10.0" in verdict.remark


@pytest.mark.parametrize("total", [math.nan, math.inf, None, "10"])
def test_an_odd_answer_is_wrong(fakes: dict[str, peers.Peer], total: Any) -> None:
    pair = [contestant("ours", 1.0, total), contestant("other", 9.0)]
    assert judged(fakes, pair, FASTER)[0].outcome == bars.WRONG


@pytest.mark.parametrize(
    "parameters", [{"dies": True}, {"reply": {"error": "no memory"}}, {"reply": {"odd": 1}}]
)
def test_a_peer_that_gives_no_answer_is_a_failure(
    fakes: dict[str, peers.Peer], parameters: dict[str, Any]
) -> None:
    pair = [contestant("ours", 1.0, parameters=parameters), contestant("other", 3.0)]
    verdict, status, _ = judged(fakes, pair, FASTER)
    assert (verdict.outcome, status) == (bars.WRONG, 1)


def test_the_fastest_of_several_counts_and_a_missing_one_is_named(
    fakes: dict[str, peers.Peer],
) -> None:
    others = [contestant("other a", 8.0), contestant("other b", 4.0)]
    missing = contestant("other c", 1.0, peer="absent")
    verdict, status, _ = judged(fakes, [contestant("ours", 1.0), *others, missing], FASTER)
    assert (verdict.outcome, verdict.value, status) == (bars.PASS, 4.0, 0)
    assert "other b" in verdict.remark
    assert "WITHOUT other c" in verdict.remark


def test_an_unmeasured_bar_never_passes(fakes: dict[str, peers.Peer]) -> None:
    unsupported = {"reply": {"unsupported": "no such thing here"}}
    pair = [contestant("ours", 1.0), contestant("other", 9.0, parameters=unsupported)]
    verdict, status, strict = judged(fakes, pair, FASTER)
    assert (verdict.outcome, status, strict) == (bars.NOT_MEASURED, 0, 1)
    pair = [contestant("ours", 1.0, peer="absent"), contestant("other", 9.0)]
    verdict, status, strict = judged(fakes, pair, FASTER)
    assert (verdict.outcome, status, strict) == (bars.NOT_MEASURED, 0, 1)


def test_only_the_project_itself_has_to_be_there(fakes: dict[str, peers.Peer]) -> None:
    absent = fakes["absent"]
    assert not absent.unbuilt()
    project = replace(absent, ours=True)
    assert project.unbuilt()
    assert not replace(project, build=(("cc",),)).unbuilt(), "set-up builds it"
    assert not replace(project, left_out="left out by --without").unbuilt()
    assert not replace(fakes["fake"], ours=True).unbuilt()


@pytest.mark.parametrize(
    ("kind", "limit", "gate", "seconds", "below"),
    [
        ("speedup", 4.0, 0.5, 0.1, False),  # 10 x
        ("speedup", 4.0, 0.5, 0.4, False),  # 2.5 x: a miss, but above the gate
        ("speedup", 4.0, 0.5, 0.6, True),  # 1.7 x
        ("speedup", 4.0, 0.25, 0.6, False),
        ("slowdown", 1.1, 0.5, 2.0, False),  # 2.0
        ("slowdown", 1.1, 0.5, 2.4, True),
        ("slowdown", 1.1, None, 2.4, False),
    ],
)
def test_only_a_ratio_below_its_share_of_the_bar_is_below_the_gate(
    fakes: dict[str, peers.Peer],
    kind: str,
    limit: float,
    gate: float | None,
    seconds: float,
    below: bool,
) -> None:
    bar = {"kind": kind, "of": "ours", "against": ["other"], "limit": limit, "gate": gate}
    contestants = [contestant("ours", seconds), contestant("other", 1.0)]
    assert bars.below_gate(judged(fakes, contestants, bar)[0]) == below


def test_a_gate_needs_a_ratio_with_a_limit(fakes: dict[str, peers.Peer]) -> None:
    pair = [contestant("ours", 1.0), contestant("other", 1.0)]
    ratio = {"kind": "speedup", "of": "ours", "against": ["other"], "gate": 0.5}
    for bar in (ratio, {"kind": "seconds", "of": "ours", "limit": 1.0, "gate": 0.5}):
        with pytest.raises(BenchError, match="a gate needs a ratio with a limit"):
            judged(fakes, pair, bar)


@pytest.mark.parametrize(("slow_runs", "status"), [(0, 0), (3, 0), (8, 1)])
def test_the_gate_fails_where_a_ratio_is_twice_below_it(
    fakes: dict[str, peers.Peer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    slow_runs: int,
    status: int,
) -> None:
    """A gate measures three rounds after a warm-up, and once more where that was too slow."""
    bar = {"row": "1", "claim": "c", "of": "ours", "against": ["other"], "limit": 4.0, "gate": 0.5}
    pair = [contestant("ours", 1.0), contestant("other", 3.0)]
    document = {"contestant": pair, "bar": [bar | {"kind": "speedup"}], "expected": {"sum": 10.0}}
    (definition,) = definitions.parse(document, "d", "d.toml", "small")
    really, asked = peers.Runner.ask, 0

    def ask(runner: peers.Runner, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        nonlocal asked
        reply = really(runner, request, timeout)
        if reply["seconds"] == 1.0:
            asked += 1
            reply["seconds"] = 2.0 if asked <= slow_runs else 1.0
        return reply

    monkeypatch.setattr(peers.Runner, "ask", ask)
    monkeypatch.setattr(bench_main, "chosen", lambda name, size: [definition])
    monkeypatch.setattr(bench_main.peers, "load", lambda: fakes)
    words = ["--gate", "--only", "d", "--quiet", "--data", str(tmp_path), "--output", str(tmp_path)]
    assert bench_main.run(bench_main.arguments(words)) == status
    assert ("BELOW THE GATE: c: 1.50 x" in capsys.readouterr().out) == bool(status)


def test_different_bits_are_wrong(fakes: dict[str, peers.Peer]) -> None:
    bar = {"kind": "identical", "of": "*", "limit": 0}
    same = [contestant("a", 1.0), contestant("b", 2.0)]
    assert judged(fakes, same, bar)[0].outcome == bars.PASS
    last_bit = contestant("c", 1.0, math.nextafter(10.0, 11.0))
    verdict, status, _ = judged(fakes, [*same, last_bit], bar)
    assert (verdict.outcome, status) == (bars.WRONG, 1)
    assert judged(fakes, same[:1], bar)[0].outcome == bars.NOT_MEASURED


def test_a_ratio_is_the_median_of_the_ratios_round_by_round() -> None:
    document = {
        "contestant": [contestant("ours", 0.0), contestant("other", 0.0)],
        "bar": [{"row": "1", "claim": "a claim", "kind": "slowdown", "of": "ours"}],
    }
    document["bar"][0] |= {"against": ["other"], "limit": 1.05}
    (definition,) = definitions.parse(document, "test", "test.toml")
    results = {c.name: measure.Result(c) for c in definition.contestants}
    # The machine slows down by and by; each pair agrees but for the last.
    results["ours"].samples = [1.0, 2.0, 4.0, 8.0, 32.0]
    results["other"].samples = [1.0, 2.0, 4.0, 8.0, 16.0]
    (verdict,) = bars.judge(definition, results)
    assert (verdict.value, verdict.low, verdict.high) == (1.0, 1.0, 2.0)
    assert "1.00" in report.aligned(report.table([verdict]))


#: Published goals of the project: row to its limits.
PROMISED = {
    "1": [1.05],
    "2": [1.4],
    "3": [2.5, 6.0],
    "4": [1.6, 6.0, 25.0, 1e-12],
    "5": [1.5],
    "6": [8.0],
    "7": [250],
    "8": [0.1],
    "9": [0],
    "10": [1e-12],
    "11": [1.5, 1.1, 2.2, 30.0],
    "12": [1.4, 2.0, 3.0, 5.0],
    "13": [2.0],
    "14": [6.0, 10.0],
    "15": [2.5],
    "16": [0.9],
    "17": [400],
    "18": [0],
    "19": [3.0],
    "20": [2.0, 4.0],
    "21": [5.0],
    "22": [1.11],
    "23": [300],
    "24": [1.0, 0.1],
    "25": [0.95, 1.0, 20.0],
    "26": [0.13, 2.0],
    "27": [2.0],
    "28": [4.0, 3.0],
    "29": [0.0667, 0.125, 0.0714, 0.111],
    "29 (decoding)": [0.95],
    "30": [2.0],
    "31": [2e-5, 3e-6, 0.0002, 0.0005, 0.002, 0.012, 0],
    "32": [1.15, 1.25, 0],
    "33": [1.1],
    "34": [1.8, 0.03, 0.015, 0.09, 0.8, 400, 2.5, 5, 4, 6, 0.01],
    "35": [3.0],
    "41": [1.02, 1.4, 1.5, 1.6, 1.9, 2.3, 2.4, 4, 8, 10],
    "42": [1.4, 1.6, 1.9, 2.3, 2.4, 2.6, 4.0, 0],
    "43": [0.98, 1.05, 1.2, 1.7, 2.0],
    "44": [0, 1.3, 10.0],
    "45": [1.11, 1.18, 3.0],
    "46": [20.0],
    "47": [0.15, 0.25, 0.45, 0.7, 2, 3, 5, 6, 10, 1.11, 2.5],
    "50": [5.0],
    "51": [5.0],
    "52": [5.0],
    "53": [5.0],
    "54": [5.0, 0],
    "55": [5.0],
}


def test_every_promised_row_has_its_bars() -> None:
    found: dict[str, set[float]] = {}
    for definition in definitions.load():
        for bar in definition.bars:
            if bar.limit is not None:
                found.setdefault(bar.row, set()).add(bar.limit)
    assert found == {row: set(limits) for row, limits in PROMISED.items()}


def test_bars_are_in_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "definitions"
    folder.mkdir()
    (folder / "one.toml").write_text('title = "t"\n')
    (tmp_path / "bars.toml").write_text("two = []\n")
    with pytest.raises(BenchError, match="no definition is named 'two'"):
        definitions.load(folder)
    (tmp_path / "bars.toml").write_text("")
    (folder / "one.toml").write_text('title = "t"\n[[bar]]\nrow = "1"\n')
    with pytest.raises(BenchError, match="found a bar; bars are in"):
        definitions.load(folder)


def test_every_definition_names_peers_that_exist() -> None:
    known = peers.load()
    for definition in definitions.load():
        assert {c.peer for c in definition.contestants} <= set(known), definition.name


@pytest.mark.parametrize(
    ("bar", "words"),
    [
        ({"kind": "speed", "of": "ours"}, "invalid kind 'speed': expected one of"),
        ({"kind": "speedup", "of": "ours"}, "needs `against`"),
        ({"kind": "seconds", "of": "unknown"}, "no contestant is named 'unknown'"),
        ({"kind": "seconds", "of": "ours", "limits": 1}, "limits"),
    ],
)
def test_a_bar_that_cannot_be_judged_is_refused(bar: dict[str, Any], words: str) -> None:
    document = {
        "contestant": [contestant("ours", 1.0)],
        "bar": [{"row": "1", "claim": "a claim", **bar}],
    }
    with pytest.raises(BenchError, match=words):
        definitions.parse(document, "test", "test.toml")


def pixels_of(path: Path, recipe: dict[str, Any]) -> np.ndarray:
    """Read the values back as float64, by NumPy alone."""
    where = makers.layout(recipe)
    stored = np.dtype(where["type"]).newbyteorder(">")
    count = math.prod(where["shape"])
    with path.open("rb") as stream:
        stream.seek(where["offset"])
        values = np.fromfile(stream, stored, count=count).astype(np.float64)
    if "blank" in recipe:
        values[values == recipe["blank"]] = np.nan
        values = recipe["zero"] + recipe["scale"] * values
    return values


@pytest.mark.parametrize("name", ["offset-f64", "offset-rounded", "offset-i32", "offset-i16"])
def test_the_exact_answers_are_those_of_rational_arithmetic(tmp_path: Path, name: str) -> None:
    from bench import data

    recipe = data.load(tmp_path, size="small")[name].recipe | {"shape": [3, 31, 37]}
    path = tmp_path / "image.fits"
    answers = makers.MAKERS[recipe["maker"]](path, recipe)
    values = pixels_of(path, recipe)
    good = values[~np.isnan(values)]
    exact = [Fraction(float(value)) for value in good]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    assert (answers["count"], answers["nan"]) == (good.size, values.size - good.size)
    assert answers["sum"] == math.fsum(good)
    assert answers["mean"] == float(mean)
    assert abs(Fraction(answers["std"]) ** 2 / variance - 1) < Fraction(1, 10**15)
    assert (answers["min"], answers["max"]) == (good.min(), good.max())
    if "min_position" in answers:
        shape = tuple(recipe["shape"])
        assert values[np.ravel_multi_index(answers["min_position"], shape)] == good.min()
        assert values[np.ravel_multi_index(answers["max_position"], shape)] == good.max()
    assert path.stat().st_size % 2880 == 0


def test_a_file_is_made_again_when_its_bytes_changed(tmp_path: Path) -> None:
    from bench import data

    recipe = data.load(tmp_path, size="small")["offset-i16"].recipe | {"shape": [3, 31, 37]}
    wanted = data.Input("image", recipe, tmp_path / "image.fits")
    assert not data.is_right(wanted)
    data.ensure(wanted, say=lambda line: None)
    assert data.is_right(wanted)
    original = wanted.path.read_bytes()
    wanted.path.write_bytes(original[:-1] + b"\x01")
    assert not data.is_right(wanted)
    data.ensure(wanted, say=lambda line: None)
    assert wanted.path.read_bytes() == original


def test_a_file_that_was_read_is_warm(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    cache.make_warm(path)
    assert cache.resident_share(path) == 1.0


def test_an_interrupted_run_keeps_its_measurements(
    fakes: dict[str, peers.Peer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = {"contestant": [contestant("ours", 1.0)], "bar": [], "expected": {"sum": 10.0}}
    both = [definitions.parse(pair, name, "test.toml")[0] for name in ("first", "second")]
    really = bench_main.measure_one

    def one(definition: definitions.Definition, *rest: Any) -> Any:
        if definition.name == "second":
            raise KeyboardInterrupt
        return really(definition, *rest)

    monkeypatch.setattr(bench_main, "chosen", lambda name, size: both)
    monkeypatch.setattr(bench_main.peers, "load", lambda: fakes)
    monkeypatch.setattr(bench_main, "measure_one", one)
    words = ["--quiet", "--data", str(tmp_path / "data"), "--output", str(tmp_path / "results")]
    with pytest.raises(KeyboardInterrupt):
        bench_main.run(bench_main.arguments(words))
    written = json.loads((tmp_path / "results" / "results.json").read_text())
    assert [d["definition"] for d in written["definitions"]] == ["first"]


def test_the_worker_answers_and_its_failures_are_errors(tmp_path: Path) -> None:
    from bench import data

    assert "No such file" in data.in_peers_python("outputs", str(tmp_path / "absent"))["error"]
    with pytest.raises(BenchError, match="operations failed:"):
        data.in_peers_python("operations", "no such operation", [], "")
    assert "No such file" in data.in_peers_python("outputs", str(tmp_path / "absent"))["error"]


@pytest.mark.parametrize(("size", "starts"), [("full", 4), ("laptop", 2), ("small", 1)])
def test_smaller_runs_start_fewer_processes(
    fakes: dict[str, peers.Peer], monkeypatch: pytest.MonkeyPatch, size: str, starts: int
) -> None:
    started = 0
    really = peers.Runner.__init__

    def start(runner: peers.Runner, *arguments: Any) -> None:
        nonlocal started
        started += 1
        really(runner, *arguments)

    monkeypatch.setattr(peers.Runner, "__init__", start)
    pair = {"contestant": [contestant("a", 1.0), contestant("b", 1.0)]}
    sessions = bench_main.Sessions(fakes)
    source = measure.Source(None, {"sum": 10.0})
    for name in ("one", "two"):
        (definition,) = definitions.parse(pair, name, "test.toml", size)
        results = measure.run(
            definition,
            fakes,
            source,
            repeat=1,
            all_threads=1,
            session=sessions.of(definition),
        )
        assert all(result.measured for result in results.values())
    sessions.close()
    assert started == starts


def test_a_contestant_whose_memory_is_judged_shares_no_process(
    fakes: dict[str, peers.Peer],
) -> None:
    pair = {
        "contestant": [contestant("a", 1.0), contestant("b", 1.0)],
        "bar": [{"row": "1", "claim": "memory", "kind": "peak_rss_mb", "of": "a", "limit": 1}],
    }
    sessions = bench_main.Sessions(fakes)
    (small,) = definitions.parse(pair, "one", "test.toml", "small")
    assert [c.alone for c in small.contestants] == [False, False], "only answers count"
    (definition,) = definitions.parse(pair, "one", "test.toml", "laptop")
    assert [c.alone for c in definition.contestants] == [True, False]
    session = sessions.of(definition)
    assert session is not None
    both = {session._key(c) for c in definition.contestants}
    assert len(both) == 2
    source = measure.Source(None, {"sum": 10.0})
    measure.run(definition, fakes, source, repeat=1, all_threads=1, session=session)
    assert len(session._runners) == 1, "its process ended with the definition"
    sessions.close()


def test_a_full_run_is_scaled_to_the_disk_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench import data

    known = {d.name: d for d in definitions.load() if d.name.startswith(("37-", "09-"))}
    inputs = data.load(tmp_path, size="full")
    monkeypatch.setattr(bench_main.host, "memory", lambda key: 64.0)
    said: list[str] = []

    def taken(name: str, free: float) -> definitions.Definition:
        usage = type("usage", (), {"free": free * 1e9})
        monkeypatch.setattr(data.shutil, "disk_usage", lambda path: usage)
        definition, own = bench_main.scaled(known[name], inputs, {}, tmp_path, said.append)
        assert own[definition.inputs[0]].path.stem.endswith("-laptop") == (
            definition.size == "laptop"
        )
        return definition

    assert (taken("37-on-ahead/1", 8.0).size, said) == ("full", [])
    assert taken("37-on-ahead/1", 7.0).size == "laptop"
    assert "needs 3.4 GB of disk and 4.3 GB to spare, 7.0 GB are free" in said[0]
    assert taken("09-same-bits/bits-f32", 1.0).size == "full", "no laptop has it"
    options = bench_main.arguments(["--full"])
    wanted = known["09-same-bits/bits-f32"]
    found, _ = bench_main.measure_one(wanted, peers.load(), inputs, options, None, said.append)
    assert {result.missing for result in found.values()} == {
        "needs 0.04 GB of disk and 4.3 GB to spare, 1.0 GB are free"
    }


def test_memory_is_held_between_runs_and_the_page_cache_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = 2 * memory.SPARE
    monkeypatch.setattr(memory.host, "memory", lambda key: free / 1e9)
    reserve = memory.Reserve()
    reserve.take()
    assert reserve.held == 0
    reserve.want(80 << 20)
    assert reserve.held == (100 << 20) + memory.BESIDES
    reserve.want(88 << 20)
    assert reserve.held == (110 << 20) + memory.BESIDES, "what is missing is taken besides"
    reserve.want(0)
    reserve.release()
    assert reserve.held == 0
    free = memory.SPARE + (5 << 20)
    reserve.take()
    assert reserve.held == 4 << 20, "no more than is free, in whole huge pages"
    reserve.release()


@pytest.fixture
def cube(tmp_path: Path) -> str:
    path = tmp_path / "cube.fits"
    tf.write(path, np.random.default_rng(8).normal(1, 2, (6, 12, 14)).astype("f4"))
    return str(path)


def test_a_file_is_measured_and_its_bits_are_compared(
    cube: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert one_file.main([cube, "--repeat", "2", "--threads", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {row["experiment"] for row in answer["rows"]} == set(one_file.EXPERIMENTS)
    assert {row["threads"] for row in answer["rows"]} == {1, 2}
    assert all(len(row["seconds"]) == 2 for row in answer["rows"])
    assert one_file.main([cube, "--repeat", "1", "--only", "sum", "--hdu", "0", "--reopen"]) == 0
    assert "GB/s" in capsys.readouterr().out


def test_measuring_a_file_fails_when_the_bits_differ(
    cube: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(one_file.EXPERIMENTS, "sum", lambda image, threads: threads)
    with pytest.raises(BenchError, match="depends on the number of threads"):
        one_file.main([cube, "--only", "sum", "--threads", "2"])


def test_a_checkout_is_measured_beside_another_one() -> None:
    names = [("ours", "tachyfits"), ("new", "tachyfits"), ("other", "astropy")]
    document = {
        "contestant": [{"name": name, "peer": peer, "model": "sum"} for name, peer in names],
        "bar": [{"row": "1", "claim": "c"} | FASTER],
    }
    (definition,) = definitions.parse(document, "d", "d.toml")
    pairs = before.doubled(definition)
    assert pairs.bars == ()
    found = [(contestant.name, contestant.peer) for contestant in pairs.contestants]
    assert found == [
        ("ours", "tachyfits"),
        ("before: ours", "before: tachyfits"),
        ("new", "tachyfits"),
        ("before: new", "before: tachyfits"),
    ]
    results = {c.name: measure.Result(c) for c in pairs.contestants}
    results["ours"].samples = [0.003, 0.001, 0.002]
    results["before: ours"].samples = [0.004]
    results["new"].samples = [0.001]
    results["before: new"].missing = "no model 'sum'"
    assert before.rows(pairs, results) == [(0.5, ["d", "ours", "4", "2", "0.50"])]
    orders = []

    def measured(one: definitions.Definition) -> dict[str, measure.Result]:
        orders.append([contestant.name for contestant in one.contestants])
        made = {contestant.name: measure.Result(contestant) for contestant in one.contestants}
        made["ours"].samples = [float(len(orders))]
        return made

    assert before.both_ways(pairs, measured)["ours"].samples == [1.0, 2.0]
    assert orders[0] == [contestant.name for contestant in pairs.contestants]
    assert orders[1] == ["before: ours", "ours", "before: new", "new"]


def test_a_checkout_that_is_not_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["before", str(tmp_path)])
    assert before.main() == 2
    assert "expected a checkout that is built" in capsys.readouterr().err
