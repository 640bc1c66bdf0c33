"""Changing the work in a checkout: commits, rebases, and trailers for commits that are there
already; each whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.door import ALONE, HOOKED, GitFailed
from hookline.adapters.git.index import SplitIndex, forget_stats
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.conflicts import SHOWN_FILES, marked, passages, sides
from hookline.adapters.git.repository.notes import RebaseNote
from hookline.adapters.git.repository.plumbing import STYLE, Plumbing
from hookline.adapters.git.repository.submodules import fetch_submodules
from hookline.adapters.git.repository.upkeep import Upkeep
from hookline.domain.work.repository import ConflictFile, RebaseConflict, Rebased, RepositoryError
from hookline.errors import Untrusted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.adapters.git.door import GitReply

# The stages of git's index: the base is checked out when work is put on it.
_THEIRS, _OURS = 2, 3
_PLAIN = ("--merge", "--no-autostash", "--no-autosquash", "--no-fork-point", "--quiet")
REBASE = ("rebase", *_PLAIN)
# The commit that a head was, or is about to be, merged as.
MERGED = "refs/hookline/merged/"
# Headers that only count for the commit as it was.
_SIGNATURES = (b"gpgsig ", b"gpgsig-sha256 ")
_NO_TRAILERS = "a commit got no trailers"


class Changes(msgspec.Struct, frozen=True):
    """Commits and rebases in one checkout at a time."""

    _repo: Plumbing
    _bases: Bases
    _upkeep: Upkeep

    async def check(self, folder: str, branch: str | None = None) -> None:
        """Verify that a folder is a checkout to write in, and of that branch; else say what it is.

        What we began there and a crash interrupted is undone first. In a task's worktree git then
        compares each file by its content: what gates see is what is committed.
        """
        top = self._repo.at(folder).top
        async with self._repo.alone_in(top):
            await self._upkeep.own(top, branch)
            if self._repo.task_branch(top) is not None:
                await self._forget_stats(top)

    async def _forget_stats(self, top: str) -> None:
        is_sha256 = await self._repo.settings.get("extensions.objectformat") == "sha256"
        place = self._repo.at(top).git_dir
        try:
            forget_stats(place, is_sha256=is_sha256)
        except SplitIndex:
            join = ("update-index", "--no-split-index")
            await self._repo.git(top, *join, doing="git's index cannot be put together")
            forget_stats(place, is_sha256=is_sha256)

    async def commit_all(
        self, folder: str, message: str, author: str | None = None, *, branch: str | None = None
    ) -> str | None:
        """Commit all that is not ignored; the commit, or None when there was nothing.

        `author` is "Name <address>". Git's hooks run; if one says no, the files stay as they are.
        """
        top = self._repo.at(folder).top
        async with self._repo.alone_in(top):
            await self._upkeep.own(top, branch)
            await self._repo.git(top, "add", "--all", doing="the files cannot be added")
            if not (await self._repo.git(top, "diff", "--cached", "--quiet")).code:
                return None
            return await self._commit(top, message, author)

    async def _commit(self, top: str, message: str, author: str | None) -> str:
        by = (f"--author={author}",) if author is not None else ()
        said = await self.commit_staged(top, as_message(message, "Work"), *by)
        if said.code:
            await self._repo.git(top, "reset", "--quiet")
            raise GitFailed("the commit was refused; your files are as they were", said)
        return await self._repo.tip(top)

    async def commit_staged(self, top: str, message: bytes, *by: str) -> GitReply:
        """Have git commit what was added, with its hooks; what it says."""
        asked = ("commit", "--quiet", "--file=-", *by)
        return await self._repo.git(top, *asked, stdin=message, timeout=HOOKED)

    async def rebase(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | RebaseConflict:
        """Move the commits in a folder onto the newest base; after a conflict all is as before.

        That is done in the worktree of a task only.
        """
        top = self._upkeep.own_top(folder)
        base = await self._bases.fetch(onto)
        async with self._repo.alone_in(top):
            return await self.move_onto(top, base.sha, branch)

    async def move_onto(self, top: str, onto: str, branch: str | None) -> Rebased | RebaseConflict:
        """Move the commits of a checkout that no one else works in."""
        await self._upkeep.own(top, branch)
        await self._upkeep.check_clean(top)
        head = await self._repo.tip(top)
        if await self._repo.is_ancestor(onto, head) or await self.landed(head, onto):
            return Rebased(False, head, onto, head)
        await self._repo.fork(top, onto)
        return await self._move(top, head, onto)

    async def replace_commits(self, folder: str, base: str, *, branch: str) -> str:
        """Put one commit with the same content in place of all that the base has not; its id.

        No ref keeps the old ones: what they hold must not be merged or pushed.
        """
        top = self._upkeep.own_top(folder)
        known = (await self._bases.known(base)).sha
        async with self._repo.alone_in(top):
            await self._upkeep.own(top, branch)
            await self._upkeep.check_clean(top)
            head, fork = await self._repo.tip(top), await self._repo.fork(top, known)
            made = await self.flat(head, fork, known)
            move = ("update-ref", "-m", "hookline: one commit", f"refs/heads/{branch}")
            await self._repo.git(top, *move, made, head, doing="the commits were not replaced")
            return made

    async def landed(self, head: str, base: str) -> str | None:
        """The commit that we merged this work as, if the base holds it."""
        noted = await self._repo.commit(MERGED + head)
        if noted is not None and await self._repo.is_ancestor(noted, base):
            return noted if await self._brings(noted, head) else None
        return None

    async def _brings(self, merged: str, work: str) -> bool:
        """Whether a commit holds all of some work: an agent can write any note of a merge."""
        try:
            found = await self._repo.objects.merge_trees(self._repo.root, merged, work)
        except (Untrusted, GitFailed):  # drivers of a merge could run
            return False
        return not found.conflicts and found.tree == await self._repo.objects.tree(merged)

    async def _move(self, top: str, head: str, onto: str) -> Rebased | RebaseConflict:
        place = self._repo.at(top).git_dir
        RebaseNote(head, onto, await self._repo.ref(top)).write(place)
        said = await self._repo.git(top, *STYLE, *ALONE, *REBASE, onto, timeout=HOOKED, hooks=False)
        if said.code:
            files = await self.conflict_files(top)
            fits, stopped = await self._repo.tip(top), await self._repo.sha(top, "REBASE_HEAD")
            await self._upkeep.end_own_acts(top)
            if not files or stopped is None:
                raise GitFailed("the rebase failed; nothing changed", said)
            return RebaseConflict(onto, files, fits, stopped)
        moved = await self._repo.tip(top)
        RebaseNote.forget(place)
        await fetch_submodules(self._repo, top, onto)
        if not await self._repo.is_ancestor(onto, moved):
            raise RepositoryError(f"after the rebase {moved} is not based on {onto}")
        merged = await self._repo.objects.merge_trees(top, onto, head)
        same = not merged.conflicts and merged.tree == await self._repo.objects.tree(moved)
        return Rebased(True, moved, onto, head, same)

    async def flat(self, tip: str, parent: str, *without: str) -> str:
        """The content of a commit as one commit on a parent, in the words of those it stands for.

        They are those that the tip holds and none of `without`.
        """
        tree = await self._repo.objects.tree(tip)
        if tree == await self._repo.objects.tree(parent):
            return parent
        form = ("--format=%an%n%ae%n%ad%n%B", "--date=raw", "-z")
        asked = ("log", *form, "--reverse", "--topo-order", "--no-merges", tip, "--not", *without)
        said = await self._repo.ask(*asked, doing="the commits are unknown")
        commits = [each.split("\n", 3) for each in said.names]
        if not commits:
            raise RepositoryError(f"{tip} contains only merge commits")
        name, email, date, _ = commits[0]
        message = as_message(
            "\n\n".join(dict.fromkeys(each[3].strip() for each in commits)), "Work"
        )
        by = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
        return await self._repo.objects.commit_tree(tree, (parent,), message, by)

    async def conflict_files(self, top: str) -> tuple[ConflictFile, ...]:
        """The files in conflict when work is put on its base, with both sides."""
        asked = ("diff", "--name-only", "--diff-filter=U", "-z")
        said = await self._repo.git(top, *asked, doing="conflicts are unknown")
        found = []
        for name in sorted(set(said.names))[:SHOWN_FILES]:
            stages = {}
            for stage in (_THEIRS, _OURS):
                blob = ("cat-file", "blob", f":{stage}:{name}")
                said = await self._repo.git(top, *blob, limit=1 << 20)
                stages[stage] = None if said.code else said.out
            # The base is checked out when work is put on it, so git marks its side first.
            theirs, ours = passages(marked(os.path.join(top, name)))
            found.append(sides(name, stages[_OURS], stages[_THEIRS], ours, theirs))
        return tuple(found)


class Trailers(msgspec.Struct, frozen=True):
    """Says in each commit of a task's work whose it is."""

    _repo: Plumbing
    _bases: Bases
    _upkeep: Upkeep

    async def add(
        self, folder: str, base: str, trailers: Sequence[str], *, branch: str, head: str
    ) -> str:
        """Give every commit up to `head` that the base has not these trailers; the new head.

        If the branch is not at `head` any more, it stays where it is.
        """
        top = self._repo.at(folder).top
        onto = (await self._bases.known(base)).sha
        async with self._repo.alone_in(top):
            await self._upkeep.own(top, branch)
            signed = await self.signed(top, onto, head, trailers)
            if signed != head:
                # The content is the same, so that nothing else in the checkout changes.
                move = ("update-ref", "-m", "hookline: trailers", f"refs/heads/{branch}")
                doing = "the commits got no trailers"
                await self._repo.git(top, *move, signed, head, doing=doing)
            return signed

    async def signed(self, top: str, base: str, head: str, trailers: Sequence[str]) -> str:
        """The last of the commits since the base, each with these trailers."""
        asked = ("rev-list", "--reverse", "--topo-order", f"{base}..{head}")
        listed = await self._repo.git(top, *asked, doing="the commits cannot be listed")
        made: dict[bytes, bytes] = {}
        for sha in listed.out.split():
            made[sha] = await self._copy(top, sha, made, trailers)
        return made.get(head.encode(), head.encode()).decode()

    async def _copy(
        self, top: str, sha: bytes, made: dict[bytes, bytes], trailers: Sequence[str]
    ) -> bytes:
        asked = ("cat-file", "commit", sha.decode())
        said = await self._repo.git(top, *asked, doing="a commit cannot be read")
        headers, _, message = said.out.partition(b"\n\n")
        if said.left_out:
            raise RepositoryError(f"the message of {sha.decode()} is too long to get trailers")
        told = await self._with_trailers(top, message, trailers)
        kept = [_parent(line, made) for line in _without_signatures(headers)]
        if told == message and kept == headers.split(b"\n"):
            return sha
        content = b"\n".join(kept) + b"\n\n" + told
        make = ("hash-object", "-t", "commit", "-w", "--stdin")
        made_now = await self._repo.git(top, *make, stdin=content, doing=_NO_TRAILERS)
        return made_now.out.strip()

    async def _with_trailers(self, top: str, message: bytes, trailers: Sequence[str]) -> bytes:
        """The message with these trailers at its end, whatever its author has written there."""
        own = os.fsencode("\n".join(trailers))
        if message.rstrip().endswith(b"\n" + own):
            return message
        wanted = [word for each in trailers for word in ("--trailer", each)]
        asked = ("interpret-trailers", "--no-divider", "--if-exists=add", *wanted)
        told = (await self._repo.git(top, *asked, stdin=message, doing=_NO_TRAILERS)).out
        is_last = told.rstrip().endswith(b"\n" + own)
        return told if is_last else message.rstrip() + b"\n\n" + own + b"\n"


def _without_signatures(headers: bytes) -> list[bytes]:
    kept: list[bytes] = []
    is_dropped = False
    for line in headers.split(b"\n"):
        is_dropped = line.startswith(_SIGNATURES) or (is_dropped and line.startswith(b" "))
        if not is_dropped:
            kept.append(line)
    return kept


def _parent(line: bytes, made: dict[bytes, bytes]) -> bytes:
    name, _, sha = line.partition(b" ")
    return b"parent " + made.get(sha, sha) if name == b"parent" else line


def as_message(text: str, default: str) -> bytes:
    """A commit's message as git reads it."""
    return (text.replace("\0", "").strip() or default).encode("utf-8", "replace") + b"\n"
