"""The task as a file in its worktree, which git ignores: `.hookline/task.md`."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.domain.pages.taskpage import task_page
from hookline.domain.work.repository import RepositoryError
from hookline.files import IGNORED
from hookline.sessions.told.continuation import story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

FOLDER, TASK_FILE = ".hookline", "task.md"


def export_task(view: View, task: Task, worktree: str) -> str:
    """Write the task to a file that gates and agents can read and git ignores; its path."""
    page = task_page(task, story(view, task.id))
    place = os.path.join(worktree, FOLDER)
    try:
        os.makedirs(place, exist_ok=True)
        # A branch may contain links, and nothing is written through them.
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _is_there(".gitignore", folder):
                _write(".gitignore", IGNORED.decode(), folder)
            _write(TASK_FILE, page, folder)
        finally:
            os.close(folder)
    except OSError as problem:
        raise RepositoryError(f"cannot write to {place}: {problem.strerror}") from problem
    return os.path.join(place, TASK_FILE)


def renewed_task(view: View, payload: Mapping[str, Any]) -> str | None:
    """The page of the task that a gate is asked about; its file is restored to the same.

    The work may have written there since, for instance in a test that another gate ran.
    """
    task = view.graph.find(payload["task_id"])
    if task is None:
        return None
    worktree = payload["worktree"]
    # Nothing is written to a folder that a user's flow names.
    if payload["task_path"] == os.path.join(worktree, FOLDER, TASK_FILE):
        export_task(view, task, worktree)
    return task_page(task)


def renew_task_file(view: View, run: Run, worktree: str) -> None:
    """Before an agent's turn in a worktree, bring its task's file up to date."""
    task_id = run.input.get("taskId") if run.input.get("worktree") else None
    task = view.graph.find(task_id) if task_id else None
    # A folder that is gone is not created again.
    if task is not None and os.path.isdir(os.path.join(worktree, FOLDER)):
        with suppress(RepositoryError):
            export_task(view, task, worktree)


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write(name: str, text: str, folder: int) -> None:
    """Replace a file atomically; a reader sees the old or the new one whole."""
    fresh = f".{name}-{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError):  # left by a killed process with the same id
        os.unlink(fresh, dir_fd=folder)
    file = os.open(fresh, flags, 0o644, dir_fd=folder)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(text)
    os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
