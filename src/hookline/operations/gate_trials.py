"""Looking at a task's gates: what each said and cost, which apply, and trying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.hooks.gates.resolution import Authorship, resolve
from hookline.hooks.gates.verdicts import verdicts
from hookline.operations.submissions import refuse_at_work
from hookline.operations.task_work import try_gates, worker_of
from hookline.pipeline.gate_reviews import gate_reviews
from hookline.project import user_folder
from hookline.sessions.spending import asked_by, authors, cost_of, turns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.hooks.gates.resolution import Resolved
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.hooks.scopes import HookScopes
    from hookline.pipeline.gate_reviews import GateReview
    from hookline.sessions.spending import WholeCost


class JudgedWork(NamedTuple):
    """What was said about a task's work, with what each verdict cost, and what all turns did."""

    task: Task
    found: list[tuple[GateReview, WholeCost]]
    cost: WholeCost | None


class Explained(NamedTuple):
    """The gates that apply to a task's work; `is_gone` if their configuration is missing."""

    task: Task
    agent: str | None
    points: Sequence[Resolved]
    is_gone: bool


class Trial(NamedTuple):
    """What the gates of a point said when they were tried."""

    task: Task
    found: list[GateVerdict]


def judged(app: App, identifier: str) -> JudgedWork:
    """Every verdict on a task's work, in order."""
    with app.read() as view:
        task = view.graph.task(identifier)
        turns = turns_of(view, task.id)
        said = gate_reviews(view, task.id, app.blobs)
        found = [(each, cost_of(asked_by(each.verdict, turns))) for each in said]
        return JudgedWork(task, found, cost_of(turns) if turns else None)


def explain(app: App, identifier: str, agent: str | None = None) -> Explained:
    """Which gates apply to a task's work, and why; `agent` is whose work it is."""
    with app.read() as view:
        task = view.graph.task(identifier)
        named = worker_of(app, view, task, agent)
        worker = Authorship(named, task.type, authors(view, task.id))
        found = resolve(_scopes(app), worker, app.sections.agents, view.switches.all())
    return Explained(task, named, found, app.settings is not None and app.settings.is_gone)


async def try_point(
    app: App,
    identifier: str,
    point: str,
    agent: str | None,
    observe: Callable[[str, dict[str, Any]], None],
) -> Trial:
    """Ask the gates of a point now; the verdicts are recorded, not acted on."""
    with app.read() as view:
        task = view.graph.task(identifier)
        refuse_at_work(app, view, task)
        agent = worker_of(app, view, task, agent)
        begun = view.log.last()
    await try_gates(app, task, point, agent, observe)
    with app.read() as view:
        found = [each for each in verdicts(view, task.id, after=begun) if each.run is None]
    return Trial(task, found)


def _scopes(app: App) -> HookScopes:
    """The hooks at each point; those that were trusted, if hookline.yaml is missing since."""
    if app.settings is None or not app.settings.is_gone:
        return app.scopes
    from hookline.wiring.project.removed import trusted_scopes  # a missing file is rare

    return trusted_scopes(app.project, user_folder(app.environ)) or app.scopes
