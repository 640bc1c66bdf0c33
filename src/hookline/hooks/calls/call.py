"""One call of one hook, of any kind, under any rule: condition, trust, run, read, record."""

from __future__ import annotations

import asyncio
import os
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline import typed
from hookline.digest import sha256
from hookline.domain.hooks.records import FAILED, OK, SKIPPED, TIMEOUT, Outcome, Reply
from hookline.errors import Fenced, HookFailure, HooklineError, HookTimeout, StoreError
from hookline.files import own_folder, publish
from hookline.hooks.dispatch import call_in_process, error_line
from hookline.hooks.frames import Frame, environment, timeout_of, variables
from hookline.hooks.kinds import Call, World, declares, load_kind
from hookline.immutable import Immutable
from hookline.points import GATE, POINTS, REACT
from hookline.project import path_here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.events import Event
    from hookline.domain.text.cleaning import Cleaner
    from hookline.hooks.language.conditions import Evaluated
    from hookline.hooks.registry import Hook, HookContext
    from hookline.ports.agents import Agents
    from hookline.ports.network import Http, Mail
    from hookline.ports.processes import Processes, ProcessGroup
    from hookline.ports.repository import Repository
    from hookline.ports.work import Forge

    OnStart = Callable[[ProcessGroup], None]

Said = TypeVar("Said", Reply, Outcome)
MAX_ERROR = 4096
# As `git rev-parse --local-env-vars` lists them, but for the user's own configuration.
GIT_PLACES = frozenset(
    (
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX"),
        *("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
        *("GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
        *("GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_NAMESPACE"),
    )
)
# What a process under a hook inherits of Hookline's own variables; the rest is set again.
INHERITED = frozenset(
    {
        *("HOOKLINE_HOME", "HOOKLINE_DEBUG", "HOOKLINE_AGENT", "HOOKLINE_NO_PROC"),
        *("HOOKLINE_STORE", "HOOKLINE_STORE_LISTEN", "HOOKLINE_HOST"),
    }
)
# The fields of payloads that hold a recorded path.
WORKTREE = "worktree"
PATHS = (WORKTREE, "task_path")
NO_TASK: tuple[str | None, frozenset[str]] = (None, frozenset())


class CallSurroundings(Immutable):
    """What hooks of one project need around them."""

    root: str
    folder: str
    environ: Mapping[str, str]
    processes: Processes
    http: Http
    verify: Callable[[Hook], Awaitable[None]]
    cleaner: Cleaner
    agents: Agents
    repository: Repository | None
    forge: Forge | None
    changed_files: Callable[[Mapping[str, Any]], Awaitable[list[str]]]
    context: Callable[[], HookContext]
    verify_in: Callable[[Hook, str], None] = lambda hook, folder: None
    # The page of the task that a gate is asked about, whose file is written again, and its authors.
    tell_task: Callable[[Mapping[str, Any]], tuple[str | None, frozenset[str]]] = lambda payload: (
        NO_TASK
    )
    mail: Mail | None = None
    ring: Callable[[], None] = lambda: None


class ChangedFiles:
    """The files that a payload's work changed; git is asked only once."""

    def __init__(self, ask: Callable[[], Awaitable[list[str]]]) -> None:
        self._ask = ask
        self._problem: Exception | None = None
        self.found: list[str] | None = None

    async def files(self) -> list[str]:
        """The files, or the error that git met the first time."""
        if self._problem is not None:
            raise self._problem
        if self.found is None:
            try:
                self.found = await self._ask()
            except Exception as problem:
                self._problem = problem
                raise
        return self.found


class HookCaller:
    """Calls hooks and turns whatever happens into an outcome."""

    def __init__(self, surroundings: CallSurroundings) -> None:
        self._around = surroundings
        self._environ = base_environment(surroundings.environ)

    async def call(
        self, hook: Hook, frame: Frame, begin: Callable[[], OnStart | None] = lambda: None
    ) -> Outcome:
        """Call a hook once, if its condition holds; `begin` is called before it runs.

        It is told where on this machine the work is. Every error in a hook's own call becomes its
        outcome; the rule says what that means.
        """
        outcome = await self._call(hook, self._frame_here(frame), begin)
        # The doors saw text; JSON can spell a secret so that it is there only once it is read.
        answer, error = self._around.cleaner.value((outcome.answer, outcome.error))
        return msgspec.structs.replace(outcome, answer=answer, error=error)

    async def _call(self, hook: Hook, frame: Frame, begin: Callable[[], OnStart | None]) -> Outcome:
        start, values = perf_counter_ns(), frame.judged
        try:
            if hook.when is not None and values is None:
                verdict = await self._condition(hook, hook.when, frame)
                values = verdict.values
                if not verdict.met:
                    return _over(hook, SKIPPED, start, values=values)
        except Exception as problem:  # noqa: BLE001  # one hook never breaks another
            return _failed(hook, problem, start, None)
        on_start = begin()
        try:
            if hook.handler is not None and hook.kind == "python":
                return await self._in_process(hook, frame, values)
            await self._around.verify(hook)
            self._around.verify_in(hook, _place(hook, frame, self._around.root))
            reply = await self._run(hook, frame, on_start)
            answer = frame.rule.read(reply, hook)
        except (Fenced, StoreError):
            raise
        except Exception as problem:  # noqa: BLE001  # one hook never breaks another
            return self._clean(hook, _failed(hook, problem, start, values))
        said = {"exit_code": reply.exit_code, "stdout": reply.text, "stderr": reply.stderr}
        return _over(hook, OK, start, answer=answer, values=values, blob=reply.blob, **said)

    async def _in_process(self, hook: Hook, frame: Frame, values: dict[str, Any] | None) -> Outcome:
        reacts = frame.rule.name == REACT and frame.event is not None
        first = frame.event if reacts else frame.payload
        limit = timeout_of(hook, frame.point)
        outcome = await call_in_process(hook, frame.rule, first, self._around.context(), limit)
        return msgspec.structs.replace(outcome, values=values)

    def changes(self, payload: Mapping[str, Any]) -> ChangedFiles:
        """What `changed()` looks at in one firing, whichever of its hooks asks first."""
        return ChangedFiles(lambda: self._around.changed_files(self._here(payload)))

    def _here(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """A payload with the paths of this machine in place of those that are recorded."""
        root, found = self._around.root, dict(payload)
        place = found.get(WORKTREE)
        if isinstance(place, str) and not os.path.isabs(place):
            named = (name for name in PATHS if isinstance(found.get(name), str) and found[name])
            found |= {name: path_here(root, found[name]) for name in named}
        event = found.get("event")
        if isinstance(event, dict) and isinstance(data := event.get("data"), dict):
            found["event"] = {**event, "data": self._here(data)}
        return found

    def _frame_here(self, frame: Frame) -> Frame:
        """What hooks of a declared point see; at others these names can mean anything."""
        if frame.point not in POINTS:
            return frame
        event: Event | None = frame.event
        if event is not None:
            event = msgspec.structs.replace(event, data=self._here(event.data))
        return msgspec.structs.replace(frame, payload=self._here(frame.payload), event=event)

    async def _condition(self, hook: Hook, when: str, frame: Frame) -> Evaluated:
        # Only hooks with a condition pay for the language of conditions.
        from hookline.hooks.language.conditions import condition_holds, needs_changes

        payload = frame.payload
        if "changed" not in payload and needs_changes(when):
            changes = frame.changes or self.changes(payload)
            limit = timeout_of(hook, frame.point)
            try:
                async with asyncio.timeout(limit):
                    payload = {**payload, "changed": await changes.files()}
            except TimeoutError as late:
                raise HookTimeout(
                    f"`changed()` timed out after {limit:g} s: git did not say which files changed"
                ) from late
        return condition_holds(when, payload)

    async def _run(self, hook: Hook, frame: Frame, on_start: OnStart | None) -> Reply:
        kind = load_kind(hook.kind)
        around = self._around
        values = variables(frame, hook, around.root)
        call = Call(
            point=frame.point,
            payload=msgspec.json.encode(frame.payload),
            values=values,
            env={
                **environment(values, self._spill),
                "HOOKLINE_DIR": around.folder,
                "HOOKLINE_DEPTH": str(frame.depth),
                **({"HOOKLINE_CAUSE": str(frame.event.seq)} if frame.event else {}),
            },
            timeout=timeout_of(hook, frame.point),
            name=frame.name or frame.key,
            cause=frame.event.seq if frame.event else None,
        )
        page, authors = around.tell_task(frame.payload) if frame.rule.name == GATE else NO_TASK
        world = World(
            root=around.root,
            folder=_place(hook, frame, around.root),
            processes=around.processes,
            http=around.http,
            agents=around.agents,
            repository=around.repository,
            forge=around.forge,
            ask=lambda other: self.call(other, frame, lambda: on_start),
            environ=self._environ,
            on_start=on_start,
            task=page,
            authors=authors,
            clean=around.cleaner.text,
            mail=around.mail,
            ring=around.ring,
        )
        return self._clean(hook, typed.convert(await kind(hook, call, world), Reply))

    def _clean(self, hook: Hook, said: Said) -> Said:
        """What a hook said, without secrets; some kinds clean it themselves."""
        clean: Said = said if declares(hook.kind, "CLEANS") else self._around.cleaner.value(said)
        return clean

    def _spill(self, name: str, data: bytes) -> str:
        digest = str(sha256(data).hexdigest())
        with own_folder(self._around.folder, "values") as folder:
            publish(folder, digest, data)
        return os.path.join(self._around.folder, "values", digest)


def _over(hook: Hook, status: str, start: int, **said: Any) -> Outcome:
    return Outcome(hook.name, status, duration_us=(perf_counter_ns() - start) // 1000, **said)


def _failed(hook: Hook, problem: Exception, start: int, values: Any) -> Outcome:
    if not isinstance(problem, HookFailure):
        return _over(hook, FAILED, start, values=values, error=described(problem))
    status = TIMEOUT if isinstance(problem, HookTimeout) else FAILED
    said = {"exit_code": problem.program_exit, "stdout": problem.stdout, "stderr": problem.stderr}
    more = {"error": problem.message, "blob": problem.blob, "values": values}
    return _over(hook, status, start, **said, **more)


def described(problem: BaseException) -> str:
    """What happened, in words that fit into a record."""
    said = error_line(problem)
    is_ours = isinstance(problem, HooklineError)
    return fitting(said.removeprefix(f"{type(problem).__name__}: ") if is_ours else said)


def fitting(error: str) -> str:
    """An error that can be stored: text of a moderate length."""
    text = error[:MAX_ERROR].encode("utf-8", "replace").decode()
    return text if len(error) <= MAX_ERROR else f"{text}… ({len(error):,} characters)"


def folder_of(payload: Mapping[str, Any], root: str) -> str:
    """Where the work is done that a payload is about: its worktree, while that is there."""
    worktree = payload.get("worktree")
    if isinstance(worktree, str) and os.path.isdir(worktree) and not os.path.islink(worktree):
        return worktree
    return root


def _place(hook: Hook, frame: Frame, root: str) -> str:
    """The folder that a hook runs in; a hook about a worktree never runs in another checkout."""
    worktree, place = frame.payload.get("worktree"), folder_of(frame.payload, root)
    needs_it = frame.rule.name == GATE or (frame.rule.name != REACT and hook.kind != "built-in")
    if worktree and place != worktree and needs_it:
        raise HookFailure(f"{worktree} is gone, so its hooks cannot run")
    return place


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What programs inherit: everything but the variables of a hook that we run under.

    A hook of git's own, which may have started us, is told its repository by variables, and a git
    in another checkout would work there. No object stands in for another in the git of a gate: it
    has to see what is merged.
    """
    inherited = {
        name: value
        for name, value in environ.items()
        if name not in GIT_PLACES and (not name.startswith("HOOKLINE_") or name in INHERITED)
    }
    return {**inherited, "GIT_NO_REPLACE_OBJECTS": "1"}
