"""The hosts that share a store: which live, what each does, and why one takes nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.hosts import why_drained
from hookline.domain.timestamps import iso
from hookline.wiring.project.stores import is_here
from hookline.wiring.running.presence import own_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.hosts import HostProcess
    from hookline.ports.store import View

ALIVE, DRAINED, SILENT, IDLE = "alive", "drained", "silent", "idle"


class HostRun(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A run that a host advances."""

    run_id: str
    flow: str
    task_id: str | None = None


class HostState(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A host: `drained` takes nothing new, and `why` says so; `silent` was not heard of in time.

    Nothing runs on an `idle` one. `clock` is how many seconds its clock is ahead of the store's;
    `is_this` says that it is the host that was asked.
    """

    name: str
    status: str
    why: str | None
    last_seen: str
    clock: float
    version: str
    digest: str
    labels: list[str]
    agents: list[str]
    processes: int
    runs: list[HostRun]
    is_this: bool


def hosts(app: App) -> list[HostState]:
    """Every host of the project's store; none, if the store is in a file."""
    if is_here(app.store):
        return []
    now, own = app.store.time(), own_host(app)
    with app.read() as view:
        wishes, everyone = view.hosts.wishes(), list(living(view, now))
        owners = {each.owner: each.host for each in view.hosts.processes()}
        silent = {*owners.values()}
        runs = list(_runs(view, owners))
        found = view.hosts.all()
    states = []
    for host in found:
        processes = [each for each in everyone if each.host == host.name]
        why = why_drained(host.facts, wishes, is_drained=host.is_drained)
        lives, rests = DRAINED if why else ALIVE, SILENT if host.name in silent else IDLE
        states.append(
            HostState(
                name=host.name,
                status=lives if processes else rests,
                why=why,
                last_seen=iso(host.seen_at),
                clock=host.facts.clock,
                version=host.facts.version,
                digest=host.facts.digest,
                labels=sorted({label for each in processes for label in each.facts.labels}),
                agents=sorted({agent for each in processes for agent in each.facts.agents}),
                processes=len(processes),
                runs=[run for name, run in runs if name == host.name],
                is_this=host.name == own,
            )
        )
    return states


def living(view: View, now: float) -> Iterator[HostProcess]:
    """The processes of hosts that were heard of in time."""
    return (each for each in view.hosts.processes() if each.lives(now))


def missing_labels(app: App, view: View, task_type: str | None) -> list[str]:
    """What tasks of a type need, if no running host that takes tasks has it all."""
    kind = app.sections.task_types.get(task_type or "")
    if kind is None or not kind.needs or is_here(app.store):
        return []
    able = (each.facts for each in living(view, app.store.time()) if each.facts.takes_tasks)
    return [] if any({*kind.needs} <= {*facts.labels} for facts in able) else kind.needs


def _runs(view: View, owners: dict[str, str]) -> Iterator[tuple[str, HostRun]]:
    """The runs that are held, each with the host of its holder."""
    for run_id, _, owner in view.runs.leases.holders():
        if owner in owners:
            run = view.runs.find(run_id)
            yield owners[owner], HostRun(run_id, run.flow, run.input.get("taskId"))
