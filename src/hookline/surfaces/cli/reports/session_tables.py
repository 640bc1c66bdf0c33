"""The tables at the end of a session's page: its tasks, what they cost, their gates, the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.names import short_name
from hookline.domain.text.terminal import took
from hookline.queries.reports.proofs import NONE
from hookline.surfaces.cli.gates.show import review_lines
from hookline.surfaces.cli.live.lines import money
from hookline.surfaces.cli.reports import page
from hookline.surfaces.cli.reports.page import NUMBER, SHORT, WIDE, Column, Markup
from hookline.surfaces.cli.work.costs import computed_text, unfinished_text, who

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.domain.tasks import Task
    from hookline.queries.reports.session import SessionReport
    from hookline.sessions.spending import WholeCost


def tables(found: SessionReport) -> Iterator[str]:
    """Tasks, costs, gates and notes of a session."""
    task = found.known.task_id
    tasks = [
        (t.id, _state(t, found), t.goal, t.result or t.block_reason or "") for t in found.tasks
    ]
    yield page.section(
        "Tasks",
        page.table(
            (Column("task", SHORT), Column("state", SHORT), Column("goal"), Column("result")), tasks
        ),
    )
    yield page.section(f"What {task} cost", costs_html(found.cost))
    yield page.section(f"Gates of {task}", page.table(_GATES, _gates(found)))
    passed_by = [
        (page.time(at, day=True), o.point, short_name(o.hook), o.by, o.reason)
        for at, o in found.overridden
    ]
    columns = (Column("when", SHORT), *map(Column, ("point", "gate", "by", "why")))
    yield page.section("Overridden gates", page.table(columns, passed_by))
    notes = [(page.time(each.created_at, day=True), each.kind, each.text) for each in found.notes]
    columns = (Column("when", SHORT), Column("kind"), Column("note", WIDE))
    yield page.section("Notes", page.table(columns, notes))


def _state(task: Task, found: SessionReport) -> Markup:
    """A task's state; one that is completed because its agent says so is not green."""
    known = found.known
    is_claim = task.id == known.task_id and known.branch is None and not found.proven
    return page.badge(task.state, page.OTHER if is_claim else None)


_COSTS = (
    Column("role"),
    Column("agent"),
    Column("turns", NUMBER),
    Column("time", NUMBER),
    Column("tokens in", NUMBER),
    Column("tokens out", NUMBER),
    Column("money", NUMBER),
)


def costs_html(cost: WholeCost) -> str:
    """What agents cost, by role."""
    if not cost.turns:
        return ""
    named = [(each.role, who(each), each) for each in cost.roles]
    whole = [("all", "", cost)] if len(named) > 1 else []
    rows = [
        (
            *(role, agent, f"{each.turns}{unfinished_text(each)}", took(each.seconds)),
            *(f"{n:,}" if each.tokens else "" for n in (each.input_tokens, each.output_tokens)),
            f"{money(each.usd)}{computed_text(each)}" if each.usd is not None else "",
        )
        for role, agent, each in (*named, *whole)
    ]
    return page.table(_COSTS, rows)


_GATES = (
    Column("when", SHORT),
    Column("point", SHORT),
    Column("gate"),
    Column("verdict", SHORT),
    Column("what was said", WIDE),
)


def _gates(found: SessionReport) -> list[Sequence[object]]:
    """What gates, reviewers and merges said about the work, and what its author answered."""
    return [
        (
            *(page.time(verdict.started_at), verdict.point, short_name(verdict.hook or "no gate")),
            page.badge(verdict.status if verdict.hook else NONE),
            "\n".join([verdict.message, *review_lines(each)]),
        )
        for each in found.gates
        for verdict in (each.verdict,)
    ]
