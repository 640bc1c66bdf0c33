"""The agents that the configuration names: each is spoken to by the driver of its profile."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline.adapters.agents.health import health_of
from hookline.adapters.agents.steps import STOPPED
from hookline.adapters.git.repository.locks import drop_dead_lock
from hookline.adapters.git.work import GitWork, branch_at
from hookline.adapters.processes.identity import all_processes, kill_marked
from hookline.domain.sessions.turns import AgentEvent, AgentTurn, Purpose, TurnCost, Unpaid, Usage
from hookline.domain.text.cleaning import Cleaner
from hookline.domain.text.excerpts import first_few
from hookline.domain.work.repository import RepositoryError
from hookline.errors import BadInput, BrokenPlugin, HooklineError, StoreError
from hookline.plugins import DRIVERS
from hookline.ports.agents import DriverTurn
from hookline.ports.processes import TURN_MARK, Processes

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from hookline.domain.sessions.turns import Prices
    from hookline.ports.agents import Driver, JsonSchema, Profile, ToolServer, TurnRequest

Said = TypeVar("Said", bound=msgspec.Struct)


SHOWN_FILES = 5
SHORT_TURN = 30.0
# How turns end that were stopped before their agent was done.
CUT = ("timeout", STOPPED)


class LocalAgents(msgspec.Struct, frozen=True):
    """Turns of agents on this machine; what they say is cleaned before anyone hears it."""

    profiles: Mapping[str, Any]
    default: str | None
    root: str
    processes: Processes
    cleaner: Cleaner | None = None
    record: Callable[[Purpose, TurnCost], None] = lambda purpose, cost: None
    refuse: Callable[[Purpose], str | Unpaid | None] = lambda purpose: None

    async def turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        if self.cleaner is None:
            return await self._turn(name, request)
        said = CleanEvents(self.cleaner, request.on_event)
        try:
            turn = await self._turn(name, msgspec.structs.replace(request, on_event=said.tell))
        finally:
            said.flush()
        turn = cleaned(turn, self.cleaner)
        if turn.problem is not None:
            turn.problem = cleaned(turn.problem, self.cleaner)
        return turn

    async def _turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        name, profile = self._profile(name)
        if (refused := self.refuse(request.purpose)) is not None:
            if isinstance(refused, Unpaid):
                return AgentTurn(error=refused.message, unpaid=refused)
            return AgentTurn(error=refused)
        mark = str(uuid.uuid4())
        signed = {"HOOKLINE_AGENT": name, TURN_MARK: mark}
        env = {**request.env, **profile.env, **signed}
        why, model = request.purpose, getattr(profile, "model", None)
        cost = TurnCost(
            turn=mark, agent=name, model=model, role=why.role, call=why.call, hook=why.hook
        )
        meter = _Meter(self.record, why, cost, profile.prices)
        given = msgspec.structs.replace(
            request, env=env, tools=_signed(request.tools, signed), on_usage=meter.used
        )
        talk = DriverTurn(name, given, self.root, request.cwd or self.root, self.processes)
        if not request.read_only and await drop_dead_lock(talk.folder):
            said = "removed index.lock, which a killed git left behind"
            request.on_event(AgentEvent(type="notice", text=said))
        try:
            driver: Driver = DRIVERS.load(profile.driver)
        except BrokenPlugin as problem:
            return AgentTurn(error=problem.message)
        if request.schema is not None and not _takes_schema(driver, request.schema):
            talk = msgspec.structs.replace(talk, request=talk.request.in_words())
        before, began = all_processes(), time.monotonic()
        take = partial(driver.turn, profile, talk)
        meter.began()
        try:
            is_watched = request.read_only and not getattr(driver, "KEEPS_FILES", False)
            turn: AgentTurn = await (_watched(take, talk) if is_watched else take())
            return meter.ended(await self._explained(profile, env, turn))
        except BaseException:
            meter.cut()
            raise
        finally:
            # A number that was taken before a short turn cannot have been given to another since.
            known = before if time.monotonic() - began < SHORT_TURN else frozenset()
            # Agents start commands in new process sessions, which outlive the agent's group.
            left = kill_marked(f"{TURN_MARK}={mark}".encode(), but=known)
            if left:
                some, were = ("process", "was") if left == 1 else ("processes", "were")
                said = f"{left} {some} that the agent left behind {were} killed"
                request.on_event(AgentEvent(type="notice", text=said))

    async def _explained(
        self, profile: Profile, env: Mapping[str, str], turn: AgentTurn
    ) -> AgentTurn:
        """A turn that failed before it did anything, and why, if its agent cannot work at all."""
        known = turn.error is None or turn.wait or turn.problem or turn.stop_reason in CUT
        if known or turn.text or turn.tools or turn.usage.tokens:
            return turn
        found = (await health_of(profile, env, self.processes)).problem
        if found is None:
            return turn
        return msgspec.structs.replace(turn, error=f"{found.told} ({turn.error})", problem=found)

    def _profile(self, name: str | None) -> tuple[str, Profile]:
        wanted = name or self.default or next(iter(self.profiles), None)
        if wanted is None or wanted not in self.profiles:
            words = f"there is no agent '{wanted}'" if wanted else "no agent is configured"
            raise BadInput(words, help="agents are listed under `agents:` in hookline.yaml")
        return wanted, self.profiles[wanted]


def _takes_schema(driver: Driver, schema: JsonSchema) -> bool:
    takes = getattr(driver, "takes_schema", None)
    return takes is not None and bool(takes(schema))


class _Meter:
    """Counts what one turn uses, and has it recorded before anyone hears about the turn's end.

    It is recorded when it begins, and whenever the agent says that it used more: a kill leaves no
    time to do it later.
    """

    def __init__(
        self,
        record: Callable[[Purpose, TurnCost], None],
        purpose: Purpose,
        cost: TurnCost,
        prices: Prices | None,
    ) -> None:
        self._write = record
        self._purpose = purpose
        self._cost = cost
        self._prices = prices
        self._began = time.monotonic()
        self._usage = Usage()

    def began(self) -> None:
        """The turn begins."""
        with suppress(StoreError):  # the end of the turn is recorded with all of it
            self._note(unfinished=True)

    def used(self, usage: Usage) -> None:
        """The agent has used so much until now."""
        usage = self._priced(usage)
        if usage != self._usage:
            self._usage = usage
            with suppress(StoreError):  # as above
                self._note(unfinished=True)

    def ended(self, turn: AgentTurn) -> AgentTurn:
        """The turn is over; the same with its price. One that was cut may have used more."""
        is_partial = turn.interrupted or turn.stop_reason in CUT
        unfinished = is_partial and turn.usage.usd is None
        self._usage = self._priced(turn.usage)
        self._note(unfinished=unfinished)
        return msgspec.structs.replace(turn, usage=self._usage)

    def cut(self) -> None:
        """The turn was interrupted."""
        with suppress(HooklineError):  # the caller hears about what interrupted it
            self._note(unfinished=True)

    def _priced(self, usage: Usage) -> Usage:
        """What was used, at the prices that the configuration gives, if it gives any."""
        return usage if self._prices is None else self._prices.priced(usage)

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
    """What an agent said, clean: its free text, not the names and numbers next to it."""
    texts = {name: getattr(said, name, None) for name in ("text", "error", "detail", "message")}
    clean = {name: cleaner.text(text) for name, text in texts.items() if text}
    found: Said = msgspec.structs.replace(said, **clean)
    return found


def _signed(tools: ToolServer | None, by: Mapping[str, str]) -> ToolServer | None:
    """Our tools know their session, even if an agent passes on only what it must."""
    if tools is None:
        return None
    return msgspec.structs.replace(tools, env={**tools.env, **by})


async def _watched(take: Callable[[], Awaitable[AgentTurn]], talk: DriverTurn) -> AgentTurn:
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
    shown = first_few(changed, SHOWN_FILES)
    error = f"files changed in a turn that may only read: {shown}"
    if not changed:
        error = after.error or "another commit was checked out in a turn that may only read"
    try:
        ref = await work.restore(talk.folder, before, head)
        error += f"; Hookline undid that, and kept it as {ref}"
    except RepositoryError as problem:
        error += f"; this was not undone ({problem.message}): check it before you continue"
    return msgspec.structs.replace(turn, error=f"{turn.error}; {error}" if turn.error else error)
