"""Finds phrases that make our prose hard to read, and says what to write instead.

`python tools/prose.py` checks Markdown, comments, docstrings and string literals of every tracked
file, and names of variables of the Python package, and exits with 1 when it finds one. Arguments
name the files to check instead.

Files and folders in `prose_baseline.txt` are not rewritten yet and are skipped; an entry without a
finding is reported, so that the list only shrinks. A line that has to quote a phrase ends with the
comment `prose: quoted`.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINE = ROOT / "tools" / "prose_baseline.txt"

#: Records of benchmark runs, foreign data, and the two files that have to quote the phrases.
SKIPPED = (
    "bench/record/",
    "tests/data/",
    "tests/goldens/",
    "tools/prose.py",
    "tests/python/test_prose.py",
)
#: Where machines and measurements belong.
MEASUREMENTS = ("docs/performance/", "bench/")

QUOTED = "prose: quoted"

#: Nouns for people: "who" may follow one of them.
PEOPLE = re.findall(
    r"\w+",
    """anyone astronomer astronomers author authors everyone newcomer newcomers observer observers
    one people person readers researcher researchers someone somebody those user users""",
)
_PEOPLE = "".join(rf"(?<!\b{word} )" for word in PEOPLE)


@dataclass(frozen=True)
class Phrase:
    """A phrase to avoid, what to write instead, and where the rule applies."""

    pattern: re.Pattern[str]
    instead: str
    measurement: bool = False


def _phrase(pattern: str, instead: str, *, measurement: bool = False) -> Phrase:
    return Phrase(re.compile(pattern), instead, measurement)


#: Names that say what happened to a thing, not what it is.
PARTICIPLES = frozenset(
    ["asked", "chosen", "found", "given", "kept", "known", "made", "taken", "told", "wanted"]
)

_I = "(?i)"
#: Adjectives that may follow "is no": longer, more, less, different, good ...
_DEGREE = r"(?!\w+er\b|more\b|less\b|different\b|worse\b|good\b|such\b|need\b|way\b|one\b)"

#: Matched against text in which runs of white space are one blank.
PHRASES = [
    _phrase(
        r"(?<!there )\b(?:is|are|was|be) none\b(?! of\b)", "a sentence with a subject and 'not'"
    ),
    _phrase(
        _I + rf"(?<!there )\b(?:is|are|was|were) no {_DEGREE}\w+",
        "'is not a ...', 'has no ...' or 'no ... is'",
    ),
    _phrase(_I + r"\b(?:is|are|has|have|with) no one \w+", "'no single ...' or what is ambiguous"),
    _phrase(_I + r"\bso many(?:th)?\b", "the number, or 'n'"),
    _phrase(_I + r"\bhad (?:best|better)\b", "'should'"),
    _phrase(
        _I + r"\b(?:thereof|therein|whereof|whence|thence|whither|anew)\b", "the noun, 'again'"
    ),
    _phrase(_I + r"\bof which the\b", "'whose', or a sentence of its own"),
    _phrase(_I + r"\bthere being\b", "'because there is'"),
    _phrase(_PEOPLE + r"\b[Ww]ho(?:ever)?\b(?!')", "the noun of the code that acts"),
    _phrase(_I + r"\bnobody\b|\banybody\b", "the noun: 'no process', 'any reader'"),
    _phrase(
        _I + r"\bbytes? (?:\w+ ){0,3}turned\b|\bturn(?:s|ed|ing)? (?:\w+ ){0,3}bytes?\b(?! into)",
        "'swap'",
    ),
    _phrase(_I + r"\bby turns\b", "'interleaved'"),
    _phrase(_I + r"\b(?:bring|brings|bringing|brought)\b", "'read', 'load', 'carry', 'write'"),
    _phrase(_I + r"(?<![._`])\bmend(?:s|ed|ing)?\b(?![(_`])", "'repair'"),
    _phrase(_I + r"\b(?:hold|holds|held|holding) (?:\w+ )?against\b", "'compare with'"),
    _phrase(_I + r"(?<!as )(?<!/)\bsuch(?=[.,;:)]|$| (?:is|are|too|one|ones)\b)", "the noun"),
    _phrase(
        _I + r"\b(?:is|are|was|were|be|been) (?:said|told)\b", "who says it: 'the error names'"
    ),
    _phrase(_I + r"\blooked at\b", "'read', 'checked', 'compared'"),
    _phrase(
        r"(?:^|(?<=[.:;!] ))What(?:ever)? (?!if\b)[^.?!]*[.!]",
        "a noun as the subject, or a question mark",
    ),
    _phrase(_I + r"\bwhat (?:lies|stands|goes|there is|there are)\b", "a noun"),
    _phrase(r"(?:^|(?<=[.!?] ))(?:That|Those) of\b", "the noun"),
    _phrase(
        _I + r"\bthat there (?:is|are|was|were)(?: not)?(?=[.,;:)]|$)", "'existing', 'missing'"
    ),
    _phrase(
        _I + r"\bstand(?:s|ing)? (?:in|at|beside|behind|before|after|alone|apart|together|there)\b",
        "'is', 'follows', 'precedes'",
    ),
    _phrase(_I + r"\bas (?:it|they) (?:stands?|lies?|lay|stood)\b", "'unchanged', 'as stored'"),
    _phrase(_I + r"\b(?:gone|going|goes|go|went) over (?:it|them|twice|once|the)\b", "'read'"),
    _phrase(_I + r"\b(?:speak|speaks|spoke|spoken) (?:of|for|against)\b", "'name', 'describe'"),
    _phrase(_I + r"\b(?:this|the) house\b", "'the project'"),
    _phrase(_I + r"\bby the clock\b", "'measured'"),
    _phrase(_I + r"\bfound out\b", "'detected'"),
    _phrase(_I + r"\bpass(?:ed) over(?= (?:by|to|it|them|as|in|for|an?)\b|[.,;:)]|$)", "'skip'"),
    _phrase(_I + r"\bgo(?:es)? together\b", "'match', 'can be combined', 'broadcast'"),
    _phrase(_I + r"\bput(?:s|ting)? (?:\w+ )?right\b", "'repair', 'correct'"),
    _phrase(_I + r"\b(?:has|have) not(?=[.,;:)]|$)", "'lacks', 'does not have'"),
    _phrase(_I + r"\basked for\b", "'request'"),
    _phrase(
        _I + r"\b(?<!hidden )(?<!hide )behind (?:the|a|an|it|its|them|those|each|one)\b", "'after'"
    ),
    _phrase(_I + r"\b(?:is|are|was|lies?|lay) as (?:it|they) (?:is|are|was|were)\b", "'unchanged'"),
    _phrase(_I + r"\bstands?(?! for\b| out\b|-)\b", "'is', 'follows', 'precedes'"),
    _phrase(
        _I + r"\b(?:bytes|numbers|they|it) (?:that )?(?:are|is|were) turned\b(?! (?:into|on|off))",
        "'swapped'",
    ),
    _phrase(_I + r"\bgood pixels?\b", "'defined pixels'"),
    _phrase(_I + r"\bas people (?:have|give|mean|want|see|type|write)\b|\bwhat people\b", "'user'"),
    _phrase(
        _I + r"\blies? (?:side by side|apart|together|as|there|where|behind|one)\b",
        "'is', 'contiguous', 'strided'",
    ),
    _phrase(_I + r"\btimes (?:numpy|astropy|scipy|pandas)\b", "'n-fold faster than'"),
    _phrase(
        _I + r"\bthrow-?away\b|\bmeasured (?:here|on (?:a|this|my|one) machine)\b"
        r"|\bon this machine,? (?:it|this|that) took\b|\bZen [1-9]\b|\bSapphire Rapids\b|\bXeon\b",
        "a link to docs/performance/, with the command there",
        measurement=True,
    ),
]

RUST_TOKEN = re.compile(
    r"""
      (?P<line_comment>//[/!]?(?P<comment>[^\n]*))
    | (?P<block_comment>/\*.*?\*/)
    | (?P<raw>b?r(?P<hashes>\#*)"(?P<raw_text>.*?)"(?P=hashes))
    | (?P<string>b?"(?P<text>(?:\\.|[^"\\])*)")
    | (?P<character>b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)[^`\n](?:.*?[^`])??\1(?!`)", re.DOTALL)
LIST_MARKER = re.compile(r"^\s*(?:[-*>#]+|\d+\.)\s")
LINK = re.compile(r"\]\([^)\s]*\)")
DOCTEST = re.compile(r"^[ \t]*(?:>>>|\.\.\.)[^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One phrase in one file."""

    path: str
    line: int
    found: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r}: write {self.instead}"


def texts(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each piece of prose of a file."""
    if path.endswith((".py", ".pyi")):
        yield from _python_texts(source)
    elif path.endswith(".rs"):
        yield from _rust_texts(source)
    elif path.endswith(".md"):
        yield from _paragraphs(1, source)
    else:
        yield from _joined(
            (number, line.partition("#")[2])
            for number, line in enumerate(source.splitlines(), 1)
            if re.search(r"(?:^|\s)#", line)
        )


def _joined(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join comments on consecutive lines to paragraphs."""
    start, parts = 0, []
    for number, text in lines:
        if parts and number != start + len(parts):
            yield from _paragraphs(start, "\n".join(parts))
            parts = []
        if not parts:
            start = number
        parts.append(text)
    if parts:
        yield from _paragraphs(start, "\n".join(parts))


def _paragraphs(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Split Markdown text into paragraphs, list items and table cells, without its code."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = LINK.sub("]", DOCTEST.sub("", FENCE.sub(blank, text)))
    text = CODE.sub(lambda match: "`x`" + blank(match), text)
    parts = re.split(r"((?:\n[ \t]*)+\n|\n(?=[ \t]*(?:[-*|#>]|\d+\.)[ \t])|\n(?=\|)|[|])", text)
    for index, part in enumerate(parts):
        if index % 2 == 0 and part.strip():
            yield line, LIST_MARKER.sub("", part)
        line += part.count("\n")


def _python_texts(source: str) -> Iterator[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = (
        (token.start[0], token.string.lstrip("#:! "))
        for token in tokens
        if token.type == tokenize.COMMENT
    )
    yield from _joined(comments)
    nested: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            nested.update(id(value) for value in node.values)
            text = "".join(
                str(value.value) if isinstance(value, ast.Constant) else "{}"
                for value in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in nested:
                continue
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield from _paragraphs(node.lineno, text)


def _rust_texts(source: str) -> Iterator[tuple[int, str]]:
    comments: list[tuple[int, str]] = []
    line, position = 1, 0
    for token in RUST_TOKEN.finditer(source):
        line += source.count("\n", position, token.start())
        position = token.start()
        if token["comment"] is not None:
            comments.append((line, token["comment"]))
            continue
        if token["block_comment"]:
            text = token["block_comment"][2:-2]
        else:
            text = token["raw_text"] or re.sub(r"\\\n\s*", "", token["text"] or "")
        if " " in text.strip():
            yield from _paragraphs(line, text)
    yield from _joined(iter(comments))


def findings(path: str, source: str) -> list[Finding]:
    """Return the phrases to avoid in the prose of one file, by line."""
    result = []
    lines = source.splitlines()
    for start, text in texts(path, source):
        prose = re.sub(r"\s+", " ", text).strip()
        for phrase in PHRASES:
            if phrase.measurement and path.startswith(MEASUREMENTS):
                continue
            for match in phrase.pattern.finditer(prose):
                line = start + _lines_before(text, len(prose[: match.start()].replace(" ", "")))
                if QUOTED not in lines[min(line, len(lines)) - 1]:
                    short = match[0] if len(match[0]) <= 50 else match[0][:47] + "..."
                    result.append(Finding(path, line, short, phrase.instead))
    return sorted(result, key=lambda finding: finding.line)


def participles(path: str, source: str) -> list[Finding]:
    """Return the local variables of the Python package whose names are participles."""
    if not path.startswith("python/") or not path.endswith(".py"):
        return []
    nodes = [*ast.walk(ast.parse(source))]
    fields = {
        id(statement.target)
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    variables = (
        node
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields
    )
    advice = "a noun as the variable's name: 'header', 'columns', 'request'"
    return [
        Finding(path, node.lineno, node.id, advice) for node in variables if node.id in PARTICIPLES
    ]


def _lines_before(text: str, characters: int) -> int:
    """Count the line breaks of `text` before its n-th character that is not white space."""
    count = breaks = 0
    for character in text:
        if character == "\n":
            breaks += 1
        elif not character.isspace():
            if count == characters:
                break
            count += 1
    return breaks


def tracked() -> list[str]:
    """Return the tracked files with prose of ours."""
    names = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()
    endings = (".py", ".pyi", ".rs", ".md", ".toml", "Makefile")
    return [
        path
        for path in names
        if path.endswith(endings) and not path.startswith(SKIPPED) and (ROOT / path).is_file()
    ]


def baseline() -> list[str]:
    """Return the files and folders (ending with a slash) that are not rewritten yet."""
    if not BASELINE.exists():
        return []
    lines = BASELINE.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def main(arguments: list[str]) -> int:
    """Print the findings; 1 when there is one or when the baseline has an entry too many."""
    entries = [] if arguments else baseline()
    open_entries = dict.fromkeys(entries, 0)
    failed = False
    for path in arguments or tracked():
        source = (ROOT / path).read_text(encoding="utf-8")
        file_findings = findings(path, source) + participles(path, source)
        entry = next(
            (e for e in entries if path == e or (e.endswith("/") and path.startswith(e))), ""
        )
        if entry:
            open_entries[entry] += len(file_findings)
            continue
        for finding in file_findings:
            print(finding)
            failed = True
    for entry, count in open_entries.items():
        if not count:
            print(f"{BASELINE.name}: {entry} has no finding: remove it from the list")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
