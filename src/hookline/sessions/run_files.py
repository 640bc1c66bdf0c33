"""The files of a run: where they are, and what was done to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.sessions.turns import AgentEvent
from hookline.project import path_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.runs.model import Run
    from hookline.domain.work.repository import WorkState
    from hookline.flows.attempt import Surroundings


class RunFiles:
    """The files that the agents of runs work on."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        # Until a hook or a rule runs, no one else has touched the files of a run.
        self._states: dict[str, WorkState] = {}

    def folder(self, run: Run) -> str:
        """Where the agent of a run works: the worktree of its task, or the project's root."""
        return path_here(self._around.root, run.input.get("worktree") or "")

    def forget(self, run: Run) -> None:
        """Note that programs may touch the files of a run from now on."""
        self._states.pop(run.run_id, None)

    def known(self, run: Run) -> WorkState | None:
        """The files of a run as they were seen last, if nobody touched them since."""
        return self._states.get(run.run_id)

    async def state(self, run: Run) -> WorkState:
        """The files of a run as they are, or as they were seen last if nobody touched them."""
        known = self._states.pop(run.run_id, None)
        return known or await self._around.work.state(self.folder(run))

    async def done(self, run: Run, before: WorkState) -> dict[str, Any]:
        """What was done to the files since."""
        work, root = self._around.work, self.folder(run)
        after = self._states[run.run_id] = await work.state(root)
        if after.error is not None:
            notice = AgentEvent(type="notice", text=after.error)
            self._around.feed(run.run_id)("agent", msgspec.to_builtins(notice))
        files = await work.between(root, before, after)
        done = {"filesModified": files, "fingerprint": after.fingerprint}
        # What is committed can be shown later, whatever becomes of the files.
        is_moved = after.commit != before.commit
        return {**done, "commits": [before.commit, after.commit]} if is_moved else done

    async def tree(self, run: Run, base: str | None, counted: Sequence[str] = ()) -> dict[str, Any]:
        """The work as a tree, with what it changes since a base."""
        found = await self._around.work.tree(self.folder(run), base, counted)
        return dict(msgspec.to_builtins(found))
