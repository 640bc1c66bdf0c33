"""The machine that we run on: which process is which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hookline.ports.processes import ProcessGroup


class Host(Protocol):
    """Identity of processes.

    The holder of a lease is named after its process: by boot, number and start time, so that a
    number which the system gave to another is never taken for it.
    """

    def this_process(self) -> ProcessGroup:
        """The identity of the running process."""

    def owner_name(self, process: ProcessGroup) -> str:
        """A process as the name of a holder of leases."""

    def owner_pid(self, owner: str) -> int:
        """The number of a process by its name as a holder."""

    def is_stopped(self, pid: int) -> bool:
        """Whether a process was stopped, as by SIGSTOP or ^Z."""
