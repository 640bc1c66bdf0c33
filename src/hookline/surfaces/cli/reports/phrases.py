"""How a report says things, in every form: outcomes, proofs, changes, costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.excerpts import first_few
from hookline.domain.text.terminal import plural
from hookline.domain.timestamps import local, moment_text
from hookline.queries.reports import proofs
from hookline.queries.reports.project import BAD, GOOD, UNPROVEN, UNTESTED
from hookline.surfaces.cli.work.costs import cost_text, who

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.queries.reports.changes import Change
    from hookline.queries.reports.project import ProjectReport, ReportedSession, ReportedTask
    from hookline.queries.reports.proofs import Proof
    from hookline.queries.waiting.item import Item
    from hookline.sessions.spending import WholeCost

GOOD_MARK, BAD_MARK, OTHER_MARK = "✓", "✗", "●"
LOUD = (UNTESTED, UNPROVEN)
_ORDER = (*GOOD[:1], UNTESTED, *GOOD[1:], UNPROVEN, *BAD)
_SHORT = 12
_CHECKS = 8
# The status of a session, in the words of a report.
BAD_SESSIONS = ("failed", "escalated", "limit", "killed", "parked")


def mark_of(outcome: str) -> str:
    """A mark that says whether all is well."""
    if outcome in GOOD:
        return GOOD_MARK
    return BAD_MARK if outcome in (*BAD, *BAD_SESSIONS) else OTHER_MARK


def session_mark(session: ReportedSession) -> str:
    """The mark of a session: what only its agent says, and gates have not checked, is open."""
    mark = mark_of(session.status)
    return OTHER_MARK if mark == GOOD_MARK and not session.proven else mark


def outcome_text(outcome: str) -> str:
    """An outcome; what nothing has proven is said as loudly as a failure."""
    return outcome.upper() if outcome in LOUD else outcome


def period(found: ProjectReport) -> str:
    """From when to when, in local time."""
    zone = local(found.until).strftime("%Z")
    since, until = (moment_text(each, found.until) for each in (found.since, found.until))
    return f"since {since}, until {until} {zone}"


def headline(found: ProjectReport) -> str:
    """Everything in one line."""
    outcomes = {task.outcome: len(found.with_outcome(task.outcome)) for task in found.tasks}
    in_order = sorted(outcomes, key=lambda each: _ORDER.index(each) if each in _ORDER else 99)
    parts = [f"{outcomes[each]} {outcome_text(each)}" for each in in_order]
    if found.waiting:
        parts.append(f"{len(found.waiting)} waiting for you")
    spent = f" · {cost_text(found.cost)}" if found.cost.turns else ""
    return f"{', '.join(parts) or 'nothing was done'}{spent}"


def why_text(task: ReportedTask, found: ProjectReport) -> str:
    """Why a task came to its end, unless what waits for a person says it as well."""
    is_told = any(task.task_id in (item.id, item.node) for item in found.waiting)
    return task.why or "" if task.outcome in LOUD or not is_told else ""


def item_text(item: Item, now: str) -> str:
    """Since when something waits, and why; its name comes before it."""
    about = f" {item.goal}" if item.goal else ""
    since = f" since {moment_text(item.since, now)}" if item.since else ""
    return f"{about} ({item.kind}){since}: {item.message}"


def short(commit: str | None) -> str:
    """A commit as people write it."""
    return (commit or "")[:_SHORT]


def change_text(change: Change | None) -> str:
    """How much was changed, or why that is not known."""
    if change is None:
        return ""
    if change.unknown is not None:
        return f"changes unknown: {change.unknown}"
    added, removed = change.lines
    return f"{plural(len(change.files), 'file')}, +{added} -{removed}"


def merge_text(task: ReportedTask, now: str) -> str:
    """When work was merged, and as what."""
    merged = task.merged
    if merged is None:
        return ""
    return f"merged {moment_text(merged.at, now)} into {merged.base} as {short(merged.sha)}"


def proof_texts(task: ReportedTask) -> Iterator[tuple[str, str]]:
    """What passed, failed or is missing, and on which commit: (status, what)."""
    for status in (proofs.FAILED, proofs.WAITS, proofs.NONE, proofs.PASSED, proofs.SKIPPED):
        found = [each for each in task.proofs if each.status == status]
        for commit in dict.fromkeys(each.commit for each in found):
            checks = [_check(each) for each in found if each.commit == commit]
            on = f" on {short(commit)}" if commit else ""
            yield status, f"{_VERBS[status]}{on}: {first_few(checks, _CHECKS)}"
    if not task.proofs and task.outcome == UNTESTED:  # `why` says it of what is unproven
        yield proofs.NONE, "nothing was checked"


_VERBS = {
    proofs.PASSED: "passed",
    proofs.FAILED: "failed",
    proofs.WAITS: "waits",
    proofs.SKIPPED: "skipped",
    proofs.NONE: "no gate",
}


def _check(proof: Proof) -> str:
    where = {proofs.MERGED_RESULT: " (as merged)", proofs.STOP: " (stop hook)"}
    if proof.status == proofs.NONE:
        return proof.point
    return f"{proof.check}{where.get(proof.point, '')}"


def role_texts(cost: WholeCost) -> list[str]:
    """What each role cost, in a few words."""
    return [f"{each.role} {who(each)}: {cost_text(each)}" for each in cost.roles]


def iterations_text(count: int) -> str:
    """How far a session came."""
    return f"after {plural(count, 'iteration')}"
