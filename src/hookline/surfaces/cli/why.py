"""`hookline why`: explain an event, a hook, a task or a run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.domain.excerpts import excerpt
from hookline.domain.numbers import is_number
from hookline.domain.runs import TERMINAL
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.sessions import UnknownSession
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.errors import UnknownEvent, UnknownHook
from hookline.hooks.explain import (
    Explanation,
    Step,
    explain_event,
    explain_hook,
    explain_run,
    explain_task,
)
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import paint, printable, say, say_json, say_row, untrusted
from hookline.surfaces.cli.session_facts import facts, find, is_held, next_command

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.flows.judgements import Judgement

GATES_SHOWN = 8
_STYLES = {
    "matched": "green",
    "true": "green",
    "met": "green",
    "ran": "green",
    "done": "green",
    "false": "yellow",
    "did not run": "yellow",
    "unmet": "yellow",
    "failed": "red",
    "timed out": "red",
    "was given up": "red",
    "was cut short": "yellow",
}


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("subject", metavar="EVENT|HOOK|TASK|RUN", help="417, a hook's name, T-12 or R-3")
    p.add_argument("-v", "--verbose", action="store_true", help="the whole recorded output")


def _why(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        found = _explain(app, view, args.subject)
    if args.json:
        say_json(found)
    else:
        print_explanation(found, verbose=args.verbose)


def _explain(app: App, view: View, subject: str) -> Explanation:
    hook = app.standing.find(subject)
    if hook is not None or view.calls.calls_of(subject, 1):
        return explain_hook(view, hook, subject, view.calls.switches().get(subject), is_held)
    if is_number(subject):
        event = view.log.find(int(subject))
        if event is None:
            raise UnknownEvent(f"there is no event {subject}; the log ends at {view.log.last()}")
        return explain_event(view, event, is_held)
    if subject[:2] in ("T-", "t-"):
        return _task(app, view, subject)
    if subject[:2] in ("R-", "r-"):
        return _run(app, view, subject)
    with suppress(UnknownSession):
        return _run(app, view, find(view, subject).run_id)
    try:
        app.standing.get(subject)
    except UnknownHook as problem:
        raise UnknownHook(
            f"'{untrusted(subject, 60)}' is no event, hook, task or run", help=problem.help
        ) from problem
    raise AssertionError("unreachable: an unknown hook raises")


def _task(app: App, view: View, subject: str) -> Explanation:
    from hookline.adapters.blobs import FileBlobs  # only tasks need these
    from hookline.flows.judgements import judgements
    from hookline.surfaces.cli.task_standing import standing

    task = view.graph.task(subject)
    found = standing(app, view, task)
    gates = _gate_steps(judgements(view, task.id, FileBlobs(app.project.blobs)))
    return explain_task(view, task, gates, (found.reason, found.command) if found else None)


def _gate_steps(found: list[Judgement]) -> list[Step]:
    """What was said when the task's work was last judged, and what its author answered."""
    runs = [each.verdict.run for each in found if each.verdict.run is not None]
    last = [each for each in found if runs and each.verdict.run == runs[-1]]
    steps = []
    for each in last[-GATES_SHOWN:]:
        verdict = each.verdict
        what = f"{verdict.point} {verdict.hook or ''}".rstrip()
        steps.append(Step(f"event {verdict.seq}", what, verdict.status, verdict.message))
        steps += [Step("", "  comment", line) for line in each.comments]
        steps += [Step("", "  the author said", each.answer)] if each.answer else []
    return steps


def _run(app: App, view: View, subject: str) -> Explanation:
    run = view.runs.find(subject)
    if run.flow in (SUBMIT, MERGE) and run.status not in TERMINAL:
        return _task(app, view, run.input["taskId"])
    if run.flow == SESSION:
        known = facts(view, run)
        return explain_run(view, run, known.status, known.reason, next_command(known))
    command = f"hookline flow show {run.run_id}"
    return explain_run(view, run, run.status, run.error or run.reason, command)


def print_explanation(found: Explanation, *, verbose: bool = False) -> None:
    """An explanation as aligned lines."""
    say_row(untrusted(found.verdict), 2)
    where = max((len(untrusted(step.where)) for step in found.steps), default=0)
    what = min(60, max((len(untrusted(step.what)) for step in found.steps), default=0))
    for step in found.steps:
        padded = f"{untrusted(step.result):11}" if step.detail else untrusted(step.result)
        result = paint(padded, _STYLES.get(step.result, "bold"))
        detail = f"  {untrusted(step.detail, 160)}" if step.detail else ""
        text = untrusted(step.what) if not step.what.startswith("  ") else f"  {step.what.strip()}"
        place = paint(f"{untrusted(step.where):{where}}", "dim")
        say_row(f"  {place}  {text:{what}}  {result}{detail}", 4)
    _print_output(found.output, verbose)
    if found.hint:
        say(untrusted(found.hint))
    if found.next:
        say(f"Try: {untrusted(found.next)}")


def _print_output(output: str, verbose: bool) -> None:
    whole = output.strip()
    shown = whole if verbose else excerpt(whole)
    for line in shown.splitlines():
        say(f"      {paint('│', 'dim')} {printable(line)}")
    if shown != whole:
        say(paint("      -v shows the whole output", "dim"))


COMMANDS = {"why": Command("explain an event, a hook, a task or a run", _arguments, _why)}
