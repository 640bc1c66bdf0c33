"""The forge's part of a merge: CI has seen the very commit, and no person asks for changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.forge import TOLD, ForgeTemporary, MergeWaits, NotMergeable, objections
from hookline.domain.records import OK, SKIPPED
from hookline.domain.repository import Refused
from hookline.domain.submissions import Submission
from hookline.errors import HookFailure
from hookline.flows import prompts
from hookline.flows.judged import gate_payload
from hookline.flows.merge_facts import MergeFacts
from hookline.flows.merge_trust import WAITS
from hookline.flows.merged_tests import POINTS, Unrecorded
from hookline.hooks.builtin.gates_common import pause_until
from hookline.hooks.builtin.gates_push import refusal
from hookline.hooks.builtin.gates_reviews import changes_wanted
from hookline.hooks.frames import Frame
from hookline.hooks.names import short_name
from hookline.hooks.overrides import overrides
from hookline.hooks.rules import RULES
from hookline.points import GATE

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.domain.forge import MergeOutcome, PullRequest, Review
    from hookline.domain.repository import Prepared
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.flows.effects import Surroundings
    from hookline.hooks.registry import Hook
    from hookline.ports.work import Forge, Repository

CI_STATUS = "ci_status"
CHECKS_WAIT, PEOPLE_WAIT = 30.0, 120.0
MAX_WORDS = 1000


class ForgeMerge:
    """One merge that a forge makes, or that its checks have a say in."""

    def __init__(self, around: Surroundings, run: Run, task: Task, args: dict[str, Any]) -> None:
        assert around.repository is not None
        assert around.forge is not None
        self._around = around
        self._work = msgspec.convert(run.input, Submission)
        self._task = task
        self._args = args
        self._repository = around.repository
        self._forge: Forge = around.forge()

    async def hindrance(
        self, prepared: Prepared, pull: PullRequest | None
    ) -> dict[str, Any] | None:
        """What keeps a tested result from being merged there; None if nothing does.

        The commit is pushed first, so that nothing is asked about one that the forge lacks.
        """
        gates = self._check_gates()
        if not self._forge.merges or (pull is None and not gates):
            return None
        if pull is not None and pull.state == "closed":
            why = f"pull request {pull.number} was closed without being merged"
            return {"status": "refused", "message": why}
        branch, remote = self._args["branch"], self._forge.push_remote
        pushed = await self._repository.push(self._args["worktree"], branch, remote)
        if isinstance(pushed, Refused):
            return self._not_pushed(pushed)
        for gate in gates:
            if (found := await self._checked(gate, prepared.head)) is not None:
                return found
        return None if pull is None else await self._objection(prepared, pull)

    def _not_pushed(self, pushed: Refused) -> dict[str, Any]:
        found = refused_by_git(pushed)
        if pushed.kind == "diverged":
            prompt = refusal(pushed, self._args["branch"], str(self._forge.push_remote))[1]
            return {**found, "status": "failed", "remediationPrompt": prompt}
        return found

    def _check_gates(self) -> list[Hook]:
        """The gates by which checks of the forge count for this work."""
        if self._work.skip_pr:
            return []
        with self._around.store.read() as view:
            passed_by = {each.hook for each in overrides(view, self._work.task_id)}
        found: dict[bytes, Hook] = {}
        for point in POINTS:
            hooks = self._around.standing.hooks_at(
                point, agent=self._work.agent, task_type=self._work.task_type
            )
            for hook in self._around.recorder.enabled(hooks):
                is_wanted = (hook.kind, hook.target) == ("built-in", CI_STATUS)
                if is_wanted and hook.name not in passed_by:
                    found.setdefault(msgspec.json.encode(hook.metadata.get("arguments")), hook)
        return list(found.values())

    async def _checked(self, gate: Hook, head: str) -> dict[str, Any] | None:
        """What the gate says about the commit that is to be merged, unless it lets it pass."""
        payload = gate_payload(self._work, self._task.goal, "", 0, {})
        frame = Frame(POINTS[0], RULES[GATE], payload, f"{self._work.task_id}-{head}")
        outcome = await self._around.recorder.call(gate, frame, Unrecorded())
        if outcome.status == SKIPPED:  # its condition says that it has no say about this work
            return None
        if outcome.status != OK:
            raise HookFailure(f"{short_name(gate.name)}: {outcome.error}")
        answer: GateAnswer = outcome.answer
        message = f"{short_name(gate.name)}: {answer.message}"
        if answer.status == "pending":
            return waits(message, "checks", answer.retry_after or CHECKS_WAIT, head)
        if answer.status == "failure":
            return {
                "status": "failed",
                "message": message,
                "remediationPrompt": answer.remediation_prompt,
            }
        return None

    async def _objection(self, prepared: Prepared, pull: PullRequest) -> dict[str, Any] | None:
        """What people ask for who looked at this work, also before it was rebased."""
        judged = self._args.get("head")
        heads = (*self._args.get("heads", ()), judged, prepared.head, pull.head)
        said = [each for each in await self._forge.reviews(pull) if each.head in heads]
        against = objections(said, judged, self._args.get(TOLD, {}))
        return objection(against, prepared.head) if against else None

    async def merge(self, prepared: Prepared, pull: PullRequest, message: str) -> MergeOutcome:
        """Let the forge merge; NotMergeable if the base moved since the result was tested."""

        async def check() -> None:
            if await self._repository.base_head(prepared.base) != prepared.base_head:
                raise NotMergeable(f"{prepared.base} moved since the result was tested")

        method = self._args["method"]
        return await self._forge.merge(pull, prepared.head, method, message, check=check)

    async def facts(
        self, run: Run, prepared: Prepared, pull: PullRequest, done: MergeOutcome
    ) -> dict[str, Any]:
        """What is known of what the forge merged: nothing keeps others from merging meanwhile."""
        merged = msgspec.structs.replace(pull, head=done.head)
        known = MergeFacts(self._around, run, self._args)
        return await known.of_pull(merged, done.sha, prepared.head)


def objection(against: list[Review], head: str) -> dict[str, Any]:
    """Reviews that ask for changes, as a failure that an agent fixes."""
    answer = changes_wanted(against, head)
    return {
        "status": "failed",
        "message": answer.message,
        "remediationPrompt": answer.remediation_prompt,
        "head": head,
        **answer.context,
    }


def waits(message: str, waits_for: str, pause: float, head: str | None) -> dict[str, Any]:
    """A merge that cannot be made yet: who it waits for, when to ask again, and its commit."""
    return {
        "status": WAITS,
        "message": message,
        "waitsFor": waits_for,
        "retryAfter": pause,
        "head": head,
    }


async def not_yet(
    repository: Repository, args: dict[str, Any], problem: ForgeTemporary | MergeWaits
) -> dict[str, Any]:
    """A forge that does not merge now, for whatever reason that may pass."""
    head = (await repository.describe(args["worktree"])).head
    if isinstance(problem, ForgeTemporary):
        return waits(problem.message, "forge", pause_until(problem.until, CHECKS_WAIT), head)
    if problem.for_people:
        return waits(problem.message, "person", PEOPLE_WAIT, head)
    return waits(problem.message, "checks", CHECKS_WAIT, head)


def refused_by_git(refused: Refused) -> dict[str, Any]:
    """What git, a remote or a hook of theirs did not let be moved."""
    words = prompts.one_line(refused.output, MAX_WORDS)
    message = f"{refused.reason}: {words}".removesuffix(": ")
    edits = {"checkout": refused.checkout, "paths": list(refused.paths)} if refused.paths else {}
    return {"status": "refused", "kind": refused.kind, "message": message, **edits}
