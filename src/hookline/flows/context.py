"""What a flow may do. Every method that reaches outside is an effect of the journal."""

from __future__ import annotations

from inspect import iscoroutine, iscoroutinefunction
from typing import TYPE_CHECKING, Any, NoReturn

from hookline.domain.moments import parse as parse_moment
from hookline.domain.runs import FlowMistake
from hookline.flows.replay import Asked, Next, effect, fork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from hookline.domain.runs import Run
    from hookline.flows.replay import Driver


class Context:
    """The first argument of every flow: its input, its state, and all that it may do."""

    def __init__(self, driver: Driver, run: Run) -> None:
        self._driver = driver
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
        metadata: dict[str, Any] | None = None,
    ) -> Any:
        """Run a shell line; its exit code and output. With `check`, a failure is an error."""
        args = {"command": command, "check": check, "env": env or {}}
        return await self._ask("node", args, id or "run", metadata, timeout, retries)

    async def call(
        self,
        function: Callable[..., Any] | str,
        *args: Any,
        id: str = "",
        timeout: float | None = None,
        retries: int | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call a Python function in a child process; arguments and result are JSON."""
        target = function if isinstance(function, str) else _target(function)
        given = {"function": target, "args": list(args), "kwargs": kwargs}
        step = id or target.rpartition(":")[2]
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
        metadata: dict[str, Any] | None = None,
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

    async def update_task(self, task_id: str, action: str, payload: Any = None) -> Any:
        """Carry out a verb on a task, such as `complete`."""
        args = {"taskId": task_id, "action": action, "payload": payload or {}}
        return await self._ask("update_task", args, "update_task", None)

    async def agent(
        self,
        prompt: str,
        *,
        agent: str | None = None,
        id: str = "",
        timeout: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Any:
        """One turn of an agent; its text and how it ended."""
        args = {"prompt": prompt, "agent": agent}
        return await self._ask("agent", args, id or "agent", metadata, timeout)

    async def hook(self, point: str, payload: dict[str, Any], *, id: str = "") -> Any:
        """Fire a hook point; the one answer of its hooks."""
        return await self._ask("hook", {"point": point, "payload": payload}, id or point, None)

    async def breakpoint(
        self,
        question: str,
        *,
        id: str = "",
        max_age: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Any:
        """Wait for a person's answer: `{"answer": bool, "note": text}`."""
        args = {"question": question, "maxAge": max_age}
        return await self._ask("breakpoint", args, id or "breakpoint", metadata)

    async def sleep(self, seconds: float, *, id: str = "") -> None:
        """Wait so many seconds; a parked run costs nothing meanwhile."""
        await self._ask("sleep", {"seconds": seconds}, id or "sleep", None)

    async def sleep_until(self, moment: str, *, id: str = "") -> None:
        """Wait until a moment."""
        await self._ask("sleep", {"until": parse_moment(moment)}, id or "sleep", None)

    async def signal(self, name: str, *, id: str = "") -> Any:
        """Wait for a signal of that name; what was sent with it."""
        return await self._ask("signal", {"name": name}, id or f"signal:{name}", None)

    async def parallel(
        self, *branches: Awaitable[Any] | Callable[[], Awaitable[Any]], id: str = ""
    ) -> list[Any]:
        """Run branches side by side and wait for all of them; their results in order."""
        coroutines = [_coroutine(branch) for branch in branches]
        names = [str(number) for number in range(len(coroutines))]
        return await fork(self._driver, id or "parallel", coroutines, names)

    async def named_parallel(
        self, step: str, branches: Sequence[Coroutine[Any, Any, Any]]
    ) -> list[Any]:
        """Branches whose steps have names of their own that no other branch has."""
        return await fork(self._driver, step, list(branches), [""] * len(branches))

    async def log(self, message: str, **data: Any) -> None:
        """Write a line to the log, once."""
        await self._ask("log", {"message": message, "data": data}, "log", None)

    async def noop(self, *, id: str = "") -> None:
        """Do nothing, as a step that can be seen."""
        await self._ask("noop", {}, id or "noop", None)

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
        """True in runs that came here with this version of the code; False in older ones."""
        known = self._driver.knows_version(name)
        if known is None:
            await self._ask("version", {"name": name}, name, None)
            self._driver.remember_version(name)
            return True
        return known

    def next(self, state: Any) -> NoReturn:
        """End this chapter: the flow begins again with `ctx.state` as given and a new journal."""
        raise Next(state)

    async def _ask(
        self,
        kind: str,
        args: dict[str, Any],
        step: str,
        metadata: dict[str, Any] | None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Any:
        if "/" in step or "#" in step or not step.isprintable():
            raise FlowMistake(f"a step cannot be called {step!r}: '/' and '#' are taken")
        given = {"timeout": timeout, "retries": retries}
        policy = {name: value for name, value in given.items() if value is not None}
        return await effect(self._driver, Asked(kind, args, step, metadata or {}, policy))


def _target(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name:
        raise FlowMistake(
            f"{function!r} cannot be called in a child process",
            help="use a function that stands at the top of a module",
        )
    path = getattr(function, "__hookline_file__", None)
    return f"{path or function.__module__}:{name}"


def _coroutine(branch: Any) -> Coroutine[Any, Any, Any]:
    made = branch() if iscoroutinefunction(branch) or not iscoroutine(branch) else branch
    if not iscoroutine(made):
        raise FlowMistake(f"parallel takes coroutines, not {type(made).__name__}")
    return made
