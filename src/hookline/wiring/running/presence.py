"""This process among the hosts that share a store: what it tells them, and its leases."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import host_name
from hookline.domain.hosts import LEASE_HERE, HostFacts
from hookline.project import user_folder
from hookline.version import __version__
from hookline.wiring.project.stores import is_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.adapters.processes.lease_watch import LeaseTerms
    from hookline.adapters.processes.reaper import Reaper
    from hookline.app import App
    from hookline.flows.runner import Heartbeat
    from hookline.ports.store import Transaction


def lease_of(app: App) -> float:
    """How long a lease on a run lasts."""
    return LEASE_HERE if is_here(app.store) else app.sections.hosts.lease


def own_host(app: App) -> str:
    """The name of this host."""
    return host_name(user_folder(app.environ))


def reaper_of(app: App) -> Reaper:
    """What ends the programs of this process, if it is killed."""
    if app.reaper is None:
        from hookline.adapters.processes.reaper import Reaper  # few commands start programs

        app.reaper = Reaper(_terms(app))
        app.at_close.append(app.reaper.close)
    return app.reaper


def heartbeat(app: App, keep: Callable[[], Callable[[Transaction], None] | None]) -> Heartbeat:
    """Keeps the leases of this process; of a store on a server, other hosts see that it works."""
    from hookline.flows.runner import Heartbeat, Presence  # loads the engine
    from hookline.wiring.project.stores import open_store

    url = app.store.url
    if is_here(app.store):
        return Heartbeat(lambda: open_store(url, waits=True), app.owner, keep)
    name, reaper = own_host(app), reaper_of(app)

    def tell(tx: Transaction) -> None:
        now = app.store.time()
        tx.hosts.tell(app.owner, name, now, facts(app, ahead=time.time() - now))

    def leave(tx: Transaction) -> None:
        tx.hosts.leave(app.owner)

    reaper.keep_leases()
    presence = Presence(reaper.check, tell, reaper.renewed, leave, reaper.keep_no_leases)
    return Heartbeat(
        lambda: open_store(url, waits=True), app.owner, keep, lease=lease_of(app), presence=presence
    )


def facts(app: App, *, ahead: float = 0.0) -> HostFacts:
    """What other hosts should know about this one; `ahead` is how far its clock is."""
    offers = app.offers()
    return HostFacts(
        version=__version__,
        lease=lease_of(app),
        clock=round(ahead, 3),
        digest=configuration_digest(app),
        labels=tuple(sorted({*app.sections.hosts.labels, *app.labels})),
        agents=tuple(offers or ()),
        takes_tasks=offers is not None,
    )


def configuration_digest(app: App) -> str:
    """Of everything that trust covers, the same on every machine; empty where there is nothing."""
    return "" if app.trust is None else app.trust.manifest.hash.partition(":")[2][:12]


def _terms(app: App) -> LeaseTerms | None:
    if is_here(app.store):
        return None
    from hookline.adapters.processes.lease_watch import LeaseTerms  # of stores on a server

    return LeaseTerms(app.store.url, app.owner, os.getpid(), lease_of(app))
