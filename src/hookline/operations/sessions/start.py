"""Starting a session: on which task, where, and with which limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.config.task_types import belongs_in_worktree, claim_rule, skips_pr
from hookline.domain.sessions.limits import BUDGETS, WHOLE, limit_problem
from hookline.domain.sessions.model import SessionInput
from hookline.errors import BadInput
from hookline.sessions import starting
from hookline.sessions.names import unused_name
from hookline.sessions.state import LEASE_MARGIN, PINS
from hookline.tasks import verbs
from hookline.tasks.claims import check_allowed
from hookline.tasks.planned import needs_no_plan
from hookline.wiring.project.clones import work_elsewhere
from hookline.wiring.running.detached import prepare_log
from hookline.wiring.running.flows import flows_of_ours
from hookline.wiring.running.presence import lease_of
from hookline.wiring.working.forges import check_forge
from hookline.wiring.working.work import begin_work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.app import App
    from hookline.domain.work.repository import Worktree
    from hookline.ports.store import Transaction


# The stop hooks that complete by a promise if no rule is configured.
BELIEVING = ("checked", "default", "promise")


def check_limits(limits: Mapping[str, float]) -> dict[str, float]:
    """Limits by name; an unknown one, and one without room for anything, is an error."""
    for name, value in limits.items():
        if name not in BUDGETS:
            raise BadInput(
                f"there is no limit '{name[:40]}'", help=f"there is {', '.join(BUDGETS)}"
            )
        if (problem := limit_problem(name, value)) is not None:
            raise BadInput(f"{name} {problem}")
    return {name: int(value) if name in WHOLE else value for name, value in limits.items()}


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A requested session; without a task, one is added for its goal."""

    agent: str
    goal: str | None = None
    task: str | None = None
    name: str | None = None
    limits: dict[str, float] = {}
    plan: bool = False
    shows_plan: bool = True


async def prepare_worktree(app: App, task_id: str | None, agent: str) -> Worktree | None:
    """The worktree of a task whose work goes through gates, or that already has one."""
    if task_id is None:
        return None
    with app.read() as view:
        task = view.graph.task(task_id)
    check_allowed(task, agent, claim_rule(app.settings))
    place = work_elsewhere(app).get(task.id)
    is_elsewhere = place is not None and place.copy is not None
    if not (is_elsewhere or belongs_in_worktree(app.settings, app.project.folder, task)):
        return None
    await check_forge(app)
    return await begin_work(app, task.id)


def is_unchecked(app: App, agent: str) -> bool:
    """Whether nothing but the agent's own word would say that its work in this folder is done."""
    hooks = app.scopes.hooks_at("stop", agent=agent)
    believing = all(hook.kind == "built-in" and hook.target in BELIEVING for hook in hooks)
    return believing and not app.sections.validation


def start(app: App, wanted: NewSession, place: Worktree | None, *, detached: bool = False) -> str:
    """Start a session, in a worktree if there is one; its run. A `detached` one is not ours."""

    def begin(tx: Transaction) -> SessionInput:
        made = _input(tx, wanted)
        if place is None:
            return made
        skip_pr = skips_pr(app.settings, tx.graph.task(made.task_id).type)
        return made.in_worktree(app.project.root, place, skip_pr=skip_pr)

    return start_session(app, begin, detached=detached)


def start_session(
    app: App, input_for: Callable[[Transaction], SessionInput], *, detached: bool = False
) -> str:
    """Start a session; the process that advances its run runs the agent."""
    flow = flows_of_ours(app)["session"]()
    lease = flow.pins[PINS].get("turnTimeout", 3600.0) + LEASE_MARGIN

    def start(tx: Transaction) -> str:
        given = input_for(tx)
        run_id = starting.start(tx, given, code_digest=flow.digest, pins=flow.pins, lease=lease)
        if detached:
            prepare_log(app.project, run_id)  # without one, there is no session either
        else:  # this process owns it from the start: if it dies, others notice
            until = app.store.time() + lease_of(app)
            tx.runs.leases.take(run_id, app.owner, tx.next_token(), until)
        return run_id

    run_id = app.change(start)
    with app.read() as view:
        given = view.runs.find(run_id).input
    app.feeds.of(run_id)("session_started", {**given, "runId": run_id})
    return run_id


def _input(tx: Transaction, wanted: NewSession) -> SessionInput:
    task = tx.graph.task(wanted.task) if wanted.task else None
    goal = wanted.goal or (task.goal if task else None)
    if not goal:
        help = 'such as: hookline run "make the tests pass"'
        raise BadInput("what should the agent do?", help=help)
    task = task or verbs.add(tx, goal)
    return SessionInput(
        name=wanted.name or unused_name(tx, goal),
        goal=goal,
        task_id=task.id,
        agent=wanted.agent,
        limits=wanted.limits,
        plan=wanted.plan,
        shows_plan=wanted.shows_plan,
        part=needs_no_plan(tx, task),
    )
