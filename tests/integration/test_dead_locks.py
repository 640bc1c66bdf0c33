"""What a killed act of ours leaves of git's own locks is in nobody's way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.integration.repository_rig import do

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.adapters.git.repository.bases import KnownBase
    from tests.integration.repository_rig import Place


def test_the_lock_of_a_push_that_was_killed_does_not_stop_a_fetch(shared: Place) -> None:
    repository = shared.repository()
    do(repository.bases.fetch("main"))
    there = shared.elsewhere("new", "theirs\n")
    ours = shared.root / ".git/hookline"
    (ours / "push.lock-file").write_text("0123456789abcdef01234567")
    left = shared.root / ".git/refs/remotes/origin/main.lock"
    left.touch()

    found = do(repository.bases.fetch("main"))

    assert (found.sha, found.notices) == (there, ())
    assert not left.exists()
    assert (ours / "push.lock-file").read_text() == ""


def half_made(place: Place) -> Path:
    """What a git leaves that is killed as it begins to make a worktree."""
    made = place.root / ".git/worktrees/T-9"
    made.mkdir(parents=True)
    (made / "HEAD").write_text(f"{'0' * 40}\n")
    (made / "commondir").write_text("../..\n")
    (made / "gitdir").write_text(f"{place.root}/.hookline/worktrees/T-9/.git\n")
    (made / "locked").write_text("initializing\n")
    return made


def test_a_worktree_that_a_killed_process_left_half_made_does_not_stop_a_fetch(
    shared: Place,
) -> None:
    repository = shared.repository()
    do(repository.bases.fetch("main"))
    there, left = shared.elsewhere("new", "theirs\n"), half_made(shared)
    (shared.root / ".git/hookline/worktrees.lock-file").write_text("0123456789abcdef01234567")

    found = do(repository.bases.fetch("main"))

    assert (found.sha, found.notices) == (there, ())
    assert not left.exists()


def test_a_worktree_that_is_being_made_is_waited_for(shared: Place) -> None:
    repository = shared.repository()
    do(repository.bases.fetch("main"))
    there, left = shared.elsewhere("new", "theirs\n"), half_made(shared)

    async def fetch_while_it_is_made() -> KnownBase:
        async with repository._repo.exclusive("worktrees"):  # as a process that makes one
            fetching = asyncio.ensure_future(repository.bases.fetch("main"))
            await asyncio.wait({fetching}, timeout=1)
            assert left.exists()
            (left / "HEAD").write_text("ref: refs/heads/main\n")
        return await fetching

    assert do(fetch_while_it_is_made()).sha == there


def test_a_lock_that_somebody_holds_is_left_alone(shared: Place) -> None:
    repository = shared.repository()

    async def fetch_while_somebody_pushes() -> None:
        async with repository._repo.exclusive("push"):  # as a push does
            left = shared.root / ".git/packed-refs.lock"
            left.touch()
            await repository.bases.fetch("main")
            assert left.exists()

    do(fetch_while_somebody_pushes())
