"""Merging a task's work: rebase, build the result apart from the base, test it, move the base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.pages.taskpage import commit_message, trailers_of
from hookline.domain.work.forge import ForgeError, ForgeTemporary, MergeWaits, NotMergeable
from hookline.domain.work.repository import (
    BaseMoved,
    MergeConflict,
    Prepared,
    RebaseConflict,
    Refused,
    RepositoryError,
    control_told,
    named,
    told_commit,
)
from hookline.errors import HookFailure, Untrusted
from hookline.hooks.gates.verdicts import overrides
from hookline.pipeline.repository import unmerged
from hookline.pipeline.repository.forge_merge import ForgeMerge
from hookline.pipeline.repository.merge_facts import BENEATH, BY_OTHERS, REBASED, TESTED, MergeFacts
from hookline.pipeline.repository.merge_trust import unfit_result
from hookline.pipeline.repository.merged_tests import KEY, TREES, MergedTests
from hookline.pipeline.repository.requests import MergeResult, RepoRequest
from hookline.sessions.git_control import GitControl
from hookline.sessions.spending import turn_spans
from hookline.tasks.work_record import start_of

if TYPE_CHECKING:
    from hookline.flows.attempt import Attempt
    from hookline.pipeline.repository.effects import Workplace

# How often the result is built again because the base moved while it was tested.
MOVES = 5
MOVED_WAIT = 5.0


class Merging:
    """One attempt at merging the work of one task."""

    def __init__(self, place: Workplace, attempt: Attempt, asked: RepoRequest) -> None:
        self._place, self._around, self._repository = place, place.around, place.repository
        self._attempt, self._run = attempt, attempt.run
        self._asked, self._task = asked, place.task(asked)
        self._facts = MergeFacts(place, attempt.run, asked)
        # Nothing is left of the work on top of the base, which has the same content.
        self._is_same = False
        self._is_tested = False

    async def merge(self) -> MergeResult:
        """Merge, or say why not; try again if the base moved meanwhile."""
        for _ in range(MOVES):
            found = await self._merge_once()
            if found is not None:
                return found
        message = f"the base branch moved {MOVES} times while the result was tested"
        head = await self._repository.head(self._asked.worktree)
        return unmerged.waits(message, "checks", head, MOVED_WAIT)

    async def _merge_once(self) -> MergeResult | None:
        try:
            return await self._merged_there() or await self._build_and_land()
        except NotMergeable:
            return None  # it fit the base that was tested, so the base moved
        except (ForgeTemporary, MergeWaits) as problem:
            return await unmerged.not_yet(self._repository, self._asked, problem)
        except (RepositoryError, ForgeError, HookFailure, Untrusted) as problem:
            return unmerged.refused(problem.message)

    async def _merged_there(self) -> MergeResult | None:
        """The merge that a forge has already made of this work: before a crash, or for a person."""
        forge = self._place.forge
        pull = await self._place.pull_request(self._asked) if forge.merges else None
        if pull is None or pull.state != "merged" or pull.merged_sha is None:
            return None
        head = str(await self._repository.head(self._asked.worktree))
        return await self._facts.of_pull(pull, pull.merged_sha, head)

    async def _build_and_land(self) -> MergeResult | None:
        """Build what the base would become, and move the base to it if that is sound."""
        asked, repository = self._asked, self._repository
        await self._note_beneath()
        built = await self._build()
        if isinstance(built, MergeResult):
            return built
        if built.merged and self._is_same and not self._is_tested:
            return await self._land(built, MergeResult(status="merged", sha=built.sha))
        if built.merged:  # nothing is left to test or to count
            facts = await self._facts.of(built.head, built.sha)
            if self._is_tested and facts.untested == BY_OTHERS:
                facts.untested = f"{asked.base} got it while the merged result was tested"
                facts.unjudged = True
            return await self._land(built, facts)
        commits = await repository.history.commits_ahead(asked.worktree, asked.base)
        if unfit := await unfit_result(self._around, built):
            unfit.head = built.head
            return unfit
        tested = await self._test(built)
        if tested.status != "merged":
            return tested
        tested.commits = commits
        return await self._land(built, tested)

    async def _build(self) -> Prepared | MergeResult:
        """The commit that the base would move to, or why there is none."""
        asked, repository = self._asked, self._repository
        judged = await repository.head(asked.worktree)
        if not self._facts.is_judged(judged):
            return self._changed(judged)
        yours = self._place.is_yours(asked)
        if yours:
            await repository.changes.check(asked.worktree, asked.branch)
            head, onto = str(judged), None
        else:
            moved = await self._rebase(judged)
            if isinstance(moved, MergeResult):
                return moved
            head, onto = moved
        message = self._message()
        built = await repository.merges.prepare(head, asked.base, message, asked.method, onto=onto)
        if isinstance(built, MergeConflict):
            return unmerged.conflicting(asked.base, built.base_head, built.files, is_yours=yours)
        return built

    async def _rebase(self, judged: str | None) -> tuple[str, str] | MergeResult:
        """The work on top of the base, and the base's commit below it."""
        asked, repository = self._asked, self._repository
        rebased = await repository.changes.rebase(asked.worktree, asked.base, branch=asked.branch)
        if isinstance(rebased, RebaseConflict):
            return unmerged.conflicting(asked.base, rebased.onto, rebased.files, is_yours=False)
        head = rebased.head
        if rebased.start != judged or not rebased.same:
            return self._changed(head)
        if asked.method == "rebase" and self._place.forge.merges:
            # The forge takes the commits as they are, and adds none.
            head = await repository.trailers.add(
                asked.worktree, asked.base, self._trailers(), branch=asked.branch, head=head
            )
        self._is_same = head != judged and head == rebased.onto
        if head != judged:
            self._note(REBASED, {"from": asked.head, "head": head})
        return head, rebased.onto

    async def _test(self, built: Prepared) -> MergeResult:
        """Test what the base would become: what it would be merged as, if the tests pass."""
        key = self._attempt.key_for(KEY)
        tests = MergedTests(self._place, self._run, self._task, built, key)

        def note(trees: dict[str, Any]) -> None:
            self._note(TREES, trees)

        watched = GitControl(self._around).watch_tests
        asked = self._asked.test
        tested, changed = await watched(self._attempt, lambda: tests.run_once(asked, note))
        self._is_tested = True
        if beneath := await self._repository.unchecked.moved_behind(built.base):
            before = self._facts.beneath()
            if new := [each for each in beneath if told_commit(each) not in before]:
                message = f"{built.base} was moved while the merged result was tested, and not by"
                return unmerged.refused(f"{message} Hookline: {named(new)}")
        if changed:
            return unmerged.refused(control_told(changed, "while the merged result was tested"))
        if (failed := tested.failure) is not None:
            return MergeResult(
                status="failed",
                message=failed.message,
                remediation_prompt=failed.remediation_prompt,
                command=failed.context.get("command"),
            )
        tree = await self._repository.tree_of(built.sha)
        facts = {"testedBy": tested.by, "untested": tested.untested}
        self._note(TESTED, {**facts, "head": built.head, "tree": tree})
        return MergeResult(status="merged", tested_by=tested.by, untested=tested.untested)

    async def _land(self, built: Prepared, facts: MergeResult) -> MergeResult | None:
        """Move the base; None if it moved meanwhile."""
        forge, asked = self._place.forge, self._asked
        pull = await self._place.pull_request(asked)
        if not built.merged:
            side = ForgeMerge(self._place, self._run, self._task, asked)
            if (found := await side.hindrance(built, pull)) is not None:
                return found
            if pull is not None and forge.merges:
                done = await side.merge(built, pull, self._message())
                merged = msgspec.structs.replace(pull, head=done.head)
                known = await self._facts.of_pull(merged, done.sha, built.head)
                known.commits = facts.commits
                return known
        landed = await self._repository.merges.land(built)
        if isinstance(landed, BaseMoved):
            return None
        if isinstance(landed, Refused):
            return unmerged.refused_by_git(landed)
        if pull is not None and not forge.merges:
            await forge.merge(pull, landed.sha, asked.method)
        below, notices = self._facts.beneath(), list(landed.notices)
        return msgspec.structs.replace(facts, sha=landed.sha, notices=notices, beneath=below)

    async def _note_beneath(self) -> None:
        """Record, for people, which commits the base got past the gates."""
        asked, known, unchecked = self._asked, self._facts.beneath(), self._repository.unchecked
        with self._around.store.read() as view:
            start, spans = start_of(view, asked.task_id), turn_spans(view, asked.task_id)
        found = await unchecked.moved_behind(asked.base)
        found += await unchecked.made_on_base(asked.base, start, spans)
        new = [told for each in found if (told := told_commit(each)) not in known]
        if new:
            self._note(BENEATH, [*known, *new])

    def _changed(self, head: str | None) -> MergeResult:
        message = f"{head} was not checked: it came after {self._asked.head} had passed"
        return MergeResult(status="changed", message=message)

    def _message(self) -> str:
        with self._around.store.read() as view:
            found = overrides(view, self._task.id)
        passed_by = (f"Gate-Override: {each.line}" for each in found)
        return commit_message(self._task.goal, [*self._trailers(), *passed_by])

    def _trailers(self) -> list[str]:
        return trailers_of(self._task.id, self._run.input.get("agent"))

    def _note(self, name: str, facts: dict[str, Any] | list[str]) -> None:
        """Store, before the base moves, what could not be found out after a kill."""
        self._attempt.change(lambda tx: tx.runs.set_value(self._run.run_id, name, facts))
