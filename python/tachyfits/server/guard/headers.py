"""Headers: security headers of answers, for browsers."""

from __future__ import annotations

from typing import Any

from starlette.middleware.cors import CORSMiddleware

from tachyfits.server.settings import Settings

#: Headers that pages of other origins may read.
_EXPOSED = (
    "Content-Disposition", "ETag", "Pv-Step", "Pv-Unit", "Retry-After", "Tile-Error", "Tile-Height",
    "Tile-High", "Tile-Low", "Tile-Step", "Tile-Width", "Tile-Zero",
)  # fmt: skip


#: Fixed address of hubs in the web profile of SAMP.
SAMP_HUB = "http://localhost:21012"


class SafeHeaders:
    """Add security headers to each answer, and CORS headers if configured."""

    def __init__(self, app: Any, settings: Settings) -> None:
        ancestors = " ".join(("'self'", *settings.frame_ancestors))
        policy = (
            "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
            f"form-action 'self'; frame-ancestors {ancestors}"
            + (f"; connect-src 'self' {SAMP_HUB}" if settings.samp else "")
        )
        sharing = "cross-origin" if settings.origins else "same-origin"
        self._headers = [
            (b"content-security-policy", policy.encode("latin-1")),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", sharing.encode()),
            (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
        ]
        self._app = app
        if settings.origins:
            self._app = CORSMiddleware(
                app, allow_origins=settings.origins,
                allow_methods=("GET", "HEAD", "POST", "DELETE"),
                allow_headers=("Authorization",), expose_headers=_EXPOSED,
            )  # fmt: skip

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI)."""

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        await self._app(scope, receive, sending)
