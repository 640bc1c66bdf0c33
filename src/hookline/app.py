"""The composition root: the only place where adapters meet the rest.

What every command needs is here; what starts processes or talks to the network is in
`hookline.outside` and loaded when there is a hook to call.
"""

from __future__ import annotations

import os
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import msgspec

from hookline.adapters.identity import owner_name, this_process
from hookline.domain.events import INSIDE, SYSTEM_NODE, check_type
from hookline.domain.numbers import is_number
from hookline.domain.records import Delivered
from hookline.errors import BadInput, Untrusted
from hookline.hooks.actions import perform
from hookline.hooks.builtin.lifecycle import lifecycle_hooks, native_hooks, promote_stranded
from hookline.hooks.calls.settle import MAKES_READY, Settling, makes_ready, settle
from hookline.hooks.registry import Hook, HookContext, HookRegistry
from hookline.hooks.standing import Standing
from hookline.plugins import any_hooks
from hookline.project import CONFIG_NAME, Project, find_project, user_folder, user_name
from hookline.tasks.types import Types
from hookline.tasks.verbs import Holder
from hookline.wiring.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from hookline.adapters.call_log import CallLog
    from hookline.adapters.reaper import Reaper
    from hookline.adapters.store.sqlite import SqliteStore, View
    from hookline.config import Settings
    from hookline.domain.cleaning import Cleaner
    from hookline.domain.events import Event
    from hookline.domain.records import Delivery
    from hookline.hooks.calls.delivery import Left
    from hookline.ports.store import Transaction
    from hookline.trust import Manifest, Renewed, Verdict

P = ParamSpec("P")
R = TypeVar("R")

TASK_ENDS = frozenset({"task_completed", "task_failed", "task_cancelled", "task_deleted"})
MOST_FAILURES = 1000
UNTRUSTED = "this repository's hooks are not trusted: run `hookline trust`"
GONE = f"{CONFIG_NAME} is gone since you trusted it: its gates stand, and work waits"
PUT_BACK = "put it back; or look at what is left with `hookline trust`, and trust that"
BROKEN = "the configuration has errors: run `hookline check`"


class Trust(NamedTuple):
    """What the user has said about this repository's hooks."""

    verdict: Verdict
    manifest: Manifest


class SessionPlace(msgspec.Struct, frozen=True):
    """A session as the programs that run in it know it."""

    name: str
    run_id: str
    task_id: str


