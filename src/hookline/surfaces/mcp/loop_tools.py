"""Tools for loops and their stop hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.types import Guards
from hookline.domain.limits import Limits
from hookline.domain.promises import find_promises
from hookline.errors import BadInput
from hookline.hooks.evaluation import Report, record
from hookline.hooks.registered import check_registration, registration_from
from hookline.surfaces.mcp.judging import (
    agent_rules,
    evaluator,
    groups_of,
    is_guarded,
    project_files,
    rules_for,
)
from hookline.tasks import loops, registrations

if TYPE_CHECKING:
    from hookline.surfaces.mcp import arguments as a
    from hookline.surfaces.mcp.visit import Visit
    from hookline.tasks.loops import Loop

MAX_OUTPUT = 256 * 1024
MAX_FILES = 1000
MAX_PATH = 4096


def hook_register(visit: Visit, args: a.HookRegister) -> Any:
    """A stop hook for a task."""
    given = {k: v for k, v in msgspec.to_builtins(args).items() if k != "taskId" and v is not None}
    new = check_registration(registration_from(given), commands=visit.commands)
    visit.refuse_others(args.task_id, "register hooks for")
    made = visit.change(registrations.register, args.task_id, new)
    return {
        "hookId": made.id,
        "taskId": _task_id(visit, args.task_id),
        "hookType": made.hook_type,
        "enabled": made.enabled,
        "metadata": made.metadata,
    }


def hook_list(visit: Visit, args: a.TaskId) -> Any:
    """The stop hooks of a task that were registered for it."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id).id
        found = registrations.registered(view.log, task)
        switches = view.calls.switches()
    hooks = [
        {
            "id": each.id,
            "enabled": switches.get(each.id, each.enabled),
            "metadata": {"type": each.hook_type, **each.metadata},
            **({"hooks": msgspec.to_builtins(each.hooks)} if each.hooks else {}),
        }
        for each in found
    ]
    return {"taskId": task, "hookCount": len(hooks), "hooks": hooks}


def hook_clear(visit: Visit, args: a.TaskId) -> Any:
    """No registered stop hooks any more; those of the project stay."""
    visit.refuse_others(args.task_id, "clear the hooks of")
    count = visit.change(registrations.clear, args.task_id)
    return {"taskId": _task_id(visit, args.task_id), "hooksCleared": count}


async def hook_evaluate(visit: Visit, args: a.IterationReport) -> Any:
    """What the stop hooks say."""
    loop, made = await _evaluate(visit, args)
    return {"taskId": loop.task_id, "iteration": loop.iteration, **_decision(loop, made)}


