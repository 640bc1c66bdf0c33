"""The doctor's look at the forge: it is asked whether it allows what the settings want."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.app import judge
from hookline.config import load_settings
from hookline.surfaces.cli.doctor_checks import failed, ok, warning
from hookline.wiring.forges import forge_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.project import Project
    from hookline.surfaces.cli.doctor_checks import Check


def forge_checks(project: Project, home: str, environ: Mapping[str, str]) -> Iterator[Check]:
    """What stands in the way at the forge and its remote, where there are agents to work."""
    settings = load_settings(project, home)
    forge, agents = settings.sections.gates.forge, settings.sections.agents
    if settings.has_errors or (forge == "local" and not agents):
        return
    trusted = judge(project, home, settings, environ).verdict.trusted
    found = asyncio.run(
        forge_problems(project, settings.sections, environ, ask=True, trusted=trusted)
    )
    for each in found:
        yield (failed if each.blocks else warning)("forge", each.message, each.help)
    if not found:
        yield ok("forge", f"{forge} allows what the settings want")
