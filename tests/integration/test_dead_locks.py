"""What a killed act of ours leaves of git's own locks is in nobody's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.repository_rig import do

if TYPE_CHECKING:
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


def test_a_lock_that_somebody_holds_is_left_alone(shared: Place) -> None:
    repository = shared.repository()

    async def fetch_while_somebody_pushes() -> None:
        async with repository._repo.exclusive("push"):  # as a push does
            left = shared.root / ".git/packed-refs.lock"
            left.touch()
            await repository.bases.fetch("main")
            assert left.exists()

    do(fetch_while_somebody_pushes())
