"""Changing the work in a checkout: commits and rebases, each whole or not at all."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import NamedTuple

from hookline.adapters.git.checkout import BrokenWorktree
from hookline.adapters.git.door import ALONE, HOOKED, NETWORK, RESCUED, GitFailed, printable
from hookline.adapters.repository_conflicts import SHOWN_FILES, marked, passages, sides
from hookline.adapters.repository_objects import STYLE, Objects
from hookline.digest import sha256
from hookline.domain.repository import (
    ConflictFile,
    RebaseConflict,
    Rebased,
    RepositoryError,
    branch_of,
)
from hookline.errors import Untrusted
from hookline.files import own_folder, publish, read_regular

# Written into the worktree's git folder before a rebase of ours, with the commit to return to.
_NOTE = "hookline-rebase"
# The stages of git's index: the base is checked out when work is put on it.
_THEIRS, _OURS = 2, 3
_PLAIN = ("--merge", "--no-autostash", "--no-autosquash", "--no-fork-point", "--quiet")
REBASE = ("rebase", *_PLAIN)
# The commit that a head was, or is about to be, merged as.
MERGED = "refs/hookline/merged/"
_SETTINGS = "look at core.* in `git config --list --show-origin`"
_COMMITS = re.compile(r"([0-9a-f]{40,64})\n([0-9a-f]{40,64})\n(refs/heads/.+)")
_GIT_DIR = "git rev-parse --absolute-git-dir"


class _Note(NamedTuple):
    """Where a rebase of a task's branch began, and where it was to end."""

    head: str
    onto: str
    ref: str


