"""Moving a branch forward in one step, with the checkout that has it, and nobody's edits lost."""

from __future__ import annotations

import os
from contextlib import suppress

from hookline.adapters.git.door import HOOKED, LIMIT, printable
from hookline.adapters.repository_scratch import Scratch
from hookline.domain.repository import Refused, RepositoryError
from hookline.files import own_folder, publish, read_regular

# Written into the checkout's git folder before its files are changed, with the tree they go to:
# after a crash the same merge is another commit.
_NOTE = "hookline-step"
_FILES = ("100644", "100755")


class Stepping(Scratch):
    """Fast-forwards of branches that people may have checked out."""

    async def _advance(self, ref: str, old: str, new: str) -> Refused | None:
        """Move a branch forward; refused before anything moved if edits are in the way."""
        checkout = await self._checkout_of(ref)
        if checkout is None:
            return await self._advance_ref(ref, old, new)
        await self._verify(checkout)
        if (operation := await self._operation(checkout)) is not None:
            reason = f"git is in the middle of a {operation} in {checkout}: finish it"
            return Refused("local-edits", reason)
        if await self._would_become_sparse(checkout):
            reason = f"core.sparseCheckout is on, but {checkout} holds all files: a step would"
            return Refused("local-edits", f"{reason} remove some; `git sparse-checkout disable`")
        if (lock := self._lock_in_the_way(checkout, ref)) is not None:
            reason = f"git holds {lock}: if no git is at work there, remove it"
            return Refused("rejected", reason)
        note = os.path.join(self._at(checkout).git_dir, _NOTE)
        tree = (await self._git(checkout, "rev-parse", f"{new}^{{tree}}", doing="no step")).text
        await self._take_up(checkout, old, new, cut_short=_noted(note) == tree)
        with own_folder(os.path.dirname(note)) as folder:
            publish(folder, _NOTE, tree.encode())
        # Ignored files are the user's as well.
        only = ("--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-squash", "--quiet")
        said = await self._git(checkout, *_straight(ref), "merge", *only, new, timeout=HOOKED)
        os.unlink(note)
        if not said.code:
            return None
        edits = await self._edits_in_the_way(checkout, old, new)
        named = ", ".join(edits[:5]) or "see what git says"
        return Refused(
            "local-edits",
            f"edits in {checkout} would be overwritten ({named}): commit them or put them away",
            said.words,
            checkout,
            tuple(edits),
        )

    async def _would_become_sparse(self, checkout: str) -> bool:
        """Whether somebody has turned on a setting that git has not acted on yet."""
        if await self._settings.get("core.sparsecheckout") != "true":
            return False
        said = await self._git(checkout, "ls-files", "-t", "-z", doing="the files are unknown")
        return not any(name.startswith("S ") for name in said.names)

    def _lock_in_the_way(self, checkout: str, ref: str) -> str | None:
        """A lock at which git would stop after it has changed the files."""
        at = self._at(checkout)
        places = (at.git_dir, "index"), (at.git_dir, "HEAD"), (at.common, ref)
        locks = (os.path.join(folder, f"{name}.lock") for folder, name in places)
        return next((lock for lock in locks if os.path.lexists(lock)), None)

    async def _advance_ref(self, ref: str, old: str, new: str) -> Refused | None:
        if await self._is_being_rebased(ref):
            return Refused("local-edits", f"{ref} is in the middle of a rebase: finish it")
        said = await self._git(self.root, "update-ref", "-m", "hookline: merge", ref, new, old)
        return Refused("rejected", f"{ref} did not move", said.words) if said.code else None

    async def _is_being_rebased(self, ref: str) -> bool:
        place = self._at(self.root).git_dir
        heads = (
            os.path.join(place, name, "head-name") for name in ("rebase-merge", "rebase-apply")
        )
        return any(_noted(path) == ref for path in heads)

    async def _edits_in_the_way(self, checkout: str, old: str, new: str) -> list[str]:
        said = await self._git(checkout, "diff", "--name-only", "--no-renames", "-z", old, new)
        touched = set(said.names)
        return sorted(printable(name) for name in await self._dirty(checkout) if name in touched)

    async def _take_up(self, checkout: str, old: str, new: str, *, cut_short: bool) -> None:
        """Let the index know files that already are as they will be.

        A crash in the middle of the step leaves such files, and git would take them for edits.
        One that git was writing when it was killed is the beginning of what it will be.
        """
        dirty = set(await self._dirty(checkout))
        if not dirty:
            return
        said = await self._git(
            checkout, "diff-tree", "-r", "-z", "--no-renames", old, new, doing="no step forward"
        )
        entries = []
        for about, name in zip(said.names[::2], said.names[1::2], strict=True):
            _, mode, _, blob, _ = about.split(" ")
            path = os.path.join(checkout, name)
            if name not in dirty or mode not in _FILES or not _is_plain(path):
                continue
            if await self._is_blob(checkout, name, blob):
                entries.append(os.fsencode(f"{mode} {blob}\t{name}") + b"\0")
            elif cut_short and await self._begins(checkout, name, blob):
                os.unlink(path)
        if entries:
            await self._git(
                *(checkout, "update-index", "-z", "--index-info"),
                stdin=b"".join(entries),
                doing=f"{checkout} cannot be brought along",
            )

    async def _is_blob(self, checkout: str, name: str, blob: str) -> bool:
        path = os.path.join(checkout, name)
        said = await self._git(checkout, "hash-object", f"--path={name}", "--", path)
        return said.text == blob

    async def _begins(self, checkout: str, name: str, blob: str) -> bool:
        with open(os.path.join(checkout, name), "rb") as file:
            found = file.read(LIMIT)
        with suppress(RepositoryError):  # too large to be compared: it stays
            said = await self._git(checkout, "cat-file", "--filters", f"--path={name}", blob)
            return not said.code and said.out.startswith(found)
        return False


def _straight(ref: str) -> tuple[str, ...]:
    """No setting of the repository makes a merge of another kind out of a step forward."""
    own = f"branch.{ref.removeprefix('refs/heads/')}.mergeOptions="
    return ("-c", "pull.twohead=ort", "-c", own)


def _noted(path: str) -> str | None:
    try:
        return read_regular(path, 1000).decode("utf-8", "replace").strip()
    except OSError:
        return None


def _is_plain(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)
