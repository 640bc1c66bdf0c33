"""What gates are shown of a task's work: the payload of their points, and the task as a file."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.domain.repository import RepositoryError
from hookline.domain.taskpage import task_page
from hookline.flows import prompts
from hookline.flows.continuation import story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.runs import Run
    from hookline.domain.submissions import Submission
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

FOLDER, TASK_FILE = ".hookline", "task.md"
MAX_TITLE = 120


def gate_payload(
    work: Submission, goal: str, task_path: str, commits: int, extra: dict[str, Any]
) -> dict[str, Any]:
    """What a gate judges."""
    return {
        "task_id": work.task_id,
        "task_title": prompts.one_line(goal, MAX_TITLE),
        "task_path": task_path,
        "task_type": work.task_type,
        "branch_name": work.branch,
        "base_branch": work.base,
        "worktree": work.worktree,
        "agent_name": work.agent or "",
        "commits_count": commits,
        "extra": {**extra, "skip_pr": work.skip_pr},
    }


def export_task(view: View, task: Task, worktree: str) -> str:
    """The task as a file that gates and agents can read, which git ignores; its path."""
    page = task_page(task, story(view, task.id))
    place = os.path.join(worktree, FOLDER)
    try:
        os.makedirs(place, exist_ok=True)
        # A branch may bring links along, and nothing is written through them.
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _is_there(".gitignore", folder):
                _write(".gitignore", "*\n", folder)
            _write(TASK_FILE, page, folder)
        finally:
            os.close(folder)
    except OSError as problem:
        raise RepositoryError(f"cannot write to {place}: {problem.strerror}") from problem
    return os.path.join(place, TASK_FILE)


def renewed_task(view: View, payload: Mapping[str, Any]) -> str | None:
    """The page of the task that a gate is asked about; its file says the same again.

    The work may have written there since: a test of it that another gate ran, for instance.
    """
    task = view.graph.find(payload["task_id"])
    if task is None:
        return None
    worktree = payload["worktree"]
    # Nothing is written where a flow of somebody else's says that the work is.
    if payload["task_path"] == os.path.join(worktree, FOLDER, TASK_FILE):
        export_task(view, task, worktree)
    return task_page(task)


def renew_task_file(view: View, run: Run) -> None:
    """Before an agent's turn in a worktree its task's file says what the store does."""
    worktree, task_id = run.input.get("worktree") or "", run.input.get("taskId")
    task = view.graph.find(task_id) if worktree and task_id else None
    # Where the folder is gone, nothing is made in its place.
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
    """Replace a file by a new one; whoever reads it sees the old or the new one whole."""
    fresh = f".{name}-{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    _remove(fresh, folder)  # of a process of that number that was killed
    file = os.open(fresh, flags, 0o644, dir_fd=folder)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(text)
    os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)


def _remove(name: str, folder: int) -> None:
    if _is_there(name, folder):
        os.unlink(name, dir_fd=folder)
