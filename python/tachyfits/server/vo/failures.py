"""Failures in the format of the standards: a label, a colon and a detail.

SODA has its own labels; DataLink and SIA use the labels of DALI's faults.
"""

from __future__ import annotations

import logging

from tachyfits.server.datasets import Datasets
from tachyfits.server.errors import RequestError, described

log = logging.getLogger("tachyfits.server")


class MultiValued(RequestError):
    """A single-valued parameter has several values."""

    label = "MultiValuedParamNotSupported"


class NoPixels(RequestError):
    """A cutout without pixels: status 204 in SODA."""

    status = 204
    label = "UsageError"


#: Labels of SODA (section 4.2) by status; others are "Error".
_LABELS = {
    400: "UsageError", 404: "UsageError", 408: "UsageError", 409: "ServiceUnavailable",
    413: "UsageError", 503: "ServiceUnavailable",
}  # fmt: skip
#: Maximum length of a detail, which may quote the client's input.
_LONGEST = 600

#: Faults of DataLink and SIA.
_FAULTS = {
    400: "UsageFault", 404: "NotFoundFault", 408: "UsageFault", 409: "TransientFault",
    413: "UsageFault", 503: "TransientFault",
}  # fmt: skip


def failure(datasets: Datasets, error: Exception) -> tuple[int, str]:
    """Return the status and the text of a failure with SODA's label; IDs replace paths."""
    status, _, text = described(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    label = getattr(error, "label", _LABELS.get(status, "Error"))
    return status, f"{label}: {_detail(datasets, text)}"


def fault(datasets: Datasets, error: Exception) -> tuple[int, str]:
    """Return the status and the text of a failure with the label of a DALI fault."""
    status, _, text = described(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    label = "FatalFault" if status == 500 else _FAULTS.get(status, "DefaultFault")
    return status, f"{label}: {_detail(datasets, text)}"


def _detail(datasets: Datasets, text: str) -> str:
    # Drop hints, which refer to parameters of /api/v1.
    detail = datasets.hidden(text.partition("\nhint: ")[0])
    return detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]}..."
