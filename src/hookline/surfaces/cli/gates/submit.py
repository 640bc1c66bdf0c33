"""`hookline submit` and `hookline merge`: a task's work passes its gates and gets merged."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.text.excerpts import first_few
from hookline.domain.work.submissions import AGENT, BUDGET, FORGE, MERGE, PEOPLE, TRUST
from hookline.operations.submissions import SubmitWishes, follow, merge, submit
from hookline.queries.submissions import MERGED, PARKED, SENT_BACK, WAITING, submission_state
from hookline.surfaces.cli.command import Command, agent_argument, task_argument
from hookline.surfaces.cli.gates.show import note_remediation
from hookline.surfaces.cli.gates.watch import watched
from hookline.surfaces.cli.opening import refuse_unready, writing
from hookline.surfaces.cli.output import answer, next_step, note, paint, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.operations.submissions import BegunRun
    from hookline.queries.submissions import SubmissionState

# submit


def _submit_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    agent_argument(p)
    p.add_argument("--no-merge", action="store_true", help="stop once it is submitted")
    _money_arguments(p)
    _skip_argument(p)


def _submit(args: Namespace) -> int:
    with writing() as app:
        refuse_unready(args, app)
        begun = asyncio.run(submit(app, args.task, _wishes(args, args.agent)))
        _tell_begun(args, begun)
        return _tell(args, app, _followed(args, app, begun.run, merges=not args.no_merge))


def _wishes(args: Namespace, agent: str | None = None) -> SubmitWishes:
    given = {name: getattr(args, name) for name in ("usd", "tokens")}
    limits = {name: value for name, value in given.items() if value is not None}
    return SubmitWishes(limits, agent, args.skip_pr)


def _followed(args: Namespace, app: App, run: Run, *, merges: bool = True) -> Run:
    return follow(app, run, lambda each: watched(app, each, quiet=args.json), merges=merges)


def _tell_begun(args: Namespace, begun: BegunRun) -> None:
    run = begun.run
    if args.json:
        return
    if begun.is_new:
        branch, base = (untrusted(run.input[name], 100) for name in ("branch", "base"))
        note(f"{run.run_id}: {run.input['taskId']}, {branch} into {base}")
        return
    note(f"resuming {run.run_id} ({run.flow})")
    if args.skip_pr and not run.input.get("skipPr"):
        note(f"{run.run_id} was started with a pull request and keeps it")


# merge


def _merge_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    _money_arguments(p)
    _skip_argument(p)


def _money_arguments(p: ArgumentParser) -> None:
    help = "let the task cost this much, all its turns together"
    p.add_argument("--usd", type=float, metavar="N", help=help)
    p.add_argument("--tokens", type=int, metavar="N", help="let the task use this many tokens")


def _skip_argument(p: ArgumentParser) -> None:
    p.add_argument("--skip-pr", action="store_true", help="merge without a pull request")


def _merge(args: Namespace) -> int:
    with writing() as app:
        refuse_unready(args, app)
        begun = asyncio.run(merge(app, args.task, _wishes(args)))
        if begun.is_new:
            _tell_begun(args, begun)
        return _tell(args, app, _followed(args, app, begun.run))


# Its status


def _tell(args: Namespace, app: App, run: Run) -> int:
    with app.read() as view:
        found = submission_state(view, run, app.blobs)
    if found.flow == MERGE and found.outcome == PARKED and getattr(args, "no_merge", False):
        found = msgspec.structs.replace(found, outcome="submitted", reason=None)
    text, style = _SAID.get(found.outcome, (found.outcome, "red"))
    more = found.sha[:12] if found.sha else found.reason or found.pr_url or ""
    if found.untested:
        text, style, more = f"{text} untested", "yellow", f"{more}  {found.untested}"
    told = f"{paint(found.task_id, 'bold')} {paint(text, style)}  {untrusted(more, 300)}"
    if not answer(args, found, told.rstrip()):
        return found.exit_code
    note_remediation(found.remediation_prompt)
    if found.uncommitted:
        listed, count = found.uncommitted, found.uncommitted_count
        names = untrusted(first_few(listed, len(listed), of=count))
        note(f"{paint('!', 'yellow', sys.stderr)} not submitted, because not committed: {names}")
    _next(found)
    return found.exit_code


_SAID = {
    MERGED: ("merged", "green"),
    "submitted": ("submitted", "green"),
    "completed": ("completed: there was no commit to check", "green"),
    SENT_BACK: ("sent back", "red"),
    WAITING: ("waits for a person", "yellow"),
    PARKED: ("parked", "yellow"),
}


def _next(found: SubmissionState) -> None:
    task = found.task_id
    special = {
        TRUST: "trust --task",
        PEOPLE: "merge",
        FORGE: "merge",
        BUDGET: found.flow,
        AGENT: found.flow,
    }  # which asks again
    commands = {
        MERGED: "hookline task ready",
        "completed": "hookline task ready",
        "submitted": f"hookline merge {task}",
        SENT_BACK: f"hookline submit {task}",
        WAITING: f"hookline {special.get(found.hook or '', 'gate approve')} {task}",
        PARKED: f"hookline {found.flow} {task}",
    }
    why = "once it is fixed" if found.outcome == SENT_BACK else ""
    next_step(commands.get(found.outcome, f"hookline gate list {task}"), why)


COMMANDS = {
    "submit": Command("submit a task's work to its gates", _submit_arguments, _submit),
    "merge": Command("merge a task's submitted work", _merge_arguments, _merge),
}
