"""A hookline.yaml that was removed after it was trusted: its gates, and how to put it back."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from hookline.config.load import read_settings
from hookline.hooks.scopes import HookScopes
from hookline.project import CONFIG_NAME
from hookline.trust.book import TrustBook
from hookline.wiring.project.configured import registered

if TYPE_CHECKING:
    from hookline.project import Project


def put_back(project: Project, home: str) -> str:
    """The command that restores the file; without a copy of it, the one to trust what is left."""
    copy = _copy(project, home)
    if copy is None:
        return "hookline trust"
    return f"cp {shlex.quote(copy)} {shlex.quote(project.config)}"


def trusted_scopes(project: Project, home: str) -> HookScopes | None:
    """The hooks at each point as they were trusted; None if no copy of the file was kept."""
    copy = _copy(project, home)
    if copy is None:
        return None
    found = read_settings(project, home, copy).settings
    registry, _ = registered(found, None)
    return HookScopes(registry, found.points, found.type_hooks, found.agent_hooks)


def _copy(project: Project, home: str) -> str | None:
    book = TrustBook(home)
    grant = book.granted(project)
    return book.copy_of(grant.files.get(CONFIG_NAME, "")) if grant is not None else None
