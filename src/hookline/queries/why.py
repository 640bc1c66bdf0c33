"""Why an event, a hook, a task or a run is as it is."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import short_name
from hookline.domain.runs.model import TERMINAL
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.sessions.model import UnknownSession
from hookline.domain.text.display import untrusted
from hookline.domain.text.numbers import is_number
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.errors import UnknownHook
from hookline.flows.called_runs import first_caller
from hookline.flows.outcomes import answered, as_answered
from hookline.hooks.history import explain
from hookline.hooks.history.explain import ExplainedStep, Explanation
from hookline.queries.outbox import waits_for
from hookline.queries.sessions import facts, next_command
from hookline.sessions.names import find
from hookline.wiring.running.hosts import is_held

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.pipeline.gate_reviews import GateReview
    from hookline.ports.store import View

GATES_SHOWN = 8


def why(app: App, view: View, subject: str) -> Explanation:
    """Explain what someone names: an event, a hook, a task, a run or a session."""
    hook, unsent = app.scopes.find(subject), partial(waits_for, app, view)
    held = partial(is_held, view)
    if hook is not None or view.calls.calls_of(subject, 1):
        switch = view.switches.all().get(subject)
        return explain.explain_hook(view, hook, subject, switch, held, unsent)
    if is_number(subject):
        event = view.log.at(int(subject))
        return explain.explain_event(view, event, held, unsent)
    if subject[:2] in ("T-", "t-"):
        return _task(app, view, subject)
    if subject[:2] in ("R-", "r-"):
        return _run(app, view, subject)
    with suppress(UnknownSession):
        return _run(app, view, find(view, subject).run_id)
    try:
        return why(app, view, app.scopes.meant(subject).name)
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
