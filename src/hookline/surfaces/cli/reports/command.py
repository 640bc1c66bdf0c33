"""`hookline report`: what happened since the last report, or the page of a session or a task."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.text.display import untrusted
from hookline.domain.timestamps import evening_before, past, told, typed
from hookline.errors import BadInput
from hookline.project import user_folder
from hookline.queries.diffs import with_changes
from hookline.queries.project_report import project_report, task_report
from hookline.queries.references import is_run, is_task
from hookline.sessions.names import find
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, note
from hookline.surfaces.cli.reports import markdown, project_page, terminal
from hookline.surfaces.cli.reports.files import write_page
from hookline.surfaces.cli.reports.session_page import tell_session
from hookline.trust.people import under_agent
from hookline.wiring.looks import last_look, remember_look

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.queries.project_report import ProjectReport

# From when to when the last report was.
SINCE, UNTIL = "report-since", "report"
PAGE = "report.html"


def _arguments(p: ArgumentParser) -> None:
    about = "a session, a run or a task: its page, with everything about it"
    p.add_argument("subject", nargs="?", metavar="SESSION|RUN|TASK", help=about)
    default = "the last report, else 18:00 yesterday"
    when = f"18:00, yesterday, 2h, 3d, a date or a time (default: {default})"
    p.add_argument("--since", metavar="WHEN", help=when)
    form = p.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="for a pull request or a chat")
    page = "one HTML page, with the diffs; `-` is stdout (default: .hookline/reports)"
    form.add_argument("--html", nargs="?", const="", metavar="FILE", help=page)


def _report(args: Namespace) -> None:
    if args.subject is None and (is_task(args.html or "") or is_run(args.html or "")):
        help = f"put it first: `hookline report {args.html} --html`"
        raise BadInput(f"--html takes a file, and {args.html} is no name for one", help=help)
    with reading() as app:
        if args.subject is None:
            _tell_project(args, app)
        else:
            _tell_subject(args, app)


def _tell_project(args: Namespace, app: App) -> None:
    now, last = app.store.now(), _last(app, UNTIL)
    since = past(args.since, now) if args.since is not None else last or evening_before(now)
    found = project_report(app, since)
    _tell(args, app, found, PAGE)
    if args.since is None and (found.tasks or found.sessions):
        _remember(app, found)
    elif args.since is None and last is not None and not args.json:
        again = f"hookline report --since {typed(_last(app, SINCE) or last)}"
        note(f"nothing was done since the last report, {told(last, now)}")
        note(f"again: {again}")


def _last(app: App, at: str) -> str | None:
    return last_look(user_folder(app.environ), app.store.id, at)


def _remember(app: App, found: ProjectReport) -> None:
    """The next report begins where this one ends, if a person asked for it."""
    if not under_agent(app.environ):
        for at, moment in ((SINCE, found.since), (UNTIL, found.until)):
            remember_look(user_folder(app.environ), app.store.id, at, moment)


def _tell_subject(args: Namespace, app: App) -> None:
    if args.since is not None:
        raise BadInput("--since is for the report of the whole project")
    run = None if is_task(args.subject) else _run(app, args.subject)
    wants_page = not (args.markdown or args.json) or args.html is not None
    if run is not None and run.flow == SESSION and wants_page:
        tell_session(args, app, run, args.html)
        return
    args.html = args.html or "" if wants_page else None
    task_id = run.input["taskId"] if run is not None else args.subject
    found = task_report(app, task_id)
    _tell(args, app, found, f"{found.tasks[0].task_id}.html")


def _run(app: App, subject: str) -> Run:
    """The session of a name, or a run that is about a task."""
    with app.read() as view:
        if not is_run(subject):
            return find(view, subject)
        run = view.runs.find(subject)
    if run.flow not in (SESSION, SUBMIT, MERGE):
        help = f"`hookline flow show {run.run_id}` shows it"
        raise BadInput(f"{run.run_id} ({untrusted(run.flow)}) is not about a task", help=help)
    return run


def _tell(args: Namespace, app: App, found: ProjectReport, name: str) -> None:
    """A report in the form that was asked for."""
    found = asyncio.run(with_changes(app, found, diffs=args.html is not None))
    if args.html is not None:
        path = write_page(app, project_page.parts(found), name, args.html)
        if path is not None:
            answer(args, {"file": os.path.abspath(path)}, os.path.relpath(path))
    elif args.markdown:
        answer(args, found, *markdown.lines(found))
    elif answer(args, found):
        terminal.show(found)
        since = shlex.quote(args.since or typed(found.since))
        about = f" --since {since}" if name == PAGE else f" {found.tasks[0].task_id}"
        next_step(f"hookline report{about} --html", "the same with diffs")


COMMANDS = {"report": Command("report what was done, proven and spent", _arguments, _report)}
