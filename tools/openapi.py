"""Write docs/reference/openapi.json, which describes the HTTP interface of the server.

`python tools/openapi.py --check` says whether the file is up to date, as a test does too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

FILE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "openapi.json"


def description() -> str:
    """Return the text of the file."""
    app = create_app(Settings(paths=()))
    return json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or compare it."""
    if "--check" in sys.argv[1:]:
        if FILE.exists() and FILE.read_text(encoding="utf-8") == description():
            return 0
        print("docs/reference/openapi.json is out of date: python tools/openapi.py")
        return 1
    FILE.write_text(description(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
