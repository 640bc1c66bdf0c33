"""Pushing a task's branch, never over commits that others put there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.git.door import HOOKED, NETWORK, cut
from hookline.adapters.repository_resolving import Resolving
from hookline.domain.repository import Problem, Pushed, Refused, RepositoryError

if TYPE_CHECKING:
    from hookline.adapters.git.door import Said

# What we pushed, and what we are about to push: a crash in between leaves the second.
_PUSHED = "refs/hookline/pushed/"
_PUSHING = "refs/hookline/pushing/"
# How long somebody waits for a remote who only wants to know whether it answers.
ASKED = 30.0
# How git ends that has not come to speak with the remote; a hook or a rule makes it end with 1.
GAVE_UP = 128
SAID = 300
_CORRECT = "`git ls-remote` must work: `git remote set-url` corrects the remote's address"


class Pushing(Resolving):
    """Pushes, and what is remembered of them."""

    async def push(self, folder: str, branch: str, remote: str | None = None) -> Pushed | Refused:
        """Bring the remote's branch to ours.

        Only what we pushed ourselves, and nobody has added to since, is ever replaced.
        """
        await self._check_branch(branch)
        remote = await self._push_remote(branch, remote)
        async with self._exclusive("push"):
            head = await self._sha(folder, f"refs/heads/{branch}")
            if head is None:
                raise RepositoryError(f"there is no branch {branch!r}")
            listed = await self._listed(folder, remote, branch)
            if isinstance(listed, Refused):
                return listed
            return await self._push(folder, remote, branch, head, listed)

    async def _push(
        self, folder: str, remote: str, branch: str, head: str, tip: str
    ) -> Pushed | Refused:
        if tip == head:
            await self._remember(folder, branch, head)
            return Pushed(branch, remote, head)
        fits = not tip or await self._is_ancestor(folder, tip, head)
        if not fits and tip not in await self._own_pushes(folder, branch):
            return Refused(
                "diverged",
                f"{branch} at {remote} has commits that are not ours ({tip[:12]})",
                f"`git fetch {remote} {branch}` brings them, then rebase onto them",
            )
        await self._git(
            folder, "update-ref", f"{_PUSHING}{branch}", head, doing="the push was not begun"
        )
        lease = () if fits else (f"--force-with-lease=refs/heads/{branch}:{tip}",)
        said = await self._push_ref(folder, remote, f"{head}:refs/heads/{branch}", *lease)
        if await self._listed(folder, remote, branch) != head:
            return refusal(said, f"{branch} was not pushed to {remote}", remote)
        await self._remember(folder, branch, head)
        return Pushed(branch, remote, head)

    async def push_problem(self, remote: str | None = None) -> Problem | None:
        """Why work could not be pushed in the end; None where a remote answers, or none is used.

        Without a name it is the remote that the base lives on.
        """
        help = _CORRECT if remote else f"{_CORRECT}; or set `gates: {{remote: ''}}` to use none"
        try:
            if (await self.describe()).blocking is not None:
                return None
            base = await self.base_branch()
            remote = remote or await self._remote(base)
            if remote is None:
                return None
            listed = await self._listed(self.root, remote, base, timeout=ASKED)
        except RepositoryError as problem:
            return Problem("no-push", problem.message, problem.help or help, blocks=True)
        if not isinstance(listed, Refused):
            return None
        said = cut(" ".join(listed.output.split()), SAID)
        return Problem("no-push", f"{listed.reason}: {said}", help, blocks=True)

    async def remove_pushed(self, branch: str, remote: str) -> str | None:
        """Remove a branch from the remote, if nobody has added to what we pushed."""
        await self._check_branch(branch)
        async with self._exclusive("push"):
            tip = await self._listed(self.root, remote, branch)
            if isinstance(tip, Refused):
                return tip.reason
            if not tip:
                return None
            if tip not in await self._own_pushes(self.root, branch):
                return f"{branch} at {remote} has commits that are not ours ({tip[:12]})"
            lease = f"--force-with-lease=refs/heads/{branch}:{tip}"
            said = await self._push_ref(self.root, remote, f":refs/heads/{branch}", lease)
            left = await self._listed(self.root, remote, branch)
            if not left:
                return None
            return refusal(said, f"{branch} was not removed at {remote}", remote).reason

    async def _push_ref(self, folder: str, remote: str, spec: str, *options: str) -> Said:
        return await self._git(
            folder, "push", "--porcelain", *options, remote, spec, timeout=HOOKED
        )

    async def _listed(
        self, folder: str, remote: str, branch: str, *, timeout: float = NETWORK
    ) -> str | Refused:
        """The commit that the remote has under a branch, empty for none."""
        ref = f"refs/heads/{branch}"
        said = await self._git(folder, "ls-remote", remote, ref, timeout=timeout)
        if said.code:
            return _unreachable(remote, said)
        for line in said.text.splitlines():
            sha, _, name = line.partition("\t")
            if name == ref:
                return sha
        return ""

    async def _own_pushes(self, folder: str, branch: str) -> set[str]:
        found = {await self._sha(folder, f"{place}{branch}") for place in (_PUSHED, _PUSHING)}
        return {sha for sha in found if sha is not None}

    async def _remember(self, folder: str, branch: str, head: str) -> None:
        await self._git(
            folder, "update-ref", f"{_PUSHED}{branch}", head, doing="the push was not noted"
        )
        await self._git(folder, "update-ref", "-d", f"{_PUSHING}{branch}")

    async def _forget_pushes(self, branch: str) -> None:
        for place in (_PUSHED, _PUSHING):
            await self._git(self.root, "update-ref", "-d", f"{place}{branch}")

    async def _push_remote(self, branch: str, remote: str | None) -> str:
        if remote is None:
            remote = await self._remote(branch)
        if remote is None or remote not in await self._settings.remotes():
            raise RepositoryError(
                f"there is no remote to push {branch} to", help="`git remote add` adds one"
            )
        return remote


def _unreachable(remote: str, said: Said) -> Refused:
    reason = f"{remote} does not answer, or does not let us in"
    return Refused("unreachable", reason, said.words)


def refusal(said: Said, what: str, remote: str) -> Refused:
    """Why a push came to nothing, by what git tells programs."""
    for line in said.out.decode("utf-8", "replace").splitlines():
        if line.startswith("!"):
            summary = line.rpartition("\t")[2]
            return Refused("rejected", f"{what}: {summary}", said.words)
    if said.code == GAVE_UP:
        return _unreachable(remote, said)
    return Refused("rejected", f"{what}: git or a hook of it refused", said.words)
