"""Hosts: the machines that advance the runs of one store, and what each tells about itself."""

from __future__ import annotations

import msgspec

# How long a lease on a run lasts without being renewed: in a store that is a file, where a dead
# holder is seen at once; and on a server, where the network may be away for a moment.
LEASE_HERE = 3.0
LEASE_OF_HOSTS = 60.0
# What has not been heard of for so many leases is forgotten.
FORGOTTEN = 10


class HostFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a process says about itself and its host.

    `clock` is how far the host's clock is ahead of the store's, in seconds. `agents` are those that
    it may give tasks to; `takes_tasks` is whether it looks for tasks at all.
    """

    version: str
    lease: float
    clock: float = 0.0
    digest: str = ""
    labels: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    takes_tasks: bool = False


class HostProcess(msgspec.Struct, frozen=True):
    """A process that advances runs, when it was last heard of, and what it said."""

    owner: str
    host: str
    seen_at: float
    facts: HostFacts

    def lives(self, now: float) -> bool:
        """Whether it was heard of within its lease; both times are the store's."""
        return now <= self.seen_at + self.facts.lease


class KnownHost(msgspec.Struct, frozen=True):
    """A host, whether it is to take nothing new, and what was last said about it."""

    name: str
    is_drained: bool
    seen_at: float
    facts: HostFacts


class HostWishes(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What every host should be like; one that is not takes nothing new."""

    digest: str | None = None
    min_version: str | None = None


def why_drained(facts: HostFacts, wishes: HostWishes, *, is_drained: bool) -> str | None:
    """Why a host takes nothing new; None if it takes work."""
    if is_drained:
        return "it is drained"
    if wishes.min_version is not None and not _is_new_enough(facts.version, wishes.min_version):
        return f"it runs Hookline {facts.version}, and {wishes.min_version} is wanted"
    if wishes.digest is not None and facts.digest != wishes.digest:
        return f"its configuration is {facts.digest or 'none'}, and {wishes.digest} is wanted"
    return None


def _is_new_enough(version: str, wanted: str) -> bool:
    return version_numbers(version) >= version_numbers(wanted)


def version_numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared; what is not a number ends it."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
