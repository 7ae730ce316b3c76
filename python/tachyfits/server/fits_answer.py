"""FITS answers: a file that is sent as its pixels are read, by pieces.

A thread is busy while a piece is read, not while it is sent: slow clients hold no threads.
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

#: Bytes that are read at a time.
_PIECE = 1 << 20

#: The form of a plane, and its description for OpenAPI.
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
    """A range of bytes that the file does not have."""

    status = 416
    title = "Range not satisfiable"


class FitsAnswer(Response):
    """The answer to GET and HEAD of a part of a file.

    Parameters
    ----------
    file
        The file that the part is of: sending stops if it changes.
    part
        What is sent.
    name
        The name under which browsers save it.
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
            left = asyncio.ensure_future(gone(receive))
            try:
                async for body in self._bodies(token):
                    await self._sent(send({**_MORE, "body": body}), left)
                await send({"type": "http.response.body", "body": b""})
            except _GoneError:
                return
            finally:
                token.cancel()
                left.cancel()

    def _start(self) -> dict[str, Any]:
        return {
            "type": "http.response.start", "status": self.status_code, "headers": self.raw_headers,
        }  # fmt: skip

    async def _bodies(self, token: tf.CancelToken) -> AsyncIterator[memoryview]:
        """Yield the bytes, reading a piece while the one before is sent."""
        begins = iter(range(self._begin, self._end, _PIECE))
        reading = self._reading(next(begins), token) if self._begin < self._end else None
        try:
            while reading is not None:
                content = await reading
                after = next(begins, None)
                reading = None if after is None else self._reading(after, token)
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

    async def _sent(self, sending: Any, left: asyncio.Future[None]) -> None:
        """Wait until the client has taken enough of a piece, for a limited time."""
        task = asyncio.ensure_future(sending)
        stall = self._state.settings.stall_seconds
        await asyncio.wait((task, left), timeout=stall, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() or left.done():
            task.cancel()
            raise _GoneError
        task.result()


def fits_answer(asked: Asked, image: tf.Image, kind: str) -> FitsAnswer:
    """Answer with an image as a FITS file, named after the file that it is of and its kind."""
    name = f"{asked.file.stem}_{kind}.fits"
    return FitsAnswer(asked.request, asked.file, FileBytes(image), name, asked.place.version)


_MORE = {"type": "http.response.body", "more_body": True}


class _GoneError(Exception):
    """The client takes no more bytes."""


def disposition(name: str) -> str:
    r"""Return a header that names a file in ASCII, and as it is.

    >>> disposition('a "1".fits')
    'attachment; filename="a _1_.fits"; filename*=UTF-8\'\'a%20%221%22.fits'
    """
    plain = re.sub(r"[^\w .+-]", "_", name, flags=re.ASCII)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{urllib.parse.quote(name, safe='')}"


def _asked_range(request: Request, file: OpenFile, size: int) -> tuple[int, int]:
    """Return the first byte and the end of what a client asks for; several ranges count as none."""
    text = request.headers.get("range", "") if request.method != "POST" else ""
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", text.strip())
    condition = request.headers.get("if-range")
    if found is None or not (found[1] or found[2]):
        return 0, size
    if condition is not None and condition != tag_of(request, file):
        return 0, size
    if not found[1]:
        begin, end = max(0, size - int(found[2])), size
    else:
        begin, end = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
    if begin >= end:
        raise BadRange(f"invalid Range {text!r}: expected bytes of 0 to {size - 1}")
    return begin, end
