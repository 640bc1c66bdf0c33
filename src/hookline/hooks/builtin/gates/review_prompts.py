"""What a gatekeeper is asked, and how its review is told to the author of the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.hooks.names import short_name
from hookline.hooks.framing import MAX_OUTPUT, ends, file_name, framed, framed_parts, framed_wishes
from hookline.hooks.gates.reports import ATTEMPTS, GATES, REVIEW
from hookline.hooks.texts import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.work.repository import FileChange
    from hookline.hooks.builtin.gates.common import Judging

MAX_DIFF = 128 * 1024
MAX_FILES = 400
MAX_LAST_ANSWER = 2 * 1024
_ROUNDS = "Earlier reviews at this gate, and what the author answered"


def question(judging: Judging, asked: str | None, changes: Sequence[FileChange], diff: str) -> str:
    """What a gatekeeper is asked; without its own instructions, the general standard is enough."""
    context = judging.context
    base = context.base_branch
    reports, rounds = _so_far(judging)
    work = {
        "The task": judging.task_text,
        "The changed files": _listed(changes),
        f"The diff against {base}; if it is cut, read the files": diff,
        "The gates so far": ends("\n".join(reports), MAX_OUTPUT),
        _ROUNDS: ends("\n\n".join(rounds), MAX_OUTPUT),
    }
    parts = framed_parts(work, 4 * MAX_DIFF)
    return told(
        "review",
        "question",
        task_id=context.task_id,
        base=base,
        branch=context.branch_name,
        view=told("review", "view", asked=asked) if asked else "",
        also=told("review", "also") if asked else "",
        style="" if asked else told("review", "style"),
        work=f"{parts}\n\n{told('review', 'rounds')}" if rounds else parts,
    )


def question_again(why: str, said: str) -> str:
    """What a gatekeeper is told whose answer was not a verdict."""
    last = framed("Your last answer", said, MAX_LAST_ANSWER)
    return told("review", "again", why=why, said=last)


def review_prompt(review: str, who: str = "A colleague", *, asks: bool = True) -> str:
    """What the author of the work is told about a review, which `asks` for changes or does not."""
    said = framed_wishes("The review", review)
    return told("review", "reviewed" if asks else "commented", who=who, review=said)


def _listed(changes: Sequence[FileChange]) -> str:
    """The files of a diff, which may be cut."""
    lines = [f"- {file_name(each.path)} {_lines(each)}" for each in changes[:MAX_FILES]]
    left = len(changes) - MAX_FILES
    return "\n".join([*lines, *([f"and {left} more that are not named here"] * (left > 0))])


def _lines(change: FileChange) -> str:
    return "binary" if change.added is None else f"+{change.added} -{change.removed}"


def _so_far(judging: Judging) -> tuple[list[str], list[str]]:
    """What gates found before this one, and what the author said to this gate before."""
    extra, name = judging.context.extra, short_name(judging.hook.name)
    rounds = [_round(each) for each in _entries(extra, ATTEMPTS) if each.get("gate") == name]
    return [_report(each) for each in _entries(extra, GATES)], rounds


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
