"""The machines that share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hookline.domain.hosts import HostFacts, HostProcess, HostWishes, KnownHost


class Hosts(Protocol):
    """Which hosts advance runs and what they are like; perishable, and not in the log."""

    def tell(self, owner: str, host: str, at: float, facts: HostFacts) -> None:
        """A process of a host is at work; those of the host that are long silent are forgotten."""

    def leave(self, owner: str) -> None:
        """A process is over."""

    def give_back(self, owner: str) -> int:
        """End all leases of a process in its place, and fence it; how many runs it advanced."""

    def processes(self) -> list[HostProcess]:
        """The processes that advance runs, and those that ended without a word."""

    def all(self) -> list[KnownHost]:
        """Every host that was ever heard of, by name, unless it was removed."""

    def is_drained(self, name: str) -> bool:
        """Whether a person wants a host to take nothing new."""

    def drain(self, name: str, *, is_drained: bool) -> bool:
        """Let a host take nothing new, or take work again; False if there is none of that name."""

    def remove(self, name: str) -> bool:
        """Forget a host and its processes; False if there is none of that name."""

    def wishes(self) -> HostWishes:
        """What every host should be like."""

    def wish(self, wishes: HostWishes) -> None:
        """Say what every host should be like."""
