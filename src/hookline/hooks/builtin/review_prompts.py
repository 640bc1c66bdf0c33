"""What a gatekeeper is asked, and how its review is told to the author of the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.hooks.builtin.gates_common import task_text
from hookline.hooks.framing import file_name, framed, framed_wishes
from hookline.hooks.gate_reports import ATTEMPTS, GATES, REVIEW
from hookline.hooks.names import short_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.domain.repository import FileChange
    from hookline.hooks.builtin.gates_common import Judging

MAX_DIFF = 128 * 1024
MAX_FILES = 400
MAX_LAST_ANSWER = 2 * 1024

_QUESTION = """\
You review the work of another agent on the task {task_id}. The work is merged into {base} only if \
you approve it.

The work is in this folder, on the branch `{branch}`. You may read every file here, and run \
commands that change nothing, if you can run any. Change nothing: no file, no commit, no setting.

{view}# What to block for

Block the work (`request_changes`) if one of these holds:

- The task is not met: something that its goal, deliverables or notes ask for is missing or wrong.
- There is a bug: the change gives a wrong result, loses data, or breaks what worked before.
- There is a security problem.
- New behaviour has no test, although the project has tests.
{also}
Nothing else is a reason to block: not style, taste or naming, and not code that the diff leaves \
as it was. You may still comment on such things. If you cannot find out whether one of the reasons \
holds, take it as holding, and say what you could not find out.

# The work

{work}

# Your review

- `verdict`: `approve` or `request_changes`. With `request_changes` at least one comment is \
blocking, with `approve` none is.
- `summary`: why, in one or two sentences.
- `comments`: one for each thing that you found, or none. `file` and `line` say where, or are \
null. `blocking` is true if it must be changed before the merge, else false. `comment` says what \
is wrong and what to do about it. The author reads it and cannot ask you questions.
"""
_VIEW = "# Your point of view\n\n{asked}\n\n"
_ALSO = "- Your point of view above names a further reason to block, and it holds.\n"
_AGAIN = """\
Your last answer could not be used: {why}. Give your review again, with `verdict`, `summary` and \
`comments`.

{said}
"""
_REVIEWED = """\
{who} reviewed your work and asked for changes. Make these changes; those marked optional only if \
you find them right. If the review is wrong about something, leave that as it is and say why in \
your last message, which is shown to the reviewer.

{review}"""


_ROUNDS = (
    "Check whether each earlier request is met. Where the author disagreed, judge the reasons"
    " yourself."
)


def question(judging: Judging, asked: str | None, changes: Sequence[FileChange], diff: str) -> str:
    """What a gatekeeper is asked; without words of its own, the general standard is enough."""
    context = judging.context
    base = context.base_branch
    work = [
        framed("The task, by which you judge the work", task_text(judging), 4 * MAX_DIFF),
        framed(
            "The files that the work changes, with their added and removed lines",
            _listed(changes),
            4 * MAX_DIFF,
        ),
        framed(f"The diff of the work against {base}", diff, 4 * MAX_DIFF)
        + "\n\nIf the diff is cut, read the files.",
        *_so_far(judging),
    ]
    return _QUESTION.format(
        task_id=context.task_id,
        base=base,
        branch=context.branch_name,
        view=_VIEW.format(asked=asked) if asked else "",
        also=_ALSO if asked else "",
        work="\n\n".join(work),
    )


def question_again(why: str, said: str) -> str:
    """What a gatekeeper is told whose answer was no verdict."""
    return _AGAIN.format(why=why, said=framed("Your last answer", said, MAX_LAST_ANSWER))


def review_prompt(review: str, who: str = "A colleague") -> str:
    """What the author of the work is told about a review."""
    return _REVIEWED.format(who=who, review=framed_wishes("The review", review))


def _listed(changes: Sequence[FileChange]) -> str:
    """The files of a diff, which may be cut."""
    lines = [f"- {file_name(each.path)} {_lines(each)}" for each in changes[:MAX_FILES]]
    left = len(changes) - MAX_FILES
    return "\n".join([*lines, *([f"and {left} more that are not named here"] * (left > 0))])


def _lines(change: FileChange) -> str:
    return "binary" if change.added is None else f"+{change.added} -{change.removed}"


def _so_far(judging: Judging) -> Iterator[str]:
    """What gates found before this one, and what the author said to this gate before."""
    extra = judging.context.extra
    reports = [_report(each) for each in _entries(extra, GATES)]
    if reports:
        yield framed("The results of the gates so far", "\n".join(reports))
    name = short_name(judging.hook.name)
    rounds = [_round(each) for each in _entries(extra, ATTEMPTS) if each.get("gate") == name]
    if rounds:
        yield framed(
            "Earlier reviews at this gate, and what the author answered", "\n\n".join(rounds)
        )
        yield _ROUNDS


def _entries(extra: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = extra.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _report(report: dict[str, Any]) -> str:
    point = f" ({report['point']})" if report.get("point") else ""
    printed = f"it printed: {report['printed']}" if report.get("printed") else ""
    said = (report.get("status"), report.get("message"), printed)
    return f"- {report.get('gate')}{point}: " + "; ".join(str(part) for part in said if part)


def _round(attempt: dict[str, Any]) -> str:
    asked = attempt.get(REVIEW) or attempt.get("message", "")
    return f"{asked}\nThe author answered: {attempt.get('agent') or 'nothing'}"
