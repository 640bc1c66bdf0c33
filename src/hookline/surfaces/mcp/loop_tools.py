"""Tools for loops and their stop hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.limits import SessionLimits
from hookline.domain.promises import find_promises
from hookline.errors import BadInput
from hookline.hooks.evaluation import AgentReport, record
from hookline.hooks.registered import check_registration, registration_from
from hookline.tasks import loops, registrations
from hookline.wiring import evaluation

if TYPE_CHECKING:
    from hookline.surfaces.mcp import arguments as a
    from hookline.surfaces.mcp.visit import Visit
    from hookline.tasks.loops import Loop, LoopFinding

MAX_OUTPUT = 256 * 1024
MAX_FILES = 1000
MAX_PATH = 4096


def hook_register(visit: Visit, args: a.HookRegister) -> Any:
    """Register a stop hook that decides after each iteration of the task whether you are done:
    default checks promises, then validation rules. Hooks are asked in the order of registration
    until one says complete or escalate."""
    given = {k: v for k, v in msgspec.to_builtins(args).items() if k != "taskId" and v is not None}
    new = check_registration(registration_from(given), commands=visit.commands)
    visit.refuse_others(args.task_id, "register hooks for")
    made = visit.app.change(registrations.register, args.task_id, new)
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
    visit.refuse_others(args.task_id, "clear the hooks of")
    count = visit.app.change(registrations.clear, args.task_id)
    return {"taskId": _task_id(visit, args.task_id), "hooksCleared": count}


async def hook_evaluate(visit: Visit, args: a.LoopReport) -> Any:
    """Ask the stop hooks about the current iteration. iteration_validate does it for you."""
    loop, made = await _evaluate(visit, args)
    return {"taskId": loop.task_id, "iteration": loop.iteration, **_decision(loop, made)}


async def iteration_start(visit: Visit, args: a.LoopStart) -> Any:
    """Begin a loop on a task; the answer has the iterationId. Validation rules of the project run
    besides yours."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id)
    visit.refuse_others(task.id, "loop on")
    wanted = tuple(args.completion_promises or loops.PROMISES)
    find_promises("", wanted)  # refuses what is not a promise
    evaluation.agent_rules(visit.app, args.validation_rules or (), commands=visit.commands)
    files = evaluation.project_files(visit.app)
    tree = await files.tree()
    plan = loops.LoopPlan(
        limits=_limits(visit, args),
        completion_promises=wanted,
        validation_rules=tuple(args.validation_rules or ()),
        execution_phase=args.execution_phase,
        base_tree=tree.tree,
        base_state=files.keep(await files.state()),
    )
    loop = visit.app.change(loops.start, task.id, plan, holder=visit.app.origin.holder)
    return {
        **_standing(loop),
        "completionPromises": list(wanted),
        "validationRules": [
            rule.name for rule in evaluation.rules_for(visit.app, plan.validation_rules)
        ],
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
    files = evaluation.project_files(visit.app)
    with visit.app.read() as view:
        was_validated = loops.find_open(view.log, args.iteration_id).finding is not None
    state = None if was_validated else files.keep(await files.state())
    loop = visit.app.change(loops.advance, args.iteration_id, state)
    return {**_standing(loop), "completionSignal": "CONTINUE"}


def iteration_complete(visit: Visit, args: a.IterationComplete) -> Any:
    """End a loop and clear its registered hooks, once the completionSignal is COMPLETE."""
    with visit.app.read() as view:
        task = loops.find(view.log, args.iteration_id).task_id
    loop, cleared = visit.app.change(
        loops.complete,
        args.iteration_id,
        args.completion_promise,
        summary=args.summary,
        guarded=evaluation.is_guarded(visit.app, visit.agent, task),
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


async def _evaluate(visit: Visit, args: a.LoopReport) -> tuple[Loop, bool]:
    with visit.app.read() as view:
        loop = loops.find_open(view.log, args.iteration_id)
        task = view.graph.task(loop.task_id)
    groups = evaluation.groups_of(visit.app, visit.agent, loop.task_id)
    rules = evaluation.rules_for(visit.app, loop.plan.validation_rules)
    verdict = await evaluation.evaluator(visit.app, groups).evaluate(
        loop, rules, groups, _report(args), taskContent=task.goal
    )
    return visit.app.change(record, loop, verdict)


def _report(args: a.LoopReport) -> AgentReport:
    for name, text in (("agentOutput", args.agent_output), ("draftContent", args.draft_content)):
        if text and len(text.encode("utf-8", "surrogatepass")) > MAX_OUTPUT:
            help = "pass the end of it: your final message is what counts"
            raise BadInput(f"{name} has more than {MAX_OUTPUT:,} bytes", help=help)
    files = args.files_modified
    if len(files) > MAX_FILES or any(len(each) > MAX_PATH for each in files):
        help = "leave it out: git knows them"
        raise BadInput(f"filesModified holds up to {MAX_FILES} paths", help=help)
    return msgspec.convert(args, AgentReport, from_attributes=True)


def _limits(visit: Visit, args: a.LoopStart) -> SessionLimits:
    """The project's guards; an agent can have stricter ones, not looser ones."""
    guards = msgspec.structs.asdict(visit.app.sections.session.guards)
    # Here a failure is an iteration whose rules fail, which only the agent can wish to count.
    guards["failures"] = args.circuit_breaker_threshold
    wanted = msgspec.structs.asdict(args.circuit_breaker) if args.circuit_breaker else {}
    given = (*wanted.values(), args.circuit_breaker_threshold)
    if any(value is not None and value < 0 for value in given):
        raise BadInput("a circuit breaker counts iterations: from 1, or 0 for never")
    found = {n: min(filter(None, (v, wanted.get(n))), default=None) for n, v in guards.items()}
    return SessionLimits(iterations=args.max_iterations, **found)


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
