"""Many tasks from one text, for `task add --from`: a Markdown check list, or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.tasks import COMPLETED, DEFAULT_PRIORITY, Task
from hookline.errors import BadInput

MAX_TEXT = 10 << 20
MAX_TASKS = 100_000
MAX_GOAL = 64 << 10
MAX_WORD = 200
MAX_MARKS = 100
MAX_PRIORITY = 2**31 - 1
MAX_SHOWN = 50
MAX_CANDIDATES = 1_000


class TaskSpec(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A task to be added. `parent` and `depends_on` hold keys of the same file, or task ids."""

    goal: str
    deliverables: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    priority: int = DEFAULT_PRIORITY
    type: str | None = None
    parent: str | None = None
    depends_on: tuple[str, ...] = ()
    key: str | None = None
    notes: tuple[str, ...] = ()
    done: bool = False


class _PlacedSpec(NamedTuple):
    """A task and the line it is on."""

    line: int
    spec: TaskSpec


class _InvalidError(ValueError):
    """Why one line cannot be read."""


class _Problems(list[str]):
    """Everything that is wrong with the text; only so much of it is worth telling."""

    def __init__(self, name: str) -> None:
        self._name = name

    def add(self, line: int, message: str) -> None:
        """Note a problem of one line."""
        self.append(f"{self._name}:{line}: {message}")

    def raise_any(self) -> None:
        """Raise all problems as one error, if there are any."""
        if self:
            more = ["... and perhaps more"] if len(self) >= MAX_SHOWN else []
            help = "no task was added; fix these lines and run it again"
            raise BadInput("\n".join(self[:MAX_SHOWN] + more), help=help)


def parse(
    text: str, *, name: str, is_task: Callable[[str], bool] = lambda identifier: True
) -> list[TaskSpec]:
    """The tasks in a text, in its order; BadInput with every problem as `name:line: message`.

    `is_task` says whether there is a task of that id.
    """
    _check_size(text, name)
    content = text.removeprefix("\ufeff")
    first = content.lstrip()[:1]
    problems = _Problems(name)
    read = _read_json if first == "{" else _read_markdown
    entries = read(content.split("\n"), problems)
    _check_keys(entries, problems)
    problems.raise_any()
    _check_references(entries, problems, is_task)
    problems.raise_any()
    if first and not entries:
        help = "write one `- [ ] goal` per line, or one JSON object per line"
        raise BadInput(f"{name}: no task found", help=help)
    return [entry.spec for entry in entries]


def _check_size(text: str, name: str) -> None:
    try:
        size = len(text) if len(text) > MAX_TEXT else len(text.encode())
    except UnicodeEncodeError as problem:
        line = text.count("\n", 0, problem.start) + 1
        raise BadInput(
            f"{name}:{line}: this is not valid Unicode text", help="save it as UTF-8"
        ) from problem
    if size > MAX_TEXT:
        raise BadInput(f"{name}: larger than {MAX_TEXT >> 20} MiB", help="split the file")


def _keep(entries: list[_PlacedSpec], entry: _PlacedSpec) -> None:
    if len(entries) == MAX_TASKS:
        raise _InvalidError(f"more than {MAX_TASKS} tasks; split the file")
    entries.append(entry)


def _checked(spec: TaskSpec) -> TaskSpec:
    """The spec without stray spaces and repetitions, or _InvalidError."""
    goal = spec.goal.strip()
    if not goal:
        raise _InvalidError("a task needs a goal")
    if len(goal.encode()) > MAX_GOAL:
        raise _InvalidError(f"the goal is longer than {MAX_GOAL >> 10} KiB")
    if any("\0" in text for text in (goal, *spec.deliverables, *spec.notes)):
        raise _InvalidError("a task cannot contain a NUL character")
    if not 0 <= spec.priority <= MAX_PRIORITY:
        raise _InvalidError("the priority must be 0 (most urgent) or more")
    single = {"type": spec.type, "parent": spec.parent, "key": spec.key}
    return msgspec.structs.replace(
        spec,
        goal=goal,
        labels=tuple(dict.fromkeys(_word("label", each) for each in spec.labels)),
        depends_on=tuple(dict.fromkeys(_word("dependency", each) for each in spec.depends_on)),
        **{field: _word(field, text) for field, text in single.items() if text is not None},
    )


def _word(what: str, text: str) -> str:
    word = text.strip()
    if not word or len(word) > MAX_WORD or not word.isprintable():
        raise _InvalidError(f"a {what} must be 1 to {MAX_WORD} printable characters")
    return word


