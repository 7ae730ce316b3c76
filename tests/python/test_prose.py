"""tools/prose.py flags phrases that are hard to read, and passes good sentences."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.once

TOOL = Path(__file__).resolve().parents[2] / "tools" / "prose.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module  # dataclasses look the module up
    spec.loader.exec_module(module)
    return module


prose = load()

BAD = [
    "storage='x' is none",
    "A rotated one is no box.",
    "arrays that are no one image",
    "numbers of every so manyth record",
    "blocks of so many pixels",
    "The caller had best check.",
    "The file and the size thereof.",
    "It is written anew.",
    "A table, of which the rows are sorted.",
    "There being no BLANK, it is refused.",
    "who is lent it must ask",
    "Whoever opens the file next undoes it.",
    "Nobody holds the lock.",
    "No byte is turned.",
    "It turns the bytes in place.",
    "Both were timed by turns.",
    "This brings the pages into memory.",
    "The error is mended.",
    "The result is held against the twin.",
    "blanks at its end are such, too",
    "The reason is said in the report.",
    "The user is told in words.",
    "It is looked at whether names repeat.",
    "What is beyond the image is left out.",
    "First the header. What follows END is ignored.",
    "numbers and what lies between",
    "Those of the file stay.",
    "use a column that there is",
    "The size stands in front, or stands beside it.",
    "The card is copied as it stands.",
    "It is gone over twice.",
    "What speaks for it: the comment speaks of columns.",
    "the rules of the house",
    "It is chosen by the clock.",
    "63 times NumPy",
    "a throw-away script",
    "On a virtual Zen 5 this took 3 ms.",
    "The byte order is found out from the markers.",
    "Groups that are passed over.",
    "Shapes that go together.",
    "The fill is put right.",
    "A type that FITS has not.",
    "the columns that are asked for",
    "A blank behind the field.",
    "The file is as it was.",
    "The keyword stands first.",
    "The bytes that are turned.",
    "The mean of the good pixels.",
    "Units as people write them.",
    "Pixels lie side by side.",
]
GOOD = [
    "Return the exact median.",
    "No column matches; there is no header; the name is no longer free.",
    "The file is no larger than the limit.",
    "as many as the table has",
    "someone who knows astropy, users who edit tables",
    "an image such as a mask, such a file, as such, it stays",
    "What does it cost?",
    "Show what is installed.",
    "The error names the file.",
    "`*` stands for any number of items.",
    "Whether a column has units.",
    "None of these is needed.",
    "x is None and y is None",
    "The caller turns the page; axes are read in turn.",
    "The header of the first image, or that of the second.",
    "Call `mend`, tf.mend(path) or `what lies there`.",
    "swap bytes, repair the card, compare with the twin",
    "The cost is hidden behind computing; a cloud stands out of the noise.",
    "The reader has not finished; ask for help; the user puts it on the right side.",
]


@pytest.mark.parametrize("sentence", BAD)
@pytest.mark.parametrize("form", ["# {}\n", '"""{}"""\n', 'raise E(f"{}")\n'])
def test_phrases_to_avoid_are_flagged_in_python(sentence: str, form: str) -> None:
    assert prose.findings("python/a.py", form.format(sentence))


@pytest.mark.parametrize("sentence", BAD)
@pytest.mark.parametrize("form", ["{}\n", "- one\n- {}\n", "| a | {} |\n"])
def test_phrases_to_avoid_are_flagged_in_markdown(sentence: str, form: str) -> None:
    assert prose.findings("docs/a.md", form.format(sentence))


@pytest.mark.parametrize("sentence", BAD)
@pytest.mark.parametrize("form", ["/// {}\n", "//! {}\n", 'let a = "{}";\n', "/* {} */\n"])
def test_phrases_to_avoid_are_flagged_in_rust(sentence: str, form: str) -> None:
    assert prose.findings("crates/a.rs", form.format(sentence))


@pytest.mark.parametrize("sentence", GOOD)
def test_good_sentences_pass(sentence: str) -> None:
    assert not prose.findings("docs/a.md", sentence + "\n")
    assert not prose.findings("crates/a.rs", f"/// {sentence}\n")
    assert not prose.findings("python/a.py", f"# {sentence}\n")


def test_a_phrase_is_found_across_line_breaks_with_its_line() -> None:
    (found,) = prose.findings("a.py", "x = 1\n\n# One line,\n# then it is\n# none at all.\n")
    assert (found.line, found.found) == (4, "is none")
    (found,) = prose.findings("a.rs", 'let a = 1;\nlet b = "this is \\\n    none";\n')
    assert found.line == 2


def test_code_is_not_prose() -> None:
    fenced = "Text.\n\n```python\nwho = 'is none'\n```\n"
    assert not prose.findings("a.md", fenced)
    assert not prose.findings("a.py", "who_is_none = brings(anew)\n")
    assert not prose.findings("a.py", '"""Doc.\n\n>>> "it is none"\n"""\n')
    assert not prose.findings("a.rs", "let brings = 'b'; // fine\n")


def test_a_line_may_quote_a_phrase() -> None:
    assert not prose.findings("a.py", 'x = "it is none"  # prose: quoted\n')


def test_measurements_are_allowed_in_the_performance_pages_only() -> None:
    assert not prose.findings("docs/performance/README.md", "On a virtual Zen 5.\n")
    assert prose.findings("docs/guides/a.md", "On a virtual Zen 5.\n")


def test_the_project_passes_and_the_baseline_has_no_finished_entry() -> None:
    assert prose.main([]) == 0


def test_participles_as_names_of_variables_are_reported() -> None:
    source = "def section(header, found):\n    known = 1\n    for kept in header:\n        pass\n"
    report = prose.participles("python/tachyfits/module.py", source)
    assert [(finding.line, finding.found) for finding in report] == [(2, "known"), (3, "kept")]
    assert prose.participles("tests/python/test_module.py", source) == []
