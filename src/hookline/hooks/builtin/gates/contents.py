"""Gates that look at what a task's commits change: no credentials in it, and not too much of it."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING

from hookline.domain.text.secret_patterns import ASSIGNMENT, find_secrets
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates.common import EarlyAnswer, Judging, passed, refused, skipped
from hookline.hooks.builtin.gates.diff import FileDiff, read_diff
from hookline.hooks.builtin.gates.past_commits import PastCommits
from hookline.hooks.framing import WITHOUT_HISTORY, file_name, framed, rewrite_history
from hookline.hooks.gates.reports import JUDGED, LEAKED
from hookline.hooks.language.globs import matches_any, takes_place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.hooks.answers import GateAnswer
    from hookline.hooks.builtin.gates.arguments import DiffLimits, Secrets

MAX_DIFF = 8 * 1024 * 1024
MAX_BINARY = 32 * 1024 * 1024
MAX_MESSAGES = 4 * 1024 * 1024
SHOWN = 50
# How files in UTF-16 begin.
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")


async def secrets(judging: Judging) -> GateAnswer:
    """Nothing that the work adds may look like a credential: lines, names, commit messages."""
    head = await judging.head()
    given: Secrets = judging.arguments
    files = [file for file in await _diff(judging, head) if not matches_any(file.path, given.allow)]
    binary = [file.path for file in files if file.binary and not file.deleted]
    git, folder, base = judging.repository, judging.folder, judging.context.base_branch
    contents = await git.history.contents(folder, head, binary, MAX_BINARY) if binary else {}
    messages = await git.history.messages(folder, base, head, MAX_MESSAGES)
    # Searching megabytes of text takes seconds, in which other tasks should continue.
    found = await asyncio.to_thread(_look_through, files, contents, messages, given.ignore)
    past = await _past_commits(judging, given).findings(head)
    if found:
        return _leak(judging, found, await _leaked(judging, [head, *past], found))
    if past:
        return await _replace(judging, past)
    if unseen := [path for path in binary if path not in contents]:
        return _unseen(unseen)
    lines = sum(len(file.added) for file in files)
    said = f"no credentials (files: {len(files)}, added lines: {lines})"
    return passed(said, {JUDGED: head})


def _look_through(
    files: Sequence[FileDiff],
    contents: Mapping[str, bytes],
    messages: dict[str, str],
    ignore: Sequence[str],
) -> list[str]:
    """What was found in the diff, in binary files by name, and in messages by commit."""
    found: list[str] = []
    for file in files:
        if not file.deleted:
            kinds = sorted(_kinds(file.path, ignore))
            found.extend(f"a file's name: {kind} (not shown)" for kind in kinds)
        if file.deleted or not file.binary:
            found.extend(_in_added(file, ignore))
        elif file.path in contents:
            found.extend(_in_binary(file.path, contents[file.path], ignore))
    for commit, message in messages.items():
        kinds = sorted(_kinds(message, ignore))
        found.extend(f"message of {commit[:12]}: {kind} (not shown)" for kind in kinds)
    return found


def _kinds(text: str, ignore: Sequence[str]) -> set[str]:
    return {secret.kind for secret in find_secrets(text, ignore)}


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
    # UTF-16 and UTF-32 have zero bytes between the letters.
    texts = {text, text.replace("\0", "")}
    kinds = {kind for each in texts for kind in _kinds(each, (*ignore, ASSIGNMENT))}
    if content.startswith(BYTE_ORDERS):  # it says that it is text
        kinds |= _kinds(content.decode("utf-16", "replace"), ignore)
    return [f"{path}: {kind} (not shown)" for kind in sorted(kinds)]


def looks_secret(path: str, content: bytes, given: Secrets) -> bool:
    """Whether a file that is not committed is one that the gate would reject."""
    if matches_any(path, given.allow):
        return False
    if b"\0" in content:
        return bool(_kinds(path, given.ignore) or _in_binary(path, content, given.ignore))
    text = content.decode("utf-8", "replace")
    return bool(_kinds(path, given.ignore) or _kinds(text, given.ignore))


def _past_commits(judging: Judging, given: Secrets) -> PastCommits:
    def look(files: Sequence[FileDiff], contents: Mapping[str, bytes]) -> list[str]:
        return _look_through(files, contents, {}, given.ignore)

    return PastCommits(judging, given.allow, (MAX_DIFF, MAX_BINARY), look)


async def _replace(judging: Judging, past: dict[str, list[str]]) -> GateAnswer:
    """Let no commit be merged or pushed that holds what a later one took out."""
    findings = [f"{sha[:12]}: {each}" for sha, found in past.items() for each in found]
    message = f"{len(findings)} credentials in earlier commits: {'; '.join(findings[:5])}"
    leaked = await _leaked(judging, list(past), findings)
    if judging.is_yours:
        prompt = f"{rewrite_history(judging.context.base_branch)}\n\n"
        prompt += framed("Where they are", "\n".join(findings[:SHOWN]))
        return refused(f"{message}{_revoke(leaked)}", prompt, leaked)
    if judging.is_trial:
        return skipped(f"{message}; a trial changes nothing: they are replaced by one commit later")
    base, branch = judging.context.base_branch, judging.context.branch_name
    head = await judging.repository.changes.replace_commits(judging.folder, base, branch=branch)
    said = f"{message}; the work is one commit now, without them{_revoke(leaked)}"
    return passed(said, {"rebased": True, "head": head, JUDGED: head, **leaked})


async def _leaked(judging: Judging, commits: list[str], found: list[str]) -> dict[str, list[str]]:
    """What someone else may have read by now, and what nothing takes back."""
    return {LEAKED: found[:5]} if await judging.repository.pushes.seen(commits) else {}


def _revoke(leaked: dict[str, list[str]]) -> str:
    return "; they were pushed: revoke them" if leaked else ""


def _leak(judging: Judging, findings: list[str], leaked: dict[str, list[str]]) -> GateAnswer:
    shown, base = "\n".join(findings[:SHOWN]), judging.context.base_branch
    history = rewrite_history(base) if judging.is_yours else WITHOUT_HISTORY
    prompt = (
        "Your work adds credentials. Remove each of them. Let the code read them from the"
        " environment or from a file that git ignores. Never repeat one in a message, log or file."
        " In your last message name each one, by file and kind: it has to be revoked. Replace one"
        " that is not real by a plain placeholder, and say so."
        f"\n\n{history}\n\n" + framed("Where they are", shown)
    )
    message = f"{len(findings)} credentials in the diff: {'; '.join(findings[:5])}"
    context = {"secrets": findings[:SHOWN], **leaked}
    return refused(f"{message}{_revoke(leaked)}", prompt, context)


def _unseen(names: list[str]) -> GateAnswer:
    return refused(
        f"these files could not be checked: {', '.join(names[:SHOWN])}",
        "These files of your work cannot be checked for credentials: all binary files together are"
        f" longer than {MAX_BINARY >> 20} MiB, or their names are not UTF-8. Take them out of your"
        " work, or rename them. If they belong there, that needs a person.\n\n"
        + framed("The files", "\n".join(names[:SHOWN])),
    )


# Limits of a diff.


async def diff_limits(judging: Judging) -> GateAnswer:
    """The work must stay within limits, and must not change forbidden files."""
    given: DiffLimits = judging.arguments
    if given.limits_nothing:
        raise HookFailure("diff_limits sets no limit: give it files, lines, bytes or forbid")
    head = await judging.head()
    base = judging.context.base_branch
    history = judging.repository.history
    names = await history.changed_files(judging.folder, base, head)
    files = await _diff(judging, head) if given.lines is not None else []
    measured = names if given.bytes is not None else []
    size = await history.size_of(judging.folder, head, measured) if measured else 0
    broken = [
        f"{count} {what}, and at most {limit} are allowed"
        for what, count, limit in (
            ("changed files", len(names), given.files),
            ("changed lines", sum(file.lines for file in files), given.lines),
            ("bytes in changed files", size, given.bytes),
        )
        if limit is not None and count > limit
    ]
    forbidden = [name for name in names if _is_forbidden(name, given.forbid)]
    if broken or forbidden:
        return _too_much(broken, forbidden)
    return passed(f"within the limits (changed files: {len(names)})", {JUDGED: head})


def _is_forbidden(name: str, forbid: Sequence[str]) -> bool:
    """A link in the place of a forbidden folder would bring other files in under its name."""
    return matches_any(name, forbid) or any(takes_place(name, each) for each in forbid)


def _too_much(broken: list[str], forbidden: list[str]) -> GateAnswer:
    names = forbidden[:SHOWN]
    told = [*broken, *(f"{name} must not change" for name in names)]
    lines = [*broken, *(f"{file_name(name)} must not change" for name in names)]
    listed = "\n".join(f"- {line}" for line in lines)
    prompt = (
        f"Your work changes more than it may. It breaks these limits:\n\n{listed}\n\n"
        "Keep what the task needs. Take out generated, vendored and unrelated files. Undo your"
        " changes to files that must not change, which is allowed. If the task cannot be done"
        " within the limits, that needs a person."
    )
    return refused("; ".join(told), prompt)


# What they share.


async def _diff(judging: Judging, head: str) -> list[FileDiff]:
    """The files of the work's diff; refuse one that is too long to check."""
    base, limit = judging.context.base_branch, MAX_DIFF >> 20
    diff = await judging.repository.history.diff(judging.folder, base, MAX_DIFF, head)
    if len(diff) < MAX_DIFF:
        return read_diff(diff)
    message = f"the diff is longer than {limit} MiB, too long to check"
    prompt = (
        f"The diff of your work against {base} is longer than {limit} MiB, too long to be checked."
        " Take generated and vendored files out of your work. If they belong there, that needs a"
        " person."
    )
    raise EarlyAnswer(refused(message, prompt))
