"""What single commits of the work hold, although a later one took it out again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.hooks.builtin.gates.diff import FileDiff, read_diff
from hookline.hooks.language.globs import matches_any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.domain.work.repository import CommitWithParents
    from hookline.hooks.builtin.gates.common import Judging

    LookThrough = Callable[[Sequence[FileDiff], Mapping[str, bytes]], list[str]]


class PastCommits:
    """Looks through the work commit by commit. What cannot be looked at is a finding as well."""

    def __init__(
        self, judging: Judging, allow: Sequence[str], limits: tuple[int, int], look: LookThrough
    ) -> None:
        self._folder, self._history = judging.folder, judging.repository.history
        self._base = judging.context.base_branch
        self._allow, self._look = allow, look
        self._longest, self._most_binary = limits

    async def findings(self, head: str) -> dict[str, list[str]]:
        """What was found, by commit; of work that is one commit its diff tells everything."""
        steps = await self._history.steps(self._folder, self._base, head)
        if len(steps) < 2:
            return {}
        found = {step.commit: await self._in_step(step) for step in steps}
        return {commit: each for commit, each in found.items() if each}

    async def _in_step(self, step: CommitWithParents) -> list[str]:
        files = await self._added(step)
        if files is None:
            return ["it cannot be searched"]
        binary = [file.path for file in files if file.binary and not file.deleted]
        history, most = self._history, self._most_binary
        read = await history.contents(self._folder, step.commit, binary, most) if binary else {}
        unseen = [f"{path}: it cannot be searched" for path in binary if path not in read]
        # Patterns over megabytes of text take seconds, in which others want to work.
        return [*await asyncio.to_thread(self._look, files, read), *unseen]

    async def _added(self, step: CommitWithParents) -> list[FileDiff] | None:
        """What a commit adds to all of its parents; None if nobody can tell."""
        found: list[FileDiff] | None = None
        for parent in step.parents:
            diff = await self._history.diff_between(
                self._folder, parent, step.commit, self._longest
            )
            if len(diff) >= self._longest:
                return None
            files = [each for each in read_diff(diff) if not matches_any(each.path, self._allow)]
            found = files if found is None else _common(found, files)
        return found


def _common(some: Sequence[FileDiff], others: Sequence[FileDiff]) -> list[FileDiff]:
    """The files of both diffs, with the lines that both add."""
    by_path = {file.path: file for file in others}
    return [_shared(file, by_path[file.path]) for file in some if file.path in by_path]


def _shared(file: FileDiff, other: FileDiff) -> FileDiff:
    lines = {text for _, text in other.added}
    added = [line for line in file.added if line[1] in lines]
    return FileDiff(file.path, added, file.removed, file.binary, file.deleted)
