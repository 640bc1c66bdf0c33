"""`hookline session`: which sessions there are, how they stand, and what became of them."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.blobs import FileBlobs
from hookline.domain import sessions
from hookline.domain.moments import seconds
from hookline.flows import journal
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.live_lines import money
from hookline.surfaces.cli.live_text import clean, padded, plural, size, thousands, took, width
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import next_step, paint, say, say_json, say_row, untrusted
from hookline.surfaces.cli.report import report, report_arguments
from hookline.surfaces.cli.session_arguments import session_argument
from hookline.surfaces.cli.session_attach import attach, attach_arguments
from hookline.surfaces.cli.session_control import CONTROL_COMMANDS
from hookline.surfaces.cli.session_facts import (
    KILLED,
    PAUSED,
    WAITING,
    all_sessions,
    beginnings,
    countdown,
    endings,
    facts,
    find,
    next_command,
    spent,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from hookline.adapters.store.sqlite import View
    from hookline.domain.runs import Run
    from hookline.domain.sessions import HeldOutput
    from hookline.ports.store import Blobs
    from hookline.surfaces.cli.session_facts import Facts

STYLES = {
    "running": "yellow",
    WAITING: "cyan",
    PAUSED: "cyan",
    KILLED: "red",
    sessions.COMPLETED: "green",
    sessions.ESCALATED: "red",
    sessions.FAILED: "red",
}
SHOWN_ITERATIONS = 10
LISTED = 20
LONGEST_NAME = 40


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--all", action="store_true", help=f"more than the newest {LISTED}")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        chosen = islice(all_sessions(view), None if args.all else LISTED)
        found = [facts(view, run) for run in chosen]
    if args.json:
        say_json(found)
        return
    for line in _lines(found):
        say_row(line, 4)
    if not found:
        say('no sessions; `hookline run "what is to be done"` starts one')
    else:
        next_step(next_command(found[0]))


def _lines(found: Sequence[Facts]) -> Iterator[str]:
    """Sessions in columns; what differs in length and kind, its goal and why, stands last."""
    table = [_cells(each) for each in found]
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    for known, cells in zip(found, table, strict=True):
        name, status, *where = map(padded, cells, widths)
        style = STYLES.get(known.status, "bold")
        told = f"{paint(name, 'bold')}  {paint(status, style)}  {paint('  '.join(where), 'dim')}"
        yield f"{told}  {untrusted(known.goal, 60)}{_more(known)}"


def _cells(known: Facts) -> tuple[str, ...]:
    age = f"{took(time.time() - seconds(known.created_at))} ago" if known.created_at else ""
    name, agent = untrusted(known.name, LONGEST_NAME), untrusted(known.agent or "", 30)
    return name, known.status, known.run_id, f"iteration {known.iteration}", agent, age


def _more(known: Facts) -> str:
    if known.pid is not None:
        return f"  (in process {known.pid})"
    if known.until is not None:
        return f"  (until {known.until}: {untrusted(known.reason or '', 60)})"
    return f"  ({untrusted(known.reason, 80)})" if known.reason and not known.is_over else ""


# One session


def _show(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        run = view.runs.find(find(view, args.name).run_id)
        known, told = facts(view, run), _details(view, run)
        held = view.sessions.held(run.run_id)
        failed = _failed_checks(view, run, FileBlobs(app.project.blobs))
        wants, said = (None, []) if known.is_over else (_wanted(view, run), _said(view, run))
    if args.json:
        outputs = [_held_json(each) for each in held]
        more = {"held": outputs, "messages": said, "wants": wants, "failedChecks": failed}
        say_json({**msgspec.to_builtins(known), **told, **more})
        return
    say_row(next(_lines([known])), 4)
    rows = {
        "goal": known.goal,
        "task": known.task_id,
        "agent": known.agent,
        "started": known.created_at,
        "why": known.reason,
        "used": _used(told),
        "asked": wants and f"to {wants}",
    }
    for name, value in rows.items():
        if value:
            say_row(f"  {paint(f'{name:9}', 'dim')} {untrusted(str(value), 500)}", 12)
    for each in told["history"][-SHOWN_ITERATIONS:]:
        say(f"  {_iteration_line(each)}")
    for check in failed:
        _show_failed(check)
    for output in held:
        where = f"{untrusted(output.point)} {untrusted(output.hook)}"
        _show_waiting("held", where, output.text)
    for text in said:
        _show_waiting("message", "a person", text)
    next_step(next_command(known))


def _wanted(view: View, run: Run) -> str | None:
    """What a person asked a session for that it has not heard of yet: to stop, or to pause."""
    verbs = [value["verb"] for _, name, value in view.runs.signals(run) if name == sessions.SIGNAL]
    return next((verb for verb in ("stop", "pause") if verb in verbs), None)


def _said(view: View, run: Run) -> list[str]:
    """What people said since the last iteration began, whose prompt held all that was before."""
    begun = beginnings(view, run.run_id)
    events = view.log.events(
        node_id=run.run_id, types=("run_signalled",), after=begun[-1].seq if begun else 0
    )
    sent = [each.data["value"] for each in events if each.data["name"] == sessions.SIGNAL]
    return [value["text"] for value in sent if value["verb"] == "message"]


def _failed_checks(view: View, run: Run, blobs: Blobs) -> list[dict[str, Any]]:
    """What failed when the work was last validated, unless the agent has worked since."""
    for chapter in range(run.chapter, 0, -1):
        effects = view.runs.effects(msgspec.structs.replace(run, chapter=chapter))
        last = next((e for e in reversed(effects) if e.kind in ("agent", "validate")), None)
        if last is not None:
            value = journal.inside(last.value, blobs) if last.kind == "validate" else {}
            return [each for each in (value or {}).get("results", ()) if not each["passed"]]
    return []


def _details(view: View, run: Run) -> dict[str, Any]:
    """How much of its limits is used, and what came of each iteration."""
    usd, tokens = spent(view, run.run_id)
    counted, ended = countdown(view, run.run_id), endings(view, run.run_id)
    return {"countdown": counted, "usd": usd, "tokens": tokens, "history": ended}


def _used(told: dict[str, Any]) -> str:
    parts = [
        f"{each['name'].replace('_', ' ')} {_amount(each['used'])}/{_amount(each['allowed'])}"
        for each in told["countdown"]
        if each["used"] or each["name"] == "iterations"
    ]
    limited = {each["name"] for each in told["countdown"]}
    if told["usd"] and "usd" not in limited:
        parts.append(money(told["usd"]))
    if told["tokens"] and "tokens" not in limited:
        parts.append(f"{thousands(told['tokens'])} tokens")
    return " · ".join(parts)


def _amount(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _iteration_line(ended: dict[str, Any]) -> str:
    mark = paint("✗", "red") if ended["status"] == "failed" else paint("✓", "green")
    decision = ended["decision"] or "failed"
    by = f" by {untrusted(ended['hook'], 40)}" if ended["hook"] else ""
    why = untrusted(str(ended["reason"] or ended["error"] or ""), 160)
    files = plural(len(ended["filesModified"]), "file")
    return f"{mark} iteration {ended['iteration']}  {decision}{by}: {why}  {paint(files, 'dim')}"


def _show_failed(check: dict[str, Any]) -> None:
    first, _, more = (check["message"] or "").partition("\n")
    say(f"    {paint('✗', 'red')} {untrusted(check['ruleName'])}  {untrusted(first)}")
    _show_lines(more)


def _show_waiting(kind: str, where: str, text: str) -> None:
    length = size(len(text.encode("utf-8", "replace")))
    say(f"  {paint(f'{kind:9}', 'cyan')} {where}  {length}, for the next prompt")
    _show_lines(text)


def _show_lines(text: str) -> None:
    for line in text.splitlines():
        say(f"    {paint('│', 'dim')} {clean(line)}")


def _held_json(held: HeldOutput) -> dict[str, Any]:
    data = held.text.encode("utf-8", "replace")
    return {
        "point": held.point,
        "hook": held.hook,
        "eventSeq": held.event_seq,
        "bytes": len(data),
        "text": held.text,
    }


SESSION_COMMANDS = {
    "list": Command("sessions and how they stand", _list_arguments, _list),
    "show": Command(
        "one session: what it did, what is held for its agent", session_argument, _show
    ),
    **CONTROL_COMMANDS,
    "attach": Command("watch a session that another process runs", attach_arguments, attach),
    "report": Command("a session's whole story as one HTML file", report_arguments, report),
}
