"""Header: cards as a mapping by keyword.

It shows the file's cards in order; the engine parses them. Undefined values are None. A repeated
keyword gives its first card, and ``cards`` has all of them. COMMENT, HISTORY and the blank keyword
give all their lines, and a pattern gives a header of the matching cards.
"""

from __future__ import annotations

import html
import re
from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, listed, not_found, usage, warn
from tachyfits.base.hints import no_attribute

if TYPE_CHECKING:
    import astropy.io.fits
    from typing_extensions import Self

    from tachyfits import _core

#: Keywords of text-only cards, which may repeat.
COMMENTARY = ("", "COMMENT", "HISTORY")


def looked_up(keyword: str) -> str:
    """Return a keyword for lookup: in upper case, long ones without the word HIERARCH.

    >>> [looked_up(word) for word in ("exptime", "HIERARCH ESO DET DIT", "HIERARCH")]
    ['EXPTIME', 'ESO DET DIT', 'HIERARCH']
    """
    name = keyword_text(keyword).strip().upper()
    rest = name.removeprefix("HIERARCH ").lstrip()
    return rest if " " in rest or len(rest) > 8 else name


def meant_keyword(cards: Iterable[Card], keyword: str) -> str:
    """Return the keyword, in upper case, of the cards that a keyword refers to.

    A short word without a card refers to a HIERARCH card.

    >>> meant_keyword([Card("HIERARCH a.b", 1), Card("NAXIS", 2)], "a.b")
    'HIERARCH A.B'
    """
    name, names = looked_up(keyword), {card.keyword.upper() for card in cards}
    hierarch = f"HIERARCH {name}"
    return hierarch if hierarch in names and name not in names else name


def keyword_text(keyword: Any) -> str:
    """Return a keyword; raise UsageError unless it is text."""
    if not isinstance(keyword, str):
        raise usage(
            f"invalid keyword {keyword!r}: expected text",
            "use header.cards to find cards by number",
        )
    return keyword


class _Fields(NamedTuple):
    keyword: str
    value: Any
    comment: str = ""


