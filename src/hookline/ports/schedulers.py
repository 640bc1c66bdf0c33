"""Who decides when a run is advanced, and on which host. The lease and the journal are the store's.

A scheduler may call `advance` too often, or on two hosts at once: the lease lets one through, and a
run that nothing has happened to is left as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.runs.model import Run
    from hookline.domain.work.repository import SetupProblem
    from hookline.ports.feeds import Wakeup
    from hookline.ports.store import Store, View


class Done(NamedTuple):
    """The run has ended."""

    status: str


class Parked(NamedTuple):
    """The run waits: until when, for what, and why.

    `held`: another process advances it, or this host may not. `problem`: it cannot continue as it
    is. `at_limit`: it reached the limit of iterations.
    """

    until: float | None
    reason: str
    needs_person: bool = False
    held: bool = False
    problem: bool = False
    at_limit: bool = False


Advance = Callable[[str], Awaitable[Done | Parked]]


class Scheduler(Protocol):
    """Calls `advance` for each run of a store that has something to do, on one of its hosts."""

    async def serve(self, advance: Advance) -> None:
        """Have runs advanced by this process, until it is cancelled or `advance` fails.

        What was being advanced is cancelled as well, and left to other processes.
        """

    async def nudge(self, run_id: str) -> None:
        """Something has happened to a run, or it is new: some host should look at it."""

    async def forget(self, run_id: str) -> None:
        """The run is over: nobody needs to look at it again."""


class SchedulerSite(Immutable, kw_only=True):
    """What a scheduler is opened with.

    `settings` are those of the section `scheduler`. `admits` says which of some runs this host may
    take, and `home_of` on which living host the work of a run is. `is_free` says whether the lease
    of an owner may be taken. `cancel` is the verb. `tell` shows a line to whoever watches this
    process.
    """

    store: Store
    project: str
    host: str
    version: str
    environ: Mapping[str, str]
    settings: SchedulerSettings
    wakeup: Wakeup
    is_free: Callable[[str, float], bool]
    admits: Callable[[View, list[str]], list[str]] = lambda view, due: due
    home_of: Callable[[View, Run], str | None] = lambda view, run: None
    cancel: Callable[[str], object] = lambda run_id: None
    tell: Callable[[str], None] = lambda line: None
    at_once: int = 32


class SchedulerSettings(Protocol):
    """The section `scheduler` of hookline.yaml: names of variables, never what they hold.

    `task_queue` is None for one of the project's own. `ca_env`, `cert_env` and `key_env` name
    variables with the paths of files in PEM.
    """

    address: str
    namespace: str
    task_queue: str | None
    tls: bool
    api_key_env: str | None
    ca_env: str | None
    cert_env: str | None
    key_env: str | None
    options: dict[str, Any]


class SchedulerKind(Protocol):
    """A sort of scheduler: a module, or what an entry point of `hookline.schedulers` names."""

    def open_scheduler(self, site: SchedulerSite) -> Scheduler:
        """The scheduler of a project; nothing is connected to yet."""

    async def problems(self, site: SchedulerSite) -> Sequence[SetupProblem]:
        """What is missing for it; `hookline doctor` shows that."""
