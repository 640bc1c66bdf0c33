"""Pushing a task's branch, never over commits that others put there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.door import HOOKED, NETWORK
from hookline.adapters.git.refs import is_missing
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.state import describe
from hookline.domain.text.excerpts import without_middle
from hookline.domain.work.repository import Pushed, Refused, RepositoryError, SetupProblem
from hookline.ports.leases import prove_lease

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.adapters.git.door import GitReply

# What we pushed, and what we are about to push: a crash in between leaves the second.
_PUSHED = "refs/hookline/pushed/"
_PUSHING = "refs/hookline/pushing/"
# How long to wait for a remote when the only question is whether it answers.
ASKED = 30.0
# How git ends that has not come to speak with the remote; a hook or a rule makes it end with 1.
GAVE_UP = 128
SAID = 300
_CORRECT = "`git ls-remote` must work: `git remote set-url` corrects the remote's address"


class Pushes(msgspec.Struct, frozen=True):
    """Pushes, and what is remembered of them."""

    _repo: Plumbing
    _bases: Bases

    async def push(self, folder: str, branch: str, remote: str | None = None) -> Pushed | Refused:
        """Bring the remote's branch to ours.

        Only what we pushed ourselves, and no one has added to since, is ever replaced.
        """
        await self._bases.check_name(branch)
        remote = await self._push_remote(branch, remote)
        async with self._repo.exclusive("push"):
            head = await self._repo.sha(folder, f"refs/heads/{branch}")
            if head is None:
                raise RepositoryError(f"there is no branch {branch!r}")
            listed = await self.listed(remote, branch)
            if isinstance(listed, Refused):
                return listed
            return await self._push(folder, remote, branch, head, listed)

    async def problem(self, remote: str | None = None) -> SetupProblem | None:
        """Why work could not be pushed in the end; None where a remote answers, or none is used.

        Without a name it is the remote that the base lives on.
        """
        help = _CORRECT if remote else f"{_CORRECT}; or set `gates: {{remote: ''}}` to use none"
        try:
            if (await describe(self._repo)).blocking is not None:
                return None
            base = await self._bases.branch()
            remote = remote or await self._bases.remote(base)
            if remote is None:
                return None
            listed = await self.listed(remote, base, timeout=ASKED)
        except RepositoryError as problem:
            return SetupProblem("no-push", problem.message, problem.help or help, blocks=True)
        if not isinstance(listed, Refused):
            return None
        said = without_middle(" ".join(listed.output.split()), SAID)
        return SetupProblem("no-push", f"{listed.reason}: {said}", help, blocks=True)

    async def seen(self, commits: Sequence[str]) -> bool:
        found = [f"--contains={each}" for each in commits]
        asked = ("for-each-ref", "--count=1", "--format=%(refname)", *found)
        places = ("refs/remotes", _PUSHED, _PUSHING)
        return bool((await self._repo.ask(*asked, *places, doing="pushes are unknown")).text)

    async def remove(self, branch: str, remote: str) -> str | None:
        await self._bases.check_name(branch)
        async with self._repo.exclusive("push"):
            tip = await self.listed(remote, branch)
            if isinstance(tip, Refused):
                return tip.reason
            if not tip:
                return None
            if tip not in await self._own_pushes(branch):
                return _not_ours(branch, remote, tip)
            lease = f"--force-with-lease=refs/heads/{branch}:{tip}"
            said = await self.push_ref(self._repo.root, remote, f":refs/heads/{branch}", lease)
            if not await self.listed(remote, branch):
                return None
            return refusal(said, f"{branch} was not removed at {remote}", remote).reason

    async def _push(
        self, folder: str, remote: str, branch: str, head: str, tip: str
    ) -> Pushed | Refused:
        if tip == head:
            await self._remember(branch, head)
            return Pushed(branch, remote, head)
        fits = not tip or await self._repo.is_ancestor(tip, head)
        if not fits and tip not in await self._own_pushes(branch):
            help = f"`git fetch {remote} {branch}` fetches them, then rebase onto them"
            return Refused("diverged", _not_ours(branch, remote, tip), help)
        await self._repo.point(f"{_PUSHING}{branch}", head, doing="the push was not started")
        lease = () if fits else (f"--force-with-lease=refs/heads/{branch}:{tip}",)
        said = await self.push_ref(folder, remote, f"{head}:refs/heads/{branch}", *lease)
        if await self.listed(remote, branch) != head:
            return refusal(said, f"{branch} was not pushed to {remote}", remote)
        await self._remember(branch, head)
        return Pushed(branch, remote, head)

    async def push_ref(self, folder: str, remote: str, spec: str, *options: str) -> GitReply:
        prove_lease()
        asked = ("push", "--porcelain", *options, remote, spec)
        return await self._repo.git(folder, *asked, timeout=HOOKED)

    async def listed(self, remote: str, branch: str, *, timeout: float = NETWORK) -> str | Refused:
        """The commit that the remote has under a branch, empty for none."""
        ref = f"refs/heads/{branch}"
        said = await self._repo.ask("ls-remote", remote, ref, timeout=timeout)
        if said.code:
            return _unreachable(remote, said)
        for line in said.text.splitlines():
            sha, _, name = line.partition("\t")
            if name == ref:
                return sha
        return ""

    async def _own_pushes(self, branch: str) -> set[str | None]:
        return {await self._repo.commit(ref) for ref in pushes_of(branch)}

    async def _remember(self, branch: str, head: str) -> None:
        pushed, pushing = pushes_of(branch)
        await self._repo.point(pushed, head, doing="the push could not be recorded")
        if not is_missing(self._repo.at(self._repo.root), pushing):
            await self._repo.ask("update-ref", "--no-deref", "-d", pushing)

    async def _push_remote(self, branch: str, remote: str | None) -> str:
        if remote is None:
            remote = await self._bases.remote(branch)
        if remote is None or remote not in await self._repo.settings.remotes():
            words = f"there is no remote to push {branch} to"
            raise RepositoryError(words, help="`git remote add` adds one")
        return remote


def pushes_of(branch: str) -> tuple[str, str]:
    """The refs that tell what we pushed of a branch."""
    return _PUSHED + branch, _PUSHING + branch


def _not_ours(branch: str, remote: str, tip: str) -> str:
    return f"{branch} at {remote} has commits from someone else ({tip[:12]})"


def _unreachable(remote: str, said: GitReply) -> Refused:
    return Refused("unreachable", f"{remote} does not answer, or denies access", said.words)


def refusal(said: GitReply, what: str, remote: str) -> Refused:
    """Why a push came to nothing, by what git tells programs."""
    for line in said.out.decode("utf-8", "replace").splitlines():
        if line.startswith("!"):
            summary = line.rpartition("\t")[2]
            return Refused("rejected", f"{what}: {summary}", said.words)
    if said.code == GAVE_UP:
        return _unreachable(remote, said)
    return Refused("rejected", f"{what}: git or one of its hooks refused", said.words)
