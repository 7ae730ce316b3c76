"""Information about this build: its rules, codes, functions and statistics.

>>> import tachyfits as tf
>>> tf.info.build()["tier"] in tf.info.build()["tiers"]
True
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tachyfits import _core

__all__ = ["Rule", "Statistic", "build", "error_codes", "functions", "rules", "statistics"]


class Rule(NamedTuple):
    """A rule that `tachyfits.verify` checks."""

    #: Stable name, also that of findings.
    code: str
    #: "error" or "warning".
    severity: str
    #: Section of the FITS Standard 4.0.
    section: str
    #: Description of the finding.
    meaning: str
    #: Hint: the next step.
    advice: str


class Statistic(NamedTuple):
    """A statistic of pixels, as listed by `statistics`."""

    #: Name for ``statistic=`` and ``--statistic``.
    name: str
    #: Definition in one line.
    meaning: str
    #: Whether it has the unit of the pixels; others are counts, indices and ratios.
    has_unit: bool
    #: Whether `Image.stats` (along axes) and `tachyfits stats` report it.
    is_standard: bool
    #: Whether it is an order statistic, which takes several passes.
    is_order: bool


def build() -> dict[str, Any]:
    """Return version, vector tier and available tiers, cores, compiler and profile."""
    return _core.build_info()


def rules() -> tuple[Rule, ...]:
    """Return the rules of `tachyfits.verify`; `error_codes` has the errors of reading.

    Examples
    --------
    >>> import tachyfits as tf
    >>> {rule.code: rule.section for rule in tf.info.rules()}["date-form"]
    '9.1.1'
    """
    return tuple(Rule(*row) for row in _core.verify_rules())


def error_codes() -> list[tuple[str, str, str]]:
    """Return code, kind and meaning of every error and warning.

    Examples
    --------
    >>> import tachyfits as tf
    >>> [kind for code, kind, meaning in tf.info.error_codes() if code == "io-not-found"]
    ['io']
    """
    return _core.error_codes()


def functions() -> list[tuple[tuple[str, ...], str, str]]:
    """Return the functions of `tachyfits.evaluate`: names, arguments and meaning of each.

    Examples
    --------
    >>> import tachyfits as tf
    >>> [meaning for names, arguments, meaning in tf.info.functions() if "log" in names]
    ['natural logarithm; NaN below 0, -inf at 0']
    """
    return _core.expression_functions()


def statistics() -> tuple[Statistic, ...]:
    """Return the statistics that reduce pixels; percentiles are available in addition.

    Examples
    --------
    >>> import tachyfits as tf
    >>> [statistic.name for statistic in tf.info.statistics() if statistic.is_order]
    ['median', 'mad']
    """
    return tuple(Statistic(*row) for row in _core.statistics())
