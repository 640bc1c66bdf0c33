"""The composition root: the only place where adapters meet the rest.

What every command needs is here; what starts processes or talks to the network is in
`hookline.wiring` and loaded when there is a hook to call.
"""

from __future__ import annotations

import os
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from hookline.domain.events import SYSTEM_NODE, Event, check_type
from hookline.domain.hooks.records import Delivered, Delivery
from hookline.errors import StoreLost
from hookline.hooks.calls.settle import Settling, prepare, settle
from hookline.hooks.registry import Hook, HookContext
from hookline.hooks.scopes import HookScopes
from hookline.project import Project, find_project, user_folder
from hookline.wiring.calling.watching import EventWatch
from hookline.wiring.project import configured
from hookline.wiring.project.origin import Origin, this_host
from hookline.wiring.project.stores import open_blobs, open_call_log, open_feeds, open_project_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from hookline.adapters.processes.reaper import Reaper
    from hookline.config import Settings
    from hookline.config.types import Sections
    from hookline.domain.text.cleaning import Cleaner
    from hookline.ports.feeds import CallLog, Feeds
    from hookline.ports.store import Blobs, Store, Transaction, View
    from hookline.tasks.types import Types

P = ParamSpec("P")
R = TypeVar("R")

MOST_FAILURES = 1000
MOST_REPEATS = 5


