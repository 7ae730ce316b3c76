"""Shared by commands that start a server: options, start and end of the server."""

from __future__ import annotations

import os
import secrets
import stat
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tachyfits.base import SERVER, needed
from tachyfits.cli._group import with_options
from tachyfits.cli._output import json_text, say

#: Maximum number of images that the page shows side by side.
_BESIDE = 4


class Served(click.Path):
    """Option type: an existing file or folder, or a URL as text."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path, or the URL."""
        is_url = isinstance(value, str) and "://" in value and not os.path.exists(value)
        return value if is_url else super().convert(value, param, ctx)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a server."""
    server_options = [
        click.option("--host", default="127.0.0.1", show_default=True,
                     help="Address to listen on."),
        click.option("--port", type=click.IntRange(0, 65535), default=0,
                     help="Port; 0 (the default): a free one."),
        click.option("--threads", type=click.IntRange(min=0), default=0, metavar="N",
                     help="Threads that compute; 0 (the default): one per core."),
        click.option("--token", envvar="TACHYFITS_TOKEN", metavar="TEXT",
                     help="Token that clients must send. Default: made by `view`, and for "
                     "addresses other than loopback."),
        click.option("--name", "names", multiple=True, metavar="HOST",
                     help="Name by which clients may call the server, in the Host header."),
        click.option("--user-header", metavar="HEADER",
                     help="Header in which a reverse proxy names the user it has checked."),
        click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS",
                     help="Address of a reverse proxy that is believed. Default with "
                     "--user-header: this machine."),
        click.option("--origin", "origins", multiple=True, metavar="URL",
                     help="Origin of other pages that may read answers (CORS)."),
        click.option("--samp/--no-samp", default=None,
                     help="Let the page reach the SAMP hub of its own machine (TOPCAT, Aladin). "
                     "Default: on loopback addresses only."),
        click.option("--sidecars", type=click.FloatRange(min=0), default=0, metavar="GIB",
                     help="Build copies of large cubes in the cache folder, in the background, for "
                     "faster access: up to this size in all. Needs zarr."),
        click.option("--authority", default="tachyfits", show_default=True, metavar="NAME",
                     help="Authority of the identifiers of datasets in the Virtual Observatory."),
        click.option("--resolver", metavar="URL",
                     help="Service that knows positions of names, with {name} in the address. "
                     "Default: none; names are refused. Sesame of the CDS: "
                     "'https://cds.unistra.fr/cgi-bin/nph-sesame/-oI/SNV?{name}'."),
        click.option("--cone-host", "cone_hosts", multiple=True, metavar="HOST",
                     help="Host of catalogue services that the page may search around a position, "
                     "such as vizier.cds.unistra.fr. Default: none. A private address has to be "
                     "named itself."),
        click.option("--json", is_flag=True,
                     help="Print the link as a line of JSON to stdout when requests are taken."),
        click.option("--log/--no-log", default=False,
                     help="Write a line of JSON to stderr for each request."),
        click.option("--memory", type=click.IntRange(min=1), default=512, show_default=True,
                     metavar="MIB", help="Memory for answers, shared by all clients; images with "
                     "larger compressed tiles are refused."),
    ]  # fmt: skip
    return with_options(server_options)(command)


def run(paths: tuple[Path | str, ...], *, browser: bool, **values: Any) -> int:
    """Start a server and wait until it is stopped.

    ``browser``: open the page for one user. Other users of this machine can also connect to its
    loopback address, so clients need a token.
    """
    for library in SERVER:
        needed(library, "the server", extra="server")
    if values["sidecars"]:
        needed("zarr", "copies of cubes", extra="server")
    from tachyfits.server import GIBIBYTE, MEBIBYTE, Settings, is_loopback, serve

    token = values["token"]
    if token is None and values["user_header"] is None:
        if browser or not is_loopback(values["host"]):
            token = secrets.token_urlsafe(24)
        else:
            _warn_of_private(paths)
    # Other users can list the command line of the browser, so it gets a one-time token.
    first = secrets.token_urlsafe(24) if browser and token is not None else None
    proxies = values["proxies"]
    if values["user_header"] and not proxies:
        proxies = ("127.0.0.1", "::1")
    settings = Settings(
        paths=paths,
        token=token,
        first_token=first,
        user_header=values["user_header"],
        proxies=tuple(proxies),
        origins=tuple(values["origins"]),
        hosts=tuple(values["names"]),
        authority=values["authority"],
        resolver=values["resolver"],
        cone_hosts=tuple(values["cone_hosts"]),
        samp=is_loopback(values["host"]) if values["samp"] is None else values["samp"],
        threads=values["threads"],
        sidecar_bytes=int(values["sidecars"] * GIBIBYTE),
        cache_bytes=values["memory"] * MEBIBYTE,
    )

    # The page opens as many files as fit side by side.
    files = [isinstance(path, str) or not path.is_dir() for path in paths]
    count = len(paths) if browser and all(files) else 1
    view = f"#files={min(count, _BESIDE)}" if count > 1 else ""

    def started(link: str) -> None:
        link += view
        if values["json"]:
            click.echo(json_text({"link": link}))
        else:
            say(f"{link}  (Ctrl-C ends the server)")
        if browser:
            browser_link = (
                link if first is None else f"{link.partition('?')[0]}?token={first}{view}"
            )
            webbrowser.open(browser_link)

    serve(settings, values["host"], values["port"], started, values["log"])
    return 0


def _warn_of_private(paths: tuple[Path | str, ...]) -> None:
    """Warn if other users of this machine get access to private files."""
    for path in paths:
        if isinstance(path, str):
            say(
                "warning: every user of this machine can ask this server for what your credentials "
                "open\nhint: give --token TEXT, or use `tachyfits view`, which makes one"
            )
            continue
        needs = stat.S_IROTH | stat.S_IXOTH if path.is_dir() else stat.S_IROTH
        if os.name == "posix" and path.stat().st_mode & needs != needs:
            say(
                f"warning: {path}: not every user can read it, but every user of this machine can "
                "ask this server\nhint: give --token TEXT, or use `tachyfits view`, which makes one"
            )
