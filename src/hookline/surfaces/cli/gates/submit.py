"""`hookline submit` and `hookline merge`: a task's work passes its gates and gets merged."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.text.excerpts import first_few
from hookline.domain.work.submissions import AGENT, BUDGET, FORGE, MERGE, PEOPLE, TRUST
from hookline.flows.runner import FlowRunner
from hookline.operations.announcements import at_work
from hookline.operations.inside_runs import refuse_inside
from hookline.operations.submissions import SubmitWishes, follow, merge, submit
from hookline.pipeline import gate_verbs
from hookline.queries.submissions import MERGED, PARKED, SENT_BACK, WAITING, submission_state
from hookline.surfaces.cli.command import Command, agent_argument, task_argument
from hookline.surfaces.cli.flows.watch import park
from hookline.surfaces.cli.gates.progress import GateProgress
from hookline.surfaces.cli.gates.show import note_remediation
from hookline.surfaces.cli.live.watch import store_watch
from hookline.surfaces.cli.opening import deliver, refuse_unready, tell_unseen_failure, writing
from hookline.surfaces.cli.output import answer, next_step, note, paint, untrusted
from hookline.surfaces.cli.stopping import Stopped, run_to_end
from hookline.wiring.running.engine import engine
from hookline.wiring.running.hosts import serving

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.operations.submissions import BegunRun
    from hookline.queries.submissions import SubmissionState


def watched(app: App, run_id: str, *, quiet: bool) -> Run:
    """Advance a run until it is over or waits for someone; ^C parks it."""
    refuse_inside(app, run_id)
    progress = GateProgress(app, run_id)
    app.change(gate_verbs.ask_again, run_id)
    try:
        with serving(app, run_id), store_watch(app, progress, quiet=quiet) as watch:
            run_to_end(_advance(app, run_id, watch.say))
    except Stopped as told:
        park(app, run_id, told)
        note(
            f"{run_id} is parked; resume it with `hookline {progress.run.flow} {progress.task_id}`"
        )
        raise KeyboardInterrupt from None
    deliver(app)
    with app.read() as view:
        return view.runs.find(run_id)


async def _advance(app: App, run_id: str, say: Callable[[str], None]) -> None:
    async with at_work(app, partial(tell_unseen_failure, say=say), say):
        await FlowRunner(engine(app)).run_one(run_id, for_people=False)


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
