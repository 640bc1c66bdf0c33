"""The machine that we run on: which process is which, whether it lives, and how it is ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hookline.ports.processes import ProcessGroup


class Host(Protocol):
    """Identity and liveness of processes.

    The holder of a lease is named after its process: by boot, number and start time, so that a
    number which the system gave to another is never taken for it.
    """

    def this_process(self) -> ProcessGroup:
        """The identity of the running process."""

    def process_identity(self, pid: int) -> ProcessGroup | None:
        """The identity of a process that exists, if only as a zombie; None when there is none."""

    def owner_name(self, process: ProcessGroup) -> str:
        """A process as the name of a holder of leases."""

    def owner_is_gone(self, owner: str) -> bool:
        """Whether the process of that name is known to be dead."""

    def owner_is_here(self, owner: str) -> bool:
        """Whether the process of that name is known to run on this machine."""

    def owner_pid(self, owner: str) -> int:
        """The number of a process by its name as a holder."""

    def is_alive(self, group: ProcessGroup) -> bool:
        """Whether the very process that was recorded still runs."""

    def is_stopped(self, pid: int) -> bool:
        """Whether a process was stopped, as by SIGSTOP or ^Z."""

    def kill_group(self, group: ProcessGroup) -> bool:
        """Kill what is left of a recorded group; False when nothing is, or it may be another's."""

    def end_group(self, group: ProcessGroup) -> None:
        """Kill what is left of a recorded group, and wait until it is gone."""

    def kill_marked(self, setting: bytes) -> int:
        """Kill every process with this `NAME=value` in its environment; how many those were."""
