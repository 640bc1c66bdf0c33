"""Flows written as steps: interpreted on the same context that Python flows use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.numbers import is_number
from hookline.domain.runs import FlowMistake
from hookline.hooks import conditions
from hookline.hooks.references import compile_step_line, fill_text, problem_of, references
from hookline.hooks.templates import ALLOW, OPTION_HELP, is_option

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.flows.context import Context

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
    line, env = shell_line(step["run"], scope, options=step.get("options"))
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
        _text(fill(step["breakpoint"], scope)),
        id=step["id"],
        max_age=step.get("max_age"),
        metadata=step.get("metadata"),
    )


async def _sleep(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    await ctx.sleep(float(step["sleep"]), id=step["id"], metadata=step.get("metadata"))


async def _task(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = fill({k: v for k, v in step["task"].items() if v is not None}, scope)
    given["goal"] = _text(given["goal"])
    return await ctx.task(**given, id=step["id"], metadata=step.get("metadata"))


async def _update_task(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = fill(step["update_task"], scope)
    return await ctx.update_task(
        given["id"],
        given["action"],
        given.get("payload"),
        id=step["id"],
        metadata=step.get("metadata"),
    )


async def _agent(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = step["agent"]
    given = {"prompt": given} if isinstance(given, str) else given
    return await ctx.agent(
        _text(fill(given["prompt"], scope)),
        agent=given.get("agent"),
        id=step["id"],
        timeout=step.get("timeout"),
        metadata=step.get("metadata"),
    )


async def _hook(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    given = step["hook"]
    given = {"point": given} if isinstance(given, str) else given
    payload = fill(given.get("payload", {}), scope)
    return await ctx.hook(given["point"], payload, id=step["id"], metadata=step.get("metadata"))


async def _noop(ctx: Context, step: Step, scope: dict[str, Any]) -> Any:
    await ctx.noop(id=step["id"], metadata=step.get("metadata"))


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


def shell_line(
    line: str, scope: dict[str, Any], *, options: str | None = None
) -> tuple[str, dict[str, str]]:
    """A shell line whose values travel in the environment, and that environment."""
    compiled = compile_step_line(line)
    for problem in compiled.problems:
        raise FlowMistake(f"`{line}`: {problem.message}", help=problem.help)
    values = {env: _text(look_up(path, scope)) for env, path in compiled.values.items()}
    for env in compiled.exposed if options != ALLOW else ():
        if values[env].startswith("-"):
            raise FlowMistake(f"`{line}`: {is_option(compiled.values[env])}", help=OPTION_HELP)
    # A NUL ends every variable and argument of a process.
    return compiled.line, {env: text.replace("\0", "\ufffd") for env, text in values.items()}


def fill(value: Any, scope: dict[str, Any]) -> Any:
    """Data with `{{input.x}}` and `{{steps.y.z}}` replaced; one pass, nothing is evaluated."""
    if isinstance(value, dict):
        return {key: fill(each, scope) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill(each, scope) for each in value]
    if not isinstance(value, str):
        return value
    for each in references(value):
        if problem := problem_of(each):
            raise FlowMistake(problem.message, help=problem.help)
    return fill_text(value, lambda path: look_up(path, scope), _text)


def look_up(path: str, scope: dict[str, Any]) -> Any:
    """The value at a path such as `steps.lint.stdout`, or FlowMistake."""
    found: Any = scope
    for part in path.split("."):
        if isinstance(found, list) and is_number(part) and int(part) < len(found):
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