# JSON lines: one object per line with the fields of a task; `id` or `key` names it in the file.

_ALIASES = {"desiredDeliverables": "deliverables", "parentTaskId": "parent", "id": "key"}
_FIELDS = frozenset(TaskSpec.__struct_encode_fields__)
# The life of an exported task does not come with it, except that it is done.
_LIFE = frozenset(Task.__struct_encode_fields__) - _FIELDS - frozenset(_ALIASES)


def _read_json(lines: list[str], problems: _Problems) -> list[_PlacedSpec]:
    entries: list[_PlacedSpec] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(problems) >= MAX_SHOWN:
            break
        try:
            _keep(entries, _PlacedSpec(number, _json_spec(line)))
        except _InvalidError as problem:
            problems.add(number, str(problem))
    return entries


def _json_spec(line: str) -> TaskSpec:
    try:
        value = msgspec.json.decode(line)
        if not isinstance(value, dict):
            raise _InvalidError("not a JSON object")
        return _checked(typed.convert(_own_fields(value), TaskSpec))
    except msgspec.ValidationError as problem:
        raise _InvalidError(str(problem).replace("`$.", "`")) from problem
    except (msgspec.DecodeError, RecursionError) as problem:
        raise _InvalidError(f"not a JSON object on one line: {problem}") from problem


