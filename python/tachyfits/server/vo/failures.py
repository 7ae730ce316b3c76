"""Failures as the standards answer them: a label, and a detail after a colon.

SODA has labels of its own; DataLink and SIA use those of DALI's faults.
"""

from __future__ import annotations

import logging

from tachyfits.server.datasets import Datasets
from tachyfits.server.errors import RequestError, described

log = logging.getLogger("tachyfits.server")


class MultiValued(RequestError):
    """A parameter has several values where one is expected."""

    label = "MultiValuedParamNotSupported"


class NoPixels(RequestError):
    """A cutout without any pixel: 204 in SODA."""

    status = 204
    label = "UsageError"


#: Labels of SODA (section 4.2) by status; others are "Error".
_LABELS = {
    400: "UsageError", 404: "UsageError", 408: "UsageError", 409: "ServiceUnavailable",
    413: "UsageError", 503: "ServiceUnavailable",
}  # fmt: skip
#: Characters of a detail, which may repeat what the client sent.
_LONGEST = 600

#: Faults of DataLink and SIA.
_FAULTS = {
    400: "UsageFault", 404: "NotFoundFault", 408: "UsageFault", 409: "TransientFault",
    413: "UsageFault", 503: "TransientFault",
}  # fmt: skip


def failure(datasets: Datasets, error: Exception) -> tuple[int, str]:
    """Return the status and the text of a failure, with SODA's label; paths become IDs."""
    status, _, text = described(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    label = getattr(error, "label", _LABELS.get(status, "Error"))
    return status, f"{label}: {_detail(datasets, text)}"


def fault(datasets: Datasets, error: Exception) -> tuple[int, str]:
    """Return the status and the text of a failure, with the label of a fault of DALI."""
    status, _, text = described(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    label = "FatalFault" if status == 500 else _FAULTS.get(status, "DefaultFault")
    return status, f"{label}: {_detail(datasets, text)}"


def _detail(datasets: Datasets, text: str) -> str:
    # Hints name parameters of /api/v1, which the protocols do not have.
    found = datasets.hidden(text.partition("\nhint: ")[0])
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}..."
