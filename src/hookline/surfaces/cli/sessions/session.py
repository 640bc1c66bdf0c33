"""`hookline session`: which sessions there are, and what each has done."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.domain.hooks.names import short_name, shown_hook
from hookline.domain.sessions import model as sessions
from hookline.domain.text.terminal import clean, padded, plural, size, thousands, took, width
from hookline.domain.timestamps import seconds
from hookline.queries import sessions as queries
from hookline.queries.pruned import GONE
from hookline.queries.reports.proofs import only_claimed, session_unproven
from hookline.queries.session_details import session_details
from hookline.queries.sessions import facts, known_session, next_command
from hookline.sessions.names import all_sessions, find
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.live.lines import BAD, decision_mark, money
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, paint, say, say_row, untrusted
from hookline.surfaces.cli.sessions import arguments, steer
from hookline.surfaces.cli.sessions.attach import attach, attach_arguments, logs, logs_arguments
from hookline.wiring.project.clones import work_elsewhere

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from hookline.domain.runs.model import Run
    from hookline.ports.store import View
    from hookline.queries.session_details import EndedIteration, SessionDetails
    from hookline.queries.sessions import SessionFacts

STYLES = {
    "running": "yellow",
    sessions.COMPLETED: "green",
    **dict.fromkeys((queries.WAITING, queries.PAUSED), "cyan"),
    **dict.fromkeys((queries.KILLED, sessions.ESCALATED, sessions.FAILED), "red"),
}
SHOWN_ITERATIONS = 10
LISTED = 20
LONGEST_NAME = 40


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--all", action="store_true", help=f"all sessions, not only the newest {LISTED}")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        chosen = islice(all_sessions(view), None if args.all else LISTED)
        found = [_listed(view, run) for run in chosen]
    if not answer(args, [each.known for each in found]):
        return
    for line in _lines(found):
        say_row(line, 4)
    if not found:
        say('no sessions; `hookline run "what the agent should do"` starts one')
    else:
        next_step(next_command(found[0].known))


class _Listed(NamedTuple):
    """A session, and whether only its agent says that it is complete."""

    known: SessionFacts
    is_claim: bool


def _listed(view: View, run: Run) -> _Listed:
    known = facts(view, run)
    return _Listed(known, only_claimed(view, known) is not None)


def _lines(found: Sequence[_Listed]) -> Iterator[str]:
    """Sessions in columns; what differs in length and kind, its goal and why, comes last."""
    table = [_cells(each.known) for each in found]
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    for (known, is_claim), cells in zip(found, table, strict=True):
        name, status, *where = map(padded, cells, widths)
        style = "red" if is_claim else STYLES.get(known.status, "bold")
        told = f"{paint(name, 'bold')}  {paint(status, style)}  {paint('  '.join(where), 'dim')}"
        yield f"{told}  {untrusted(known.goal, 60)}{_more(known, is_claim=is_claim)}"


def _cells(known: SessionFacts) -> tuple[str, ...]:
    age = f"{took(time.time() - seconds(known.created_at))} ago" if known.created_at else ""
    name, agent = untrusted(known.name, LONGEST_NAME), untrusted(known.agent or "", 30)
    return name, known.status, known.run_id, f"iteration {known.iteration}", agent, age


def _more(known: SessionFacts, *, is_claim: bool) -> str:
    if is_claim:
        return "  (UNPROVEN: only its agent says so)"
    if known.pid is not None:
        return f"  (in process {known.pid})"
    if known.until is not None:
        return f"  (until {known.until}: {untrusted(known.reason or '', 60)})"
    return f"  ({untrusted(known.reason, 80)})" if known.reason and not known.is_over else ""


# One session


def _show_arguments(p: ArgumentParser) -> None:
    arguments.session_argument(p, obvious="the one at work, else the newest")


def _show(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        known = known_session(view, args.name, "show")
        run = view.runs.find(known.run_id)
        told = session_details(view, run, app.blobs)
        listed, proven = _listed(view, run), session_unproven(view, run) is None
        elsewhere = work_elsewhere(app).get(known.task_id)
    shown = {**msgspec.to_builtins(known), **msgspec.to_builtins(told), "proven": proven}
    shown |= {"clone": elsewhere.holder} if elsewhere else {}
    if not answer(args, shown):
        return
    say_row(next(_lines([listed])), 4)
    rows = {
        "goal": known.goal,
        "task": known.task_id,
        "agent": known.agent,
        "in": elsewhere and untrusted(elsewhere.holder),
        "started": known.created_at,
        "why": known.reason,
        "used": _used(told),
        "asked": told.wants and f"to {told.wants}",
        "pruned": told.pruned and f"{GONE}, on {told.pruned}",
    }
    for name, value in rows.items():
        if value:
            say_row(f"  {paint(f'{name:9}', 'dim')} {untrusted(str(value), 500)}", 12)
    for each in told.history[-SHOWN_ITERATIONS:]:
        say_row(f"  {_iteration_line(each, is_proven=proven)}", 6)
    for check in told.failed_checks:
        first, _, more = (check["message"] or "").partition("\n")
        say_row(f"    {paint('✗', 'red')} {untrusted(check['ruleName'])}  {untrusted(first)}", 6)
        _show_lines(more)
    for output in told.held:
        where = f"{untrusted(output.point)} {shown_hook(output.hook)}"
        _show_waiting("held", where, output.text)
    for text in told.messages:
        _show_waiting("message", "a person", text)
    next_step(next_command(known))


def _used(told: SessionDetails) -> str:
    parts = [
        f"{each.name.replace('_', ' ')} {_amount(each.used)}/{_amount(each.allowed)}"
        for each in told.countdown
        if each.used or each.name == "iterations"
    ]
    limited = {each.name for each in told.countdown}
    if told.usd and "usd" not in limited:
        parts.append(money(told.usd))
    if told.tokens and "tokens" not in limited:
        parts.append(f"{thousands(told.tokens)} tokens")
    return " · ".join(parts)


def _amount(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _iteration_line(ended: EndedIteration, *, is_proven: bool) -> str:
    decision = ended.decision or "failed"
    is_bad = ended.status == "failed" or decision == "failed"
    mark = BAD if is_bad else decision_mark(decision, is_proven=is_proven)
    by = f" by {untrusted(short_name(ended.hook), 40)}" if ended.hook else ""
    why = untrusted(ended.reason or ended.error or "", 160)
    files = plural(len(ended.files_modified), "file")
    return (
        f"{paint(*mark)} iteration {ended.iteration}  {decision}{by}: {why}  {paint(files, 'dim')}"
    )


def _show_waiting(kind: str, where: str, text: str) -> None:
    length = size(len(text.encode("utf-8", "replace")))
    say(f"  {paint(f'{kind:9}', 'cyan')} {where}  {length}, for the next prompt")
    _show_lines(text)


def _show_lines(text: str) -> None:
    for line in text.splitlines():
        say(f"    {paint('│', 'dim')} {clean(line)}")


def _report_arguments(p: ArgumentParser) -> None:
    arguments.session_argument(p)
    help = "where to write it; `-` is stdout (default: .hookline/reports)"
    p.add_argument("-o", "--output", metavar="FILE", help=help)


def _report(args: Namespace) -> None:
    from hookline.surfaces.cli.reports.session_page import tell_session  # asks git, in processes

    with reading() as app:
        with app.read() as view:
            run = find(view, args.name)
        tell_session(args, app, run, args.output)


SESSION_COMMANDS = {
    "list": Command("list sessions and their status", _list_arguments, _list),
    "show": Command(
        "show one session: what it did, what is held for its agent", _show_arguments, _show
    ),
    "stop": Command("stop a session after its turn, or now", steer.stop_arguments, steer.stop),
    "pause": Command("pause a session after its iteration", steer.pause_arguments, steer.pause),
    "resume": Command(
        "resume a session, like `run --resume`", steer.resume_arguments, steer.resume
    ),
    "message": Command(
        "send a message to a session's agent", steer.message_arguments, steer.message
    ),
    "attach": Command("watch a session that another process runs", attach_arguments, attach),
    "logs": Command("show what a session did, from its beginning", logs_arguments, logs),
    "report": Command("write a report on a session, as one HTML file", _report_arguments, _report),
}
