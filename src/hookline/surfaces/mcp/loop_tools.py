"""Tools for loops and their stop hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.hooks.evaluation import AgentReport
from hookline.operations.sessions import loops
from hookline.tasks import registrations
from hookline.tasks.loops import plain_promise

if TYPE_CHECKING:
    from hookline.surfaces.mcp import arguments as a
    from hookline.surfaces.mcp.visit import Visit
    from hookline.tasks.loops import Loop, LoopFinding


def hook_register(visit: Visit, args: a.HookRegister) -> Any:
    """Register a stop hook that decides after each iteration of the task whether you are done:
    default checks promises, then validation rules. Hooks are asked in the order of registration
    until one says complete or escalate."""
    given = {k: v for k, v in msgspec.to_builtins(args).items() if k != "taskId" and v is not None}
    made = loops.register_hook(visit.app, args.task_id, given, commands=visit.commands)
    return {
        "hookId": made.id,
        "taskId": _task_id(visit, args.task_id),
        "hookType": made.hook_type,
        "enabled": made.enabled,
        "metadata": made.metadata,
    }


def hook_list(visit: Visit, args: a.TaskId) -> Any:
    """The stop hooks that you registered for a task."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id).id
        found = registrations.registered(view.log, task)
        switches = view.switches.all()
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
    """Remove the stop hooks that you registered for a task, when its loop ends. Hooks of the
    project stay."""
    count = loops.clear_hooks(visit.app, args.task_id)
    return {"taskId": _task_id(visit, args.task_id), "hooksCleared": count}


async def hook_evaluate(visit: Visit, args: a.LoopReport) -> Any:
    """Ask the stop hooks about the current iteration. iteration_validate does it for you."""
    loop, made = await _evaluate(visit, args)
    return {"taskId": loop.task_id, "iteration": loop.iteration, **_decision(loop, made)}


async def iteration_start(visit: Visit, args: a.LoopStart) -> Any:
    """Begin a loop on a task; the answer has the iterationId. Validation rules of the project run
    besides yours."""
    breaker = msgspec.structs.asdict(args.circuit_breaker) if args.circuit_breaker else {}
    wishes = loops.LoopWishes(
        args.max_iterations,
        args.completion_promises or (),
        args.validation_rules or (),
        breaker,
        args.circuit_breaker_threshold,
        args.execution_phase,
    )
    loop, rules = await loops.start(visit.app, args.task_id, wishes, commands=visit.commands)
    return {
        **_standing(loop),
        "completionPromises": list(loop.plan.completion_promises),
        "validationRules": rules,
        "startedAt": loop.started_at,
    }


async def iteration_validate(visit: Visit, args: a.LoopReport) -> Any:
    """After each round of work: runs the validation rules, asks the stop hooks and returns
    completionSignal. CONTINUE: follow nextPrompt, then iteration_next. COMPLETE:
    iteration_complete. ESCALATE: task_block."""
    loop, made = await _evaluate(visit, args)
    finding, results = _finding(loop), _finding(loop).results
    return {
        **_standing(loop),
        "validationPassed": bool(results) and all(each["passed"] for each in results),
        "validationResults": list(finding.results),
        "detectedPromises": list(finding.promises),
        "filesModified": list(finding.files_modified),
        "completionSignal": finding.signal,
        "hook": _decision(loop, made),
        "nextPrompt": finding.decision["nextPrompt"],
        "feedback": _feedback(loop),
    }


async def iteration_next(visit: Visit, args: a.IterationId) -> Any:
    """Begin the next iteration of a loop. Refused at a limit: then stop and call task_block."""
    loop = await loops.advance(visit.app, args.iteration_id)
    return {**_standing(loop), "completionSignal": "CONTINUE"}


def iteration_complete(visit: Visit, args: a.IterationComplete) -> Any:
    """End a loop and clear its registered hooks, once the completionSignal is COMPLETE."""
    given = (args.iteration_id, args.completion_promise, args.summary)
    loop, cleared = loops.complete(visit.app, visit.agent, *given)
    promise = plain_promise(args.completion_promise)
    return {
        **_standing(loop),
        "completionPromise": promise,
        "hooksCleared": cleared,
        "feedback": f"Call task_complete with taskId {loop.task_id}."
        if promise == "COMPLETE"
        else f"Call task_block with taskId {loop.task_id} and say what is missing.",
    }


async def _evaluate(visit: Visit, args: a.LoopReport) -> tuple[Loop, bool]:
    report = typed.convert(args, AgentReport, from_attributes=True)
    return await loops.evaluate(visit.app, visit.agent, args.iteration_id, report)


def _standing(loop: Loop) -> dict[str, str | int | None]:
    return {
        "iterationId": loop.id,
        "taskId": loop.task_id,
        "iteration": loop.iteration,
        "maxIterations": loop.plan.limits.iterations,
    }


def _decision(loop: Loop, checkpoint_created: bool) -> dict[str, Any]:
    found = dict(_finding(loop).decision)
    metadata = found.pop("metadata")
    return {**found, "checkpointCreated": checkpoint_created, "metadata": metadata}


def _finding(loop: Loop) -> LoopFinding:
    assert loop.finding is not None  # it was recorded just now
    return loop.finding


def _feedback(loop: Loop) -> str:
    finding = _finding(loop)
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
    return f"{reason}.{told} Continue, then call iteration_next with iterationId {loop.id}."


def _task_id(visit: Visit, given: str) -> str:
    with visit.app.read() as view:
        return view.graph.task(given).id
