"""Options of `tachyfits.write` and `Editor.insert` about HDUs, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tachyfits.base.errors import listed, usage
from tachyfits.base.hints import name_hint
from tachyfits.base.output import ImageOptions
from tachyfits.base.progress import Progress
from tachyfits.base.whole_numbers import check_threads
from tachyfits.header.given import Cards, check_card_text
from tachyfits.writing.compression import Compression
from tachyfits.writing.images import cards_given

#: Options of a table, and of a single image.
OF_TABLES = ("columns", "units", "nulls", "descriptions", "kind", "forms")
OF_IMAGES = ("dtype", "scaling", "blank")
#: Options of an image of a file, or of a computed image.
OF_FILE_IMAGES = (*OF_IMAGES, "drop_degenerate")


class DataOptions(ImageOptions, total=False):
    """Keyword arguments of `tachyfits.write` about the data: an image, or a table."""

    columns: str | Sequence[str] | None
    units: Mapping[str, str] | None
    nulls: Mapping[str, int] | None
    descriptions: Mapping[str, str] | None
    kind: str | None
    forms: Mapping[str, str] | None


@dataclass(frozen=True)
class Options:
    """Options for converting data to HDUs; see `tachyfits.write`.

    Attributes
    ----------
    place
        Number of the data in a list of HDUs, or None.
    """

    header: Any = None
    name: str | None = None
    dtype: Any = None
    scaling: tuple[float, float] | None = None
    blank: int | None = None
    drop_degenerate: bool = False
    compress: Compression | str | None = None
    columns: str | Sequence[str] | None = None
    units: Mapping[str, str] | None = None
    nulls: Mapping[str, int] | None = None
    descriptions: Mapping[str, str] | None = None
    kind: str | None = None
    forms: Mapping[str, str] | None = None
    threads: int = 0
    progress: Progress | None = None
    place: int | None = None

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Return options by name; raise UsageError for an unknown one."""
        *names, _ = (field.name for field in fields(cls))
        unknown = next((option for option in given if option not in names), None)
        if unknown is not None:
            hint = name_hint("write", unknown) or f"the options are {listed(names[:12])}"
            raise usage(f"invalid option {unknown}=", hint)
        options = cls(**given)
        check_card_text("name", options.name)
        return options

    def among(self, names: Sequence[str]) -> list[str]:
        """Return the names of options that are set."""
        values = ((name, getattr(self, name)) for name in names)
        return [name for name, value in values if value is not None and value is not False]

    def of_item(self, place: int, header: Any) -> Options:
        """Return the options of an HDU of a list, with its header."""
        return replace(self, place=place, header=header)

    @property
    def run(self) -> dict[str, Any]:
        """Threads and progress, as keyword arguments of the engine."""
        return {"threads": check_threads(self.threads), "progress": self.progress}

    @property
    def pixel(self) -> str | None:
        """Type of the pixels, by the engine's name."""
        return None if self.dtype is None else str(np.dtype(self.dtype).name)

    @property
    def name_cards(self) -> Cards:
        """The card of the name, or none."""
        return [] if self.name is None else [("EXTNAME", self.name, "")]

    @property
    def cards(self) -> Cards:
        """Cards of an image: those of ``header``, and the name."""
        cards = cards_given(self.header)
        if self.name is None:
            return cards
        return [*(card for card in cards if card[0].upper() != "EXTNAME"), *self.name_cards]
