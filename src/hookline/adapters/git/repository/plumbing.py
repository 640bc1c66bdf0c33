"""One repository, its checkouts and its objects, asked in the words of git.

Every other part holds it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.adapters.git.checkout import checkout_of
from hookline.adapters.git.door import DAMAGED, Git, GitFailed, only_looks, printable
from hookline.adapters.git.refs import (
    STATUS,
    branch_in,
    is_missing,
    is_shallow,
    leads_to,
    plain_commit,
    read_commit,
    read_status,
)
from hookline.adapters.git.repository.conflicts import MergedTree, read_merge
from hookline.adapters.git.repository.control import control_state
from hookline.adapters.git.repository.locks import exclusive
from hookline.adapters.git.settings import GitSettings
from hookline.digest import sha256
from hookline.domain.work.repository import (
    Commit,
    Operation,
    RepositoryError,
    branch_of,
    control_changes,
    hook_changes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from hookline.adapters.git.checkout import Checkout
    from hookline.adapters.git.door import GitReply
    from hookline.adapters.git.refs import CheckoutStatus
    from hookline.ports.processes import Processes

STYLE = ("-c", "rebase.updateRefs=false", "-c", "merge.conflictStyle=merge")
_LAYOUT = (
    *("rev-parse", "--path-format=absolute", "--is-inside-work-tree"),
    *("--show-toplevel", "--git-common-dir", "--git-path", "hooks"),
)
_OPERATIONS: Mapping[str, Operation] = {
    "rebase-merge": "rebase",
    "rebase-apply/applying": "am",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


class Plumbing:
    """One repository and its checkouts, asked in the words of git.

    `root` is the project's folder and `folder` its `.hookline`; `wanted_base` is the branch that
    was chosen for work to go into. `hooks_before` tells how what steers git was before changes of
    hooks that no person has accepted.
    """

    def __init__(
        self,
        processes: Processes,
        root: str,
        folder: str,
        environ: Mapping[str, str],
        wanted_base: str | None,
        trusted: bool,
        hooks_before: Callable[[], Sequence[Mapping[str, str]]],
        clean: Callable[[str], str],
    ) -> None:
        self.door = Git(processes, environ, trusted=trusted)
        self.root = root
        self.folder = folder
        self.wanted_base = wanted_base
        self.settings = GitSettings(self.git, root, self.at, environ)
        self.objects = Objects(self)
        self._hooks_before = hooks_before
        self._clean = clean

    async def layout(self, folder: str) -> GitReply:
        """Where a git that writes in a folder would work, by the settings there."""
        return await self.settings.answer(folder, *_LAYOUT, as_writer=True)

    def told_commit(self, sha: str, subject: str) -> Commit:
        """A commit as it is told and kept; git itself gives its message exactly as it is."""
        return Commit(sha, self._clean(printable(subject)))

    async def branch(self, folder: str) -> str | None:
        """The branch that is checked out; None when a commit is."""
        return (await self.ref(folder)).removeprefix("refs/heads/") or None

    async def ref(self, folder: str) -> str:
        """The whole name of the branch that is checked out; nothing when a commit is."""
        if (name := branch_in(self.at(folder).git_dir)) is not None:
            return f"refs/heads/{name}"
        return (await self.git(folder, "symbolic-ref", "--quiet", "HEAD")).text

    async def dirty(self, folder: str) -> list[str]:
        """Files that are not committed, ignored ones aside."""
        return (await self.status(folder)).names

    async def status(self, folder: str) -> CheckoutStatus:
        """The commit that is checked out, and what is not committed."""
        said = await self.git(folder, *STATUS, doing="uncommitted changes are unknown")
        return read_status(said.names)

    async def sha(self, folder: str, name: str) -> str | None:
        """The commit that a full ref or a hash names; None when there is none."""
        if name.startswith("-") or any(c.isspace() for c in name):
            return None
        if (found := plain_commit(self.at(folder), name)) is not None:
            return found
        if is_missing(self.at(folder), name):
            return None
        said = await self.git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text or None if not said.code else None

    async def commit(self, name: str) -> str | None:
        """The same, where it is all one in which checkout."""
        return await self.sha(self.root, name)

    async def is_ancestor(self, older: str | None, newer: str | None) -> bool:
        """Whether one commit is another, or came before it; not if one is missing."""
        if older is None or newer is None:
            return False
        if leads_to(self.common, older, newer):
            return True
        return not (await self.ask("merge-base", "--is-ancestor", older, newer)).code

    @property
    def worktrees(self) -> str:
        """The folder of the worktrees of tasks."""
        return os.path.join(self.folder, "worktrees")

    def at(self, folder: str) -> Checkout:
        """The checkout that a folder is in, verified again for every git process."""
        return checkout_of(folder, self.worktrees)

    async def git(self, folder: str, *args: str, **options: Any) -> GitReply:
        """Ask git; without its hooks where they are not those that a person knows."""
        if options.get("hooks", True) and not only_looks(args) and await self._hooks_changed():
            options["hooks"] = False
        return await self.door.run(self.at(folder), *args, **options)

    async def ask(self, *args: str, **options: Any) -> GitReply:
        """Ask git about the repository, where it is all one in which checkout."""
        return await self.git(self.root, *args, **options)

    async def point(self, ref: str, commit: str, *, doing: str) -> None:
        """Let a ref of our own name a commit."""
        await self.ask("update-ref", "--no-deref", ref, commit, doing=doing)

    async def _hooks_changed(self) -> bool:
        before = self._hooks_before()
        now = await control_state(self) if before else {}
        return any(hook_changes(control_changes(each, now)) for each in before)

    @property
    def common(self) -> str:
        """The git folder that all worktrees of the repository share."""
        return self.at(self.root).common

    def exclusive(self, name: str) -> AbstractAsyncContextManager[None]:
        """The lock of that name: `async with repo.exclusive("merge"):`."""
        return exclusive(self.common, name)

    def alone_in(self, top: str) -> AbstractAsyncContextManager[None]:
        """The lock that keeps all others out of a checkout."""
        name = sha256(os.fsencode(os.path.realpath(top))).hexdigest()[:16]
        return self.exclusive(f"tree-{name}")

    async def operation(self, folder: str) -> Operation | None:
        """What git is in the middle of."""
        place = self.at(folder).git_dir
        for name, operation in _OPERATIONS.items():
            if os.path.exists(os.path.join(place, name)):
                return operation
        return None

    async def fork(self, folder: str, other: str, head: str = "HEAD") -> str:
        """The commit at which two went apart."""
        tip = await self.sha(folder, head)
        if tip is not None and leads_to(self.common, other, tip):
            return other
        said = await self.git(folder, "merge-base", other, head)
        if said.code or not said.text:
            help = "start the work again from the base"
            if is_shallow(self.common):
                help = "this clone is shallow: run `git fetch --unshallow`"
            raise RepositoryError("the work and its base have no commit in common", help=help)
        return said.text

    async def tip(self, folder: str) -> str:
        """The commit that is checked out."""
        found = await self.sha(folder, "HEAD")
        if found is None:
            help = "make a first commit, then try again"
            raise RepositoryError(f"there are no commits in {folder}", help=help)
        return found

    def task_branch(self, top: str) -> str | None:
        """The branch of the task whose worktree this is."""
        folder, name = os.path.split(top)
        own = folder == os.path.realpath(self.worktrees) and not name.startswith(".")
        return branch_of(name) if own else None


class Objects:
    """Trees and commits: read, verified and made without a checkout, so that none has a say."""

    def __init__(self, repo: Plumbing) -> None:
        self._repo = repo

    async def check(self, folder: str, *asked: str) -> GitReply:
        """Refuse objects that hold other bytes than their names say; else what git lists of them.

        Git itself does not look: it reads, tests and checks out what someone put in their place.
        """
        # What a partial clone has not fetched yet is not fetched for this.
        look = ("--objects", "--verify-objects", "--missing=allow-promisor", "--quiet")
        said = await self._repo.git(folder, "rev-list", *look, *asked)
        if said.code or DAMAGED in said.err:
            help = "`git fsck` lists them; another copy of the repository may have them intact"
            raise GitFailed("objects of git are damaged or were replaced", said, help=help)
        return said

    async def commit_tree(
        self, tree: str, parents: tuple[str, ...], message: bytes, by: Mapping[str, str]
    ) -> str:
        """A commit of exactly this content, in which no checkout and no hook has a say."""
        signed = ("-S",) if await self._repo.settings.get("commit.gpgsign") == "true" else ()
        on = [word for parent in parents for word in ("-p", parent)]
        asked, doing = ("commit-tree", *signed, *on, "-F", "-", tree), "nothing was committed"
        return (await self._repo.ask(*asked, stdin=message, aside=by, doing=doing)).text

    async def tree(self, commit: str) -> str:
        """The id of all that a commit holds."""
        if (found := read_commit(self._repo.common, commit)) is not None:
            return found.tree
        asked = ("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        return (await self._repo.ask(*asked, doing="the commit cannot be read")).text

    async def blob(self, folder: str, name: str, limit: int) -> bytes | None:
        """The content of a file that git keeps; None if there is none, or it is longer."""
        said = await self._repo.git(folder, "cat-file", "blob", name, limit=limit)
        return None if said.code or said.left_out else said.out

    async def hash_of(self, top: str, name: str, path: str | None = None) -> str:
        """The object that a file, or another one in its place, would be kept as."""
        asked = ("hash-object", f"--path={name}", "--", path or os.path.join(top, name))
        return (await self._repo.git(top, *asked)).text

    async def merge_trees(self, folder: str, ours: str, theirs: str) -> MergedTree:
        """What a merge of two commits comes to. It is made outside every checkout."""
        asked = ("merge-tree", "--write-tree", "--messages", "-z", ours, theirs)
        said = await self._repo.git(folder, *STYLE, *asked)
        if said.code not in (0, 1):
            raise GitFailed("the two cannot be merged", said)
        return read_merge(said.out)
