"""Settings of all tests, and a loud word where real files are missing."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from realfiles import SHARED

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

settings.register_profile("tachyfits", deadline=None, max_examples=60)
settings.load_profile("tachyfits")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that a forced tier cannot change; the run without one has them all."""
    if os.environ.get("TACHYFITS_TIER") and not os.environ.get("TACHYFITS_TEST_ALL"):
        kept = [item for item in items if item.get_closest_marker("once") is None]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_files") and not SHARED.is_dir():
        pytest.skip(f"no real files: {SHARED} is missing (set TACHYFITS_SHARED)")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    _tell_of_libraries(terminalreporter)
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "no real files" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.section("LARGE REAL FILES WERE NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"{len(skipped)} tests were left out because there is no folder {SHARED}.\n"
            "Only files of tests/data were tested; set TACHYFITS_SHARED to a folder for more."
        )


def _tell_of_libraries(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which libraries nothing was compared with: they are not installed with the others."""
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and "LEFT OUT" in report.longrepr[2]
    }
    if reasons:
        terminalreporter.section("COMPARISONS WERE LEFT OUT", sep="!", red=True, bold=True)
        for reason in sorted(reasons):
            terminalreporter.line(f"{reason}: install it to compare with it")


@pytest.fixture(scope="session", autouse=True)
def _index_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep headers of remote files out of the folder of the user, also those of child processes."""
    os.environ["TACHYFITS_INDEX_CACHE"] = str(tmp_path_factory.mktemp("index"))


@pytest.fixture(autouse=True)
def _quiet_warnings() -> object:
    """Damaged and odd files are the point here; tests of the warnings ask for them."""
    import tachyfits as tf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tf.TachyfitsWarning)
        yield


@pytest.fixture(scope="session")
def capi_prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library for C, C++ and Fortran, installed in a folder of its own."""
    from nativeprograms import install

    return install(tmp_path_factory.mktemp("capi"))


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client of a server of the folder of `servedcube`."""
    from fastapi.testclient import TestClient

    from servedcube import CUBE
    from tachyfits.server.app import create_app
    from tachyfits.server.settings import Settings

    with TestClient(create_app(Settings(paths=(CUBE.parent,)))) as found:
        yield found


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a store that speaks S3, by moto, on the loopback address."""
    from moto.server import ThreadedMotoServer

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty bucket "survey", which the environment has the credentials of."""
    import boto3

    for name, value in {
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret-word",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    store = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1")
    survey = store.create_bucket(Bucket="survey")
    yield survey
    survey.objects.all().delete()
    survey.delete()
