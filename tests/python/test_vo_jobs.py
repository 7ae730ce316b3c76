"""Jobs by UWS: phases, results, and the truth after a server was killed."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vocube
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings
from tachyfits.server.vo.jobs import Jobs
from tachyfits.server.vo.store import StoreFailure
from voserver import Server, serving

pytestmark = pytest.mark.once

UWS = "{http://www.ivoa.net/xml/UWS/v1.0}"
DATASET = "cube.fits"
#: Parameters of a job with 200 results, which takes some seconds.
LONG = {
    "ID": DATASET,
    "CIRCLE": [f"{83.5 + n / 100:.3f} 22.01 0.1" for n in range(40)],
    "BAND": [f"{0.2 + n / 1000:.4f} 0.22" for n in range(5)],
}


@contextlib.contextmanager
def app(folder: Path, **options: Any) -> Iterator[TestClient]:
    path = folder / DATASET
    if not path.exists():
        vocube.write(path)
    chosen = Settings(paths=(path,), cache_folder=folder / "cache", **options)
    with TestClient(create_app(chosen)) as client:
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with app(tmp_path_factory.mktemp("jobs")) as client:
        yield client


def create(client: Any, given: dict[str, Any], url: str = "/vo/async") -> str:
    answer = client.post(url, data=given, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def phase(client: Any, job: str) -> str:
    return str(client.get(f"{job}/phase").text)


def wait(client: Any, job: str, phase: str) -> ElementTree.Element:
    """Return the document of a job that has left a phase."""
    for _ in range(20):
        document = ElementTree.fromstring(
            client.get(job, params={"WAIT": "10", "PHASE": phase}).content
        )
        if document.findtext(f"{UWS}phase") != phase:
            return document
    raise AssertionError(f"the job stays {phase}")


def ended(client: Any, job: str) -> ElementTree.Element:
    for known in ("QUEUED", "EXECUTING"):
        document = wait(client, job, known)
    return document


def run(client: Any, job: str) -> ElementTree.Element:
    answer = client.post(f"{job}/phase", data={"PHASE": "RUN"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, job)
    return ended(client, job)


def links(document: ElementTree.Element) -> list[str]:
    href = "{http://www.w3.org/1999/xlink}href"
    return [str(result.get(href)) for result in document.iter(f"{UWS}result")]


def kill_while_a_job_runs(client: httpx.Client, server: Server) -> list[str]:
    """Kill a server while one of six jobs runs; return all of them."""
    url = f"{server.url}/vo/async"
    jobs = [create(client, {**LONG, "PHASE": "RUN"}, url) for _ in range(6)]
    wait(client, jobs[0], "QUEUED")
    server.kill()
    return jobs


def test_each_combination_is_one_result_with_the_bytes_of_a_synchronous_cutout(
    client: TestClient,
) -> None:
    shapes, bands = ["83.6 22.0 0.05", "10 10 1"], ["0.2 0.2111", "0.2111 0.22"]
    job = create(client, {"ID": DATASET, "CIRCLE": shapes, "BAND": bands, "POL": ["I", "Q"]})
    assert phase(client, job) == "PENDING"
    document = run(client, job)
    assert document.get("version") == "1.1"
    assert document.findtext(f"{UWS}phase") == "COMPLETED"
    found = [client.get(link) for link in links(document)]
    assert len(found) == 4
    asked = [(shape, band) for shape in shapes for band in bands]
    for answer, (shape, band), result in zip(
        found, asked, document.iter(f"{UWS}result"), strict=True
    ):
        parameters = {"ID": DATASET, "CIRCLE": shape, "BAND": band, "POL": ["I", "Q"]}
        same = client.get("/vo/sync", params=parameters)
        assert answer.status_code == 200
        assert int(str(result.get("size"))) == len(answer.content)
        if same.status_code == 204:
            assert answer.headers["content-type"].startswith("text/plain")
            assert answer.text.startswith("UsageError: ")
        else:
            assert answer.headers["content-type"] == "application/fits"
            assert answer.content == same.content


def test_parameters_are_added_while_a_job_is_pending(client: TestClient) -> None:
    job = create(client, {"ID": DATASET, "RUNID": "mine"})
    answer = client.post(
        f"{job}/parameters", data={"circle": "83.6 22.0 0.05"}, follow_redirects=False
    )
    assert answer.status_code == 303
    listed = ElementTree.fromstring(client.get(f"{job}/parameters").content)
    assert [(one.get("id"), one.text) for one in listed] == [
        ("ID", DATASET), ("RUNID", "mine"), ("CIRCLE", "83.6 22.0 0.05"),
    ]  # fmt: skip
    long = client.post(f"{job}/parameters", data={"RUNID": "x" * 65}, follow_redirects=False)
    assert (long.status_code, long.text[:27]) == (400, "UsageError: RUNID of 65 cha")
    document = run(client, job)
    assert document.findtext(f"{UWS}runId") == "mine"
    assert document.findtext(f"{UWS}phase") == "COMPLETED"
    late = client.post(f"{job}/parameters", data={"POL": "I"}, follow_redirects=False)
    assert late.status_code == 403
    assert client.post(job, data={"POL": "I"}, follow_redirects=False).status_code == 400


def test_failed_job_says_why(client: TestClient) -> None:
    for asked, message in (
        ({"ID": "nothing"}, "UsageError: unknown ID 'nothing'"),
        ({"ID": DATASET, "CIRCLE": "x"}, "UsageError: invalid position"),
        ({}, "UsageError: ID is missing"),
        ({"ID": DATASET, "CIRCLE": ["1 1 1"] * 201}, "UsageError: 201 combinations"),
    ):
        job = create(client, {**asked, "PHASE": "RUN"})
        document = ended(client, job)
        assert document.findtext(f"{UWS}phase") == "ERROR"
        assert document.findtext(f"{UWS}errorSummary/{UWS}message").startswith(message)
        error = client.get(f"{job}/error")
        assert error.status_code == 200
        assert error.text.startswith(message)
        again = client.post(f"{job}/phase", data={"PHASE": "RUN"}, follow_redirects=False)
        assert (again.status_code, again.text[:11]) == (403, "UsageError:")


def test_unknown_dataset_among_others_is_an_entry(client: TestClient) -> None:
    job = create(client, {"ID": [DATASET, "nothing"], "CIRCLE": "83.6 22.0 0.05", "PHASE": "RUN"})
    document = ended(client, job)
    assert document.findtext(f"{UWS}phase") == "COMPLETED"
    kinds = [result.get("mime-type") for result in document.iter(f"{UWS}result")]
    assert kinds == ["application/fits", "text/plain"]
    assert client.get(links(document)[1]).text.startswith("UsageError: unknown ID")


def test_job_that_runs_can_be_aborted_and_deleted(tmp_path: Path) -> None:
    with app(tmp_path) as client:
        job = create(client, {**LONG, "PHASE": "RUN"})
        wait(client, job, "QUEUED")
        client.post(f"{job}/phase", data={"PHASE": "ABORT"})
        assert phase(client, job) == "ABORTED"
        gone = create(client, {**LONG, "PHASE": "RUN"})
        wait(client, gone, "QUEUED")
        answer = client.delete(gone, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"][-9:]) == (303, "/vo/async")
        assert client.get(gone).status_code == 404
        after = ended(client, create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"}))
        assert after.findtext(f"{UWS}phase") == "COMPLETED"
        assert phase(client, job) == "ABORTED"
        assert not (tmp_path / "cache" / "jobs" / gone.rpartition("/")[2]).exists()
        pending = create(client, {"ID": DATASET})
        client.post(pending, data={"ACTION": "DELETE"})
        assert client.get(pending).status_code == 404


def test_job_has_limited_time(tmp_path: Path) -> None:
    with app(tmp_path, job_seconds=0.2) as client:
        job = create(client, {**LONG, "PHASE": "RUN"})
        document = ended(client, job)
        assert document.findtext(f"{UWS}phase") == "ABORTED"
        assert "longer than its duration" in client.get(f"{job}/error").text


def test_times_are_within_the_limits_of_the_server(client: TestClient) -> None:
    job = create(client, {"ID": DATASET})
    assert client.get(f"{job}/executionduration").text == "3600"
    for asked, found in (("10", "10"), ("0", "3600"), ("99999", "3600")):
        client.post(f"{job}/executionduration", data={"EXECUTIONDURATION": asked})
        assert client.get(f"{job}/executionduration").text == found
    before = client.get(f"{job}/destruction").text
    assert before.endswith("Z")
    client.post(f"{job}/destruction", data={"DESTRUCTION": "2999-01-01T00:00:00Z"})
    assert client.get(f"{job}/destruction").text[:10] == before[:10]
    for part, posted in (
        ("executionduration", {"EXECUTIONDURATION": "-1"}), ("destruction", {"DESTRUCTION": "x"}),
        ("phase", {"PHASE": "STOP"}), ("phase", {}), ("destruction", {}),
    ):  # fmt: skip
        answer = client.post(f"{job}/{part}", data=posted, follow_redirects=False)
        assert (answer.status_code, answer.text[:11]) == (400, "UsageError:")
    for part in ("quote", "owner", "error"):
        assert (client.get(f"{job}/{part}").status_code, client.get(f"{job}/{part}").text) == (
            200,
            "",
        )
    assert client.get(f"{job}/nothing").status_code == 404
    assert client.get(f"{job}/results/cutout-1").status_code == 404


def test_job_is_removed_when_its_time_is_over(tmp_path: Path) -> None:
    with app(tmp_path) as client:
        job = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"})
        ended(client, job)
        folder = tmp_path / "cache" / "jobs" / job.rpartition("/")[2]
        assert folder.is_dir()
        client.post(f"{job}/destruction", data={"DESTRUCTION": "2020-01-01T00:00:00Z"})
        client.app.state.tachyfits.runner.sweep()
        assert client.get(job).status_code == 404
        assert not folder.exists()


def test_list_is_filtered(tmp_path: Path) -> None:
    with app(tmp_path) as client:
        jobs = [create(client, {"ID": DATASET, "POL": "I"}) for _ in range(4)]
        run(client, jobs[0])
        middle = ElementTree.fromstring(client.get(jobs[1]).content)
        after = middle.findtext(f"{UWS}creationTime")

        def listed(**asked: Any) -> list[str]:
            answer = client.get("/vo/async", params=asked)
            assert answer.status_code == 200
            root = ElementTree.fromstring(answer.content)
            assert root.get("version") == "1.1"
            return [str(ref.get("id")) for ref in root]

        ids = [job.rpartition("/")[2] for job in jobs]
        assert listed() == ids
        assert listed(PHASE="COMPLETED") == ids[:1]
        assert listed(PHASE=["COMPLETED", "PENDING"]) == ids
        assert listed(phase="PENDING", last="2") == ids[2:]
        assert set(ids[2:]) <= set(listed(AFTER=after)) <= set(ids[1:])
        for asked in ({"PHASE": "x"}, {"LAST": "-1"}, {"AFTER": "x"}):
            assert client.get("/vo/async", params=asked).status_code == 400


def test_wait_returns_at_once_where_nothing_can_change(client: TestClient) -> None:
    job = create(client, {"ID": DATASET, "POL": "I"})
    began = time.monotonic()
    client.get(job, params={"WAIT": "50", "PHASE": "QUEUED"})
    assert time.monotonic() - began < 40
    run(client, job)
    began = time.monotonic()
    client.get(job, params={"WAIT": "-1"})
    assert time.monotonic() - began < 40
    pending = create(client, {"ID": DATASET})
    began = time.monotonic()
    client.get(pending, params={"WAIT": "1"})
    assert time.monotonic() - began >= 1
    assert client.get(pending, params={"WAIT": "x"}).status_code == 400


def test_processes_that_share_a_folder_run_each_job_once(tmp_path: Path) -> None:
    with app(tmp_path) as one:
        one.get("/vo/async")  # makes the database
    with app(tmp_path) as one, app(tmp_path) as other:
        given = {"ID": DATASET, "CIRCLE": LONG["CIRCLE"][:4], "PHASE": "RUN"}
        store = one.app.state.tachyfits.runner.jobs
        workers: set[str] = set()
        end = time.monotonic() + 60
        # One of both may be so fast that nothing is left for the other.
        while len(workers) < 2 and time.monotonic() < end:
            jobs = [create(one, given) for _ in range(24)]
            other.app.state.tachyfits.runner.wake()
            for job in jobs:
                document = ended(other, job)
                assert document.findtext(f"{UWS}phase") == "COMPLETED"
                assert len(links(document)) == 4
            workers |= {store.find(job.rpartition("/")[2], None).worker for job in jobs}
        assert len(workers) == 2


def test_job_goes_on_after_an_orderly_restart(tmp_path: Path) -> None:
    with app(tmp_path) as client:
        job = create(client, {**LONG, "PHASE": "RUN"})
        wait(client, job, "QUEUED")
    with app(tmp_path) as client:
        document = ended(client, job)
        assert document.findtext(f"{UWS}phase") == "COMPLETED"
        assert len(links(document)) == 200


def test_job_of_a_killed_server_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = vocube.write(tmp_path / DATASET)
    server = Server(tmp_path, path)
    try:
        with httpx.Client() as client:
            url = f"{server.url}/vo/async"
            done = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"}, url)
            assert ended(client, done).findtext(f"{UWS}phase") == "COMPLETED"
            jobs = kill_while_a_job_runs(client, server)
    finally:
        server.stop()
    with serving(tmp_path, path) as again, httpx.Client(timeout=60) as client:
        done, *jobs = (f"{again.url}/vo/async/{one.rpartition('/')[2]}" for one in (done, *jobs))
        failed = [job for job in jobs if phase(client, job) == "ERROR"]
        assert failed
        message = wait(client, failed[0], "EXECUTING").findtext(f"{UWS}errorSummary/{UWS}message")
        assert message == "Error: the server was stopped while the job ran; submit it again"
        for job in jobs:
            assert job in failed or ended(client, job).findtext(f"{UWS}phase") == "COMPLETED"
        assert client.get(links(ended(client, done))[0]).status_code == 200


def test_folder_that_cannot_be_written_is_an_error_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jobs").write_text("not a folder")
    with app(tmp_path) as client:
        job = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"})
        document = ended(client, job)
        assert document.findtext(f"{UWS}phase") == "ERROR"
        assert client.get(f"{job}/error").text.startswith("ServiceUnavailable: results cannot")


def test_job_of_a_killed_process_is_an_error_at_once_for_the_others(tmp_path: Path) -> None:
    path = vocube.write(tmp_path / DATASET)
    chosen = Settings(paths=(path,), cache_folder=tmp_path / "tachyfits")
    with TestClient(create_app(chosen)) as other, httpx.Client(timeout=60) as client:
        other.app.state.tachyfits.runner.close()  # it answers, and runs no job itself
        server = Server(tmp_path, path)
        try:
            jobs = kill_while_a_job_runs(client, server)
        finally:
            server.stop()
        here = [f"/vo/async/{job.rpartition('/')[2]}" for job in jobs]
        failed = [job for job in here if phase(other, job) == "ERROR"]
        assert failed
        assert "was stopped while the job ran" in other.get(f"{failed[0]}/error").text


def test_result_without_space_is_an_error_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    with app(tmp_path) as client:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=300 << 10))
        job = create(client, {**LONG, "PHASE": "RUN"})
        assert ended(client, job).findtext(f"{UWS}phase") == "ERROR"
        assert client.get(f"{job}/error").text.startswith("ServiceUnavailable: no space")
        assert not (tmp_path / "cache" / "jobs" / job.rpartition("/")[2]).exists()


def test_job_whose_end_cannot_be_recorded_does_not_run_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = Jobs.end, []

    def end(self: Jobs, job: str, *rest: Any) -> bool:
        if not failures:
            failures.append(job)
            raise StoreFailure("the disk is full")
        return real(self, job, *rest)

    monkeypatch.setattr(Jobs, "end", end)
    with app(tmp_path) as client:
        job = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"})
        document = ended(client, job)
        assert document.findtext(f"{UWS}phase") == "ERROR"
        assert "could not be recorded" in client.get(f"{job}/error").text
        after = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"})
        assert ended(client, after).findtext(f"{UWS}phase") == "COMPLETED"


def test_folder_that_was_emptied_is_made_again(tmp_path: Path) -> None:
    with app(tmp_path) as client:
        job = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"})
        ended(client, job)
        shutil.rmtree(tmp_path / "cache")
        assert client.get(job).status_code == 404
        again = create(client, {"ID": DATASET, "POL": "I", "PHASE": "RUN"})
        assert ended(client, again).findtext(f"{UWS}phase") == "COMPLETED"


def test_values_that_xml_cannot_hold_are_replaced(client: TestClient) -> None:
    job = create(client, {"ID": "a\x00<&>\x1b\ufffe'\"]]>"})
    listed = ElementTree.fromstring(client.get(job).content)
    assert listed.findtext(f"{UWS}parameters/{UWS}parameter") == "a\ufffd<&>\ufffd\ufffd'\"]]>"


PARTS = st.sampled_from(
    ["", "/phase", "/parameters", "/destruction", "/executionduration", "/error", "/results",
     "/quote", "/owner", "/x"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["PHASE", "WAIT", "ACTION", "DESTRUCTION", "EXECUTIONDURATION", "ID", "RUNID", "AFTER", "LAST"]
)
VALUES = st.one_of(
    st.text(max_size=20), st.sampled_from(["-1", "1e9", "0", "ABORT", "HELD", "inf"])
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=PARTS, given_=st.dictionaries(NAMES, VALUES, max_size=3), get=st.booleans())
def test_garbage_is_answered_with_a_label(
    client: TestClient, part: str, given_: dict[str, str], get: bool
) -> None:
    job = create(client, {"ID": DATASET}) + part
    if get and "WAIT" in given_:
        given_ = {**given_, "PHASE": "QUEUED"}  # does not wait
    if get:
        answer = client.get(job, params=given_, follow_redirects=False)
    else:
        answer = client.post(job, data=given_, follow_redirects=False)
    if answer.status_code == 405:
        assert part in ("/error", "/results", "/quote", "/owner")
    elif answer.status_code >= 400:
        assert answer.status_code < 500
        assert answer.text.startswith(("UsageError: ", "MultiValuedParamNotSupported: "))
