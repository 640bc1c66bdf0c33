"""`hookline why`: explain an event, a hook, a task or a run."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from hookline.domain.hook_names import short_name
from hookline.domain.runs import TERMINAL
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.sessions import UnknownSession
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.text.excerpts import both_ends, excerpt
from hookline.domain.text.numbers import is_number
from hookline.errors import UnknownEvent, UnknownHook
from hookline.flows.called_runs import first_caller
from hookline.flows.outcomes import answered, as_answered
from hookline.hooks.history import explain
from hookline.hooks.history.explain import ExplainedStep, Explanation
from hookline.queries.outbox import waits_for
from hookline.queries.sessions import facts, next_command
from hookline.sessions.names import find
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, paint, printable, say, say_row, untrusted
from hookline.wiring.running.hosts import is_held

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.pipeline.gate_reviews import GateReview
    from hookline.ports.store import View

GATES_SHOWN = 8
_STYLES = {
    **dict.fromkeys(("matched", "true", "met", "ran", "done"), "green"),
    **dict.fromkeys(
        ("false", "did not run", "unmet", "was interrupted", "has not been sent yet"), "yellow"
    ),
    **dict.fromkeys(("failed", "timed out", "was given up"), "red"),
}


def _arguments(p: ArgumentParser) -> None:
    p.add_argument(
        "subject", metavar="EVENT|HOOK|TASK|RUN", help="such as 417, a hook's name, T-12 or R-3"
    )
    p.add_argument("-v", "--verbose", action="store_true", help="show the whole recorded output")


def _why(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        found = _explain(app, view, args.subject)
    if answer(args, found):
        print_explanation(found, verbose=args.verbose)


def _explain(app: App, view: View, subject: str) -> Explanation:
    hook, unsent = app.scopes.find(subject), partial(waits_for, app, view)
    if hook is not None or view.calls.calls_of(subject, 1):
        switch = view.switches.all().get(subject)
        return explain.explain_hook(view, hook, subject, switch, is_held, unsent)
    if is_number(subject):
        event = view.log.find(int(subject))
        if event is None:
            raise UnknownEvent(f"there is no event {subject}; the log ends at {view.log.last()}")
        return explain.explain_event(view, event, is_held, unsent)
    if subject[:2] in ("T-", "t-"):
        return _task(app, view, subject)
    if subject[:2] in ("R-", "r-"):
        return _run(app, view, subject)
    with suppress(UnknownSession):
        return _run(app, view, find(view, subject).run_id)
    try:
        return _explain(app, view, app.scopes.meant(subject).name)
    except UnknownHook as problem:
        raise UnknownHook(
            f"'{untrusted(subject, 60)}' is not an event, hook, task or run", help=problem.help
        ) from problem


def _task(app: App, view: View, subject: str) -> Explanation:
    from hookline.pipeline.gate_reviews import gate_reviews  # only tasks need these
    from hookline.queries.blockers import blocker

    task = view.graph.task(subject)
    found = blocker(app, view, task)
    gates = _gate_steps(gate_reviews(view, task.id, app.blobs))
    return explain.explain_task(view, task, gates, (found.reason, found.command) if found else None)


def _gate_steps(found: list[GateReview]) -> list[ExplainedStep]:
    """What was said when the task's work was last checked, and what its author answered."""
    runs = [each.verdict.run for each in found if each.verdict.run is not None]
    last = [each for each in found if runs and each.verdict.run == runs[-1]]
    steps = []
    for each in last[-GATES_SHOWN:]:
        verdict = each.verdict
        what = f"{verdict.point} {short_name(verdict.hook or '')}".rstrip()
        steps.append(ExplainedStep(f"event {verdict.seq}", what, verdict.status, verdict.message))
        steps += [ExplainedStep("", "  comment", line) for line in each.comments]
        steps += [ExplainedStep("", "  the author said", each.answer)] if each.answer else []
    return steps


def _run(app: App, view: View, subject: str) -> Explanation:
    run = view.runs.find(subject)
    if run.flow in (SUBMIT, MERGE) and run.status not in TERMINAL:
        return _task(app, view, run.input["taskId"])
    if run.flow == SESSION:
        known = facts(view, run)
        return explain.explain_run(view, run, known.status, known.reason, next_command(known))
    run, command = as_answered(view, run), f"hookline flow show {run.run_id}"
    if answered(view, run):
        command = f"hookline orchestrate {first_caller(view, run).run_id}"
    return explain.explain_run(view, run, run.status, run.error or run.reason, command)


def print_explanation(found: Explanation, *, verbose: bool = False) -> None:
    """An explanation as aligned lines."""
    say_row(untrusted(found.verdict), 2)
    where = max((len(untrusted(step.where)) for step in found.steps), default=0)
    what = min(60, max((len(untrusted(step.what)) for step in found.steps), default=0))
    for step in found.steps:
        padded = f"{untrusted(step.result):11}" if step.detail else untrusted(step.result)
        result = paint(padded, _STYLES.get(step.result, "bold"))
        # What a check said last is at the end of a long reason, and how it ended at its beginning.
        detail = f"  {both_ends(untrusted(step.detail), 160)}" if step.detail else ""
        text = untrusted(step.what) if not step.what.startswith("  ") else f"  {step.what.strip()}"
        place = paint(f"{untrusted(step.where):{where}}", "dim")
        say_row(f"  {place}  {text:{what}}  {result}{detail}", 4)
    for check in found.failed_checks:
        first, _, more = (check.message or "").partition("\n")
        say(f"  {paint('✗', 'red')} {untrusted(check.rule_name)}  {untrusted(first)}".rstrip())
        for line in more.splitlines():
            say(f"      {paint('│', 'dim')} {printable(line)}")
    whole = found.output.strip()
    shown = whole if verbose else excerpt(whole)
    for line in shown.splitlines():
        say(f"      {paint('│', 'dim')} {printable(line)}")
    if shown != whole:
        say(paint("      -v shows the whole output", "dim"))
    if found.hint:
        say(untrusted(found.hint))
    if found.next:
        say(f"Try: {untrusted(found.next)}")


COMMANDS = {"why": Command("explain an event, a hook, a task or a run", _arguments, _why)}
