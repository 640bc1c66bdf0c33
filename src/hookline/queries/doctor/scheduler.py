"""Whether the scheduler of a project can be used, if it is not the local one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.config import load_settings
from hookline.queries.doctor.checks import Diagnosis, failed, ok, skipped, warning
from hookline.wiring.project.configured import trust_in
from hookline.wiring.running.schedulers import LOCAL, scheduler_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.project import Project


def scheduler_checks(
    project: Project, home: str, environ: Mapping[str, str]
) -> Iterator[Diagnosis]:
    """Its server, and what has to be there."""
    settings = load_settings(project, home)
    chosen = settings.sections.scheduler
    if settings.has_errors or chosen.kind == LOCAL:
        return
    if not trust_in(project, home, settings, environ).verdict.trusted:
        yield skipped("scheduler", f"{chosen.kind} is not asked before you trust hookline.yaml")
        return
    app = App.open(project.root, environ=environ, read_only=True)
    try:
        found = asyncio.run(scheduler_problems(app, chosen))
    finally:
        app.close()
    for each in found:
        yield (failed if each.blocks else warning)("scheduler", each.message, each.help)
    if not found:
        yield ok("scheduler", f"{chosen.kind} at {chosen.address}, '{chosen.namespace}'")
