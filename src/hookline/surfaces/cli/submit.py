"""`hookline submit` and `hookline merge`: a task's work passes its gates and gets merged."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.blobs import FileBlobs
from hookline.domain import runs
from hookline.domain.submissions import FORGE, MERGE, PEOPLE, SUBMIT, TRUST
from hookline.domain.tasks import SUBMITTED, check_transition
from hookline.errors import BLOCKED, FAILED, NEEDS_PERSON, IllegalTransition
from hookline.flows import gate_verbs
from hookline.hooks.verdicts import asked_person, verdicts
from hookline.outside import flow_finder
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.gate_show import left_out, note_remediation
from hookline.surfaces.cli.gate_watch import watched
from hookline.surfaces.cli.gate_work import (
    agent_argument,
    find_work,
    refuse_at_work,
    refuse_uncommitted,
    task_argument,
    worker_of,
)
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, untrusted
from hookline.surfaces.cli.run import refuse_unready
from hookline.trust import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.domain.submissions import Submission
    from hookline.domain.tasks import Task
    from hookline.ports.store import Blobs, Transaction, View

MERGED, SENT_BACK, WAITING, PARKED = "merged", "sent_back", "waiting", "parked"
EXITS = {SENT_BACK: BLOCKED, WAITING: NEEDS_PERSON, PARKED: NEEDS_PERSON}


class Standing(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """How far a task's work has come.

    The outcome is submitted, merged, completed (there was no commit), sent_back, waiting (for a
    person), parked, failed or cancelled.
    """

    task_id: str
    run_id: str
    flow: str
    outcome: str
    state: str
    reason: str | None = None
    hook: str | None = None
    remediation_prompt: str | None = None
    pr_url: str | None = None
    sha: str | None = None
    uncommitted: list[str] = []
    uncommitted_count: int = 0
    untested: str | None = None

    @property
    def exit_code(self) -> int:
        """How a command ends that leaves the work there."""
        failed = self.outcome in (runs.FAILED, runs.CANCELLED)
        return FAILED if failed else EXITS.get(self.outcome, 0)


# submit


def _submit_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    agent_argument(p)
    p.add_argument("--no-merge", action="store_true", help="stop once it is submitted")
    p.add_argument("--skip-pr", action="store_true", help="merge without a pull request")


def _submit(args: Namespace) -> int:
    _refuse_shortcut(args, "submit")
    if args.agent is not None:  # whose work it is decides which gates judge it
        refuse_agents(os.environ, "submit --agent")
    with writing() as app:
        refuse_unready(args, app)
        run_id = _under_way(args, app) or _begin_submission(args, app)
        run = _run(app, run_id)
        if run.flow == SUBMIT:
            run = watched(app, run_id, quiet=args.json)
            run = _its_merge(app, run) if not args.no_merge else run
        if run.flow == MERGE and not args.no_merge:
            run = watched(app, run.run_id, quiet=args.json)
        return _tell(args, app, run)


def _refuse_shortcut(args: Namespace, command: str) -> None:
    """Without a pull request, the gates that look at one are left out."""
    if args.skip_pr:
        refuse_agents(os.environ, f"{command} --skip-pr")


def _under_way(args: Namespace, app: App) -> str | None:
    with app.read() as view:
        run = gate_verbs.run_of(view, view.graph.task(args.task).id)
    if run is None:
        return None
    if not args.json:
        note(f"going on with {run.run_id} ({run.flow})")
        if args.skip_pr and not run.input.get("skipPr"):
            note(f"{run.run_id} began with a pull request and keeps to it")
    return run.run_id


def _begin_submission(args: Namespace, app: App) -> str:
    with app.read() as view:
        task = view.graph.task(args.task)
        if task.state != SUBMITTED:
            check_transition(task, "submit")
        refuse_at_work(app, view, task)
        agent = worker_of(app, view, task, args.agent)
    work = asyncio.run(find_work(app, task, agent, skip_pr=args.skip_pr))
    asyncio.run(refuse_uncommitted(app, task, work))
    return _start(args, app, SUBMIT, work)


def _start(args: Namespace, app: App, flow: str, work: Submission) -> str:
    """A new run, unless the work is on its way already."""
    pins = flow_finder(app).find(flow).pins

    def start(tx: Transaction) -> str:
        found = gate_verbs.run_of(tx, work.task_id)
        return found.run_id if found is not None else gate_verbs.start(tx, flow, work, pins)

    run_id = app.change(start)
    if not args.json:
        branch, base = untrusted(work.branch, 100), untrusted(work.base, 100)
        note(f"{run_id}: {work.task_id}, {branch} into {base}")
    return run_id


def _its_merge(app: App, run: Run) -> Run:
    """The merge that a submission led to; the submission itself if it led to none."""
    merge = run.value.get("mergeRun") if isinstance(run.value, dict) else None
    return _run(app, merge) if merge else run


# merge


def _merge_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument("--skip-pr", action="store_true", help="merge without a pull request")


def _merge(args: Namespace) -> int:
    _refuse_shortcut(args, "merge")
    with writing() as app:
        refuse_unready(args, app)
        with app.read() as view:
            task = view.graph.task(args.task)
            run = gate_verbs.run_of(view, task.id)
            last = _last(view, MERGE, task.id)
            refuse_at_work(app, view, task)
        if run is not None and run.flow == SUBMIT:
            raise IllegalTransition(
                f"{task.id} is still on its way to be submitted ({run.run_id})",
                help=f"`hookline submit {task.id}` goes on with it",
            )
        if run is None and last is not None and _outcome(last) == MERGED:
            return _tell(args, app, last)
        run_id = run.run_id if run is not None else _begin_merge(args, app, task)
        return _tell(args, app, watched(app, run_id, quiet=args.json))


def _begin_merge(args: Namespace, app: App, task: Task) -> str:
    if task.state != SUBMITTED:
        raise IllegalTransition(
            f"{task.id} is {task.state}: no work of it was submitted",
            help=f"`hookline submit {task.id}` lets it pass its gates",
        )
    with app.read() as view:
        agent = worker_of(app, view, task)
        before = _last(view, SUBMIT, task.id)
    skip_pr = args.skip_pr or bool(before is not None and before.input.get("skipPr"))
    work = asyncio.run(find_work(app, task, agent, skip_pr=skip_pr))
    return _start(args, app, MERGE, work)


def _last(view: View, flow: str, task_id: str) -> Run | None:
    found = [run for run in view.runs.of_flow(flow) if run.input.get("taskId") == task_id]
    return found[-1] if found else None


# How it stands


def _run(app: App, run_id: str) -> Run:
    with app.read() as view:
        return view.runs.find(run_id)


def _outcome(run: Run) -> str:
    found = run.value.get("outcome") if isinstance(run.value, dict) else None
    return str(found or run.status)


def standing(view: View, run: Run, blobs: Blobs) -> Standing:
    """How far the work of a run has come."""
    task = view.graph.find(run.input["taskId"])
    value = run.value if isinstance(run.value, dict) else {}
    outcome, reason = _outcome(run), value.get("reason") or run.error or run.reason
    asked = asked_person(view, run) if run.status not in runs.TERMINAL else None
    hook, prompt = (asked.hook, None) if asked else (None, None)
    if asked is not None:
        outcome, reason = WAITING, asked.message or reason
    elif run.status not in runs.TERMINAL:
        outcome = PARKED
    elif outcome == SENT_BACK:
        found = [each for each in verdicts(view, run.input["taskId"]) if each.run == run.run_id]
        failed = found[-1] if found and found[-1].status == "failure" else None
        hook, prompt = (failed.hook, failed.remediation_prompt) if failed else (None, None)
    names, count = left_out(view.runs.effects(run), blobs)
    return Standing(
        task_id=run.input["taskId"],
        run_id=run.run_id,
        flow=run.flow,
        outcome=outcome,
        state=task.state if task is not None else "deleted",
        reason=reason,
        hook=hook,
        remediation_prompt=prompt,
        pr_url=task.pr_url if task is not None else None,
        sha=value.get("sha"),
        uncommitted=names,
        uncommitted_count=count,
        untested=value.get("untested"),
    )


def _tell(args: Namespace, app: App, run: Run) -> int:
    with app.read() as view:
        found = standing(view, run, FileBlobs(app.project.blobs))
    if found.flow == MERGE and found.outcome == PARKED and getattr(args, "no_merge", False):
        found = msgspec.structs.replace(found, outcome="submitted", reason=None)
    if args.json:
        say_json(found)
        return found.exit_code
    text, style = _SAID.get(found.outcome, (found.outcome, "red"))
    more = found.sha[:12] if found.sha else found.reason or found.pr_url or ""
    if found.untested:
        text, style, more = f"{text} untested", "yellow", f"{more}  {found.untested}"
    say(f"{paint(found.task_id, 'bold')} {paint(text, style)}  {untrusted(more, 300)}".rstrip())
    note_remediation(found.remediation_prompt)
    if found.uncommitted:
        left = found.uncommitted_count - len(found.uncommitted)
        names = untrusted(", ".join(found.uncommitted)) + f" and {left} more" * (left > 0)
        note(f"{paint('!', 'yellow', sys.stderr)} not committed, so not submitted: {names}")
    _next(found)
    return found.exit_code


_SAID = {
    MERGED: ("merged", "green"),
    "submitted": ("submitted", "green"),
    "completed": ("completed: there was no commit to judge", "green"),
    SENT_BACK: ("sent back", "red"),
    WAITING: ("waits for a person", "yellow"),
    PARKED: ("parked", "yellow"),
}


def _answers(found: Standing) -> str:
    special = {TRUST: "trust --task", PEOPLE: "merge", FORGE: "merge"}  # which asks again
    return f"hookline {special.get(found.hook or '', 'gate approve')} {found.task_id}"


def _next(found: Standing) -> None:
    task = found.task_id
    commands = {
        MERGED: "hookline task ready",
        "completed": "hookline task ready",
        "submitted": f"hookline merge {task}",
        SENT_BACK: f"hookline submit {task}",
        WAITING: _answers(found),
        PARKED: f"hookline {found.flow} {task}",
    }
    why = "once it is fixed" if found.outcome == SENT_BACK else ""
    next_step(commands.get(found.outcome, f"hookline gate list {task}"), why)


COMMANDS = {
    "submit": Command("let a task's work pass its gates", _submit_arguments, _submit),
    "merge": Command("merge a task's submitted work", _merge_arguments, _merge),
}
