"""Git, as far as Hookline asks it; the only place that builds a git command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import HookFailure
from hookline.ports import CannotStart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.ports import Finished, Processes

TIMEOUT = 20.0


async def changed_files(processes: Processes, root: str, environ: Mapping[str, str]) -> list[str]:
    """Files that differ from HEAD or are not tracked yet; none outside a repository."""
    # Inherited GIT_* variables would make git look at another repository than this folder's.
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    argv = ("git", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    try:
        done = await processes.run(argv, cwd=root, env=env, timeout=TIMEOUT)
    except CannotStart as problem:
        raise HookFailure(f"which files changed is unknown: {problem}") from problem
    if done.exit_code != 0:
        if "not a git repository" in done.stderr:
            return []
        raise HookFailure(f"which files changed is unknown: git says {done.stderr.strip()[:300]}")
    return sorted(entry[3:] for entry in _whole(done).split("\0") if len(entry) > 3)


def _whole(done: Finished) -> str:
    """All that git said; what is too long to be shown was put aside."""
    if done.blob is None:
        return done.stdout
    try:
        with open(done.blob, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as problem:
        raise HookFailure(f"which files changed is unknown: {problem}") from problem


async def init(processes: Processes, root: str, environ: Mapping[str, str]) -> bool:
    """Make a repository; False where there is no git."""
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    try:
        done = await processes.run(("git", "init", "--quiet"), cwd=root, env=env, timeout=TIMEOUT)
    except CannotStart:
        return False
    return done.exit_code == 0
