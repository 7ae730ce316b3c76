"""FITS answers: files that are read and sent piece by piece.

A thread is only busy while it reads a piece, not while the piece is sent: slow clients do not
occupy threads.
"""

from __future__ import annotations

import asyncio
import re
import urllib.parse
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Query, Request, Response

import tachyfits as tf
from tachyfits.server.answers import caching, tag_of
from tachyfits.server.asked import Asked
from tachyfits.server.datasets import OpenFile
from tachyfits.server.errors import RequestError
from tachyfits.server.state import State
from tachyfits.server.work import gone
from tachyfits.writing import FileBytes

#: Bytes of a piece.
_PIECE = 1 << 20

#: Parameter for the format of a plane, and its description for OpenAPI.
AnswerFormat = Annotated[
    str, Query(alias="format", pattern="^(tile|fits)$", description="tile: as of /api/v1/tile.")
]
TILE_OR_FITS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"application/octet-stream": {}, "application/fits": {}},
        "description": "The pixels as of a tile, or a FITS file.",
    }
}


class BadRange(RequestError):
    """The requested byte range is outside the file."""

    status = 416
    title = "Range not satisfiable"


class FitsAnswer(Response):
    """Answer to GET and HEAD requests for a part of a file.

    Parameters
    ----------
    file
        The source file: sending stops if it changes.
    part
        The bytes to send.
    name
        The file name that browsers suggest.
    """

    def __init__(
        self,
        request: Request,
        file: OpenFile,
        part: FileBytes,
        name: str,
        version: str | None = None,
        media_type: str = "application/fits",
    ) -> None:
        begin, end = _asked_range(request, file, part.size)
        is_part = (begin, end) != (0, part.size)
        headers = caching(request, file, version)
        headers |= {
            "Content-Length": str(end - begin),
            "Content-Disposition": disposition(name),
            "Accept-Ranges": "bytes",
        }
        if is_part:
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{part.size}"
        super().__init__(None, 206 if is_part else 200, headers, media_type)
        self._state = State.of(request)
        self._file, self._part = file, part
        self._begin, self._end = begin, end
        self._is_head = request.method == "HEAD"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the answer (ASGI)."""
        if self._is_head:
            await send(self._start())
            await send({"type": "http.response.body", "body": b""})
            return
        with self._state.workers.stream():
            await send(self._start())
            token = tf.CancelToken()
            disconnect = asyncio.ensure_future(gone(receive))
            try:
                async for body in self._bodies(token):
                    await self._sent(send({**_MORE, "body": body}), disconnect)
                await send({"type": "http.response.body", "body": b""})
            except _GoneError:
                return
            finally:
                token.cancel()
                disconnect.cancel()

    def _start(self) -> dict[str, Any]:
        return {
            "type": "http.response.start", "status": self.status_code, "headers": self.raw_headers,
        }  # fmt: skip

    async def _bodies(self, token: tf.CancelToken) -> AsyncIterator[memoryview]:
        """Yield the pieces; the next one is read while the current one is sent."""
        starts = iter(range(self._begin, self._end, _PIECE))
        reading = self._reading(next(starts), token) if self._begin < self._end else None
        try:
            while reading is not None:
                content = await reading
                following = next(starts, None)
                reading = None if following is None else self._reading(following, token)
                yield content
        finally:
            if reading is not None:
                reading.cancel()

    def _reading(self, begin: int, token: tf.CancelToken) -> asyncio.Future[memoryview]:
        state = self._state

        def read() -> memoryview:
            tile, threads = self._file.tile_bytes, state.workers.executor.threads
            with state.decoding.reserved(tile, threads, lambda: token.cancelled):
                content = self._part.read(begin, min(begin + _PIECE, self._end))
            self._file.check()
            return content.data

        return asyncio.ensure_future(state.workers.call(read, token))

    async def _sent(self, sending: Any, disconnect: asyncio.Future[None]) -> None:
        """Wait until a piece is sent; raise `_GoneError` if the client stalls or disconnects."""
        task = asyncio.ensure_future(sending)
        stall = self._state.settings.stall_seconds
        await asyncio.wait((task, disconnect), timeout=stall, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() or disconnect.done():
            task.cancel()
            raise _GoneError
        task.result()


def fits_answer(asked: Asked, image: tf.Image, kind: str) -> FitsAnswer:
    """Answer with an image as a FITS file, named after the source file and ``kind``."""
    name = f"{asked.file.stem}_{kind}.fits"
    return FitsAnswer(asked.request, asked.file, FileBytes(image), name, asked.place.version)


_MORE = {"type": "http.response.body", "more_body": True}


class _GoneError(Exception):
    """The client disconnected or stalled."""


def disposition(name: str) -> str:
    r"""Return a Content-Disposition header with an ASCII file name and the exact one.

    >>> disposition('a "1".fits')
    'attachment; filename="a _1_.fits"; filename*=UTF-8\'\'a%20%221%22.fits'
    """
    ascii_name = re.sub(r"[^\w .+-]", "_", name, flags=re.ASCII)
    quoted = urllib.parse.quote(name, safe="")
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quoted}"


def _asked_range(request: Request, file: OpenFile, size: int) -> tuple[int, int]:
    """Return the start and end of the requested bytes; several ranges are ignored."""
    text = request.headers.get("range", "") if request.method != "POST" else ""
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", text.strip())
    condition = request.headers.get("if-range")
    if match is None or not (match[1] or match[2]):
        return 0, size
    if condition is not None and condition != tag_of(request, file):
        return 0, size
    if not match[1]:
        begin, end = max(0, size - int(match[2])), size
    else:
        begin, end = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
    if begin >= end:
        raise BadRange(f"invalid Range {text!r}: expected bytes of 0 to {size - 1}")
    return begin, end
