"""Objects and folders of servers: their names, sizes and versions."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.base.whole_numbers import whole_number


@dataclass(frozen=True)
class RemoteEntry:
    """An object of a server, or a folder of objects.

    Attributes
    ----------
    url
        URL of the object, for `open`, or of a folder, for `remote_entries`.
    name
        Last part of the URL.
    is_folder
        Whether it is a folder, which has no size, time or version.
    size
        Size in bytes.
    modified
        Time of the last change; None if the server does not report it.
    version
        Text that changes with the content, from the ETag or the time; None without both.
    """

    url: str
    name: str
    is_folder: bool
    size: int
    modified: datetime.datetime | None
    version: str | None


def remote_entry(url: str) -> RemoteEntry:
    """Return the server's current information about an object, with one request.

    Parameters
    ----------
    url
        URL of a file, as for `open`: https, s3, gs, az or abfss.

    Raises
    ------
    UsageError
        The argument is not a URL.
    IoError
        The object does not exist, or the server refuses or fails. Credentials are those of the
        environment, as for `open`.

    Examples
    --------
    >>> import tachyfits as tf
    >>> tf.remote_entry("cube.fits")
    Traceback (most recent call last):
    ...
    tachyfits.UsageError: invalid URL 'cube.fits': expected https://..., s3://..., gs://... ...
    """
    checked = _url(url)
    return _entry(checked, _core.remote_entry(checked))


def remote_entries(url: str, most: int = 1000) -> list[RemoteEntry]:
    """Return the objects and folders in a folder of an object store, in the order of the store.

    Parameters
    ----------
    url
        URL of a bucket, or of a folder in it: s3, gs, az or abfss.
    most
        Maximum number of entries to return.

    Raises
    ------
    UsageError
        The argument is not a URL.
    IoError
        The store refuses or fails, or it is an HTTP server, which has no lists.

    Examples
    --------
    >>> import tachyfits as tf
    >>> [entry.name for entry in tf.remote_entries("s3://survey/cubes")]  # doctest: +SKIP
    ['m51.fits', 'm101.fits']
    """
    checked = _url(url)
    count = whole_number(most, least=1)
    if count is None:
        raise usage(f"invalid most {most!r}: expected a whole number above 0", "leave it out")
    folder = checked.rstrip("/")
    entries = _core.remote_entries(folder, count)
    return [_entry(f"{folder}/{fields[0]}", fields) for fields in entries]


def _url(text: str) -> str:
    # Lone surrogates cannot be encoded in UTF-8 for the engine.
    is_text = (
        isinstance(text, str) and "://" in text and text == text.encode(errors="replace").decode()
    )
    if not is_text or _core.url_name(text) is None:
        raise usage(
            f"invalid URL {text!r}: expected https://..., s3://..., gs://... or az://...",
            "use a path with tachyfits.open",
        )
    return text


def _entry(url: str, fields: tuple[str, bool, int, int, str | None]) -> RemoteEntry:
    name, is_folder, size, modified, version = fields
    last = (_core.url_name(url) or url).rstrip("/").rpartition("/")[2]
    time = datetime.datetime.fromtimestamp(modified, datetime.timezone.utc) if modified else None
    return RemoteEntry(url, name or last, is_folder, size, time, version)
