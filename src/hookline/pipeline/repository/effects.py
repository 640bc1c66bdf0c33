"""Effects on the repository: takes one request of a flow, returns its result."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.runs.model import OK, Resolution, Run
from hookline.domain.work.forge import ForgeError, ForgeTemporary, MergeWaits, refuse_other_base
from hookline.domain.work.repository import Kept, RepositoryError
from hookline.pipeline.checks_ahead import ChecksAhead
from hookline.pipeline.repository import conflicts
from hookline.pipeline.repository.merging import Merging
from hookline.pipeline.repository.people_merge import PeopleMerge
from hookline.pipeline.repository.prepare import Preparation
from hookline.pipeline.repository.requests import MergeResult, RepoRequest
from hookline.pipeline.repository.unmerged import not_yet, refused
from hookline.project import path_here

if TYPE_CHECKING:
    from hookline.domain.tasks import Task
    from hookline.domain.work.forge import PullRequest
    from hookline.domain.work.submissions import Submission
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.ports.repository import Repository
    from hookline.ports.work import Forge


class Workplace:
    """The subject of a request of the pipeline, looked up when needed."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around

    @property
    def repository(self) -> Repository:
        """The project's repository."""
        assert self.around.repository is not None
        return self.around.repository

    @property
    def forge(self) -> Forge:
        """Where its pull requests live."""
        assert self.around.forge is not None
        return self.around.forge()

    def task(self, asked: RepoRequest) -> Task:
        """The task whose work it is."""
        with self.around.store.read() as view:
            return view.graph.task(asked.task_id)

    def is_yours(self, asked: RepoRequest | Submission) -> bool:
        """Whether the work is on a branch in a person's own checkout, and not in a worktree."""
        root = self.around.root
        return os.path.realpath(path_here(root, asked.worktree)) == os.path.realpath(root)

    async def pull_request(self, asked: RepoRequest) -> PullRequest | None:
        """The pull request of the work, if it has one."""
        if asked.skip_pr:
            return None
        if asked.pull_request is None:
            return await self.forge.find_pull_request(asked.branch, asked.base)
        pull = await self.forge.pull_request(asked.pull_request)
        refuse_other_base(pull, asked.base)
        return pull


class RepoEffects:
    """What the flows of the pipeline do to the repository."""

    def __init__(self, around: Surroundings) -> None:
        self._place = Workplace(around)

    async def carry_out(self, attempt: Attempt) -> Resolution:
        """Carry out one verb; problems that an agent or a person can fix are part of its value."""
        asked = typed.convert(attempt.args, RepoRequest)
        worktree = path_here(attempt.around.root, asked.worktree)
        value = await self._done(attempt, msgspec.structs.replace(asked, worktree=worktree))
        return Resolution(OK, msgspec.to_builtins(value))

    async def _done(self, attempt: Attempt, asked: RepoRequest) -> Any:
        place, run = self._place, attempt.run
        match asked.verb:
            case "prepare":
                return await Preparation(place, run, asked).prepare()
            case "merge":
                return await self._with_checks(run, await Merging(place, attempt, asked).merge())
            case "open_conflict":
                return await conflicts.open_conflict(place.repository, asked)
            case "drop_conflict":
                return await conflicts.drop_conflict(place.repository, asked)
            case "ask_people":
                return await self._with_checks(run, await self._ask_people(run, asked))
            case "clean":
                return await self._clean(asked)
            case _:
                return await ChecksAhead(place.around, run, of_parts=asked.of_parts).find()

    async def _with_checks(self, run: Run, found: MergeResult) -> MergeResult:
        """What an agent has to fix, with what will check it."""
        if found.remediation_prompt:
            found.ahead = await ChecksAhead(self._place.around, run).find()
        return found

    async def _ask_people(self, run: Run, asked: RepoRequest) -> MergeResult:
        """Whether people have merged the work."""
        place = self._place
        asking = PeopleMerge(place, place.task(asked), run.pins.get("submitted"))
        try:
            return await asking.ask(asked, await place.pull_request(asked))
        except (ForgeTemporary, MergeWaits) as problem:
            return await not_yet(place.repository, asked, problem)
        except (RepositoryError, ForgeError) as problem:
            return refused(problem.message)

    async def _clean(self, asked: RepoRequest) -> Any:
        """Remove a task's worktree, if nothing in it is unsaved, and its pushed branch."""
        try:
            left = await self._remove_pushed(asked)
            kept = await self._place.repository.worktrees.clean(asked.task_id)
        except RepositoryError as problem:
            return {"kept": [problem.message]}
        found = {"kept": list(kept.unsaved)} if isinstance(kept, Kept) else {"removed": True}
        return found if left is None else {**found, "remoteBranch": left}

    async def _remove_pushed(self, asked: RepoRequest) -> str | None:
        """Remove the task's branch from the remote; a person's own branch stays."""
        remote = self._place.forge.push_remote
        if not asked.remove_pushed or remote is None or self._place.is_yours(asked):
            return None
        return await self._place.repository.pushes.remove(asked.branch, remote)
