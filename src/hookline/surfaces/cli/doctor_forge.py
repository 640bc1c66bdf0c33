"""The doctor's look at the forge: it is asked whether it allows what the settings want."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.config import load_settings
from hookline.surfaces.cli.doctor_checks import failed, ok, warning
from hookline.wiring.forges import forge_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.project import Project
    from hookline.surfaces.cli.doctor_checks import Check


def forge_checks(project: Project, home: str, environ: Mapping[str, str]) -> Iterator[Check]:
    """What stands in the way at the forge; nothing where pull requests are files."""
    settings = load_settings(project, home)
    if settings.has_errors or settings.sections.gates.forge == "local":
        return
    found = asyncio.run(forge_problems(project, settings.sections, environ, ask=True))
    for each in found:
        yield (failed if each.blocks else warning)("forge", each.message, each.help)
    if not found:
        yield ok("forge", f"{settings.sections.gates.forge} allows what the settings want")
