"""The agents that the configuration names: each profile's driver, found in one table."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from hookline.adapters.agents.steps import STOPPED
from hookline.adapters.git.work import GitWork, branch_at
from hookline.adapters.gitlock import drop_dead_lock
from hookline.adapters.identity import all_processes, kill_marked
from hookline.domain.repository import RepositoryError
from hookline.domain.turns import AgentEvent, AgentTurn, TurnCost, Usage
from hookline.errors import BadInput, HooklineError, StoreError
from hookline.ports.agents import ToolServer
from hookline.ports.processes import TURN_MARK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.cleaning import Cleaner
    from hookline.domain.turns import Purpose
    from hookline.ports.agents import TurnRequest
    from hookline.ports.processes import Processes

Said = TypeVar("Said", bound=msgspec.Struct)


class Talk(NamedTuple):
    """One turn as a driver is given it: what is asked, of whom, and where.

    `folder` is the folder that the agent works in, `root` the project's.
    """

    name: str
    request: TurnRequest
    root: str
    folder: str
    processes: Processes

    def afresh(self) -> Talk:
        """The same turn in a new conversation."""
        return self._replace(request=self.request.afresh())


# Each module has `async def turn(profile, talk) -> AgentTurn`, and `takes_schema(schema)` if its
# agent can be held to the schema of an answer; it is loaded when it is needed.
DRIVERS = {
    "command": "hookline.adapters.agents.command",
    "scripted": "hookline.adapters.agents.scripted",
    "claude-code": "hookline.adapters.agents.claude_code",
    "codex": "hookline.adapters.agents.codex",
    "acp": "hookline.adapters.agents.acp",
}
# These cannot keep every agent from changing files; what it changed is found afterwards.
UNHELD = frozenset({"command", "scripted", "acp"})
SHOWN_FILES = 5
SHORT_TURN = 30.0
# How turns end that were stopped before their agent was done.
CUT = ("timeout", STOPPED)


class LocalAgents:
    """Turns of agents on this machine; what they say is cleaned before anybody hears it."""

    def __init__(
        self,
        profiles: Mapping[str, Any],
        default: str | None,
        root: str,
        processes: Processes,
        cleaner: Cleaner | None = None,
        record: Callable[[Purpose, TurnCost], None] = lambda purpose, cost: None,
        refuse: Callable[[Purpose], str | None] = lambda purpose: None,
    ) -> None:
        self._profiles = profiles
        self._default = default
        self._root = root
        self._processes = processes
        self._cleaner = cleaner
        self._record = record
        self._refuse = refuse

    async def turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        """One turn of an agent; what goes wrong with it is part of the turn."""
        if self._cleaner is None:
            return await self._turn(name, request)
        said = CleanEvents(self._cleaner, request.on_event)
        try:
            turn = await self._turn(name, msgspec.structs.replace(request, on_event=said.tell))
        finally:
            said.flush()
        return cleaned(turn, self._cleaner)

    async def _turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        name, profile = self._profile(name)
        if (why := self._refuse(request.purpose)) is not None:
            return AgentTurn(error=why)
        mark = str(uuid.uuid4())
        signed = {"HOOKLINE_AGENT": name, TURN_MARK: mark}
        env = {**request.env, **profile.env, **signed}
        meter = _Meter(self._record, request.purpose, mark, name, getattr(profile, "model", None))
        given = msgspec.structs.replace(
            request, env=env, tools=_signed(request.tools, signed), on_usage=meter.used
        )
        talk = Talk(name, given, self._root, request.cwd or self._root, self._processes)
        if not request.read_only and await drop_dead_lock(talk.folder):
            said = "removed index.lock, which a git left behind that was killed"
            request.on_event(AgentEvent(type="notice", text=said))
        driver = import_module(DRIVERS[profile.driver])
        if request.schema is not None and not _takes_schema(driver, request.schema):
            talk = talk._replace(request=talk.request.in_words())
        before, began = all_processes(), time.monotonic()
        take = partial(driver.turn, profile, talk)
        meter.began()
        try:
            is_watched = request.read_only and profile.driver in UNHELD
            turn: AgentTurn = await (_watched(take, talk) if is_watched else take())
            meter.ended(turn)
            return turn
        except BaseException:
            meter.cut()
            raise
        finally:
            # A number that was taken before a short turn cannot have been given to another since.
            known = before if time.monotonic() - began < SHORT_TURN else frozenset()
            # Agents start commands in sessions of their own, which outlive the agent's group.
            left = kill_marked(f"{TURN_MARK}={mark}".encode(), but=known)
            if left:
                were = "process that the agent left behind was"
                if left > 1:
                    were = "processes that the agent left behind were"
                said = f"{left} {were} killed"
                request.on_event(AgentEvent(type="notice", text=said))

    def _profile(self, name: str | None) -> tuple[str, Any]:
        wanted = name or self._default or next(iter(self._profiles), None)
        if wanted is None or wanted not in self._profiles:
            raise BadInput(
                f"there is no agent '{wanted}'" if wanted else "no agent is configured",
                help="agents are listed under `agents:` in hookline.yaml",
            )
        return wanted, self._profiles[wanted]


def _takes_schema(driver: Any, schema: dict[str, Any]) -> bool:
    takes = getattr(driver, "takes_schema", None)
    return takes is not None and bool(takes(schema))


class _Meter:
    """Counts what one turn uses, and has it recorded before anybody hears of the turn's end.

    It is recorded when it begins, and whenever the agent says that it used more: a kill leaves no
    time to do it later.
    """

    def __init__(
        self,
        record: Callable[[Purpose, TurnCost], None],
        purpose: Purpose,
        turn: str,
        agent: str,
        model: str | None,
    ) -> None:
        self._write = record
        self._purpose = purpose
        self._cost = TurnCost(
            turn=turn,
            role=purpose.role,
            agent=agent,
            model=model,
            call=purpose.call,
            hook=purpose.hook,
        )
        self._began = time.monotonic()
        self._usage = Usage()

    def began(self) -> None:
        """The turn begins."""
        with suppress(StoreError):  # the end of the turn is recorded with all of it
            self._note(unfinished=True)

    def used(self, usage: Usage) -> None:
        """The agent has used so much until now."""
        if usage != self._usage:
            self._usage = usage
            with suppress(StoreError):  # as above
                self._note(unfinished=True)

    def ended(self, turn: AgentTurn) -> None:
        """The turn is over; one that was stopped may not have told all that it used."""
        self._usage = turn.usage
        was_cut = turn.interrupted or turn.stop_reason in CUT
        self._note(unfinished=was_cut and turn.usage.usd is None)

    def cut(self) -> None:
        """The turn was cut short."""
        with suppress(HooklineError):  # what cut it short is what its caller hears of
            self._note(unfinished=True)

    def _note(self, *, unfinished: bool) -> None:
        seconds = time.monotonic() - self._began
        cost = self._cost.using(self._usage, seconds, unfinished=unfinished)
        self._write(self._purpose, cost)


class CleanEvents:
    """Cleans what an agent says while it says it, which comes in pieces."""

    def __init__(self, cleaner: Cleaner, on_event: Callable[[AgentEvent], None]) -> None:
        self._cleaner = cleaner
        self._on_event = on_event
        self._stream = cleaner.stream()

    def tell(self, event: AgentEvent) -> None:
        """Hand on an event; the end of a text may wait for what follows."""
        if event.type == "text":
            self._say(self._stream.feed((event.text or "").encode("utf-8", "replace")))
        else:
            self.flush()
            self._on_event(cleaned(event, self._cleaner))

    def flush(self) -> None:
        """The text is over."""
        self._say(self._stream.end())

    def _say(self, text: bytes) -> None:
        if text:
            self._on_event(AgentEvent(type="text", text=text.decode("utf-8", "replace")))


def cleaned(said: Said, cleaner: Cleaner) -> Said:
    """What an agent said, clean: its free text, not the names and numbers beside it."""
    texts = {name: getattr(said, name, None) for name in ("text", "error", "detail")}
    found: Said = msgspec.structs.replace(
        said, **{name: cleaner.text(text) for name, text in texts.items() if text}
    )
    return found


def _signed(tools: ToolServer | None, by: Mapping[str, str]) -> ToolServer | None:
    """Our tools know for whom they work, also where an agent hands on only what it is told to."""
    return None if tools is None else ToolServer(tools.argv, {**tools.env, **by})


async def _watched(take: Callable[[], Awaitable[AgentTurn]], talk: Talk) -> AgentTurn:
    """A turn that fails if the folder's files or its commit are not as they were before it.

    What it changed is undone where that is certain to lose nothing of others.
    """
    work = GitWork(talk.processes, talk.request.env, objects="")
    before, head = await work.state(talk.folder), branch_at(talk.folder)
    turn = await take()
    after = await work.state(talk.folder)
    changed = await work.between(talk.folder, before, after)
    if not changed and after.commit == before.commit:
        return turn
    more = f" and {len(changed) - SHOWN_FILES} more" if len(changed) > SHOWN_FILES else ""
    shown = ", ".join(changed[:SHOWN_FILES]) + more
    error = f"files changed while it was only asked: {shown}"
    if not changed:
        error = after.error or "another commit is checked out although it was only asked"
    try:
        ref = await work.restore(talk.folder, before, head)
        error += f"; Hookline undid that, and kept it as {ref}"
    except RepositoryError as problem:
        error += f"; this was not undone ({problem.message}): look at it before you go on"
    return msgspec.structs.replace(turn, error=f"{turn.error}; {error}" if turn.error else error)
