"""What `hookline doctor` finds out about a Temporal server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.temporal.client import asked, connected, typed
from hookline.domain.work.repository import SetupProblem

if TYPE_CHECKING:
    from hookline.ports.schedulers import SchedulerSite


async def look(site: SchedulerSite) -> list[SetupProblem]:
    """The server, the namespace, the search attributes, the task queue and the version."""
    client = await connected(site)
    await client.check()
    found = []
    if strangers := await asked(site, client.strangers()):
        message = f"the task queue '{client.queue}' has runs of another project ({strangers[0]})"
        help = "give each project its own `task_queue`, or leave it out"
        found.append(SetupProblem("scheduler", message, help, blocks=True))
    current = await asked(site, client.current_version())
    if current is not None and current != site.version:
        message = f"new runs go to workers of Hookline {current}; this is {site.version}"
        help = (
            "upgrade; or to go back: `"
            + typed(
                site,
                "worker deployment set-current-version"
                f" --deployment-name {client.queue} --build-id {site.version}",
            )
            + "`"
        )
        found.append(SetupProblem("scheduler-version", message, help))
    return found
