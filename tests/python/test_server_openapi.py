"""The description of the HTTP interface: its file is current, and the server keeps to it."""

from __future__ import annotations

import importlib.util
import os
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from realfiles import path_of
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings
from voserver import serving

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CUBE = path_of("data/cubes/ngc6946.fits")

#: Requests of each kind: a few here; TACHYFITS_SCHEMA_EXAMPLES=500 takes an hour.
EXAMPLES = int(os.environ.get("TACHYFITS_SCHEMA_EXAMPLES", "4"))

schema = schemathesis.openapi.from_dict(create_app(Settings(paths=())).openapi())
if EXAMPLES < 100:
    schema.config.phases.update(phases=["fuzzing"])


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("openapi", ROOT / "tools" / "openapi.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_description_is_current() -> None:
    found = tool()
    assert found.FILE.read_text(encoding="utf-8") == found.description(), "python tools/openapi.py"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("cache"), CUBE) as server:
        yield server.url


# Events are followed in a test of their own: they wait for a request of that name to begin.
@schema.exclude(path_regex="/events$").parametrize()
@hypothesis.settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)  # fmt: skip
def test_server_keeps_to_its_description(case: schemathesis.Case, url: str) -> None:
    # Half of the requests are about an existing image, by a property of their values.
    if isinstance(case.query, dict) and len(str(case.query)) % 2:
        case.query["id"] = CUBE.name
    try:
        response = case.call(base_url=url)
    except requests.exceptions.RequestException:
        # uvicorn closes the connection at an address of more than 65 535 bytes.
        assert len(urllib.parse.urlencode(case.query or {}, doseq=True)) > 60_000
        return
    if response.content == b"Invalid HTTP request received.":
        # uvicorn's answer to an address of more than 65 535 bytes.
        assert response.status_code == 400
        return
    case.validate_response(
        response,
        checks=[
            not_a_server_error,
            content_type_conformance,
            response_schema_conformance,
            status_code_conformance,
        ],
    )
    assert b"Traceback" not in response.content
    assert str(CUBE.parent).encode() not in response.content
