"""Rows whose time lies in good time intervals, as in ``gtifilter`` of FTOOLS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.text.units import asked_unit, fits_unit

if TYPE_CHECKING:
    from tachyfits.header.cards import Header
    from tachyfits.table.columns import TableColumn


def inside(
    times: NDArray[np.float64], starts: NDArray[np.float64], stops: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return a mask of the times in any of the intervals; both ends belong to an interval.

    NaN, as a time or as an end, lies in no interval. Intervals may overlap.

    >>> inside(np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, 3.0]), np.array([2.0, 4.0]))
    array([False,  True, False,  True])
    """
    proper = stops >= starts
    order = np.argsort(starts[proper], kind="stable")
    begin = starts[proper][order]
    # Latest end of all intervals that have begun, because intervals may overlap.
    end = np.maximum.accumulate(stops[proper][order])
    if not begin.size:
        return np.zeros(times.shape, np.bool_)
    place = np.searchsorted(begin, times, side="right") - 1
    result: NDArray[np.bool_] = (place >= 0) & (times <= end[place])
    return result


def clock_offset(events: Header, intervals: Header) -> float:
    """Return the seconds to add to interval times for the clock of the events (TIMEZERO).

    Raises
    ------
    UsageError
        The clocks differ in MJDREF or TIMESYS.
    """
    for name, clock in (("MJDREF", _reference), ("TIMESYS", _system)):
        ours, theirs = clock(events), clock(intervals)
        if ours is not None and theirs is not None and ours != theirs:
            raise usage(
                f"invalid intervals with {name} {theirs}: expected {ours}, as the events have",
                "convert the times of one table to the clock of the other",
            )
    return _zero(intervals) - _zero(events)


def _zero(header: Header) -> float:
    """Return TIMEZERO in seconds; TIMEUNIT has its unit."""
    zero = _split(header, "TIMEZERO", "TIMEZERI")
    if not zero:
        return 0.0
    text = str(header.get("TIMEUNIT", "s")).strip() or "s"
    unit = fits_unit(text, ("s",))
    if unit is None or not unit.is_equivalent(asked_unit("s")):
        raise usage(f"invalid TIMEUNIT {text!r}: expected a unit of time", "correct the card")
    return zero * float(unit.to("s"))


def _split(header: Header, name: str, integer: str) -> float:
    """Return a number from one card, or from two: its integer part and its fraction."""
    if name in header:
        return float(header[name])
    fraction = integer[:-1] + "F"
    return float(header.get(integer, 0.0)) + float(header.get(fraction, 0.0))


def _reference(header: Header) -> float | None:
    if "MJDREF" not in header and "MJDREFI" not in header:
        return None
    return _split(header, "MJDREF", "MJDREFI")


def _system(header: Header) -> str | None:
    return str(header["TIMESYS"]).strip().upper() if "TIMESYS" in header else None


def seconds_per_unit(column: TableColumn, header: Header) -> float:
    """Return the factor from a column of times to seconds; its unit defaults to TIMEUNIT."""
    text = (column.unit or str(header.get("TIMEUNIT", "s"))).strip() or "s"
    unit = fits_unit(text, ("s",))
    is_time = unit is not None and unit.is_equivalent(asked_unit("s"))
    if unit is None or not is_time or column.dtype.kind not in "fiu" or column.shape:
        raise usage(
            f"column {column.name!r} in {text!r} of type {column.dtype} is not a time",
            either('name a column of times: time="TIME"', "name one: --time TIME"),
        )
    return float(unit.to("s"))
