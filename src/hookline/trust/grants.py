"""Where the user's grants lie; asked by commands that need nothing else of trust."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.digest import sha256

if TYPE_CHECKING:
    from hookline.project import Project

FOLDER = "trust"


def grant_path(home: str, project: Project) -> str:
    """The record of what the user trusts in a project's folder."""
    root = os.fsencode(os.path.realpath(project.root))
    return os.path.join(home, FOLDER, f"{sha256(root).hexdigest()}.json")


def has_grant(home: str, project: Project) -> bool:
    """Whether the user has trusted anything in the project's folder."""
    return os.path.lexists(grant_path(home, project))
