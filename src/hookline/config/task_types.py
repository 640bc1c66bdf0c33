"""What the configuration says about types of tasks: who may take them, how they are merged."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from hookline.tasks.claims import open_to_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.config.settings import Settings
    from hookline.domain.tasks import Task
    from hookline.ports.store import View


def has_pipeline(settings: Settings | None, task_type: str | None) -> bool:
    """Whether a type of tasks is configured: its work is done when it is merged, not before."""
    if settings is None or task_type is None:
        return False
    return settings.is_gone or task_type in settings.sections.task_types


def belongs_in_worktree(settings: Settings | None, folder: str, task: Task) -> bool:
    """Whether a task is worked on in a worktree: it goes through gates, or has one already."""
    return has_pipeline(settings, task.type) or _has_worktree(folder, task)


def is_done_by_merge(
    settings: Settings | None, folder: str, view: View, task: Task, session_task: str | None
) -> bool:
    """Whether work on a task is done when it is merged, and not when someone says so.

    What a session's agent has split off from its own task is checked with that task.
    """
    if not has_pipeline(settings, task.type):
        return False
    if session_task is None or _has_worktree(folder, task):
        return True
    from hookline.pipeline.checked_work import is_part  # only agents get here

    return not is_part(view, task, session_task)


def _has_worktree(folder: str, task: Task) -> bool:
    return os.path.isdir(os.path.join(folder, "worktrees", task.id))


def skips_pr(settings: Settings | None, task_type: str | None) -> bool:
    """Whether work of a type is merged without a pull request."""
    if settings is None or task_type is None:
        return False
    kind = settings.sections.task_types.get(task_type)
    return kind is not None and kind.skip_pr


def claim_rule(settings: Settings | None) -> Callable[[str, str | None], bool]:
    """Whether an agent may work on tasks of a type; a type without agents is open to all."""
    if settings is None:
        return open_to_all

    @cache  # the sections are read each time, and few tasks have a type
    def implementers() -> dict[str, list[str]]:
        return {
            name: each.agents.implementer for name, each in settings.sections.task_types.items()
        }

    def allowed(agent: str, task_type: str | None) -> bool:
        if task_type is None:
            return True
        named = implementers().get(task_type)
        return not named or agent in named

    return allowed
