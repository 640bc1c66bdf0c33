"""The forge's part of a merge: CI has checked this commit, and no person asks for changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline import typed
from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import OK, SKIPPED
from hookline.domain.work.forge import MergeOutcome, NotMergeable, PullRequest, objections
from hookline.domain.work.repository import Prepared, Refused
from hookline.domain.work.submissions import Submission
from hookline.errors import HookFailure
from hookline.pipeline.repository import unmerged
from hookline.pipeline.repository.gate_calls import call_gate
from hookline.pipeline.repository.requests import MergeResult, RepoRequest
from hookline.ports.leases import prove_lease
from hookline.sessions.point_calls import built_in_gates, overridden

if TYPE_CHECKING:
    from hookline.domain.hooks.answers import GateAnswer
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.hooks.registry import Hook
    from hookline.pipeline.repository.effects import Workplace
    from hookline.ports.work import Forge

CI_STATUS = "ci_status"


class ForgeMerge:
    """A merge that a forge makes, or whose checks it runs."""

    def __init__(self, place: Workplace, run: Run, task: Task, asked: RepoRequest) -> None:
        self._place, self._around, self._repository = place, place.around, place.repository
        self._work = typed.convert(run.input, Submission)
        self._task, self._asked = task, asked
        self._forge: Forge = place.forge

    async def hindrance(self, prepared: Prepared, pull: PullRequest | None) -> MergeResult | None:
        """What prevents a tested result from being merged there; None if nothing does.

        The commit is pushed first, because the forge has to have it.
        """
        gates = self._check_gates()
        if not self._forge.merges or (pull is None and not gates):
            return None
        if pull is not None and pull.state == "closed":
            return unmerged.refused(f"pull request {pull.number} was closed without being merged")
        branch, remote = self._asked.branch, self._forge.push_remote
        pushed = await self._repository.pushes.push(self._asked.worktree, branch, remote)
        if isinstance(pushed, Refused):
            return unmerged.refused_by_git(pushed)
        for gate in gates:
            if (found := await self._checked(gate, prepared.head)) is not None:
                return found
        return None if pull is None else await self._objection(prepared, pull)

    def _check_gates(self) -> list[Hook]:
        """The gates that ask for the forge's checks of this work."""
        if self._work.skip_pr:
            return []
        passed_by = overridden(self._around, self._work.task_id)
        return built_in_gates(self._around, self._work, CI_STATUS, but=passed_by)

    async def _checked(self, gate: Hook, head: str) -> MergeResult | None:
        """What the gate says about the commit to be merged; None if it passes."""
        key = f"{self._work.task_id}-{head}"
        outcome = await call_gate(self._around, gate, self._work, self._task.goal, key)
        if outcome.status == SKIPPED:  # its condition excludes this work
            return None
        if outcome.status != OK:
            raise HookFailure(f"{short_name(gate.name)}: {outcome.error}")
        answer: GateAnswer = outcome.answer
        message = f"{short_name(gate.name)}: {answer.message}"
        if answer.status == "pending":
            return unmerged.waits(message, "checks", head, answer.retry_after)
        if answer.status == "failure":
            prompt = answer.remediation_prompt
            return MergeResult(status="failed", message=message, remediation_prompt=prompt)
        return None

    async def _objection(self, prepared: Prepared, pull: PullRequest) -> MergeResult | None:
        """The changes that reviewers of this work ask for, also before it was rebased."""
        asked = self._asked
        heads = (*asked.heads, asked.head, prepared.head, pull.head)
        said = [each for each in await self._forge.reviews(pull) if each.head in heads]
        against = objections(said, asked.head, asked.told)
        return unmerged.objection(against, prepared.head) if against else None

    async def merge(self, prepared: Prepared, pull: PullRequest, message: str) -> MergeOutcome:
        """Let the forge merge; NotMergeable if the base moved since the result was tested."""

        async def check() -> None:
            prove_lease()
            if await self._repository.bases.head(prepared.base) != prepared.base_head:
                raise NotMergeable(f"{prepared.base} moved since the result was tested")

        method = self._asked.method
        return await self._forge.merge(pull, prepared.head, method, message, check=check)