class Changing(Objects):
    """Commits and rebases in one checkout at a time."""

    async def check(self, folder: str, branch: str | None = None) -> None:
        """Verify that a folder is a checkout to write in, and of that branch; else say what it is.

        What we began there and a crash cut short is undone first.
        """
        top = self._at(folder).top
        async with self._exclusive(lock_of(top)):
            await self._own(top, branch)

    async def _own(self, top: str, branch: str | None) -> None:
        await self._verify(top)
        await self._end_own_rebase(top)
        if (operation := await self._operation(top)) is not None:
            raise _unfinished(top, operation)
        wanted = branch or self._task_branch(top)
        if wanted is None:
            return
        if (found := await self._branch(top)) != wanted:
            raise RepositoryError(f"{top} has {found or 'no branch'} checked out, not {wanted}")
        await self._check_ref(top, f"refs/heads/{wanted}")

    async def _check_ref(self, top: str, ref: str) -> None:
        """Refuse a branch that is gone, or that moves another one when it moves."""
        form = "--format=%(refname) %(symref)"
        said = await self._git(top, "for-each-ref", form, "refs/heads", doing="no branches")
        targets = dict(line.split(" ", 1) for line in said.text.splitlines())
        name = ref.removeprefix("refs/heads/")
        if ref not in targets:
            raise RepositoryError(f"the branch {name} is gone, or has no commits")
        tied = [other for other, target in targets.items() if target == ref]
        if other := targets[ref] or next(iter(tied), ""):
            raise RepositoryError(f"the branch {name} is tied to {other}: one moves the other")

    async def _verify(self, top: str) -> None:
        """Refuse a checkout whose settings send a git that writes to other folders."""
        at = self._at(top)
        asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        said = await self._git(top, *asked, "--git-path", "hooks", as_writer=True)
        # Paths, in which there may be line ends: what is known of them is compared as a whole.
        known = f"{at.top}\n{self._common}\n"
        hooks = os.path.realpath(said.text.removeprefix(known))
        if said.code or not said.text.startswith(known):
            words = f"git would work elsewhere than in {top}: {said.words}"
            raise BrokenWorktree(words, help=_SETTINGS)
        others = os.path.join(os.path.realpath(self._worktrees), "")
        if hooks.startswith(others) and not hooks.startswith(os.path.join(at.top, "")):
            raise BrokenWorktree(f"the hooks of git lie in a worktree: {hooks}", help=_SETTINGS)

    def _own_top(self, folder: str) -> str:
        """The top of a task's worktree; work in other checkouts is not moved."""
        top = self._at(folder).top
        if self._task_branch(top) is None:
            raise RepositoryError(f"{top} is not the worktree of a task: nothing is rebased there")
        return top

    def _task_branch(self, top: str) -> str | None:
        """The branch of the task whose worktree this is."""
        folder, name = os.path.split(top)
        own = folder == os.path.realpath(self._worktrees) and not name.startswith(".")
        return branch_of(name) if own else None

    async def commit_all(
        self,
        folder: str,
        message: str,
        author: str | None = None,
        *,
        branch: str | None = None,
    ) -> str | None:
        """Commit all that is not ignored; the commit, or None when there was nothing.

        `author` is "Name <address>". Git's hooks run; if one says no, the files stay as they are.
        """
        top = self._at(folder).top
        async with self._exclusive(lock_of(top)):
            await self._own(top, branch)
            if not await self._dirty(top):
                return None
            await self._git(top, "add", "--all", doing="the files cannot be added")
            if not (await self._git(top, "diff", "--cached", "--quiet")).code:
                return None
            return await self._commit(top, message, author)

    async def _commit(self, top: str, message: str, author: str | None) -> str:
        by = (f"--author={author}",) if author is not None else ()
        said = await self._git(
            top,
            "commit",
            "--quiet",
            "--file=-",
            *by,
            stdin=as_message(message, "Work"),
            timeout=HOOKED,
        )
        if said.code:
            await self._git(top, "reset", "--quiet")
            raise GitFailed("nothing was committed, the files are as they were", said)
        return await self._head(top)

    async def rebase(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | RebaseConflict:
        """Move the commits in a folder onto the newest base; after a conflict all is as before.

        That is done in the worktree of a task only.
        """
        top = self._own_top(folder)
        base = await self.fetch(onto)
        async with self._exclusive(lock_of(top)):
            return await self._rebase(top, base.sha, branch)

    async def _rebase(self, top: str, onto: str, branch: str | None) -> Rebased | RebaseConflict:
        await self._own(top, branch)
        await self._check_clean(top)
        head = await self._head(top)
        if await self._is_ancestor(top, onto, head) or await self._landed(head, onto):
            return Rebased(False, head, onto, head)
        await self._fork(top, onto)
        return await self._move(top, head, onto)

    async def _landed(self, head: str, base: str) -> str | None:
        """The commit that we merged this work as, if the base holds it."""
        noted = await self._sha(self.root, MERGED + head)
        if noted is None or not await self._is_ancestor(self.root, noted, base):
            return None
        return noted if await self._brings(noted, head) else None

    async def _brings(self, merged: str, work: str) -> bool:
        """Whether a commit holds all of some work: an agent can write any note of a merge."""
        try:
            found = await self._merge_trees(self.root, merged, work)
        except (Untrusted, GitFailed):  # drivers of a merge could run
            return False
        return not found.conflicts and found.tree == await self._tree(merged)

    async def _move(self, top: str, head: str, onto: str) -> Rebased | RebaseConflict:
        place = self._at(top).git_dir
        _write_note(place, _Note(head, onto, await self._ref(top)))
        said = await self._git(top, *STYLE, *ALONE, *REBASE, onto, timeout=HOOKED, hooks=False)
        if said.code:
            files = await self._conflicts(top)
            fits, stopped = await self._head(top), await self._sha(top, "REBASE_HEAD")
            await self._end_own_rebase(top)
            if not files or stopped is None:
                raise GitFailed("no rebase, all is as before", said)
            return RebaseConflict(onto, files, fits, stopped)
        moved = await self._head(top)
        _forget(place)
        await self._submodules(top)
        if not await self._is_ancestor(top, onto, moved):
            raise RepositoryError(f"after the rebase {moved} does not stand on {onto}")
        merged = await self._merge_trees(top, onto, head)
        same = not merged.conflicts and merged.tree == await self._tree(moved)
        return Rebased(True, moved, onto, head, same)

    async def _flat(self, tip: str, parent: str, *without: str) -> str:
        """The content of a commit as one commit on a parent, in the words of those it stands for.

        They are those that the tip holds and none of `without`.
        """
        tree = await self._tree(tip)
        if tree == await self._tree(parent):
            return parent
        form = ("--format=%an%n%ae%n%ad%n%B", "--date=raw", "-z")
        said = await self._git(
            *(self.root, "log", *form, "--reverse", "--topo-order", "--no-merges", tip),
            *("--not", *without),
            doing="the commits are unknown",
        )
        commits = [each.split("\n", 3) for each in said.names]
        if not commits:
            raise RepositoryError(f"{tip} holds no commits but merges")
        name, email, date, _ = commits[0]
        message = as_message("\n\n".join(each[3].strip() for each in commits), "Work")
        by = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
        return await self._commit_tree(tree, (parent,), message, by)

    async def recover(self, folder: str) -> None:
        """Undo what a crash in the middle of an act of ours left in a checkout."""
        top = self._at(folder).top
        async with self._exclusive(lock_of(top)):
            await self._verify(top)
            await self._end_own_rebase(top)

    async def _end_own_rebase(self, top: str) -> None:
        """Undo a rebase of ours that a crash or a conflict left; anybody else's is not touched."""
        branch = self._task_branch(top)
        if branch is None:
            return  # nothing is rebased in a checkout of the user's
        place = self._at(top).git_dir
        note = _noted(place, f"refs/heads/{branch}")
        if note is None:
            return
        under_way = await self._operation(top)
        # A git that was killed may have written none of it, or only its beginning.
        if under_way == "rebase" and not note.onto.startswith(_target(place) or ""):
            _forget(place)  # ours is over, and this one is somebody else's
            return
        # Work without commits of its own is moved in one step, which leaves no trace in git.
        stepped = await self._head(top) == note.head and await self._is_ancestor(
            top, note.head, note.onto
        )
        if under_way or stepped or await self._ref(top) != note.ref:
            await self._undo(top, note.head, note.ref)
        _forget(place)

    async def _undo(self, top: str, head: str, ref: str) -> None:
        """Bring a checkout back to where our act began; files that are in the way are kept."""
        if await self._operation(top) == "rebase":
            said = await self._git(top, "rebase", "--abort")
            if said.code:
                await self._git(top, "rebase", "--quit")
        if await self._ref(top) != ref:
            doing = f"{top} cannot be brought back"
            await self._git(top, "symbolic-ref", "HEAD", ref, doing=doing)
        moved = await self._dirty(top) or await self._head(top) != head
        if moved or await self._operation(top) is not None:
            await self._put_away(top)
            reset = (*ALONE, "reset", "--hard", "--quiet")
            await self._git(top, *reset, head, doing="no way back")
        await self._check_clean(top)

    async def _put_away(self, top: str) -> str | None:
        """Keep all that is not committed under a ref of its own, and name it."""
        await self._git(top, "add", "--all")
        saved = (await self._git(top, "stash", "create", "put away by Hookline")).text
        return await self._keep(top, saved) if saved else None

    async def _keep(self, top: str, commit: str) -> str:
        """Keep a commit under a ref of its own, and name it."""
        ref = f"{RESCUED}{commit}"
        await self._git(top, "update-ref", ref, commit, doing="nothing was put away")
        return ref

    async def _check_clean(self, top: str) -> None:
        if (operation := await self._operation(top)) is not None:
            raise _unfinished(top, operation)
        if dirty := await self._dirty(top):
            raise RepositoryError(
                f"not all files in {top} are committed, such as {printable(dirty[0])}",
                help="commit them first",
            )

    async def _conflicts(self, top: str) -> tuple[ConflictFile, ...]:
        """The files in conflict when work is put on its base, with both sides."""
        said = await self._git(
            top, "diff", "--name-only", "--diff-filter=U", "-z", doing="conflicts are unknown"
        )
        found = []
        for name in sorted(set(said.names))[:SHOWN_FILES]:
            stages = {}
            for stage in (_THEIRS, _OURS):
                blob = await self._git(top, "cat-file", "blob", f":{stage}:{name}", limit=1 << 20)
                stages[stage] = None if blob.code else blob.out
            # The base is checked out when work is put on it, so git marks its side first.
            theirs, ours = passages(marked(os.path.join(top, name)))
            found.append(sides(name, stages[_OURS], stages[_THEIRS], ours, theirs))
        return tuple(found)

    async def _submodules(self, top: str) -> tuple[str, ...]:
        """Bring submodules to the commits that are recorded; what fails is a notice."""
        if not os.path.lexists(os.path.join(top, ".gitmodules")):
            return ()
        if (odd := await self._odd_submodule(top)) is not None:
            return (f"submodules could not be brought along: {odd}",)
        said = await self._git(
            top, "submodule", "--quiet", "update", "--init", "--recursive", timeout=NETWORK
        )
        return (f"submodules could not be brought along: {said.words}",) if said.code else ()

    async def _odd_submodule(self, top: str) -> str | None:
        """A submodule that is tied to a repository elsewhere, which an update would change."""
        asked = ("submodule", "--quiet", "foreach", "--recursive", _GIT_DIR)
        said = await self._git(top, *asked)
        if said.code:
            return said.words
        own = (os.path.join(self._at(top).git_dir, "modules", ""), os.path.join(top, ""))
        odd = (line for line in said.text.splitlines() if not line.startswith(own))
        return next((f"one is tied to {line}" for line in odd), None)

    async def _head(self, folder: str) -> str:
        found = await self._sha(folder, "HEAD")
        if found is None:
            raise RepositoryError(
                f"there are no commits in {folder}", help="make a first commit, then try again"
            )
        return found


def lock_of(top: str) -> str:
    """The name of the lock that keeps all others out of a checkout."""
    return "tree-" + str(sha256(os.fsencode(os.path.realpath(top))).hexdigest()[:16])


def as_message(text: str, default: str) -> bytes:
    """A commit's message as git reads it."""
    return (text.replace("\0", "").strip() or default).encode("utf-8", "replace") + b"\n"


def _unfinished(top: str, operation: str) -> RepositoryError:
    return RepositoryError(
        f"git is in the middle of a {operation} in {top}, which Hookline did not begin",
        help=f"finish it, or run `git {operation} --abort` there",
    )


def _write_note(place: str, note: _Note) -> None:
    with own_folder(place) as folder:
        publish(folder, _NOTE, "\n".join(note).encode())


def _noted(place: str, ref: str) -> _Note | None:
    """The note of a rebase of that branch. An agent can write there, too, and names another."""
    try:
        lines = read_regular(os.path.join(place, _NOTE), 4096).decode("ascii", "replace")
    except OSError:
        return None
    found = _COMMITS.fullmatch(lines)
    return _Note(found[1], found[2], ref) if found is not None and found[3] == ref else None


def _target(place: str) -> str | None:
    """The commit that a rebase under way moves to."""
    try:
        found = read_regular(os.path.join(place, "rebase-merge", "onto"), 100)
    except OSError:
        return None
    return found.decode("ascii", "replace").strip()


def _forget(place: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(place, _NOTE))
