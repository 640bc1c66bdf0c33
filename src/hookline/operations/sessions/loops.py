"""Loops that agents run by themselves, with their stop hooks: one function for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.sessions.limits import SessionLimits
from hookline.domain.sessions.promises import find_promises
from hookline.errors import BadInput
from hookline.hooks.evaluation import record
from hookline.hooks.registered import check_registration, registration_from
from hookline.pipeline.checked_work import refuse_others
from hookline.tasks import loops, registrations
from hookline.wiring.calling import evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.app import App
    from hookline.hooks.evaluation import AgentReport
    from hookline.tasks.loops import Loop
    from hookline.tasks.registrations import Registration

MAX_OUTPUT = 256 * 1024
MAX_FILES = 1000
MAX_PATH = 4096


class LoopWishes(NamedTuple):
    """What an agent wants of a loop; `breaker` are its own guards, by their names."""

    iterations: int
    promises: Sequence[str]
    rules: Sequence[dict[str, Any]]
    breaker: Mapping[str, int | None]
    failures: int | None
    phase: str | None


class StartedLoop(NamedTuple):
    """A loop that was started, and the names of all rules that its iterations must pass."""

    loop: Loop
    rules: list[str]


def register_hook(
    app: App, identifier: str, given: dict[str, Any], *, commands: bool
) -> Registration:
    """Register a stop hook for a task; `commands` is whether it may be a command."""
    new = check_registration(registration_from(given), commands=commands)
    _refuse_others(app, identifier, "register hooks for")
    return app.change(registrations.register, identifier, new)


def clear_hooks(app: App, identifier: str) -> int:
    """Remove the registered hooks of a task; how many there were."""
    _refuse_others(app, identifier, "clear the hooks of")
    return app.change(registrations.clear, identifier)


async def start(app: App, identifier: str, wishes: LoopWishes, *, commands: bool) -> StartedLoop:
    """Begin a loop on a task, within the project's guards and rules."""
    with app.read() as view:
        task = view.graph.task(identifier)
    _refuse_others(app, task.id, "loop on")
    wanted = tuple(wishes.promises or loops.PROMISES)
    find_promises("", wanted)  # refuses what is not a promise
    evaluation.agent_rules(app, wishes.rules, commands=commands)
    files = evaluation.project_files(app)
    tree = await files.tree()
    plan = loops.LoopPlan(
        limits=_limits(app, wishes),
        completion_promises=wanted,
        validation_rules=tuple(wishes.rules),
        execution_phase=wishes.phase,
        base_tree=tree.tree,
        base_state=files.keep(await files.state()),
    )
    loop = app.change(loops.start, task.id, plan, holder=app.origin.holder)
    rules = evaluation.rules_for(app, plan.validation_rules)
    return StartedLoop(loop, [rule.name for rule in rules])


async def evaluate(
    app: App, agent: str | None, iteration_id: str, report: AgentReport
) -> tuple[Loop, bool]:
    """Ask the stop hooks about an iteration; the loop, and whether a checkpoint was made."""
    _check_report(report)
    with app.read() as view:
        loop = loops.find_open(view.log, iteration_id)
        task = view.graph.task(loop.task_id)
    groups = evaluation.groups_of(app, agent, loop.task_id)
    rules = evaluation.rules_for(app, loop.plan.validation_rules)
    verdict = await evaluation.evaluator(app, groups).evaluate(
        loop, rules, groups, report, taskContent=task.goal
    )
    return app.change(record, loop, verdict)


async def advance(app: App, iteration_id: str) -> Loop:
    """Begin the next iteration of a loop."""
    files = evaluation.project_files(app)
    with app.read() as view:
        was_validated = loops.find_open(view.log, iteration_id).finding is not None
    state = None if was_validated else files.keep(await files.state())
    return app.change(loops.advance, iteration_id, state)


def complete(
    app: App, agent: str | None, iteration_id: str, promise: str, summary: str | None
) -> tuple[Loop, int]:
    """End a loop; the loop, and how many registered hooks were cleared."""
    with app.read() as view:
        task = loops.find(view.log, iteration_id).task_id
    guarded = evaluation.is_guarded(app, agent, task)
    return app.change(loops.complete, iteration_id, promise, summary=summary, guarded=guarded)


def _refuse_others(app: App, identifier: str, verb: str) -> None:
    """Refuse to change a task that the session of another agent works on."""
    place = app.origin.session
    with app.read() as view:
        refuse_others(view, view.graph.task(identifier), place.run_id if place else None, verb)


def _limits(app: App, wishes: LoopWishes) -> SessionLimits:
    """The project's guards; an agent can have stricter ones, not looser ones."""
    guards = msgspec.structs.asdict(app.sections.session.guards)
    # Here a failure is an iteration whose rules fail, which only the agent can wish to count.
    guards["failures"] = wishes.failures
    given = (*wishes.breaker.values(), wishes.failures)
    if any(value is not None and value < 0 for value in given):
        raise BadInput("a circuit breaker counts iterations: from 1, or 0 for never")
    wanted = wishes.breaker
    found = {n: min(filter(None, (v, wanted.get(n))), default=None) for n, v in guards.items()}
    return SessionLimits(iterations=wishes.iterations, **found)


def _check_report(report: AgentReport) -> None:
    texts = (("agentOutput", report.agent_output), ("draftContent", report.draft_content))
    for name, text in texts:
        if text and len(text.encode("utf-8", "surrogatepass")) > MAX_OUTPUT:
            help = "pass the end of it: your final message is what counts"
            raise BadInput(f"{name} has more than {MAX_OUTPUT:,} bytes", help=help)
    files = report.files_modified
    if len(files) > MAX_FILES or any(len(each) > MAX_PATH for each in files):
        help = "leave it out: git knows them"
        raise BadInput(f"filesModified holds up to {MAX_FILES} paths", help=help)