def _own_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by our own names, without nulls."""
    fields: dict[str, Any] = {"done": True} if value.get("state") == COMPLETED else {}
    for field, content in value.items():
        own = _ALIASES.get(field, field)
        if own not in _FIELDS and field not in _LIFE:
            near = _nearest(field, [*_FIELDS, *_ALIASES])
            shown = field if len(field) <= MAX_WORD else f"{field[:MAX_WORD]}…"
            raise _InvalidError(f"unknown field '{shown}'{near}")
        if own in _FIELDS and content is not None:
            if own != field and own in value:
                raise _InvalidError(f"give either '{own}' or '{field}', not both")
            fields[own] = content
    return fields


# Markdown: `- [ ] goal` is an open task and `- [x] goal` a done one. Indentation makes an item a
# part of the one above it. An item may end in marks: `#label`, `!0` to `!9` for its priority,
# `^key` to name it in the file, `(after: key, T-3)` for what it depends on. A backslash before
# the last word keeps it as text: `\#label`. All other lines, and code blocks, are not ours.

_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\](?:[ \t]+(.*))?")
_ALMOST = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*\[(?:[ xX]|[^\w\]]?)\](?!\()")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_MARKS = {
    "label": re.compile(r"#([^\W\d_][\w./:-]*)"),
    "key": re.compile(r"\^([^\W\d_][\w.-]*)"),
    "priority": re.compile(r"!([0-9])"),
}
_TASK_ID = re.compile(r"[Tt]-[0-9]{1,15}")


class _Open(NamedTuple):
    """An item that may still get sub-items: its indentation and its place in the list."""

    indent: int
    place: int


def _read_markdown(lines: list[str], problems: _Problems) -> list[_PlacedSpec]:
    entries: list[_PlacedSpec] = []
    above: list[_Open] = []
    for number, line in _outside_code(lines, problems):
        if line.startswith("#"):
            above.clear()
        if len(problems) >= MAX_SHOWN:
            break
        found = _ITEM.fullmatch(line)
        try:
            if found:
                spec = _markdown_spec(found[3] or "", done=found[2] != " ")
                indent = len(found[1].expandtabs(4))
                _keep(entries, _PlacedSpec(number, _under(entries, above, indent, spec)))
                above.append(_Open(indent, len(entries) - 1))
            elif _ALMOST.match(line):
                raise _InvalidError("write `- [ ] goal` for a task, `- [x] goal` for a done one")
        except _InvalidError as problem:
            problems.add(number, str(problem))
    return entries


def _outside_code(lines: list[str], problems: _Problems) -> list[tuple[int, str]]:
    kept: list[tuple[int, str]] = []
    fence, opened = "", 0
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r")
        found = _FENCE.fullmatch(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence, opened = found[1], number
        else:
            kept.append((number, line))
    if fence:
        problems.add(opened, f"the code block that begins here is not closed with {fence[:3]}")
    return kept


def _under(entries: list[_PlacedSpec], above: list[_Open], indent: int, spec: TaskSpec) -> TaskSpec:
    """The item as a part of the open item that it is indented under."""
    # One space more is a slip of the hand, as it is to Markdown.
    while above and indent < above[-1].indent + 2:
        above.pop()
    if not above:
        return spec
    line, parent = entries[above[-1].place]
    # No key that a person can write begins with '#'.
    key = parent.key or f"#{line}"
    entries[above[-1].place] = _PlacedSpec(line, msgspec.structs.replace(parent, key=key))
    return msgspec.structs.replace(spec, parent=key)


def _markdown_spec(text: str, *, done: bool) -> TaskSpec:
    marks: dict[str, list[str]] = {"label": [], "after": [], "key": [], "priority": []}
    rest = text.rstrip()
    kind = "unknown"
    while kind:
        rest, kind, content = _last_mark(rest)
        if kind:
            marks[kind].insert(0, content)
        if len(marks["label"]) + len(marks["after"]) > MAX_MARKS:
            raise _InvalidError(f"more than {MAX_MARKS} marks")
    for kind in ("key", "priority"):
        if len(marks[kind]) > 1:
            raise _InvalidError(f"there are two marks for the {kind}")
    key = marks["key"][0] if marks["key"] else None
    if key and _TASK_ID.fullmatch(key):
        raise _InvalidError(f"'^{key}' looks like the id of a task; choose another key")
    return _checked(
        TaskSpec(
            goal=_unescaped(rest),
            labels=tuple(marks["label"]),
            depends_on=tuple(each for after in marks["after"] for each in after.split(",")),
            key=key,
            priority=int(marks["priority"][0]) if marks["priority"] else DEFAULT_PRIORITY,
            done=done,
        )
    )


def _last_mark(text: str) -> tuple[str, str, str]:
    """What comes before the last mark, its kind and its content; kind "" if there is none."""
    if text.endswith(")"):
        start = text.rfind("(")
        inside = text[start + 1 : -1]
        is_after = start >= 0 and inside[:6].lower() == "after:" and ")" not in inside
        return (text[:start].rstrip(), "after", inside[6:]) if is_after else (text, "", "")
    word = text.rsplit(None, 1)[-1] if text else ""
    for kind, pattern in _MARKS.items():
        found = pattern.fullmatch(word)
        if found:
            return text[: -len(word)].rstrip(), kind, found[1]
    return text, "", ""


def _unescaped(text: str) -> str:
    before, space, word = text.rpartition(" ")
    return f"{before}{space}{word[1:]}" if word[:2] in ("\\#", "\\!", "\\^", "\\(") else text


# References between the tasks of a file.


def _check_keys(entries: Sequence[_PlacedSpec], problems: _Problems) -> None:
    lines: dict[str, int] = {}
    for line, spec in entries:
        if spec.key is not None and lines.setdefault(spec.key, line) != line:
            problems.add(line, f"the key '{spec.key}' is used in line {lines[spec.key]} already")


def _check_references(
    entries: Sequence[_PlacedSpec], problems: _Problems, is_task: Callable[[str], bool]
) -> None:
    """Asked only when every line could be read, else keys would seem to be missing."""
    lines = {spec.key: line for line, spec in entries if spec.key}
    for line, spec in entries:
        for reference in (*spec.depends_on, *([spec.parent] if spec.parent else [])):
            if reference in lines:
                continue
            if _TASK_ID.fullmatch(reference):
                if not is_task(reference):
                    problems.add(line, f"there is no task {reference}")
            else:
                near = _nearest(reference, lines) if len(problems) < MAX_SHOWN else ""
                problems.add(line, f"there is no task with the key '{reference}'{near}")
    keyed = {spec.key: spec for _, spec in entries if spec.key}
    dependencies = {key: spec.depends_on for key, spec in keyed.items()}
    parents = {key: [spec.parent] for key, spec in keyed.items() if spec.parent}
    for graph, verb in ((dependencies, "depends on"), (parents, "is part of")):
        circle = _circle(graph)
        if circle:
            shown = f" {verb} ".join(circle[:10]) + (" ..." if len(circle) > 10 else "")
            problems.add(lines[circle[0]], f"this is a cycle: {shown}")


def _circle(graph: Mapping[str, Sequence[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        # graphlib names each task before the one that refers to it.
        circle: list[str] = problem.args[1][::-1]
        return circle
    return []


def _nearest(word: str, words: Iterable[str]) -> str:
    candidates = [each for each, _ in zip(words, range(MAX_CANDIDATES), strict=False)]
    near = get_close_matches(word[:MAX_WORD], sorted(candidates), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""