class Commentary(Sequence[str]):
    """The lines of a commentary keyword; equal to any sequence of the same lines.

    >>> lines = Header([("HISTORY", "cut out", ""), ("HISTORY", "smoothed", "")])["HISTORY"]
    >>> lines, lines[0], str(lines).splitlines() == list(lines)
    (['cut out', 'smoothed'], 'cut out', True)
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = list(lines)

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._lines[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return self._lines == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._lines))

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        return repr(self._lines)


def is_pattern(keyword: str) -> bool:
    """Return whether a keyword is a pattern: ``*`` any characters, ``?`` one, ``...`` no blanks."""
    return "*" in keyword or "?" in keyword or "..." in keyword


def matching(cards: Iterable[Card], pattern: str) -> list[Card]:
    """Return the cards whose keyword matches a pattern, in any case.

    >>> cards = [Card("NAXIS", 2), Card("NAXIS1", 9), Card("ESO DET DIT", 1.5)]
    >>> [[card.value for card in matching(cards, each)] for each in ("naxis*", "NAXIS?", "eso *")]
    [[2, 9], [9], [1.5]]
    """
    regex = re.escape(looked_up(pattern).removeprefix("HIERARCH ").strip())
    for sign, meaning in ((r"\.\.\.", r"\S*"), (r"\*", ".*"), (r"\?", ".")):
        regex = regex.replace(sign, meaning)
    is_it = re.compile(regex, re.DOTALL).fullmatch
    return [card for card in cards if is_it(card.keyword.upper().removeprefix("HIERARCH "))]


@public
class Card(_Fields):
    """One line of a header. A commentary card has its text as the value.

    A card read from a file keeps its bytes, so that a new file has it unchanged, to the last digit
    of a number and the last byte outside ASCII.
    """

    _records: bytes | None = None

    def _replace(self, /, **changes: Any) -> Card:
        new = super()._replace(**changes)
        new.__dict__.update(self.__dict__)
        return new


@public
class Cards(Sequence[Card]):
    """The cards of a header, in the order of the file, created on access.

    Equal to any sequence of the same cards. A slice is a tuple.

    Examples
    --------
    >>> cards = Header([("BUNIT", "Jy/beam", ""), ("BLANK", None, "")]).cards
    >>> len(cards), cards[-1].keyword
    (2, 'BLANK')
    """

    def __init__(self, header: Header) -> None:
        self._header = header

    def __len__(self) -> int:
        core = self._header._core
        return len(self._header._cards if core is None else core)

    @overload
    def __getitem__(self, index: int) -> Card: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Card, ...]: ...
    def __getitem__(self, index: int | slice) -> Card | tuple[Card, ...]:
        core = self._header._core
        if isinstance(index, slice):
            return self._header._cards[index]
        try:
            place = range(len(self))[index]
        except TypeError as error:
            hint = either("use header.card(keyword) to find a card by keyword")
            raise usage(f"invalid card {index!r}: expected a number", hint) from error
        except IndexError as error:
            hint = f"the header has {len(self)}, counted from 0"
            raise not_found(f"{self._header._where}no card {index}", hint) from error
        return self._header._cards[place] if core is None else Card(*core.card_at(place))

    def __iter__(self) -> Iterator[Card]:
        return iter(self._header._cards)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._header._cards)

    def __repr__(self) -> str:
        return repr(self._header._cards)


class HeaderDict(dict[Any, Any]):
    """A dict whose entries come from the methods of its subclass.

    `astropy.io.fits.Header` and others read the values of a dict, but only the names of any other
    mapping. The storage of dict has one key, None, so that C code that bypasses these methods fails
    instead of reading an empty dict.
    """

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return a dict with the single key None."""
        new = super().__new__(cls)
        dict.__setitem__(new, None, None)
        return new

    # Views, and the methods of dict that Mapping lacks.

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """Return the keywords."""
        return KeysView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Return the values; repeated keywords give the first one."""
        return ValuesView(self)

    def copy(self) -> dict[str, Any]:
        """Return the values by keyword as a new dict."""
        return dict(self)

    def __or__(self, other: Any) -> Any:
        return dict(self) | other

    def __ror__(self, other: Any) -> Any:
        return other | dict(self)

    def __reversed__(self) -> Iterator[str]:
        return iter([*self][::-1])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Return pairs of keyword and value; a commentary keyword has a pair for each line."""
        return _Items(self)


class _Items(ItemsView[str, Any]):
    """Pairs of keyword and value; commentary keywords have a pair for each line, as in astropy."""

    _mapping: Mapping[str, Any]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for keyword in self._mapping:
            value = self._mapping[keyword]
            if isinstance(value, Commentary):
                yield from ((keyword, line) for line in value)
            else:
                yield keyword, value

    def __len__(self) -> int:
        return sum(1 for _ in self)


