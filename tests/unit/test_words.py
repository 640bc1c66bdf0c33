"""Messages, docstrings, comments and pages use the words of docs/glossary.md, not the retired ones.

A retired word was either private to this project or is not what a native speaker would say.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"`[^`\n]*`")  # quotes a name, which may be spelled like a retired word

# Retired everywhere: in src, on every page, in examples and in the changelog.
# A pattern, and what to write instead. Add a line when the last use of a word is gone.
EVERYWHERE = {
    r"mend(s|ed|ing)?": "fix",
    r"made up for": "run later",
    r"hinders?": "prevents",
    r"(take|takes|taken|took) along": "take over",
}

# Retired in messages, and on pages that people write. Generated parts, fences and `code` quote
# strings of src: a line moves up to EVERYWHERE as soon as all of src says it in the new words.
IN_MESSAGES = {
    r"meddles?": "change",
    r"bears? (a|the|its|their)": "has",
    r"walls?(?!\W?clock)": "security boundary",
    r"stretch(es)?": "part of a run; advance",
    r"standing": "status, scope",
    r"stands?(?! (for|in for|still)\b)|stood": "is, is listed, applies",
    r"judg(e|es|ed|ing)": "check, review, decide",
    r"places? in the (log|queue)": "position",
    r"whom(ever)?": "say who does it",
    r"somebody": "someone",
    r"(any|every)body": "anyone, all",
    r"beside": "next to",
    r"anew": "again",
    r"(is|are) for people": "only a person can",
    r"(tells?|told|tell) of": "reports, is told about",
    r"(hears?|warns?) of": "hears about, warns about",
    r"(go|goes|going|went|gone) on": "continue, resume",
    r"(?<!instead\s)of (its|their|one's) own(?=[^\w\s]| (and|for|in|is|or|so|that|which|with)\b)": (
        "its own"
    ),
    r"of (ours|yours)": "our, your",
    r"takes? no more(?! tasks)": "is at a usage limit or overloaded",
    r"(see|sees|seen|saw) to (it|them|that|its|what)": "deal with",
    r"wr(ite|ites|itten|ote) down": "record",
    r"for good(?! reason)": "permanently",
    r"all the same": "anyway",
    r"for ever": "forever",
    r"cut short": "interrupted",
    r"no end": "timed out",
    r"outside of": "outside",
    r"inside of": "inside",
    r"li(e|es) (in|at|under|within|there|between)": "is in",
    r"(?<!here\s)(is|are|was) no (?!longer\b|more\b)(?=\w)": "is not a",
    r"what becomes of": "what happens to",
}

# Words of the glossary's column "not" that also mean something else, and so cannot be searched for.
AMBIGUOUS = frozenset(
    "activity bot callback chat check hand handler history host job land loop model moment native"
    " node outside pass pipeline place placeholder process remote repair round slot suspended"
    " target thread workflow workspace".split()
)


def _either(retired: dict[str, str]) -> re.Pattern[str]:
    """One pattern of all, because a page is searched for each of its words at once."""
    spaced = (word.replace(" ", r"\s+") for word in retired)
    parts = (f"(?P<w{number}>{word})" for number, word in enumerate(spaced))
    return re.compile(rf"\b(?:{'|'.join(parts)})\b", re.IGNORECASE)


def _glossary() -> dict[str, str]:
    """What the glossary says not to write, and its word for it."""
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|[^|]*\| ([^|]+) \|$", page, re.MULTILINE)
    known = re.compile("|".join(EVERYWHERE | IN_MESSAGES))
    return {
        rf"{word}s?": term
        for term, listed in rows
        for word in listed.split(", ")
        if term != "word" and word not in AMBIGUOUS and not known.fullmatch(word)
    }


def _found(name: str, line: int, text: str, retired: dict[str, str]) -> Iterator[str]:
    words = list(retired.values())
    for match in _either(retired).finditer(text):
        number = next(int(key[1:]) for key, value in match.groupdict().items() if value)
        at = line + text.count("\n", 0, match.start())
        yield f"{name}:{at}: {match[0]!r} is retired; write: {words[number]}"


def _prose(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings, the string literals of several words, and the comments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _messages(source: str) -> Iterator[tuple[int, str]]:
    """The string literals of several words that are not docstrings; each f-string as a whole."""
    parts: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if node in parts:
            continue
        if isinstance(node, ast.Expr):
            parts.add(node.value)  # a docstring
        elif isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            said = (part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield node.lineno, "".join(map(str, said))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def _pages() -> list[Path]:
    folders = [*(ROOT / "examples").rglob("*.md"), *(ROOT / "src").rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *folders])


def _without_quotes(page: str) -> str:
    """A page without generated parts, fences and `code`, its lines where they were."""
    quoted = r"<!-- generated:.*?<!-- end -->|^ *```.*?^ *```|`[^`]*`"
    return re.sub(
        quoted, lambda found: "\n" * found[0].count("\n"), page, flags=re.DOTALL | re.MULTILINE
    )


def _without_retired(glossary: str) -> str:
    """The glossary without the column that lists what not to say."""
    return re.sub(r"^(\|.*\|)[^|]*\|$", r"\1", glossary, flags=re.MULTILINE)


def test_source_uses_no_retired_word() -> None:
    wrong: list[str] = []
    pattern = _either(EVERYWHERE)
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if pattern.search(source):  # a name may be spelled like one: then only its text counts
            name = str(path.relative_to(ROOT))
            for line, text in _prose(source):
                wrong += _found(name, line, _CODE.sub("", text), EVERYWHERE)
    assert not wrong, "\n".join(wrong)


def test_messages_use_no_retired_word() -> None:
    wrong: list[str] = []
    retired = EVERYWHERE | IN_MESSAGES | _glossary()
    for path in sorted((ROOT / "src").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for line, text in _messages(path.read_text(encoding="utf-8")):
            wrong += _found(name, line, _CODE.sub("", text), retired)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_page_uses_no_retired_word(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    page = path.read_text(encoding="utf-8")
    if path.name == "glossary.md":
        page = _without_retired(page)
    wrong = list(_found(name, 1, page, EVERYWHERE))
    if path.name != "CHANGELOG.md" and not path.is_relative_to(ROOT / "src"):
        wrong += _found(name, 1, _without_quotes(page), IN_MESSAGES | _glossary())
    assert not wrong, "\n".join(wrong)


def test_retired_words_are_found() -> None:
    """The patterns themselves work: each finds what it says, and leaves other words alone."""
    sample = "He mends it.\nIt stands at the wall, a repository of its own, whoever goes on.\n"
    assert [found.split(": ", 1)[1] for found in _found("x", 1, sample, EVERYWHERE)] == [
        "'mends' is retired; write: fix"
    ]
    assert [found.split("'")[1] for found in _found("x", 1, sample, IN_MESSAGES)] == [
        *("stands", "wall", "of its own", "goes on"),
    ]
    message = 'raise Bad(f"{name} is no {kind}: a tick {judge(work)}")  # judge'
    [(line, text)] = _messages(message)
    assert [
        found.split("'")[1] for found in _found("x", line, text, IN_MESSAGES | _glossary())
    ] == [
        *("is no ", "tick"),
    ]
    fine = "There is no task. T stands for task; wall clock; it is no longer there; amendment."
    assert not list(_found("x", 1, fine, EVERYWHERE | IN_MESSAGES))
