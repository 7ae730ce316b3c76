"""IRAF attributes (WATn_mmm): the polynomials of TNX and ZPX, checked before WCSLIB reads them.

WCSLIB copies the type name into eight bytes, and trusts the orders of a polynomial.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

#: Characters of a record.
_RECORD = 68
#: A number at the end of a record.
_LAST_NUMBER = re.compile(r"(?<![\w.])([-+]?)([\d.]+(?:[eEdD][-+]?\d+)?)$")
_FORM = re.compile(r'wtype=(?:tnx|zpx) [^"]*"([^"]*)"')
#: Parameters of the projection ZPN, of which WCSLIB supports 30.
_PARAMETER = re.compile(r"projp(\d*)=(\S*)")
#: Maximum order of a polynomial; IRAF's are at most 10.
_MOST_ORDER = 20


def attributes_problem(text: str) -> str | None:
    """Return the reason why WCSLIB cannot read attributes that it supports; None if it can.

    >>> attributes_problem('wtype=tnx axtype=ra lngcor = "3. 1. 1. 2. -1. 1. -1. 1. 0.5 "')
    >>> attributes_problem('wtype=tnx axtype=ra lngcor = "3. 2. 2. 2. -1. 1. -1. 1. 0.5 "')
    'a polynomial of 3 coefficients, found 1'
    """
    match = _FORM.match(text)
    if match is None:
        return 'wtype=tnx or zpx, and a polynomial in quotation marks ("")'
    parameters = _PARAMETER.findall(text)
    if len(parameters) > 30 or not all(n.isdigit() and int(n) < 30 for n, _ in parameters):
        return "projp0 to projp29"
    numbers = [_number(word) for word in (*match[1].split(), *(value for _, value in parameters))]
    if None in numbers or len(match[1].split()) < 9:
        return "finite numbers: type, orders, kind of cross terms, ranges and coefficients"
    kind, *orders, cross = (number or 0.0 for number in numbers[:4])
    is_supported = kind in (1, 2, 3) and cross in (0, 1, 2)
    if not is_supported or not all(n.is_integer() and 0 < n <= _MOST_ORDER for n in orders):
        return f"a known type of polynomial, and orders up to {_MOST_ORDER}"
    count = len(match[1].split()) - 8
    expected = _terms(int(orders[0]), int(orders[1]), int(cross))
    return None if count >= expected else f"a polynomial of {expected} coefficients, found {count}"


def has_lost_terms(text: str) -> bool:
    """Return whether a coefficient follows one that is 0, where WCSLIB stops reading."""
    match = _FORM.match(text)
    coefficients = [_number(word) for word in match[1].split()[8:]] if match else []
    return 0.0 in coefficients and any(coefficients[coefficients.index(0.0) :])


def _terms(x: int, y: int, cross: int) -> int:
    """Return the number of coefficients: without, with all, or with half of the cross terms."""
    pairs = [(m, n) for n in range(y) for m in range(x)]
    if cross == 0:
        return sum(not (m and n) for m, n in pairs)
    return len(pairs) if cross == 1 else sum(m + n <= max(x, y) - 1 for m, n in pairs)


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def attribute_text(texts: Sequence[str]) -> str:
    """Return the text of records, with one blank between words."""
    return re.sub(" +", " ", "".join(record.ljust(_RECORD) for record in texts).strip())


def attribute_records(text: str) -> list[str]:
    """Return the records of a text in a form that WCSLIB's parser reads.

    IRAF breaks the text every 68 characters. WCSLIB refuses records that begin with a blank, and
    reads a second blank as another number: each run of blanks becomes one, and a number at the end
    of a record before a blank gets a leading 0.

    >>> attribute_records(66 * "x" + " 1 2")
    ['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx 0', '1 2']
    """
    records = []
    while len(text) > _RECORD:
        if text[_RECORD] == " ":
            padded = _LAST_NUMBER.sub(r"\g<1>0\2", text[:_RECORD])
            text = padded + text[_RECORD:]
        records.append(text[:_RECORD])
        text = text[_RECORD:]
    return [*records, text]