class App:
    """One project, opened: its store, its hooks, and everything that can be done with them."""

    def __init__(
        self,
        project: Project,
        store: SqliteStore,
        *,
        settings: Settings | None = None,
        trust: Trust | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.project = project
        self.store = store
        self.settings = settings
        self.trust = trust
        self.environ = os.environ if environ is None else environ
        self.registry = HookRegistry(events=settings.events if settings is not None else ())
        for built_in in (*lifecycle_hooks(), *native_hooks()):
            self.registry.add(built_in)
        self.suspended: dict[str, str] = {}
        self.at_close: list[Callable[[], object]] = []
        self.owner = owner_name(this_process())
        # Ends what this process starts, should it be killed; only where runs are advanced.
        self.reaper: Reaper | None = None
        # Why what is started inside sessions gets no more turns of agents from this process.
        self.spent: Callable[[], str | None] = lambda: None
        # Who hears of each call that was recorded, and of trouble with calling at all.
        self.listen: Callable[[Delivery], None] = lambda row: None
        self.tell: Callable[[str], None] = lambda message: None
        self._failures: deque[Delivery] = deque(maxlen=MOST_FAILURES)
        store.told = self._told
        if settings is not None:
            self._configure(settings)

    @classmethod
    def open(
        cls,
        start: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        read_only: bool = False,
    ) -> App:
        """Open the project that a folder lies in; to read only, nothing is created or changed."""
        env = os.environ if environ is None else environ
        project = find_project(start or os.getcwd(), env)
        home = user_folder(env)
        store = open_store(project, home, read_only=read_only)
        settings = load_configuration(project, home)
        trust = judge(project, home, settings, env) if settings is not None else None
        return cls(project, store, settings=settings, trust=trust, environ=env)

    def writable(self) -> App:
        """This project open for writing: itself, or opened anew."""
        if not self.store.read_only:
            return self
        return App.open(self.project.root, environ=self.environ)

    def close(self) -> None:
        """Let go of the store, and of what was opened beside it."""
        for close in self.at_close:
            close()
        self.store.close()
        if "_log" in vars(self):
            self._log.close()

    def read(self) -> AbstractContextManager[View]:
        """A view of the store at one moment."""
        return self.store.read()

    def change(
        self, verb: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Carry out a verb: the change, its events and the record of their hooks, all or none."""
        with self.store.write(self.metadata()) as tx:
            self._promote_stranded(tx)
            result = verb(tx, *args, **kwargs)
            settle(tx, self.settling)
        return result

    def _promote_stranded(self, tx: Transaction) -> None:
        """Make up for what check-dependency-satisfaction did not do while it was off."""
        if not tx.missed or not makes_ready(self.registry, tx.calls.switches()):
            return
        base = tx.metadata
        tx.metadata = {**base, "hook": MAKES_READY}
        for action in promote_stranded(tx.graph, tx.graph.stranded()):
            perform(tx, action)
        tx.metadata, tx.missed = base, False

    def emit(self, event_type: str, data: dict[str, Any], *, node: str = SYSTEM_NODE) -> Event:
        """Send an event of one's own."""

        def append(tx: Transaction) -> Event:
            if node != SYSTEM_NODE:
                tx.graph.task(node)
            return tx.append(check_type(event_type), node, data)

        return self.change(append)

    def work_waits(self) -> bool:
        """Whether hooks wait to be called, and it is for this process to call them."""
        if self.under_hook or self._is_within("HOOKLINE_SESSION"):
            return False
        with self.store.read() as view:
            return view.calls.any_open()

    async def deliver(self) -> Delivered:
        """Call the hooks that wait, until none is left.

        How many events that were, and what failed since the last delivery.
        """
        from hookline.wiring.calls import deliverer  # starts processes: few commands need that

        delivered = Delivered(await deliverer(self).drain())
        delivered.failures = tuple(self._failures)
        self._failures.clear()
        return delivered

    async def deliver_own(self) -> Left:
        """Call the hooks of what this process changed, and a few more; what is left."""
        from hookline.wiring.calls import deliverer

        return await deliverer(self).drain_own()

    def held_calls(self) -> Mapping[str, int]:
        """How many calls each other process keeps from being made by anybody else."""
        from hookline.wiring.calls import deliverer

        return deliverer(self).held()

    @cached_property
    def _log(self) -> CallLog:
        from hookline.adapters.call_log import CallLog  # reading commands record nothing

        return CallLog(self.project.hook_log)

    def _told(self, rows: Sequence[Delivery]) -> None:
        self._log.write(rows)
        for row in rows:
            if row.failure:
                self._failures.append(row)
            self.listen(row)

    def context(self) -> HookContext:
        """What a python hook may look at."""
        from hookline.wiring.calls import live_context  # opens a connection of its own

        return live_context(self)

    def metadata(self) -> dict[str, Any]:
        """Who causes the events of this process, and through which chain of hooks."""
        return self._origin.copy()

    @cached_property
    def _origin(self) -> dict[str, Any]:
        env = self.environ
        found: dict[str, Any] = {"triggeredBy": env.get("HOOKLINE_AGENT") or user_name(env)}
        for name, variable in (("session", "HOOKLINE_SESSION"), ("run", "HOOKLINE_RUN_ID")):
            if value := env.get(variable):
                found[name] = value
        if self._is_within("HOOKLINE_SESSION"):
            found[INSIDE] = True
        if self._is_within("HOOKLINE_ITERATION"):
            found["iteration"] = _number(env, "ITERATION")
        if self.under_hook:
            found |= {"cause": _number(env, "CAUSE"), "depth": _number(env, "DEPTH")}
            if hook := env.get("HOOKLINE_HOOK"):
                found["hook"] = hook
        elif self._is_within("HOOKLINE_RUN_ID") and (depth := _number(env, "DEPTH")):
            found["depth"] = depth
        return found

    @cached_property
    def cleaner(self) -> Cleaner:
        """What cleans outside text: it knows the secrets of the environment and the settings."""
        from hookline.domain.cleaning import Cleaner  # only text from outside needs it

        if self.settings is None:
            return Cleaner(dict(self.environ))
        from hookline.trust import configured_variables  # there are none without settings

        return Cleaner(configured_variables(self.settings, self.environ))

    @property
    def session(self) -> SessionPlace | None:
        """The session of this very project that this process runs in, if any."""
        names = ("HOOKLINE_SESSION", "HOOKLINE_RUN_ID", "HOOKLINE_TASK_ID")
        found = [self.environ.get(name, "") for name in names]
        return SessionPlace(*found) if all(found) and self._is_within(names[0]) else None

    @property
    def under_hook(self) -> bool:
        """Whether this process runs under a hook of this very project."""
        return self._is_within("HOOKLINE_HOOK")

    def refuse_untrusted(self) -> None:
        """Raise Untrusted unless what the repository brings may run."""
        if self.trust is not None and not self.trust.verdict.trusted:
            is_gone = self.settings is not None and self.settings.is_gone
            raise Untrusted(GONE, help=PUT_BACK) if is_gone else Untrusted

    def _is_within(self, variable: str) -> bool:
        """Whether this process was started by what sets the variable, for this very project."""
        return variable in self.environ and os.path.abspath(
            self.environ.get("HOOKLINE_DIR", "")
        ) == os.path.abspath(self.project.folder)

    @property
    def holder(self) -> Holder:
        """Who writes to tasks from this process."""
        token = self.environ.get("HOOKLINE_CLAIM_TOKEN", "")
        return Holder(self.environ.get("HOOKLINE_AGENT"), int(token) if is_number(token) else None)

    def renewed_trust(self) -> Renewed | None:
        """What is trusted by now, where that is not what this process began with."""
        from hookline.trust import Renewed

        home = user_folder(self.environ)
        settings = load_configuration(self.project, home)
        if settings is None or settings.has_errors:
            return None
        now = judge(self.project, home, settings, self.environ)
        return Renewed(now.manifest, settings.hooks) if now.verdict.trusted else None

    @property
    def types(self) -> Types:
        """Who gives tasks their types from this process."""
        from hookline.trust import under_agent  # only few commands give types

        place = self.session
        return Types(self._may_create, under_agent(self.environ), place.task_id if place else None)

    def _may_create(self) -> Mapping[str, Sequence[str]]:
        if self.settings is None:
            return {}
        untrusted = self.trust is not None and not self.trust.verdict.trusted
        # An agent could have written the file that nobody has trusted yet.
        return {name: () if untrusted else may for name, may in self.settings.may_create.items()}

    @property
    def standing(self) -> Standing:
        """Which hooks stand at each point of this project."""
        found = self.settings
        if found is None:
            return Standing(self.registry)
        return Standing(self.registry, found.points, found.type_hooks, found.agent_hooks)

    @property
    def settling(self) -> Settling:
        """What is done about the hooks of an event inside its transaction."""
        return Settling(
            self.standing,
            self.suspended,
            self.owner,
            start_flow=self.start_flow,
            watch=_wake_runs,
        )

    def start_flow(self, tx: Transaction, name: str, context: dict[str, Any]) -> str:
        """A new run of a flow, in the transaction of whoever wants it; its id."""
        from hookline.outside import start_flow  # few hooks start flows

        return start_flow(self, tx, name, context)

    def _tune(self, settings: Settings) -> None:
        for name, tuning in settings.tuning.items():
            built_in = self.registry.find(name)
            if built_in is not None and tuning.enabled is not None:
                built_in.enabled = tuning.enabled
            if built_in is not None and tuning.priority is not None:
                built_in.priority = tuning.priority

    def _configure(self, settings: Settings) -> None:
        untrusted = self.trust is not None and not self.trust.verdict.trusted
        if self.trust is not None:
            settings.is_gone = (CONFIG_NAME, "removed") in self.trust.verdict.changes
        if not untrusted:
            self._tune(settings)
        for hook in settings.hooks:
            if hook.kind == "built-in" and hook.name in self.registry:
                continue
            self.registry.add(hook)
            self._hold_back(hook, settings, untrusted=untrusted)
        for own in (*settings.type_hooks.values(), *settings.agent_hooks.values()):
            for hook in (each for hooks in own.values() for each in hooks):
                self._hold_back(hook, settings, untrusted=untrusted)

    def _hold_back(self, hook: Hook, settings: Settings, *, untrusted: bool) -> None:
        if settings.has_errors:
            self.suspended[hook.name] = BROKEN
        elif untrusted and hook.layer == "project":
            self.suspended[hook.name] = UNTRUSTED


def _wake_runs(tx: Transaction, event: Event) -> None:
    """A task is over: a run that waits for it goes on, in the same transaction."""
    if event.type in TASK_ENDS and tx.waits_for_task(event.node_id):
        from hookline.flows.tasks import resolve_task  # few tasks belong to runs

        resolve_task(tx, event)


def load_configuration(project: Project, home: str) -> Settings | None:
    """The settings, or None where nothing is configured at all."""
    places = (
        project.config,
        os.path.join(project.folder, "hooks"),
        os.path.join(project.folder, "flows"),
        os.path.join(home, "hookline.yaml"),
        os.path.join(home, "hooks"),
        os.path.join(project.root, "data", "automation-hooks.json"),
    )
    if not any(map(os.path.exists, places)) and not any_hooks(home):
        from hookline.trust.grants import has_grant  # few folders have no configuration

        # Where one was trusted, that it is missing is a change like any other.
        if not has_grant(home, project):
            return None
    from hookline.config import load_settings  # most of its cost is saved where nothing is set

    return load_settings(project, home)


def judge(project: Project, home: str, settings: Settings, environ: Mapping[str, str]) -> Trust:
    """What the user has said about the hooks that this repository brings."""
    from hookline.trust import Manifest, TrustBook, Verdict, configured_uses, fingerprint

    try:
        manifest = fingerprint(project, configured_uses(project, settings))
    except Untrusted as problem:  # too much, or too large, to be verified
        return Trust(Verdict(False, problem.message, []), Manifest("", ()))
    read, now = settings.config_digest, manifest.files.get(CONFIG_NAME, "").partition(":")[0]
    if read != now:
        return Trust(Verdict(False, f"{CONFIG_NAME} changed while it was read", []), manifest)
    return Trust(TrustBook(home).verdict(project, manifest, environ), manifest)


def open_context(environ: Mapping[str, str]) -> HookContext:
    """The context of a python hook that runs in a child: the store is read as it is."""
    from hookline.wiring.calls import live_context

    return live_context(App.open(environ=environ, read_only=True))


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(f"HOOKLINE_{name}", "0")
    if not is_number(text):
        raise BadInput(f"HOOKLINE_{name} must be a number, not {text[:40]!r}")
    return int(text)


__all__ = ["App", "Hook", "Trust", "open_context"]
