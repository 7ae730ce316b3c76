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

#: Maximum seconds that a request waits for a change of phase: proxies cancel longer requests.
LONGEST_WAIT = 50.0

_DAY = 86400.0


def _jobs(request: Request) -> Jobs:
    return State.of(request).runner.jobs


def _owner(request: Request) -> str | None:
    """Return the user named by a proxy; jobs of others are hidden."""
    user = request.scope.get("tachyfits.user")
    return user if isinstance(user, str) else None


async def _find(request: Request, job: str) -> Job:
    runner = State.of(request).runner
    return await _on_thread(lambda: runner.settled(runner.jobs.find(job, _owner(request))))


async def _on_thread(call: Callable[[], _T]) -> _T:
    return await run_in_threadpool(call)


def _url(request: Request, job: str = "", part: str = "") -> str:
    url = f"{base_url(request)}/async"
    if job:
        url += f"/{job}"
    return url + (f"/{part}" if part else "")


def _see(url: str) -> Response:
    return RedirectResponse(url, 303)


# The list.


@router.get("/vo/async", include_in_schema=False)
async def job_list(request: Request) -> Response:
    """Return the jobs of the client, filtered by PHASE, AFTER and LAST."""
    query = Parameters(request.query_params.multi_items())
    phases = query.values("PHASE")
    for phase in phases:
        if phase not in PHASES:
            raise RequestError(f"invalid PHASE {phase[:40]!r}: expected {', '.join(PHASES)}")
    after = query.single("AFTER")
    last = query.single("LAST")
    if last is not None and not (last.isascii() and last.isdigit() and len(last) < 10):
        raise RequestError(f"invalid LAST {last[:40]!r}: expected a number of jobs")
    selected = await _on_thread(
        lambda: _jobs(request).select(
            _owner(request),
            phases,
            None if after is None else _parsed("AFTER", after),
            None if last is None else int(last),
        )
    )
    root = element("uws:jobs", attributes={"version": "1.1"})
    for job in selected:
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
    """Create a job from the parameters; PHASE=RUN also starts it."""
    state = State.of(request)
    values = await parameters_of(request)
    phase = values.single("PHASE")
    if phase not in (None, "RUN"):
        raise RequestError(f"invalid PHASE {(phase or '')[:40]!r}: expected RUN")
    run = _run_of(values)
    job_parameters = [(name, value) for name, value in values.items if name != "PHASE"]
    jobs, settings = _jobs(request), state.settings

    def make() -> str:
        destruction = time.time() + settings.job_days * _DAY
        job = jobs.create(job_parameters, _owner(request), run, settings.job_seconds, destruction)
        if phase == "RUN":
            jobs.submit(jobs.find(job, _owner(request)))
        return job

    job = await _on_thread(make)
    state.runner.wake()
    return _see(_url(request, job))


# One job.


@router.get("/vo/async/{job_id}", include_in_schema=False)
async def job(request: Request, job_id: str) -> Response:
    """Return a job; WAIT delays the answer until its phase changes or the time is over."""
    query = Parameters(request.query_params.multi_items())
    current = await _find(request, job_id)
    wait = query.single("WAIT")
    if wait is not None:
        current = await _waited(request, current, _seconds(wait), query.single("PHASE"))
    return xml_answer(_document(request, current))


@router.delete("/vo/async/{job_id}", include_in_schema=False)
async def delete(request: Request, job_id: str) -> Response:
    """Delete a job and its results."""
    return await _deleted(request, await _find(request, job_id))


@router.post("/vo/async/{job_id}", include_in_schema=False)
async def act(request: Request, job_id: str) -> Response:
    """Delete a job (ACTION=DELETE); another resource accepts its parameters."""
    target = await _find(request, job_id)
    action = (await parameters_of(request)).single("ACTION")
    if action != "DELETE":
        raise RequestError(
            "expected ACTION=DELETE; parameters of a job are posted to .../parameters"
        )
    return await _deleted(request, target)


async def _deleted(request: Request, target: Job) -> Response:
    await _on_thread(lambda: _jobs(request).delete(target.id))
    State.of(request).runner.cancel(target.id)
    return _see(_url(request))


@router.get("/vo/async/{job_id}/phase", include_in_schema=False)
async def phase(request: Request, job_id: str) -> Response:
    """Return the phase of a job."""
    return PlainTextResponse((await _find(request, job_id)).phase)


@router.post("/vo/async/{job_id}/phase", include_in_schema=False)
async def set_phase(request: Request, job_id: str) -> Response:
    """Run or abort a job."""
    state = State.of(request)
    target = await _find(request, job_id)
    new_phase = (await parameters_of(request)).single("PHASE")
    if new_phase == "RUN":
        await _on_thread(lambda: _jobs(request).submit(target))
        state.runner.wake()
    elif new_phase == "ABORT":
        await _on_thread(lambda: _jobs(request).abort(target))
        state.runner.cancel(target.id)
    else:
        raise RequestError(f"invalid PHASE {(new_phase or '')[:40]!r}: expected RUN or ABORT")
    return _see(_url(request, target.id))


@router.get("/vo/async/{job_id}/executionduration", include_in_schema=False)
async def duration(request: Request, job_id: str) -> Response:
    """Return the maximum duration of a job in seconds."""
    return PlainTextResponse(f"{(await _find(request, job_id)).duration:.0f}")


