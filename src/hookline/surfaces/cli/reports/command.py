"""`hookline report`: what happened since the last report, or the page of a session or a task."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.timestamps import evening_before, moment_text, past, typed
from hookline.errors import BadInput
from hookline.operations.reports import last_report, remember_report, run_about
from hookline.queries.page.report import work_file
from hookline.queries.references import is_run, is_task
from hookline.queries.reports.diffs import with_changes
from hookline.queries.reports.project import project_report, task_report
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, note, was_heard
from hookline.surfaces.cli.reports import markdown, page, phrases, terminal
from hookline.surfaces.cli.reports.files import STDOUT, write_page
from hookline.surfaces.cli.reports.session_page import tell_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.queries.reports.project import ProjectReport

PAGE = "report.html"


def _arguments(p: ArgumentParser) -> None:
    about = "a session, a run or a task: its page, with everything about it"
    p.add_argument("subject", nargs="?", metavar="SESSION|RUN|TASK", help=about)
    default = "the last report, else 18:00 yesterday"
    when = f"18:00, yesterday, 2h, 3d, a date or a time (default: {default})"
    p.add_argument("--since", metavar="WHEN", help=when)
    form = p.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="for a pull request or a chat")
    whole = "one HTML page, with the diffs; `-` is stdout (default: .hookline/reports)"
    form.add_argument("--html", nargs="?", const="", metavar="FILE", help=whole)


def _report(args: Namespace) -> None:
    if args.subject is None and (is_task(args.html or "") or is_run(args.html or "")):
        help = f"put it first: `hookline report {args.html} --html`"
        raise BadInput(f"--html takes a file, and {args.html} is not the name of one", help=help)
    with reading() as app:
        if args.subject is None:
            _tell_project(args, app)
        else:
            _tell_subject(args, app)


def _tell_project(args: Namespace, app: App) -> None:
    now, last = app.store.now(), last_report(app)
    since = past(args.since, now) if args.since is not None else last.until or evening_before(now)
    found = project_report(app, since)
    _tell(args, app, found, PAGE)
    is_in_file = args.html not in (None, STDOUT)
    if args.since is None and (found.tasks or found.sessions):
        if was_heard() or is_in_file:
            remember_report(app, found)
    elif args.since is None and last.until is not None and not args.json:
        note(f"nothing was done since the last report, {moment_text(last.until, now)}")
        note(f"again: hookline report --since {typed(last.since or last.until)}")


def _tell_subject(args: Namespace, app: App) -> None:
    if args.since is not None:
        raise BadInput("--since is for the report of the whole project")
    run = run_about(app, args.subject)
    wants_page = not (args.markdown or args.json) or args.html is not None
    if run is not None and run.flow == SESSION and wants_page:
        tell_session(args, app, run, args.html)
        return
    args.html = args.html or "" if wants_page else None
    task_id = run.input["taskId"] if run is not None else args.subject
    found = task_report(app, task_id)
    _tell(args, app, found, f"{found.tasks[0].task_id}.html")


def _tell(args: Namespace, app: App, found: ProjectReport, name: str) -> None:
    """A report in the form that was asked for."""
    found = asyncio.run(with_changes(app, found, diffs=args.html is not None))
    if args.html is not None:
        content = page.parts(work_file(found, phrases.headline(found)))
        path = write_page(app, content, name, args.html)
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
