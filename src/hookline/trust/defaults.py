"""Which defaults changed since this user trusted a project's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.config.changed_defaults import changed_defaults
from hookline.errors import Untrusted
from hookline.trust.book import TrustBook

if TYPE_CHECKING:
    from hookline.config.changed_defaults import ChangedDefault
    from hookline.config.settings import Settings
    from hookline.project import Project


def changed_since_trusted(project: Project, home: str, settings: Settings) -> list[ChangedDefault]:
    """Those that touch the project; none where nothing was trusted, or it has to be again."""
    try:
        grant = TrustBook(home).granted(project)
    except Untrusted:
        return []
    return [] if grant is None else changed_defaults(settings, grant.version)
