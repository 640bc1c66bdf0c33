"""A task's work while it passes gates: where it is, its commits, and a conflict in its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.work.submissions import GateSettings, Submission, waiting_for
from hookline.pipeline.repository.conflicts import OpenedConflict
from hookline.pipeline.repository.requests import PreparedWork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context

BEFORE_SUBMIT = "before_submit"
BEFORE_MERGE = "before_merge"
PINS = "gates"
WORKTREE = "worktree"


class WorkInput(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What the inputs of sessions, submissions and merges have in common."""

    task_id: str
    agent: str | None = None
    worktree: str | None = None
    branch: str | None = None
    base: str | None = None
    skip_pr: bool = False


def work_input(run: Run) -> WorkInput:
    """The work that a run is about."""
    return typed.convert(run.input, WorkInput)


def settings_of(run: Run) -> GateSettings:
    """What a run keeps of the configuration of gates."""
    return typed.convert(run.pins.get(PINS, {}), GateSettings)


class GatedWork:
    """The work of one run, as the repository and the store know it."""

    def __init__(
        self, ctx: Context, run: Run, leave_queue: Callable[[], Awaitable[None]] | None
    ) -> None:
        self.ctx = ctx
        self._leave_queue = leave_queue
        self.submission = typed.convert(run.input, Submission)
        self.settings = settings_of(run)
        self.prepared = PreparedWork(goal="")
        self.had_commits = False
        self.compared: Mapping[str, Any] = {}
        # Who found the conflict that is open in the worktree's files, and with which prompt.
        self.conflict: str | None = None
        self.unresolved: str | None = None
        self._note: str | None = None
        # Why the agent's last turn failed.
        self.trouble: str | None = None
        # The heads so far.
        self.heads: list[str] = []

    async def repo(self, verb: str, args: Mapping[str, Any]) -> Any:
        """Do something to the repository; harmless when it is repeated."""
        return await self.ctx.own("repo", {**args, "verb": verb}, id=verb)

    async def gate(self, verb: str, args: Mapping[str, Any]) -> Any:
        """Do something to the store."""
        return await self.ctx.own("gate", {**args, "verb": verb}, id=verb)

    async def prepare(self) -> PreparedWork:
        """Commit what the agent left, or refuse; the state of the work now."""
        # Kept: once the work is merged, nothing is committed any more.
        place = self.place()
        if self.conflict is not None:
            place["answered"] = self.trouble is None
        found = self.prepared = typed.convert(await self.repo("prepare", place), PreparedWork)
        if found.conflict:
            self.conflict, self._note = self.conflict or WORKTREE, found.note or self._note
        elif found.settled:
            self.conflict = self._note = None
        self.had_commits = self.had_commits or bool(found.commits)
        self.compared = found.compared or self.compared
        if found.head is not None and found.head not in self.heads:
            self.heads.append(found.head)
        return found

    async def open_conflict(self, name: str, prompt: str) -> str | None:
        """Merge the base into the files, as `name` asks; the prompt about what conflicts."""
        asked = await self.repo("open_conflict", self.place())
        opened = typed.convert(asked, OpenedConflict)
        if not opened.open:
            return None
        self.conflict, self.unresolved, self._note = name, prompt, opened.note
        return opened.prompt

    async def drop_conflict(self) -> str | None:
        """Undo the merge of the base into the files; where what was edited is kept."""
        kept: str | None = (await self.repo("drop_conflict", self.place()))["kept"]
        return kept

    def place(self) -> dict[str, Any]:
        """Where the work is, as an argument of effects on the repository."""
        work = self.submission
        return {
            "taskId": work.task_id,
            "worktree": work.worktree,
            "branch": work.branch,
            "base": work.base,
            "uncommitted": self.settings.uncommitted,
            "maxFile": self.settings.max_file,
            **({"note": self._note} if self._note else {}),
        }

    async def wait_for(self, signal: str, max_age: float | None = None) -> Any:
        """Wait for a signal; the work gives up its turn in the queue."""
        await self.let_others_go()
        return await self.ctx.signal(signal, max_age=max_age, metadata=waiting_for(signal))

    async def let_others_go(self) -> None:
        """Called before a wait of unknown length."""
        if self._leave_queue is not None:
            await self._leave_queue()
