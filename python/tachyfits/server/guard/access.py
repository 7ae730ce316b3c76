"""Access: the Host header, tokens, users of a reverse proxy, and requests of foreign pages."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import urllib.parse
from http.cookies import CookieError, SimpleCookie
from typing import Any

from tachyfits.server.guard.answers import answer, header_of, refuse
from tachyfits.server.page import page_paths
from tachyfits.server.settings import Settings

#: Paths that need no token: they tell nothing but that the server runs.
OPEN = ("/health", "/ready")

#: Paths of data: a download from a link with the token is answered at once, without a cookie.
_API = ("/api/", "/vo/")

#: Before the token in a path of data, for programs that only follow links.
_LINK = "/t/"

#: Methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")

#: Most characters of the name of a user.
_LONGEST_USER = 200


class Access:
    """Refuse requests for other hosts, of foreign pages, and without a token or a user."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = {host.lower().rstrip(".") for host in settings.hosts}
        self._origins = set(settings.origins)
        self._open = {*OPEN, *(page_paths() if settings.open_page else ())}
        token = (settings.token or "").encode()
        # The cookie of another server of this host, on another port, has another name.
        self._cookie = f"tachyfits-{hashlib.sha256(b'name' + token).hexdigest()[:8]}"
        self._in_cookie = hmac.new(token, b"cookie", hashlib.sha256).hexdigest()
        self._in_link = link_key(settings)
        self._first_token = settings.first_token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # At once, so that no refusal shows or logs it.
        in_path = _without_token_in_path(scope) if self._settings.token is not None else None
        given = _without_token(scope)
        if not self._is_host(header_of(scope, b"host")):
            await refuse(
                send, 421, "the server does not answer for the host of this address",
                "the server's operator adds names by --name", path=scope["path"],
            )  # fmt: skip
            return
        self._follow_proxy(scope)
        if scope["path"] in self._open:
            await self._app(scope, receive, send)
            return
        is_page = _is_navigation(scope) and not scope["path"].startswith(_API)
        if is_page and given is not None and self._is_first(given):
            await self._remember(scope, send)
            return
        # No other page knows the token, and browsers do not add the header by themselves.
        if not self._is_bearer(scope) and self._is_foreign(scope):
            detail = "another site's page may not use this server"
            await refuse(send, 403, detail, path=scope["path"])
            return
        if in_path is not None and (_same(in_path, self._in_link) or self._is_token(in_path)):
            # The links of the answer have it, too.
            scope["root_path"] = _LINK + urllib.parse.quote(in_path, safe="")
        elif not self._is_admitted(scope, given):
            await refuse(
                send, 401, "a token is needed",
                "open the link that the server printed, or send Authorization: Bearer TOKEN",
                [(b"www-authenticate", b"Bearer")], scope["path"],
            )  # fmt: skip
            return
        if given is not None and self._is_token(given) and is_page:
            await self._remember(scope, send)
            return
        await self._app(scope, receive, send)

    def _is_host(self, host: str | None) -> bool:
        """Say whether a Host header is one of ours. Addresses are: they cannot be rebound."""
        if not self._hosts:
            return True
        if host is None:
            return False
        try:
            name = urllib.parse.urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name.rstrip(".") in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _follow_proxy(self, scope: Any) -> None:
        """Take the user, the address and the scheme from a reverse proxy that is trusted."""
        settings = self._settings
        peer = scope["client"][0] if scope.get("client") else ""
        if peer and peer not in settings.proxies:
            return
        if settings.user_header is not None:
            user = header_of(scope, settings.user_header.lower().encode("latin-1"))
            if user and user.strip():
                scope["tachyfits.user"] = user.strip()[:_LONGEST_USER]
        forwarded = header_of(scope, b"x-forwarded-for")
        if forwarded and settings.proxies:
            # The proxy appends the address that it sees; those before may be made up.
            scope["client"] = (forwarded.rpartition(",")[2].strip()[:_LONGEST_USER], 0)
        if header_of(scope, b"x-forwarded-proto") == "https":
            scope["scheme"] = "https"

    def _is_foreign(self, scope: Any) -> bool:
        """Say whether a page of another site asks, which is not configured to."""
        origin = header_of(scope, b"origin")
        if origin is not None and origin in self._origins:
            return False
        if scope["method"] not in _SAFE and origin is not None:
            host = header_of(scope, b"host") or ""
            if urllib.parse.urlsplit(origin).netloc.lower() != host.lower():
                return True
        return header_of(scope, b"sec-fetch-site") == "cross-site" and not _is_navigation(scope)

    def _is_admitted(self, scope: Any, given: str | None) -> bool:
        settings = self._settings
        if "tachyfits.user" in scope or (settings.token is None and settings.user_header is None):
            return True
        if settings.token is None:
            return False
        if self._is_bearer(scope):
            return True
        if given is not None and self._is_token(given):
            return True
        try:
            cookies = SimpleCookie(header_of(scope, b"cookie") or "")
        except CookieError:
            return False
        cookie = cookies.get(self._cookie)
        return cookie is not None and _same(cookie.value, self._in_cookie)

    def _is_bearer(self, scope: Any) -> bool:
        """Say whether a header has the token."""
        kind, _, value = (header_of(scope, b"authorization") or "").partition(" ")
        return kind.lower() == "bearer" and self._is_token(value.strip())

    def _is_token(self, given: str) -> bool:
        return self._settings.token is not None and _same(given, self._settings.token)

    def _is_first(self, given: str) -> bool:
        """Say whether a token is the one that works once, and let it work no more."""
        if self._first_token is None or not _same(given, self._first_token):
            return False
        self._first_token = None
        return True

    async def _remember(self, scope: Any, send: Any) -> None:
        """Set a cookie in place of the token, and lead to the address without it."""
        query = scope["query_string"]
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/")  # never //another.host
        place = path + (f"?{query.decode('latin-1')}" if query else "")
        secure = "; Secure" if scope["scheme"] == "https" else ""
        cookie = f"{self._cookie}={self._in_cookie}; Path=/; HttpOnly; SameSite=Strict{secure}"
        headers = [
            (b"location", place.encode("latin-1")),
            (b"set-cookie", cookie.encode()),
            (b"cache-control", b"no-store"),
            (b"content-length", b"0"),
        ]
        await answer(send, 303, headers)


