"""The files that trust freezes and that an agent may want to edit: tests and scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline.project import CONFIG_NAME
from hookline.trust.configured import checking_uses
from hookline.trust.cover import AUTOMATION_HOOKS
from hookline.trust.manifest import relative_name

if TYPE_CHECKING:
    from hookline.config import Settings
    from hookline.project import Project

# Prompts are the user's own words; no goal is about them.
_TEXTS = (".md", ".txt", ".json")


class FrozenFile(msgspec.Struct, frozen=True):
    """A file that must stay as it was trusted, and what uses it."""

    name: str
    use: str


def frozen_files(project: Project, settings: Settings) -> list[FrozenFile]:
    """The project's own files that its checks and hooks name."""
    found = []
    for path, use in checking_uses(project, settings).items():
        name = relative_name(project.root, path)
        is_steering = name in (CONFIG_NAME, AUTOMATION_HOOKS) or name.endswith(_TEXTS)
        if not is_steering and not path.startswith(project.folder + os.sep):
            found.append(FrozenFile(name, use))
    return sorted(found, key=lambda each: each.name)
