"""Which gates apply to a task, where each is configured, and who its gatekeepers are.

The list itself is what `HookScopes.hooks_at` gives to those who run it; this only explains it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.hooks.names import short_name
from hookline.hooks.builtin import GATES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from hookline.hooks.registry import Hook
    from hookline.hooks.scopes import HookScopes

GATEKEEPER = "gatekeeper"
DEFAULT = "default"


class ResolvedGatekeeper(msgspec.Struct, frozen=True, kw_only=True):
    """A name under `gatekeeper:`, and the agent profiles that review under it; none is a gap.

    `authors` are those that are left out, because the work is their own.
    """

    name: str
    profiles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()


class GatekeeperEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A gatekeeper as it is configured: its profile, or those for each type of task."""

    name: str
    profile: str | None = None
    by_type: dict[str, list[str]] = {}
    prompt_file: str | None = None


class GateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, and where it came from: `source` in words, `origin` as file:line."""

    hook: str
    kind: str
    target: str
    source: str
    origin: str
    enabled: bool = True
    when: str | None = None
    gatekeepers: tuple[ResolvedGatekeeper, ...] = ()


class Resolved(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The gates of one point, in order; `source` says where this list is configured."""

    point: str
    source: str
    auto_accepted: bool
    gates: tuple[GateEntry, ...]


class Authorship(NamedTuple):
    """The work to review: its agent, the type of its task, and all agents that worked on it."""

    agent: str | None = None
    task_type: str | None = None
    authors: frozenset[str] = frozenset()


def resolve(
    scopes: HookScopes,
    worker: Authorship,
    profiles: Collection[str] = (),
    switches: Mapping[str, bool] | None = None,
) -> list[Resolved]:
    """The gates of every point for one worker.

    `profiles` are the agents that are configured, `switches` those of `hook enable|disable`.
    """
    found = []
    for point in GATES:
        source = _source(scopes, point, worker)
        entries = tuple(
            GateEntry(
                hook=hook.name,
                kind=hook.kind,
                target=hook.target,
                # Hooks of the user and of plugins are in one list with those of the project.
                source=hook.layer if source == "project" else source,
                origin=hook.origin,
                enabled=(switches or {}).get(hook.name, hook.enabled),
                when=hook.when,
                gatekeepers=gatekeepers(hook, worker, profiles),
            )
            for hook in scopes.hooks_at(point, agent=worker.agent, task_type=worker.task_type)
        )
        passes = not any(entry.enabled for entry in entries)
        found.append(Resolved(point=point, source=source, auto_accepted=passes, gates=entries))
    return found


def _source(scopes: HookScopes, point: str, worker: Authorship) -> str:
    if point in scopes.of_agents.get(worker.agent or "", {}):
        return f"agent {worker.agent} overrides"
    if point in scopes.of_types.get(worker.task_type or "", {}):
        return f"task type {worker.task_type}"
    if scopes.registry.subscribers(point) or point in scopes.configured:
        return "project"
    return DEFAULT


# Gatekeepers


def own_work(names: Iterable[str], hook: Hook, task_id: str) -> str:
    """The message that no agent is left to review the work, and what a person can do."""
    who = " and ".join(sorted(set(names)))
    gate = shlex.quote(short_name(hook.name))
    let_pass = f"hookline gate override {task_id} {gate} --reason TEXT"
    return (
        f"no agent is left to review {task_id}: {who} worked on it and cannot review their own"
        " work. Name another agent at this gate, or review the work and bypass the gate:"
        f" `{let_pass}`"
    )


def gatekeepers(
    hook: Hook, worker: Authorship, known: Collection[str] | None = None
) -> tuple[ResolvedGatekeeper, ...]:
    """Who reviews at a gate; of profiles that are not `known`, none, if those are given."""
    if hook.kind != "built-in" or hook.target != GATEKEEPER:
        return ()
    return tuple(_gatekeeper(entry, worker, known) for entry in gatekeeper_entries(hook))


def gatekeeper_entries(hook: Hook) -> list[GatekeeperEntry]:
    """The gatekeepers of a gate, as the configuration resolved their names."""
    given = hook.metadata.get("arguments")
    names = given.get("names", ()) if isinstance(given, dict) else given
    bare = [{"name": name, "profile": name} for name in names or ()]
    return typed.convert(hook.metadata.get("gatekeepers", bare), list[GatekeeperEntry])


def _gatekeeper(
    entry: GatekeeperEntry, worker: Authorship, known: Collection[str] | None
) -> ResolvedGatekeeper:
    of_type = entry.by_type.get(worker.task_type or "", [])
    wanted = of_type if entry.profile is None else [entry.profile]
    there = [name for name in wanted if known is None or name in known]
    own = worker.authors | {worker.agent}
    return ResolvedGatekeeper(
        name=entry.name,
        profiles=tuple(name for name in there if name not in own),
        authors=tuple(name for name in there if name in own),
    )
