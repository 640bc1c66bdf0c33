"""Which tasks have a way to the base branch that leads through gates of their own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.config.settings import Settings
    from hookline.domain.tasks import Task


def has_pipeline(settings: Settings | None, task_type: str | None) -> bool:
    """Whether a type of tasks is configured: its work is done when it is merged, not before."""
    return settings is not None and task_type is not None and task_type in settings.task_types


def belongs_in_worktree(settings: Settings | None, folder: str, task: Task) -> bool:
    """Whether a task is worked on in a worktree: it goes through gates, or has one already."""
    place = os.path.join(folder, "worktrees", task.id)
    return has_pipeline(settings, task.type) or os.path.isdir(place)


def skips_pr(settings: Settings | None, task_type: str | None) -> bool:
    """Whether work of a type is merged without a pull request."""
    if settings is None or task_type is None:
        return False
    kind = settings.task_types.get(task_type)
    return kind is not None and kind.skip_pr