@router.post("/vo/async/{job_id}/executionduration", include_in_schema=False)
async def set_duration(request: Request, job_id: str) -> Response:
    """Set the maximum duration of a job in seconds, up to the limit of the server."""
    target = await _find(request, job_id)
    text = (await parameters_of(request)).single("EXECUTIONDURATION") or ""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise RequestError(f"invalid EXECUTIONDURATION {text[:40]!r}: expected seconds")
    limit = State.of(request).settings.job_seconds
    seconds = min(float(text) or limit, limit)
    await _on_thread(lambda: _jobs(request).change(target, "duration", seconds))
    return _see(_url(request, target.id))


@router.get("/vo/async/{job_id}/destruction", include_in_schema=False)
async def destruction(request: Request, job_id: str) -> Response:
    """Return the destruction time of a job."""
    return PlainTextResponse(_written((await _find(request, job_id)).destruction))


@router.post("/vo/async/{job_id}/destruction", include_in_schema=False)
async def set_destruction(request: Request, job_id: str) -> Response:
    """Set the destruction time of a job, up to the limit of the server."""
    target = await _find(request, job_id)
    text = (await parameters_of(request)).single("DESTRUCTION") or ""
    latest = time.time() + State.of(request).settings.job_days * _DAY
    moment = min(_parsed("DESTRUCTION", text), latest)
    await _on_thread(lambda: _jobs(request).change(target, "destruction", moment))
    return _see(_url(request, target.id))


@router.get("/vo/async/{job_id}/quote", include_in_schema=False)
async def quote_of(request: Request, job_id: str) -> Response:
    """Return the expected end of a job, which is unknown."""
    await _find(request, job_id)
    return PlainTextResponse("")


@router.get("/vo/async/{job_id}/owner", include_in_schema=False)
async def owner(request: Request, job_id: str) -> Response:
    """Return the owner of a job; empty if it has none."""
    return PlainTextResponse((await _find(request, job_id)).owner or "")


@router.get("/vo/async/{job_id}/error", include_in_schema=False)
async def error(request: Request, job_id: str) -> Response:
    """Return the error of a job; empty if it did not fail."""
    message = (await _find(request, job_id)).error
    return PlainTextResponse(f"{message}\n" if message else "")


@router.get("/vo/async/{job_id}/parameters", include_in_schema=False)
async def parameters(request: Request, job_id: str) -> Response:
    """Return the parameters of a job."""
    root = element("uws:parameters")
    _add_parameters(root, await _find(request, job_id))
    return xml_answer(root)


@router.post("/vo/async/{job_id}/parameters", include_in_schema=False)
async def add_parameters(request: Request, job_id: str) -> Response:
    """Add parameters to a pending job."""
    target = await _find(request, job_id)
    posted = await parameters_of(request)
    # New values replace single-valued parameters, and extend the others.
    replaced = {"RUNID", "RESPONSEFORMAT"} & {name for name, _ in posted.items}
    remaining = [(name, value) for name, value in target.parameters if name not in replaced]
    every = Parameters([*remaining, *posted.items])
    run = _run_of(every)
    await _on_thread(lambda: _jobs(request).set_parameters(target, every.items, run))
    return _see(_url(request, target.id))


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
    owner_job = await _find(request, job_id)
    entry = next((item for item in owner_job.results if item.name == name), None)
    path = _jobs(request).folder(owner_job.id) / name
    if entry is None or not path.is_file():
        raise NotFound(f"unknown result {name[:64]!r}")
    suffix = "txt" if entry.media_type == "text/plain" else "fits"
    return FileResponse(path, filename=f"{entry.name}.{suffix}", media_type=entry.media_type)


@router.api_route(
    "/vo/async/{job_id}/{rest:path}",
    methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
    include_in_schema=False,
)
async def unknown(request: Request, job_id: str, rest: str) -> Response:
    """Answer 404 for unknown resources of a job."""
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
    for entry in job.results:
        attributes = {
            "id": entry.name, "size": str(entry.bytes), "mime-type": entry.media_type,
            "xlink:href": _url(request, job.id, f"results/{quote(entry.name)}"),
        }  # fmt: skip
        child(parent, "uws:result", None, attributes)


def _run_of(values: Parameters) -> str | None:
    run = next(reversed(values.values("RUNID")), None)
    check_run(run)
    return run


# Times.


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _parsed(name: str, text: str) -> float:
    """Parse a time of DALI (UTC) and return seconds since 1970."""
    try:
        moment = datetime.fromisoformat(text.strip().removesuffix("Z"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.timestamp()
    except (ValueError, OverflowError):
        raise RequestError(
            f"invalid {name} {text[:40]!r}: expected a time as 2030-01-31T12:00:00Z"
        ) from None


def _seconds(text: str) -> float:
    try:
        seconds = int(text)
    except ValueError:
        raise RequestError(f"invalid WAIT {text[:40]!r}: expected seconds, or -1") from None
    return LONGEST_WAIT if seconds < 0 else min(float(seconds), LONGEST_WAIT)


async def _waited(request: Request, job: Job, seconds: float, known_phase: str | None) -> Job:
    """Wait until the phase of a job differs from the phase known to the client, or is final."""
    before = job.phase if known_phase is None else known_phase
    end = time.monotonic() + seconds
    pause = 0.02
    while job.is_active and job.phase == before and time.monotonic() < end:
        if await request.is_disconnected():
            break
        await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))
        pause = min(1.5 * pause, 0.5)
        job = await _find(request, job.id)
    return job
