"""The protocols as their clients and validators see them: pyvo, vo-models and STILTS.

A server runs in a process of its own. STILTS (`apt-get install stilts`) has the schemas of the
documents; each of its calls starts a Java machine, so one call checks several documents.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import astropy.units as u
import httpx
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
import vocube
from realfiles import path_of
from voserver import serving

pyvo = pytest.importorskip("pyvo", reason="LEFT OUT: pyvo is not installed")

from pyvo.dal.adhoc import DatalinkResults, SodaQuery  # noqa: E402
from pyvo.dal.exceptions import DALServiceError  # noqa: E402
from pyvo.dal.sia2 import SIA2Service  # noqa: E402
from pyvo.dal.tap import AsyncTAPJob  # noqa: E402

pytestmark = pytest.mark.once

DATASET = "cube.fits"
IVOID = f"ivo://tachyfits/files?{DATASET}"
CIRCLE = (83.63, 22.01, 0.05)
BAND = (0.2111, 0.2112)

stilts = pytest.mark.skipif(
    shutil.which("stilts") is None, reason="LEFT OUT: STILTS is not installed (the package stilts)"
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("clients")
    cubes = path_of("data/cubes/ngc6946.fits").parent
    with serving(folder, vocube.write(folder / DATASET), cubes) as server:
        yield f"{server.url}/vo"


@pytest.fixture(scope="module")
def expected(base: str) -> bytes:
    parameters = {"ID": DATASET, "CIRCLE": "83.63 22.01 0.05", "BAND": "0.2111 0.2112"}
    content = httpx.get(f"{base}/sync", params=parameters, timeout=60).content
    assert 1 < len(np.asarray(fits.getdata(io.BytesIO(content)))[0]) < vocube.SHAPE[1]
    return content


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(fits.getdata(io.BytesIO(content)))


# pyvo.


def test_links_lead_to_the_file_and_to_cutouts(base: str, expected: bytes) -> None:
    links = DatalinkResults.from_result_url(f"{base}/links?ID={IVOID}")
    assert [row["semantics"] for row in links] == [
        "#this", "#preview", "#cutout", "#cutout",
    ]  # fmt: skip
    this = next(links.bysemantics("#this", include_narrower=False))
    assert this.content_type == "application/fits"
    picture = next(links.bysemantics("#preview", include_narrower=False))
    assert httpx.get(picture.access_url, timeout=60).content[:4] == b"\x89PNG"
    content = httpx.get(this.access_url).content
    assert len(content) == this.content_length
    np.testing.assert_array_equal(pixels(content), vocube.pixels())
    cut = links[0].processed(circle=CIRCLE * u.deg, band=BAND * u.m).read()
    np.testing.assert_array_equal(pixels(cut), pixels(expected))


def test_descriptor_has_the_values_of_the_dataset(base: str) -> None:
    links = DatalinkResults.from_result_url(f"{base}/links?ID={DATASET}")
    inputs = {param.name: param for param in links.get_first_proc().input_params}
    assert inputs["ID"].value == DATASET
    low, high = (float(inputs["BAND"].values.min), float(inputs["BAND"].values.max))
    assert (inputs["BAND"].unit, inputs["BAND"].ucd) == ("m", "em.wl;stat.interval")
    assert 0.2108 < low < high < 0.2115
    assert [option[1] for option in inputs["POL"].values.options] == ["I", "Q", "U"]
    longitude, latitude, radius = inputs["CIRCLE"].values.max
    assert abs(longitude - vocube.RA) < 0.01
    assert abs(latitude - vocube.DEC) < 0.01
    assert 0.23 < radius < 0.24
    # The values themselves are a request for everything.
    everything = links.get_first_proc().process(
        circle=(longitude, latitude, radius), band=(low, high)
    )
    np.testing.assert_array_equal(pixels(everything.read()), vocube.pixels())


def test_cutouts_by_each_shape(base: str) -> None:
    links = DatalinkResults.from_result_url(f"{base}/links?ID={IVOID}")
    row = links[0]
    assert pixels(row.processed(range=(83.6, 83.66, 22.0, 22.05) * u.deg).read()).ndim == 4
    triangle = (83.6, 22.0, 83.66, 22.0, 83.63, 22.05)
    assert pixels(row.processed(polygon=triangle * u.deg).read()).ndim == 4
    # pyvo refuses polygons of four vertices where a descriptor has the xtype of DALI, which it must
    # have: it wants multiples of three numbers. A query of its own takes them.
    query = SodaQuery(f"{base}/sync", polygon=(*triangle, 83.6, 22.03) * u.deg)
    query["ID"] = DATASET
    content = query.execute_stream().read()
    query.raise_if_error()
    assert pixels(content).ndim == 4


def test_polarisations_are_one_filter(base: str) -> None:
    row = DatalinkResults.from_result_url(f"{base}/links?ID={IVOID}").get_first_proc()
    content = row.process(pol=["I", "U"]).read()
    np.testing.assert_array_equal(pixels(content), vocube.pixels()[::2])


def test_query_converts_frequencies(base: str) -> None:
    query = SodaQuery(f"{base}/sync", band=(1.4199, 1.4201) * u.GHz)
    query["ID"] = DATASET
    assert pixels(query.execute_stream().read()).shape[1] == 3


def test_client_sees_the_error_and_the_empty_answer(base: str) -> None:
    row = DatalinkResults.from_result_url(f"{base}/links?ID={IVOID}")[0]
    assert row.processed(circle=(10, 10, 1) * u.deg).read() == b""
    query = SodaQuery(f"{base}/sync", circle=(10, 10, 1) * u.deg)
    query["ID"] = "nothing"
    query.execute_stream()
    with pytest.raises(DALServiceError, match="UsageError: unknown ID"):
        query.raise_if_error()


def test_job_is_run_by_a_client_of_uws(base: str, expected: bytes) -> None:
    given = {"ID": [IVOID], "CIRCLE": "83.63 22.01 0.05", "BAND": "0.2111 0.2112"}
    created = httpx.post(f"{base}/async", data=given)
    job = AsyncTAPJob(created.headers["Location"], delete=False)
    assert job.phase == "PENDING"
    job.run().wait(timeout=60)
    assert job.phase == "COMPLETED"
    (link,) = job.result_uris
    np.testing.assert_array_equal(pixels(httpx.get(link).content), pixels(expected))
    job.delete()
    assert httpx.get(created.headers["Location"]).status_code == 404
    failing = AsyncTAPJob(
        httpx.post(f"{base}/async", data={"ID": "nothing"}).headers["Location"], delete=False
    )
    failing.run().wait(timeout=60)
    with pytest.raises(Exception, match="UsageError: unknown ID"):
        failing.raise_if_error()


def test_datasets_are_discovered_and_cut(base: str) -> None:
    service = SIA2Service(f"{base}")
    found = service.search(
        pos=(83.63 * u.deg, 22.01 * u.deg, 0.1 * u.deg), band=(0.2 * u.m, 0.22 * u.m)
    )
    assert [record.obs_publisher_did for record in found] == [IVOID]
    record = found[0]
    assert record.access_format == "application/x-votable+xml;content=datalink"
    links = record.getdatalink()
    assert links[0].semantics == "#this"
    cut = record.processed(circle=CIRCLE * u.deg, band=BAND * u.m).read()
    with tf.open(cut) as file:
        assert file[0].shape[-1] < vocube.SHAPE[-1]
    assert len(service.search(pos=(83.63 * u.deg, -22.01 * u.deg, 0.1 * u.deg))) == 0


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "virtual-observatory.md"
PROGRAMS = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs_of_the_guide_run(
    base: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "http://127.0.0.1:8080/vo" in program
    exec(program.replace("http://127.0.0.1:8080/vo", base), {})


# Models and schemas.


def test_documents_are_those_of_the_models(base: str) -> None:
    pytest.importorskip("vo_models", reason="LEFT OUT: vo-models is not installed")
    from vo_models.uws import Jobs, JobSummary
    from vo_models.uws.models import Parameter, Parameters
    from vo_models.vosi.availability import Availability
    from vo_models.vosi.capabilities.models import VOSICapabilities

    # Annotations of a class within a function cannot be resolved later.
    given = type("Given", (Parameters,), {"__annotations__": {"ID": Parameter}})

    created = httpx.post(f"{base}/async", data={"ID": DATASET, "PHASE": "RUN"})
    job = created.headers["Location"]
    summary = JobSummary[given].from_xml(httpx.get(job, params={"WAIT": 30}).content)
    assert summary.job_id == job.rpartition("/")[2]
    assert summary.owner_id is None or not summary.owner_id.value
    assert Jobs.from_xml(httpx.get(f"{base}/async").content).jobref
    found = VOSICapabilities.from_xml(httpx.get(f"{base}/capabilities").content).capability
    assert len(found) == 7
    assert Availability.from_xml(httpx.get(f"{base}/availability").content).available


def _stilts(*arguments: str) -> str:
    done = subprocess.run(
        ["stilts", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@stilts
@pytest.mark.parametrize(
    "ids", ["", f"?ID={DATASET}", f"?ID=nothing&ID={IVOID}&ID=cubes/ngc6946.fits"]
)
def test_links_pass_the_linter(base: str, ids: str) -> None:
    said = _stilts("datalinklint", f"votable={base}/links{ids}")
    assert "Errors: 0; Warnings: 0" in said, said
    assert _stilts("votlint", f"votable={base}/links{ids}") == ""


@stilts
@pytest.mark.parametrize("query", ["", "?MAXREC=1", "?POS=CIRCLE+1+2"])
def test_tables_pass_the_linter(base: str, query: str, tmp_path: Path) -> None:
    answer = httpx.get(f"{base}/sia{query}", timeout=60)
    (tmp_path / "table.xml").write_bytes(answer.content)
    assert _stilts("votlint", f"votable={tmp_path / 'table.xml'}") == ""
    assert answer.status_code == (400 if "POS" in query else 200)


@stilts
def test_documents_pass_their_schemas(base: str) -> None:
    said = _stilts(
        "taplint", "stages=CPV AVV UWS", f"tapurl={base}", f"capabilitiesurl={base}/capabilities",
        f"availabilityurl={base}/availability", f"asyncurl={base}/async",
    )  # fmt: skip
    assert "Errors: 0; Warnings: 0" in said, said


@stilts
@pytest.mark.parametrize("part", ["", "/parameters", "/results"])
def test_job_passes_its_schema(base: str, part: str, tmp_path: Path) -> None:
    given = {"ID": [IVOID, "nothing<&>"], "CIRCLE": "83.63 22.01 0.05", "PHASE": "RUN"}
    job = httpx.post(f"{base}/async", data=given).headers["Location"]
    for phase in ("QUEUED", "EXECUTING"):
        httpx.get(job, params={"WAIT": 30, "PHASE": phase}, timeout=60)
    assert _stilts("xsdvalidate", f"doc={job}{part}", "uselocals=true") == ""
    if not part:
        assert _stilts("xsdvalidate", f"doc={base}/async", "uselocals=true") == ""
        failed = httpx.post(f"{base}/async?PHASE=RUN", data={"ID": "nothing"}).headers["Location"]
        httpx.get(failed, params={"WAIT": 30}, timeout=60)
        assert _stilts("xsdvalidate", f"doc={failed}", "uselocals=true") == ""
