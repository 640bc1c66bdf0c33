"""The report of a project in a terminal: calm, and no wider than that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.queries.reports import proofs
from hookline.surfaces.cli.output import paint, say, say_command, say_row, untrusted
from hookline.surfaces.cli.reports import phrases
from hookline.surfaces.cli.work.costs import cost_text

if TYPE_CHECKING:
    from hookline.queries.reports.project import ProjectReport, ReportedSession, ReportedTask
    from hookline.queries.waiting.item import Item

_STYLES = {phrases.GOOD_MARK: "green", phrases.BAD_MARK: "red", phrases.OTHER_MARK: "yellow"}
_PROOFS = {proofs.FAILED: "red", proofs.NONE: "red", proofs.WAITS: "yellow", proofs.SKIPPED: "dim"}
_INDENT = 8
MOST_SHOWN = 300


def show(found: ProjectReport) -> None:
    """Print a report."""
    say_row(f"{paint(untrusted(found.project), 'bold')}: {phrases.period(found)}", 2)
    say_row(phrases.headline(found), 2)
    if found.tasks:
        _title("Tasks")
    for task in found.tasks:
        _show_task(task, found)
    if found.left_out:
        say(f"  and {found.left_out} earlier tasks")
    if found.sessions:
        _title("Sessions")
    for session in found.sessions:
        _show_session(session)
    if found.waiting:
        _title("Waits for you")
    for item in found.waiting:
        _show_item(item, found.until)


def _title(text: str) -> None:
    say()
    say(paint(text, "bold"))


def _show_task(task: ReportedTask, found: ProjectReport) -> None:
    longest = max(len(each.outcome) for each in found.tasks)
    outcome = paint(f"{phrases.outcome_text(task.outcome):{longest}}", _style(task.outcome))
    name = paint(f"{task.task_id:5}", "bold")
    say_row(f"{_mark(task.outcome)} {name} {outcome}  {untrusted(task.goal, 90)}", _INDENT)
    if why := phrases.why_text(task, found):
        _below(why, _style(task.outcome) if task.outcome in phrases.LOUD else "dim")
    facts = (phrases.merge_text(task, found.until), phrases.change_text(task.change))
    if any(facts):
        _below(" · ".join(each for each in facts if each))
    for status, text in phrases.proof_texts(task):
        _below(text, _PROOFS.get(status, ""))
    if task.cost.turns:
        roles = phrases.role_texts(task.cost)
        _below("; ".join(roles) if len(roles) < 3 else cost_text(task.cost), "dim")
        for each in roles if len(roles) > 2 else ():
            _below(f"  {each}", "dim")


def _below(text: str, style: str = "") -> None:
    shown = untrusted(text, MOST_SHOWN)
    say_row(" " * _INDENT + (paint(shown, style) if style else shown), _INDENT + 2)


def _show_session(session: ReportedSession) -> None:
    name = paint(untrusted(session.name, 40), "bold")
    mark = phrases.session_mark(session)
    status = paint(phrases.outcome_text(session.status), _STYLES[mark])
    how = f"{phrases.iterations_text(session.iterations)}"
    why = f": {untrusted(session.why, 200)}" if session.why else ""
    about = paint(f"({session.run_id}, {session.task_id})", "dim")
    say_row(f"{paint(mark, _STYLES[mark])} {name}  {status} {how}{why} {about}", 4)


def _show_item(item: Item, now: str) -> None:
    head = f"{paint('!', 'yellow')} {paint(untrusted(item.id), 'bold')}"
    say_row(f"{head} {untrusted(phrases.item_text(item, now), MOST_SHOWN)}", 4)
    say_command("    ", item.command, "cyan")


def _mark(outcome: str) -> str:
    mark = phrases.mark_of(outcome)
    return paint(mark, _STYLES[mark])


def _style(outcome: str) -> str:
    return _STYLES[phrases.mark_of(outcome)]
