"""Where the work on a task is, if several machines share the store, and its newest copy."""

from __future__ import annotations

import msgspec

from hookline.domain.work.repository import Worktree


class WorkCopy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A task's work as it was at one moment, to be continued elsewhere.

    `tip` is the last commit of its branch, and `files` the commit that holds the files as they lay
    then, untracked ones included; `tree` is what that holds. The `blob` has what the base has not;
    None if that is nothing. `merging` is the commit whose merge was under way, `pushed` is what
    was noted of pushes, each under its ref, and `left_out` are files that did not come along.
    """

    tip: str
    files: str
    tree: str
    taken_at: str = ""
    blob: str | None = None
    size: int = 0
    merging: str | None = None
    pushed: dict[str, str] = {}
    left_out: tuple[str, ...] = ()

    def is_like(self, other: WorkCopy) -> bool:
        """Whether nothing has happened to the work from one to the other."""
        facts = ((e.tip, e.tree, e.merging, e.pushed, e.left_out) for e in (self, other))
        return next(facts) == next(facts)


class TakenCopy(msgspec.Struct, frozen=True):
    """A copy that was taken, and the bundle of git with what the base has not."""

    copy: WorkCopy
    bundle: bytes | None


class Restored(msgspec.Struct, frozen=True):
    """A worktree that was made from a copy, and the refs that keep what was there before."""

    worktree: Worktree
    rescued: tuple[str, ...] = ()


class WorkPlace(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where the work on a task is: only the clone `holder` has its files and conversations.

    `was` is the clone that had them before, until the agent has had a turn in this one. `stale` are
    blobs of earlier copies, and `conversations` are those that agents began on the task, each with
    the clone in which it can be continued.
    """

    holder: str
    copy: WorkCopy | None = None
    was: str | None = None
    stale: tuple[str, ...] = ()
    conversations: dict[str, str] = {}

    @property
    def host(self) -> str:
        """The host of that clone."""
        return self.holder.partition(":")[0]

    @property
    def blobs(self) -> list[str]:
        """The blobs that are gone when the task is over."""
        own = (self.copy.blob,) if self.copy is not None and self.copy.blob else ()
        return [*own, *self.stale]

    def with_copy(self, copy: WorkCopy) -> WorkPlace:
        """The same place with a newer copy of the work in it."""
        stale = tuple(each for each in self.blobs if each != copy.blob)
        return msgspec.structs.replace(self, copy=copy, stale=stale)
