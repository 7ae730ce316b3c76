"""`/api/v1/jobs`: progress of a long request as server-sent events, and its cancellation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from starlette.responses import StreamingResponse

from tachyfits.server.errors import NotFound
from tachyfits.server.parameters import JOB_NAME
from tachyfits.server.state import State
from tachyfits.server.work import client_of

router = APIRouter()

Name = Annotated[str, Path(pattern=JOB_NAME, description="The parameter `job` of the request.")]

#: Seconds between events, for a job to start, and until a comment keeps the connection alive for
#: proxies.
_EVERY, _BEGIN, _ALIVE = 0.1, 5.0, 10.0


@router.get(
    "/api/v1/jobs/{name}/events",
    summary="Follow a long request",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events."}},
)
async def events(request: Request, name: Name) -> Response:
    """Send events ``progress`` with {"fraction": 0 to 1}, and ``end`` at the end of the request."""
    state, client = State.of(request), client_of(request)

    async def texts() -> AsyncIterator[str]:
        start = last_sent = time.monotonic()
        last = None
        has_started = False
        while not state.workers.closing:
            job = state.jobs.find(client, name)
            if job is None and (has_started or time.monotonic() - start > _BEGIN):
                break
            has_started = has_started or job is not None
            fraction = None if job is None else round(job.fraction, 3)
            if fraction is not None and fraction != last:
                last, last_sent = fraction, time.monotonic()
                yield f"event: progress\ndata: {json.dumps({'fraction': fraction})}\n\n"
            elif time.monotonic() - last_sent > _ALIVE:
                last_sent = time.monotonic()
                yield ": waiting\n\n"
            await asyncio.sleep(_EVERY)
        yield "event: end\ndata: {}\n\n"

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(texts(), headers=headers, media_type="text/event-stream")


@router.delete("/api/v1/jobs/{name}", summary="Cancel a long request", status_code=204)
async def cancel(request: Request, name: Name) -> Response:
    """Cancel a request; it is answered with 409."""
    job = State.of(request).jobs.find(client_of(request), name)
    if job is None:
        raise NotFound("no request under way has that name")
    job.token.cancel()
    return Response(status_code=204)
