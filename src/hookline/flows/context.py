"""What a flow may do. Every method that reaches outside is an effect in the journal."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import iscoroutine
from typing import Any, NoReturn

from hookline.domain.runs.model import FlowMistake, Run
from hookline.domain.timestamps import parse as parse_moment
from hookline.flows.replay import Asked, Next, Stepper, effect


class Context:
    """The first argument of every flow: its input, its state, and all that it may do."""

    def __init__(self, stepper: Stepper, run: Run) -> None:
        self._stepper = stepper
        self.run_id = run.run_id
        self.input = run.input
        self.metadata = run.metadata
        self.state = run.state
        self.chapter = run.chapter

    async def run(
        self,
        command: str,
        *,
        id: str = "",
        timeout: float | None = None,
        retries: int | None = None,
        check: bool = True,
        env: dict[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a shell line; its exit code and output. With `check`, a failure is an error."""
        await self._need_text("a command", command, *(env or {}).values())
        args = {"command": command, "check": check, "env": env or {}}
        return await self._ask("node", args, id or "run", metadata, timeout, retries)

    async def call(
        self,
        function: Callable[..., Any] | str,
        *args: Any,
        id: str = "",
        timeout: float | None = None,
        retries: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call a Python function in a child process; arguments and result are JSON."""
        target = function if isinstance(function, str) else _target(function)
        if target is None:
            await self._refuse(
                f"{function!r} cannot be called in a child process",
                "use a function at the top level of a module or of the flow's file",
            )
        given = {"function": target, "args": list(args), "kwargs": kwargs}
        step = id or str(target).rpartition(":")[2]
        return await self._ask("call", given, step, metadata, timeout, retries)

    async def task(
        self,
        goal: str,
        *,
        id: str = "",
        labels: Sequence[str] = (),
        deliverables: Sequence[str] = (),
        priority: int | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Add a task to the graph and wait until someone completes it."""
        args = {
            "goal": goal,
            "labels": list(labels),
            "deliverables": list(deliverables),
            "priority": priority,
            "type": type,
        }
        return await self._ask("task", args, id or "task", metadata)

    async def flow(
        self,
        name: str,
        *,
        input: Mapping[str, Any] | None = None,
        id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a flow, in its own run; the value of that run."""
        await self._need_text("the name of a flow", name)
        if not isinstance(input, dict | None):
            await self._refuse(f"the input of a flow is a dict, not {type(input).__name__}")
        return await self._ask("flow", {"flow": name, "input": input or {}}, id or name, metadata)

    async def update_task(
        self,
        task_id: str,
        action: str,
        payload: Any = None,
        *,
        id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Carry out a verb on a task, such as `complete`."""
        args = {"taskId": task_id, "action": action, "payload": payload or {}}
        return await self._ask("update_task", args, id or "update_task", metadata)

    async def agent(
        self,
        prompt: str,
        *,
        agent: str | None = None,
        id: str = "",
        conversation: str | None = None,
        opening: str | None = None,
        session: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_turns: int | None = None,
        check: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """One turn of an agent; its text and how it ended.

        With `conversation` the agent continues that one; `opening` is told before the prompt
        where it cannot. Without `check`, a failed turn is not an error: its `error` says why.
        """
        await self._need_text("a prompt", prompt, opening or "")
        args: dict[str, Any] = {"prompt": prompt, "agent": agent}
        more = {
            "conversation": conversation,
            "opening": opening,
            "session": session,
            "maxTurns": max_turns,
            "check": None if check else False,
        }
        args |= {name: value for name, value in more.items() if value is not None}
        return await self._ask("agent", args, id or "agent", metadata, timeout)

    async def own(self, kind: str, args: Mapping[str, Any], *, id: str) -> Any:
        """An effect that only Hookline's own flows may use."""
        return await self._ask(kind, args, id, None)

    async def hook(
        self,
        point: str,
        payload: Mapping[str, Any],
        *,
        skip: Sequence[str] = (),
        id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Fire a hook point; its hooks' combined answer. `skip` names hooks that are not called."""
        args: dict[str, Any] = {"point": point, "payload": payload}
        if skip:
            args["skip"] = list(skip)
        return await self._ask("hook", args, id or point, metadata)

    async def breakpoint(
        self,
        question: str,
        *,
        id: str = "",
        max_age: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Wait for a person's answer: `{"answer": bool, "note": text}`."""
        await self._need_number("max_age", max_age)
        args = {"question": question, "maxAge": max_age}
        return await self._ask("breakpoint", args, id or "breakpoint", metadata)

    async def sleep(
        self, seconds: float, *, id: str = "", metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Wait for some seconds; a parked run costs nothing meanwhile."""
        await self._need_number("seconds", seconds)
        await self._ask("sleep", {"seconds": seconds}, id or "sleep", metadata)

    async def sleep_until(self, moment: str, *, id: str = "") -> None:
        """Wait until a time."""
        await self._ask("sleep", {"until": parse_moment(moment)}, id or "sleep", None)

    async def signal(
        self,
        name: str,
        *,
        id: str = "",
        max_age: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Wait for a signal of that name; what was sent with it, or None if none came in time."""
        await self._need_number("max_age", max_age)
        args = {"name": name} if max_age is None else {"name": name, "maxAge": max_age}
        return await self._ask("signal", args, id or f"signal:{name}", metadata)

    async def parallel(
        self,
        *branches: Awaitable[Any] | Callable[[], Awaitable[Any]],
        id: str = "",
        named: bool = True,
    ) -> list[Any]:
        """Run branches side by side and wait for all of them; their results in order.

        If some fail, the others still run to their end; then the first error is raised. Branches
        are named by their numbers unless no two of them have steps of the same name.
        """
        made = [branch() if callable(branch) else branch for branch in branches]
        coroutines = [branch for branch in made if iscoroutine(branch)]
        if len(coroutines) != len(made):
            wrong = next(branch for branch in made if not iscoroutine(branch))
            for each in coroutines:
                each.close()
            await self._refuse(
                f"parallel takes coroutines, not {type(wrong).__name__}",
                "give it calls such as ctx.run(...), or async functions without arguments",
            )
        names = [str(number) if named else "" for number in range(len(coroutines))]
        return await self._stepper.fork(id or "parallel", coroutines, names)

    async def log(self, message: str, **data: Any) -> None:
        """Write a line to the log, once."""
        await self._ask("log", {"message": message, "data": data}, "log", None)

    async def noop(self, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> None:
        """Do nothing, as a step that can be seen."""
        await self._ask("noop", {}, id or "noop", metadata)

    async def now(self) -> str:
        """The time, the same at every replay."""
        return str(await self._ask("now", {}, "now", None))

    async def uuid(self) -> str:
        """A new unique id, the same at every replay."""
        return str(await self._ask("uuid", {}, "uuid", None))

    async def random(self) -> float:
        """A random number from 0 to 1, the same at every replay."""
        return float(await self._ask("random", {}, "random", None))

    async def version(self, name: str) -> bool:
        """True in runs that got here with this version of the code; False in older ones."""
        return await self._stepper.version(name)

    def next(self, state: Any) -> NoReturn:
        """End this chapter: the flow begins again with `ctx.state` as given and a new journal."""
        raise Next(state)

    async def _ask(
        self,
        kind: str,
        args: Mapping[str, Any],
        step: str,
        metadata: Mapping[str, Any] | None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Any:
        await self._need_number("timeout", timeout)
        await self._need_number("retries", retries)
        given = {"timeout": timeout, "retries": retries}
        policy = {name: value for name, value in given.items() if value is not None}
        return await effect(self._stepper, Asked(kind, args, step, metadata or {}, policy))

    async def _need_number(self, name: str, value: Any) -> None:
        sound = isinstance(value, int | float) and math.isfinite(value) and value >= 0
        if value is not None and not sound:
            await self._refuse(f"{name} cannot be {value!r}", "give it as a number")

    async def _need_text(self, name: str, *values: Any) -> None:
        for value in values:
            if not isinstance(value, str):
                await self._refuse(f"{name} is text, not {type(value).__name__}")

    async def _refuse(self, message: str, help: str = "") -> None:
        await self._stepper.refuse(FlowMistake(message, help=help or None))


def _target(function: Callable[..., Any]) -> str | None:
    """How a child process finds a function: by its module, or by the flow's own file."""
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name:
        return None
    path = getattr(function, "__globals__", {}).get("__hookline_path__")
    return f"{path or function.__module__}:{name}"