@public
class Header(HeaderDict):
    """The cards of one HDU: a mapping from keyword (any case) to value.

    It is immutable. ``astropy.io.fits.Header(header)`` copies its keywords and values; `to_astropy`
    also copies the comments.

    Parameters
    ----------
    cards
        (keyword, value, comment) in order.
    raw
        The header's blocks as stored, if it comes from a file.

    Examples
    --------
    >>> header = Header([("BUNIT", "Jy/beam", "unit of the pixels"), ("BLANK", None, "")])
    >>> header["bunit"], header["BLANK"], header.get("BMAJ", 0.0)
    ('Jy/beam', None, 0.0)
    >>> list(header["B*"])
    ['BUNIT', 'BLANK']
    >>> header.comments["BUNIT"]
    'unit of the pixels'
    """

    #: Prefix of messages: the HDU and the file of the header, and a colon.
    _where = ""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            message = no_attribute("Header", name, known=dir(type(self)))
            raise AttributeError(message, name=name, obj=self)

    def __init__(self, cards: Iterable[tuple[str, Any, str]], *, raw: bytes | None = None) -> None:
        self._core: _core.Header | None = None
        self._raw = raw
        self._cards = tuple(card if type(card) is Card else Card(*card) for card in cards)

    @classmethod
    def of_file(cls, core: _core.Header, where: str) -> Header:
        """Return the header of an HDU; its cards are loaded into Python on access.

        The engine looks keywords up, because a file may have very many cards.
        """
        header = cls.__new__(cls)
        header._core = core
        header._where = f"{where}: "
        return header

    @cached_property
    def _cards(self) -> tuple[Card, ...]:
        assert self._core is not None
        return self._core.cards(Card)

    @cached_property
    def _raw(self) -> bytes | None:
        return None if self._core is None else self._core.raw()

    def __reduce__(self) -> tuple[object, ...]:
        return _made, (self._cards, self._raw)

    @cached_property
    def _first(self) -> dict[str, Card]:
        """First card of each keyword, by upper-case keyword."""
        first: dict[str, Card] = {}
        for card in self._cards:
            first.setdefault(card.keyword.upper(), card)
        return first

    @property
    def cards(self) -> Cards:
        """Every card in order, with duplicates and commentary."""
        return Cards(self)

    @property
    def comments(self) -> Mapping[str, str]:
        """Comments by keyword."""
        return _Comments(self)

    @property
    def raw(self) -> bytes | None:
        """Bytes of the header's blocks in the file; None for a header created in memory."""
        return self._raw

    def card(self, keyword: str) -> Card:
        """Return the first card of a keyword; UsageKeyError (a KeyError) if it is missing.

        A word of up to 8 characters without a card refers to a HIERARCH card.
        """
        card = self._found(keyword)
        if card is None:
            problem = f"{self._where}the header has no keyword {keyword!r}"
            raise not_found(problem, either("header.get(keyword, default) never fails"))
        return card

    def _found(self, keyword: str) -> Card | None:
        if self._core is None:
            name = looked_up(keyword)
            return self._first.get(name) or self._first.get(f"HIERARCH {name}")
        fields = self._core.card(keyword_text(keyword).strip())
        return None if fields is None else Card(*fields)

    def history(self, keyword: str = "HISTORY") -> list[str]:
        """Return the text of every card of a commentary keyword."""
        return [str(card.value) for card in self._cards if card.keyword == keyword]

    def __getitem__(self, keyword: str) -> Any:
        """Return the value of a keyword, of the first card if it is repeated.

        COMMENT, HISTORY and the blank keyword give their lines, a sequence of text; a pattern
        (``NAXIS*``, ``NAXIS?``, ``ESO *``) gives a header of all matching cards, possibly empty.
        """
        result = self._several(keyword)
        return self.card(keyword).value if result is None else result

    def _several(self, keyword: str) -> Header | Commentary | None:
        """Return the value of a pattern or commentary keyword; None for other keywords."""
        name = keyword_text(keyword).strip().upper()
        if name in COMMENTARY:
            lines = self.history(name)
            return Commentary(lines) if lines else None
        return Header(matching(self._cards, name)) if is_pattern(name) else None

    @overload
    def get(self, keyword: str, default: None = None) -> Any: ...
    @overload
    def get(self, keyword: str, default: Any) -> Any: ...
    def get(self, keyword: str, default: Any = None) -> Any:
        """Return the value of a keyword, as ``header[keyword]``; `default` if it is missing."""
        several = self._several(keyword)
        if several is not None:
            return several
        card = self._found(keyword)
        return default if card is None else card.value

    def __iter__(self) -> Iterator[str]:
        return iter(card.keyword for card in self._first.values())

    def __len__(self) -> int:
        return len(self._first)

    def __contains__(self, keyword: object) -> bool:
        if not isinstance(keyword, str):
            return False
        if is_pattern(keyword):
            return bool(matching(self._cards, keyword))
        return self._found(keyword) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Header) and self._cards == other._cards

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self._first))

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise usage(
            "a header cannot be changed",
            either(
                "header.replaced({keyword: value}) gives a new header, tachyfits.edit(path) "
                "changes the file, dict(header) gives values that can be changed"
            ),
        )

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = _refuse
    setdefault = update = _refuse

    def __repr__(self) -> str:
        return "\n".join(card_line(card) for card in self._cards)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _ipython_key_completions_(self) -> list[str]:
        return [keyword for keyword in self if keyword]

    def replaced(self, changes: Mapping[str, Any], *, without: Iterable[str] = ()) -> Header:
        """Return a new header with some values set (appended if absent) and some cards dropped.

        A change is a value, which keeps the old comment, or a pair (value, comment).
        """
        open_changes = {looked_up(keyword): new for keyword, new in changes.items()}
        left_out = {*map(looked_up, without), *open_changes}
        cards: list[tuple[str, Any, str]] = []
        for card in self._cards:
            name = card.keyword.upper()
            if name in open_changes:
                value, comment = _value_and_comment(open_changes.pop(name), card)
                cards.append(card._replace(value=value, comment=comment))
            elif name not in left_out:
                cards.append(card)
        for keyword, change in open_changes.items():
            cards.append((keyword, *_value_and_comment(change, None)))
        return Header(cards)

    def to_astropy(self) -> astropy.io.fits.Header:
        """Return an astropy header, from the file's own bytes if it comes from a file.

        Cards that astropy refuses, such as text outside ASCII, are dropped with a warning.
        """
        from astropy.io import fits

        if self._raw is not None:
            return fits.Header.fromstring(self._raw)
        header, refused = fits.Header(), list[str]()
        for keyword, value, comment in self._cards:
            own = keyword.removeprefix("HIERARCH ")
            name = keyword if len(keyword) <= 8 else f"HIERARCH {own}"
            try:
                if keyword in COMMENTARY:
                    header.append((keyword, value or ""), bottom=True)
                else:
                    header.append((name, value, comment), end=True)
            except ValueError:
                refused.append(keyword)
        if refused:
            warn(f"cards that astropy refuses are left out: {listed(refused)}")
        return header


