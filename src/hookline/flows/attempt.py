"""One attempt at an effect: what is around it, its keys, and what is stored about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec

from hookline.digest import sha256
from hookline.domain.runs.model import JournalEffect, Resolution, Run, UnknownFlow, effect_key
from hookline.flows import journal
from hookline.hooks.calls.settle import note_start

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.runs.model import Caller
    from hookline.flows.outcomes import Observe
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.registry import Hook
    from hookline.hooks.scopes import HookScopes
    from hookline.ports.agents import Agents, ToolServer, TurnRequest
    from hookline.ports.processes import Processes, ProcessGroup
    from hookline.ports.repository import Repository
    from hookline.ports.store import Blobs, Store, Transaction
    from hookline.ports.work import Forge, MergeTrust, Work

    CallFlow = Callable[[Transaction, str, dict[str, Any], dict[str, Any], Caller], str]

T = TypeVar("T")


async def _nothing_to_verify() -> None:
    """Everything is trusted."""


def _no_flow(
    tx: Transaction, name: str, given: dict[str, Any], metadata: dict[str, Any], caller: Caller
) -> str:
    raise UnknownFlow(f"there is no flow '{name}'")


def _nobody_watches(what: str, details: dict[str, Any]) -> None:
    """Tell no one."""


class Surroundings(NamedTuple):
    """What effects need around them.

    `tools` is the server of Hookline's own tools for an agent of a session; `feed` tells those who
    watch a run what happens in it. `verify_line` raises Untrusted for a shell line that
    would run something else in a folder than what was trusted. `is_current` is whether the
    configuration is still the one that this process began with; `merge_trust` compares what a merge
    brings with what was trusted, None where nothing has to be; `configuration_errors` are those of
    the project in a checkout. `call_flow` begins a run that an effect calls. `frozen` are the files
    that must stay as they were trusted. `clone` is this one, if others share
    the store.
    """

    root: str
    folder: str
    store: Store
    store_id: str
    blobs: Blobs
    environ: Mapping[str, str]
    processes: Processes
    scopes: HookScopes
    recorder: Recorder
    agents: Agents
    work: Work
    change: Callable[..., Any]
    verify: Callable[[], Awaitable[None]] = _nothing_to_verify
    repository: Repository | None = None
    forge: Callable[[], Forge] | None = None
    tools: Callable[[Mapping[str, str]], ToolServer | None] = lambda env: None
    feed: Callable[[str], Observe] = lambda run_id: _nobody_watches
    verify_line: Callable[[str, str], None] = lambda line, folder: None
    is_current: Callable[[], bool] = lambda: True
    merge_trust: Callable[[], MergeTrust | None] = lambda: None
    configuration_errors: Callable[[str], list[str]] = lambda folder: []
    clean: Callable[[Any], Any] = lambda value: value
    call_flow: CallFlow = _no_flow
    frozen: Callable[[], list[str]] = list
    clone: Clone | None = None


@dataclass
class Attempt:
    """An effect that is carried out for a run while this process has its lease."""

    around: Surroundings
    run: Run
    effect: JournalEffect
    guard: Callable[[Transaction], None] = lambda tx: None
    _conversation: str | None = field(default=None, init=False)
    _begun: bool = field(default=False, init=False)

    @property
    def args(self) -> dict[str, Any]:
        """The effect's arguments."""
        return self.effect.args

    def change(self, write: Callable[[Transaction], T]) -> T:
        """Store something; Fenced if the run is no longer ours."""

        def guarded(tx: Transaction) -> T:
            self.guard(tx)
            return write(tx)

        done: T = self.around.change(guarded)
        return done

    def begin(self, tx: Transaction) -> None:
        """Record that the attempt begins."""
        tx.runs.attempts.begin(self.run, self.effect.effect_id)
        note_start(tx, self.around.scopes.registry, self.run, self.effect)

    def born(self, group: ProcessGroup) -> None:
        """Record the started process, which waits to be released, and what is known about it."""
        child = msgspec.json.encode(group).decode()

        def store(tx: Transaction) -> None:
            if not self._begun:
                self.begin(tx)
            tx.runs.attempts.set_child(self.run, self.effect.effect_id, child)
            self._set_conversation(tx)

        self.change(store)
        self._begun = True

    def talks(self, conversation: str) -> None:
        """Record the name of the agent's conversation."""
        self._conversation = conversation
        if self._begun:
            self.change(self._set_conversation)

    def _set_conversation(self, tx: Transaction) -> None:
        if self._conversation is not None:
            tx.runs.attempts.set_conversation(self.run, self.effect.effect_id, self._conversation)

    @property
    def key(self) -> str:
        """The idempotency key of the effect."""
        return effect_key(self.around.store_id, self.run, self.effect.effect_id)

    def hook_key(self, hook: Hook) -> str:
        """The idempotency key of a hook's call."""
        return self.key_for(hook.name)

    def key_for(self, name: str) -> str:
        """The idempotency key of a part of the effect.

        Names may contain characters that no id may; this key is safe in every shell line.
        """
        part = sha256(f"{self.effect.effect_id}:{name}".encode()).hexdigest()[:16]
        return effect_key(self.around.store_id, self.run, part)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the effect's programs."""
        return {
            **self.around.environ,
            "HOOKLINE_DIR": self.around.folder,
            "HOOKLINE_PROJECT": self.around.root,
            "HOOKLINE_RUN_ID": self.run.run_id,
            "HOOKLINE_DEPTH": str(journal.depth_of(self.run)),
            "HOOKLINE_EFFECT_ID": self.effect.effect_id,
            "HOOKLINE_IDEMPOTENCY_KEY": self.key,
        }

    def timeout(self, otherwise: float) -> float:
        """How many seconds the effect may take."""
        return float(self.effect.policy.get("timeout", otherwise))

    def observe(self, what: str, details: dict[str, Any]) -> None:
        """Tell watchers of the run what happens in it."""
        self.around.feed(self.run.run_id)(what, details)


class Clone(Protocol):
    """The clone of the project in which effects are carried out, if several share the store."""

    @property
    def name(self) -> str:
        """What the others call it."""

    async def enter(self, attempt: Attempt) -> None:
        """Before an effect: bring here what it needs, or raise why the run cannot continue."""

    def talk(self, attempt: Attempt, request: TurnRequest) -> TurnRequest:
        """A turn for an agent that may have begun its conversation in another clone."""

    async def leave(self, attempt: Attempt, result: Resolution) -> Resolution:
        """After an effect: its result, with what other clones need to continue."""