async def iteration_start(visit: Visit, args: a.IterationStart) -> Any:
    """A loop on a task."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id)
    visit.refuse_others(task.id, "loop on")
    wanted = tuple(args.completion_promises or loops.PROMISES)
    find_promises("", wanted)  # refuses what is no promise
    agent_rules(visit, args.validation_rules or ())
    files = project_files(visit.app)
    tree = await files.tree()
    plan = loops.Plan(
        limits=_limits(visit, args),
        completion_promises=wanted,
        validation_rules=tuple(args.validation_rules or ()),
        execution_phase=args.execution_phase,
        base_tree=tree.tree,
        base_state=files.keep(await files.state()),
    )
    loop = visit.change(loops.start, task.id, plan, holder=visit.app.holder)
    return {
        **_standing(loop),
        "completionPromises": list(wanted),
        "validationRules": [rule.name for rule in rules_for(visit, plan.validation_rules)],
        "startedAt": loop.started_at,
    }


async def iteration_validate(visit: Visit, args: a.IterationReport) -> Any:
    """Whether the loop goes on."""
    loop, made = await _evaluate(visit, args)
    finding = loop.finding
    assert finding is not None  # it was written down just now
    return {
        **_standing(loop),
        "validationPassed": bool(finding.results)
        and all(each["passed"] for each in finding.results),
        "validationResults": list(finding.results),
        "detectedPromises": list(finding.promises),
        "filesModified": list(finding.files_modified),
        "completionSignal": finding.signal,
        "hook": _decision(loop, made),
        "nextPrompt": finding.decision["nextPrompt"],
        "feedback": _feedback(loop),
    }


async def iteration_next(visit: Visit, args: a.IterationId) -> Any:
    """The next iteration."""
    files = project_files(visit.app)
    with visit.app.read() as view:
        was_validated = loops.find_open(view.log, args.iteration_id).finding is not None
    state = None if was_validated else files.keep(await files.state())
    loop = visit.change(loops.advance, args.iteration_id, state)
    return {**_standing(loop), "completionSignal": "CONTINUE"}


def iteration_complete(visit: Visit, args: a.IterationComplete) -> Any:
    """The end of a loop."""
    with visit.app.read() as view:
        task = loops.find(view.log, args.iteration_id).task_id
    loop, cleared = visit.change(
        loops.complete,
        args.iteration_id,
        args.completion_promise,
        summary=args.summary,
        guarded=is_guarded(visit, task),
    )
    promise = loops.plain_promise(args.completion_promise)
    return {
        **_standing(loop),
        "completionPromise": promise,
        "hooksCleared": cleared,
        "feedback": f"Call task_complete with taskId {task}."
        if promise == "COMPLETE"
        else f"Call task_block with taskId {task} and say what is missing.",
    }


async def _evaluate(visit: Visit, args: a.IterationReport) -> tuple[Loop, bool]:
    with visit.app.read() as view:
        loop = loops.find_open(view.log, args.iteration_id)
        task = view.graph.task(loop.task_id)
    groups = groups_of(visit, loop.task_id)
    rules = rules_for(visit, loop.plan.validation_rules)
    verdict = await evaluator(visit, groups).evaluate(
        loop, rules, groups, _report(args), taskContent=task.goal
    )
    return visit.change(record, loop, verdict)


def _report(args: a.IterationReport) -> Report:
    for name, text in (("agentOutput", args.agent_output), ("draftContent", args.draft_content)):
        if text and len(text.encode("utf-8", "surrogatepass")) > MAX_OUTPUT:
            raise BadInput(
                f"{name} has more than {MAX_OUTPUT:,} bytes",
                help="pass the end of it: your final message is what counts",
            )
    files = args.files_modified or []
    if len(files) > MAX_FILES or any(len(each) > MAX_PATH for each in files):
        raise BadInput(
            f"filesModified holds up to {MAX_FILES} paths", help="leave it out: git knows them"
        )
    return Report(
        agent_output=args.agent_output,
        files_modified=tuple(files),
        draft_content=args.draft_content,
        draft_type=args.draft_type,
    )


def _limits(visit: Visit, args: a.IterationStart) -> Limits:
    """The project's guards; an agent can have stricter ones, not looser ones."""
    settings = visit.app.settings
    guards = msgspec.structs.asdict(settings.session.guards if settings is not None else Guards())
    # Here a failure is an iteration whose rules fail, which only the agent can wish to count.
    guards["failures"] = args.circuit_breaker_threshold
    wanted = msgspec.structs.asdict(args.circuit_breaker) if args.circuit_breaker else {}
    given = (*wanted.values(), args.circuit_breaker_threshold)
    if any(value is not None and value < 0 for value in given):
        raise BadInput("a circuit breaker counts iterations: from 1, or 0 for never")
    found = {name: _stricter(value, wanted.get(name)) for name, value in guards.items()}
    return Limits(iterations=args.max_iterations, **found)


def _stricter(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value), default=None)


def _standing(loop: Loop) -> dict[str, Any]:
    return {
        "iterationId": loop.id,
        "taskId": loop.task_id,
        "iteration": loop.iteration,
        "maxIterations": loop.plan.limits.iterations,
    }


def _decision(loop: Loop, checkpoint_created: bool) -> dict[str, Any]:
    assert loop.finding is not None  # it was written down just now
    found = dict(loop.finding.decision)
    metadata = found.pop("metadata")
    return {**found, "checkpointCreated": checkpoint_created, "metadata": metadata}


def _feedback(loop: Loop) -> str:
    finding = loop.finding
    assert finding is not None  # it was written down just now
    reason = finding.decision["reason"]
    if finding.git_error:
        reason = f"{reason} ({finding.git_error})"
    if finding.signal == "COMPLETE":
        return f"{reason}. Call iteration_complete with iterationId {loop.id}."
    if finding.signal == "ESCALATE":
        return (
            f"{reason}. Stop here: call task_block with taskId {loop.task_id} and say what a"
            " person must know, then hook_clear."
        )
    failing = [each["ruleName"] for each in finding.results if not each["passed"]]
    told = f" Failing rules: {', '.join(failing)}." if failing else ""
    most = loop.plan.limits.iterations
    if most and loop.iteration >= most:
        return f"{reason}.{told} This was the last of {most} iterations: call task_block."
    return f"{reason}.{told} Go on, then call iteration_next with iterationId {loop.id}."


def _task_id(visit: Visit, given: str) -> str:
    with visit.app.read() as view:
        return view.graph.task(given).id