class App:
    """An opened project: its store, its hooks, and everything that can be done with them."""

    def __init__(
        self,
        project: Project,
        store: Store,
        *,
        settings: Settings | None = None,
        trust: configured.Trust | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.project = project
        self.store = store
        self.settings = settings
        self.trust = trust
        self.environ = os.environ if environ is None else environ
        self.origin = Origin(self.environ, project.folder)
        self.watch = EventWatch(self)
        self.registry, self.suspended = configured.registered(settings, trust)
        self.at_close: list[Callable[[], object]] = []
        self.host = this_host()
        self.owner = self.host.owner_name(self.host.this_process())
        # Ends what this process starts, if it is killed; only where runs are advanced.
        self.reaper: Reaper | None = None
        # Why this process refuses agents' turns that are started inside sessions.
        self.spent: Callable[[], str | None] = lambda: None
        # The agents that this process may give tasks to; None unless it takes tasks. And what its
        # host has besides what the configuration says.
        self.offers: Callable[[], Sequence[str] | None] = lambda: None
        self.labels: Sequence[str] = ()
        # Called for each recorded call, and for errors of calling at all.
        self.listen: Callable[[Delivery], None] = lambda row: None
        self.tell: Callable[[str], None] = lambda message: None
        # Rings the bell of the terminal that this process writes to, if it does.
        self.ring: Callable[[], None] = lambda: None
        self._failures: deque[Delivery] = deque(maxlen=MOST_FAILURES)
        store.told = self._told
        store.away = lambda message: self.tell(message)

    @classmethod
    def open(
        cls,
        start: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        read_only: bool = False,
    ) -> App:
        """Open the project of a folder; for reading only, nothing is created or changed."""
        env = os.environ if environ is None else environ
        project = find_project(start or os.getcwd(), env)
        home = user_folder(env)
        settings = configured.load_configuration(project, home)
        trust = configured.trust_in(project, home, settings, env) if settings is not None else None
        shared = configured.shared(project, home, settings, trust, env)
        store = open_project_store(project, home, read_only=read_only, shared=shared)
        return cls(project, store, settings=settings, trust=trust, environ=env)

    def writable(self) -> App:
        """This project, open for writing: itself, or opened again."""
        if not self.store.read_only:
            return self
        return App.open(self.project.root, environ=self.environ)

    def close(self) -> None:
        """Close the store, and what was opened with it."""
        for close in self.at_close:
            close()
        if "feeds" in vars(self):
            self.feeds.close()
        if "blobs" in vars(self):
            self.blobs.close()
        self.store.close()
        if "_log" in vars(self):
            self._log.close()

    def read(self) -> AbstractContextManager[View]:
        """A view of the store at one moment."""
        return self.store.read()

    def change(
        self, verb: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Carry out a verb: the change, its events and their hooks' records, all or nothing.

        It is repeated if the connection to the store is lost in the middle: nothing was changed.
        """
        left = MOST_REPEATS
        while True:
            try:
                with self.store.write(self.origin.metadata()) as tx:
                    prepare(tx, self.registry, args[0] if args else None)
                    result = verb(tx, *args, **kwargs)
                    settle(tx, self.settling)
                return result
            except StoreLost:
                if not left:
                    raise
                left -= 1

    def emit(self, event_type: str, data: dict[str, Any], *, node: str = SYSTEM_NODE) -> Event:
        """Send a custom event."""

        def append(tx: Transaction) -> Event:
            if node != SYSTEM_NODE:
                tx.graph.task(node)
            return tx.append(check_type(event_type), node, data)

        return self.change(append)

    @property
    def delivers(self) -> bool:
        """Whether this process calls hooks; one under a hook or an agent leaves them to others."""
        return not (self.origin.under_hook or self.origin.is_within("HOOKLINE_SESSION"))

    def work_waits(self) -> bool:
        """Whether hooks wait that this process should call."""
        if not self.delivers:
            return False
        with self.store.read() as view:
            return view.dispatches.any_open()

    async def deliver(self) -> Delivered:
        """Call the hooks that wait, until none is left.

        Returns how many events that were, and what failed since the last delivery.
        """
        from hookline.wiring.calling.calls import (
            deliverer,  # starts processes: few commands need that
        )

        delivered = Delivered(await deliverer(self).drain())
        delivered.failures = tuple(self._failures)
        self._failures.clear()
        return delivered

    @cached_property
    def feeds(self) -> Feeds:
        """What happens in sessions, for those who watch."""
        return open_feeds(self.project, self.store)

    @cached_property
    def blobs(self) -> Blobs:
        """Large values, named by their content."""
        return open_blobs(self.project, self.store)

    @cached_property
    def _log(self) -> CallLog:
        return open_call_log(self.project)

    def _told(self, rows: Sequence[Delivery]) -> None:
        self._log.write(rows)
        for row in rows:
            if row.failure:
                self._failures.append(row)
            self.listen(row)

    def context(self) -> HookContext:
        """What a python hook may look at."""
        from hookline.wiring.calling.calls import live_context  # opens a connection of its own

        return live_context(self)

    @cached_property
    def cleaner(self) -> Cleaner:
        """What cleans outside text: it knows the secrets of the environment and the settings."""
        return configured.cleaner(self.settings, self.environ)

    def refuse_untrusted(self) -> None:
        """Raise Untrusted unless the repository's code may run."""
        configured.refuse_untrusted(self.settings, self.trust)

    @property
    def sections(self) -> Sections:
        """What the configuration says besides hooks; the defaults where there is none."""
        from hookline.config.types import Sections  # few commands look at them

        return self.settings.sections if self.settings is not None else Sections()

    @property
    def types(self) -> Types:
        """Who gives tasks their types from this process."""
        return configured.types(self.settings, self.trust, self.origin)

    @property
    def scopes(self) -> HookScopes:
        """The hooks at each point of this project."""
        found = self.settings
        if found is None:
            return HookScopes(self.registry)
        return HookScopes(self.registry, found.points, found.type_hooks, found.agent_hooks)

    @property
    def settling(self) -> Settling:
        """Settles the hooks of an event inside its transaction."""
        watch = self.watch
        return Settling(
            self.scopes, self.suspended, self.owner, start_flow=watch.start_flow, watch=watch
        )


def open_context(environ: Mapping[str, str]) -> HookContext:
    """The context of a python hook that runs in a child: the store is read as it is."""
    from hookline.wiring.calling.calls import live_context  # other commands call no hooks

    return live_context(App.open(environ=environ, read_only=True))


__all__ = ["App", "Hook", "open_context"]
