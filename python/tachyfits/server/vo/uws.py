"""`/vo/async`: jobs of SODA by UWS 1.1."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TypeVar
from urllib.parse import quote
from xml.etree import ElementTree

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from tachyfits.server.errors import NotFound, RequestError
from tachyfits.server.state import State
from tachyfits.server.vo.jobs import PHASES, Job, Jobs
from tachyfits.server.vo.parameters import Parameters, parameters_of
from tachyfits.server.vo.routes import TextRoute
from tachyfits.server.vo.services import base_url
from tachyfits.server.vo.soda import check_run
from tachyfits.server.vo.xml import child, element, xml_answer

_T = TypeVar("_T")

router = APIRouter(route_class=TextRoute)

#: Seconds that a request waits for another phase at most: proxies end longer ones.
LONGEST_WAIT = 50.0

_DAY = 86400.0


def _jobs(request: Request) -> Jobs:
    return State.of(request).runner.jobs


def _owner(request: Request) -> str | None:
    """Return the user that a proxy names: jobs of others are not shown."""
    user = request.scope.get("tachyfits.user")
    return user if isinstance(user, str) else None


async def _find(request: Request, job: str) -> Job:
    runner = State.of(request).runner
    return await _on_thread(lambda: runner.settled(runner.jobs.find(job, _owner(request))))


async def _on_thread(call: Callable[[], _T]) -> _T:
    return await run_in_threadpool(call)


def _url(request: Request, job: str = "", part: str = "") -> str:
    found = f"{base_url(request)}/async"
    if job:
        found += f"/{job}"
    return found + (f"/{part}" if part else "")


def _see(url: str) -> Response:
    return RedirectResponse(url, 303)


# The list.


@router.get("/vo/async", include_in_schema=False)
async def job_list(request: Request) -> Response:
    """Return the jobs of the client: PHASE, AFTER and LAST select some."""
    given = Parameters(request.query_params.multi_items())
    phases = given.values("PHASE")
    for phase in phases:
        if phase not in PHASES:
            raise RequestError(f"invalid PHASE {phase[:40]!r}: expected {', '.join(PHASES)}")
    after = given.single("AFTER")
    last = given.single("LAST")
    if last is not None and not (last.isascii() and last.isdigit() and len(last) < 10):
        raise RequestError(f"invalid LAST {last[:40]!r}: expected a number of jobs")
    found = await _on_thread(
        lambda: _jobs(request).select(
            _owner(request),
            phases,
            None if after is None else _parsed("AFTER", after),
            None if last is None else int(last),
        )
    )
    root = element("uws:jobs", attributes={"version": "1.1"})
    for job in found:
        ref = child(root, "uws:jobref", attributes={
            "id": job.id, "xlink:href": _url(request, job.id),
        })  # fmt: skip
        child(ref, "uws:phase", job.phase)
        if job.run is not None:
            child(ref, "uws:runId", job.run)
        _nillable(ref, "uws:ownerId", job.owner)
        child(ref, "uws:creationTime", _written(job.created))
    return xml_answer(root)


@router.post("/vo/async", include_in_schema=False)
async def create(request: Request) -> Response:
    """Make a job of the parameters; PHASE=RUN runs it, too."""
    state = State.of(request)
    given = await parameters_of(request)
    phase = given.single("PHASE")
    if phase not in (None, "RUN"):
        raise RequestError(f"invalid PHASE {(phase or '')[:40]!r}: expected RUN")
    run = _run_of(given)
    kept = [(name, value) for name, value in given.items if name != "PHASE"]
    jobs, settings = _jobs(request), state.settings

    def make() -> str:
        destruction = time.time() + settings.job_days * _DAY
        job = jobs.create(kept, _owner(request), run, settings.job_seconds, destruction)
        if phase == "RUN":
            jobs.submit(jobs.find(job, _owner(request)))
        return job

    job = await _on_thread(make)
    state.runner.wake()
    return _see(_url(request, job))


# One job.


@router.get("/vo/async/{job_id}", include_in_schema=False)
async def job(request: Request, job_id: str) -> Response:
    """Return a job; with WAIT, when its phase is another one or the time is over."""
    given = Parameters(request.query_params.multi_items())
    found = await _find(request, job_id)
    wait = given.single("WAIT")
    if wait is not None:
        found = await _waited(request, found, _seconds(wait), given.single("PHASE"))
    return xml_answer(_document(request, found))


@router.delete("/vo/async/{job_id}", include_in_schema=False)
async def delete(request: Request, job_id: str) -> Response:
    """Delete a job and its results."""
    return await _deleted(request, await _find(request, job_id))


@router.post("/vo/async/{job_id}", include_in_schema=False)
async def act(request: Request, job_id: str) -> Response:
    """Delete a job (ACTION=DELETE); its parameters are posted to a resource of their own."""
    found = await _find(request, job_id)
    action = (await parameters_of(request)).single("ACTION")
    if action != "DELETE":
        raise RequestError(
            "expected ACTION=DELETE; parameters of a job are posted to .../parameters"
        )
    return await _deleted(request, found)


async def _deleted(request: Request, found: Job) -> Response:
    await _on_thread(lambda: _jobs(request).delete(found.id))
    State.of(request).runner.cancel(found.id)
    return _see(_url(request))


@router.get("/vo/async/{job_id}/phase", include_in_schema=False)
async def phase(request: Request, job_id: str) -> Response:
    """Return the phase of a job."""
    return PlainTextResponse((await _find(request, job_id)).phase)


@router.post("/vo/async/{job_id}/phase", include_in_schema=False)
async def set_phase(request: Request, job_id: str) -> Response:
    """Run or abort a job."""
    state = State.of(request)
    found = await _find(request, job_id)
    wanted = (await parameters_of(request)).single("PHASE")
    if wanted == "RUN":
        await _on_thread(lambda: _jobs(request).submit(found))
        state.runner.wake()
    elif wanted == "ABORT":
        await _on_thread(lambda: _jobs(request).abort(found))
        state.runner.cancel(found.id)
    else:
        raise RequestError(f"invalid PHASE {(wanted or '')[:40]!r}: expected RUN or ABORT")
    return _see(_url(request, found.id))


@router.get("/vo/async/{job_id}/executionduration", include_in_schema=False)
async def duration(request: Request, job_id: str) -> Response:
    """Return the seconds that a job may run."""
    return PlainTextResponse(f"{(await _find(request, job_id)).duration:.0f}")


@router.post("/vo/async/{job_id}/executionduration", include_in_schema=False)
async def set_duration(request: Request, job_id: str) -> Response:
    """Set the seconds that a job may run; no job has more than the limit of the server."""
    found = await _find(request, job_id)
    text = (await parameters_of(request)).single("EXECUTIONDURATION") or ""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise RequestError(f"invalid EXECUTIONDURATION {text[:40]!r}: expected seconds")
    limit = State.of(request).settings.job_seconds
    seconds = min(float(text) or limit, limit)
    await _on_thread(lambda: _jobs(request).change(found, "duration", seconds))
    return _see(_url(request, found.id))


@router.get("/vo/async/{job_id}/destruction", include_in_schema=False)
async def destruction(request: Request, job_id: str) -> Response:
    """Return when a job is removed."""
    return PlainTextResponse(_written((await _find(request, job_id)).destruction))


@router.post("/vo/async/{job_id}/destruction", include_in_schema=False)
async def set_destruction(request: Request, job_id: str) -> Response:
    """Set when a job is removed; no job is kept longer than the limit of the server."""
    found = await _find(request, job_id)
    text = (await parameters_of(request)).single("DESTRUCTION") or ""
    latest = time.time() + State.of(request).settings.job_days * _DAY
    moment = min(_parsed("DESTRUCTION", text), latest)
    await _on_thread(lambda: _jobs(request).change(found, "destruction", moment))
    return _see(_url(request, found.id))


@router.get("/vo/async/{job_id}/quote", include_in_schema=False)
async def quote_of(request: Request, job_id: str) -> Response:
    """Return when a job is expected to end: not known."""
    await _find(request, job_id)
    return PlainTextResponse("")


@router.get("/vo/async/{job_id}/owner", include_in_schema=False)
async def owner(request: Request, job_id: str) -> Response:
    """Return the user of a job, empty without one."""
    return PlainTextResponse((await _find(request, job_id)).owner or "")


@router.get("/vo/async/{job_id}/error", include_in_schema=False)
async def error(request: Request, job_id: str) -> Response:
    """Return why a job failed, empty if it did not."""
    found = (await _find(request, job_id)).error
    return PlainTextResponse(f"{found}\n" if found else "")


@router.get("/vo/async/{job_id}/parameters", include_in_schema=False)
async def parameters(request: Request, job_id: str) -> Response:
    """Return the parameters of a job."""
    root = element("uws:parameters")
    _add_parameters(root, await _find(request, job_id))
    return xml_answer(root)


@router.post("/vo/async/{job_id}/parameters", include_in_schema=False)
async def add_parameters(request: Request, job_id: str) -> Response:
    """Add parameters to a pending job."""
    found = await _find(request, job_id)
    given = await parameters_of(request)
    # A parameter with one value gets the new one; of others all values count.
    replaced = {"RUNID", "RESPONSEFORMAT"} & {name for name, _ in given.items}
    kept = [(name, value) for name, value in found.parameters if name not in replaced]
    every = Parameters([*kept, *given.items])
    run = _run_of(every)
    await _on_thread(lambda: _jobs(request).set_parameters(found, every.items, run))
    return _see(_url(request, found.id))


@router.get("/vo/async/{job_id}/results", include_in_schema=False)
async def results(request: Request, job_id: str) -> Response:
    """Return the results of a job."""
    root = element("uws:results")
    _add_results(root, request, await _find(request, job_id))
    return xml_answer(root)


@router.api_route(
    "/vo/async/{job_id}/results/{name}", methods=["GET", "HEAD"], include_in_schema=False
)
async def result(request: Request, job_id: str, name: str) -> Response:
    """Send a result of a job."""
    found = await _find(request, job_id)
    one = next((one for one in found.results if one.name == name), None)
    path = _jobs(request).folder(found.id) / name
    if one is None or not path.is_file():
        raise NotFound(f"unknown result {name[:64]!r}")
    ending = "txt" if one.media_type == "text/plain" else "fits"
    return FileResponse(path, filename=f"{one.name}.{ending}", media_type=one.media_type)


@router.api_route(
    "/vo/async/{job_id}/{rest:path}",
    methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
    include_in_schema=False,
)
async def unknown(request: Request, job_id: str, rest: str) -> Response:
    """Answer for resources that a job does not have."""
    await _find(request, job_id)
    raise NotFound(f"a job has no resource {rest[:64]!r}")


# Documents.


def _document(request: Request, job: Job) -> ElementTree.Element:
    root = element("uws:job", attributes={"version": "1.1"})
    child(root, "uws:jobId", job.id)
    if job.run is not None:
        child(root, "uws:runId", job.run)
    _nillable(root, "uws:ownerId", job.owner)
    child(root, "uws:phase", job.phase)
    _nillable(root, "uws:quote", None)
    child(root, "uws:creationTime", _written(job.created))
    for tag, moment in (("uws:startTime", job.started), ("uws:endTime", job.ended)):
        _nillable(root, tag, None if moment is None else _written(moment))
    child(root, "uws:executionDuration", f"{job.duration:.0f}")
    child(root, "uws:destruction", _written(job.destruction))
    _add_parameters(child(root, "uws:parameters"), job)
    _add_results(child(root, "uws:results"), request, job)
    if job.error:
        summary = child(
            root, "uws:errorSummary", attributes={"type": "fatal", "hasDetail": "false"}
        )
        child(summary, "uws:message", job.error)
    return root


def _nillable(parent: ElementTree.Element, tag: str, text: str | None) -> None:
    child(parent, tag, text, {"xsi:nil": "true"} if text is None else None)


def _add_parameters(parent: ElementTree.Element, job: Job) -> None:
    for name, value in job.parameters:
        child(parent, "uws:parameter", value, {"id": name})


def _add_results(parent: ElementTree.Element, request: Request, job: Job) -> None:
    for one in job.results:
        attributes = {
            "id": one.name, "size": str(one.bytes), "mime-type": one.media_type,
            "xlink:href": _url(request, job.id, f"results/{quote(one.name)}"),
        }  # fmt: skip
        child(parent, "uws:result", None, attributes)


def _run_of(given: Parameters) -> str | None:
    run = next(reversed(given.values("RUNID")), None)
    check_run(run)
    return run


# Times.


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _parsed(name: str, text: str) -> float:
    """Return a time of DALI, which is UTC, in seconds since 1970."""
    try:
        found = datetime.fromisoformat(text.strip().removesuffix("Z"))
        if found.tzinfo is None:
            found = found.replace(tzinfo=timezone.utc)
        return found.timestamp()
    except (ValueError, OverflowError):
        raise RequestError(
            f"invalid {name} {text[:40]!r}: expected a time as 2030-01-31T12:00:00Z"
        ) from None


def _seconds(text: str) -> float:
    try:
        found = int(text)
    except ValueError:
        raise RequestError(f"invalid WAIT {text[:40]!r}: expected seconds, or -1") from None
    return LONGEST_WAIT if found < 0 else min(float(found), LONGEST_WAIT)


async def _waited(request: Request, job: Job, seconds: float, known: str | None) -> Job:
    """Return a job when its phase is not the one that the client knows, or it cannot change."""
    before = job.phase if known is None else known
    end = time.monotonic() + seconds
    pause = 0.02
    while job.is_active and job.phase == before and time.monotonic() < end:
        if await request.is_disconnected():
            break
        await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))
        pause = min(1.5 * pause, 0.5)
        job = await _find(request, job.id)
    return job
