"""What the doctor checks through adapters, before a project is opened or if it cannot be."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookline.adapters.agents.health import health_of
from hookline.adapters.git.work import GitWork
from hookline.adapters.network.addresses import is_refused as is_refused
from hookline.adapters.processes.identity import is_alive as is_alive
from hookline.adapters.processes.identity import process_identity as process_identity
from hookline.adapters.processes.process import LocalProcesses
from hookline.adapters.processes.reaper import Reaper
from hookline.adapters.store.inspection import StoreInspection as StoreInspection
from hookline.adapters.store.inspection import inspected as inspected
from hookline.adapters.store.inspection import store_engine as store_engine
from hookline.config.detection import find_repository
from hookline.domain.text.cleaning import Cleaner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.ports.agents import AgentHealth, Profile
    from hookline.ports.processes import Processes
    from hookline.project import Project


async def agent_health(profile: Profile, environ: Mapping[str, str]) -> AgentHealth:
    """Whether the agent of a profile can work; its model is not asked."""
    with tempfile.TemporaryDirectory(prefix="hookline-agents-") as folder:
        return await health_of(profile, environ, LocalProcesses(folder, Cleaner(environ)))


@contextmanager
def watched_processes(environ: Mapping[str, str]) -> Iterator[Processes]:
    """What runs programs of a folder that is not a project yet.

    What they print is cleaned and not kept, and they end even if this process is killed.
    """
    reaper = Reaper()
    with tempfile.TemporaryDirectory(prefix="hookline-output-") as folder:
        try:
            yield LocalProcesses(folder, Cleaner(dict(environ)), reaper=reaper)
        finally:
            reaper.close()


async def repository_problem(project: Project, environ: Mapping[str, str]) -> str | None:
    """Why git does not read the repository of a project; None if it does, or if there is none."""
    processes = LocalProcesses(project.blobs, Cleaner(environ), exact=True)
    work = GitWork(processes, environ, objects="", trusted=False)
    state = await work.state(project.root)
    if state.in_repository or (state.error is None and find_repository(project.root) is None):
        return None
    return state.error or "git does not read the repository"
