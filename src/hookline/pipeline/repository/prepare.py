"""Prepares a task's work for its gates: commits all of it, or says why not."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.domain.pages.taskpage import commit_message, task_page, trailers_of
from hookline.domain.work.repository import (
    RebaseConflict,
    RepositoryError,
    RepositoryState,
    WorkFinding,
    named,
)
from hookline.files import text_of
from hookline.hooks.builtin.gates.common import astray_prompt, unfinished_prompt
from hookline.hooks.framing import framed
from hookline.pipeline.checks_ahead import ChecksAhead, frozen_by
from hookline.pipeline.repository import findings
from hookline.pipeline.repository.conflicts import close_conflict, still_open
from hookline.pipeline.repository.requests import PreparedWork, RepoRequest
from hookline.pipeline.repository.unmerged import conflicting
from hookline.points import HOLDING
from hookline.project import recorded_path
from hookline.sessions.point_calls import hooks_at
from hookline.sessions.spending import turn_spans
from hookline.sessions.told import prompts
from hookline.sessions.told.task_file import export_task
from hookline.tasks.work_record import is_excused, reported_reasons, start_of

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.domain.work.repository import Span
    from hookline.hooks.registry import Hook
    from hookline.pipeline.repository.effects import Workplace

NAMED = 5


class Preparation:
    """The work of one task; `work` says what was committed and found."""

    def __init__(self, place: Workplace, run: Run, asked: RepoRequest) -> None:
        self._around, self._repository, self._asked = place.around, place.repository, asked
        self._is_yours = place.is_yours(asked)
        self._agent, self._run = run.input.get("agent"), run
        self._task = task = place.task(asked)
        gates = [hook for point in HOLDING for hook in self._gates(point)]
        self.work = PreparedWork(
            goal=task.goal,
            task=prompts.capped(task_page(task)),
            ahead=frozen_by(gates, place.around),
            settled=False,
        )

    async def prepare(self) -> PreparedWork:
        """Commit what is uncommitted, and count the commits; or say what prevents it."""
        try:
            if await self._settle_conflict():
                await self._take()
        except RepositoryError as problem:
            self._refuse(problem.message, await self._way_out(problem))
        if self.work.remediation_prompt:
            self.work.ahead = await ChecksAhead(self._around, self._run).find()
        return self.work

    async def _take(self) -> None:
        asked, work = self._asked, self.work
        work.settled = True  # no conflict is open, or it is resolved
        # Before anything is written there: the folder may be something else by now.
        await self._repository.changes.check(asked.worktree, asked.branch)
        # The agent can move what is known of the remote, and hide commits by that.
        await self._repository.bases.head(asked.base)
        with self._around.store.read() as view:
            path = export_task(view, self._task, asked.worktree)
        work.task_path = recorded_path(self._around.root, path)
        state = await self._repository.describe(asked.worktree)
        work.head = state.head
        if state.dirty and asked.uncommitted == "refuse":
            self._refuse(f"not committed: {state.listed(NAMED)}")
            return
        await (self._take_committed(state) if self._is_yours else self._commit(state))
        if work.refused is not None:
            return
        if work.commits:
            with suppress(RepositoryError):  # gates that compare them say it, with what to do
                work.fork = await self._repository.history.merge_base(asked.worktree, asked.base)
        else:
            await self._note_missing_commits()

    async def _settle_conflict(self) -> bool:
        """Commit a conflict that the agent resolved in its files; whether none is left."""
        if self._is_yours:
            return True
        repository, asked = self._repository, self._asked
        if (left := await still_open(repository, asked)) is not None:
            self.work.note = left.note
            self._refuse(left.message, left.prompt)
        elif found := await repository.findings.of_conflict(asked.worktree, asked.max_file):
            self._refuse_findings(found)
        elif (left := await close_conflict(repository, asked)) is not None:
            self._refuse(left.message, left.prompt)
        self.work.conflict = self.work.refused is not None
        return not self.work.conflict

    async def _take_committed(self, state: RepositoryState) -> None:
        """The work on a person's own branch: only commits count, the rest is listed."""
        asked, work = self._asked, self.work
        work.commits = await self._repository.history.commits_ahead(asked.worktree, asked.base)
        work.uncommitted, work.uncommitted_count = list(state.dirty), state.dirty_count

    async def _commit(self, state: RepositoryState) -> None:
        """The work in a task's worktree, all of it committed unless something must not be."""
        repository, asked, work = self._repository, self._asked, self.work
        folder, base = asked.worktree, asked.base
        if state.dirty:
            if found := await repository.findings.uncommitted(folder, asked.max_file):
                self._refuse_findings(found)
                return
            message = commit_message(self._task.goal, trailers_of(self._task.id, self._agent))
            done = await repository.changes.commit_all(folder, message, branch=asked.branch)
            work.head = done or work.head
        work.commits = await repository.history.commits_ahead(folder, base)
        if not work.commits:
            return
        found = await repository.findings.committed(folder, base, asked.max_file)
        if found and all(each.gone for each in found):
            branch = asked.branch
            work.head = await repository.changes.replace_commits(folder, base, branch=branch)
            work.commits = await repository.history.commits_ahead(folder, base)
            found = await repository.findings.committed(folder, base, asked.max_file)
        if found:
            self._refuse_findings(found)
        elif work.commits and not await self._refuse_bypassed():
            await self._follow_base()

    async def _refuse_bypassed(self) -> bool:
        """Leave work to a person, once, if its author put some of it into the base without us."""
        asked = self._asked
        with self._around.store.read() as view:
            start, task = start_of(view, asked.task_id), view.graph.task(asked.task_id)
            told = reported_reasons(view, task)
        found = await self._repository.unchecked.bypassed(
            asked.worktree, asked.base, start, task.artifacts
        )
        new = [each for each in found if each.sha[:12] not in told]
        if new:
            seen = f"{asked.base} already has commits of the work that bypassed its gates"
            self._refuse(f"{seen}: {named(new)}")
        return bool(new)

    async def _follow_base(self) -> None:
        """Move the work onto its base if that changed a script which the work leaves alone.

        A gate runs a script only as it was trusted. The author of the work did not write the older
        one and could not replace it, so nobody is asked unless the work conflicts with the base.
        """
        repository, asked, work = self._repository, self._asked, self.work
        trust = self._around.merge_trust()
        others = trust.other_scripts(asked.worktree) if trust is not None else set()
        if work.head is None or not others:
            return
        if not others & await self._changed_by_base_alone(work.head):
            return
        moved = await repository.changes.rebase(asked.worktree, asked.base, branch=asked.branch)
        if isinstance(moved, RebaseConflict):
            found = conflicting(asked.base, moved.onto, moved.files, is_yours=False)
            self._refuse(found.message, found.remediation_prompt)
            work.conflicts = True
        else:
            work.head = moved.head
            work.commits = await repository.history.commits_ahead(asked.worktree, asked.base)

    async def _changed_by_base_alone(self, head: str) -> set[str]:
        history, asked = self._repository.history, self._asked
        fork = await history.merge_base(asked.worktree, asked.base)
        newest = await self._repository.bases.head(asked.base)
        theirs = await history.changed_between(fork, newest)
        ours = await history.changed_between(fork, head)
        return {text_of(name) for name in set(theirs).difference(ours)}

    async def _note_missing_commits(self) -> None:
        """Why there are no commits: nothing had to change, or the work is elsewhere."""
        asked, work = self._asked, self.work
        with self._around.store.read() as view:
            task, start = view.graph.task(asked.task_id), start_of(view, asked.task_id)
            excused, spans = is_excused(view, task), turn_spans(view, asked.task_id)
        has_gates = task.type is not None and any(self._gates(point) for point in HOLDING)
        work.without_commits = "park" if has_gates and not excused else "complete"
        if self._is_yours:
            return
        found = await self._repository.findings.elsewhere(asked.worktree, asked.base, start)
        if found is not None:
            work.elsewhere, work.lost = found.seen, found.lost
        elif not excused:
            await self._note_other_checkout(start, spans)

    async def _note_other_checkout(self, start: str | None, spans: list[Span]) -> None:
        made = await self._repository.unchecked.made_in_checkout(start, spans)
        if made:
            self.work.elsewhere = (
                f"commits were made in {self._repository.root} while the agent worked, and none on"
                f" the task's branch: {named(made)}"
            )

    def _gates(self, point: str) -> list[Hook]:
        return hooks_at(self._around, point, self._agent, self._task.type)

    async def _way_out(self, problem: RepositoryError) -> str | None:
        """The prompt for a worktree in which nothing could be committed."""
        if self._is_yours:
            return None
        state = await self._repository.describe(self._asked.worktree)
        if state.blocking is None and state.operation is not None:
            return unfinished_prompt(state.operation)
        if state.blocking is None and state.branch != self._asked.branch:
            return astray_prompt(state, self._asked.branch)
        if state.blocking is None and state.dirty:
            return (
                "Your work could not be committed. Fix what prevents it. Do not bypass a git hook"
                " with `--no-verify`.\n\n" + framed("What happened", problem.message)
            )
        return None

    def _refuse_findings(self, found: tuple[WorkFinding, ...]) -> None:
        largest = self._asked.max_file
        self._refuse(findings.reason(found, largest), findings.prompt(found, largest))

    def _refuse(self, message: str, prompt: str | None = None) -> None:
        self.work.refused, self.work.remediation_prompt = message, prompt
