"""Flows written as steps: interpreted on the same context that Python flows use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.runs.model import FlowMistake
from hookline.domain.text.numbers import is_number
from hookline.hooks.language import conditions
from hookline.hooks.language.braces import references
from hookline.hooks.language.references import compile_step_line, fill_text, problem_of
from hookline.hooks.language.templates import ALLOW, OPTION_HELP, is_option

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.flows.context import Context

Step = dict[str, Any]
# What steps can refer to: the `input` of the flow, and the results of other `steps`.
Scope = dict[str, Any]


async def run_steps(ctx: Context, steps: Sequence[Step]) -> Scope:
    """Carry out steps in order; the result of each, by its id."""
    results: Scope = {}
    for step in steps:
        await _do(ctx, step, {"input": ctx.input, "steps": results})
    return results


async def _do(ctx: Context, step: Step, scope: Scope) -> None:
    expression = step.get("when")
    if expression and not conditions.evaluate(expression, scope, {}).met:
        scope["steps"][step["id"]] = None
        return
    for act, perform in _ACTS.items():
        if step.get(act) is not None:
            scope["steps"][step["id"]] = await perform(ctx, step, scope)
            return
    raise FlowMistake(f"step '{step['id']}' does nothing")


def _taken(step: Step, *more: str) -> Step:
    """What a context takes as it is written in a step: its id and metadata, and these."""
    return {name: step.get(name) for name in ("id", "metadata", *more)}


async def _run(ctx: Context, step: Step, scope: Scope) -> Any:
    line, env = shell_line(step["run"], scope, options=step.get("options"))
    check = step.get("check", True)
    return await ctx.run(line, check=check, env=env, **_taken(step, "timeout", "retries"))


async def _parallel(ctx: Context, step: Step, scope: Scope) -> Any:
    branches = [_do(ctx, each, scope) for each in step["parallel"]]
    await ctx.parallel(*branches, id=step["id"], named=False)
    return {each["id"]: scope["steps"].get(each["id"]) for each in step["parallel"]}


async def _breakpoint(ctx: Context, step: Step, scope: Scope) -> Any:
    return await ctx.breakpoint(_text(fill(step["breakpoint"], scope)), **_taken(step, "max_age"))


async def _sleep(ctx: Context, step: Step, scope: Scope) -> Any:
    await ctx.sleep(float(step["sleep"]), **_taken(step))


async def _task(ctx: Context, step: Step, scope: Scope) -> Any:
    given = fill({k: v for k, v in step["task"].items() if v is not None}, scope)
    given["goal"] = _text(given["goal"])
    return await ctx.task(**given, **_taken(step))


async def _flow(ctx: Context, step: Step, scope: Scope) -> Any:
    return await ctx.flow(step["flow"], input=fill(step.get("input", {}), scope), **_taken(step))


async def _update_task(ctx: Context, step: Step, scope: Scope) -> Any:
    given = fill(step["update_task"], scope)
    payload = given.get("payload")
    return await ctx.update_task(given["id"], given["action"], payload, **_taken(step))


async def _agent(ctx: Context, step: Step, scope: Scope) -> Any:
    given = step["agent"]
    given = {"prompt": given} if isinstance(given, str) else given
    prompt = _text(fill(given["prompt"], scope))
    return await ctx.agent(prompt, agent=given.get("agent"), **_taken(step, "timeout"))


async def _hook(ctx: Context, step: Step, scope: Scope) -> Any:
    given = step["hook"]
    given = {"point": given} if isinstance(given, str) else given
    return await ctx.hook(given["point"], fill(given.get("payload", {}), scope), **_taken(step))


async def _noop(ctx: Context, step: Step, scope: Scope) -> Any:
    await ctx.noop(**_taken(step))


_ACTS: dict[str, Callable[[Context, Step, Scope], Awaitable[Any]]] = {
    "run": _run,
    "parallel": _parallel,
    "breakpoint": _breakpoint,
    "sleep": _sleep,
    "task": _task,
    "flow": _flow,
    "update_task": _update_task,
    "agent": _agent,
    "hook": _hook,
    "noop": _noop,
}


def shell_line(
    line: str, scope: Scope, *, options: str | None = None
) -> tuple[str, dict[str, str]]:
    """A shell line whose values are in the environment, and that environment."""
    compiled = compile_step_line(line)
    for problem in compiled.problems:
        raise FlowMistake(f"`{line}`: {problem.message}", help=problem.help)
    values = {env: _text(look_up(path, scope)) for env, path in compiled.values.items()}
    for env in compiled.exposed if options != ALLOW else ():
        if values[env].startswith("-"):
            raise FlowMistake(f"`{line}`: {is_option(compiled.values[env])}", help=OPTION_HELP)
    # A NUL ends every variable and argument of a process.
    return compiled.line, {env: text.replace("\0", "\ufffd") for env, text in values.items()}


def fill(value: Any, scope: Scope) -> Any:
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


def look_up(path: str, scope: Scope) -> Any:
    """The value at a path such as `steps.lint.stdout`, or FlowMistake."""
    found: Any = scope
    for part in path.split("."):
        if isinstance(found, list) and is_number(part) and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, dict) and part in found:
            found = found[part]
        else:
            help = "a step must come before the one that uses its result"
            raise FlowMistake(f"{{{{{path}}}}} has no value: there is no '{part}'", help=help)
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
