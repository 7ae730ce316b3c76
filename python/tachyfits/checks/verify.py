"""Checks of files against the Standard.

The engine has the rules and checksums; this module converts the findings to Python results.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import usage, warn_of
from tachyfits.base.sources import Source, given, name_of, read_source, regular_path
from tachyfits.base.whole_numbers import check_threads, whole_number

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress


@public
class Verification(Sequence["_core.Finding"]):
    """The findings of `verify`: a sequence, in the order of the file.

    Empty if the file follows the Standard.

    Attributes
    ----------
    file
        The name of the file.
    hdus
        Number of HDUs in the file.
    """

    def __init__(self, file: str, hdus: int, findings: Sequence[_core.Finding]) -> None:
        self.file = file
        self.hdus = hdus
        self._findings = tuple(findings)

    def _count(self, severity: str) -> int:
        return sum(1 + finding.repeats for finding in self if finding.severity == severity)

    @property
    def errors(self) -> int:
        """Number of rule violations."""
        return self._count("error")

    @property
    def warnings(self) -> int:
        """Number of legal but deprecated or probably unintended features."""
        return self._count("warning")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return self.errors == 0

    @overload
    def __getitem__(self, index: int) -> _core.Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_core.Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> _core.Finding | tuple[_core.Finding, ...]:
        return self._findings[index]

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[_core.Finding]:
        return iter(self._findings)

    def __repr__(self) -> str:
        lines = [f"{self.file}: {self.summary()}"]
        return "\n".join([*lines, *map(str, self)])

    def summary(self) -> str:
        """Return the numbers of HDUs, errors and warnings as text."""
        counts = (
            (self.hdus, "HDU", "HDUs"),
            (self.errors, "error", "errors"),
            (self.warnings, "warning", "warnings"),
        )
        return ", ".join(f"{n} {singular if n == 1 else many}" for n, singular, many in counts)


@public
def verify(
    source: Source,
    *,
    headers_only: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Verification:
    """Check a file against the FITS Standard 4.0; report each departure, its place and a remedy.

    Headers, layouts, values of tables, fill, checksums and bytes after the last HDU are checked.
    Checking continues after a finding, and the file is not changed. Data are read in one pass and
    in bounded memory, and only where a rule needs them.

    Parameters
    ----------
    source
        A path, the bytes of a file, or a file object, compressed or not, as in `tachyfits.open`.
    headers_only
        Check headers only, and read no data.
    threads
        Number of threads; 0: one per core. The findings do not depend on it.
    progress
        Called with (bytes done, total bytes); returning False cancels.

    Returns
    -------
    Verification
        A sequence of findings with ``errors``, ``warnings`` and ``ok``. Each finding has
        ``severity``, ``code``, ``hdu`` and ``card`` (from 0), ``keyword``, ``row`` and ``column``
        (from 1, as in FITS), ``offset``, ``expected``, ``found``, ``advice`` and ``section`` (of
        the Standard); ``repeats`` counts further findings of the same kind.

    Raises
    ------
    IoError
        The file cannot be read. Faults in its content are findings.

    Examples
    --------
    >>> import tachyfits as tf
    >>> found = tf.verify("cube.fits")
    >>> found.ok, len(found)
    (True, 0)
    >>> for one in tf.verify(b"SIMPLE  = T"):
    ...     print(one.severity, one.code, one.hdu)
    error end-missing 0
    warning not-checked 0
    """
    options: dict[str, Any] = {
        "headers_only": headers_only,
        "threads": check_threads(threads),
        "progress": progress,
    }
    opened = given(source)
    hdus, findings, notices = read_source(
        opened, lambda source, how: _core.verify(source, **how, **options)
    )
    warn_of(name_of(opened), notices)
    return Verification(name_of(opened), hdus, findings)


@public
class Fix(NamedTuple):
    """One repair of a file."""

    #: Code of the finding.
    code: str
    #: HDU (from 0), keyword, card, byte.
    place: str
    before: str
    after: str


@public
def repair(
    path: str | os.PathLike[str],
    *,
    sync: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> tuple[Fix, ...]:
    """Repair faults that need no guessing: the findings of `verify` that are ``fixable``.

    A repair changes how a header is written, never its meaning: the order and the fixed format of
    mandatory cards; missing PCOUNT and GCOUNT, where readers assume the defaults; misplaced WCSAXES
    and INHERIT; keywords in lower case if no other card has the name, exponent letters, TFORMn,
    TDISPn and XTENSION in lower case; a DATE of the form DD/MM/YY or with a Z, dates with a blank
    instead of the T; and the fill after headers and data. Checksums are updated if a header has
    changed; a wrong DATASUM stays wrong, because it shows that the data have changed.

    The file is changed in place or replaced by a new one, whichever writes less, completely or not
    at all.

    Parameters
    ----------
    path
        The file; it must not be compressed.
    sync
        Return only when the file would survive a power failure.
    threads
        Number of threads; 0: one per core.
    progress
        Called with (bytes done, total bytes); returning False cancels.

    Returns
    -------
    tuple of Fix
        The repairs: ``code``, ``place``, ``before``, ``after``; empty if nothing was repaired.

    Raises
    ------
    IoError
        The file cannot be read or written. It is then unchanged.
    FormatError
        The file is not a FITS file.

    Examples
    --------
    >>> import tachyfits as tf
    >>> tf.repair("cube.fits")
    ()
    """
    threads = check_threads(threads)
    name = regular_path(path)
    fixes, _, notices = _core.repair(name, sync=sync, threads=threads, progress=progress)
    warn_of(name, notices)
    return tuple(Fix(*fix) for fix in fixes)


@public
def update_checksums(
    path: str | os.PathLike[str],
    hdus: int | Iterable[int] | None = None,
    *,
    sync: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> tuple[int, ...]:
    """Write DATASUM and CHECKSUM of the current bytes into the headers of a file.

    Existing cards get the new values and keep their comments; new cards use blank cards if
    available. The file is changed completely or not at all.

    Parameters
    ----------
    path
        The file; it must not be compressed.
    hdus
        Number of an HDU, from 0, or several; None: all of them.
    sync
        Return only when the file would survive a power failure.
    threads
        Number of threads; 0: one per core.
    progress
        Called with (bytes done, total bytes); returning False cancels.

    Returns
    -------
    tuple of int
        Numbers of the HDUs.

    Raises
    ------
    IoError
        The file cannot be read or written. It is then unchanged.
    """
    threads = check_threads(threads)
    numbers: list[int] | None = None
    if hdus is not None:
        requested = list(hdus) if isinstance(hdus, Iterable) else [hdus]
        numbers = [number for hdu in requested if (number := whole_number(hdu)) is not None]
        if len(numbers) < len(requested):
            raise usage(f"invalid hdus {hdus!r}: expected numbers of HDUs", "give integers, from 0")
    name = regular_path(path)
    stated, notices = _core.update_checksums(
        name, numbers, sync=sync, threads=threads, progress=progress
    )
    warn_of(name, notices)
    return tuple(stated)