def _made(cards: Iterable[tuple[str, Any, str]], raw: bytes | None) -> Header:
    """Unpickle a header."""
    return Header(cards, raw=raw)


class _Comments(Mapping[str, str]):
    def __init__(self, header: Header) -> None:
        self._header = header

    def _ipython_key_completions_(self) -> list[str]:
        return self._header._ipython_key_completions_()

    def __getitem__(self, keyword: str) -> Any:
        """Return the comment of a keyword; for a pattern, the comments by keyword."""
        if is_pattern(keyword_text(keyword)):
            return {card.keyword: card.comment for card in matching(self._header.cards, keyword)}
        return self._header.card(keyword).comment

    def __iter__(self) -> Iterator[str]:
        return iter(self._header)

    def __len__(self) -> int:
        return len(self._header)


def _value_and_comment(change: Any, old: Card | None) -> tuple[Any, str]:
    if isinstance(change, tuple):
        return change
    return change, old.comment if old else ""


def value_text(value: Any) -> str:
    """Return a value as written in a FITS card; empty if undefined.

    >>> [value_text(value) for value in (True, 3, 1e10, "it's", None, 1 + 2j)]
    ['T', '3', '10000000000.0', "'it''s'", '', '(1.0, 2.0)']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, complex):
        return f"({value.real}, {value.imag})"
    return str(value).upper() if isinstance(value, float) else str(value)


def card_line(card: Card) -> str:
    """Return a card as one readable line, not cut at 80 characters.

    >>> card_line(Card("BMAJ", 0.01, "beam"))
    'BMAJ    =                 0.01 / beam'
    """
    if card.keyword in COMMENTARY:
        return f"{card.keyword:<8}{card.value or ''}".rstrip()
    text = value_text(card.value)
    text = f"{text:<20}" if isinstance(card.value, str) else f"{text:>20}"
    line = f"{card.keyword:<8}= {text}"
    return f"{line} / {card.comment}" if card.comment else line.rstrip()
