"""The header of a file open for editing: a mutable mapping."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, not_found, placing, usage, warn
from tachyfits.header.cards import (
    COMMENTARY,
    Card,
    Cards,
    Header,
    HeaderDict,
    is_pattern,
    keyword_text,
    looked_up,
    matching,
)
from tachyfits.header.given import check_card_text, lines_of

#: Names, units and formats, which readers take from a single card.
_ONE_CARD = re.compile(r"(TTYPE|TUNIT|TDISP)[1-9]\d*|EXTNAME")


if TYPE_CHECKING:
    _Base = MutableMapping[str, Any]
else:

    class _Base(MutableMapping, HeaderDict):
        """A mutable mapping that is also a dict, for libraries that require one."""

        # `MutableMapping.items` gives commentary as a single value.
        items = HeaderDict.items

        def __ior__(self, other: Any) -> Any:
            self.update(other)
            return self


@public
class EditedHeader(_Base):
    """A header open for editing: ``header["OBJECT"] = value`` or ``= value, comment``.

    An existing card changes in place and keeps its comment unless a new one is set; a new card
    follows the others. COMMENT and HISTORY are appended, a line or a list of lines, and read as a
    sequence of all lines. ``del`` removes every card of a keyword, in any case, or of a pattern
    (``del header["ESO TPL *"]``). Structural cards cannot be changed. A long comment uses the
    blanks of the fixed format, and continues in CONTINUE cards where the Standard allows it
    (strings under keywords that are not reserved); elsewhere it is cut, with a `TachyfitsWarning`.
    """

    def __init__(self, core: _core.Editor, index: int, where: str) -> None:
        self._core, self._index, self._place = core, index, where

    def _where(self) -> str:
        return self._place

    def _now(self) -> Header:
        return Header(self._core.cards(self._index, Card))

    @property
    def cards(self) -> Cards:
        """Every card, in order."""
        return self._now().cards

    @property
    def comments(self) -> EditedComments:
        """Comments by keyword: ``header.comments["BUNIT"] = text`` leaves the value unchanged."""
        return EditedComments(self)

    def _ipython_key_completions_(self) -> list[str]:
        return self._now()._ipython_key_completions_()

    @placing
    def __getitem__(self, keyword: str) -> Any:
        return self._now()[keyword]

    @placing
    def __setitem__(self, keyword: str, value: Any) -> None:
        keyword = self._meant(keyword)
        cards = [_card(keyword, each) for each in _lines(keyword, value)]
        for name, before, now in self._core.set_cards(self._index, cards):
            self._warn_if_cut(name, cards[0][2] or before, now)

    @placing
    def _comment(self, keyword: str) -> str:
        return self._now().comments[keyword]

    @placing
    def _set_comment(self, keyword: str, comment: str) -> None:
        if not isinstance(comment, str):
            raise usage(
                f"invalid comment {comment!r} of {keyword}: expected text",
                "give text; '' removes the comment",
            )
        now = self._core.comment_card(self._index, self._meant(keyword), comment)
        if now is None:
            raise not_found(f"no keyword {keyword!r} with a value", "list the cards: .cards")
        self._warn_if_cut(keyword, comment, now)

    def _warn_if_cut(self, keyword: str, comment: str, now: str) -> None:
        expected = comment.strip()
        if now != expected and expected.startswith(now):
            warn(
                f"{self._where()}: the comment of {keyword} is cut to fit the card, "
                f"{now!r}; it was {expected!r}"
            )

    @placing
    def __delitem__(self, keyword: str) -> None:
        if is_pattern(keyword_text(keyword)):
            for name in dict.fromkeys(card.keyword for card in matching(self.cards, keyword)):
                self._core.delete_cards(self._index, name)
            return
        if not self._core.delete_cards(self._index, self._meant(keyword)):
            raise not_found(f"no keyword {keyword!r}", "list the cards: .cards")

    def _meant(self, keyword: str) -> str:
        """Return a keyword, or the HIERARCH keyword that it refers to if no card has it."""
        return self._core.meant_keyword(self._index, keyword_text(keyword))

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __contains__(self, keyword: object) -> bool:
        return keyword in self._now()

    @placing
    def rename(self, keyword: str, to: str) -> None:
        """Rename the first card of a keyword; value, comment and position stay."""
        new, name = _written(to), looked_up(to)
        _refuse_sums(new)
        if looked_up(keyword) in COMMENTARY:
            raise usage(
                f"cannot rename {keyword!r}: its cards have text and no value",
                "delete them, then set the text under the other keyword",
            )
        if name in self and name not in COMMENTARY and name != looked_up(keyword):
            raise usage(
                f"cannot rename {keyword!r} to {to!r}: the header has a card {name}",
                "delete it first, or choose another keyword",
            )
        if _ONE_CARD.fullmatch(new):
            check_card_text(new, self.get(keyword))
        if not self._core.rename_card(self._index, self._meant(keyword), new):
            raise not_found(f"no keyword {keyword!r}", "list the cards: .cards")

    @placing
    def insert(self, before: str, keyword: str, value: Any) -> None:
        """Insert a card before the first card of another keyword."""
        names = [card.keyword.upper() for card in self.cards]
        name = looked_up(before)
        if name not in names:
            raise not_found(f"no keyword {before!r}", "list the cards: .cards")
        self._core.insert_cards(self._index, names.index(name), [_card(keyword, value)])

    def __repr__(self) -> str:
        return repr(self._now())


class EditedComments(Mapping[str, str]):
    """The comments of a header open for editing, by keyword."""

    def __init__(self, header: EditedHeader) -> None:
        self._header = header

    def __getitem__(self, keyword: str) -> str:
        return self._header._comment(keyword)

    def __setitem__(self, keyword: str, comment: str) -> None:
        self._header._set_comment(keyword, comment)

    def __iter__(self) -> Iterator[str]:
        return iter(self._header)

    def __len__(self) -> int:
        return len(self._header)


def _written(keyword: str) -> str:
    """Return a keyword as written in a card.

    Keywords of the Standard are in upper case; longer ones keep their own conventions.

    >>> [_written(word) for word in (" object", "hierarch ESO a", "Longer Words")]
    ['OBJECT', 'HIERARCH ESO a', 'Longer Words']
    """
    name = keyword_text(keyword).strip()
    if len(name) <= 8:
        return name.upper()
    return f"HIERARCH {name[9:]}" if name[:9].upper() == "HIERARCH " else name


def _lines(keyword: str, value: Any) -> Sequence[Any]:
    """Return one value per card: several lines of COMMENT and HISTORY are separate cards."""
    lines = lines_of(value) if looked_up(keyword) in COMMENTARY else None
    return [value] if lines is None else lines


def _card(keyword: str, value: Any) -> tuple[str, Any, str]:
    name = _written(keyword)
    if is_pattern(name):
        raise usage(f"cannot set {keyword!r}: it is a pattern", "set the keywords one by one")
    _refuse_sums(name)
    plain = value[0] if isinstance(value, tuple) and value else value
    if _ONE_CARD.fullmatch(name):
        check_card_text(name, plain)
    comment = ""
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], str):
            raise usage(f"{name} = {value!r}", "give a value, or a value and its comment as text")
        value, comment = value
    return name, value.item() if isinstance(value, np.generic) else value, comment


def _refuse_sums(keyword: str) -> None:
    if keyword in ("CHECKSUM", "DATASUM"):
        raise usage(
            f"cannot set {keyword}: it is computed whenever the file is written",
            "update the sums: " + either("update_checksums()", "tachyfits checksum FILE --update"),
        )
