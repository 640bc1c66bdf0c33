"""What waits for a person, with what each can be answered by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.pipeline.gate_verbs import run_of
from hookline.queries.page.shown import Shown, Way, newest_seq
from hookline.queries.page.ways import answer_ways, run_ways, session_ways, task_ways
from hookline.queries.sessions import facts
from hookline.queries.waiting import gates
from hookline.queries.waiting.attention import items
from hookline.sessions.names import find

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View
    from hookline.queries.waiting.item import Item


class Question(Shown):
    """What is asked: by a gate at its `point`, or by a breakpoint of a flow.

    `head` is the commit that a gate asks about.
    """

    text: str
    seq: int | None
    point: str | None
    hook: str | None
    head: str | None
    effect_id: str | None


class WaitingItem(Shown):
    """One thing that waits for a person: why, since when, what to type, and what to press.

    `diff` is where the API has the changes that it is about.
    """

    key: str
    kind: str
    id: str
    since: str | None
    message: str
    command: str
    goal: str | None
    outcome: str | None
    reason: str | None
    task_id: str | None
    run_id: str | None
    session: str | None
    seq: int | None
    question: Question | None
    diff: str | None
    ways: list[Way]


class AttentionPage(Shown):
    """Everything that waits for a person."""

    seq: int
    items: list[WaitingItem]


def attention_page(app: App) -> AttentionPage:
    """Everything that waits for a person, of one moment of the store."""
    with app.read() as view:
        found = [_shown(view, item) for item in items(app, view)]
        return AttentionPage(seq=view.log.last(), items=found)


class _About(Shown):
    """What an item is about, and how it can be answered."""

    task_id: str | None = None
    run_id: str | None = None
    session: str | None = None
    seq: int | None = None
    question: Question | None = None
    ways: tuple[Way, ...] = ()


def _shown(view: View, item: Item) -> WaitingItem:
    about = _about(view, item)
    has_diff = about.task_id is not None and item.kind in ("gate", "gates", "task", "session")
    return WaitingItem(
        key=item.key,
        kind=item.kind,
        id=item.id,
        since=item.since,
        message=item.message,
        command=item.command,
        goal=item.goal,
        outcome=item.outcome,
        reason=item.reason,
        task_id=about.task_id,
        run_id=about.run_id,
        session=about.session,
        seq=about.seq,
        question=about.question,
        diff=f"/api/tasks/{about.task_id}/diff" if has_diff else None,
        ways=list(about.ways),
    )


def _about(view: View, item: Item) -> _About:
    if item.kind == "session":
        return _of_session(view, find(view, item.node))
    if item.kind == "breakpoint":
        return _of_breakpoint(view, view.runs.find(item.node), item.id.partition(" ")[2])
    if item.kind == "run":
        run = view.runs.find(item.node)
        seq = newest_seq(view, run.run_id)
        return _About(run_id=run.run_id, seq=seq, ways=tuple(run_ways(run)))
    if item.node.startswith("T-"):
        return _of_task(view, item.node)
    return _About(seq=item.seq)


def _of_session(view: View, run: Run) -> _About:
    known = facts(view, run)
    return _About(
        task_id=known.task_id,
        run_id=run.run_id,
        session=known.name,
        seq=newest_seq(view, run.run_id),
        ways=tuple(session_ways(known)),
    )


def _of_breakpoint(view: View, run: Run, effect_id: str) -> _About:
    effect = view.runs.effect(run, effect_id)
    asked = Question(
        text=str(effect.args.get("question", "")),
        seq=effect.requested_seq,
        point=None,
        hook=None,
        head=None,
        effect_id=effect_id,
    )
    return _About(
        run_id=run.run_id,
        seq=effect.requested_seq,
        question=asked,
        ways=tuple(answer_ways(run.run_id)),
    )


def _of_task(view: View, task_id: str) -> _About:
    run = run_of(view, task_id)
    asked = gates.open_question(view, run) if run is not None else None
    question = None
    if asked is not None:
        head = asked.context.get("asksAbout")
        question = Question(
            text=asked.message,
            seq=asked.seq,
            point=asked.point,
            hook=asked.hook,
            head=head if isinstance(head, str) else None,
            effect_id=None,
        )
    return _About(
        task_id=task_id,
        run_id=run.run_id if run is not None else None,
        seq=asked.seq if asked is not None else newest_seq(view, task_id),
        question=question,
        ways=tuple(task_ways(view, task_id)),
    )
