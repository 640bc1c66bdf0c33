"""Which gates stand in a task's way, where each came from, and who its gatekeepers are.

The list itself is what `Standing.hooks_at` gives to those who run it; this only explains it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.hooks.builtin import GATES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hookline.hooks.registry import Hook
    from hookline.hooks.standing import Standing

GATEKEEPER = "gatekeeper"
DEFAULT = "default"


class Gatekeeper(msgspec.Struct, frozen=True, kw_only=True):
    """A name under `gatekeeper:`, and the agent profiles that judge under it; none is a gap.

    `author` is the one that is left out, because the work is its own.
    """

    name: str
    profiles: tuple[str, ...] = ()
    author: str | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, and where it came from: `source` in words, `origin` as file:line."""

    hook: str
    kind: str
    target: str
    source: str
    origin: str
    enabled: bool = True
    when: str | None = None
    gatekeepers: tuple[Gatekeeper, ...] = ()


class Resolved(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The gates of one point, in order; `source` says who decided that these stand there."""

    point: str
    source: str
    auto_accepted: bool
    gates: tuple[Entry, ...]


class Worker(NamedTuple):
    """Whose work is judged: the agent, and the type of its task."""

    agent: str | None = None
    task_type: str | None = None


def resolve(
    standing: Standing,
    worker: Worker,
    profiles: Collection[str] = (),
    switches: Mapping[str, bool] | None = None,
) -> list[Resolved]:
    """The gates of every point for one worker.

    `profiles` are the agents that are configured, `switches` those of `hook enable|disable`.
    """
    return [_resolve(standing, point, worker, profiles, switches or {}) for point in GATES]


def _resolve(
    standing: Standing,
    point: str,
    worker: Worker,
    profiles: Collection[str],
    switches: Mapping[str, bool],
) -> Resolved:
    hooks = standing.hooks_at(point, agent=worker.agent, task_type=worker.task_type)
    source = _source(standing, point, worker)
    entries = tuple(
        Entry(
            hook=hook.name,
            kind=hook.kind,
            target=hook.target,
            source=_layer(hook, source),
            origin=hook.origin,
            enabled=switches.get(hook.name, hook.enabled),
            when=hook.when,
            gatekeepers=gatekeepers(hook, worker, profiles),
        )
        for hook in hooks
    )
    passes = not any(entry.enabled for entry in entries)
    return Resolved(point=point, source=source, auto_accepted=passes, gates=entries)


def _source(standing: Standing, point: str, worker: Worker) -> str:
    if point in standing.of_agents.get(worker.agent or "", {}):
        return f"agent {worker.agent} overrides"
    if point in standing.of_types.get(worker.task_type or "", {}):
        return f"task type {worker.task_type}"
    if standing.registry.subscribers(point) or point in standing.configured:
        return "project"
    return DEFAULT


def _layer(hook: Hook, source: str) -> str:
    """Beside hooks of the project, those of the user and of plugins stand in one list."""
    return hook.layer if source == "project" else source


# Gatekeepers


def gatekeepers(
    hook: Hook, worker: Worker, known: Collection[str] | None = None
) -> tuple[Gatekeeper, ...]:
    """Who judges at a gate; of profiles that are not `known`, none, if those are given."""
    if hook.kind != "built-in" or hook.target != GATEKEEPER:
        return ()
    return tuple(_gatekeeper(entry, worker, known) for entry in _named(hook))


def _named(hook: Hook) -> list[dict[str, Any]]:
    """The gatekeepers of a gate, as the configuration resolved their names."""
    given = hook.metadata.get("arguments")
    names = given.get("names", ()) if isinstance(given, dict) else given
    bare = [{"name": name, "profile": name} for name in names or ()]
    return list(hook.metadata.get("gatekeepers", bare))


def _gatekeeper(entry: dict[str, Any], worker: Worker, known: Collection[str] | None) -> Gatekeeper:
    own = entry.get("profile")
    wanted = [own] if own is not None else entry.get("byType", {}).get(worker.task_type, [])
    there = [name for name in wanted if known is None or name in known]
    return Gatekeeper(
        name=str(entry["name"]),
        profiles=tuple(name for name in there if name != worker.agent),
        author=worker.agent if worker.agent in there else None,
    )
