"""Access: check the Host header, tokens, users of a reverse proxy, and cross-site requests."""

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

#: Paths without a token: they only tell whether the server runs.
OPEN = ("/health", "/ready")

#: Paths of data: links with the token in the query are answered directly, without a cookie.
_API = ("/api/", "/vo/")

#: Prefix of the token in a path of data, for programs that only follow links.
_LINK = "/t/"

#: Methods without side effects.
_SAFE = ("GET", "HEAD", "OPTIONS")

#: Maximum length of a user name.
_LONGEST_USER = 200


class Access:
    """Reject requests for unknown hosts, from other sites, and without a token or a user."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = {host.lower().rstrip(".") for host in settings.hosts}
        self._origins = set(settings.origins)
        self._open = {*OPEN, *(page_paths() if settings.open_page else ())}
        token = (settings.token or "").encode()
        # Another server on this host, on another port, uses another name for its cookie.
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
        # Remove the token first, so that no error shows or logs it.
        in_path = _without_token_in_path(scope) if self._settings.token is not None else None
        token = _without_token(scope)
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
        if is_page and token is not None and self._is_first(token):
            await self._remember(scope, send)
            return
        # A header with the token is safe: other sites do not know it, browsers do not add it.
        if not self._is_bearer(scope) and self._is_foreign(scope):
            detail = "another site's page may not use this server"
            await refuse(send, 403, detail, path=scope["path"])
            return
        if in_path is not None and (_same(in_path, self._in_link) or self._is_token(in_path)):
            # Links in the answer get the same prefix.
            scope["root_path"] = _LINK + urllib.parse.quote(in_path, safe="")
        elif not self._is_admitted(scope, token):
            await refuse(
                send, 401, "a token is needed",
                "open the link that the server printed, or send Authorization: Bearer TOKEN",
                [(b"www-authenticate", b"Bearer")], scope["path"],
            )  # fmt: skip
            return
        if token is not None and self._is_token(token) and is_page:
            await self._remember(scope, send)
            return
        await self._app(scope, receive, send)

    def _is_host(self, host: str | None) -> bool:
        """Return whether a Host header is allowed; IP addresses are, as DNS cannot rebind them."""
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
        """Set the user, the address and the scheme from the headers of a trusted proxy."""
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
            # The proxy appends the address that it sees; earlier ones may be forged.
            scope["client"] = (forwarded.rpartition(",")[2].strip()[:_LONGEST_USER], 0)
        if header_of(scope, b"x-forwarded-proto") == "https":
            scope["scheme"] = "https"

    def _is_foreign(self, scope: Any) -> bool:
        """Return whether the request comes from a page of another, not allowed site."""
        origin = header_of(scope, b"origin")
        if origin is not None and origin in self._origins:
            return False
        if scope["method"] not in _SAFE and origin is not None:
            host = header_of(scope, b"host") or ""
            if urllib.parse.urlsplit(origin).netloc.lower() != host.lower():
                return True
        return header_of(scope, b"sec-fetch-site") == "cross-site" and not _is_navigation(scope)

    def _is_admitted(self, scope: Any, token: str | None) -> bool:
        settings = self._settings
        if "tachyfits.user" in scope or (settings.token is None and settings.user_header is None):
            return True
        if settings.token is None:
            return False
        if self._is_bearer(scope):
            return True
        if token is not None and self._is_token(token):
            return True
        try:
            cookies = SimpleCookie(header_of(scope, b"cookie") or "")
        except CookieError:
            return False
        cookie = cookies.get(self._cookie)
        return cookie is not None and _same(cookie.value, self._in_cookie)

    def _is_bearer(self, scope: Any) -> bool:
        """Return whether the Authorization header has the token."""
        scheme, _, value = (header_of(scope, b"authorization") or "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(value.strip())

    def _is_token(self, token: str) -> bool:
        return self._settings.token is not None and _same(token, self._settings.token)

    def _is_first(self, token: str) -> bool:
        """Return whether a token is the one-time token, and invalidate it."""
        if self._first_token is None or not _same(token, self._first_token):
            return False
        self._first_token = None
        return True

    async def _remember(self, scope: Any, send: Any) -> None:
        """Set a cookie instead of the token, and redirect to the address without the token."""
        query = scope["query_string"]
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/")  # never //another.host
        target = path + (f"?{query.decode('latin-1')}" if query else "")
        secure = "; Secure" if scope["scheme"] == "https" else ""
        cookie = f"{self._cookie}={self._in_cookie}; Path=/; HttpOnly; SameSite=Strict{secure}"
        headers = [
            (b"location", target.encode("latin-1")),
            (b"set-cookie", cookie.encode()),
            (b"cache-control", b"no-store"),
            (b"content-length", b"0"),
        ]
        await answer(send, 303, headers)


def link_key(settings: Settings) -> str:
    """Return the key that replaces the token in paths of data; "" without a token."""
    if settings.token is None:
        return ""
    return hmac.new(settings.token.encode(), b"link", hashlib.sha256).hexdigest()[:32]


def links_of(settings: Settings) -> str:
    """Return the path prefix with the key, which gives other programs access to data."""
    return f"{_LINK.lstrip('/')}{link_key(settings)}/" if settings.token is not None else ""


def _same(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


def _without_token(scope: Any) -> str | None:
    """Remove the token from the query, to keep it out of logs and caches, and return it."""
    query = scope["query_string"]
    if b"token=" not in query:
        return None
    token = None
    parts = []
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if name == b"token":
            token = urllib.parse.unquote_plus(value.decode("latin-1"))
        else:
            parts.append(part)
    scope["query_string"] = b"&".join(parts)
    return token


def _without_token_in_path(scope: Any) -> str | None:
    """Remove the token from the path; return it if the remaining path is a path of data."""
    if not scope["path"].startswith(_LINK):
        return None
    token, _, path = scope["path"].removeprefix(_LINK).partition("/")
    scope["path"] = f"/{path}"
    scope["raw_path"] = urllib.parse.quote(scope["path"]).encode("ascii")
    return str(token) if scope["path"].startswith(_API) else None


def _is_navigation(scope: Any) -> bool:
    """Return whether a browser navigates to a page, as opposed to scripts and other programs."""
    if scope["method"] != "GET":
        return False
    mode = header_of(scope, b"sec-fetch-mode")
    if mode is not None:
        return mode == "navigate"
    return "text/html" in (header_of(scope, b"accept") or "")
