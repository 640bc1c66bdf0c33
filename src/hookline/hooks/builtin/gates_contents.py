"""Gates that look at what a task's commits change: no credentials in it, and not too much of it."""

from __future__ import annotations

import asyncio
import os
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.secret_patterns import ASSIGNMENT, find_secrets
from hookline.errors import BadInput, HookFailure
from hookline.hooks.builtin.gates_common import astray, passed, refused, standing
from hookline.hooks.builtin.gates_diff import read_diff
from hookline.hooks.framing import framed
from hookline.hooks.globs import glob_match
from hookline.hooks.projectfiles import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.answers import GateAnswer
    from hookline.hooks.builtin.gates_arguments import DiffLimits, Secrets
    from hookline.hooks.builtin.gates_common import Judging
    from hookline.hooks.builtin.gates_diff import FileDiff

MAX_DIFF = 8 * 1024 * 1024
MAX_BINARY = 4 * 1024 * 1024
SHOWN = 50


async def secrets(judging: Judging) -> GateAnswer:
    """No line that the work adds may look like a credential."""
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    diff = await _diff(judging)
    if diff is None:
        return _too_long(judging)
    given: Secrets = judging.arguments
    files = [file for file in read_diff(diff) if not _matches(file.path, given.allow)]
    # Patterns over megabytes of text take seconds, in which others want to go on.
    found = await asyncio.to_thread(_look_through, files, state.top or judging.folder, given.ignore)
    if found.findings:
        return _leak(judging, found.findings)
    lines = sum(len(file.added) for file in files)
    unseen = f"; not looked into: {', '.join(found.unseen[:SHOWN])}" if found.unseen else ""
    return passed(f"no credentials (files: {len(files)}, added lines: {lines}){unseen}")


class _Found(NamedTuple):
    findings: list[str]
    unseen: list[str]


def _look_through(files: Sequence[FileDiff], top: str, ignore: Sequence[str]) -> _Found:
    found = _Found([], [])
    for file in files:
        if file.binary and not file.deleted:
            _look_into_binary(file.path, top, ignore, found)
        else:
            found.findings.extend(_in_added(file, ignore))
    return found


def _in_added(file: FileDiff, ignore: Sequence[str]) -> list[str]:
    starts, texts, place = [], [], 0
    for _, text in file.added:
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


def _look_into_binary(path: str, top: str, ignore: Sequence[str], found: _Found) -> None:
    """A file that git shows no lines of, which an attribute can say of any file."""
    try:
        text = read_file(top, path, MAX_BINARY).decode("latin-1")
    except BadInput:
        found.unseen.append(path)
        return
    kinds = {secret.kind for secret in find_secrets(text, (*ignore, ASSIGNMENT))}
    found.findings.extend(f"{path}: {kind} (not shown)" for kind in sorted(kinds))


def _leak(judging: Judging, findings: list[str]) -> GateAnswer:
    shown = "\n".join(findings[:SHOWN])
    base = judging.context.base_branch
    prompt = (
        "Your work adds credentials to the code. Remove each of them, and read it from the"
        " environment or from a file that git ignores. A later commit leaves a credential in the"
        " history: if you can run git, replace your commits by one without it, with `git reset"
        f" --soft $(git merge-base HEAD {base})` and a new commit. Never print a credential. Say in"
        " your last message which ones must be revoked.\n\n" + framed("Where they are", shown)
    )
    message = f"{len(findings)} credentials in the diff: {'; '.join(findings[:5])}"
    return refused(message, prompt, {"secrets": findings[:SHOWN]})


# Limits of a diff.


async def diff_limits(judging: Judging) -> GateAnswer:
    """The work may change only so much, and not everything."""
    given: DiffLimits = judging.arguments
    if given.limits_nothing:
        raise HookFailure("diff_limits limits nothing: give it files, lines, bytes or forbid")
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    names = await judging.repository.changed_files(judging.folder, judging.context.base_branch)
    lines = await _changed_lines(judging) if given.lines is not None else 0
    if lines is None:
        return _too_long(judging)
    size = _size(names, state.top or judging.folder) if given.bytes is not None else 0
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
    return passed(f"within the limits (changed files: {len(names)})")


async def _changed_lines(judging: Judging) -> int | None:
    diff = await _diff(judging)
    return None if diff is None else sum(file.lines for file in read_diff(diff))


def _size(names: Sequence[str], top: str) -> int:
    """The bytes of the changed files as they are now; a file that is gone has none."""
    total = 0
    for name in names:
        try:
            total += os.lstat(os.path.join(top, name)).st_size
        except OSError:
            continue
    return total


def _too_much(judging: Judging, broken: list[str], forbidden: list[str]) -> GateAnswer:
    base = judging.context.base_branch
    told = [*broken, *(f"{name} must not change" for name in forbidden[:SHOWN])]
    prompt = (
        "Your work changes more than it may. Keep what the task needs: take out generated, vendored"
        " and unrelated files, and bring files that must not change back to what they are in"
        f" {base}. If the task cannot be done within the limits, say why.\n\n"
        + framed("The limits that it breaks", "\n".join(told))
    )
    return refused("; ".join(told), prompt)


# What they share.


async def _diff(judging: Judging) -> str | None:
    """The whole diff of the work, or None if it is too long to be looked through."""
    base = judging.context.base_branch
    diff = await judging.repository.diff(judging.folder, base, MAX_DIFF)
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
