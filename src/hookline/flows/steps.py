"""Flows written as steps: interpreted on the same context that Python flows use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.runs import FlowMistake
from hookline.hooks import conditions
from hookline.hooks.templates import compile_line
from hookline.points import Variable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.flows.context import Context

_REFERENCE = re.compile(r"\{\{\s*((?:input|steps)(?:\.[A-Za-z0-9_-]+)+)\s*\}\}")

Step = dict[str, Any]


async def run_steps(ctx: Context, steps: Sequence[Step]) -> dict[str, Any]:
    """Carry out steps in order; the result of each, by its id."""
    scope: dict[str, Any] = {"input": ctx.input, "steps": {}}
    for step in steps:
        await _do(ctx, step, scope)
    results: dict[str, Any] = scope["steps"]
    return results


async def _do(ctx: Context, step: Step, scope: dict[str, Any]) -> None:
    expression = step.get("when")
    if expression and not conditions.evaluate(expression, scope, {}).met:
        scope["steps"][step["id"]] = None
        return
    for act, perform in _ACTS.items():
        if step.get(act) is not None:
            scope["steps"][step["id"]] = await perform(ctx, step, scope)
            return
    raise FlowMistake(f"step '{step['id']}' does nothing")


async def _run(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    line, env = shell_line(step["run"], scope)
    return await ctx.run(
        line,
        id=step["id"],
        timeout=step.get("timeout"),
        retries=step.get("retries"),
        check=step.get("check", True),
        env=env,
        metadata=step.get("metadata"),
    )


async def _parallel(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    branches = [_do(ctx, each, scope) for each in step["parallel"]]
    await ctx.named_parallel(step["id"], branches)
    return {each["id"]: scope["steps"].get(each["id"]) for each in step["parallel"]}


async def _breakpoint(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    return await ctx.breakpoint(
        str(fill(step["breakpoint"], scope)),
        id=step["id"],
        max_age=step.get("max_age"),
        metadata=step.get("metadata"),
    )


async def _sleep(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    await ctx.sleep(float(step["sleep"]), id=step["id"])


async def _task(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = fill({k: v for k, v in step["task"].items() if v is not None}, scope)
    return await ctx.task(**given, id=step["id"], metadata=step.get("metadata"))


async def _update_task(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = fill(step["update_task"], scope)
    return await ctx.update_task(given["id"], given["action"], given.get("payload"))


async def _agent(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = step["agent"]
    given = {"prompt": given} if isinstance(given, str) else given
    return await ctx.agent(
        str(fill(given["prompt"], scope)),
        agent=given.get("agent"),
        id=step["id"],
        timeout=step.get("timeout"),
        metadata=step.get("metadata"),
    )


async def _hook(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = step["hook"]
    given = {"point": given} if isinstance(given, str) else given
    return await ctx.hook(given["point"], fill(given.get("payload", {}), scope), id=step["id"])


async def _noop(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    await ctx.noop(id=step["id"])


_ACTS: dict[str, Callable[[Context, Step, dict[str, Any]], Awaitable[Any]]] = {
    "run": _run,
    "parallel": _parallel,
    "breakpoint": _breakpoint,
    "sleep": _sleep,
    "task": _task,
    "update_task": _update_task,
    "agent": _agent,
    "hook": _hook,
    "noop": _noop,
}


def shell_line(line: str, scope: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """A shell line whose values travel in the environment, and that environment."""
    known: dict[str, Variable] = {}
    values: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        variable = Variable(f"value_{len(known) + 1}", True, match[1])
        known[variable.name] = variable
        values[variable.env] = _text(_look_up(match[1], scope))
        return f"{{{{{variable.name}}}}}"

    named = _REFERENCE.sub(name, line)
    compiled, problems = compile_line(named, known, known)
    if problems:
        raise FlowMistake(f"`{line}`: {problems[0].message}", help=problems[0].help)
    return compiled, values


def fill(value: Any, scope: dict[str, Any]) -> Any:
    """Data with `{{input.x}}` and `{{steps.y.z}}` replaced; one pass, nothing is evaluated."""
    if isinstance(value, dict):
        return {key: fill(each, scope) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill(each, scope) for each in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value.strip())
    if whole:
        return _look_up(whole[1], scope)
    return _REFERENCE.sub(lambda match: _text(_look_up(match[1], scope)), value)


def _look_up(path: str, scope: dict[str, Any]) -> Any:
    found: Any = scope
    for part in path.split("."):
        if isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, dict) and part in found:
            found = found[part]
        else:
            raise FlowMistake(
                f"{{{{{path}}}}} has no value: there is no '{part}'",
                help="a step must come before the one that uses its result",
            )
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