def link_key(settings: Settings) -> str:
    """Return the key that links of data may have in their path in place of the token; "": none."""
    if settings.token is None:
        return ""
    return hmac.new(settings.token.encode(), b"link", hashlib.sha256).hexdigest()[:32]


def links_of(settings: Settings) -> str:
    """Return the path before those of data with which other programs need no token."""
    return f"{_LINK.lstrip('/')}{link_key(settings)}/" if settings.token is not None else ""


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _without_token(scope: Any) -> str | None:
    """Remove the token from the query, so that neither logs nor caches have it; return it."""
    query = scope["query_string"]
    if b"token=" not in query:
        return None
    found = None
    kept = []
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if name == b"token":
            found = urllib.parse.unquote_plus(value.decode("latin-1"))
        else:
            kept.append(part)
    scope["query_string"] = b"&".join(kept)
    return found


def _without_token_in_path(scope: Any) -> str | None:
    """Remove the token from the path; return it if what is left is the path of data."""
    if not scope["path"].startswith(_LINK):
        return None
    found, _, rest = scope["path"].removeprefix(_LINK).partition("/")
    scope["path"] = f"/{rest}"
    scope["raw_path"] = urllib.parse.quote(scope["path"]).encode("ascii")
    return str(found) if scope["path"].startswith(_API) else None


def _is_navigation(scope: Any) -> bool:
    """Say whether a browser opens a page: not a program, and not a request of a page."""
    if scope["method"] != "GET":
        return False
    mode = header_of(scope, b"sec-fetch-mode")
    if mode is not None:
        return mode == "navigate"
    return "text/html" in (header_of(scope, b"accept") or "")
