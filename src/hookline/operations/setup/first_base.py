"""The base branch of a project that is being set up, by `init` or `trust`."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.config.detection import find_repository
from hookline.errors import HooklineError
from hookline.tasks import work_record

if TYPE_CHECKING:
    from hookline.tasks.work_record import Base


def keep_base() -> None:
    """The branch that is the base now stays it, whatever is checked out later.

    Where there is none, such as in a folder without a repository, the first task chooses it.
    """
    with suppress(HooklineError), closing(App.open()) as app:
        base = _unchosen(app)
        if base is not None:
            app.change(work_record.pin_base, base.branch, unborn=base.unborn)


def lacks_base() -> bool:
    """Whether `keep_base` would choose one."""
    with suppress(HooklineError), closing(App.open(read_only=True)) as app:
        return _unchosen(app) is not None
    return False


def _unchosen(app: App) -> Base | None:
    if find_repository(app.project.root) is None:
        return None
    import asyncio  # few projects are being set up, and git is asked

    from hookline.wiring.working.work import first_base

    return asyncio.run(first_base(app))
