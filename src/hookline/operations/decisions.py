"""What a person decides about gates: the answer that one waits for, or an override."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.domain.hooks.names import short_name
from hookline.domain.tasks import OPEN, Task, shown_state
from hookline.domain.text.display import untrusted
from hookline.domain.work.submissions import FORGE, PEOPLE, SIGNAL, TRUST
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control
from hookline.hooks.builtin.gates.keepers import ReviewComment, comment_line
from hookline.hooks.builtin.gates.people import MAX_COMMENT
from hookline.hooks.gates.verdicts import GateVerdict, Override, asked_person, record_override
from hookline.operations.task_work import worker_of
from hookline.pipeline import gate_verbs
from hookline.pipeline.repository.earlier_tests import EARLIER_TESTS
from hookline.points import HOLDING
from hookline.queries.waiting.gates import AFTER_MERGE, DECIDED, left_by_merge
from hookline.tasks.verbs import check_text, optional_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Transaction, View


class PersonDecision(msgspec.Struct, rename="camel", frozen=True):
    """What a person decided."""

    task_id: str
    run_id: str
    flow: str
    point: str
    hook: str | None
    decision: str
    by: str
    comment: str | None


class RemarkOnLine(NamedTuple):
    """What a person says about a line of a diff; an `old` line was there before the change."""

    path: str
    line: int
    text: str
    old: bool = False


def with_remarks(comment: str | None, remarks: Sequence[RemarkOnLine]) -> str | None:
    """A comment with what is said about lines: all of it becomes what the agent is asked to fix."""
    said = [_remark(each) for each in remarks if each.text.strip()]
    whole = "\n".join([*([comment.strip()] if comment and comment.strip() else []), *said])
    if len(whole) > MAX_COMMENT:
        raise BadInput(f"a decision can have at most {MAX_COMMENT:,} characters of comments")
    return whole or None


def _remark(remark: RemarkOnLine) -> str:
    text = f"(as it was before) {remark.text.strip()}" if remark.old else remark.text
    return comment_line(ReviewComment(text, untrusted(remark.path), remark.line))


def decide(
    tx: Transaction,
    identifier: str,
    decision: str,
    *,
    by: str,
    comment: str | None,
    seen: str | None = None,
) -> PersonDecision:
    """Send a person's decision to the gate that waits for it, and record it.

    If they looked at the work before, `seen` is the commit that they saw.
    """
    task = tx.graph.task(identifier)
    merge = left_by_merge(tx, task) if gate_verbs.run_of(tx, task.id) is None else None
    if merge is not None:  # a person accepts a merge that is done; nothing waits for that
        _refuse_undoing(task, merge, decision)
        run, point, hook = merge, AFTER_MERGE, None
    else:
        run, asked = _question(tx, task)
        point, hook = asked.point, asked.hook
        _refuse_unseen(task, asked, seen)
    comment = optional_text("comment", comment)
    wish = {"decision": decision, "by": by, "comment": comment}
    if merge is None:
        control.send(tx, run.run_id, SIGNAL, wish)
    tx.append(DECIDED, task.id, {"run": run.run_id, "point": point, "hook": hook, **wish})
    return PersonDecision(task.id, run.run_id, run.flow, point, hook, decision, by, comment)


def _refuse_undoing(task: Task, merge: Run, decision: str) -> None:
    if decision != "approve":
        why = f"{task.id} is merged: it can no longer be sent back"
        help = f"`git revert {merge.value['sha']}` undoes it; or add a task that fixes it"
        raise IllegalTransition(why, help=help)


def _refuse_unseen(task: Task, asked: GateVerdict, seen: str | None) -> None:
    head = asked.context.get("asksAbout")
    if seen is not None and head is not None and head != seen:
        why = f"the work on {task.id} has changed since you looked at it"
        raise IllegalTransition(why, help="look at the changes again, then decide")


# What a person has to do elsewhere, and how.
_ELSEWHERE = {
    PEOPLE: ("waits to be merged by a person", "merge it: `{command}`"),
    FORGE: ("waits at the forge", "act there, then run `hookline merge {task}`"),
    TRUST: ("waits for your trust", "`hookline trust --task {task}` shows the changes and asks"),
}


def _question(view: View, task: Task) -> tuple[Run, GateVerdict]:
    run = gate_verbs.run_of(view, task.id)
    asked = asked_person(view, run) if run is not None else None
    if run is None or asked is None:
        help = f"`hookline gate list {task.id}` shows what its gates said"
        raise IllegalTransition(f"no gate of {task.id} waits for a person", help=help)
    if asked.hook in _ELSEWHERE:
        where, way = _ELSEWHERE[asked.hook]
        command = asked.context.get("command")
        help = way.format(command=command, task=task.id)
        raise IllegalTransition(f"{task.id} {where}: {asked.message}", help=help)
    # A second decision would be taken as the answer to a later question.
    if any(name == SIGNAL for _, name, _ in view.runs.signals(run)):
        why = f"{task.id} has a decision already, and {run.run_id} has not read it yet"
        raise IllegalTransition(why, help=f"`hookline {run.flow} {task.id}` continues it")
    return run, asked


# Overrides


class Overridden(msgspec.Struct, rename="camel", frozen=True):
    """A gate that a person bypassed, and why."""

    task_id: str
    gate: str
    points: list[str]
    reason: str
    by: str


def override(app: App, identifier: str, gate: str, reason: str, *, by: str) -> Overridden:
    """Bypass a gate for a task's work; who did it and why is recorded permanently."""
    with app.read() as view:
        task = view.graph.task(identifier)
        agent = worker_of(app, view, task)
    why = check_text("reason", reason)
    gates = _gates(app, task, agent, gate)
    found = [Override(point=point, hook=hook, reason=why, by=by) for point, hook in gates]
    app.change(_write, task.id, found)
    return Overridden(task.id, short_name(found[0].hook), [each.point for each in found], why, by)


def _gates(app: App, task: Task, agent: str | None, wanted: str) -> list[tuple[str, str]]:
    """The gates of that name that apply to a task: point and hook."""
    if wanted == EARLIER_TESTS:
        return [(HOLDING[-1], EARLIER_TESTS)]
    found = [
        (point, hook.name)
        for point in HOLDING
        for hook in app.scopes.hooks_at(point, agent=agent, task_type=task.type)
        if wanted in (hook.name, short_name(hook.name))
    ]
    if not found:
        why = f"no gate '{untrusted(wanted, 80)}' applies to {task.id}"
        raise BadInput(why, help=f"`hookline gate explain {task.id}` shows those that do")
    return found


def _write(tx: Transaction, task_id: str, found: list[Override]) -> None:
    task = tx.graph.task(task_id)
    if task.state not in OPEN:
        raise IllegalTransition(
            f"{task.id} is {shown_state(task.state)}: it has no more gates to pass"
        )
    for each in found:
        record_override(tx, task.id, each)
    run = gate_verbs.run_of(tx, task.id)
    if run is not None and not any(name == SIGNAL for _, name, _ in tx.runs.signals(run)):
        control.send(tx, run.run_id, SIGNAL, None)  # gates that wait are asked again
