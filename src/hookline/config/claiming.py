"""Who may take which tasks: the agents that the configuration names for a type."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hookline.tasks.claims import open_to_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.config.settings import Settings


def claim_rule(settings: Settings | None) -> Callable[[str, str | None], bool]:
    """Whether an agent may work on tasks of a type; a type that names nobody is open to all."""
    if settings is None:
        return open_to_all

    @cache  # the sections are read anew each time, and few tasks have a type
    def implementers() -> dict[str, list[str]]:
        return {name: each.agents.implementer for name, each in settings.task_types.items()}

    def allowed(agent: str, task_type: str | None) -> bool:
        if task_type is None:
            return True
        named = implementers().get(task_type)
        return not named or agent in named

    return allowed
