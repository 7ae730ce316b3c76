"""A process for the bench's own work with NumPy: `python -m bench.worker`, in the peers' Python.

It answers one JSON line on stdout for each on stdin: the name of a module and the arguments of its
`answer`. One process serves a whole run, since starting it costs more than most of its answers.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from bench import makers, operations, outputs, table_outputs

WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "makers": makers.answer,
    "operations": operations.answer,
    "outputs": outputs.answer,
    "table_outputs": table_outputs.answer,
}


def main() -> None:
    """Answer until end of input."""
    for line in sys.stdin:
        module, arguments = json.loads(line)
        try:
            answer = {"answer": WORK[module](*arguments)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
