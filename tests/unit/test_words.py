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

# A pattern, and what to write instead. Of a page, generated parts, fences and `code` do not count.
RETIRED = {
    r"mend(s|ed|ing)?": "fix",
    r"made up for": "run later",
    r"hinders?": "prevents",
    r"(take|takes|taken|took) along": "take over",
    r"meddles?": "change",
    r"bears? (a|the|its|their)": "has",
    r"walls?(?!\W?clock)": "security boundary",
    r"stretch(es)?": "part of a run; advance",
    r"standing": "status, scope",
    r"stands?(?!-in\b| (for|in for|out|still)\b)|stood": "is, is listed, applies",
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
    {
        *("activity", "bot", "callback", "chat", "check", "clean up", "hand", "handler", "history"),
        *("host", "job", "land", "loop", "model", "moment", "native", "node", "outside", "pass"),
        *("pipeline", "place", "placeholder", "process", "remote", "repair", "round", "slot"),
        *("suspended", "target", "thread", "vacuum", "workflow", "workspace"),
    }
)


def _glossary() -> dict[str, str]:
    """What the glossary says not to write, and its word for it."""
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|[^|]*\| ([^|]+) \|$", page, re.MULTILINE)
    known = re.compile("|".join(RETIRED))
    return {
        rf"{word}s?": term
        for term, listed in rows
        for word in listed.split(", ")
        if term != "word" and word not in AMBIGUOUS and not known.fullmatch(word)
    }


WORDS = RETIRED | _glossary()
# One pattern of all, because a text is searched for each of its words at once.
_PARTS = (f"(?P<w{number}>{word})" for number, word in enumerate(WORDS))
PATTERN = re.compile(rf"\b(?:{'|'.join(_PARTS)})\b".replace(" ", r"\s+"), re.IGNORECASE)


def _found(name: str, line: int, text: str) -> Iterator[str]:
    words = list(WORDS.values())
    for match in PATTERN.finditer(text):
        number = next(int(key[1:]) for key, value in match.groupdict().items() if value)
        at = line + text.count("\n", 0, match.start())
        yield f"{name}:{at}: {match[0]!r} is retired; write: {words[number]}"


def _prose(source: str) -> Iterator[tuple[int, str]]:
    """The string literals of several words, docstrings among them, and the comments of a module.

    An f-string counts as a whole, with "x" for its values.
    """
    parts: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            said = (part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield node.lineno, "".join(map(str, said))
        elif isinstance(node, ast.Constant) and node not in parts and " " in str(node.value):
            yield node.lineno, str(node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


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
    for path in sorted((ROOT / "src").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for line, text in _prose(path.read_text(encoding="utf-8")):
            wrong += _found(name, line, _CODE.sub("", text))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_page_uses_no_retired_word(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    if path.name == "glossary.md":
        page = _without_retired(page)
    wrong = list(_found(str(path.relative_to(ROOT)), 1, _without_quotes(page)))
    assert not wrong, "\n".join(wrong)


def test_retired_words_are_found() -> None:
    """The patterns themselves work: each finds what it says, and leaves other words alone."""
    sample = "He mends it.\nIt stands at the wall, a repository of its own, whoever goes on.\n"
    found = [each.split(": ", 1)[1] for each in _found("x", 1, sample)]
    assert found[0] == "'mends' is retired; write: fix"
    assert [each.split("'")[1] for each in found] == [
        *("mends", "stands", "wall", "of its own", "goes on"),
    ]
    source = 'raise Bad(f"{name} is no {kind}: a tick {judge(work)}")  # it is judged'
    assert [
        each.split("'")[1] for line, text in _prose(source) for each in _found("x", 1, text)
    ] == ["is no ", "tick", "judged"]
    fine = "There is no task. T stands for task; wall clock; it is no longer there; amendment."
    assert not list(_found("x", 1, fine))
