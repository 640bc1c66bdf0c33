"""Gates that look at what a task's commits change: no credentials in it, and not too much of it."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.secret_patterns import ASSIGNMENT, find_secrets
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates_common import astray, passed, refused, standing
from hookline.hooks.builtin.gates_diff import read_diff
from hookline.hooks.framing import file_name, framed, without_history
from hookline.hooks.gate_reports import JUDGED
from hookline.hooks.globs import glob_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.answers import GateAnswer
    from hookline.hooks.builtin.gates_arguments import DiffLimits, Secrets
    from hookline.hooks.builtin.gates_common import Judging
    from hookline.hooks.builtin.gates_diff import FileDiff

MAX_DIFF = 8 * 1024 * 1024
MAX_BINARY = 32 * 1024 * 1024
MAX_MESSAGES = 4 * 1024 * 1024
SHOWN = 50
# How files in UTF-16 begin.
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")


async def secrets(judging: Judging) -> GateAnswer:
    """Nothing that the work adds may look like a credential: lines, names, commit messages."""
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    head = str(state.head)
    diff = await _diff(judging, head)
    if diff is None:
        return _too_long(judging)
    given: Secrets = judging.arguments
    files = [file for file in read_diff(diff) if not _matches(file.path, given.allow)]
    binary = [file.path for file in files if file.binary and not file.deleted]
    git, folder, base = judging.repository, judging.folder, judging.context.base_branch
    contents = await git.contents(folder, head, binary, MAX_BINARY) if binary else {}
    messages = await git.messages(folder, base, head, MAX_MESSAGES)
    work = _Work(files, contents, messages)
    # Patterns over megabytes of text take seconds, in which others want to go on.
    found = await asyncio.to_thread(_look_through, work, given.ignore)
    if found.findings:
        return _leak(judging, found.findings)
    if found.unseen:
        return _unseen(found.unseen)
    lines = sum(len(file.added) for file in files)
    said = f"no credentials (files: {len(files)}, added lines: {lines})"
    return passed(said, {JUDGED: head})


class _Work(NamedTuple):
    """What is looked through: the diff, binary files by name, messages by commit."""

    files: Sequence[FileDiff]
    contents: dict[str, bytes]
    messages: dict[str, str]


class _Found(NamedTuple):
    findings: list[str]
    unseen: list[str]


def _look_through(work: _Work, ignore: Sequence[str]) -> _Found:
    found = _Found([], [])
    for file in work.files:
        found.findings.extend(_in_name(file, ignore))
        if file.deleted or not file.binary:
            found.findings.extend(_in_added(file, ignore))
        elif file.path in work.contents:
            found.findings.extend(_in_binary(file.path, work.contents[file.path], ignore))
        else:
            found.unseen.append(file.path)
    for commit, message in work.messages.items():
        kinds = sorted({secret.kind for secret in find_secrets(message, ignore)})
        found.findings.extend(f"message of {commit[:12]}: {kind} (not shown)" for kind in kinds)
    return found


def _in_name(file: FileDiff, ignore: Sequence[str]) -> list[str]:
    if file.deleted:
        return []
    kinds = sorted({secret.kind for secret in find_secrets(file.path, ignore)})
    return [f"a file's name: {kind} (not shown)" for kind in kinds]


def _in_added(file: FileDiff, ignore: Sequence[str]) -> list[str]:
    starts, texts, place = [], [], 0
    for _, line in file.added:
        text = line.replace("\0", "")  # UTF-16 that git was told to take for text
        starts.append(place)
        texts.append(text)
        place += len(text) + 1
    places: dict[tuple[int, str], int] = {}
    for secret in find_secrets("\n".join(texts), ignore):
        number = file.added[bisect_right(starts, secret.start) - 1][0]
        places.setdefault((number, secret.kind), secret.length)
    return [
        f"{file.path}:{number}: {kind}, {length} characters (not shown)"
        for (number, kind), length in sorted(places.items())
    ]


def _in_binary(path: str, content: bytes, ignore: Sequence[str]) -> list[str]:
    """A file that has no lines, such as one in UTF-16."""
    text = content.decode("latin-1")
    # Letters of UTF-16 and UTF-32 stand between zeros.
    texts = [text, text.replace("\0", "")] if "\0" in text else [text]
    kinds = {secret.kind for each in texts for secret in find_secrets(each, (*ignore, ASSIGNMENT))}
    if content.startswith(BYTE_ORDERS):  # it says that it is text
        kinds |= {
            secret.kind for secret in find_secrets(content.decode("utf-16", "replace"), ignore)
        }
    return [f"{path}: {kind} (not shown)" for kind in sorted(kinds)]


def _leak(judging: Judging, findings: list[str]) -> GateAnswer:
    shown = "\n".join(findings[:SHOWN])
    base = judging.context.base_branch
    prompt = (
        "Your work adds credentials. Remove each of them. Read them from the environment or from a"
        " file that git ignores. Never print a credential. In your last message name each one that"
        f" must be revoked, by file and kind.\n\n{without_history(base)}\n\n"
        + framed("Where they are", shown)
    )
    message = f"{len(findings)} credentials in the diff: {'; '.join(findings[:5])}"
    return refused(message, prompt, {"secrets": findings[:SHOWN]})


def _unseen(names: list[str]) -> GateAnswer:
    listed = ", ".join(names[:SHOWN])
    return refused(
        f"these files could not be looked into: {listed}",
        "These files of your work cannot be checked for credentials: all binary files together are"
        f" longer than {MAX_BINARY >> 20} MiB, or their names are not UTF-8. Take them out of your"
        " work, or rename them. If they belong there, say why.\n\n"
        + framed("The files", "\n".join(names[:SHOWN])),
    )


# Limits of a diff.


async def diff_limits(judging: Judging) -> GateAnswer:
    """The work may change only so much, and not everything."""
    given: DiffLimits = judging.arguments
    if given.limits_nothing:
        raise HookFailure("diff_limits limits nothing: give it files, lines, bytes or forbid")
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    head = str(state.head)
    base = judging.context.base_branch
    names = await judging.repository.changed_files(judging.folder, base, head)
    lines = await _changed_lines(judging, head) if given.lines is not None else 0
    if lines is None:
        return _too_long(judging)
    measured = names if given.bytes is not None else []
    size = await judging.repository.size_of(judging.folder, head, measured) if measured else 0
    broken = [
        f"{count} {what}, and at most {limit} are allowed"
        for what, count, limit in (
            ("changed files", len(names), given.files),
            ("changed lines", lines, given.lines),
            ("bytes in changed files", size, given.bytes),
        )
        if limit is not None and count > limit
    ]
    forbidden = [name for name in names if _matches(name, given.forbid)]
    if broken or forbidden:
        return _too_much(judging, broken, forbidden)
    return passed(f"within the limits (changed files: {len(names)})", {JUDGED: head})


async def _changed_lines(judging: Judging, head: str) -> int | None:
    diff = await _diff(judging, head)
    return None if diff is None else sum(file.lines for file in read_diff(diff))


def _too_much(judging: Judging, broken: list[str], forbidden: list[str]) -> GateAnswer:
    base = judging.context.base_branch
    told = [*broken, *(f"{name} must not change" for name in forbidden[:SHOWN])]
    lines = [*broken, *(f"{file_name(name)} must not change" for name in forbidden[:SHOWN])]
    listed = "\n".join(f"- {line}" for line in lines)
    prompt = (
        f"Your work changes more than it may. It breaks these limits:\n\n{listed}\n\n"
        "Keep what the task needs. Take out generated, vendored and unrelated files. Bring files"
        f" that must not change back to what they are in {base}."
    )
    return refused("; ".join(told), prompt)


# What they share.


async def _diff(judging: Judging, head: str) -> str | None:
    """The whole diff of the work, or None if it is too long to be looked through."""
    base = judging.context.base_branch
    diff = await judging.repository.diff(judging.folder, base, MAX_DIFF, head)
    return diff if len(diff) < MAX_DIFF else None


def _too_long(judging: Judging) -> GateAnswer:
    limit = MAX_DIFF >> 20
    return refused(
        f"the diff is longer than {limit} MiB, too long to be looked through",
        f"The diff of your work against {judging.context.base_branch} is longer than {limit} MiB,"
        " too long to be checked. Take generated and vendored files out of your work. If they"
        " belong there, say why.",
    )


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(glob_match(path, pattern) for pattern in patterns)
